//! What a response says about its list: how many rows there are, whether it continues, and which members are only about it.

use serde_json::Value;

/// Members of a response that describe the page.
const PAGE_OBJECTS: &[&str] =
    &["meta", "metadata", "pagination", "paging", "page_info", "pageInfo", "links", "_links", "page"];

/// Names of a flag that says whether there are more pages.
const MORE_NAMES: &[&str] = &["has_more", "hasMore", "has_next", "hasNext", "has_next_page", "hasNextPage"];

/// Names of the link to, or the number of, the next page.
#[rustfmt::skip]
const NEXT_NAMES: &[&str] = &[
    "next", "next_page", "nextPage", "next_url", "nextUrl", "next_cursor", "nextCursor", "next_page_token",
    "nextPageToken", "next_token", "nextToken", "nextLink", "next_link", "@odata.nextLink",
];

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

/// Whether a response says that the list continues: by a flag, or by a link or number of the next page.
pub fn announces_more(body: &Value) -> Option<bool> {
    let flag = |object: &Value| MORE_NAMES.iter().find_map(|name| object.get(*name)?.as_bool());
    let next = |object: &Value| {
        NEXT_NAMES.iter().find_map(|name| match object.get(*name)? {
            Value::Null => Some(false),
            Value::String(next) => Some(!next.is_empty()),
            Value::Number(_) => Some(true),
            // An object that describes the next page, such as `{"offset": …, "uri": …}`.
            Value::Object(next) => Some(!next.values().all(Value::is_null)),
            _ => None,
        })
    };
    page_objects(body).find_map(|object| flag(object).or_else(|| next(object)))
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
