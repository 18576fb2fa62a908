//! The answer: rows that were picked, the page they make, and what stood around them.

use aquifer_protocol::error::Failure;
use aquifer_protocol::warning::Warning;
use serde_json::{Map, Value, json};

use super::asked::Asked;
use super::pick::Picked;
use super::{infer, project};
use crate::collection::Pages;
use crate::plan::Page;

/// Rows to show some of.
#[derive(Debug)]
pub enum Rows<'a> {
    /// They are needed again: what is shown is copied.
    Held(&'a [Value]),
    /// Nobody needs them any more: what is shown is moved.
    Ours(Vec<Value>),
}

/// How cursors are made.
pub struct Cursors<'a> {
    /// The cursor of a place, if the rows are held.
    pub seal: &'a dyn Fn(usize) -> Option<String>,
}

/// What surrounds rows and has more bytes than this is left out of the answer.
const MAX_ENVELOPE_BYTES: usize = 1_024;

/// Where what stood around the rows goes if its name is one of the answer's own.
const UPSTREAM: &str = "_upstream";

impl Picked {
    /// The `data` of the answer.
    pub fn write(self, rows: Rows<'_>, cursors: &Cursors<'_>) -> Map<String, Value> {
        let mut data = Map::new();
        let Self { order, start, end, select, aggregations, page, items, edges, total, paged, .. } = self;
        if let Some(aggregations) = aggregations {
            data.insert("aggregations".to_owned(), aggregations);
        }
        if !items {
            return data;
        }
        let all = order.len();
        let shown = order.get(start..end).unwrap_or_default();
        let select = select.as_deref();
        let nodes: Vec<Value> = match rows {
            Rows::Held(rows) => {
                let copy = |row: &Value| select.map_or_else(|| row.clone(), |select| project::copied(row, select));
                shown.iter().filter_map(|number| rows.get(*number)).map(copy).collect()
            }
            Rows::Ours(mut rows) => {
                let take = |row: &mut Value| {
                    let row = row.take();
                    match select {
                        Some(select) => project::moved(row, select),
                        None => row,
                    }
                };
                shown.iter().filter_map(|number| rows.get_mut(*number).map(take)).collect()
            }
        };
        if edges {
            let edge = |(place, node): (usize, Value)| match (cursors.seal)(place) {
                Some(cursor) => json!({ "node": node, "cursor": cursor }),
                None => json!({ "node": node }),
            };
            data.insert("edges".to_owned(), (start..).zip(nodes).map(edge).collect());
        } else {
            data.insert("items".to_owned(), Value::Array(nodes));
        }
        let returned = shown.len();
        let more = end < all;
        let mut info = Map::new();
        let mut put = |name: &str, value: Value| drop(info.insert(name.to_owned(), value));
        let name = match page {
            Page::Forward { .. } | Page::Backward { .. } => {
                put("hasNextPage", more.into());
                put("hasPreviousPage", (start > 0).into());
                // Only what is held has places to come back to: a result that is shown whole is not.
                for (name, place) in [("startCursor", start), ("endCursor", end.saturating_sub(1))] {
                    if end > start
                        && let Some(cursor) = (cursors.seal)(place)
                    {
                        put(name, cursor.into());
                    }
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
                put("has_more", more.into());
                "pagination"
            }
            Page::Numbered { page, size } => {
                put("page", page.into());
                put("page_size", size.into());
                if total {
                    put("total_items", all.into());
                    put("total_pages", all.div_ceil(size.max(1)).into());
                }
                put("has_more", more.into());
                "pagination"
            }
        };
        // Nobody asked for a page, and everything is there: there is nothing to tell.
        if paged || more || start > 0 || edges || total {
            data.insert(name.to_owned(), Value::Object(info));
        }
        data
    }
}

/// Puts what stood around the rows beside them: counts, tokens for the upstream's next page. Large things are left out,
/// and said to be.
pub fn beside(data: &mut Map<String, Value>, around: Value) -> Option<Warning> {
    let Value::Object(around) = around else { return None };
    let mut left_out: Vec<String> = Vec::new();
    let mut taken = Map::new();
    for (name, value) in around {
        if project::size_of(&value) > MAX_ENVELOPE_BYTES {
            left_out.push(name.chars().take(128).collect());
        } else if data.contains_key(&name) || name == UPSTREAM {
            taken.insert(name, value);
        } else {
            data.insert(name, value);
        }
    }
    if !taken.is_empty() {
        data.insert(UPSTREAM.to_owned(), Value::Object(taken));
    }
    (!left_out.is_empty()).then(|| {
        left_out.truncate(40);
        Warning::new(
            "RESULT_TRUNCATED",
            "Large values beside the rows were left out. Call without controls to see them",
        )
        .detail("left_out", left_out)
    })
}

/// One thing, of which only `fields` can be asked.
pub fn one(value: Value, asked: &Asked) -> Result<(Value, Vec<Warning>), Failure> {
    let mut warnings = Vec::new();
    if !value.is_object() {
        let controls: Vec<&str> = asked.controls().keys().map(String::as_str).collect();
        warnings.extend(not_applied(&controls, "a plain value"));
        return Ok((value, warnings));
    }
    let rows = [value];
    let collection = infer::collection(&rows, Pages::default());
    let (select, others) = asked.read_fields(&collection)?;
    warnings.extend(not_applied(&others, "one object, not rows"));
    let [value] = rows;
    if asked.wants_whole_rows() {
        return Ok((value, warnings));
    }
    let lacking: Vec<String> =
        select.iter().filter(|path| !project::has(&value, path)).map(ToString::to_string).collect();
    if !lacking.is_empty() {
        warnings.push(super::pick::missing(&lacking, &collection));
    }
    Ok((project::moved(value, &select), warnings))
}

/// Controls that had nothing to be applied to (R-COL-11).
pub fn not_applied(controls: &[&str], what: &str) -> Option<Warning> {
    (!controls.is_empty()).then(|| {
        let named: Vec<String> = controls.iter().map(|name| format!("'{name}'")).collect();
        Warning::new("SHAPING_NOT_APPLIED", format!("The result is {what}: {} had no effect", named.join(", ")))
            .detail("controls", controls.to_vec())
    })
}
