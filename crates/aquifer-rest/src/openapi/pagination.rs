//! Detects how an API paginates its lists, from the names of parameters and fields.
//!
//! Detection is conservative, because a wrong guess would request pages that do not exist. It considers only operations
//! that read and whose response is or contains a list, and only unambiguous names. Parameters that look like paging and
//! are not understood are listed ([`unmanaged`]), so that answers do not claim to be complete.

use std::sync::Arc;

use aquifer_protocol::schema::{Kind, Parameter, Schema, Types};

use super::response::Answer;
use crate::route::{Method, Pagination, Place, RouteParameter, UnmanagedPaging};

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
/// Parameters for the key of the last row of the page before.
const LAST_KEYS: &[&str] = &["starting_after", "after_id"];
/// Further names of parameters that select a part of a list.
const OTHER_POSITIONS: &[&str] = &["ending_before", "page_id", "last_id", "next_page"];
/// Names of objects that describe nothing but the next page.
const NEXT_OBJECTS: &[&str] = &["next_page", "next"];
/// Names of objects that describe the page next to the list.
const PAGE_INFOS: &[&str] =
    &["meta", "metadata", "paging", "pagination", "page_info", "response_metadata", "cursors", "links", "page"];

/// Whether a page parameter is a number. Its name is not sufficient, because it may hold a token.
fn is_number(schema: &Schema, types: &Types) -> bool {
    matches!(schema.resolve(types).kind, Kind::Integer | Kind::Number)
}

/// What is known about an operation that reads.
#[derive(Clone, Copy)]
pub(super) struct Evidence<'a> {
    pub(super) method: Method,
    pub(super) parameters: &'a [Parameter],
    pub(super) routes: &'a [RouteParameter],
    pub(super) answer: &'a Answer,
    pub(super) types: &'a Types,
}

impl<'a> Evidence<'a> {
    /// The parameters that can say which page is meant: those of the query, or of the body of a request that has one.
    fn candidates(self) -> impl Iterator<Item = (&'a Parameter, &'a RouteParameter)> {
        let pairs = self.parameters.iter().zip(self.routes);
        pairs.filter(move |(_, route)| match route.place {
            Place::Query { .. } => true,
            Place::BodyField => self.method == Method::Post,
            _ => false,
        })
    }

    /// The first of these names that a parameter has.
    fn find(self, names: &[&str]) -> Option<(&'a Parameter, &'a RouteParameter)> {
        let is_named = |one: &Parameter, name: &str| &*one.name == name || one.name.replace('_', "") == name;
        names.iter().find_map(|name| self.candidates().find(|(one, _)| is_named(one, name)))
    }

    fn is_number(self, parameter: &Parameter) -> bool {
        is_number(&parameter.schema, self.types)
    }
}

/// How the operation paginates, if it does.
pub(super) fn detect(evidence: Evidence<'_>) -> Option<Pagination> {
    let Evidence { method, answer, types, .. } = evidence;
    let schema = answer.schema.as_ref().filter(|_| matches!(method, Method::Get | Method::Post))?;
    if !has_list(schema, types) {
        return None;
    }
    let find_number = |names: &[&str]| evidence.find(names).filter(|(one, _)| evidence.is_number(one));
    if let (Some((_, offset)), Some((max, limit))) = (find_number(&["first"]), find_number(&["max"])) {
        let (offset, limit) = (offset.original_name.clone(), Some(limit.original_name.clone()));
        return Some(Pagination::Offset { offset, limit, max_size: max_size(&max.schema, types) });
    }
    let size = find_number(SIZES);
    let size_name = || size.map(|(_, route)| route.original_name.clone());
    let max_size = size.and_then(|(one, _)| max_size(&one.schema, types));
    let by_cursor = |cursor: &RouteParameter, next: Arc<str>| Pagination::Cursor {
        cursor: cursor.original_name.clone(),
        next,
        limit: size_name(),
        max_size,
    };
    // A number is a point in time or a page, not a cursor.
    let texts = || evidence.candidates().filter(|(one, _)| !evidence.is_number(one));
    let is_position = |name: &str| [CURSORS, PAGES, OFFSETS].concat().contains(&name);
    let named_alike = texts()
        .filter(|(one, _)| is_position(&one.name))
        .find_map(|(one, route)| Some((route, next_named_like(&one.name, schema, types)?)));
    if let Some((cursor, next)) = named_alike {
        return Some(by_cursor(cursor, next));
    }
    if let Some((parameter, cursor)) = evidence.find(CURSORS) {
        let is_clear = !evidence.is_number(parameter) || parameter.name.contains("cursor");
        if let Some(next) = next_cursor(schema, types).filter(|_| is_clear) {
            return Some(by_cursor(cursor, next));
        }
    }
    if let Some((_, cursor)) = evidence.find(LAST_KEYS).filter(|(one, _)| !evidence.is_number(one))
        && let Some(next) = last_key(schema, types)
    {
        return Some(by_cursor(cursor, next));
    }
    let is_list = matches!(schema.resolve(types).kind, Kind::Array(_));
    if answer.has_link_header && method == Method::Get && (is_list || size.is_some()) {
        return Some(Pagination::Link { limit: size_name(), max_size });
    }
    // A page number without a page size is ambiguous.
    size?;
    if let Some((parameter, page)) = find_number(PAGES) {
        let first = first_page(&parameter.schema, types);
        return Some(Pagination::Page { page: page.original_name.clone(), size: size_name(), first, max_size });
    }
    let (_, offset) = find_number(OFFSETS)?;
    Some(Pagination::Offset { offset: offset.original_name.clone(), limit: size_name(), max_size })
}

/// Parameters that say which page of a list is meant, or how large it is, and that are not managed.
pub(super) fn unmanaged(evidence: Evidence<'_>) -> Vec<UnmanagedPaging> {
    let Evidence { types, .. } = evidence;
    let names = [CURSORS, PAGES, OFFSETS, LAST_KEYS, OTHER_POSITIONS].concat();
    let paging = |(one, route): (&Parameter, &RouteParameter)| {
        let is_size = SIZES.contains(&&*one.name) || &*one.name == "max";
        let is_size = is_size && evidence.is_number(one);
        let default = one.schema.default.as_ref().or(one.schema.resolve(types).default.as_ref());
        let default_size = default.and_then(serde_json::Value::as_u64).filter(|_| is_size);
        let is_known = is_size || names.contains(&&*one.name) || names.contains(&&*one.name.replace('_', ""));
        is_known.then(|| UnmanagedPaging { name: route.name.clone(), is_size, default_size })
    };
    evidence.candidates().filter_map(paging).collect()
}

/// The number of the first page: 0 if the parameter says so, otherwise 1.
fn first_page(schema: &Schema, types: &Types) -> u64 {
    let target = schema.resolve(types);
    let default = schema.default.as_ref().or(target.default.as_ref()).and_then(serde_json::Value::as_u64);
    let words = schema.description.as_deref().or(target.description.as_deref()).unwrap_or_default().to_lowercase();
    let is_from_zero = ["zero-based", "zero based", "zero-indexed", "0-based", "0-indexed", "at 0", "from 0", "with 0"];
    match (default, target.range.minimum) {
        (None, _) if is_from_zero.iter().any(|phrase| words.contains(phrase)) => 0,
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

/// Whether the response is a list, an object that contains one, or an object with nothing but such an object.
fn has_list(schema: &Schema, types: &Types) -> bool {
    let is_array = |schema: &Schema| matches!(schema.resolve(types).kind, Kind::Array(_));
    let holds = |schema: &Schema| match &schema.resolve(types).kind {
        Kind::Object(shape) => shape.fields.iter().any(|field| is_array(&field.schema)),
        _ => false,
    };
    let only_member = match &schema.resolve(types).kind {
        Kind::Object(shape) if shape.fields.len() == 1 => shape.fields.first().map(|field| &field.schema),
        _ => None,
    };
    is_array(schema) || holds(schema) || only_member.is_some_and(holds)
}

/// The path of a member that has the name of a parameter, in an object that describes the next page: `next_page.offset`
/// for `offset`.
fn next_named_like(name: &str, schema: &Schema, types: &Types) -> Option<Arc<str>> {
    let Kind::Object(shape) = &schema.resolve(types).kind else { return None };
    NEXT_OBJECTS.iter().find_map(|next| {
        let next = find_field(&shape.fields, next)?;
        let Kind::Object(inner) = &next.schema.resolve(types).kind else { return None };
        let member = find_field(&inner.fields, name)?;
        Some(format!("{}.{}", next.name, member.name).into())
    })
}

/// The path of the key of the last row, in a response that says whether there are more: `data.-1.id`.
fn last_key(schema: &Schema, types: &Types) -> Option<Arc<str>> {
    let Kind::Object(shape) = &schema.resolve(types).kind else { return None };
    find_field(&shape.fields, "has_more")?;
    shape.fields.iter().find_map(|field| {
        let Kind::Array(Some(row)) = &field.schema.resolve(types).kind else { return None };
        let has_id = match &row.resolve(types).kind {
            Kind::Object(row) => row.fields.is_empty() || row.fields.iter().any(|one| &*one.name == "id"),
            // One of several kinds of rows, or a kind that is not described.
            Kind::Union(_) | Kind::Any => true,
            _ => false,
        };
        has_id.then(|| format!("{}.-1.id", field.name).into())
    })
}

/// The path of the next cursor in a response: in the object that contains the list, or in the whole response.
fn next_cursor(schema: &Schema, types: &Types) -> Option<Arc<str>> {
    next_cursor_in(schema, types).or_else(|| {
        let Kind::Object(shape) = &schema.resolve(types).kind else { return None };
        let mut holders = shape.fields.iter().filter(|field| match &field.schema.resolve(types).kind {
            Kind::Object(_) => has_list(&field.schema, types) && !field.name.contains('.'),
            _ => false,
        });
        let holder = holders.next().filter(|_| holders.next().is_none())?;
        Some(format!("{}.{}", holder.name, next_cursor_in(&holder.schema, types)?).into())
    })
}

fn next_cursor_in(schema: &Schema, types: &Types) -> Option<Arc<str>> {
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
        for deeper in PAGE_INFOS.iter().chain(NEXT_OBJECTS) {
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
