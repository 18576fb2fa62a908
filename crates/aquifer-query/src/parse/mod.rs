//! Parses parameters into a plan and reports every problem at once.

mod aggregate;
mod fields;
mod filter;
mod page;
mod path;
mod problems;
mod sort;
pub(crate) mod text;

use aquifer_protocol::error::Failure;
use aquifer_protocol::warning::Warning;
use serde_json::{Map, Value};

use crate::collection::Collection;
use crate::cursor::CursorKey;
use crate::plan::{Path, Plan};
use problems::Problems;

/// The kind of the operation. It determines the default preset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryKind {
    /// One item.
    Get,
    /// All items.
    List,
    /// A text search.
    Search,
}

impl QueryKind {
    /// The default preset (R-COL-5).
    pub fn preset(self) -> &'static str {
        match self {
            QueryKind::Get => "full",
            QueryKind::List => "standard",
            QueryKind::Search => "minimal",
        }
    }
}

/// A plan with the warnings from parsing.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedQuery {
    /// The plan.
    pub plan: Plan,
    /// Adjustments such as a reduced page size (R-COL-11).
    pub warnings: Vec<Warning>,
}

/// Opens a cursor of a plan and returns its position.
pub(crate) type OpenCursor<'a> = dyn Fn(&str, &Plan) -> Option<Vec<Value>> + 'a;

/// Parses only the selected fields, for one item.
pub fn parse_fields(
    collection: &Collection,
    family: QueryKind,
    params: &Map<String, Value>,
) -> Result<Vec<Path>, Failure> {
    let mut problems = Problems::default();
    let select = fields::parse(collection, family, params, &mut problems);
    problems.into_result(select)
}

/// Parses the parameters of a request for a collection.
///
/// The result does not depend on the time: the same parameters always give the same plan.
pub fn parse_query(
    collection: &Collection,
    family: QueryKind,
    params: &Map<String, Value>,
    key: &CursorKey,
) -> Result<ParsedQuery, Failure> {
    parse_with(collection, family, params, AggregateMode::WithItems, &|cursor, plan| key.open(cursor, collection, plan))
}

/// Whether an operation can return items together with aggregates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AggregateMode {
    /// With `include_items`.
    WithItems,
    /// Aggregates only: the operation has no `include_items`.
    Only,
}

/// Parameters that affect items only. Without items they have no effect, and a caller who relies on them would misread
/// the answer, so they are rejected.
const ITEM_PARAMETERS: &[&str] = &[
    "sort",
    "order",
    "fields",
    "preset",
    "first",
    "after",
    "last",
    "before",
    "limit",
    "offset",
    "page",
    "page_size",
    "edges",
    "total",
];

fn reject_item_parameters(params: &Map<String, Value>, mode: AggregateMode, problems: &mut Problems) {
    let given = |name: &&str| params.get(*name).is_some_and(|value| *value != Value::Bool(false));
    let given: Vec<&str> = ITEM_PARAMETERS.iter().copied().filter(given).collect();
    let (it, has) = if given.len() == 1 { ("it", "has") } else { ("them", "have") };
    let remedy = match mode {
        AggregateMode::WithItems => format!("Leave {it} out, or set 'include_items' to true"),
        AggregateMode::Only => format!("Leave {it} out, or ask for the items in a call without 'aggregate'"),
    };
    let problem = format!("{has} no effect with 'aggregate', which returns no items. {remedy}");
    match given.as_slice() {
        [] => {}
        [only] => problems.invalid(only, problem),
        several => problems.conflict(several, problem),
    }
}

/// Like [`parse_query`], with another way to open cursors.
pub(crate) fn parse_with(
    collection: &Collection,
    family: QueryKind,
    params: &Map<String, Value>,
    mode: AggregateMode,
    open: &OpenCursor<'_>,
) -> Result<ParsedQuery, Failure> {
    let mut problems = Problems::default();
    let mut warnings = Vec::new();
    let text = text::parse(params);
    let filter = params.get("filter").and_then(|value| filter::parse(collection, value, &mut problems));
    let sort = sort::parse(collection, params, &mut problems);
    let select = fields::parse(collection, family, params, &mut problems);
    let aggregates = aggregate::parse(collection, params, &mut problems);
    let flag = |name: &str| params.get(name).and_then(Value::as_bool).unwrap_or(false);
    let items = aggregates.is_empty() || flag("include_items");
    if params.contains_key("aggregate") && !flag("include_items") {
        reject_item_parameters(params, mode, &mut problems);
    }
    let mut plan = Plan {
        text,
        filter,
        sort,
        select,
        aggregates,
        items,
        page: crate::plan::Page::Forward { size: collection.pages.default_size, after: None },
        edges: flag("edges"),
        total: flag("total"),
    };
    plan.page = page::parse(collection, params, &plan, open, &mut problems, &mut warnings);
    problems.into_result(ParsedQuery { plan, warnings })
}
