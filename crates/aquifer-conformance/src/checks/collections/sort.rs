//! Checks of sorting.

use std::cmp::Ordering;

use serde_json::{Map, Value, json};

use crate::checks::Check;
use crate::checks::feature::Feature;
use crate::context::CheckContext;
use crate::description::{Operation, ValueKind};
use crate::mcp::Reply;
use crate::mcp::rows::{Row, rows};
use crate::report::Category::LevelTwoFeatures;
use crate::report::Tally;

pub(crate) const CHECKS: &[Check] = &[Check::new(
    "sort.order",
    "Sorting works in both directions",
    LevelTwoFeatures,
    "orders",
    "no collection that documents 'sort' has several distinct rows",
    |context, tally| Box::pin(order(context, tally)),
)
.for_feature(Feature::Sorting)
.depends_on(&["requests.effect", "requests.accepted"])];

/// Parameters that request an order, formatted as the operation documents them.
pub(crate) fn sorted_by(
    operation: &Operation,
    params: &Map<String, Value>,
    field: &str,
    order: &str,
) -> Map<String, Value> {
    let mut params = params.clone();
    let sort = operation.parameter("sort");
    let structured = sort.is_some_and(|sort| {
        let criteria = |kind: &ValueKind| matches!(kind, ValueKind::Object | ValueKind::Any | ValueKind::Named(_));
        sort.kinds
            .iter()
            .any(|kind| criteria(kind) || matches!(kind, ValueKind::Array(Some(element)) if criteria(element)))
    });
    if structured {
        let listed = sort.is_some_and(|sort| sort.kinds.iter().all(|kind| matches!(kind, ValueKind::Array(_))));
        let one = json!({"field": field, "order": order});
        params.insert("sort".into(), if listed { json!([one]) } else { one });
    } else {
        params.insert("sort".into(), json!(field));
        let direction = ["order", "sort_order", "direction"].into_iter().find(|name| operation.has_parameter(name));
        params.extend(direction.map(|name| (name.to_owned(), json!(order))));
    }
    params
}

async fn order(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let collections = context.collections.clone();
    for collection in collections.iter().filter(|collection| collection.operation.has_parameter("sort")) {
        let mut worked = 0;
        let mut refused: Option<Reply> = None;
        let mut fields = collection.plain_fields();
        fields.retain(|field| collection.distinct(field) > 1);
        fields.reverse();
        for field in fields.iter().take(4) {
            for (direction, forward) in [("asc", true), ("desc", false)] {
                let asked = sorted_by(&collection.operation, &collection.params, field, direction);
                let reply = context.call(&collection.operation, asked).await;
                if reply.is_invalid_request() {
                    refused = refused.or(Some(reply));
                    continue;
                }
                worked += 1;
                let found = rows(reply.data()).unwrap_or_default();
                let subject = format!("{}.sort.{field}.{direction}", collection.operation.name);
                tally.expect(ordered(&found, field, forward), &subject, "the rows are not in that order", Some(&reply));
            }
        }
        if let Some(refused) = refused.filter(|_| worked == 0) {
            tally.count();
            tally.fail(&collection.operation.name, "it cannot be sorted by any of its fields", Some(&refused));
        }
    }
}

/// Whether rows are in order. Nulls may come first or last, and text may be compared with or without case.
fn ordered(rows: &[Row], field: &str, forward: bool) -> bool {
    let values: Vec<&Value> = rows.iter().filter_map(|row| row.get(field)).filter(|value| !value.is_null()).collect();
    let holds = |compare: &dyn Fn(&Value, &Value) -> Ordering| {
        values.windows(2).all(|pair| match pair {
            [left, right] => compare(left, right) != if forward { Ordering::Greater } else { Ordering::Less },
            _ => true,
        })
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| if value == true { 1.0 } else { 0.0 });
    if values.iter().any(|value| value.is_string()) {
        let plain = |text: &str| -> String { text.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect() };
        holds(&|left, right| text(left).cmp(&text(right)))
            || holds(&|left, right| text(left).to_lowercase().cmp(&text(right).to_lowercase()))
            || holds(&|left, right| plain(&text(left)).cmp(&plain(&text(right))))
    } else {
        holds(&|left, right| number(left).total_cmp(&number(right)))
    }
}
