//! English singular and plural. A table and a few rules suffice for table names; a complete inflection engine would use
//! more memory than the rest of reflection.

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

/// The singular of a word.
pub(crate) fn singular(word: &str) -> String {
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
pub(crate) fn plural(word: &str) -> String {
    if UNCHANGED.contains(&word) || IRREGULAR.iter().any(|(_, several)| *several == word) {
        return word.to_owned();
    }
    let one = singular(word);
    let several = singular_form(&one);
    if several == word { word.to_owned() } else { singular_form(word) }
}

fn singular_form(word: &str) -> String {
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
}
