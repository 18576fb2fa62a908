//! Checks that the server answers malformed requests properly and survives them.

use serde_json::{Value, json};

use crate::checks::Check;
use crate::context::CheckContext;
use crate::mcp::ReplyKind;
use crate::report::Category::ErrorQuality;
use crate::report::Tally;

pub(crate) const CHECKS: &[Check] = &[
    Check::new(
        "robust.malformed",
        "Malformed requests are refused with a proper error",
        ErrorQuality,
        "requests",
        "no tool answers introspection",
        |context, tally| Box::pin(malformed(context, tally)),
    ),
    Check::new(
        "robust.oversized",
        "The server survives oversized and deeply nested requests",
        ErrorQuality,
        "requests",
        "no tool answers introspection",
        |context, tally| Box::pin(oversized(context, tally)),
    ),
    Check::new(
        "robust.garbage",
        "Invalid bytes do not stop the server",
        ErrorQuality,
        "messages",
        "no tool answers introspection",
        |context, tally| Box::pin(garbage(context, tally)),
    ),
];

async fn malformed(context: &mut CheckContext<'_>, tally: &mut Tally) {
    if context.description.operations_list.is_empty() {
        return;
    }
    let tool = context.description.tool.clone();
    let cases = [
        ("no operation", json!({})),
        ("a number for the operation", json!({"operation": 7})),
        ("null for the operation", json!({"operation": null})),
        ("a list for the parameters", json!({"operation": "introspect", "params": [1, 2]})),
        ("text for the parameters", json!({"operation": "introspect", "params": "query=operations"})),
        ("an operation in another spelling", json!({"operation": "Introspect", "params": {"query": "operations"}})),
    ];
    for (case, arguments) in cases {
        let reply = context.send_malformed(&tool, arguments).await;
        tally.expect(reply.is_refused(), case, "it was not refused", Some(&reply));
    }
    check_alive(context, tally).await;
}

async fn check_alive(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let tool = context.description.tool.clone();
    let reply = context.send(&tool, json!({"operation": "introspect", "params": {"query": "types"}})).await;
    tally.expect(reply.is_success(), "afterwards", "a valid request was no longer answered", Some(&reply));
}

async fn oversized(context: &mut CheckContext<'_>, tally: &mut Tally) {
    if context.description.operations_list.is_empty() {
        return;
    }
    let tool = context.description.tool.clone();
    let limit = context.description.protocol().pointer("/limits/max_request_size").and_then(Value::as_u64);
    let size = limit.and_then(|limit| usize::try_from(limit).ok()).map_or(2 << 20, |limit| (limit + 1).min(12 << 20));
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!([deep]);
    }
    let cases = [
        (
            "a long text",
            json!({"operation": "introspect", "params": {"query": "operations", "name": "x".repeat(size)}}),
            limit.is_some(),
        ),
        ("deep nesting", json!({"operation": "introspect", "params": {"query": "operations", "name": deep}}), true),
    ];
    for (case, arguments, must_refuse) in cases {
        let reply = context.send_malformed(&tool, arguments).await;
        let orderly = !matches!(reply.kind, ReplyKind::Malformed | ReplyKind::Lost);
        tally.expect(orderly, case, "it was not answered properly", Some(&reply));
        if orderly && must_refuse {
            let problem = "it was not refused, although it exceeds the declared limit, or the highest limit that may be \
                           declared (64 levels)";
            tally.expect(reply.is_refused(), case, problem, Some(&reply));
        }
    }
    check_alive(context, tally).await;
}

async fn garbage(context: &mut CheckContext<'_>, tally: &mut Tally) {
    if context.description.operations_list.is_empty() {
        return;
    }
    for (case, bytes) in [
        ("invalid JSON", b"{\"jsonrpc\": \"2.0\", \"id\": ".as_slice()),
        ("invalid UTF-8", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}".as_slice()),
        ("JSON that is not a message", b"[1, 2, 3]".as_slice()),
    ] {
        let survived = context.client.send_garbage(bytes).await;
        tally.expect(survived, case, "the server did not survive it", None);
    }
}
