//! Batches through the engine.

use std::sync::Arc;

use aquifer_engine::Settings;
use aquifer_protocol::batch::OnConfirmation;
use aquifer_protocol::surface::Receiver;
use serde_json::{Value, json};

use crate::fixture::{ConfirmingGate, ask, ask_at, batch, builder, context, demo, operation};

#[tokio::test]
async fn r_bat_1_operations_run_in_order_and_a_failure_does_not_stop_the_batch() {
    let engine = demo();
    let answer = ask(
        &engine,
        batch(json!([
            { "operation": "create_task", "params": { "title": "a" } },
            { "operation": "get_task", "params": { "id": 99 } },
            { "operation": "update_task", "id": 1, "input": { "done": true } },
            { "operation": "nonsense" },
            { "operation": "get_task", "params": 5 },
            { "operation": "get_task", "params": { "id": 1 } },
        ])),
    )
    .await;
    assert_eq!(answer["success"], true);
    assert_eq!(answer["data"], Value::Null);
    assert_eq!(answer["summary"], json!({ "total": 6, "succeeded": 3, "failed": 3 }));
    let codes: Vec<&Value> =
        answer["results"].as_array().unwrap().iter().map(|entry| &entry["result"]["error"]["code"]).collect();
    assert_eq!(
        codes,
        [
            &Value::Null,
            &json!("NOT_FOUND_RESOURCE"),
            &Value::Null,
            &json!("NOT_FOUND_OPERATION"),
            &json!("VALIDATION_INVALID_TYPE"),
            &Value::Null
        ]
    );
    assert_eq!(answer["results"][5]["result"]["data"]["done"], true, "the update before it had run");
}

#[tokio::test]
async fn r_bat_2_operations_of_another_family_fail_individually() {
    let engine = demo();
    let create = Receiver::Family("create".into());
    let request = batch(json!([
        { "operation": "create_task", "params": { "title": "a" } },
        { "operation": "list_tasks" },
        { "operation": "create_task", "params": { "title": "b" } },
    ]));
    let answer = ask_at(&engine, &create, request, context()).await;
    assert_eq!(answer["summary"], json!({ "total": 3, "succeeded": 2, "failed": 1 }));
    assert_eq!(answer["results"][1]["result"]["error"]["code"], "VALIDATION_ENDPOINT_MISMATCH");
}

#[tokio::test]
async fn r_bat_3_confirmation_halts_and_the_rest_can_be_sent_again() {
    let engine = builder().gate(Arc::new(ConfirmingGate)).build().unwrap();
    ask(&engine, operation("create_task", json!({ "title": "a" }))).await;
    let request = batch(json!([
        { "operation": "create_task", "params": { "title": "b" } },
        { "operation": "delete_task", "params": { "id": 1 } },
        { "operation": "create_task", "title": "c" },
    ]));
    let answer = ask(&engine, request).await;
    assert_eq!(answer["summary"], json!({ "total": 3, "succeeded": 1, "failed": 0, "halted": 1, "pending": 1 }));
    assert_eq!(answer["halted_at"]["operation"], "delete_task");
    assert_eq!(
        answer["pending_operations"],
        json!([{ "index": 2, "operation": "create_task", "params": { "title": "c" } }])
    );
    let continued = ask(
        &engine,
        batch(json!([
            { "operation": "delete_task", "params": { "id": 1, "_confirmation": "conf_x" } },
            { "operation": "create_task", "params": answer["pending_operations"][0]["params"] },
        ])),
    )
    .await;
    assert_eq!(continued["summary"], json!({ "total": 2, "succeeded": 2, "failed": 0 }));
}

#[tokio::test]
async fn r_bat_3_a_batch_never_asks_and_skips_only_by_configuration() {
    let settings = Settings { on_confirmation: OnConfirmation::Skip, ..Settings::default() };
    let engine = builder().gate(Arc::new(ConfirmingGate)).settings(settings).build().unwrap();
    ask(&engine, operation("create_task", json!({ "title": "a" }))).await;
    let request = batch(json!([{ "operation": "delete_task", "params": { "id": 1 } }, { "operation": "list_tasks" }]));
    let interactive = aquifer_engine::Context { interaction: aquifer_engine::Interaction::Available, ..context() };
    let answer = crate::fixture::ask_as(&engine, request, interactive).await;
    assert_eq!(answer["results"][0]["status"], "pending_confirmation");
    assert_eq!(answer["summary"], json!({ "total": 2, "succeeded": 1, "failed": 0, "pending_confirmation": 1 }));
}

#[tokio::test]
async fn r_bat_4_a_malformed_batch_returns_code_and_message() {
    let answer = ask(&demo(), json!({ "operations": [] })).await;
    let keys: Vec<&String> = answer["error"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["code", "message"]);
    let long = vec![json!({ "operation": "list_tasks" }); 101];
    let answer = ask(&demo(), batch(Value::from(long))).await;
    assert!(answer["error"]["message"].as_str().unwrap().contains("more than the 100 allowed"));
}

#[tokio::test]
async fn r_bat_1_results_contain_only_what_the_schema_allows() {
    let engine = builder().settings(Settings { meta: true, ..Settings::default() }).build().unwrap();
    let answer = ask(&engine, batch(json!([{ "operation": "list_tasks" }]))).await;
    let page = json!({ "items": [], "pageInfo": { "hasNextPage": false, "hasPreviousPage": false } });
    assert_eq!(answer["results"][0]["result"], json!({ "success": true, "data": page }));
}
