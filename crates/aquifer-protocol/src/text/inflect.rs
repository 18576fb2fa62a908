//! English singular and plural. A table and a few rules suffice for the names of operations; a complete inflection engine
//! would need much more memory.

/// Words with the same singular and plural.
const UNCHANGED: &[&str] = &[
    "data",
    "metadata",
    "media",
    "news",
    "series",
    "species",
    "information",
    "equipment",
    "feedback",
    "software",
    "hardware",
    "staff",
    "sheep",
    "fish",
    "money",
    "stock",
    "history",
    "content",
    "access",
];

/// Irregular singulars and plurals.
const IRREGULAR: &[(&str, &str)] = &[
    ("person", "people"),
    ("man", "men"),
    ("woman", "women"),
    ("child", "children"),
    ("mouse", "mice"),
    ("goose", "geese"),
    ("foot", "feet"),
    ("tooth", "teeth"),
    ("index", "indices"),
    ("matrix", "matrices"),
    ("vertex", "vertices"),
    ("appendix", "appendices"),
    ("criterion", "criteria"),
    ("phenomenon", "phenomena"),
    ("analysis", "analyses"),
    ("basis", "bases"),
    ("crisis", "crises"),
    ("diagnosis", "diagnoses"),
    ("hypothesis", "hypotheses"),
    ("thesis", "theses"),
    ("axis", "axes"),
    ("quiz", "quizzes"),
    ("leaf", "leaves"),
    ("life", "lives"),
    ("half", "halves"),
    ("shelf", "shelves"),
    ("wife", "wives"),
    ("knife", "knives"),
    ("hero", "heroes"),
    ("echo", "echoes"),
    ("potato", "potatoes"),
    ("tomato", "tomatoes"),
    ("movie", "movies"),
    ("cookie", "cookies"),
    ("tie", "ties"),
    ("pie", "pies"),
    ("cache", "caches"),
    ("lens", "lenses"),
    ("alias", "aliases"),
    ("gas", "gases"),
    ("atlas", "atlases"),
    ("bias", "biases"),
    ("canvas", "canvases"),
];

/// Words in -us, whose plural would otherwise look like that of a word in -use.
const US_WORDS: &[&str] =
    &["status", "bonus", "virus", "campus", "census", "bus", "corpus", "radius", "nexus", "focus"];

/// A name whose last word is in singular: `order_items` becomes `order_item`.
pub fn singular_name(name: &str) -> String {
    with_last_word(name, singular)
}

/// A name whose last word is in plural: `order_item` becomes `order_items`.
pub fn plural_name(name: &str) -> String {
    with_last_word(name, plural)
}

fn with_last_word(name: &str, inflect: fn(&str) -> String) -> String {
    let (before, last) = name.rsplit_once('_').map_or(("", name), |(before, last)| (before, last));
    // "data2" and the like are names, not words.
    if last.len() < 2 || last.chars().any(|c| c.is_ascii_digit()) {
        return name.to_owned();
    }
    let form = inflect(last);
    let fits = form.chars().all(|c| c.is_ascii_lowercase()) && !form.is_empty();
    let last = if fits { form.as_str() } else { last };
    if before.is_empty() && !name.starts_with('_') { last.to_owned() } else { format!("{before}_{last}") }
}

/// The singular of a word.
pub fn singular(word: &str) -> String {
    if UNCHANGED.contains(&word) || IRREGULAR.iter().any(|(one, _)| *one == word) {
        return word.to_owned();
    }
    if let Some((one, _)) = IRREGULAR.iter().find(|(_, several)| *several == word) {
        return (*one).to_owned();
    }
    let without_es = word.strip_suffix("es");
    if let Some(stem) = word.strip_suffix("ies").filter(|stem| stem.len() > 1) {
        return format!("{stem}y");
    }
    if let Some(stem) = without_es {
        let hisses = ["ss", "sh", "ch", "x", "zz"].iter().any(|end| stem.ends_with(end));
        if hisses || US_WORDS.iter().any(|known| stem.ends_with(known)) {
            return stem.to_owned();
        }
    }
    match word.strip_suffix('s') {
        Some(stem) if stem.len() > 1 && !stem.ends_with(['s', 'u', 'i']) => stem.to_owned(),
        _ => word.to_owned(),
    }
}

/// The plural of a word, or the word itself if it is plural.
pub fn plural(word: &str) -> String {
    if UNCHANGED.contains(&word) || IRREGULAR.iter().any(|(_, several)| *several == word) {
        return word.to_owned();
    }
    let one = singular(word);
    let several = plural_form(&one);
    if several == word { word.to_owned() } else { plural_form(word) }
}

/// A word without the `s` of a plural: enough to compare words.
pub fn without_s(word: &str) -> &str {
    word.strip_suffix('s').filter(|stem| stem.len() > 2).unwrap_or(word)
}

fn plural_form(word: &str) -> String {
    if let Some((_, several)) = IRREGULAR.iter().find(|(one, _)| *one == word) {
        return (*several).to_owned();
    }
    if let Some(stem) = word.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'i', 'o', 'u'])) {
        return format!("{stem}ies");
    }
    if let Some(stem) = word.strip_suffix("sis") {
        return format!("{stem}ses");
    }
    let hisses = ["s", "x", "z", "ch", "sh"].iter().any(|end| word.ends_with(end));
    if hisses { format!("{word}es") } else { format!("{word}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_and_several() {
        for (one, several) in [
            ("order", "orders"),
            ("category", "categories"),
            ("address", "addresses"),
            ("box", "boxes"),
            ("branch", "branches"),
            ("status", "statuses"),
            ("house", "houses"),
            ("warehouse", "warehouses"),
            ("person", "people"),
            ("analysis", "analyses"),
            ("database", "databases"),
            ("invoice", "invoices"),
            ("size", "sizes"),
            ("day", "days"),
            ("key", "keys"),
            ("movie", "movies"),
            ("quiz", "quizzes"),
            ("bus", "buses"),
            ("purchase", "purchases"),
            ("expense", "expenses"),
            ("price", "prices"),
            ("class", "classes"),
            ("process", "processes"),
            ("query", "queries"),
            ("reply", "replies"),
            ("news", "news"),
            ("data", "data"),
            ("user", "users"),
            ("tax", "taxes"),
            ("cache", "caches"),
            ("employee", "employees"),
            ("issue", "issues"),
            ("response", "responses"),
            ("license", "licenses"),
        ] {
            assert_eq!(singular(several), one, "{several}");
            assert_eq!(singular(one), one, "{one}");
            assert_eq!(plural(one), several, "{one}");
            assert_eq!(plural(several), several, "{several}");
        }
    }

    #[test]
    fn the_last_word_of_a_name_is_inflected() {
        for (one, several) in [
            ("order_item", "order_items"),
            ("person", "people"),
            ("sales_person", "sales_people"),
            ("_row", "_rows"),
            ("site_news", "site_news"),
        ] {
            assert_eq!(singular_name(several), one);
            assert_eq!(plural_name(one), several);
        }
        assert_eq!((plural_name("data2"), singular_name("é_Xs")), ("data2".to_owned(), "é_Xs".to_owned()));
    }
}
