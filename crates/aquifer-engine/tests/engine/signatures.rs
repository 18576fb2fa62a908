//! `introspect {query: "signatures"}` through the engine: what is chosen, paged, concealed and marked.

use std::sync::Arc;

use aquifer_engine::gate::{Decision, Gate, Pass, Rules};
use aquifer_engine::source::{Answer, Outcome};
use aquifer_engine::{Context, Engine};
use aquifer_protocol::category::Category;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Parameter, Schema};
use aquifer_protocol::validate::Checked;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use crate::fixture::{ScriptedSource, ask, builder, demo, operation, surface};

fn answer_nothing(_: &str, _: Map<String, Value>) -> Outcome {
    Outcome::Done(Answer::new(json!({})))
}

async fn signatures(engine: &Engine, params: Value) -> Value {
    let mut all = json!({ "query": "signatures" });
    all.as_object_mut().unwrap().extend(params.as_object().unwrap().clone());
    ask(engine, operation("introspect", all)).await
}

fn lines(answer: &Value) -> Vec<&str> {
    answer["data"]["signatures"]
        .as_array()
        .unwrap_or_else(|| panic!("{answer}"))
        .iter()
        .filter_map(Value::as_str)
        .collect()
}

fn names(answer: &Value) -> Vec<&str> {
    lines(answer).into_iter().map(|line| line.split('(').next().unwrap()).collect()
}

fn message(answer: &Value) -> &str {
    answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

/// Conceals `secret_*`, denies `denied_*` and asks for `delete_*`.
struct SortingGate;

impl Gate for SortingGate {
    fn decide<'a>(&'a self, _: &'a Checked, _: &'a Context) -> BoxFuture<'a, Decision> {
        std::future::ready(Decision::Allow(Pass::default())).boxed()
    }

    fn as_rules(&self) -> Option<&dyn Rules> {
        Some(self)
    }
}

impl Rules for SortingGate {
    fn denies_always(&self, operation: &Operation) -> bool {
        operation.origin.own_name.starts_with("secret_")
    }

    fn policy(&self, operation: &Operation, _: &Context) -> &'static str {
        match operation.origin.own_name.split('_').next() {
            Some("delete") => "confirm",
            Some("denied") => "deny",
            _ => "allow",
        }
    }
}

fn sorted() -> Engine {
    let make = |name: &str, category| {
        let mut operation = Operation::new(name, category, "Does what its name says.");
        operation.parameters.push(Parameter::required("id", Schema::string()));
        operation
    };
    let operations = vec![
        make("delete_thing", Category::Delete),
        make("denied_thing", Category::Execute),
        make("get_thing", Category::Read),
        make("secret_thing", Category::Read),
    ];
    Engine::builder(surface())
        .gate(Arc::new(SortingGate))
        .source(ScriptedSource::new(operations, answer_nothing))
        .build()
        .unwrap()
}

#[tokio::test]
async fn r_ext_1_a_search_answers_with_lines_that_can_be_called() {
    let engine = demo();
    let answer = signatures(&engine, json!({ "search": "add a new task" })).await;
    let shown = lines(&answer);
    assert!(shown.len() <= 5 && shown[0].starts_with("create_task(title: string, "), "{shown:?}");
    let named = signatures(&engine, json!({ "search": "create_task" })).await;
    assert_eq!(names(&named), ["create_task"], "only the named operation");
    let none = signatures(&engine, json!({ "search": "zzzz qqqq" })).await;
    assert_eq!(none["data"], json!({ "signatures": [] }));
}

#[tokio::test]
async fn r_ext_1_the_query_language_is_said_once() {
    let answer = signatures(&demo(), json!({ "names": ["list_tasks", "list_executions"] })).await;
    let shown = lines(&answer);
    assert!(shown.iter().all(|line| line.contains("...query) read") && !line.contains("filter")), "{shown:?}");
    assert_eq!(
        answer["data"]["hints"],
        json!(["...query: fields?, filter?, sort?, aggregate?, first?, after?, max_tokens?"])
    );
    // Operations without the query language have a budget as well.
    let answer = signatures(&demo(), json!({ "names": ["list_tasks", "get_task"] })).await;
    assert!(lines(&answer).iter().all(|line| !line.contains("max_tokens")), "{answer}");
    assert_eq!(
        answer["data"]["hints"],
        json!(["...query: fields?, filter?, sort?, aggregate?, first?, after?", "reads also take max_tokens?"])
    );
}

#[tokio::test]
async fn r_ext_1_families_categories_and_sources_narrow() {
    let engine = demo();
    for family in ["delete", "DELETE"] {
        assert_eq!(names(&signatures(&engine, json!({ "family": family })).await), ["delete_task"]);
    }
    let several = builder()
        .source(ScriptedSource::new(vec![Operation::new("get_thing", Category::Read, "Get.")], answer_nothing))
        .build()
        .unwrap();
    let answer = signatures(&several, json!({ "source": "scripted" })).await;
    assert_eq!(names(&answer), ["scripted_get_thing"]);
    for (params, expected) in [
        (json!({ "family": "none" }), "family"),
        (json!({ "names": ["get_task"], "search": "x" }), "cannot stand beside 'names'"),
        (json!({ "names": [] }), "names"),
        (json!({ "fields": "full" }), "belongs to query 'operations', not to 'signatures'"),
    ] {
        let answer = signatures(&engine, params.clone()).await;
        assert!(message(&answer).contains(expected), "{params}: {answer}");
    }
    let published = ask(&engine, operation("introspect", json!({ "query": "operations", "names": ["x"] }))).await;
    assert!(message(&published).contains("belongs to query 'signatures'"), "{published}");
}

#[tokio::test]
async fn r_ext_1_unknown_names_are_refused_with_suggestions() {
    let engine = sorted();
    let failure = signatures(&engine, json!({ "names": ["get_thing", "get_thign"] })).await;
    assert_eq!(failure["error"]["code"], "NOT_FOUND_OPERATION");
    assert!(message(&failure).contains("Did you mean 'get_thing'?"), "{failure}");
    let two = signatures(&engine, json!({ "names": ["get_thingg", "delete_thingg"] })).await;
    assert!(message(&two).contains("'get_thing'") && message(&two).contains("'delete_thing'"), "{two}");
    assert_eq!(names(&signatures(&engine, json!({ "name": "get_thing" })).await), ["get_thing"], "one by 'name'");
    let strange = signatures(&engine, json!({ "names": ["…", "\n() read: x"] })).await;
    assert_eq!(strange["error"]["code"], "NOT_FOUND_OPERATION", "{strange}");
}

#[tokio::test]
async fn r_ext_6_concealed_operations_are_in_no_signature_and_marks_are_policy() {
    let engine = sorted();
    let policy = ask(&engine, operation("introspect", json!({ "query": "policy" }))).await;
    let published = ask(&engine, operation("introspect", json!({ "query": "operations" }))).await;
    let listed: Vec<&str> = published["data"]["operations"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|operation| operation["name"].as_str())
        .collect();
    for params in
        [json!({}), json!({ "search": "thing" }), json!({ "names": ["delete_thing", "denied_thing", "get_thing"] })]
    {
        let answer = signatures(&engine, params.clone()).await;
        assert!(!answer.to_string().contains("secret"), "{params}: {answer}");
        for line in lines(&answer) {
            let name = line.split('(').next().unwrap();
            assert!(listed.contains(&name), "{line}");
            let decided =
                |word: &str| policy["data"]["policy"][word].as_array().is_some_and(|all| all.contains(&json!(name)));
            assert_eq!(line.contains("[confirm]"), decided("confirm"), "{line}");
            assert_eq!(line.contains("[denied]"), decided("deny"), "{line}");
        }
    }
    let denied = signatures(&engine, json!({ "names": ["secret_thing"] })).await;
    let absent = signatures(&engine, json!({ "names": ["sekret_thing"] })).await;
    assert_eq!(denied["error"]["code"], absent["error"]["code"]);
    let unnamed = |answer: &Value| message(answer).replace("secret", "").replace("sekret", "");
    assert_eq!(unnamed(&denied), unnamed(&absent), "concealed and absent look alike");
}

#[tokio::test]
async fn r_ext_1_ten_thousand_operations_come_in_bounded_pages() {
    let operations = (0..10_000).map(|index| {
        let mut operation = Operation::new(&format!("get_thing_{index:05}"), Category::Read, "Get a thing of many.");
        operation.parameters.push(Parameter::required("id", Schema::string()));
        operation
    });
    let engine = Engine::builder(surface())
        .dangerously_let_everything_pass()
        .source(ScriptedSource::new(operations.collect(), answer_nothing))
        .build()
        .unwrap();
    let mut params = json!({});
    let mut seen = Vec::new();
    loop {
        let answer = signatures(&engine, params).await;
        assert!(answer.to_string().len() < 20_000);
        seen.extend(names(&answer).into_iter().map(str::to_owned));
        let Some(cursor) = answer["data"].get("after") else { break };
        assert_eq!(answer["data"]["more"], 10_000 - seen.len());
        params = json!({ "after": cursor });
    }
    assert_eq!(seen.len(), 10_000, "each once");
    seen.dedup();
    assert_eq!(seen.len(), 10_000);
    let search = signatures(&engine, json!({ "search": "thing of many" })).await;
    assert_eq!(lines(&search).len(), 5);
    assert!(
        search["data"]["more"].as_u64().is_some_and(|more| more > 0),
        "the answer says how many were cut: {search}"
    );
    let first = signatures(&engine, json!({ "first": 2 })).await;
    assert_eq!(lines(&first).len(), 2);
    let foreign = signatures(&engine, json!({ "family": "read", "after": first["data"]["after"] })).await;
    assert_eq!(foreign["error"]["code"], "VALIDATION_INVALID_VALUE");
}
