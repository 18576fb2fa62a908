//! A plan carried out over JSON values in memory.
//!
//! It is how results of servers without a query language are shaped, and the reference every database translation is
//! held against: the same plan over the same items gives the same answer everywhere.

mod aggregate;
mod matches;
mod page;

use std::cmp::Ordering;

use serde_json::{Map, Value, json};

use crate::collection::Collection;
use crate::cursor::CursorKey;
use crate::order::compare;
use crate::plan::{Path, Plan};

/// An item that matched, with how well it did.
struct Matched<'a> {
    item: &'a Value,
    rank: i64,
}

/// Carries out a plan. The answer is the `data` of the response.
pub fn evaluate(collection: &Collection, plan: &Plan, items: &[Value], key: &CursorKey) -> Value {
    let mut matched: Vec<Matched<'_>> = items
        .iter()
        .filter(|item| plan.filter.as_ref().is_none_or(|filter| matches::filter(filter, item)))
        .filter_map(|item| {
            let rank = plan.text.as_ref().map_or(Some(0), |text| matches::rank(collection, text, item))?;
            Some(Matched { item, rank })
        })
        .collect();
    let mut data = Map::new();
    if !plan.aggregates.is_empty() {
        data.insert("aggregations".to_owned(), aggregate::all(&plan.aggregates, &matched));
    }
    if plan.items {
        matched.sort_by(|a, b| by_place(collection, plan, &place(collection, plan, a), &place(collection, plan, b)));
        page::cut(collection, plan, &matched, key, &mut data);
    }
    Value::Object(data)
}

/// The value a path leads to; null where there is none.
pub(crate) fn at<'a>(item: &'a Value, path: &Path) -> &'a Value {
    const NOTHING: &Value = &Value::Null;
    let start =
        if path.computed { item.get("_computed").and_then(|all| all.get(&*path.name)) } else { item.get(&*path.name) };
    path.inside
        .iter()
        .try_fold(start.unwrap_or(NOTHING), |value, step| match value {
            Value::Array(elements) => elements.get(step.parse::<usize>().ok()?),
            other => other.get(&**step),
        })
        .unwrap_or(NOTHING)
}

/// Where an item stands in the order: its rank, its sort keys, its key.
fn place(collection: &Collection, plan: &Plan, matched: &Matched<'_>) -> Vec<Value> {
    let rank = plan.is_ranked().then(|| json!(matched.rank));
    let sorted = plan.sort.iter().map(|key| at(matched.item, &key.path).clone());
    let key = collection.key.iter().map(|name| matched.item.get(&**name).cloned().unwrap_or(Value::Null));
    rank.into_iter().chain(sorted).chain(key).collect()
}

fn by_place(collection: &Collection, plan: &Plan, a: &[Value], b: &[Value]) -> Ordering {
    let rank = plan.is_ranked().then_some((&crate::collection::FieldType::Integer, true));
    let sorted = plan.sort.iter().map(|key| (&key.of, key.descending));
    let key = collection
        .key
        .iter()
        .map(|name| (collection.field(name).map_or(&crate::collection::FieldType::Json, |field| &field.of), false));
    let criteria = rank.into_iter().chain(sorted).chain(key);
    criteria
        .zip(a.iter().zip(b))
        .map(|((of, descending), (a, b))| {
            let order = compare(of, a, b);
            if descending { order.reverse() } else { order }
        })
        .find(|order| *order != Ordering::Equal)
        .unwrap_or(Ordering::Equal)
}

/// The parts of an item that were asked for. A field the item lacks is left out.
fn project(item: &Value, select: &[Path]) -> Value {
    let mut shown = Map::new();
    for path in select {
        let value = at(item, path);
        let exists = !value.is_null() || item.get(&*path.name).is_some_and(|_| path.inside.is_empty());
        if !exists && !path.computed {
            continue;
        }
        let mut steps: Vec<&str> = path.inside.iter().map(|step| &**step).collect();
        steps.insert(0, &path.name);
        if path.computed {
            steps.insert(0, "_computed");
        }
        place_into(&mut shown, &steps, value.clone());
    }
    Value::Object(shown)
}

fn place_into(object: &mut Map<String, Value>, steps: &[&str], value: Value) {
    match steps {
        [] => {}
        [last] => {
            object.insert((*last).to_owned(), value);
        }
        [first, rest @ ..] => {
            let inner = object.entry((*first).to_owned()).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(inner) = inner {
                place_into(inner, rest, value);
            }
        }
    }
}
