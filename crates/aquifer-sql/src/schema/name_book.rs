//! The names given to tables. A table keeps its name across restarts, and no other table takes it over, because
//! callers, rules and clients refer to the table by it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::schema::model::Table;
use crate::schema::names::{self, Words};
use crate::settings::Settings;

/// How long the name of a removed table stays reserved. Many migrations drop and recreate tables.
const REMOVED_TABLE_TTL: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Maximum number of removed tables that are kept.
const MAX_REMOVED_TABLES: usize = 1_000;

/// Words in the names of generic operations: `list_tables`, `get_table_schema`, `create_record`.
const GENERIC_WORDS: &[&str] = &["record", "records", "table", "tables", "table_schema", "table_schemas"];

/// The maximum size of the stored book.
const MAX_BOOK_BYTES: usize = 512 * 1024;

/// The names of tables, by the tables' own names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NameBook {
    entries: BTreeMap<String, Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    words: Words,
    /// When the table was first missing, in seconds since 1970.
    removed_since: Option<i64>,
}

impl NameBook {
    /// Names every table. Configured names come first, then existing ones.
    pub(crate) fn assign(&mut self, tables: &[Table], settings: &Settings, now: Timestamp) -> Vec<Words> {
        // SQLite ignores case in table names.
        let full_names: Vec<String> =
            tables.iter().map(|table| settings.fold(&table.full_name()).into_owned()).collect();
        self.update_removed(&full_names, now.as_second());
        let mut assignment = NameAssignment::new(tables, settings);
        for entry in self.entries.values().filter(|entry| entry.removed_since.is_some()) {
            assignment.reserve(&entry.words);
        }
        for (index, name) in full_names.iter().enumerate() {
            if let Some(entry) = self.entries.get(name).filter(|_| !assignment.is_configured(index)) {
                assignment.assign(index, entry.words.clone());
            }
        }
        let words = assignment.finish(&full_names);
        for (index, (name, words)) in full_names.into_iter().zip(&words).enumerate() {
            let table_settings =
                tables.get(index).and_then(|table| settings.table(table.schema.as_deref(), &table.name));
            // Configured names are not remembered: they apply as long as the configuration contains them.
            if names::configured_words(table_settings) == (None, None) {
                self.entries.insert(name, Entry { words: words.clone(), removed_since: None });
            } else {
                self.entries.remove(&name);
            }
        }
        words
    }

    /// Marks removed tables, and forgets those that were removed long ago.
    fn update_removed(&mut self, present: &[String], now: i64) {
        let present: HashSet<&str> = present.iter().map(String::as_str).collect();
        for (name, entry) in &mut self.entries {
            entry.removed_since = match present.contains(name.as_str()) {
                true => None,
                // If the clock is set back, the entry must still expire.
                false => Some(entry.removed_since.unwrap_or(now).min(now)),
            };
        }
        let ttl = i64::try_from(REMOVED_TABLE_TTL.as_secs()).unwrap_or(i64::MAX);
        self.entries.retain(|_, entry| entry.removed_since.is_none_or(|since| now.saturating_sub(since) < ttl));
        let removed = self.entries.values().filter(|entry| entry.removed_since.is_some()).count();
        self.drop_oldest_removed(removed.saturating_sub(MAX_REMOVED_TABLES));
    }

    /// Forgets this many of the tables removed first. Returns whether there were enough.
    fn drop_oldest_removed(&mut self, count: usize) -> bool {
        let mut removed: Vec<(i64, String)> =
            self.entries.iter().filter_map(|(name, entry)| Some((entry.removed_since?, name.clone()))).collect();
        removed.sort();
        let dropped = removed.iter().take(count).filter(|(_, name)| self.entries.remove(name).is_some()).count();
        dropped == count
    }

    /// The stored form: `{"orders": ["order", "orders"], "old": ["old", "olds", 1767225600]}`. If it is too large,
    /// removed tables are dropped first.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        let mut book = self.clone();
        loop {
            let text = book.write();
            if text.len() <= MAX_BOOK_BYTES {
                return text;
            }
            let spare = book.entries.len() / 4 + 1;
            if !book.drop_oldest_removed(spare) {
                let last: Vec<String> = book.entries.keys().rev().take(spare).cloned().collect();
                last.iter().for_each(|name| drop(book.entries.remove(name)));
            }
        }
    }

    fn write(&self) -> Vec<u8> {
        let entries = self.entries.iter().map(|(name, entry)| {
            let words = [Value::from(entry.words.singular.as_str()), entry.words.plural.as_str().into()];
            (name.clone(), words.into_iter().chain(entry.removed_since.map(Value::from)).collect())
        });
        Value::Object(entries.collect()).to_string().into_bytes()
    }

    /// Parses the stored form. Invalid entries are skipped: their names could not be used.
    pub(crate) fn from_json(text: &[u8]) -> Option<Self> {
        let written: Map<String, Value> = serde_json::from_slice(text).ok()?;
        let mut entries = BTreeMap::new();
        for (name, value) in written {
            let part = |index: usize| value.get(index).and_then(Value::as_str).map(str::to_owned);
            let (Some(singular), Some(plural)) = (part(0), part(1)) else { continue };
            let words = Words { singular, plural };
            if names::is_usable(&words.singular) && names::is_usable(&words.plural) && !names::is_cut(&name, &words) {
                let removed_since = value.get(2).and_then(Value::as_i64);
                entries.insert(name, Entry { words, removed_since });
            }
        }
        Some(Self { entries })
    }

    /// The book of a database that ignores case. Earlier versions stored names in their original case.
    pub(crate) fn ignoring_case(self) -> Self {
        let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
        for (name, entry) in self.entries {
            let existing = entries.entry(name.to_ascii_lowercase()).or_insert_with(|| entry.clone());
            if existing.removed_since.is_some() && entry.removed_since.is_none() {
                *existing = entry;
            }
        }
        Self { entries }
    }

    /// Merges the book that another process has stored. If both name a table, the other's name wins. Removed tables
    /// that are unknown here were forgotten on purpose.
    pub(crate) fn merge(&mut self, other: Self) {
        for (name, theirs) in other.entries {
            match self.entries.get_mut(&name) {
                Some(ours) => ours.words = theirs.words,
                None if theirs.removed_since.is_none() => drop(self.entries.insert(name, theirs)),
                None => {}
            }
        }
    }
}

/// Names being assigned.
struct NameAssignment<'a> {
    tables: &'a [Table],
    settings: &'a Settings,
    assigned: Vec<Option<Words>>,
    taken: HashSet<String>,
    /// The tables' own names as words. No other table gets one of these as its singular or plural.
    own_words: Vec<String>,
    /// Configured words, and their tables.
    chosen: HashMap<String, usize>,
    configured: HashSet<usize>,
}

impl<'a> NameAssignment<'a> {
    fn new(tables: &'a [Table], settings: &'a Settings) -> Self {
        let (mut chosen, mut configured) = (HashMap::new(), HashSet::new());
        for (index, table) in tables.iter().enumerate() {
            let (singular, plural) = names::configured_words(settings.table(table.schema.as_deref(), &table.name));
            for word in [singular, plural].into_iter().flatten() {
                configured.insert(index);
                chosen.entry(word).or_insert(index);
            }
        }
        // With generic operations, no table may have a word of their names.
        let generic = if settings.is_generic(tables.len()) { GENERIC_WORDS } else { &[] };
        let taken = generic.iter().map(|word| (*word).to_owned()).collect();
        let own_words = tables.iter().map(|table| names::table_word(&name_with_schema(table, settings))).collect();
        Self { tables, settings, assigned: vec![None; tables.len()], taken, own_words, chosen, configured }
    }

    /// The inflected word, unless it is another table's own name: then the table's own name.
    fn resolve_word(&self, index: usize, word: String) -> String {
        let mut others = self.own_words.iter().enumerate().filter(|(other, _)| *other != index);
        match self.own_words.get(index) {
            Some(own) if *own != word && others.any(|(_, other)| *other == word) => own.clone(),
            _ => word,
        }
    }

    fn is_configured(&self, index: usize) -> bool {
        self.configured.contains(&index)
    }

    fn is_free(&self, index: usize, words: &Words) -> bool {
        self.is_word_free(index, &words.singular) && self.is_word_free(index, &words.plural)
    }

    fn is_word_free(&self, index: usize, word: &str) -> bool {
        !self.taken.contains(word) && self.chosen.get(word).is_none_or(|owner| *owner == index)
    }

    /// Reserves the words of a removed table, unless they are configured for another.
    fn reserve(&mut self, words: &Words) {
        let words = [&words.singular, &words.plural].into_iter().filter(|word| !self.chosen.contains_key(*word));
        self.taken.extend(words.cloned());
    }

    /// Assigns words to a table, unless they are taken.
    fn assign(&mut self, index: usize, words: Words) {
        if self.is_free(index, &words) {
            self.taken.extend([words.singular.clone(), words.plural.clone()]);
            if let Some(assigned) = self.assigned.get_mut(index) {
                *assigned = Some(words);
            }
        }
    }

    /// Names the remaining tables.
    fn finish(mut self, full_names: &[String]) -> Vec<Words> {
        // Tables whose names fit operation names come first: `orders` before `order`, and both before `Orders`.
        // Configured tables come before all of them.
        let rank = |index: usize, table: &Table| match &*table.name {
            _ if self.configured.contains(&index) => 0,
            name if !aquifer_protocol::operation::is_snake_case(name) => 3,
            name if names::is_plural(name) => 1,
            _ => 2,
        };
        let mut order: Vec<usize> = (0..self.tables.len()).collect();
        order.sort_by_key(|&index| self.tables.get(index).map(|table| rank(index, table)));
        for index in order {
            let (Some(table), Some(full_name)) = (self.tables.get(index), full_names.get(index)) else { continue };
            if self.assigned.get(index).is_some_and(Option::is_some) {
                continue;
            }
            let table_settings = self.settings.table(table.schema.as_deref(), &table.name);
            let alone = names::default_words(&name_with_schema(table, self.settings), table_settings);
            let (singular, plural) = names::configured_words(table_settings);
            let settled = |chosen: &Option<String>, word: &str| match chosen {
                Some(chosen) => chosen.clone(),
                None => self.resolve_word(index, word.to_owned()),
            };
            let mut words =
                Words { singular: settled(&singular, &alone.singular), plural: settled(&plural, &alone.plural) };
            if let Some(own) = self.own_words.get(index).filter(|_| !self.is_free(index, &words)) {
                // The table's own name is clearer than a suffix.
                words = Words {
                    singular: singular.clone().unwrap_or_else(|| own.clone()),
                    plural: plural.clone().unwrap_or_else(|| own.clone()),
                };
            }
            let mut round = 0;
            while !self.is_free(index, &words) {
                let marked = names::add_mark(&alone, full_name, round);
                // A configured word is kept even if the other word needs a suffix.
                let own = |chosen: &Option<String>| chosen.clone().filter(|word| self.is_word_free(index, word));
                words = Words {
                    singular: own(&singular).unwrap_or(marked.singular),
                    plural: own(&plural).unwrap_or(marked.plural),
                };
                round += 1;
            }
            self.assign(index, words);
        }
        self.assigned.into_iter().map(Option::unwrap_or_default).collect()
    }
}

/// The table name, prefixed by its schema unless that is the first one.
fn name_with_schema(table: &Table, settings: &Settings) -> String {
    match table.schema.as_deref() {
        Some(schema) if schema != settings.first_schema() => format!("{schema}_{}", table.name),
        _ => table.name.to_string(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
mod tests {
    use super::*;
    use crate::schema::model::{DryRunSupport, Key, TablePermissions, WithheldColumns};
    use crate::settings::{TableSettings, Target};
    use crate::statement::Name;

    fn table(name: &str) -> Table {
        Table {
            schema: None,
            name: name.into(),
            quoted: Name::reflected(name),
            comment: None,
            columns: Vec::new(),
            key: Key::None,
            has_rowid_key: false,
            primary_key: Vec::new(),
            key_fallback: None,
            unique: Vec::new(),
            checks: Vec::new(),
            foreign: Vec::new(),
            inherits: Vec::new(),
            index: None,
            may: TablePermissions::NONE,
            is_view: false,
            hashes: false,
            resolves_conflicts: false,
            opaque_keys: Vec::new(),
            change_rules: Vec::new(),
            unlisted: Vec::new(),
            withheld: WithheldColumns::default(),
            dry_run: DryRunSupport::COMPLETE,
        }
    }

    fn settings(table_settings: &[(&str, Option<&str>, Option<&str>)]) -> Settings {
        let mut settings = Settings::with_target("here", Target::Memory("x".to_owned()));
        for (name, singular, plural) in table_settings {
            let (singular, plural) = (singular.map(str::to_owned), plural.map(str::to_owned));
            settings.tables.insert((*name).to_owned(), TableSettings { singular, plural, ..TableSettings::default() });
        }
        settings
    }

    fn at(day: i64) -> Timestamp {
        Timestamp::from_second(1_767_225_600 + day * 24 * 60 * 60).unwrap()
    }

    /// The plurals that the book assigns to these tables.
    fn plurals(book: &mut NameBook, tables: &[&str], settings: &Settings, day: i64) -> Vec<String> {
        let tables: Vec<Table> = tables.iter().map(|name| table(name)).collect();
        book.assign(&tables, settings, at(day)).into_iter().map(|words| words.plural).collect()
    }

    #[test]
    fn r_saf_2_a_new_table_does_not_take_an_existing_name() {
        let (plain, mut book) = (settings(&[]), NameBook::default());
        assert_eq!(plurals(&mut book, &["Order"], &plain, 0), ["orders"]);
        // Each of these would get the name if it were alone.
        let marked = plurals(&mut book, &["Order", "order_", "orders"], &plain, 0);
        assert_eq!(marked[0], "orders");
        assert!(marked[1].starts_with("orders_x") && marked[2].starts_with("orders_x") && marked[1] != marked[2]);
        // In any order, and after a restart.
        let mut later = NameBook::from_json(&book.to_json()).unwrap();
        assert_eq!(
            plurals(&mut later, &["orders", "Order", "order_"], &plain, 1),
            [&*marked[2], "orders", &*marked[1]]
        );
        // A lost book is rebuilt: then the table whose name fits best gets the word.
        assert_eq!(plurals(&mut NameBook::default(), &["Order", "orders"], &plain, 1)[1], "orders");
    }

    #[test]
    fn r_saf_2_no_table_gets_the_name_of_another() {
        for (tables, expected) in [
            (&["people", "person"][..], &["people/people", "person/person"][..]),
            (&["person", "people"], &["person/person", "people/people"]),
            (&["order", "orders"], &["order/order", "orders/orders"]),
            (&["people"], &["person/people"]),
            (&["Person", "People"], &["person/person", "people/people"]),
            // Two tables with the same plural, which is the name of neither.
            (&["axis", "axe"], &["axis/axes", "axe/axe"]),
            (&["child", "children", "childs"], &["child/child", "children/children", "childs/childses"]),
        ] {
            let tables_of: Vec<Table> = tables.iter().map(|name| table(name)).collect();
            let words = NameBook::default().assign(&tables_of, &settings(&[]), at(0));
            let words: Vec<String> = words.iter().map(|words| format!("{}/{}", words.singular, words.plural)).collect();
            assert_eq!(words, expected, "{tables:?}");
        }
        // Configured words are used as they are.
        let table_settings = settings(&[("people", Some("person"), None)]);
        let words = NameBook::default().assign(&[table("people"), table("person")], &table_settings, at(0));
        assert_eq!((words[0].singular.as_str(), words[0].plural.as_str()), ("person", "people"));
        assert!(words[1].singular.starts_with("person_x") && words[1].plural.starts_with("people_x"), "{words:?}");
        // A name in use does not change.
        let mut book = NameBook::default();
        book.assign(&[table("people")], &settings(&[]), at(0));
        let words = book.assign(&[table("people"), table("person")], &settings(&[]), at(0));
        assert_eq!(words[0].singular, "person");
        assert!(words[1].singular.starts_with("person_x"), "{words:?}");
    }

    #[test]
    fn r_saf_2_a_name_is_reserved_for_a_while_after_its_table_is_gone() {
        let (plain, mut book) = (settings(&[]), NameBook::default());
        plurals(&mut book, &["Order"], &plain, 0);
        assert!(plurals(&mut book, &["orders"], &plain, 1)[0].starts_with("orders_x"));
        assert_eq!(plurals(&mut book, &["orders", "Order"], &plain, 20)[1], "orders", "it is back");
        let marked = plurals(&mut book, &["orders"], &plain, 30);
        plurals(&mut book, &["orders"], &plain, 61);
        assert_eq!(plurals(&mut book, &["orders"], &plain, 62), marked, "what it is called by then stays");
        // The word is free again, but it is another table's own name.
        assert_eq!(plurals(&mut book, &["orders", "Order"], &plain, 62)[1], "order");
        // A clock that is set back does not keep entries forever.
        plurals(&mut book, &["orders"], &plain, 100);
        plurals(&mut book, &["orders"], &plain, 10);
        assert_eq!(plurals(&mut book, &["orders", "order_"], &plain, 45)[1], "order");
    }

    #[test]
    fn r_saf_2_to_sqlite_another_case_is_the_same_table() {
        let (plain, mut book) = (settings(&[]), NameBook::default());
        assert_eq!(plurals(&mut book, &["order", "orders"], &plain, 0)[1], "orders");
        let named = plurals(&mut book, &["order", "orders"], &plain, 0);
        assert_eq!(plurals(&mut book, &["ORDER", "Orders"], &plain, 1), named);
        assert_eq!(plurals(&mut NameBook::default(), &["Order", "orders"], &plain, 1), named, "marks, too");
        // The format of an earlier version; of two entries the one that exists wins.
        let old = br#"{"ORDERS": ["x", "xs", 5], "Orders": ["order", "orders"], "orders": ["y", "ys", 7]}"#;
        let folded = NameBook::from_json(old).unwrap().ignoring_case();
        assert_eq!(folded.write(), br#"{"orders":["order","orders"]}"#);
        // PostgreSQL distinguishes them.
        let server = Settings { target: Target::Postgres("postgres://x/y".to_owned()), ..settings(&[]) };
        let mut book = NameBook::default();
        assert_eq!(plurals(&mut book, &["orders"], &server, 0), ["orders"]);
        assert!(plurals(&mut book, &["Orders"], &server, 0)[0].starts_with("orders_x"));
    }

    #[test]
    fn configured_words_win() {
        let mut book = NameBook::default();
        assert_eq!(plurals(&mut book, &["orders", "sales"], &settings(&[]), 0), ["orders", "sales"]);
        let table_settings = settings(&[("sales", Some("order"), Some("orders"))]);
        let named = plurals(&mut book, &["orders", "sales"], &table_settings, 0);
        assert!(named[0].starts_with("orders_x") && named[1] == "orders", "{named:?}");
        // Only the configured word is fixed; the other one is not.
        let mut book = NameBook::default();
        plurals(&mut book, &["orders"], &settings(&[]), 0);
        let table_settings = settings(&[("Order", Some("big_order"), None)]);
        let tables = [table("orders"), table("Order")];
        let words = book.assign(&tables, &table_settings, at(0));
        assert_eq!((words[0].plural.as_str(), words[1].singular.as_str()), ("orders", "big_order"));
        assert!(words[1].plural.starts_with("orders_x"));
        // Without the configuration, the table gets its own name again.
        assert_eq!(plurals(&mut book, &["orders", "Order"], &settings(&[]), 1)[0], "orders");
        // Two tables with the same configured word are distinguished.
        let table_settings = settings(&[("a", Some("thing"), Some("things")), ("b", Some("thing"), Some("things"))]);
        let named = plurals(&mut NameBook::default(), &["a", "b"], &table_settings, 0);
        assert!(named[0] == "things" && named[1].starts_with("things_x"), "{named:?}");
        // A removed table does not block configured words.
        let mut book = NameBook::default();
        plurals(&mut book, &["orders"], &settings(&[]), 0);
        assert_eq!(plurals(&mut book, &["sales"], &settings(&[("sales", None, Some("orders"))]), 0), ["orders"]);
    }

    #[test]
    fn a_table_is_not_named_like_a_generic_operation() {
        let mut book = NameBook::default();
        let tables = ["records", "tables", "orders"];
        assert_eq!(plurals(&mut book, &tables, &settings(&[]), 0), tables);
        let generic = Settings { style: crate::settings::Style::Generic, ..settings(&[]) };
        let named = plurals(&mut book, &tables, &generic, 0);
        assert!(named[0].starts_with("records_x") && named[1].starts_with("tables_x"), "{named:?}");
        assert_eq!(named[2], "orders");
    }

    #[test]
    fn a_name_book_is_bounded_and_validated() {
        let mut book = NameBook::default();
        let many: Vec<String> = (0..20_000).map(|n| format!("a_table_with_a_name_of_some_length_{n}")).collect();
        let names: Vec<&str> = many.iter().map(String::as_str).collect();
        plurals(&mut book, &names, &settings(&[]), 0);
        assert!(book.to_json().len() <= MAX_BOOK_BYTES);
        plurals(&mut book, &["one"], &settings(&[]), 1);
        assert!(book.entries.len() <= MAX_REMOVED_TABLES + 1);
        let odd = br#"{"a": ["A b", "c"], "b": ["x"], "c": 5, "d": ["ok", "oks"], "e": ["drop;", "y"], "f": [1, 2]}"#;
        assert_eq!(NameBook::from_json(odd).unwrap().entries.keys().collect::<Vec<_>>(), ["d"]);
        assert!(NameBook::from_json(b"[]").is_none() && NameBook::from_json(b"\xff").is_none());
        let mut ours = NameBook::from_json(br#"{"a": ["x", "xs"], "b": ["y", "ys"]}"#).unwrap();
        ours.merge(NameBook::from_json(br#"{"a": ["z", "zs"], "c": ["q", "qs"], "d": ["o", "os", 5]}"#).unwrap());
        assert_eq!(ours.write(), br#"{"a":["z","zs"],"b":["y","ys"],"c":["q","qs"]}"#);
    }
}
