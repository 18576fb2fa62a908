//! Parameters read into a plan, with every problem reported at once.

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

/// Which kind of operation asks: they differ in what they show by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// One item.
    Get,
    /// All of them.
    List,
    /// Those that hold a text.
    Search,
}

impl Family {
    /// What is shown if nothing is said (R-COL-5).
    pub fn preset(self) -> &'static str {
        match self {
            Family::Get => "full",
            Family::List => "standard",
            Family::Search => "minimal",
        }
    }
}

/// A plan, and what was not taken quite as it was said.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// The plan.
    pub plan: Plan,
    /// Clamps and the like (R-COL-11).
    pub warnings: Vec<Warning>,
}

/// The place a cursor stands for in a plan, if it is one of its cursors.
pub(crate) type Open<'a> = dyn Fn(&str, &Plan) -> Option<Vec<Value>> + 'a;

/// Reads which parts of one item a request asks for, and nothing else.
pub fn read_fields(collection: &Collection, family: Family, params: &Map<String, Value>) -> Result<Vec<Path>, Failure> {
    let mut problems = Problems::default();
    let select = fields::read(collection, family, params, &mut problems);
    problems.into_result(select)
}

/// Reads the parameters of a request against a collection.
///
/// `now` and the like do not matter here: a plan is the same whenever it is made.
pub fn read(
    collection: &Collection,
    family: Family,
    params: &Map<String, Value>,
    key: &CursorKey,
) -> Result<Read, Failure> {
    read_with(collection, family, params, Sums::WithItems, &|cursor, plan| key.open(cursor, collection, plan))
}

/// What an operation can return beside sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sums {
    /// Items, too, with `include_items`.
    WithItems,
    /// Nothing: the operation has no `include_items`.
    Alone,
}

/// Parameters that concern items only. Sums without items leave them nothing to act on, and a caller who believes in
/// their effect would misread the answer.
const OF_ITEMS: &[&str] = &[
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

fn refuse_without_items(params: &Map<String, Value>, sums: Sums, problems: &mut Problems) {
    let given = |name: &&str| params.get(*name).is_some_and(|value| *value != Value::Bool(false));
    let given: Vec<&str> = OF_ITEMS.iter().copied().filter(given).collect();
    let (it, has) = if given.len() == 1 { ("it", "has") } else { ("them", "have") };
    let remedy = match sums {
        Sums::WithItems => format!("Leave {it} out, or set 'include_items' to true"),
        Sums::Alone => format!("Leave {it} out, or ask for the items in a call without 'aggregate'"),
    };
    let problem = format!("{has} no effect beside 'aggregate', which returns no items. {remedy}");
    match given.as_slice() {
        [] => {}
        [only] => problems.invalid(only, problem),
        several => problems.contradict(several, problem),
    }
}

/// The same where cursors are opened in another way.
pub(crate) fn read_with(
    collection: &Collection,
    family: Family,
    params: &Map<String, Value>,
    sums: Sums,
    open: &Open<'_>,
) -> Result<Read, Failure> {
    let mut problems = Problems::default();
    let mut warnings = Vec::new();
    let text = text::read(params);
    let filter = params.get("filter").and_then(|value| filter::read(collection, value, &mut problems));
    let sort = sort::read(collection, params, &mut problems);
    let select = fields::read(collection, family, params, &mut problems);
    let aggregates = aggregate::read(collection, params, &mut problems);
    let flag = |name: &str| params.get(name).and_then(Value::as_bool).unwrap_or(false);
    let items = aggregates.is_empty() || flag("include_items");
    if params.contains_key("aggregate") && !flag("include_items") {
        refuse_without_items(params, sums, &mut problems);
    }
    let mut plan = Plan {
        text,
        filter,
        sort,
        select,
        aggregates,
        items,
        page: crate::plan::Page::Forward { size: collection.pages.default, after: None },
        edges: flag("edges"),
        total: flag("total"),
    };
    plan.page = page::read(collection, params, &plan, open, &mut problems, &mut warnings);
    problems.into_result(Read { plan, warnings })
}
