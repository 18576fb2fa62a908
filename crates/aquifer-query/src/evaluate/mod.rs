//! A plan carried out over JSON values in memory.
//!
//! It is how results of servers without a query language are shaped, and the reference every database translation is
//! held against: the same plan over the same items gives the same answer everywhere.

pub(crate) mod aggregate;
pub(crate) mod matches;
mod page;
pub mod text;

use std::cmp::Ordering;
use std::sync::Arc;

use aquifer_protocol::warning::Warning;
use serde_json::{Map, Value, json};

use crate::collection::{Collection, FieldType};
use crate::cursor::CursorKey;
use crate::order::compare;
use crate::plan::{MAX_GROUPS, Page, Path, Plan, SortKey};
use crate::selection::{Lists, Selection, index, position};

pub use aggregate::Doubles;
pub use aggregate::nest;

/// An item that matched, with how well it did.
pub(crate) struct Matched<'a> {
    pub(crate) item: &'a Value,
    pub(crate) rank: i64,
}

/// What a plan came to.
#[derive(Debug, Clone)]
pub struct Evaluated {
    /// The `data` of the response.
    pub data: Value,
    /// What was cut.
    pub warnings: Vec<Warning>,
}

pub(crate) type Notes = Vec<Warning>;

/// There were more groups than an answer shows.
pub fn groups_cut(name: &str) -> Warning {
    Warning::new("RESULT_TRUNCATED", format!("'{name}' has more groups than the first {MAX_GROUPS} shown"))
        .detail("aggregate", name)
        .detail("shown", MAX_GROUPS)
}

/// A page ended early because its items are large. Counted pages do not go on where this one ended, so that the warning
/// says where the rest is.
pub fn page_cut(page: &Page, shown: usize, asked: usize, bytes: usize) -> Warning {
    let (rest, next_offset) = match page {
        Page::Forward { .. } | Page::Backward { .. } => {
            ("Go on from the last one, or ask for fewer fields".to_owned(), None)
        }
        Page::Offset { offset, .. } => {
            let next = offset.saturating_add(shown);
            (format!("Go on with 'offset' {next}, or ask for fewer fields"), Some(next))
        }
        Page::Numbered { page, size } => {
            let next = page.saturating_sub(1).saturating_mul(*size).saturating_add(shown);
            let rest = format!(
                "The next page begins after the rest: ask for a smaller 'page_size' or fewer fields, or go on with 'limit' \
                 and 'offset' {next}"
            );
            (rest, Some(next))
        }
    };
    let warning = Warning::new("RESULT_PAGED", format!("The page ends early: its items exceed {bytes} bytes. {rest}"))
        .detail("returned", shown)
        .detail("requested", asked);
    match next_offset {
        Some(next) => warning.detail("next_offset", next),
        None => warning,
    }
}

/// Carries out a plan.
pub fn evaluate(collection: &Collection, plan: &Plan, items: &[Value], key: &CursorKey) -> Evaluated {
    let mut matched: Vec<Matched<'_>> = items
        .iter()
        .filter(|item| plan.filter.as_ref().is_none_or(|filter| matches::filter(filter, item)))
        .filter_map(|item| {
            let rank = plan.text.as_ref().map_or(Some(0), |text| matches::rank(collection, text, item))?;
            Some(Matched { item, rank })
        })
        .collect();
    let mut data = Map::new();
    let mut warnings = Notes::new();
    if collection.open && plan.items {
        warnings.extend(not_found(&plan.select, items));
    }
    if !plan.aggregates.is_empty() {
        data.insert("aggregations".to_owned(), aggregate::all(&plan.aggregates, &matched, &mut warnings));
    }
    if plan.items {
        let order = plan.order(collection);
        matched.sort_by(|a, b| by_place(&order, plan, &place(&order, plan, a), &place(&order, plan, b)));
        page::cut(collection, plan, &matched, key, &mut data, &mut warnings);
    }
    Evaluated { data: Value::Object(data), warnings }
}

/// Paths that were asked for without anybody knowing whether there is such a thing, and there is none (R-COL-5).
fn not_found(select: &[Path], items: &[Value]) -> Option<Warning> {
    let lacking = |path: &&Path| !items.iter().any(|item| has(item, path));
    let fields: Vec<String> = select.iter().filter(lacking).map(Path::to_string).collect();
    (!fields.is_empty() && !items.is_empty()).then(|| {
        Warning::new("FIELD_NOT_FOUND", "Some of the 'fields' are in none of the items").detail("fields", fields)
    })
}

/// Whether a path leads anywhere, if only to null.
fn has(item: &Value, path: &Path) -> bool {
    let (last, before) = match path.inside.split_last() {
        None => return path.computed || item.get(&*path.name).is_some(),
        Some(split) => split,
    };
    let outer = Path { inside: before.to_vec(), ..path.clone() };
    match at(item, &outer) {
        Value::Object(object) => object.contains_key(&**last),
        outer => !step_into(outer, std::slice::from_ref(last)).is_null(),
    }
}

/// The value a path leads to; null where there is none.
pub(crate) fn at<'a>(item: &'a Value, path: &Path) -> &'a Value {
    const NOTHING: &Value = &Value::Null;
    let start =
        if path.computed { item.get("_computed").and_then(|all| all.get(&*path.name)) } else { item.get(&*path.name) };
    step_into(start.unwrap_or(NOTHING), &path.inside)
}

/// The value that steps lead to; null where there is none.
pub fn step_into<'a>(value: &'a Value, steps: &[Arc<str>]) -> &'a Value {
    const NOTHING: &Value = &Value::Null;
    steps
        .iter()
        .try_fold(value, |value, step| match value {
            Value::Array(elements) => elements.get(position(elements.len(), index(step)?)?),
            other => other.get(&**step),
        })
        .unwrap_or(NOTHING)
}

/// Where an item stands in the order: its rank, its sort keys, its key.
fn place(order: &[SortKey], plan: &Plan, matched: &Matched<'_>) -> Vec<Value> {
    let rank = plan.is_ranked().then(|| json!(matched.rank));
    rank.into_iter().chain(order.iter().map(|key| at(matched.item, &key.path).clone())).collect()
}

fn by_place(order: &[SortKey], plan: &Plan, a: &[Value], b: &[Value]) -> Ordering {
    let ranks = usize::from(plan.is_ranked());
    let by_rank = a.iter().zip(b).take(ranks).map(|(a, b)| compare(&FieldType::Integer, b, a));
    let by_key = order.iter().zip(a.iter().zip(b).skip(ranks)).map(|(key, (a, b))| key.compare(a, b));
    by_rank.chain(by_key).find(|order| *order != Ordering::Equal).unwrap_or(Ordering::Equal)
}

/// The parts of an item that were asked for. A field the item lacks is left out.
fn project(item: &Value, select: &[Path]) -> Value {
    let mut shown = Map::new();
    for (number, path) in select.iter().enumerate() {
        if path.computed {
            let computed = shown.entry("_computed").or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(computed) = computed {
                computed.insert(path.name.to_string(), at(item, path).clone());
            }
        } else if let Some(value) = item.get(&*path.name)
            && !shown.contains_key(&*path.name)
            && let Some(part) = of_field(value, &path.name, select.get(number..).unwrap_or_default(), Lists::ByNumber)
        {
            shown.insert(path.name.to_string(), part);
        }
    }
    Value::Object(shown)
}

/// What is asked of one field: all of it, or what the paths into it lead to.
pub(crate) fn of_field(value: &Value, name: &str, select: &[Path], lists: Lists) -> Option<Value> {
    let paths = || select.iter().filter(|path| &*path.name == name && !path.computed).map(|path| &*path.inside);
    if paths().any(<[_]>::is_empty) {
        return Some(value.clone());
    }
    Selection::of(paths()).apply(value, lists)
}
