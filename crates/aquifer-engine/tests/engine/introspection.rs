//! Introspection through the engine.

use aquifer_engine::source::{Answer, Outcome};
use aquifer_engine::{Engine, Settings};
use aquifer_protocol::category::Category;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::trust::Trust;
use serde_json::{Map, Value, json};

use crate::fixture::{ScriptedSource, ask, builder, demo, operation, surface};

fn answer_nothing(_: &str, _: Map<String, Value>) -> Outcome {
    Outcome::Done(Answer::new(json!({})))
}

fn many(count: usize) -> Engine {
    let operations = (0..count)
        .map(|index| {
            Operation::new(&format!("get_thing_{index:05}"), Category::Read, "Get a thing of which there are many.")
        })
        .collect();
    Engine::builder(surface())
        .dangerously_let_everything_pass()
        .source(ScriptedSource::new(operations, answer_nothing))
        .settings(Settings::default())
        .build()
        .unwrap()
}

fn names(answer: &Value) -> Vec<String> {
    answer["data"]["operations"].as_array().unwrap().iter().map(|op| op["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn r_int_1_introspect_is_one_of_the_operations() {
    let answer = ask(&demo(), operation("introspect", json!({ "query": "operations" }))).await;
    let names = names(&answer);
    assert_eq!(names.len(), 10);
    assert!(names.contains(&"introspect".to_owned()));
    let keys: Vec<&String> = answer.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["success", "data"], "nothing beside");
}

#[tokio::test]
async fn r_int_6_lists_narrow_and_page() {
    let engine = demo();
    let list = async |params: Value| {
        let mut all = json!({ "query": "operations" });
        all.as_object_mut().unwrap().extend(params.as_object().unwrap().clone());
        ask(&engine, operation("introspect", all)).await
    };
    assert_eq!(names(&list(json!({ "category": "DELETE" })).await), ["delete_task"]);
    assert_eq!(names(&list(json!({ "endpoint": "update" })).await), ["update_task"]);
    let first = list(json!({ "category": "READ", "first": 2 })).await;
    let page = &first["data"]["_protocol"]["page"];
    assert_eq!(page["hasNextPage"], true);
    assert_eq!(page["totalCount"], 5);
    assert_eq!(first["data"]["_protocol"].as_object().unwrap().len(), 2, "version and page only");
    let mut seen = names(&first);
    let mut cursor = page["endCursor"].clone();
    for _ in 0..5 {
        let next = list(json!({ "category": "READ", "first": 2, "after": cursor })).await;
        seen.extend(names(&next));
        let page = &next["data"]["_protocol"]["page"];
        if page["hasNextPage"] == json!(false) {
            break;
        }
        cursor = page["endCursor"].clone();
    }
    assert_eq!(seen, ["get_execution", "get_task", "list_executions", "list_tasks", "introspect"]);
    let foreign = list(json!({ "category": "DELETE", "after": page["endCursor"] })).await;
    assert_eq!(foreign["error"]["code"], "VALIDATION_INVALID_VALUE");
    let unknown = list(json!({ "endpoint": "discover" })).await;
    assert!(
        unknown["error"]["message"].as_str().unwrap().contains("'create', 'delete', 'execute', 'read', 'update'"),
        "{unknown}"
    );
}

#[tokio::test]
async fn r_int_6_search_finds_the_operation_for_a_task() {
    let engine = demo();
    for (words, wanted) in [
        ("create_task", "create_task"),
        ("createTask", "create_task"),
        ("add a new task", "create_task"),
        ("remove a task from the board", "delete_task"),
        ("stop a running execution", "cancel_execution"),
        ("show all tasks", "list_tasks"),
        ("edit the title of a task", "update_task"),
    ] {
        let answer = ask(&engine, operation("introspect", json!({ "query": "operations", "search": words }))).await;
        let names = names(&answer);
        assert!(names.len() <= 5, "{names:?}");
        assert!(names.contains(&wanted.to_owned()), "{words}: {names:?}");
    }
}

#[tokio::test]
async fn r_int_6_search_and_filters_can_be_combined() {
    let engine = demo();
    let answer = ask(
        &engine,
        operation("introspect", json!({ "query": "operations", "search": "tasks", "category": "DELETE" })),
    )
    .await;
    assert_eq!(names(&answer), ["delete_task"]);
    let blank = ask(&engine, operation("introspect", json!({ "query": "operations", "search": "  " }))).await;
    assert_eq!(names(&blank).len(), 10, "blank is not given");
}

#[tokio::test]
async fn r_int_6_quota_and_policy_show_the_state_of_the_gate() {
    let engine = demo();
    for query in ["quota", "quota_status"] {
        assert_eq!(
            ask(&engine, operation("introspect", json!({ "query": query }))).await["data"],
            json!({ "adapter": "tasks", "api_limits": {}, "quotas": [], "next_reset": null })
        );
    }
    let policy = ask(&engine, operation("introspect", json!({ "query": "policy" }))).await;
    assert_eq!(policy["data"]["policy"]["allow"].as_array().unwrap().len(), 10);
}

#[tokio::test]
async fn r_int_6_adapter_info_names_the_adapter() {
    let ask_info = async |engine: &Engine, more: Value| {
        let mut params = json!({ "query": "adapter_info" });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ask(engine, operation("introspect", params)).await
    };
    let version = env!("CARGO_PKG_VERSION");
    let tasks = json!({ "name": "tasks", "version": version, "trust": { "level": "accepted" } });
    assert_eq!(ask_info(&demo(), json!({})).await["data"], tasks);
    // There is no choice, so there is no parameter for it.
    assert_eq!(ask_info(&demo(), json!({ "source": "tasks" })).await["error"]["code"], "VALIDATION_UNKNOWN_PARAM");
    let mut careless = Operation::new("get_thing", Category::Read, "Get.");
    careless.origin.trust = Trust::Untested;
    let several = builder().source(ScriptedSource::new(vec![careless], answer_nothing)).build().unwrap();
    let scripted = json!({ "name": "scripted", "version": version, "trust": { "level": "untested" } });
    assert_eq!(
        ask_info(&several, json!({})).await["data"],
        json!({ "name": "aquifer", "version": version, "trust": { "level": "untested" }, "adapters": [tasks, scripted] })
    );
    assert_eq!(ask_info(&several, json!({ "source": "scripted" })).await["data"], scripted);
    let status = ask(&several, operation("introspect", json!({ "query": "quota_status" }))).await;
    assert_eq!(status["data"]["adapter"], "aquifer");
    let status = ask(&several, operation("introspect", json!({ "query": "quota_status", "source": "tasks" }))).await;
    assert_eq!(status["data"]["adapter"], "tasks");
    for (more, code) in [
        (json!({ "source": "nobody" }), "VALIDATION_INVALID_VALUE"),
        (json!({ "category": "READ" }), "VALIDATION_INVALID_VALUE"),
        (json!({ "name": "tasks" }), "VALIDATION_INVALID_VALUE"),
    ] {
        assert_eq!(ask_info(&several, more.clone()).await["error"]["code"], code, "{more}");
    }
}

#[tokio::test]
async fn r_int_6_a_large_list_is_paged_automatically() {
    let engine = many(3_000);
    let answer = ask(&engine, operation("introspect", json!({ "query": "operations" }))).await;
    let page = &answer["data"]["_protocol"]["page"];
    assert_eq!(page["hasNextPage"], true);
    assert_eq!(page["totalCount"], 3_001);
    assert!(answer.to_string().len() < 72 * 1024, "{}", answer.to_string().len());
    assert!(answer["data"]["_protocol"]["version"].is_string(), "the first page tells of the protocol");
    let mut seen = names(&answer).len();
    let mut cursor = page["endCursor"].clone();
    for _ in 0..30 {
        let next = ask(&engine, operation("introspect", json!({ "query": "operations", "after": cursor }))).await;
        seen += names(&next).len();
        let page = &next["data"]["_protocol"]["page"];
        if page["hasNextPage"] == json!(false) {
            break;
        }
        cursor = page["endCursor"].clone();
    }
    assert_eq!(seen, 3_001);
}

#[tokio::test]
async fn r_int_7_answers_are_stable_until_the_catalog_changes() {
    let source = ScriptedSource::new(vec![Operation::new("get_x", Category::Read, "Get.")], answer_nothing);
    let engine = Engine::builder(surface()).dangerously_let_everything_pass().source(source.clone()).build().unwrap();
    let changes = engine.changes();
    let list = || operation("introspect", json!({ "query": "operations" }));
    let before = ask(&engine, list()).await;
    assert_eq!(ask(&engine, list()).await, before);
    assert!(!engine.refresh().unwrap(), "nothing has changed");
    assert!(!changes.has_changed().unwrap());
    source.operations.lock().push(Operation::new("get_y", Category::Read, "Get."));
    assert!(engine.refresh().unwrap());
    assert!(changes.has_changed().unwrap());
    assert_eq!(names(&ask(&engine, list()).await), ["get_x", "get_y", "introspect"]);
    source.operations.lock().push(Operation::new("introspect", Category::Read, "Mine."));
    assert!(engine.refresh().is_err());
    assert_eq!(names(&ask(&engine, list()).await).len(), 3, "a catalog that is not valid changes nothing");
}

#[tokio::test]
async fn r_int_6_summary_and_limits() {
    let engine = demo();
    let summary = ask(&engine, operation("introspect", json!({ "query": "summary" }))).await;
    assert_eq!(summary["data"]["summary"]["total"], 10);
    let limits = ask(&engine, operation("introspect", json!({ "query": "limits" }))).await;
    assert_eq!(limits["data"]["limits"]["max_request_size"], 1_048_576);
}
