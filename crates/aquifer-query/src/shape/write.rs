//! Writes the response: the selected rows, the page information, and the envelope.

use aquifer_protocol::error::Failure;
use aquifer_protocol::operation::RowPlace;
use aquifer_protocol::warning::Warning;
use serde_json::{Map, Value, json};

use super::infer;
use super::project::{self, Evidence, Projection};
use super::request::ShapingRequest;
use super::row_selection::{BEFORE_FIRST, RowSelection};
use crate::budget;
use crate::collection::PageLimits;
use crate::plan::{Page, Path};
use crate::work::Work;

/// The rows of a result.
#[derive(Debug)]
pub enum Rows<'a> {
    /// Needed again: selected rows are copied.
    Shared(&'a [Value]),
    /// Not needed again: selected rows are moved.
    Owned(Vec<Value>),
}

/// Makes cursors.
pub struct Cursors<'a> {
    /// The cursor of a position, if the rows are held.
    pub seal: &'a dyn Fn(usize) -> Option<String>,
}

/// Larger values of the envelope are omitted.
const MAX_ENVELOPE_BYTES: usize = 1_024;

/// Holds values of the envelope whose names the response uses itself.
const UPSTREAM: &str = "_upstream";

impl RowSelection {
    /// The `data` of the response, and a warning if a row was shortened.
    pub fn write(self, rows: Rows<'_>, cursors: &Cursors<'_>) -> (Map<String, Value>, Option<Warning>) {
        let (room, max_tokens) = (self.room, self.max_tokens);
        let is_partial = self.is_partial;
        let Self { order, start, end, select, aggregations, page, items, table, edges, total, paged, is_open, .. } =
            self;
        let mut data = aggregations;
        if !items {
            return (data, None);
        }
        let all = order.len();
        let shown = order.get(start..end).unwrap_or_default();
        let select = select.as_deref();
        let projection = select.map(Projection::new);
        let mut nodes: Vec<Value> = match rows {
            Rows::Shared(rows) => {
                let copy = |row: &Value| projection.as_ref().map_or_else(|| row.clone(), |fields| fields.copy(row));
                shown.iter().filter_map(|number| rows.get(*number)).map(copy).collect()
            }
            Rows::Owned(mut rows) => {
                let take = |row: &mut Value| match &projection {
                    Some(fields) => fields.take(row),
                    None => row.take(),
                };
                shown.iter().filter_map(|number| rows.get_mut(*number).map(take)).collect()
            }
        };
        let mut shortened = None;
        if let (Some(room), [only]) = (room, nodes.as_mut_slice()) {
            let mut cuts = Vec::new();
            *only = budget::shrink(only.take(), room, &mut cuts);
            shortened = (!cuts.is_empty()).then(|| budget::shortened(&cuts, max_tokens));
        }
        if table {
            crate::answer::table::insert(&mut data, select, &nodes);
        } else if edges {
            let edge = |(place, node): (usize, Value)| match (cursors.seal)(place) {
                Some(cursor) => json!({ "node": node, "cursor": cursor }),
                None => json!({ "node": node }),
            };
            data.insert("edges".to_owned(), (start..).zip(nodes).map(edge).collect());
        } else {
            data.insert("items".to_owned(), Value::Array(nodes));
        }
        let returned = shown.len();
        let more = end < all || is_open;
        // Nothing is said about an end that is not known.
        let has_more = (more || !is_partial).then_some(more);
        let total = total && !is_open && !is_partial;
        // Without a requested page, a complete result needs no page information.
        if !(paged || more || start > 0 || edges || total) {
            return (data, shortened);
        }
        let mut info = Map::new();
        let mut put = |name: &str, value: Value| drop(info.insert(name.to_owned(), value));
        let name = match page {
            Page::Forward { .. } | Page::Backward { .. } => {
                has_more.into_iter().for_each(|more| put("hasNextPage", more.into()));
                put("hasPreviousPage", (start > 0).into());
                for (name, place) in [("startCursor", start), ("endCursor", end.saturating_sub(1))] {
                    if end > start
                        && let Some(cursor) = (cursors.seal)(place)
                    {
                        put(name, cursor.into());
                    }
                }
                // An empty page has no row whose cursor could be used to continue.
                if end == start
                    && is_open
                    && let Some(cursor) = (cursors.seal)(start.checked_sub(1).unwrap_or(BEFORE_FIRST))
                {
                    put("endCursor", cursor.into());
                }
                if total {
                    put("totalCount", all.into());
                }
                "pageInfo"
            }
            Page::Offset { limit, offset } => {
                put("limit", limit.into());
                put("offset", offset.into());
                put("returned", returned.into());
                if total {
                    put("total_items", all.into());
                }
                has_more.into_iter().for_each(|more| put("has_more", more.into()));
                "pagination"
            }
            Page::Numbered { page, size } => {
                put("page", page.into());
                put("page_size", size.into());
                if total {
                    put("total_items", all.into());
                    put("total_pages", all.div_ceil(size.max(1)).into());
                }
                has_more.into_iter().for_each(|more| put("has_more", more.into()));
                "pagination"
            }
        };
        data.insert(name.to_owned(), Value::Object(info));
        (data, shortened)
    }
}

/// Adds the envelope next to the rows: counts, tokens for the next page of the upstream. Large values are omitted with a
/// warning.
///
/// If rows were filtered here, counts of the upstream do not describe the rows and are kept separate.
pub fn add_envelope(data: &mut Map<String, Value>, envelope: Value, is_filtered: bool) -> Option<Warning> {
    let Value::Object(envelope) = envelope else { return None };
    let mut omitted: Vec<String> = Vec::new();
    let mut upstream = Map::new();
    for (name, value) in envelope {
        if project::estimated_value_size(&value) > MAX_ENVELOPE_BYTES {
            omitted.push(name.chars().take(128).collect());
        } else if data.contains_key(&name) || name == UPSTREAM || (is_filtered && states_count(&name, &value, 0)) {
            upstream.insert(name, value);
        } else {
            data.insert(name, value);
        }
    }
    if !upstream.is_empty() {
        data.insert(UPSTREAM.to_owned(), Value::Object(upstream));
    }
    (!omitted.is_empty()).then(|| {
        omitted.truncate(40);
        Warning::new(
            "RESULT_TRUNCATED",
            "Large values next to the rows were omitted. Call without controls to see them",
        )
        .detail("left_out", omitted)
    })
}

/// Whether a value of the envelope says how many rows there are, or contains one that does.
fn states_count(name: &str, value: &Value, depth: usize) -> bool {
    const MAX_DEPTH: usize = 4;
    const WORDS: [&str; 8] = ["total", "count", "hits", "found", "matches", "results", "size", "pages"];
    match value {
        Value::Object(members) if depth < MAX_DEPTH => {
            members.iter().any(|(name, value)| states_count(name, value, depth + 1))
        }
        Value::Number(_) | Value::String(_) => {
            let is_number = value.is_number() || value.as_str().is_some_and(|text| text.parse::<u64>().is_ok());
            let words = aquifer_protocol::case::snake_case(name);
            is_number && words.split('_').any(|word| WORDS.contains(&word))
        }
        _ => false,
    }
}

/// The estimated tokens of the envelope.
pub fn envelope_tokens(envelope: &Value) -> usize {
    let Value::Object(envelope) = envelope else { return 0 };
    let is_kept = |(_, value): &(&String, &Value)| project::estimated_value_size(value) <= MAX_ENVELOPE_BYTES;
    let member =
        |(name, value): (&String, &Value)| budget::estimate_text(name.as_bytes()) + budget::estimate_value(value) + 2;
    let (kept, omitted): (Vec<_>, Vec<_>) = envelope.iter().partition(is_kept);
    let warning = if omitted.is_empty() { 0 } else { 40 };
    kept.into_iter().map(member).sum::<usize>()
        + omitted.iter().map(|(name, _)| name.len() / 2 + 2).sum::<usize>()
        + warning
}

/// Shapes one object. Only `fields` and `preset` apply.
pub fn shape_object(value: Value, request: &ShapingRequest, work: &Work<'_>) -> Result<(Value, Vec<Warning>), Failure> {
    let mut warnings = Vec::new();
    if !value.is_object() {
        let controls: Vec<&str> = request.controls().keys().map(String::as_str).collect();
        warnings.extend(not_applied_warning(&controls, "a plain value"));
        return Ok((value, warnings));
    }
    let rows = [value];
    let collection = infer::infer_collection(&rows, PageLimits::default());
    let (select, others) = request.parse_fields(&collection)?;
    warnings.extend(not_applied_warning(&others, "one object, not rows"));
    let [mut value] = rows;
    if request.selects_whole_rows() {
        return Ok((value, warnings));
    }
    let is_lacking = |path: &&Path| Evidence::of(&value, path, work).is_lacking();
    let lacking: Vec<String> = select.iter().filter(is_lacking).map(ToString::to_string).collect();
    project::estimated_size(&value, Some(&select), work);
    work.check()?;
    if !lacking.is_empty() {
        warnings.push(super::row_selection::missing_fields_warning("The result has no", &lacking, &collection));
    }
    Ok((Projection::new(&select).take(&mut value), warnings))
}

/// A result without the rows that were expected: it is passed on whole, because the controls were for rows.
pub fn without_rows(value: Value, request: &ShapingRequest) -> (Value, Vec<Warning>) {
    let controls: Vec<&str> = request.controls().keys().map(String::as_str).collect();
    (value, not_applied_warning(&controls, "without the expected rows").into_iter().collect())
}

/// Controls without which an answer would have other rows, another order or other numbers.
const DECISIVE: &[&str] = &["filter", "sort", "order", "aggregate"];

/// The failure for a result without rows if the caller asked for some of them, for an order or for aggregates: the result
/// as it is would pass for what was asked for (R-DIS-8a).
pub fn refuse_without_rows(controls: &Map<String, Value>, place: &RowPlace) -> Option<Failure> {
    let name = DECISIVE.iter().find(|name| controls.contains_key(**name))?;
    let list = match place {
        // Another path may come from a result of another caller.
        RowPlace::Path { path, is_configured: true, .. } if &**path != "$" => {
            format!("no list named '{}'", aquifer_protocol::text::clean(path))
        }
        RowPlace::Path { .. } | RowPlace::Detected | RowPlace::Unknown => "no rows".to_owned(),
    };
    Some(Failure::invalid_value(name, format!("cannot be applied: this result has {list}. Call again without it")))
}

/// The warning for controls that had no effect (R-COL-11).
pub fn not_applied_warning(controls: &[&str], content: &str) -> Option<Warning> {
    (!controls.is_empty()).then(|| {
        let named: Vec<String> = controls.iter().map(|name| format!("'{name}'")).collect();
        Warning::new("SHAPING_NOT_APPLIED", format!("The result is {content}: {} had no effect", named.join(", ")))
            .detail("controls", controls.to_vec())
    })
}
