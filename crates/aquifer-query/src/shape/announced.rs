//! What a response says about its list: how many rows there are, whether it continues, and which members are only about it.

use aquifer_protocol::case::snake_identifier;
use serde_json::Value;

/// Members of a response that describe the page, by their [plain names](plain_name).
const PAGE_OBJECTS: &[&str] =
    &["meta", "metadata", "pagination", "paging", "page_info", "links", "page", "response_metadata", "view"];

/// What may follow `next` in the name of the link to, or the cursor or number of, the next page.
#[rustfmt::skip]
const NEXT_WORDS: &[&str] = &[
    "batch", "cursor", "href", "id", "index", "key", "link", "marker", "offset", "page", "position", "records", "start",
    "starting", "token", "uri", "url",
];

/// More members of a response are not looked at.
const MAX_MEMBERS: usize = 100;

/// Fields in which targets report the total number of rows.
#[rustfmt::skip]
const TOTAL_NAMES: &[&str] = &[
    "total", "total_count", "total_items", "total_results", "total_elements", "total_size", "total_records",
    "total_rows", "total_hits", "total_entries", "num_found",
];

/// Fields in which targets report the number of the page.
const PAGE_NUMBER_NAMES: &[&str] = &["page", "page_number", "current_page", "number"];

/// Fields in which targets report the number of pages.
const PAGE_COUNT_NAMES: &[&str] = &["total_pages", "page_count", "pages", "num_pages", "last_page"];

/// The name of a member without the prefix of a vocabulary, in snake_case: `next_link` for `@odata.nextLink`, `view` for
/// `hydra:view`, `next` for `__next`.
fn plain_name(name: &str) -> String {
    let name = name.strip_prefix('@').unwrap_or(name);
    let name = name.strip_prefix("odata.").or_else(|| name.strip_prefix("hydra:")).unwrap_or(name);
    snake_identifier(name.trim_start_matches('_'))
}

/// The members of an object with their plain names.
fn members(object: &Value) -> impl Iterator<Item = (String, &Value)> {
    object.as_object().into_iter().flatten().take(MAX_MEMBERS).map(|(name, value)| (plain_name(name), value))
}

/// The objects of a response that may describe the page: the response itself, members for that purpose, and the only
/// object that contains the list.
fn page_objects(body: &Value) -> Vec<&Value> {
    let mut objects = vec![body];
    let mut others = Vec::new();
    for (name, value) in members(body) {
        match PAGE_OBJECTS.contains(&&*name) {
            true => objects.push(value),
            false if value.is_object() || value.is_array() => others.push(value),
            false => {}
        }
    }
    let holds_list = |value: &Value| value.as_object().is_some_and(|one| one.values().any(Value::is_array));
    if let [only] = others.as_slice()
        && holds_list(only)
    {
        objects.push(only);
    }
    objects
}

/// The first of these members that describes the list and can be read.
fn announced<T>(body: &Value, names: &[&str], read: impl Fn(&Value) -> Option<T>) -> Option<T> {
    page_objects(body).into_iter().find_map(|object| {
        let known = members(object).filter(|(name, _)| names.contains(&&**name));
        known.map(|(_, value)| value).find_map(&read)
    })
}

/// The total number of rows that a response reports: a number, a number in a string, or `{"value": …}`.
pub fn announced_total(body: &Value) -> Option<u64> {
    announced(body, TOTAL_NAMES, |total| {
        let total = total.get("value").unwrap_or(total);
        total.as_u64().or_else(|| total.as_str()?.parse().ok())
    })
}

/// A number next to a list that may be the number of all rows, or of these rows.
pub fn announced_count(body: &Value) -> Option<u64> {
    announced(body, &["count"], Value::as_u64)
}

/// The number of the page that a response reports.
pub fn announced_page(body: &Value) -> Option<u64> {
    announced(body, PAGE_NUMBER_NAMES, Value::as_u64)
}

/// The number of pages that a response reports.
pub fn announced_pages(body: &Value) -> Option<u64> {
    announced(body, PAGE_COUNT_NAMES, Value::as_u64)
}

/// Whether a response says that the list continues: by a flag, by a link, cursor or number of the next page, or by the
/// numbers of this page and of all pages.
pub fn announces_more(body: &Value) -> Option<bool> {
    let marked = page_objects(body).into_iter().find_map(|object| {
        let flags = members(object).find_map(|(name, value)| flag(&name, value));
        flags.or_else(|| {
            next_marks_of(object).into_iter().find_map(|value| match value {
                Value::Null => Some(false),
                Value::String(next) => Some(!next.is_empty()),
                Value::Number(_) => Some(true),
                // An object that describes the next page, such as `{"offset": …, "uri": …}`.
                Value::Object(next) => Some(!next.values().all(Value::is_null)),
                _ => None,
            })
        })
    });
    marked.or_else(|| {
        let (page, pages) = (announced_page(body)?, announced_pages(body)?);
        // Pages that are counted from 0 end before their number.
        Some(if page == 0 { pages > 1 } else { page < pages })
    })
}

/// What a response says about the next page: links, cursors, numbers, or objects of them.
pub fn next_marks(body: &Value) -> Vec<&Value> {
    page_objects(body).into_iter().flat_map(next_marks_of).collect()
}

/// The marks in one object, or in a list of links with relations.
fn next_marks_of(object: &Value) -> Vec<&Value> {
    match object {
        Value::Array(links) => {
            let is_next = |link: &&Value| link.get("rel").and_then(Value::as_str) == Some("next");
            links.iter().take(MAX_MEMBERS).filter(is_next).collect()
        }
        object => members(object).filter(|(name, _)| names_next_page(name)).map(|(_, value)| value).collect(),
    }
}

/// What a flag of this plain name says: `has_more`, `more_results`, `has_next_page`, `is_last`, `truncated`.
fn flag(name: &str, value: &Value) -> Option<bool> {
    let value = value.as_bool()?;
    let has = |wanted: &str| name.split('_').any(|word| word == wanted);
    if has("more") || has("has") && has("next") {
        Some(value)
    } else if matches!(name, "last" | "is_last" | "last_page" | "is_last_page") {
        Some(!value)
    } else {
        // A list that is not cut off for one reason may continue for another.
        ((has("truncated") || has("incomplete")) && value).then_some(true)
    }
}

/// Whether a member of this plain name is the link to, or the cursor or number of, the next page: `next`, `next_cursor`,
/// `next_page_token`, `continue`.
fn names_next_page(name: &str) -> bool {
    let mut words = name.split('_');
    match words.next() {
        Some("next") => words.next().is_none_or(|word| NEXT_WORDS.contains(&word)),
        Some("continue") => words.next().is_none(),
        Some("continuation") => words.next().is_none_or(|word| word == "token"),
        _ => false,
    }
}

/// Words in the names of members that describe a list: its size, its pages, how it was found.
const DESCRIBING_WORDS: &[&str] = &[
    "api",
    "columns",
    "continue",
    "count",
    "counts",
    "cursor",
    "cursors",
    "end",
    "error",
    "errors",
    "facets",
    "first",
    "found",
    "has",
    "header",
    "headers",
    "hits",
    "included",
    "incomplete",
    "info",
    "kind",
    "last",
    "limit",
    "link",
    "links",
    "matches",
    "message",
    "messages",
    "meta",
    "metadata",
    "more",
    "next",
    "object",
    "offset",
    "ok",
    "page",
    "pages",
    "pagination",
    "paging",
    "per",
    "prev",
    "previous",
    "query",
    "results",
    "size",
    "skip",
    "start",
    "status",
    "success",
    "token",
    "took",
    "total",
    "totals",
    "truncated",
    "type",
    "version",
    "warning",
    "warnings",
];

/// Whether a member of this name says something about the list next to it, and nothing that the list is a part of. Only
/// the name counts: values differ from result to result.
pub(super) fn describes_list(name: &str) -> bool {
    aquifer_protocol::case::snake_case(name).split('_').any(|word| DESCRIBING_WORDS.contains(&word))
}
