//! Checks of batches.

use serde_json::{Map, Value, json};

use crate::checks::Check;
use crate::checks::feature::Feature;
use crate::context::CheckContext;
use crate::mcp::Reply;
use crate::mcp::rows::without_volatile;
use crate::record::Purpose;
use crate::report::Category::LevelTwoFeatures;
use crate::report::Tally;

pub(crate) const READ_CHECKS: &[Check] = &[
    Check::new(
        "batch.results",
        "Batch operations are supported",
        LevelTwoFeatures,
        "results",
        "no tool answers introspection",
        |context, tally| Box::pin(results(context, tally)),
    ),
    Check::new(
        "batch.failure",
        "One failure in a batch does not stop the others",
        LevelTwoFeatures,
        "batches",
        "no tool answers introspection",
        |context, tally| Box::pin(failure(context, tally)),
    )
    .depends_on(&["batch.results"]),
    Check::new(
        "batch.malformed",
        "Malformed batches are refused as a whole",
        LevelTwoFeatures,
        "batches",
        "no tool answers introspection",
        |context, tally| Box::pin(malformed(context, tally)),
    )
    .depends_on(&["batch.results"]),
];

pub(crate) const WRITE_CHECKS: &[Check] = &[
    Check::new(
        "batch.foreign",
        "In a batch, only the operation of another family fails",
        LevelTwoFeatures,
        "batches",
        "no operation of another family needs a parameter",
        |context, tally| Box::pin(foreign(context, tally)),
    )
    .for_feature(Feature::Families)
    .depends_on(&["batch.results", "batch.failure"])
    .writes(),
    Check::new(
        "batch.halts",
        "A batch halts before an operation needing confirmation",
        LevelTwoFeatures,
        "batches",
        "the run created nothing whose deletion needs confirmation",
        |context, tally| Box::pin(halts(context, tally)),
    )
    .for_feature(Feature::Confirmation)
    .applies_to(Feature::Deletion)
    .depends_on(&["batch.results", "confirm.asked"])
    .writes(),
];

/// Three requests that go to the introspection tool.
fn items(context: &CheckContext<'_>) -> Vec<Value> {
    let description = &context.description;
    if description.operations_list.is_empty() {
        return Vec::new();
    }
    let on_same_tool = |name: &&String| description.operation(name).is_some_and(|own| own.tool == description.tool);
    // Only requests without parameters: others may refer to rows that no longer exist.
    let reads = context.valid_requests.iter().filter(|(name, params)| on_same_tool(name) && params.is_empty());
    let mut items = vec![json!({"operation": "introspect", "params": {"query": "types"}})];
    items.extend(reads.take(1).map(|(name, params)| json!({"operation": name, "params": params})));
    items.push(json!({"operation": "introspect", "params": {"query": "operations", "name": "introspect"}}));
    items
}

async fn send(context: &mut CheckContext<'_>, items: &[Value]) -> Reply {
    let tool = context.description.tool.clone();
    context.send(&tool, json!({"operations": items})).await
}

fn listed(reply: &Reply) -> Vec<Value> {
    reply.exchange.answer.get("results").and_then(Value::as_array).cloned().unwrap_or_default()
}

fn summary(reply: &Reply, key: &str) -> Option<u64> {
    reply.exchange.answer.get("summary")?.get(key)?.as_u64()
}

async fn results(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let items = items(context);
    if items.is_empty() {
        return;
    }
    let reply = send(context, &items).await;
    tally.count();
    let found = listed(&reply);
    if !reply.is_success() || found.len() != items.len() {
        return tally.fail("batch", "a batch is not answered with one result for each operation", Some(&reply));
    }
    let tool = context.description.tool.clone();
    for (place, (item, result)) in items.iter().zip(&found).enumerate() {
        tally.count();
        let subject = format!("results[{place}]");
        if result.get("index").and_then(Value::as_u64) != Some(place as u64) {
            tally.fail(&subject, format!("its index is not {place}"), Some(&reply));
        }
        if result.get("operation") != item.get("operation") {
            tally.fail(&subject, "it names an operation other than the requested one", Some(&reply));
        }
        let alone = context.send(&tool, item.clone()).await;
        let same = result.get("result").map(without_volatile) == Some(without_volatile(&alone.exchange.answer));
        let name = item.get("operation").and_then(Value::as_str).unwrap_or_default();
        if !same && answers_vary(context, name, &alone).await {
            tally.note(format!("{name} was left out because its answers vary"));
        } else if !same {
            let problem = format!("the result of '{name}' differs from the same request made alone");
            tally.fail(&subject, problem, Some(&reply));
        }
    }
    let counts = (summary(&reply, "total"), summary(&reply, "succeeded"), summary(&reply, "failed"));
    let all = Some(items.len() as u64);
    tally.expect(counts == (all, all, Some(0)), "summary", "the counts are wrong", Some(&reply));
    let null = reply.exchange.answer.get("data").is_none_or(Value::is_null);
    tally.expect(null, "data", "'data' of a batch is not null", Some(&reply));
    context.record_exchange(Purpose::Batch, &reply);
}

/// Whether an operation without parameters gives another answer each time.
async fn answers_vary(context: &mut CheckContext<'_>, name: &str, before: &Reply) -> bool {
    let description = context.description.clone();
    match description.operation(name) {
        Some(operation) => context.answers_vary(operation, &Map::new(), before).await,
        None => false,
    }
}

async fn failure(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let mut items = items(context);
    if items.is_empty() {
        return;
    }
    items.insert(1, json!({"operation": "no_such_operation_7f3a", "params": {}}));
    let reply = send(context, &items).await;
    tally.count();
    let states: Vec<Option<bool>> =
        listed(&reply).iter().map(|result| result.pointer("/result/success").and_then(Value::as_bool)).collect();
    let expected: Vec<Option<bool>> = (0..items.len()).map(|place| Some(place != 1)).collect();
    if states != expected {
        return tally.fail("batch", "after one failure, the others did not succeed", Some(&reply));
    }
    let good = items.len() as u64 - 1;
    let counts = (summary(&reply, "succeeded"), summary(&reply, "failed"));
    tally.expect(counts == (Some(good), Some(1)), "summary", "the failure is counted wrongly", Some(&reply));
}

async fn malformed(context: &mut CheckContext<'_>, tally: &mut Tally) {
    if items(context).is_empty() {
        return;
    }
    let tool = context.description.tool.clone();
    let cases = [
        ("an empty list", json!([])),
        ("text for a list", json!("introspect")),
        ("a number for an operation", json!([7])),
        ("an item without operation", json!([{"params": {"query": "types"}}])),
    ];
    for (case, operations) in cases {
        let reply = context.send_malformed(&tool, json!({"operations": operations})).await;
        let problem = format!("{case} was not refused");
        tally.expect(reply.is_refused(), "batch", &problem, Some(&reply));
    }
}

async fn foreign(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let description = context.description.clone();
    let mut items = items(context);
    // A required parameter is missing, so that it cannot run even if the server accepts it.
    let with_required = description
        .write_operations()
        .find(|own| own.tool != description.tool && own.required_parameters().next().is_some());
    let (Some(other), false) = (with_required, items.is_empty()) else { return };
    items.insert(1, json!({"operation": other.name, "params": {}}));
    let reply = send(context, &items).await;
    tally.count();
    let found = listed(&reply);
    let states: Vec<Option<bool>> =
        found.iter().map(|result| result.pointer("/result/success").and_then(Value::as_bool)).collect();
    let expected: Vec<Option<bool>> = (0..items.len()).map(|place| Some(place != 1)).collect();
    let code = found.get(1).and_then(|result| result.pointer("/result/error/code")?.as_str()).unwrap_or_default();
    if states != expected {
        tally.fail(&other.name, "in a batch of another family, it was not the only failure", Some(&reply));
    } else if code.is_empty() {
        tally.fail(&other.name, "it failed without a code for the wrong tool", Some(&reply));
    } else if !code.contains("MISMATCH") {
        tally.fail(&other.name, format!("it failed with '{code}', not because of the wrong tool"), Some(&reply));
    }
}

async fn halts(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let resources = context.resources.clone();
    for created in context.sandbox.remaining() {
        let Some(resource) = resources.iter().find(|resource| resource.noun == created.noun) else { continue };
        let asks = |own: &&crate::description::Operation| own.has_parameter("confirmation_token");
        let (Some(delete), Some(get)) = (resource.delete.as_ref().filter(asks), &resource.get) else { continue };
        let item = delete.request(created.key.clone());
        let asked_before = context.client.questions();
        let reply = context.send(&delete.tool, json!({"operations": [item, item]})).await;
        tally.count();
        // A server that asks its user about the whole batch, and gets no answer, refuses all of it.
        let refused = reply.is_refused() && context.client.questions() > asked_before;
        let answer = &reply.exchange.answer;
        let halted = answer.pointer("/halted_at/index").and_then(Value::as_u64) == Some(0)
            && answer.get("pending_operations").and_then(Value::as_array).is_some_and(|pending| pending.len() == 1)
            && summary(&reply, "halted") == Some(1)
            && summary(&reply, "pending") == Some(1);
        let skipped = listed(&reply)
            .iter()
            .all(|result| result.get("status").is_some_and(|status| status == "pending_confirmation"))
            && listed(&reply).len() == 2;
        if !halted && !skipped && !refused {
            tally.fail(&delete.name, "the batch neither halted before the operation nor skipped it", Some(&reply));
        }
        let still = context.call(get, created.key.clone()).await;
        tally.expect(!still.is_gone(), &delete.name, "it ran in a batch without confirmation", Some(&reply));
        return;
    }
}
