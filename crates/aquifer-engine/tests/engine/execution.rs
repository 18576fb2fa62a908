//! The lifecycle of executions.

use std::time::{Duration, Instant};

use aquifer_engine::{Caller, Context, Engine, Progress};
use serde_json::{Value, json};

use crate::fixture::{ask, ask_as, context, demo, operation};

async fn with_tasks(count: usize) -> Engine {
    let engine = demo();
    for index in 0..count {
        ask(&engine, operation("create_task", json!({ "title": format!("task {index}") }))).await;
    }
    engine
}

async fn state(engine: &Engine, id: &Value) -> Value {
    ask(engine, operation("get_execution", json!({ "execution_id": id }))).await["data"].clone()
}

async fn until(engine: &Engine, id: &Value, status: &str) -> Value {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let now = state(engine, id).await;
        if now["status"] == status {
            return now;
        }
        assert!(Instant::now() < deadline, "still {now}, wanted {status}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn r_end_6_an_execution_runs_in_the_background_and_completes() {
    let engine = with_tasks(3).await;
    let started = ask(&engine, operation("execute_tasks", json!({ "ms_each": 1 }))).await["data"].clone();
    assert!(["pending", "running"].contains(&started["status"].as_str().unwrap()), "{started}");
    assert!(started["execution_id"].as_str().unwrap().starts_with("exec_"));
    let ended = until(&engine, &started["execution_id"], "completed").await;
    assert_eq!(ended["result"], 3);
    assert_eq!(ended["progress"], json!({ "current": 3.0, "total": 3.0, "message": "task 2 is done" }));
    for time in ["started_at", "finished_at"] {
        assert!(ended[time].as_str().unwrap().ends_with('Z'), "ISO 8601 in UTC: {ended}");
    }
    let after = ask(&engine, operation("cancel_execution", json!({ "execution_id": started["execution_id"] }))).await;
    assert_eq!(after["data"]["status"], "completed", "nothing comes after the end");
}

#[tokio::test]
async fn r_end_6_an_execution_can_be_cancelled() {
    let engine = with_tasks(2).await;
    let started = ask(&engine, operation("execute_tasks", json!({ "ms_each": 60_000 }))).await["data"].clone();
    let cancelled =
        ask(&engine, operation("cancel_execution", json!({ "execution_id": started["execution_id"] }))).await;
    assert_eq!(cancelled["data"]["status"], "cancelled");
    assert!(cancelled["data"]["finished_at"].is_string());
    let tasks = ask(&engine, operation("list_tasks", json!({ "done": true }))).await;
    assert_eq!(tasks["data"]["items"], json!([]));
}

#[tokio::test]
async fn r_end_6_a_failed_execution_reports_why() {
    let engine = crate::adapter::kinds();
    let ended =
        ask(&engine, operation("execute_experiment", json!({ "fail": true, "wait": true }))).await["data"].clone();
    assert_eq!(ended["status"], "failed");
    assert_eq!(ended["error"]["code"], "NOT_FOUND_RESOURCE");
}

#[tokio::test]
async fn waiting_reports_progress() {
    let engine = with_tasks(4).await;
    let (progress, mut updates) = Progress::channel();
    let ended = ask_as(
        &engine,
        operation("execute_tasks", json!({ "ms_each": 2, "wait": true })),
        Context { progress, ..context() },
    )
    .await;
    assert_eq!(ended["data"]["status"], "completed");
    let mut reported = Vec::new();
    while let Ok(update) = updates.try_recv() {
        reported.push(update.current);
    }
    assert!(reported.len() >= 2 && reported.is_sorted() && reported.last() == Some(&4.0), "{reported:?}");
}

#[tokio::test]
async fn r_end_6_executions_belong_to_their_session_and_end_with_it() {
    let engine = with_tasks(1).await;
    let started = ask(&engine, operation("execute_tasks", json!({ "ms_each": 60_000 }))).await["data"].clone();
    let stranger = || Context::new(Caller::session("stranger"), "req");
    let request = || operation("get_execution", json!({ "execution_id": started["execution_id"] }));
    assert_eq!(ask_as(&engine, request(), stranger()).await["error"]["code"], "NOT_FOUND_RESOURCE");
    let listed = ask_as(&engine, operation("list_executions", json!({})), stranger()).await;
    assert_eq!(listed["data"]["items"], json!([]));
    engine.session_ended("stranger");
    until(&engine, &started["execution_id"], "running").await;
    engine.session_ended("tests");
    assert_eq!(ask(&engine, request()).await["error"]["code"], "NOT_FOUND_RESOURCE");
    assert_eq!(ask(&engine, operation("get_task", json!({ "id": 1 }))).await["data"]["done"], false);
}

#[tokio::test]
async fn anonymous_executions_are_found_by_id() {
    let engine = with_tasks(1).await;
    let anonymous = || Context::new(Caller::anonymous(), "req");
    let started =
        ask_as(&engine, operation("execute_tasks", json!({ "ms_each": 60_000 })), anonymous()).await["data"].clone();
    let execution =
        ask_as(&engine, operation("get_execution", json!({ "execution_id": started["execution_id"] })), anonymous())
            .await;
    assert_eq!(execution["success"], true);
    let listed = ask_as(&engine, operation("list_executions", json!({})), anonymous()).await;
    assert_eq!(listed["data"]["items"], json!([]), "but never listed");
}

#[tokio::test]
async fn executions_are_bounded_for_each_owner() {
    let engine = with_tasks(1).await;
    let start = || operation("execute_tasks", json!({ "ms_each": 60_000 }));
    for _ in 0..64 {
        assert_eq!(ask(&engine, start()).await["success"], true);
    }
    let refused = ask(&engine, start()).await;
    assert_eq!(refused["error"]["code"], "RATE_LIMIT_EXCEEDED");
    let stranger = Context::new(Caller::session("stranger"), "req");
    assert_eq!(ask_as(&engine, start(), stranger).await["success"], true, "others are not held back");
    let newest =
        ask(&engine, operation("list_executions", json!({}))).await["data"]["items"][0]["execution_id"].clone();
    ask(&engine, operation("cancel_execution", json!({ "execution_id": newest }))).await;
    assert_eq!(ask(&engine, start()).await["success"], true, "a finished one makes room");
}

#[tokio::test]
async fn r_req_9_executions_support_dry_runs() {
    let engine = with_tasks(1).await;
    let rehearsed = ask(&engine, operation("execute_tasks", json!({ "ms_each": 1, "dry_run": true }))).await;
    assert_eq!(rehearsed["data"], json!({ "operation": "execute_tasks", "status": "pending", "dry_run": true }));
    assert_eq!(ask(&engine, operation("list_executions", json!({}))).await["data"]["items"], json!([]));
    let started = ask(&engine, operation("execute_tasks", json!({ "ms_each": 60_000 }))).await["data"].clone();
    let id = &started["execution_id"];
    ask(&engine, operation("cancel_execution", json!({ "execution_id": id, "dry_run": true }))).await;
    until(&engine, id, "running").await;
}
