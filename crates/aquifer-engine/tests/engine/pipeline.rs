//! Single requests through the whole pipeline.

use std::sync::Arc;

use aquifer_adapter::IntoAdapter as _;
use aquifer_engine::source::{Answer, Outcome};
use aquifer_engine::{Caller, Context, Engine, Settings};
use aquifer_protocol::category::Category;
use aquifer_protocol::error::Failure;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::Deprecation;
use aquifer_protocol::surface::Receiver;
use aquifer_protocol::validate::Strictness;
use aquifer_protocol::warning::Warning;
use serde_json::{Value, json};

use crate::fixture::{
    ConfirmingGate, RecordingObserver, ScriptedSource, ask, ask_as, ask_at, builder, context, demo, operation, surface,
};
use crate::task_board::Board;

#[tokio::test]
async fn r_req_1_create_get_update_delete() {
    let engine = demo();
    let created = ask(&engine, operation("create_task", json!({ "title": "Milk" }))).await;
    assert_eq!(created, json!({ "success": true, "data": { "id": 1, "title": "Milk", "done": false, "notes": {} } }));
    let got = ask(&engine, json!({ "operation": "get_task", "id": 1 })).await;
    assert_eq!(got, created);
    let listed = ask(&engine, operation("list_tasks", json!({ "done": false }))).await;
    assert_eq!(listed["data"]["items"].as_array().unwrap().len(), 1);
    let deleted = ask(&engine, operation("delete_task", json!({ "id": 1 }))).await;
    assert_eq!(deleted["success"], true);
    let deleted = ask(&engine, operation("get_task", json!({ "id": 1 }))).await;
    assert_eq!(deleted["error"]["code"], "NOT_FOUND_RESOURCE");
    assert_eq!(deleted["error"]["details"], json!({ "resource_type": "task", "resource_id": "1" }));
}

#[tokio::test]
async fn r_req_6_updates_merge_deeply() {
    let engine = demo();
    ask(&engine, operation("create_task", json!({ "title": "Milk" }))).await;
    let update = |input: Value| operation("update_task", json!({ "id": 1, "input": input }));
    let first =
        ask(&engine, update(json!({ "notes": { "shop": { "name": "corner", "open": true }, "tags": ["a", "b"] } })))
            .await;
    assert_eq!(first["data"]["notes"]["shop"]["name"], "corner");
    let second = ask(
        &engine,
        update(json!({ "title": "Oat milk", "notes": { "shop": { "open": false }, "tags": ["c"], "late": null } })),
    )
    .await;
    assert_eq!(
        second["data"],
        json!({ "id": 1, "title": "Oat milk", "done": false, "notes": { "shop": { "name": "corner", "open": false }, "tags": ["c"] } })
    );
    let removed = ask(&engine, update(json!({ "notes": { "shop": null } }))).await;
    assert_eq!(removed["data"]["notes"], json!({ "tags": ["c"] }));
    let emptied = ask(&engine, update(json!({ "notes": null }))).await;
    assert_eq!(emptied["data"]["notes"], json!({}));
    for (input, code) in [
        (json!({ "title": null }), "VALIDATION_INVALID_TYPE"),
        (json!({ "title": "" }), "VALIDATION_INVALID_VALUE"),
        (json!({ "id": 2 }), "VALIDATION_UNKNOWN_FIELD"),
        (json!({ "colour": "red" }), "VALIDATION_UNKNOWN_FIELD"),
    ] {
        let refused = ask(&engine, update(input)).await;
        assert_eq!(refused["error"]["code"], code, "{refused}");
    }
    assert_eq!(
        ask(&engine, operation("get_task", json!({ "id": 1 }))).await["data"],
        emptied["data"],
        "nothing was lost"
    );
}

#[tokio::test]
async fn r_req_9_a_dry_run_reports_and_changes_nothing() {
    let engine = demo();
    let rehearsed = ask(&engine, operation("create_task", json!({ "title": "Milk", "dry_run": true }))).await;
    assert_eq!(rehearsed["data"]["title"], "Milk");
    assert_eq!(ask(&engine, operation("list_tasks", json!({}))).await["data"]["items"], json!([]));
    ask(&engine, operation("create_task", json!({ "title": "Milk" }))).await;
    let updated =
        ask(&engine, operation("update_task", json!({ "id": 1, "input": { "title": "Tea" }, "dry_run": true }))).await;
    assert_eq!(updated["data"]["title"], "Tea");
    ask(&engine, operation("delete_task", json!({ "id": 1, "dry_run": true }))).await;
    assert_eq!(ask(&engine, operation("get_task", json!({ "id": 1 }))).await["data"]["title"], "Milk");
}

#[tokio::test]
async fn r_end_4_the_wrong_family_is_never_run() {
    let engine = demo();
    let delete = Receiver::Family("delete".into());
    let refused = ask_at(&engine, &delete, operation("create_task", json!({ "title": "Milk" })), context()).await;
    assert_eq!(refused["error"]["code"], "VALIDATION_ENDPOINT_MISMATCH");
    assert_eq!(refused["error"]["details"]["expected_tool"], "mcp_aql_create");
    assert_eq!(ask(&engine, operation("list_tasks", json!({}))).await["data"]["items"], json!([]));
}

#[tokio::test]
async fn r_req_4a_a_failed_introspect_returns_code_and_message() {
    let engine = demo();
    for params in [
        json!({}),
        json!({ "query": "nope" }),
        json!({ "query": "operations", "x": 1 }),
        json!({ "query": "operations", "after": "x" }),
    ] {
        let answer = ask(&engine, operation("introspect", params)).await;
        let keys: Vec<&String> = answer["error"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["code", "message"], "{answer}");
    }
    let bad = ask(&engine, operation("introspect", json!({ "query": "nope" }))).await;
    assert_eq!(bad["error"]["code"], "VALIDATION_INVALID_VALUE");
}

#[tokio::test]
async fn r_req_5_lenient_mode_is_a_setting() {
    let settings = Settings { strictness: Strictness::Lenient, ..Settings::default() };
    let engine = builder().settings(settings).build().unwrap();
    let answer = ask(&engine, operation("list_tasks", json!({ "verbose": true }))).await;
    assert_eq!(answer["success"], true);
    assert_eq!(answer["warnings"][0]["code"], "VALIDATION_UNKNOWN_PARAM_WARNING");
}

#[tokio::test]
async fn r_res_1_meta_only_where_configured() {
    let engine = builder().settings(Settings { meta: true, ..Settings::default() }).build().unwrap();
    let answer = ask(&engine, operation("list_tasks", json!({}))).await;
    assert_eq!(answer["_meta"]["request_id"], "req_test");
    assert!(answer["_meta"]["duration_ms"].as_f64().unwrap() >= 0.0);
    let introspected = ask(&engine, operation("introspect", json!({ "query": "types" }))).await;
    assert!(introspected.get("_meta").is_none(), "the published schema has no room for it");
}

#[tokio::test]
async fn r_res_2_a_session_is_warned_of_a_deprecation_once() {
    fn warn(_: &str, _: serde_json::Map<String, Value>) -> Outcome {
        let mut answer = Answer::new(json!({}));
        answer.warnings = vec![
            Warning::deprecated_parameter("old", &Deprecation::default()),
            Warning::new("PERFORMANCE_SLOW_QUERY_WARNING", "Slow"),
        ];
        Outcome::Done(answer)
    }
    let source = ScriptedSource::new(vec![Operation::new("get_x", Category::Read, "Get.")], warn);
    let engine = Engine::builder(surface()).dangerously_let_everything_pass().source(source).build().unwrap();
    let codes = async |context: Context| -> Vec<String> {
        let answer = ask_as(&engine, operation("get_x", json!({})), context).await;
        answer["warnings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|warning| warning["code"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(codes(context()).await, ["PERFORMANCE_SLOW_QUERY_WARNING", "DEPRECATION_WARNING"]);
    assert_eq!(codes(context()).await, ["PERFORMANCE_SLOW_QUERY_WARNING"]);
    let other = Context::new(Caller::session("another"), "req");
    assert_eq!(codes(other).await.len(), 2, "another session has not heard it");
    assert_eq!(codes(Context::new(Caller::anonymous(), "req")).await.len(), 2, "nobody in particular hears it always");
}

#[tokio::test]
async fn r_res_4_a_panic_is_an_internal_error_and_the_engine_survives() {
    fn panic(name: &str, _: serde_json::Map<String, Value>) -> Outcome {
        assert!(name != "get_bad", "secret /etc/passwd");
        Outcome::Done(Answer::new(json!(1)))
    }
    let operations =
        vec![Operation::new("get_bad", Category::Read, "Bad."), Operation::new("get_good", Category::Read, "Good.")];
    let diary = Arc::new(RecordingObserver::default());
    let engine = Engine::builder(surface())
        .dangerously_let_everything_pass()
        .source(ScriptedSource::new(operations, panic))
        .observer(diary.clone())
        .build()
        .unwrap();
    let answer = ask(&engine, operation("get_bad", json!({}))).await;
    assert_eq!(answer["error"]["code"], "INTERNAL_ERROR");
    assert!(!answer.to_string().contains("secret"));
    assert!(diary.0.lock().iter().any(|event| event.contains("secret")), "the log knows");
    assert_eq!(ask(&engine, operation("get_good", json!({}))).await["data"], 1);
}

#[tokio::test]
async fn a_cancelled_call_stops_its_handler() {
    let engine = demo();
    ask(&engine, operation("create_task", json!({ "title": "Milk" }))).await;
    let context = context();
    let cancel = context.cancelled.clone();
    let call = ask_as(&engine, operation("execute_tasks", json!({ "ms_each": 60_000, "wait": true })), context);
    let (answer, ()) = tokio::join!(call, async {
        tokio::task::yield_now().await;
        cancel.cancel();
    });
    assert_eq!(answer["success"], false);
    let executions = ask(&engine, operation("list_executions", json!({}))).await;
    let id = executions["data"]["items"][0]["execution_id"].as_str().unwrap().to_owned();
    let ended = ask(&engine, operation("cancel_execution", json!({ "execution_id": id }))).await;
    assert_eq!(ended["data"]["status"], "cancelled");
    assert_eq!(ask(&engine, operation("get_task", json!({ "id": 1 }))).await["data"]["done"], false);
}

#[tokio::test]
async fn the_gate_can_ask_and_the_answer_is_brought_along() {
    let engine = builder().gate(Arc::new(ConfirmingGate)).build().unwrap();
    ask(&engine, operation("create_task", json!({ "title": "Milk" }))).await;
    let delete = || operation("delete_task", json!({ "id": 1 }));
    assert_eq!(ask(&engine, delete()).await["error"]["code"], "CONFIRMATION_REQUIRED");
    let asking = Context { interaction: aquifer_engine::Interaction::Available, ..context() };
    assert_eq!(ask_as(&engine, delete(), asking.clone()).await["question"], "Sure?");
    let answered = Context { answers: Arc::new(json!({ "sure": true }).as_object().unwrap().clone()), ..asking };
    assert_eq!(ask_as(&engine, delete(), answered).await["success"], true);
}

#[tokio::test]
async fn several_sources_get_prefixes_and_keep_their_types_apart() {
    let engine = Engine::builder(surface())
        .dangerously_let_everything_pass()
        .source(crate::fixture::board())
        .source_prefixed(Board::default().into_adapter().named("house").build().unwrap(), "home_")
        .build()
        .unwrap();
    ask(&engine, operation("tasks_create_task", json!({ "title": "Milk" }))).await;
    assert_eq!(ask(&engine, operation("home_list_tasks", json!({}))).await["data"]["items"], json!([]));
    assert_eq!(ask(&engine, operation("tasks_list_tasks", json!({}))).await["data"]["items"][0]["title"], "Milk");
    let details =
        ask(&engine, operation("introspect", json!({ "query": "operations", "name": "home_update_task" }))).await;
    assert_eq!(details["data"]["operation"]["returns"]["name"], "HomeTask");
    let of = ask(&engine, operation("introspect", json!({ "query": "types", "name": "HomeTask" }))).await;
    assert_eq!(of["data"]["type"]["kind"], "object");
    let narrowed = ask(&engine, operation("introspect", json!({ "query": "operations", "source": "tasks" }))).await;
    let names: Vec<&str> =
        narrowed["data"]["operations"].as_array().unwrap().iter().map(|op| op["name"].as_str().unwrap()).collect();
    assert!(names.len() == 9 && names.iter().all(|name| name.starts_with("tasks_")), "{names:?}");
    let twins = Engine::builder(surface())
        .dangerously_let_everything_pass()
        .source(crate::fixture::board())
        .source(crate::fixture::board())
        .build();
    assert_eq!(twins.err().unwrap().to_string(), "two sources are named 'tasks': rename one of them");
}

#[tokio::test]
async fn r_req_7_limits_outside_their_range_are_refused_when_building() {
    let mut settings = Settings::default();
    settings.limits.max_nesting_depth = 100;
    let error = builder().settings(settings).build().err().unwrap();
    assert_eq!(error.to_string(), "limit 'max_nesting_depth' is 100, allowed is 8 to 64");
}

#[tokio::test]
async fn r_res_4_the_cause_of_a_source_failure_is_hidden_from_the_caller() {
    fn fail(_: &str, _: serde_json::Map<String, Value>) -> Outcome {
        Outcome::Failed(Failure::internal("driver says: no such table secrets"))
    }
    let diary = Arc::new(RecordingObserver::default());
    let source = ScriptedSource::new(vec![Operation::new("get_x", Category::Read, "Get.")], fail);
    let engine = Engine::builder(surface())
        .dangerously_let_everything_pass()
        .source(source)
        .observer(diary.clone())
        .build()
        .unwrap();
    let answer = ask(&engine, operation("get_x", json!({}))).await;
    assert!(!answer.to_string().contains("secrets"), "{answer}");
    assert!(diary.0.lock()[0].contains("no such table secrets"));
}
