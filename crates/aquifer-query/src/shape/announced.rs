//! What a response says about its list: how many rows there are, whether it continues, and which members are only about it.

use aquifer_protocol::case::snake_identifier;
use serde_json::Value;

/// Members of a response that describe the page.
const PAGE_OBJECTS: &[&str] =
    &["meta", "metadata", "pagination", "paging", "page_info", "pageInfo", "links", "_links", "page"];

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
    "total", "total_count", "totalCount", "total_items", "totalItems", "total_results", "totalElements",
];

/// Fields in which targets report the number of the page.
const PAGE_NUMBER_NAMES: &[&str] = &["page", "page_number", "pageNumber", "current_page", "currentPage", "number"];

/// The objects of a response that may describe the page: the response itself, and members for that purpose.
fn page_objects(body: &Value) -> impl Iterator<Item = &Value> {
    std::iter::once(body).chain(PAGE_OBJECTS.iter().filter_map(|name| body.get(*name)))
}

/// The total number of rows that a response reports.
pub fn announced_total(body: &Value) -> Option<u64> {
    page_objects(body).find_map(|object| TOTAL_NAMES.iter().find_map(|name| object.get(*name)?.as_u64()))
}

/// The number of the page that a response reports.
pub fn announced_page(body: &Value) -> Option<u64> {
    page_objects(body).find_map(|object| PAGE_NUMBER_NAMES.iter().find_map(|name| object.get(*name)?.as_u64()))
}

/// Whether a response says that the list continues: by a flag, or by a link, cursor or number of the next page.
pub fn announces_more(body: &Value) -> Option<bool> {
    page_objects(body).find_map(|object| {
        let members = || object.as_object().into_iter().flatten().take(MAX_MEMBERS);
        members().find_map(|(name, value)| flag(name, value)).or_else(|| {
            let next = members().filter(|(name, _)| names_next_page(name));
            next.map(|(_, value)| value).find_map(|value| match value {
                Value::Null => Some(false),
                Value::String(next) => Some(!next.is_empty()),
                Value::Number(_) => Some(true),
                // An object that describes the next page, such as `{"offset": …, "uri": …}`.
                Value::Object(next) => Some(!next.values().all(Value::is_null)),
                _ => None,
            })
        })
    })
}

/// What a flag says: `has_more`, `moreResults`, `hasNextPage`, `isLast`, `truncated`.
fn flag(name: &str, value: &Value) -> Option<bool> {
    let value = value.as_bool()?;
    let name = snake_identifier(name);
    let has = |wanted: &str| name.split('_').any(|word| word == wanted);
    if has("more") || has("has") && has("next") {
        Some(value)
    } else if matches!(&*name, "last" | "is_last" | "last_page" | "is_last_page") {
        Some(!value)
    } else {
        // A list that is not cut off for one reason may continue for another.
        ((has("truncated") || has("incomplete")) && value).then_some(true)
    }
}

/// Whether a member is the link to, or the cursor or number of, the next page: `next`, `next_cursor`, `nextPageToken`,
/// `@odata.nextLink`, `continue`.
fn names_next_page(name: &str) -> bool {
    let name = snake_identifier(name.strip_prefix("@odata.").unwrap_or(name));
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
