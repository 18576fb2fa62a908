//! Names for callers: from whatever tables and columns are called to snake_case, singular and plural.

use aquifer_protocol::case::snake_identifier;

use crate::inflect;
use crate::settings::TableSettings;

/// The longest name of a table in an operation's name: with `search_` and a source's prefix it stays within what
/// clients accept.
const MAX_LEN: usize = 30;

/// The length of a mark with the line before it.
const MARK: usize = 7;

/// What the rows of a table are called.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Words {
    pub(crate) singular: String,
    pub(crate) plural: String,
}

/// A table's own name as a word: snake_case, and no longer than operations' names allow.
pub(crate) fn own_word(name: &str) -> String {
    let word = shorten(&snake_identifier(name));
    if word.is_empty() { "table".to_owned() } else { word }
}

/// What the rows of a table would be called if it were alone. `name` has the schema before it, where that is told apart.
pub(crate) fn words(name: &str, said: Option<&TableSettings>) -> Words {
    let base = own_word(name);
    let (singular, plural) = chosen(said);
    Words {
        singular: singular.unwrap_or_else(|| last_word(&base, false)),
        plural: plural.unwrap_or_else(|| last_word(&base, true)),
    }
}

/// The words that the operator chose: for one row, and for several.
pub(crate) fn chosen(said: Option<&TableSettings>) -> (Option<String>, Option<String>) {
    let own = |said: Option<&String>| said.map(|word| shorten(&snake_identifier(word))).filter(|word| !word.is_empty());
    (own(said.and_then(|said| said.singular.as_ref())), own(said.and_then(|said| said.plural.as_ref())))
}

/// The words with a mark made from the table's own name, so that the same table always gets the same ones.
pub(crate) fn marked(words: &Words, table: &str, round: u32) -> Words {
    let mark = mark(&if round == 0 { table.to_owned() } else { format!("{table}/{round}") });
    let marked = |word: &str| {
        let kept = word.get(..MAX_LEN - MARK).unwrap_or(word).trim_end_matches('_');
        format!("{kept}_{mark}")
    };
    Words { singular: marked(&words.singular), plural: marked(&words.plural) }
}

/// Whether a word can stand in the name of an operation.
pub(crate) fn is_usable(word: &str) -> bool {
    aquifer_protocol::operation::is_snake_case(word) && word.len() <= MAX_LEN + MARK
}

/// Whether a table's name is already the one for several.
pub(crate) fn is_plural(name: &str) -> bool {
    last_word(name, true) == name
}

/// The last word in singular or plural, the ones before it as they are.
fn last_word(name: &str, plural: bool) -> String {
    let (before, last) = match name.rsplit_once('_') {
        Some((before, last)) => (format!("{before}_"), last),
        None => (String::new(), name),
    };
    // "data2" and the like are names, not words.
    if last.len() < 2 || last.chars().any(|c| c.is_ascii_digit()) {
        return name.to_owned();
    }
    let form = if plural { inflect::plural(last) } else { inflect::singular(last) };
    let fits = form.chars().all(|c| c.is_ascii_lowercase()) && !form.is_empty();
    format!("{before}{}", if fits { form.as_str() } else { last })
}

/// The beginning of a long name, with a mark of the rest so that two of them stay apart.
fn shorten(name: &str) -> String {
    if name.len() <= MAX_LEN {
        return name.to_owned();
    }
    let kept = name.get(..MAX_LEN - MARK).unwrap_or(name).trim_end_matches('_');
    format!("{kept}_{}", mark(name))
}

/// A short mark of a name: the same on every machine and in every version.
fn mark(name: &str) -> String {
    let hash = name.bytes().fold(0xcbf2_9ce4_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("x{:05x}", hash & 0xf_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_named_in_english() {
        for (table, singular, plural) in [
            ("orders", "order", "orders"),
            ("order_lines", "order_line", "order_lines"),
            ("Category", "category", "categories"),
            ("people", "person", "people"),
            ("OrderLine", "order_line", "order_lines"),
            ("status", "status", "statuses"),
            ("news", "news", "news"),
            ("data", "data", "data"),
            ("addresses", "address", "addresses"),
            ("HTTPRequests", "http_request", "http_requests"),
            ("Order Details", "order_detail", "order_details"),
            ("Käufer", "kaufer", "kaufers"),
            ("😀", "grinning", "grinnings"),
            ("2fa_codes", "n2fa_code", "n2fa_codes"),
            ("customer_totals", "customer_total", "customer_totals"),
            ("movies", "movie", "movies"),
            ("analyses", "analysis", "analyses"),
        ] {
            let words = words(table, None);
            assert_eq!((words.singular.as_str(), words.plural.as_str()), (singular, plural), "{table}");
        }
    }

    #[test]
    fn long_names_are_shortened_and_marks_are_of_the_table() {
        let long = words(&"very_long_name_".repeat(5), None);
        assert!(long.plural.len() <= MAX_LEN, "{long:?}");
        let orders = words("Orders", None);
        let marked_words = marked(&orders, "Orders", 0);
        assert!(marked_words.plural.starts_with("orders_x") && marked_words.singular.starts_with("order_x"));
        assert_eq!(marked_words, marked(&orders, "Orders", 0));
        assert_ne!(marked_words, marked(&orders, "orders", 0));
        assert_ne!(marked_words, marked(&orders, "Orders", 1));
        assert!(marked(&long, "x", 0).plural.len() <= MAX_LEN);
    }
}
