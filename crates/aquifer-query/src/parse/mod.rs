//! Parses parameters into a plan and reports every problem at once.

mod aggregate;
mod beside_aggregate;
mod calculation;
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

use crate::collection::QueryRoot;
use crate::cursor::CursorKey;
use crate::plan::paths::reference_count;
use crate::plan::{Embed, FieldSelection, Filter, Path, Plan};
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
pub fn parse_fields<'a>(
    collection: impl Into<QueryRoot<'a>>,
    family: QueryKind,
    params: &Map<String, Value>,
) -> Result<FieldSelection, Failure> {
    let mut problems = Problems::default();
    let select = fields::parse(collection.into(), family, params, &mut problems);
    limit_references(&select.paths.iter().collect::<Vec<_>>(), None, &select.embeds, &mut problems);
    problems.into_result(select)
}

/// Databases limit the number of joins in a statement.
const MAX_REFERENCES: usize = 32;

fn limit_references(paths: &[&Path], filter: Option<&Filter>, embeds: &[Embed], problems: &mut Problems) {
    let count = reference_count(paths, filter, embeds);
    if count > MAX_REFERENCES {
        let at =
            if !embeds.is_empty() || paths.iter().any(|path| !path.through.is_empty()) { "fields" } else { "filter" };
        let problem =
            format!("follows {count} references with the rest of the request. The maximum is {MAX_REFERENCES}");
        problems.invalid(at, problem);
    }
}

/// Parses the parameters of a request for a collection.
///
/// The result does not depend on the time: the same parameters always give the same plan.
pub fn parse_query<'a>(
    collection: impl Into<QueryRoot<'a>>,
    family: QueryKind,
    params: &Map<String, Value>,
    key: &CursorKey,
) -> Result<ParsedQuery, Failure> {
    let root = collection.into();
    parse_with(root, family, params, AggregateMode::WithItems, &|cursor, plan| {
        key.open(cursor, root.collection(), plan)
    })
}

/// The plan of a request, regardless of where its page starts: cursors are not opened.
pub fn parse_unpaged<'a>(
    collection: impl Into<QueryRoot<'a>>,
    family: QueryKind,
    params: &Map<String, Value>,
) -> Result<Plan, Failure> {
    let parsed = parse_with(collection, family, params, AggregateMode::WithItems, &|_, _| Some(Vec::new()))?;
    Ok(parsed.plan)
}

/// Whether an operation can return items together with aggregates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum AggregateMode {
    /// With `include_items`.
    #[default]
    WithItems,
    /// Aggregates only: the operation has no `include_items`.
    Only,
}

/// Parses `shape`: whether items and groups are returned as tables (R-EXT-3).
fn parse_shape(params: &Map<String, Value>, problems: &mut Problems) -> bool {
    let table = match params.get("shape").map(Value::as_str) {
        None | Some(Some("items")) => return false,
        Some(Some("table")) => true,
        Some(_) => {
            problems.unsuitable("shape", "must be 'items' or 'table'", &["items", "table"]);
            return false;
        }
    };
    if params.get("edges") == Some(&Value::Bool(true)) {
        problems.conflict(&["shape", "edges"], "cannot be combined: the rows of a table have no cursors of their own");
    }
    table
}

/// Like [`parse_query`], with another way to open cursors.
pub(crate) fn parse_with<'a>(
    collection: impl Into<QueryRoot<'a>>,
    family: QueryKind,
    params: &Map<String, Value>,
    mode: AggregateMode,
    open: &OpenCursor<'_>,
) -> Result<ParsedQuery, Failure> {
    let collection = collection.into();
    let mut problems = Problems::default();
    let mut warnings = Vec::new();
    let text = text::parse(params, &mut problems);
    let filter = params.get("filter").and_then(|value| filter::parse(collection, value, &mut problems));
    let flag = |name: &str| params.get(name).and_then(Value::as_bool).unwrap_or(false);
    let has_items = !params.contains_key("aggregate") || flag("include_items");
    let sort = if has_items { sort::parse(collection, params, &mut problems) } else { Vec::new() };
    let FieldSelection { paths: select, embeds } = fields::parse(collection, family, params, &mut problems);
    let mut aggregates = aggregate::parse(collection, params, &mut problems);
    let items = aggregates.is_empty() || flag("include_items");
    if !has_items {
        beside_aggregate::apply(params, mode, &mut aggregates, &mut problems, &mut warnings);
    }
    let mut plan = Plan {
        text,
        filter,
        sort,
        select,
        embeds,
        aggregates,
        items,
        page: crate::plan::Page::Forward { size: collection.pages.default_size, after: None },
        table: parse_shape(params, &mut problems),
        edges: flag("edges"),
        total: flag("total"),
        max_tokens: None,
    };
    if !collection.open {
        limit_references(&plan.paths(), plan.filter.as_ref(), &plan.embeds, &mut problems);
    }
    if has_items {
        plan.page = page::parse(collection, params, &plan, open, &mut problems, &mut warnings);
    }
    problems.into_result(ParsedQuery { plan, warnings })
}
