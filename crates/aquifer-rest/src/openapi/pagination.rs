//! Detects how an API paginates its lists, from the names of parameters and fields.
//!
//! Detection is conservative, because a wrong guess would request pages that do not exist. It considers only GET
//! operations whose response is or contains a list, and only unambiguous names.

use std::sync::Arc;

use aquifer_protocol::schema::{Kind, Parameter, Schema, Types};

use super::response::Answer;
use crate::route::{Method, Pagination, Place, RouteParameter};

const PAGES: &[&str] = &["page", "page_number", "page_no", "page_num", "pagenumber"];
const OFFSETS: &[&str] = &["offset", "skip", "start_index", "start_at"];
const CURSORS: &[&str] = &[
    "cursor",
    "after",
    "page_token",
    "starting_after",
    "next_token",
    "continuation_token",
    "page_cursor",
    "next_cursor",
    "start_cursor",
    "continue",
    "marker",
];
const SIZES: &[&str] = &[
    "per_page",
    "page_size",
    "limit",
    "pagesize",
    "perpage",
    "max_results",
    "top",
    "count",
    "first",
    "size",
    "max_items",
];
const NEXT_CURSORS: &[&str] = &[
    "next_cursor",
    "next_page_token",
    "next_token",
    "continuation_token",
    "next_page_cursor",
    "cursor",
    "after",
    "next",
    "end_cursor",
    "continue",
    "next_marker",
];
/// Names of objects that describe the page next to the list.
const PAGE_INFOS: &[&str] =
    &["meta", "metadata", "paging", "pagination", "page_info", "response_metadata", "cursors", "links", "page"];

/// Whether a page parameter is a number. Its name is not sufficient, because it may hold a token.
fn is_number(schema: &Schema, types: &Types) -> bool {
    matches!(schema.resolve(types).kind, Kind::Integer | Kind::Number)
}

/// How the operation paginates, if it does.
pub(super) fn detect(
    method: Method,
    parameters: &[Parameter],
    routes: &[RouteParameter],
    answer: &Answer,
    types: &Types,
) -> Option<Pagination> {
    let schema = answer.schema.as_ref().filter(|_| method == Method::Get)?;
    if !has_list(schema, types) {
        return None;
    }
    let query = || {
        let pairs = parameters.iter().zip(routes);
        pairs.filter(|(_, route)| matches!(route.place, Place::Query { .. }))
    };
    let find = |names: &[&str]| {
        names.iter().find_map(|name| query().find(|(one, _)| &*one.name == *name || one.name.replace('_', "") == *name))
    };
    let size = find(SIZES).filter(|(one, _)| is_number(&one.schema, types));
    let size_name = || size.map(|(_, route)| route.original_name.clone());
    let max_size = size.and_then(|(one, _)| max_size(&one.schema, types));
    if let Some((_, cursor)) = find(CURSORS)
        && let Some(next) = next_cursor(schema, types)
    {
        let cursor = cursor.original_name.clone();
        return Some(Pagination::Cursor { cursor, next, limit: size_name(), max_size });
    }
    let is_list = matches!(schema.resolve(types).kind, Kind::Array(_));
    if answer.has_link_header && (is_list || size.is_some()) {
        return Some(Pagination::Link { limit: size_name(), max_size });
    }
    // A page number without a page size is ambiguous.
    size?;
    if let Some((parameter, page)) = find(PAGES).filter(|(one, _)| is_number(&one.schema, types)) {
        let first = first_page(&parameter.schema, types);
        return Some(Pagination::Page { page: page.original_name.clone(), size: size_name(), first, max_size });
    }
    let (_, offset) = find(OFFSETS).filter(|(one, _)| is_number(&one.schema, types))?;
    Some(Pagination::Offset { offset: offset.original_name.clone(), limit: size_name(), max_size })
}

/// The number of the first page: 0 if the parameter says so, otherwise 1.
fn first_page(schema: &Schema, types: &Types) -> u64 {
    let target = schema.resolve(types);
    let default = schema.default.as_ref().or(target.default.as_ref()).and_then(serde_json::Value::as_u64);
    match (default, target.range.minimum) {
        (Some(default @ (0 | 1)), _) => default,
        (None, Some(0.0)) => 0,
        _ => 1,
    }
}

fn max_size(schema: &Schema, types: &Types) -> Option<u64> {
    /// Larger limits are those of the number type, not of a page.
    const MAX_PAGE: f64 = 100_000.0;
    let maximum = schema.range.maximum.or(schema.resolve(types).range.maximum)?;
    // The value is whole and within bounds, so the conversion is exact.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    (1.0..=MAX_PAGE).contains(&maximum).then_some(maximum as u64)
}

/// Whether the response is a list, or an object that contains one.
fn has_list(schema: &Schema, types: &Types) -> bool {
    match &schema.resolve(types).kind {
        Kind::Array(_) => true,
        Kind::Object(shape) => {
            shape.fields.iter().any(|field| matches!(field.schema.resolve(types).kind, Kind::Array(_)))
        }
        _ => false,
    }
}

/// The path of the next cursor in a response.
fn next_cursor(schema: &Schema, types: &Types) -> Option<Arc<str>> {
    let Kind::Object(shape) = &schema.resolve(types).kind else { return None };
    if let Some(field) = cursor_field(&shape.fields, types) {
        return Some(field.name.clone());
    }
    for info in PAGE_INFOS {
        let Some(field) = find_field(&shape.fields, info) else { continue };
        let Kind::Object(inner) = &field.schema.resolve(types).kind else { continue };
        if let Some(cursor) = cursor_field(&inner.fields, types) {
            return Some(format!("{}.{}", field.name, cursor.name).into());
        }
        for deeper in PAGE_INFOS {
            let Some(outer) = find_field(&inner.fields, deeper) else { continue };
            let Kind::Object(innermost) = &outer.schema.resolve(types).kind else { continue };
            if let Some(cursor) = cursor_field(&innermost.fields, types) {
                return Some(format!("{}.{}.{}", field.name, outer.name, cursor.name).into());
            }
        }
    }
    None
}

/// A string field that contains the next cursor. URLs are excluded.
fn cursor_field<'s>(fields: &'s [Parameter], types: &Types) -> Option<&'s Parameter> {
    let is_text = |field: &&Parameter| {
        let schema = field.schema.resolve(types);
        let is_url = schema.format.as_ref().is_some_and(|format| matches!(format.as_str(), "uri" | "url"));
        matches!(schema.kind, Kind::String) && !is_url && !field.name.contains('.')
    };
    NEXT_CURSORS.iter().filter_map(|name| find_field(fields, name)).find(is_text)
}

fn find_field<'s>(fields: &'s [Parameter], name: &str) -> Option<&'s Parameter> {
    fields.iter().find(|field| aquifer_protocol::case::snake_identifier(&field.name) == name)
}
