//! Infers what kind of operation a caller intended with an unknown name.
//!
//! Callers often follow a suggestion without checking it. If the name implies reading, no operation that changes
//! something is therefore suggested.

use crate::category::Category;
use crate::operation::Operation;

/// Verbs that callers use, by the category they imply.
const VERBS: &[(Category, &[&str])] = &[
    (
        Category::Read,
        &[
            "read",
            "get",
            "list",
            "search",
            "query",
            "count",
            "find",
            "fetch",
            "show",
            "view",
            "look",
            "lookup",
            "browse",
            "describe",
            "select",
            "check",
            "inspect",
            "retrieve",
            "load",
            "download",
            "export",
            "explain",
            "is",
            "has",
            "all",
            "filter",
            "aggregate",
            "sum",
            "scan",
            "peek",
            "status",
        ],
    ),
    (Category::Create, &["create", "add", "insert", "new", "make", "post", "register", "append", "put"]),
    (
        Category::Update,
        &["update", "edit", "change", "modify", "set", "patch", "rename", "upsert", "replace", "save", "write", "move"],
    ),
    (Category::Delete, &["delete", "remove", "destroy", "drop", "purge", "erase", "clear", "truncate", "archive"]),
    (
        Category::Execute,
        &["execute", "run", "start", "stop", "cancel", "send", "trigger", "invoke", "call", "launch", "publish", "pay"],
    ),
];

/// Minimum similarity of two verbs that differ by a typing error.
const SAME_VERB: f64 = 0.7;

/// An unknown name and the category it implies.
pub(super) struct Intent<'a> {
    wanted: &'a str,
}

impl<'a> Intent<'a> {
    pub(super) fn new(wanted: &'a str) -> Self {
        Self { wanted }
    }

    /// Whether an operation may be suggested. An operation with the same verb was evidently intended. Any other one
    /// must not do more than the name implies. If the name implies nothing, the receiving tool decides.
    pub(super) fn allows(&self, operation: &Operation, is_of_receiver: bool) -> bool {
        if operation.category == Category::Read {
            return true;
        }
        // With several sources, the name of the source precedes the verb.
        let prefix = operation.name.strip_suffix(&*operation.origin.own_name).unwrap_or_default();
        let wanted = self.wanted.strip_prefix(prefix).unwrap_or(self.wanted);
        if is_same_verb(first_word(wanted), first_word(&operation.origin.own_name)) {
            return true;
        }
        match category(wanted) {
            Some(category) => risk(operation.category) <= risk(category),
            None => is_of_receiver,
        }
    }
}

impl Intent<'_> {
    /// The same name with the verbs that catalogs use: `get_order` for `read_order`.
    pub(super) fn other_spellings(&self) -> Vec<String> {
        let verb = words(self.wanted).find_map(|word| Some((word, category_of(word)?)));
        let Some((verb, category)) = verb else { return Vec::new() };
        let Some((before, rest)) = self.wanted.split_once(verb) else { return Vec::new() };
        let rest = rest.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
        let verbs: &[&str] = match category {
            Category::Read => &["get", "list", "search"],
            Category::Create => &["create"],
            Category::Update => &["update"],
            Category::Delete => &["delete"],
            Category::Execute => &["execute"],
        };
        verbs.iter().map(|verb| format!("{before}{verb}_{rest}")).collect()
    }
}

/// The category that the name's verb implies. A verb that is not at the start counts only if it denotes reading:
/// `blog_post` implies nothing.
fn category(wanted: &str) -> Option<Category> {
    let mut words = words(wanted).map(category_of);
    let first = words.next().flatten();
    first.or_else(|| words.find(|category| *category == Some(Category::Read)).flatten())
}

fn category_of(word: &str) -> Option<Category> {
    let has = |verbs: &[&str]| verbs.iter().any(|verb| verb.eq_ignore_ascii_case(word));
    VERBS.iter().find(|(_, verbs)| has(verbs)).map(|(category, _)| *category)
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty())
}

fn first_word(name: &str) -> &str {
    words(name).next().unwrap_or_default()
}

fn is_same_verb(one: &str, other: &str) -> bool {
    // A verb may end with another verb: 'read' is not a misspelt 'create'.
    if category_of(one).is_some() && !one.eq_ignore_ascii_case(other) {
        return false;
    }
    let (one, other) = (one.to_ascii_lowercase(), other.to_ascii_lowercase());
    (3..=64).contains(&one.len()) && strsim::normalized_damerau_levenshtein(&one, &other) >= SAME_VERB
}

/// The rank of a category by how much its operations may change.
fn risk(category: Category) -> u8 {
    match category {
        Category::Read => 0,
        Category::Create => 1,
        Category::Update => 2,
        Category::Execute | Category::Delete => 3,
    }
}
