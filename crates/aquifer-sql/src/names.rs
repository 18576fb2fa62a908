//! Names for callers: from whatever tables and columns are called to snake_case, singular and plural.

use std::collections::HashSet;

use crate::inflect;
use crate::settings::TableSettings;

/// The longest name of a table in an operation's name: with `search_` and a source's prefix it stays within what
/// clients accept.
const LONGEST: usize = 30;

/// What the rows of a table are called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Words {
    pub(crate) singular: String,
    pub(crate) plural: String,
}

/// Any name as snake_case of plain letters: `OrderLine` and `Order Line` are `order_line`, `Käufer` is `kaufer`.
pub(crate) fn snake(name: &str) -> String {
    let plain = deunicode::deunicode(name);
    let mut snake = String::with_capacity(plain.len() + 4);
    let mut previous = ' ';
    let mut letters = plain.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter.is_ascii_alphanumeric() {
            let next_is_small = letters.peek().is_some_and(|next| next.is_ascii_lowercase());
            let begins_word = letter.is_ascii_uppercase()
                && (previous.is_ascii_lowercase()
                    || previous.is_ascii_digit()
                    || (previous.is_ascii_uppercase() && next_is_small));
            if begins_word && !snake.ends_with('_') && !snake.is_empty() {
                snake.push('_');
            }
            snake.push(letter.to_ascii_lowercase());
        } else if !snake.ends_with('_') && !snake.is_empty() && letter != '\'' {
            snake.push('_');
        }
        previous = letter;
    }
    let snake = snake.trim_end_matches('_');
    if snake.starts_with(|c: char| c.is_ascii_digit()) { format!("n{snake}") } else { snake.to_owned() }
}

/// What the rows of a table are called, unlike any called so before.
pub(crate) fn words(table: &str, said: Option<&TableSettings>, taken: &mut HashSet<String>) -> Words {
    let base = shorten(&snake(table));
    let base = if base.is_empty() { "table".to_owned() } else { base };
    let own = |said: Option<&String>| said.map(|word| shorten(&snake(word))).filter(|word| !word.is_empty());
    let singular = own(said.and_then(|said| said.singular.as_ref())).unwrap_or_else(|| last_word(&base, false));
    let plural = own(said.and_then(|said| said.plural.as_ref())).unwrap_or_else(|| last_word(&base, true));
    let mut words = Words { singular: singular.clone(), plural: plural.clone() };
    let mut number = 2;
    while taken.contains(&words.singular) || taken.contains(&words.plural) {
        words = Words { singular: format!("{singular}_{number}"), plural: format!("{plural}_{number}") };
        number += 1;
    }
    taken.insert(words.singular.clone());
    taken.insert(words.plural.clone());
    words
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
    if name.len() <= LONGEST {
        return name.to_owned();
    }
    let mark = name.bytes().fold(0xcbf2_9ce4_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let kept = name.get(..LONGEST - 7).unwrap_or(name).trim_end_matches('_');
    format!("{kept}_x{:05x}", mark & 0xf_ffff)
}

/// Names for parameters, one for each column, unlike each other and unlike those in `taken`.
pub(crate) fn parameters<'a>(columns: impl IntoIterator<Item = &'a str>, reserved: &[&str]) -> Vec<String> {
    let is_plain = aquifer_protocol::operation::is_snake_case;
    let columns: Vec<&str> = columns.into_iter().collect();
    // Whoever is written like a parameter is called so, even if others would be called the same before it.
    let plain = columns.iter().copied().filter(|column| is_plain(column) && !reserved.contains(column));
    let mut taken: HashSet<String> = plain.chain(reserved.iter().copied()).map(str::to_owned).collect();
    let mut names = Vec::new();
    for column in columns {
        if is_plain(column) && !reserved.contains(&column) {
            names.push(column.to_owned());
            continue;
        }
        let base = match snake(column) {
            _ if is_plain(column) => column.to_owned(),
            empty if empty.is_empty() => "column".to_owned(),
            name => name,
        };
        let mut name = base.clone();
        let mut number = 2;
        while !taken.insert(name.clone()) {
            name = if reserved.contains(&base.as_str()) && number == 2 {
                format!("{base}_column")
            } else {
                format!("{base}_{number}")
            };
            number += 1;
        }
        names.push(name);
    }
    names
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
            let words = words(table, None, &mut HashSet::new());
            assert_eq!((words.singular.as_str(), words.plural.as_str()), (singular, plural), "{table}");
        }
    }

    #[test]
    fn equal_names_are_told_apart_and_long_ones_shortened() {
        let mut taken = HashSet::new();
        assert_eq!(words("orders", None, &mut taken).plural, "orders");
        assert_eq!(words("Orders", None, &mut taken).plural, "orders_2");
        let long = words(&"very_long_name_".repeat(5), None, &mut taken);
        assert!(long.plural.len() <= LONGEST + 2, "{long:?}");
    }

    #[test]
    fn parameters_are_unlike_each_other_and_the_language() {
        let names = parameters(["Id", "id", "dry_run", "", "größe"], &["dry_run"]);
        assert_eq!(names, ["id_2", "id", "dry_run_column", "column", "grosse"]);
    }
}
