//! Names for callers: converts table and column names to snake_case, singular and plural.

use aquifer_protocol::case::snake_identifier;
use aquifer_protocol::inflect::{plural_name, singular_name};
use aquifer_protocol::percent;

use crate::settings::{TableSettings, Target};

/// The maximum length of a table's word in an operation name: with `search_` and the ending of a plural it stays within
/// the 64 characters that clients accept as the name of a tool (mode `all`). Where names are not tools, 128 are allowed,
/// so a source's prefix fits, too.
const MAX_WORD_LEN: usize = 54;

/// Words of a long name are abbreviated to no fewer letters than this, so that it can still be read.
const MIN_ABBREVIATION: usize = 3;

/// The length of a suffix, including its underscore.
const MARK_LEN: usize = 7;

/// The words for the rows of a table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Words {
    pub(crate) singular: String,
    pub(crate) plural: String,
}

/// A table's own name as a word: snake_case, and short enough for operation names.
pub(crate) fn table_word(name: &str) -> String {
    let word = shorten(&snake_identifier(name));
    if word.is_empty() { "table".to_owned() } else { word }
}

/// The words of a table, regardless of other tables. `name` is qualified unless the table is in the first schema.
pub(crate) fn default_words(name: &str, table_settings: Option<&TableSettings>) -> Words {
    let base = table_word(name);
    let (singular, plural) = configured_words(table_settings);
    Words {
        singular: singular.unwrap_or_else(|| singular_name(&base)),
        plural: plural.unwrap_or_else(|| plural_name(&base)),
    }
}

/// The configured words: singular and plural.
pub(crate) fn configured_words(table_settings: Option<&TableSettings>) -> (Option<String>, Option<String>) {
    let own = |table_settings: Option<&String>| {
        table_settings.map(|word| shorten(&snake_identifier(word))).filter(|word| !word.is_empty())
    };
    (
        own(table_settings.and_then(|table_settings| table_settings.singular.as_ref())),
        own(table_settings.and_then(|table_settings| table_settings.plural.as_ref())),
    )
}

/// Adds a suffix derived from the table's own name, so that the same table always gets the same words.
pub(crate) fn add_mark(words: &Words, table: &str, round: u32) -> Words {
    let mark = mark(&if round == 0 { table.to_owned() } else { format!("{table}/{round}") });
    let marked = |word: &str| {
        let kept = word.get(..MAX_WORD_LEN - MARK_LEN).unwrap_or(word).trim_end_matches('_');
        format!("{kept}_{mark}")
    };
    Words { singular: marked(&words.singular), plural: marked(&words.plural) }
}

/// Whether a word can be part of an operation name.
pub(crate) fn is_usable(word: &str) -> bool {
    aquifer_protocol::operation::is_snake_case(word) && word.len() <= MAX_WORD_LEN + MARK_LEN
}

/// Whether these are words that an earlier version made of a long table name by cutting it and adding a hash. They are
/// not kept, because nobody can read them.
pub(crate) fn is_cut(table: &str, words: &Words) -> bool {
    const OLD_MAX_LEN: usize = 30;
    let table = table.rsplit_once('.').map_or(table, |(_, table)| table);
    let name = snake_identifier(table);
    let kept = name.get(..OLD_MAX_LEN - MARK_LEN).unwrap_or(&name).trim_end_matches('_');
    let cut = format!("{kept}_{}", mark(&name));
    name.len() > OLD_MAX_LEN && words.singular == cut && words.plural == cut
}

/// Whether a table name is already plural.
pub(crate) fn is_plural(name: &str) -> bool {
    plural_name(name) == name
}

/// Shortens a long name by abbreviating its longest words. The last word says what the rows are, so it is abbreviated
/// last. Two names that become the same are distinguished like all others: by a suffix ([`add_mark`]).
fn shorten(name: &str) -> String {
    let mut words: Vec<&str> = name.split('_').collect();
    let mut excess = name.len().saturating_sub(MAX_WORD_LEN);
    while excess > 0 {
        let last = words.len().saturating_sub(1);
        let rank =
            |(index, word): &(usize, &mut &str)| (word.len().min(if *index == last { 4 } else { 64 }), word.len());
        let longest = words.iter_mut().enumerate().max_by_key(rank).map(|(_, word)| word);
        let Some(word) = longest.filter(|word| word.len() > MIN_ABBREVIATION) else { break };
        *word = word.get(..word.len() - 1).unwrap_or_default();
        excess -= 1;
    }
    let short = words.join("_");
    // Too many words to abbreviate: the name ends early.
    short.get(..MAX_WORD_LEN).unwrap_or(&short).trim_end_matches('_').to_owned()
}

/// A short hash of a name, the same on every machine and in every version.
fn mark(name: &str) -> String {
    let hash = name.bytes().fold(0xcbf2_9ce4_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("x{:05x}", hash & 0xf_ffff)
}

impl Target {
    /// The default name of a source with this target: the name of the file or database.
    pub fn name(&self) -> String {
        let name = match self {
            Target::Sqlite(path) => path.file_stem().map(|stem| stem.to_string_lossy().into_owned()),
            Target::Memory(name) => Some(name.clone()),
            Target::Postgres(url) => {
                // A password may contain a slash.
                let location =
                    url.split_once("://").map(|(_, rest)| rest.rsplit_once('@').map_or(rest, |(_, location)| location));
                let path = location.and_then(|location| location.split_once('/')).map(|(_, path)| path);
                let name = path.and_then(|path| path.split(['?', '/']).next());
                name.map(|name| percent::decode(name).unwrap_or_else(|| name.to_owned()))
            }
        };
        let name = snake_identifier(&name.unwrap_or_default());
        if name.is_empty() { "database".to_owned() } else { name }
    }
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
            let words = default_words(table, None);
            assert_eq!((words.singular.as_str(), words.plural.as_str()), (singular, plural), "{table}");
        }
    }

    /// No hash: the names are those of tables of Wagtail and of PostgreSQL's longest ones.
    #[test]
    fn long_names_stay_legible() {
        for (table, plural) in [
            ("wagtailcore_collectionviewrestriction_groups", "wagtailcore_collectionviewrestriction_groups"),
            ("wagtailsearchpromotions_searchpromotion", "wagtailsearchpromotions_searchpromotions"),
            ("wagtailcore_groupcollectionpermission", "wagtailcore_groupcollectionpermissions"),
            (
                "customer_relationship_management_notification_preference_change",
                "customer_relations_managemen_notificat_preferen_changes",
            ),
        ] {
            assert_eq!(default_words(table, None).plural, plural, "{table}");
        }
        for name in ["very_long_name_".repeat(9), "x".repeat(200), "a_".repeat(100), "customers_".repeat(10)] {
            let words = default_words(&name, None);
            for word in [&words.singular, &words.plural] {
                assert!(word.len() <= MAX_WORD_LEN + MARK_LEN && is_usable(word), "{word}");
            }
            assert_eq!(words, default_words(&name, None));
        }
    }

    #[test]
    fn words_that_earlier_versions_cut_are_recognized() {
        let table = "wagtailcore_collectionviewrestriction";
        let words = |word: &str| Words { singular: word.to_owned(), plural: word.to_owned() };
        assert!(is_cut(table, &words("wagtailcore_collectionv_x1b362")));
        assert!(!is_cut(table, &words("wagtailcore_collectionv_x1b363")));
        assert!(!is_cut("orders", &words("orders_x1b362")));
        assert!(!is_cut(table, &default_words(table, None)));
    }

    #[test]
    fn the_same_table_always_gets_the_same_mark() {
        let orders = default_words("Orders", None);
        let marked_words = add_mark(&orders, "Orders", 0);
        assert!(marked_words.plural.starts_with("orders_x") && marked_words.singular.starts_with("order_x"));
        assert_eq!(marked_words, add_mark(&orders, "Orders", 0));
        assert_ne!(marked_words, add_mark(&orders, "orders", 0));
        assert_ne!(marked_words, add_mark(&orders, "Orders", 1));
        let long = default_words(&"very_long_name_".repeat(9), None);
        assert!(add_mark(&long, "x", 0).plural.len() <= MAX_WORD_LEN);
    }
}
