//! The order in which the operations of a batch run, and values that are taken from earlier answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aquifer_engine::source::{Answer, Call, Offering, Outcome};
use aquifer_engine::{Engine, Settings, Source};
use aquifer_protocol::batch::OnConfirmation;
use aquifer_protocol::category::Category;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::limits::Limits;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Kind, Parameter, Schema};
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::fixture::{ConfirmingGate, ask, ask_as, batch, context, operation, surface};

/// A source whose reads wait until they are let go, and which records what happens.
#[derive(Default)]
struct Recorder {
    log: Mutex<Vec<String>>,
    running: AtomicUsize,
    max_running: AtomicUsize,
    /// Reads named `wait` take one permit each.
    permits: Option<Semaphore>,
}

impl Recorder {
    fn note(&self, entry: String) {
        self.log.lock().push(entry);
    }

    fn log(&self) -> Vec<String> {
        std::mem::take(&mut self.log.lock())
    }
}

struct RecordedSource(Arc<Recorder>);

impl Source for RecordedSource {
    fn name(&self) -> &str {
        "recorded"
    }

    fn offering(&self) -> Offering {
        let operation = |name: &str, category, params: Vec<Parameter>| {
            let mut operation = Operation::new(name, category, "Does it.");
            operation.parameters = params;
            operation
        };
        let value = || Parameter::optional("value", Schema::default());
        let number = Kind::Array(Some(Box::new(Schema::integer(0.0, 1000.0))));
        let numbers = Schema { kind: number, ..Schema::default() };
        Offering {
            operations: vec![
                operation("get_value", Category::Read, vec![value(), Parameter::optional("more", Schema::default())]),
                operation("list_numbers", Category::Read, vec![Parameter::required("ids", numbers)]),
                operation("wait", Category::Read, vec![value()]),
                operation("create_value", Category::Create, vec![value()]),
                operation(
                    "delete_task",
                    Category::Delete,
                    vec![Parameter::required("id", Schema::integer(0.0, 1000.0))],
                ),
                operation("fail_value", Category::Read, vec![]),
            ],
            ..Offering::default()
        }
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        let recorder = &self.0;
        async move {
            let value = call.params.get("value").or(call.params.get("id")).cloned().unwrap_or_default();
            recorder.note(format!("{} {value} begins", call.name));
            let running = recorder.running.fetch_add(1, Ordering::SeqCst) + 1;
            recorder.max_running.fetch_max(running, Ordering::SeqCst);
            if let (Some(permits), "wait") = (&recorder.permits, &*call.name) {
                permits.acquire().await.unwrap().forget();
            }
            recorder.running.fetch_sub(1, Ordering::SeqCst);
            recorder.note(format!("{} {value} ends", call.name));
            match &*call.name {
                "fail_value" => Outcome::Failed(Failure::new(Code::NotFoundResource, "It is gone")),
                _ => Outcome::Done(Answer::new(Value::Object(call.params))),
            }
        }
        .boxed()
    }
}

fn engine(recorder: &Arc<Recorder>) -> Engine {
    let builder = Engine::builder(surface()).dangerously_let_everything_pass();
    builder.source(Arc::new(RecordedSource(recorder.clone()))).build().unwrap()
}

fn from(reference: &str) -> Value {
    json!({ "$from": reference })
}

async fn results(engine: &Engine, operations: Value) -> Vec<Value> {
    let answer = ask(engine, batch(operations)).await;
    answer["results"]
        .as_array()
        .unwrap_or_else(|| panic!("{answer}"))
        .iter()
        .map(|entry| entry["result"].clone())
        .collect()
}

#[tokio::test]
async fn r_ext_4_reads_run_concurrently_and_are_answered_in_order() {
    let recorder = Arc::new(Recorder { permits: Some(Semaphore::new(0)), ..Recorder::default() });
    let engine = engine(&recorder);
    let operations: Vec<Value> = (0..20).map(|value| operation("wait", json!({ "value": value }))).collect();
    let answering = ask(&engine, batch(json!(operations)));
    let let_go = async {
        // Without concurrency, the second would never begin.
        while recorder.running.load(Ordering::SeqCst) < 8 {
            tokio::task::yield_now().await;
        }
        recorder.permits.as_ref().unwrap().add_permits(20);
    };
    let (answer, ()) = tokio::join!(answering, let_go);
    assert_eq!(recorder.max_running.load(Ordering::SeqCst), 8, "never more");
    let values: Vec<&Value> =
        answer["results"].as_array().unwrap().iter().map(|entry| &entry["result"]["data"]["value"]).collect();
    assert_eq!(values, (0..20).map(Value::from).collect::<Vec<_>>().iter().collect::<Vec<_>>());
    let indices: Vec<&Value> = answer["results"].as_array().unwrap().iter().map(|entry| &entry["index"]).collect();
    assert_eq!(indices, (0..20).map(Value::from).collect::<Vec<_>>().iter().collect::<Vec<_>>());
}

#[tokio::test]
async fn r_ext_4_a_write_waits_for_the_reads_before_it_and_holds_up_those_after_it() {
    let recorder = Arc::new(Recorder { permits: Some(Semaphore::new(0)), ..Recorder::default() });
    let engine = engine(&recorder);
    let read = |value: u32| operation("wait", json!({ "value": value }));
    let write = |value: u32| operation("create_value", json!({ "value": value }));
    let answering = ask(&engine, batch(json!([read(0), read(1), write(2), write(3), read(4), read(5)])));
    let let_go = async {
        while recorder.running.load(Ordering::SeqCst) < 2 {
            tokio::task::yield_now().await;
        }
        recorder.permits.as_ref().unwrap().add_permits(2);
        while !recorder.log.lock().contains(&"wait 5 begins".to_owned()) {
            tokio::task::yield_now().await;
        }
        recorder.permits.as_ref().unwrap().add_permits(2);
    };
    tokio::join!(answering, let_go);
    let log = recorder.log();
    let position =
        |entry: &str| log.iter().position(|noted| noted == entry).unwrap_or_else(|| panic!("{entry}: {log:?}"));
    for (earlier, later) in [
        ("wait 0 ends", "create_value 2 begins"),
        ("wait 1 ends", "create_value 2 begins"),
        ("create_value 2 ends", "create_value 3 begins"),
        ("create_value 3 ends", "wait 4 begins"),
        ("wait 5 begins", "wait 4 ends"),
    ] {
        assert!(position(earlier) < position(later), "{earlier} before {later}: {log:?}");
    }
}

#[tokio::test]
async fn r_ext_4_a_cancelled_batch_ends_all_its_reads() {
    let recorder = Arc::new(Recorder { permits: Some(Semaphore::new(0)), ..Recorder::default() });
    let engine = engine(&recorder);
    let context = context();
    let cancelled = context.cancelled.clone();
    let operations: Vec<Value> = (0..4).map(|value| operation("wait", json!({ "value": value }))).collect();
    let cancel = async {
        while recorder.running.load(Ordering::SeqCst) < 4 {
            tokio::task::yield_now().await;
        }
        cancelled.cancel();
    };
    let (answer, ()) = tokio::join!(ask_as(&engine, batch(json!(operations)), context), cancel);
    assert_eq!(answer["summary"], json!({ "total": 4, "succeeded": 0, "failed": 4 }));
}

#[tokio::test]
async fn r_ext_4_everything_is_checked_before_the_first_operation_runs() {
    let recorder = Arc::new(Recorder::default());
    let engine = Engine::builder(surface()).gate(Arc::new(ConfirmingGate));
    let engine = engine.source(Arc::new(RecordedSource(recorder.clone()))).build().unwrap();
    // The batch halts before the invalid operations, and still says what is wrong with them.
    let answer = ask(
        &engine,
        batch(json!([
            operation("delete_task", json!({ "id": 1 })),
            operation("delete_task", json!({})),
            operation("no_such_thing", json!({ "value": from("0.data.id") })),
            operation("get_value", json!({ "value": from("3.data") })),
            operation("get_value", json!({ "value": 1 })),
        ])),
    )
    .await;
    assert_eq!(answer["summary"], json!({ "total": 5, "succeeded": 0, "failed": 3, "halted": 1, "pending": 1 }));
    let codes: Vec<(&Value, &Value)> = answer["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (&entry["index"], &entry["result"]["error"]["code"]))
        .collect();
    assert_eq!(
        codes,
        [
            (&json!(1), &json!("VALIDATION_MISSING_PARAM")),
            (&json!(2), &json!("NOT_FOUND_OPERATION")),
            (&json!(3), &json!("VALIDATION_INVALID_VALUE"))
        ]
    );
    assert_eq!(
        answer["pending_operations"],
        json!([{ "index": 4, "operation": "get_value", "params": { "value": 1 } }])
    );
    assert!(recorder.log().is_empty());
    // A halted batch does not begin like one that is done.
    let keys: Vec<&String> = answer.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["success", "data", "halted_at", "pending_operations", "results", "summary"]);
}

#[tokio::test]
async fn r_ext_4_parameters_are_taken_from_earlier_answers() {
    let engine = engine(&Arc::default());
    let items = json!({ "items": [{ "id": 3, "tags": ["a", "b"] }, { "id": 5, "tags": [] }] });
    let table = [
        (json!(from("0.data.value.items.1.id")), json!(5)),
        (json!(from("0.data.value.items.*.id")), json!([3, 5])),
        (json!(from("0.data.value.items.*.tags.*")), json!(["a", "b"])),
        (json!(from("0.data.value.items.0.tags")), json!(["a", "b"])),
        (json!(from("0.data.value.items.1.tags.*")), json!([])),
        (json!({ "deep": [{ "in": from("0.data.value.items.*.id") }] }), json!({ "deep": [{ "in": [3, 5] }] })),
        // Only exactly this form is a reference.
        (json!({ "$from": "x", "other": 1 }), json!({ "$from": "x", "other": 1 })),
        (json!({ "$from": 7 }), json!({ "$from": 7 })),
        (json!({ "from": "0.data" }), json!({ "from": "0.data" })),
    ];
    for (sent, expected) in table {
        let taken = results(
            &engine,
            json!([
                operation("get_value", json!({ "value": items })),
                operation("get_value", json!({ "value": sent }))
            ]),
        )
        .await;
        assert_eq!(taken[1]["data"]["value"], expected, "{sent}");
    }
    // From top level, over several steps, and checked like any value.
    let taken = results(
        &engine,
        json!([
            operation("get_value", json!({ "value": items })),
            { "operation": "get_value", "value": from("0.data.value.items.*.id") },
            operation("list_numbers", json!({ "ids": from("1.data.value") })),
            operation("list_numbers", json!({ "ids": from("0.data.value.items.0.tags") })),
        ]),
    )
    .await;
    assert_eq!(taken[2]["data"], json!({ "ids": [3, 5] }));
    assert_eq!(taken[3]["error"]["code"], "VALIDATION_INVALID_TYPE");
    // Outside of a batch it is data.
    let alone = ask(&engine, operation("get_value", json!({ "value": from("0.data") }))).await;
    assert_eq!(alone["data"]["value"], from("0.data"));
}

#[tokio::test]
async fn r_ext_4_references_that_lead_nowhere_say_where_they_ended() {
    let engine = engine(&Arc::default());
    let first = json!({ "items": [{ "id": 3, "owner_id": 4 }], "none": null });
    let table = [
        ("", "such as '0.data.items.0.id'"),
        ("data.id", "such as '0.data.items.0.id'"),
        ("0", "such as '0.data.items.0.id'"),
        ("00.data", "such as '0.data.items.0.id'"),
        ("-1.data", "such as '0.data.items.0.id'"),
        ("0.data..id", "such as '0.data.items.0.id'"),
        ("99999999999999999999.data", "such as '0.data.items.0.id'"),
        ("0.error.details.confirmation_token", "a path begins with 'data'"),
        ("0.warnings", "a path begins with 'data'"),
        ("2.data", "operations[2] does not come before operations[2]"),
        ("3.data", "operations[3] does not come before operations[2]"),
        ("1.data", "operations[1] failed, so nothing can be taken from it"),
        ("0.data.value.items.0.owner", "has no 'data.value.items.0.owner'. 'data.value.items.0' has: 'id', 'owner_id'"),
        ("0.data.value.items.1.id", "has no 'data.value.items.1'. 'data.value.items' is a list of 1 element"),
        ("0.data.value.items.id", "has no 'data.value.items.id'. 'data.value.items' is a list of 1 element"),
        ("0.data.value.*.id", "has no 'data.value.*'. 'data.value' has: 'items', 'none'"),
        ("0.data.value.none.id", "has no 'data.value.none.id'. 'data.value.none' is of type 'null'"),
        ("0.data.value.items.*.ids", "has no 'data.value.items.0.ids'. 'data.value.items.0' has: 'id', 'owner_id'"),
    ];
    for (reference, part) in table {
        let operations = json!([
            operation("get_value", json!({ "value": first })),
            operation("fail_value", json!({})),
            operation("get_value", json!({ "value": from(reference) })),
            operation("get_value", json!({ "value": "last" })),
        ]);
        let answers = results(&engine, operations).await;
        let error = &answers[2]["error"];
        assert_eq!(error["code"], "VALIDATION_INVALID_VALUE", "{reference}: {error}");
        assert!(error["message"].as_str().unwrap().contains(part), "{reference}: {error}");
        assert!(error["message"].as_str().unwrap().starts_with("Parameter 'value': "), "{error}");
        assert_eq!(answers[3]["success"], true, "one failure stops nothing");
    }
    let token = results(
        &engine,
        json!([
            operation("get_value", json!({})),
            operation("delete_task", json!({ "confirmation_token": from("0.data.value") }))
        ]),
    )
    .await;
    assert!(token[1]["error"]["message"].as_str().unwrap().contains("a confirmation cannot be taken"), "{token:?}");
}

#[tokio::test]
async fn r_ext_4_what_is_taken_stays_within_the_limits_of_a_request() {
    let limits = Limits { max_request_size: 64 * 1024, max_array_elements: 100, ..Limits::default() };
    let settings = Settings { limits, ..Settings::default() };
    let builder = Engine::builder(surface()).dangerously_let_everything_pass().settings(settings);
    let engine = builder.source(Arc::new(RecordedSource(Arc::default()))).build().unwrap();
    // Each answer holds the one before twice.
    let mut operations = vec![operation("get_value", json!({ "value": "x".repeat(1000) }))];
    for index in 0..30 {
        let earlier = from(&format!("{index}.data"));
        operations.push(operation("get_value", json!({ "value": earlier, "more": earlier })));
    }
    let answer = ask(&engine, batch(json!(operations))).await;
    assert!(answer["summary"]["succeeded"].as_u64().unwrap() < 8, "{}", answer["summary"]);
    assert!(answer.to_string().len() < 256 * 1024);
    let message =
        answer["results"].as_array().unwrap().iter().find_map(|entry| entry["result"]["error"]["message"].as_str());
    assert!(message.unwrap().contains("than a request can hold"), "{message:?}");
    // Lists that grow by flattening, and values that are nested deeper than a request may be.
    let list: Vec<Value> = (0..20).map(|_| json!((0..20).collect::<Vec<_>>())).collect();
    let mut deep = json!(1);
    for _ in 0..31 {
        deep = json!([deep]);
    }
    let answers = results(
        &engine,
        json!([
            operation("get_value", json!({ "value": list })),
            operation("get_value", json!({ "value": from("0.data.value.*.*") })),
            operation("get_value", json!({ "value": deep })),
            operation("get_value", json!({ "value": { "deeper": from("2.data.value") } })),
        ]),
    )
    .await;
    assert_eq!(answers[1]["error"]["details"]["limit_type"], "array_elements", "{}", answers[1]);
    assert_eq!(answers[3]["error"]["details"]["limit_type"], "nesting_depth", "{}", answers[3]);
}

/// The operations that a halted batch gives back can be sent as they are.
#[tokio::test]
async fn r_bat_3_pending_operations_hold_values_and_count_from_the_halted_one() {
    let recorder = Arc::new(Recorder::default());
    let engine = Engine::builder(surface()).gate(Arc::new(ConfirmingGate));
    let engine = engine.source(Arc::new(RecordedSource(recorder.clone()))).build().unwrap();
    let answer = ask(
        &engine,
        batch(json!([
            operation("get_value", json!({ "value": 7 })),
            operation("delete_task", json!({ "id": from("0.data.value") })),
            operation("delete_task", json!({ "id": "no number" })),
            operation("get_value", json!({ "value": from("1.data.id"), "more": from("0.data.value") })),
            operation("get_value", json!({ "value": from("3.data.value") })),
            operation("get_value", json!({ "value": from("1.data.id"), "more": from("0.data.nothing") })),
        ])),
    )
    .await;
    assert_eq!(answer["halted_at"]["index"], 1, "{answer}");
    assert_eq!(answer["halted_at"]["result"]["error"]["details"]["params"], json!({ "id": 7 }));
    assert_eq!(
        answer["pending_operations"],
        json!([
            { "index": 3, "operation": "get_value", "params": { "value": from("0.data.id"), "more": 7 } },
            { "index": 4, "operation": "get_value", "params": { "value": from("1.data.value") } },
        ])
    );
    assert_eq!(answer["summary"], json!({ "total": 6, "succeeded": 1, "failed": 2, "halted": 1, "pending": 2 }));
    let mut next = vec![operation("delete_task", json!({ "id": 7, "_confirmation": "conf_x" }))];
    let pending = answer["pending_operations"].as_array().unwrap().iter();
    next.extend(pending.map(|pending| operation(pending["operation"].as_str().unwrap(), pending["params"].clone())));
    let answers = results(&engine, json!(next)).await;
    assert_eq!(answers[1]["data"], json!({ "value": 7, "more": 7 }));
    assert_eq!(answers[2]["data"], json!({ "value": 7 }));
}

#[tokio::test]
async fn r_bat_3_nothing_is_taken_from_an_operation_that_waits() {
    let settings = Settings { on_confirmation: OnConfirmation::Skip, ..Settings::default() };
    let builder = Engine::builder(surface()).gate(Arc::new(ConfirmingGate)).settings(settings);
    let engine = builder.source(Arc::new(RecordedSource(Arc::default()))).build().unwrap();
    let answers = results(
        &engine,
        json!([
            operation("delete_task", json!({ "id": 1 })),
            operation("get_value", json!({ "value": from("0.data.id") }))
        ]),
    )
    .await;
    let message = answers[1]["error"]["message"].as_str().unwrap();
    assert!(message.contains("operations[0] waits for confirmation"), "{message}");
}
