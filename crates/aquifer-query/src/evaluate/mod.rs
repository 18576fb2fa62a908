//! Evaluates a plan over JSON values in memory.
//!
//! This shapes the results of servers without a query language. It is also the reference for the translation to SQL: the
//! same plan over the same items gives the same answer everywhere.

pub(crate) mod aggregate;
pub(crate) mod filter;
mod page;
pub mod text;

use std::cmp::Ordering;
use std::sync::Arc;

use aquifer_protocol::warning::Warning;
use serde_json::{Map, Value, json};

use crate::budget::Budget;
use crate::collection::{Collection, FieldType};
use crate::cursor::CursorKey;
use crate::plan::{Embed, Page, Path, Plan, SortKey};
use crate::value::order::compare;
use crate::value::selection::{Selection, element_position, parse_index};
use crate::work::Work;

pub use aggregate::CompensatedSum;

/// A matching item and its rank.
pub(crate) struct Match<'a> {
    pub(crate) item: &'a Value,
    pub(crate) rank: i64,
}

/// The result of a query.
#[derive(Debug, Clone)]
pub struct QueryResult {
    /// The `data` of the response.
    pub data: Value,
    /// What was truncated or not found.
    pub warnings: Vec<Warning>,
}

/// Why a page ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageEnd {
    /// Its items exceed this many bytes.
    Bytes(usize),
    /// The answer would exceed its budget of this many tokens.
    Tokens(usize),
}

/// The warning for a page that ends early because its items are large. The next page by offset or number would not
/// continue where this one ends, so the warning says where the rest is.
pub fn page_truncated(page: &Page, returned: usize, requested: usize, reason: PageEnd) -> Warning {
    let (rest, next_offset) = match page {
        Page::Forward { .. } | Page::Backward { .. } => {
            ("Continue from the last one, or select fewer fields".to_owned(), None)
        }
        Page::Offset { offset, .. } => {
            let next = offset.saturating_add(returned);
            (format!("Continue with 'offset' {next}, or select fewer fields"), Some(next))
        }
        Page::Numbered { page, size } => {
            let next = page.saturating_sub(1).saturating_mul(*size).saturating_add(returned);
            let rest = format!(
                "The next page would skip the rest: use a smaller 'page_size', select fewer fields, or continue with \
                 'limit' and 'offset' {next}"
            );
            (rest, Some(next))
        }
    };
    let warning = match reason {
        PageEnd::Bytes(bytes) => {
            Warning::new("RESULT_PAGED", format!("The page ends early: its items exceed {bytes} bytes. {rest}"))
        }
        PageEnd::Tokens(tokens) => {
            Warning::new("RESULT_PAGED", format!("The page ends early to keep 'max_tokens' {tokens}. {rest}"))
                .before_data()
        }
    };
    let warning = warning.detail("returned", returned).detail("requested", requested);
    match next_offset {
        Some(next) => warning.detail("next_offset", next),
        None => warning,
    }
}

/// Evaluates a plan.
pub fn evaluate(collection: &Collection, plan: &Plan, items: &[Value], key: &CursorKey) -> QueryResult {
    let mut matched: Vec<Match<'_>> = items
        .iter()
        .filter(|item| plan.filter.as_ref().is_none_or(|filter| filter::matches_filter(filter, item)))
        .filter_map(|item| {
            let rank = plan.text.as_ref().map_or(Some(0), |text| filter::text_rank(collection, text, item))?;
            Some(Match { item, rank })
        })
        .collect();
    let mut data = Map::new();
    let mut warnings = Vec::new();
    if collection.open && plan.items {
        warnings.extend(missing_fields_warning(&plan.select, items));
    }
    let mut budget = plan.max_tokens.map(Budget::new);
    if !plan.aggregates.is_empty() {
        aggregate::insert_all(plan, &matched, budget.as_mut(), &Work::unlimited(), &mut data, &mut warnings);
    }
    if plan.items {
        let order = plan.order(collection);
        matched.sort_by(|a, b| {
            compare_positions(&order, plan, &sort_position(&order, plan, a), &sort_position(&order, plan, b))
        });
        page::write_page(collection, plan, &matched, key, budget.as_ref(), &mut data, &mut warnings);
    }
    QueryResult { data: Value::Object(data), warnings }
}

/// Whether a plan needs an item: the item matches the filter and the text search and, unless the plan `needs_all` matching
/// items, lies on the requested side of the cursor. For collections that execute a plan item by item.
pub fn is_wanted(collection: &Collection, plan: &Plan, item: &Value, needs_all: bool) -> bool {
    if !plan.filter.as_ref().is_none_or(|filter| filter::matches_filter(filter, item)) {
        return false;
    }
    let Some(rank) = plan.text.as_ref().map_or(Some(0), |text| filter::text_rank(collection, text, item)) else {
        return false;
    };
    let (cursor, side) = match &plan.page {
        Page::Forward { after: Some(after), .. } => (after, Ordering::Greater),
        Page::Backward { before: Some(before), .. } => (before, Ordering::Less),
        _ => return true,
    };
    let order = plan.order(collection);
    let position = sort_position(&order, plan, &Match { item, rank });
    needs_all || compare_positions(&order, plan, &position, cursor) == side
}

/// The warning for selected paths that no item of an open collection has (R-COL-5).
fn missing_fields_warning(select: &[Path], items: &[Value]) -> Option<Warning> {
    let lacking = |path: &&Path| !items.iter().any(|item| has_path(item, path));
    let fields: Vec<String> = select.iter().filter(lacking).map(Path::to_string).collect();
    (!fields.is_empty() && !items.is_empty()).then(|| {
        Warning::new("FIELD_NOT_FOUND", "Some of the 'fields' are in none of the items").detail("fields", fields)
    })
}

/// Whether the path exists in the item, even with the value null.
fn has_path(item: &Value, path: &Path) -> bool {
    let (last, before) = match path.inside.split_last() {
        None => return path.computed || item.get(&*path.name).is_some(),
        Some(split) => split,
    };
    let outer = Path { inside: before.to_vec(), ..path.clone() };
    match value_at(item, &outer) {
        Value::Object(object) => object.contains_key(&**last),
        outer => !resolve_steps(outer, std::slice::from_ref(last)).is_null(),
    }
}

/// The value at a path; null if there is none.
pub(crate) fn value_at<'a>(item: &'a Value, path: &Path) -> &'a Value {
    const NULL: &Value = &Value::Null;
    let Some(item) = path.through.iter().try_fold(item, |item, reference| item.get(&**reference)) else { return NULL };
    let start =
        if path.computed { item.get("_computed").and_then(|all| all.get(&*path.name)) } else { item.get(&*path.name) };
    resolve_steps(start.unwrap_or(NULL), &path.inside)
}

/// The value at the end of the steps; null if there is none.
pub fn resolve_steps<'a>(value: &'a Value, steps: &[Arc<str>]) -> &'a Value {
    const NULL: &Value = &Value::Null;
    steps
        .iter()
        .try_fold(value, |value, step| match value {
            Value::Array(elements) => elements.get(element_position(elements.len(), parse_index(step)?)?),
            other => other.get(&**step),
        })
        .unwrap_or(NULL)
}

/// The position of an item in the order: its rank, sort keys and key.
fn sort_position(order: &[SortKey], plan: &Plan, matched: &Match<'_>) -> Vec<Value> {
    let rank = plan.is_ranked().then(|| json!(matched.rank));
    rank.into_iter().chain(order.iter().map(|key| value_at(matched.item, &key.path).clone())).collect()
}

fn compare_positions(order: &[SortKey], plan: &Plan, a: &[Value], b: &[Value]) -> Ordering {
    let ranks = usize::from(plan.is_ranked());
    let by_rank = a.iter().zip(b).take(ranks).map(|(a, b)| compare(&FieldType::Integer, b, a));
    let by_key = order.iter().zip(a.iter().zip(b).skip(ranks)).map(|(key, (a, b))| key.compare(a, b));
    by_rank.chain(by_key).find(|order| *order != Ordering::Equal).unwrap_or(Ordering::Equal)
}

/// The selected fields of an item. Missing fields are omitted.
fn project(item: &Value, select: &[Path]) -> Value {
    let mut shown = Map::new();
    for (number, path) in select.iter().enumerate() {
        if !path.through.is_empty() {
            let before = select.get(..number).unwrap_or_default();
            if !before.iter().any(|earlier| earlier.is_same_field(path)) {
                insert_through(&mut shown, item, path, select);
            }
        } else if path.computed {
            let computed = shown.entry("_computed").or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(computed) = computed {
                computed.insert(path.name.to_string(), value_at(item, path).clone());
            }
        } else if let Some(value) = item.get(&*path.name)
            && !shown.contains_key(&*path.name)
            && let Some(part) = select_from_field(value, &path.name, select.get(number..).unwrap_or_default())
        {
            shown.insert(path.name.to_string(), part);
        }
    }
    Value::Object(shown)
}

/// The selected fields of an item, with the related items shown in it.
fn project_all(item: &Value, plan: &Plan) -> Value {
    let mut shown = project(item, &plan.select);
    if let Value::Object(shown) = &mut shown {
        for embed in &plan.embeds {
            insert_related(shown, item, embed);
        }
    }
    shown
}

/// The related items that an embed shows.
pub(crate) fn related_items(item: &Value, embed: &Embed) -> Value {
    let owner = embed.through.iter().try_fold(item, |item, reference| item.get(&**reference));
    let all = owner.and_then(|owner| owner.get(&*embed.name)).and_then(Value::as_array);
    let fits =
        |related_item: &&Value| embed.filter.as_ref().is_none_or(|filter| filter::matches_filter(filter, related_item));
    let mut related: Vec<&Value> = all.into_iter().flatten().filter(fits).collect();
    related.sort_by(|a, b| {
        let mut keys = embed.order.iter().map(|key| key.compare(value_at(a, &key.path), value_at(b, &key.path)));
        keys.find(|order| *order != Ordering::Equal).unwrap_or(Ordering::Equal)
    });
    related.into_iter().take(embed.first).map(|related_item| project(related_item, &embed.select)).collect()
}

fn insert_related(shown: &mut Map<String, Value>, item: &Value, embed: &Embed) {
    let mut at = shown;
    for step in &embed.through {
        let inner = at.entry(&**step).or_insert_with(|| Value::Object(Map::new()));
        let Value::Object(inner) = inner else { return };
        at = inner;
    }
    at.insert(embed.name.to_string(), related_items(item, embed));
}

/// Inserts the selected part of a field of an item that this one refers to, nested under the names of the references. If it
/// refers to none, the field is null.
fn insert_through(shown: &mut Map<String, Value>, item: &Value, path: &Path, select: &[Path]) {
    let value = value_at(item, &Path { inside: Vec::new(), ..path.clone() });
    let paths: Vec<&[Arc<str>]> =
        select.iter().filter(|other| other.is_same_field(path)).map(|other| &*other.inside).collect();
    let Some(part) = select_part(value, &paths) else { return };
    let mut at = shown;
    for step in path.through.iter().map(|step| &**step).chain(path.computed.then_some("_computed")) {
        let inner = at.entry(step).or_insert_with(|| Value::Object(Map::new()));
        let Value::Object(inner) = inner else { return };
        at = inner;
    }
    at.insert(path.name.to_string(), part);
}

/// The selected part of one field: all of it, or the values at the paths into it.
fn select_from_field(value: &Value, name: &str, select: &[Path]) -> Option<Value> {
    let is_own = |path: &&Path| &*path.name == name && !path.computed && path.through.is_empty();
    let paths: Vec<&[Arc<str>]> = select.iter().filter(is_own).map(|path| &*path.inside).collect();
    select_part(value, &paths)
}

/// The values at these paths into a value, or all of it if one path is empty.
fn select_part(value: &Value, paths: &[&[Arc<str>]]) -> Option<Value> {
    match paths.iter().any(|path| path.is_empty()) {
        true => Some(value.clone()),
        false => Selection::from_paths(paths.iter().copied()).apply(value),
    }
}
