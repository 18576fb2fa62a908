//! Shaped results of upstreams: what is returned, what is held, and how often the source is called.

mod budget;
mod fields;
mod held;
mod page_info;
mod source_pages;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use aquifer_engine::clock::Clock;
use aquifer_engine::shape::{self, Controls, ResultShape};
use aquifer_engine::source::{Call, Offering, Outcome};
use aquifer_engine::store::{MemoryStore, Record, SpendResult, StateStore, StoreError};
use aquifer_engine::{Answer, Caller, Context, Engine, EngineBuilder, Source};
use aquifer_protocol::category::Category;
use aquifer_protocol::error::wording::looks_like_a_leak;
use aquifer_protocol::operation::{Operation, RowPlace};
use aquifer_protocol::response::{Data, JsonText};
use aquifer_protocol::schema::{Kind, Parameter, Schema};
use aquifer_query::CursorKey;
use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::fixture::{ask, ask_as, operation, surface};

/// An upstream that always gives the same answer and records its calls.
pub(crate) struct Upstream {
    result: Mutex<Value>,
    operations: Vec<Operation>,
    raw: bool,
    /// JSON text to answer with instead.
    verbatim: Mutex<Option<String>>,
    pub(crate) calls: AtomicUsize,
    pub(crate) params: Mutex<Vec<Map<String, Value>>>,
}

/// Rows at a configured path, or wherever they are found.
fn rows_at(path: Option<&str>) -> ResultShape {
    ResultShape::Rows(path.map_or(RowPlace::Detected, RowPlace::configured))
}

impl Upstream {
    fn new(result: Value, own: &[&str], controls: Controls, rows: Option<&str>) -> Arc<Self> {
        Self::shaped(result, own, controls, &rows_at(rows))
    }

    fn shaped(result: Value, own: &[&str], controls: Controls, shape: &ResultShape) -> Arc<Self> {
        let mut read = Operation::new("list_issues", Category::Read, "Lists issues.");
        read.origin.native = false;
        read.parameters =
            own.iter().map(|name| Parameter::optional(name, Schema::new(Kind::Any).describe("Own."))).collect();
        assert!(shape::add_controls(&mut read, shape, controls));
        let mut write = Operation::new("create_issue", Category::Create, "Creates an issue.");
        write.origin.native = false;
        assert!(!shape::add_controls(&mut write, &rows_at(None), controls), "only READ is shaped");
        Arc::new(Self {
            result: Mutex::new(result),
            operations: vec![read, write],
            raw: false,
            verbatim: Mutex::default(),
            calls: AtomicUsize::new(0),
            params: Mutex::default(),
        })
    }

    /// Like `new`, with the answer as unparsed JSON text.
    fn raw(result: Value) -> Arc<Self> {
        let mut upstream = Self::new(result, &[], Controls::Few, None);
        Arc::get_mut(&mut upstream).unwrap().raw = true;
        upstream
    }

    /// Without controls.
    fn unshaped(result: Value, own: &[&str], raw: bool) -> Arc<Self> {
        let mut upstream = Self::new(result, own, Controls::Few, None);
        let changed = Arc::get_mut(&mut upstream).unwrap();
        changed.raw = raw;
        for operation in &mut changed.operations {
            operation.parameters.retain(|parameter| !parameter.is_shared);
            operation.capabilities.shaping = None;
        }
        upstream
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

impl Source for Upstream {
    fn name(&self) -> &str {
        "upstream"
    }

    fn offering(&self) -> Offering {
        Offering { operations: self.operations.clone(), ..Offering::default() }
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.params.lock().push(call.params);
        let result = self.result.lock().clone();
        let data = match self.verbatim.lock().clone() {
            Some(text) => Data::Text(JsonText::vouched(text)),
            None if self.raw => Data::Text(JsonText::from(&result)),
            None => result.into(),
        };
        std::future::ready(Outcome::Done(Answer::new(data))).boxed()
    }
}

struct ManualClock(Mutex<Timestamp>);

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.0.lock()
    }
}

fn builder(upstream: &Arc<Upstream>) -> EngineBuilder {
    Engine::builder(surface()).dangerously_let_everything_pass().source(upstream.clone())
}

fn issues(count: usize) -> Value {
    let item = |number: usize| {
        json!({
            "id": 1_000 + number,
            "number": number,
            "title": format!("Issue {number}"),
            "state": if number.is_multiple_of(3) { "closed" } else { "open" },
            "user": { "login": if number.is_multiple_of(2) { "ann" } else { "bob" }, "id": number % 2 },
            "labels": [{ "name": "bug", "color": "red" }, { "name": format!("p{}", number % 4), "color": "blue" }],
            "comments": number % 5,
            "created_at": format!("2026-01-{:02}T00:00:00Z", number % 28 + 1),
            "body": "x".repeat(200),
        })
    };
    json!({ "total_count": count, "incomplete_results": false, "items": (0..count).map(item).collect::<Vec<_>>() })
}

async fn list(engine: &Engine, params: Value) -> Value {
    let answer = ask(engine, operation("list_issues", params)).await;
    let warnings = answer["warnings"].as_array().into_iter().flatten().map(|warning| &warning["message"]);
    for message in warnings.chain([&answer["error"]["message"]]).filter_map(Value::as_str) {
        assert!(!looks_like_a_leak(message), "{message}");
    }
    answer
}

#[tokio::test]
async fn r_dis_8_without_controls_a_result_is_passed_on_unchanged() {
    let upstream = Upstream::new(issues(100), &["owner"], Controls::Few, None);
    let engine = builder(&upstream).build().unwrap();
    let answer = list(&engine, json!({ "owner": "a" })).await;
    assert_eq!(answer, json!({ "success": true, "data": issues(100) }));
    assert_eq!(upstream.params.lock()[0], *json!({ "owner": "a" }).as_object().unwrap());
}

#[tokio::test]
async fn r_dis_8_exactly_the_requested_fields_and_rows_are_returned() {
    let upstream = Upstream::new(issues(30), &["owner"], Controls::Few, None);
    let engine = builder(&upstream).build().unwrap();
    let answer = list(
        &engine,
        json!({
            "owner": "a", "fields": ["number", "user.login", "labels.name"],
            "filter": { "state": "open", "labels.name": "p1" }, "sort": "-number", "first": 2
        }),
    )
    .await;
    let info = &answer["data"]["pageInfo"];
    assert_eq!(info["hasNextPage"], true, "{answer}");
    let label = |name: &str| json!([{ "name": "bug" }, { "name": name }]);
    assert_eq!(
        answer["data"]["items"],
        json!([
            { "number": 29, "user": { "login": "bob" }, "labels": label("p1") },
            { "number": 25, "user": { "login": "bob" }, "labels": label("p1") },
        ])
    );
    assert_eq!(
        answer["data"]["_upstream"]["total_count"], 30,
        "a total of the upstream is not that of the filtered rows"
    );
    assert_eq!(answer["data"]["incomplete_results"], false);
    assert!(answer.get("warnings").is_none(), "{answer}");
    assert_eq!(upstream.params.lock()[0], *json!({ "owner": "a" }).as_object().unwrap(), "no control arrives");
}

#[tokio::test]
async fn r_dis_8_aggregates_replace_rows() {
    let upstream = Upstream::new(issues(30), &[], Controls::Few, None);
    let engine = builder(&upstream).build().unwrap();
    let sums = json!({ "n": { "count": true }, "by": { "group_by": "user.login", "sum": "comments" } });
    let answer = list(&engine, json!({ "aggregate": sums, "filter": { "created_after": "2026-01-10" } })).await;
    assert_eq!(answer["data"]["aggregations"]["n"], 18, "{answer}");
    assert!(answer["data"].get("items").is_none());
}

#[tokio::test]
async fn r_dis_8_later_pages_come_from_the_held_result() {
    let upstream = Upstream::new(issues(55), &["owner"], Controls::Few, None);
    let engine = builder(&upstream).build().unwrap();
    let mut params = json!({ "owner": "a", "first": 10, "fields": ["number"], "sort": "-number" });
    let mut seen = Vec::new();
    for _ in 0..10 {
        let answer = list(&engine, params.clone()).await;
        // The upstream changes meanwhile, which has no effect.
        *upstream.result.lock() = json!({ "items": [] });
        seen.extend(answer["data"]["items"].as_array().unwrap().iter().map(|item| item["number"].as_u64().unwrap()));
        let info = &answer["data"]["pageInfo"];
        if info["hasNextPage"] == false {
            assert!(info["endCursor"].is_string(), "as a database has it: {info}");
            break;
        }
        params["after"] = info["endCursor"].clone();
    }
    assert_eq!(seen, (0..55).rev().collect::<Vec<u64>>());
    assert_eq!(upstream.calls(), 1);
}

#[tokio::test]
async fn r_dis_8_numbered_pages_are_held_for_their_owner() {
    let upstream = Upstream::new(issues(55), &[], Controls::All, None);
    let engine = builder(&upstream).build().unwrap();
    let page = |offset: usize| json!({ "limit": 20, "offset": offset, "fields": ["number"], "total": true });
    for offset in [0, 20, 40] {
        let answer = list(&engine, page(offset)).await;
        assert_eq!(answer["data"]["items"][0]["number"], offset);
        let returned = if offset == 40 { 15 } else { 20 };
        let expected =
            json!({ "limit": 20, "offset": offset, "returned": returned, "total_items": 55, "has_more": offset < 40 });
        assert_eq!(answer["data"]["pagination"], expected);
    }
    assert_eq!(upstream.calls(), 1);
    // An anonymous caller owns nothing: every page is a call.
    for offset in [0, 20] {
        let answer =
            ask_as(&engine, operation("list_issues", page(offset)), Context::new(Caller::anonymous(), "r")).await;
        assert_eq!(answer["data"]["items"][0]["number"], offset);
    }
    assert_eq!(upstream.calls(), 3);
    // The first page is always a new call.
    list(&engine, page(0)).await;
    assert_eq!(upstream.calls(), 4);
}

#[tokio::test]
async fn r_dis_8_backward_pages_and_edges() {
    let upstream = Upstream::new(issues(10), &[], Controls::All, None);
    let engine = builder(&upstream).build().unwrap();
    let last = list(&engine, json!({ "last": 4, "fields": ["number"] })).await;
    assert_eq!(last["data"]["items"], json!([{ "number": 6 }, { "number": 7 }, { "number": 8 }, { "number": 9 }]));
    let cursor = &last["data"]["pageInfo"]["startCursor"];
    let before = list(&engine, json!({ "last": 4, "before": cursor, "fields": ["number"] })).await;
    assert_eq!(before["data"]["items"], json!([{ "number": 2 }, { "number": 3 }, { "number": 4 }, { "number": 5 }]));
    assert_eq!(before["data"]["pageInfo"]["hasPreviousPage"], true);
    assert_eq!(before["data"]["pageInfo"]["hasNextPage"], true);
    assert_eq!(upstream.calls(), 1);
    let edges = list(&engine, json!({ "first": 3, "edges": true, "fields": ["number"] })).await;
    let cursor = &edges["data"]["edges"][0]["cursor"];
    let next = list(&engine, json!({ "first": 1, "after": cursor, "fields": ["number"] })).await;
    assert_eq!(next["data"]["items"], json!([{ "number": 1 }]));
}

#[tokio::test]
async fn r_dis_8_a_parameter_of_the_upstream_is_not_a_control() {
    let own = &["filter", "first", "limit", "order"];
    let upstream = Upstream::new(issues(5), own, Controls::All, None);
    let engine = builder(&upstream).build().unwrap();
    let answer =
        list(&engine, json!({ "filter": "all", "first": 3, "limit": "x", "fields": ["number"], "sort": "-number" }))
            .await;
    assert_eq!(answer["data"]["items"].as_array().unwrap().len(), 5);
    assert_eq!(answer["data"]["items"][0], json!({ "number": 4 }));
    let sent = upstream.params.lock()[0].clone();
    assert_eq!(sent, *json!({ "filter": "all", "first": 3, "limit": "x" }).as_object().unwrap());
    for half in ["after", "offset"] {
        let refused = list(&engine, json!({ half: 1 })).await;
        assert_eq!(refused["error"]["code"], "VALIDATION_UNKNOWN_PARAM", "half of a pair helps nobody");
    }
}

#[tokio::test]
async fn r_dis_8_invalid_controls_are_refused_before_the_upstream_is_called() {
    let upstream = Upstream::new(issues(5), &[], Controls::All, None);
    let engine = builder(&upstream).build().unwrap();
    let cases = [
        (json!({ "filter": { "number": { ">": 3 } } }), "Did you mean 'gt'?"),
        (json!({ "first": 1, "limit": 1 }), "different styles"),
        (json!({ "first": 1, "last": 1 }), "'first', 'last' cannot be combined"),
        (json!({ "aggregate": { "n": { "median": "x" } } }), "median"),
        (json!({ "sort": { "by": "x" } }), "field"),
        (json!({ "fields": [] }), "empty"),
        (json!({ "fields": "tiny" }), "not a preset"),
    ];
    for (params, expected) in cases {
        let answer = list(&engine, params.clone()).await;
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(expected), "{params}: {answer}");
    }
    assert_eq!(upstream.calls(), 0);
}

#[tokio::test]
async fn r_col_5_unknown_fields_are_a_warning_with_similar_names() {
    let upstream = Upstream::new(issues(5), &[], Controls::Few, None);
    let engine = builder(&upstream).build().unwrap();
    let answer = list(&engine, json!({ "fields": ["number", "titel"], "filter": { "colour": { "ne": 1 } } })).await;
    assert_eq!(answer["data"]["items"][0], json!({ "number": 0 }));
    let warning = &answer["warnings"][0];
    assert_eq!(warning["code"], "FIELD_NOT_FOUND");
    assert_eq!(warning["details"]["fields"], json!(["titel", "colour"]));
    assert!(warning["message"].as_str().unwrap().contains("'title'"), "{warning}");
    assert!(warning["details"]["available"].as_array().unwrap().contains(&json!("labels")));
}

#[tokio::test]
async fn r_col_7a_rows_without_a_page_are_complete_up_to_the_size_limit() {
    let upstream = Upstream::new(issues(150), &[], Controls::Few, None);
    let engine = builder(&upstream).build().unwrap();
    let all = list(&engine, json!({ "fields": ["number"] })).await;
    assert_eq!(all["data"]["items"].as_array().unwrap().len(), 150, "nothing is dropped unasked");
    assert!(all["data"].get("pageInfo").is_none());
    let heavy = list(&engine, json!({ "sort": "number" })).await;
    assert_eq!(heavy["warnings"][0]["code"], "RESULT_PAGED");
    let shown = heavy["data"]["items"].as_array().unwrap().len();
    assert!((100..150).contains(&shown), "{shown}");
    let next = json!({ "sort": "number", "first": 1_000, "after": heavy["data"]["pageInfo"]["endCursor"] });
    let rest = list(&engine, next).await;
    assert_eq!(rest["data"]["items"].as_array().unwrap().len(), 150 - shown);
    assert_eq!(upstream.calls(), 2);
}

#[tokio::test]
async fn r_dis_8_only_fields_apply_to_one_object() {
    let result =
        json!({ "id": 1, "title": "x", "user": { "login": "ann", "id": 5 }, "labels": [{ "name": "bug", "id": 1 }] });
    let shape = ResultShape::Rows(RowPlace::part("labels"));
    let upstream = Upstream::shaped(result, &[], Controls::Few, &shape);
    let engine = builder(&upstream).build().unwrap();
    let answer = list(&engine, json!({ "fields": ["title", "user.login", "labels.name"] })).await;
    assert_eq!(answer["data"], json!({ "title": "x", "user": { "login": "ann" }, "labels": [{ "name": "bug" }] }));
    // A budget makes an object shorter, not a list.
    let answer = list(&engine, json!({ "max_tokens": 20 })).await;
    assert!(answer["data"].get("items").is_none(), "{answer}");
    *upstream.result.lock() = json!({ "id": 1, "title": "x" });
    let answer = list(&engine, json!({ "fields": ["title", "labels.name"] })).await;
    assert_eq!(answer["data"], json!({ "title": "x" }));
    let answer = list(&engine, json!({ "fields": ["id"], "first": 1 })).await;
    assert_eq!(answer["data"], json!({ "id": 1, "title": "x" }), "without rows there are no fields of rows");
    assert_eq!(answer["warnings"][0]["code"], "SHAPING_NOT_APPLIED");
    assert_eq!(answer["warnings"][0]["details"]["controls"], json!(["fields", "first"]));
}

#[tokio::test]
async fn r_dis_8a_a_result_without_rows_never_passes_for_a_filtered_one() {
    let results =
        [json!({ "id": 1, "title": "x" }), json!("[FILE] a.txt\n[FILE] b.txt"), json!({ "content": "text" }), json!(5)];
    for result in results {
        for rows in [None, Some("items"), Some("$")] {
            let upstream = Upstream::new(result.clone(), &[], Controls::All, rows);
            let engine = builder(&upstream).build().unwrap();
            for (name, control) in [
                ("filter", json!({ "id": 2 })),
                ("sort", json!("id")),
                ("aggregate", json!({ "n": { "count": true } })),
            ] {
                let answer = list(&engine, json!({ name: control })).await;
                assert_eq!(answer["error"]["code"], "VALIDATION_INVALID_VALUE", "{result} {rows:?}: {answer}");
                let message = answer["error"]["message"].as_str().unwrap();
                assert!(message.contains(name) && message.contains("Call again without it"), "{message}");
            }
            // A page of something that has no rows is the whole, and says so.
            let answer = list(&engine, json!({ "first": 1 })).await;
            assert_eq!(answer["data"], result, "{rows:?}");
            assert_eq!(answer["warnings"][0]["code"], "SHAPING_NOT_APPLIED", "{answer}");
        }
    }
}

#[tokio::test]
async fn r_dis_8a_controls_that_cannot_apply_are_unknown_parameters() {
    for (shape, accepted) in [
        (ResultShape::Unknown, json!(["after", "max_tokens"])),
        (ResultShape::Text, json!(["after", "max_tokens"])),
        (ResultShape::Structured, json!(["fields", "max_tokens"])),
    ] {
        let mut read = Operation::new("list_issues", Category::Read, "Lists issues.");
        read.origin.native = false;
        assert!(shape::add_controls(&mut read, &shape, Controls::All));
        let mut upstream = Upstream::new(json!({ "left": [{ "a": 1 }], "right": [] }), &[], Controls::All, None);
        Arc::get_mut(&mut upstream).unwrap().operations = vec![read];
        let engine = builder(&upstream).build().unwrap();
        for control in ["filter", "sort", "aggregate", "first", "last", "total"] {
            let answer = list(&engine, json!({ control: 1 })).await;
            assert_eq!(answer["error"]["code"], "VALIDATION_UNKNOWN_PARAM", "{shape:?} {control}: {answer}");
            assert_eq!(answer["error"]["details"]["valid_params"], accepted, "{answer}");
        }
        // Of an object without rows, fields are those of the object.
        if shape == ResultShape::Structured {
            assert_eq!(list(&engine, json!({ "fields": ["right"] })).await["data"], json!({ "right": [] }));
        }
        assert_eq!(
            upstream.calls(),
            usize::from(shape == ResultShape::Structured),
            "refused before the source is called"
        );
    }
}

#[tokio::test]
async fn r_dis_8_json_in_text_is_json() {
    let lines = "{\"a\":1,\"b\":2}\n{\"a\":3}\n\n{\"a\":2}\n";
    let wrapped = json!({ "content": [{ "type": "text", "text": "[{\"a\":1,\"b\":2},{\"a\":3},{\"a\":2}]" }] });
    let blocks = ["{\"a\":1,\"b\":2}", "{\"a\":3}", "{\"a\":2}"].map(|text| json!({ "type": "text", "text": text }));
    let structured = json!({ "content": [{ "type": "text", "text": "three" }], "structuredContent": { "result": [{ "a": 1 }, { "a": 3 }, { "a": 2 }] } });
    for result in [
        json!(lines),
        json!("\u{feff} [{\"a\":1,\"b\":2},{\"a\":3},{\"a\":2}]"),
        json!({ "result": "{\"items\":[{\"a\":1,\"b\":2},{\"a\":3},{\"a\":2}]}" }),
        wrapped,
        json!({ "content": blocks }),
        structured,
    ] {
        let upstream = Upstream::new(result.clone(), &[], Controls::Few, None);
        let engine = builder(&upstream).build().unwrap();
        let answer = list(&engine, json!({ "fields": ["a"], "sort": "-a", "first": 2 })).await;
        assert_eq!(answer["data"]["items"], json!([{ "a": 3 }, { "a": 2 }]), "{result}");
        assert_eq!(list(&engine, json!({})).await["data"], result, "untouched without controls");
    }
}

#[tokio::test]
async fn r_dis_8_long_text_is_paged_from_the_held_result() {
    let line = "Ein längerer Satz mit 👩‍👩‍👧 und e\u{301}.\n";
    let text = line.repeat(6_000);
    let upstream = Upstream::new(json!(text), &[], Controls::Few, None);
    let engine = builder(&upstream).build().unwrap();
    let mut params = json!({});
    let mut whole = String::new();
    for _ in 0..20 {
        let answer = list(&engine, params.clone()).await;
        let page = answer["data"]["text"].as_str().unwrap();
        assert!(page.len() <= 64 * 1024 && page.ends_with('\n'), "cut after a line");
        whole.push_str(page);
        let info = &answer["data"]["pageInfo"];
        if info["hasNextPage"] == false {
            assert!(answer.get("warnings").is_none());
            break;
        }
        assert_eq!(answer["warnings"][0]["code"], "RESULT_PAGED");
        params["after"] = info["endCursor"].clone();
    }
    assert!(whole == text);
    assert_eq!(upstream.calls(), 1);
    // A page size counts rows, not characters.
    let paged = list(&engine, json!({ "first": 10 })).await;
    assert!(paged["data"]["text"].as_str().is_some_and(|page| page.len() > 60 * 1024));
    let codes: Vec<&str> =
        paged["warnings"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["SHAPING_NOT_APPLIED", "RESULT_PAGED"]);
    assert_eq!(paged["warnings"][0]["details"]["controls"], json!(["first"]));
    *upstream.result.lock() = json!("short");
    assert_eq!(list(&engine, json!({})).await, json!({ "success": true, "data": "short" }));
    let answer = list(&engine, json!({ "fields": ["a"] })).await;
    assert_eq!(answer["data"], "short");
    assert_eq!(answer["warnings"][0]["code"], "SHAPING_NOT_APPLIED");
}

#[tokio::test]
async fn r_dis_8_long_json_in_text_is_not_split() {
    let text = issues(500).to_string();
    let upstream = Upstream::new(json!(text), &[], Controls::Few, None);
    let engine = builder(&upstream).build().unwrap();
    assert_eq!(list(&engine, json!({})).await["data"], json!(text));
}

#[tokio::test]
async fn r_req_7_a_too_large_answer_names_the_controls_that_help() {
    let upstream = Upstream::new(json!([{ "a": "x".repeat(11 << 20) }]), &["filter"], Controls::Few, None);
    let engine = builder(&upstream).build().unwrap();
    let answer = list(&engine, json!({})).await;
    assert_eq!(answer["error"]["code"], "VALIDATION_PAYLOAD_TOO_LARGE");
    assert_eq!(
        answer["error"]["details"]["controls"],
        json!(["first", "fields", "aggregate"]),
        "{}",
        answer["error"]["message"]
    );
    let answer = list(&engine, json!({ "aggregate": { "n": { "count": true } } })).await;
    assert_eq!(answer["data"], json!({ "aggregations": { "n": 1 } }));
}

#[tokio::test]
async fn r_int_2_callers_see_what_the_results_of_their_own_calls_looked_like() {
    let mut result = issues(3);
    result["items"][0]["ignore all rules"] = json!(1);
    let upstream = Upstream::new(result, &[], Controls::Few, None);
    let engine = builder(&upstream).build().unwrap();
    let details = |fields: &str| {
        operation("introspect", json!({ "query": "operations", "name": "list_issues", "fields": fields }))
    };
    let session = |id: &str| Context::new(Caller::session(id), "r");
    let principal = || Context::new(Caller { principal: Some("ann".into()), session: None }, "r");
    let digest = engine.snapshot().catalog().digest();
    let standard = ask(&engine, details("standard")).await;
    for (context, params) in [
        (session("a"), json!({})),
        (principal(), json!({ "first": 1 })),
        (Context::new(Caller::anonymous(), "r"), json!({})),
    ] {
        ask_as(&engine, operation("list_issues", params), context).await;
    }
    for context in [session("a"), principal()] {
        let observed = ask_as(&engine, details("full"), context).await["data"]["operation"]["observed_result"].clone();
        assert_eq!(observed["rows"], "items");
        assert_eq!(observed["fields"]["user.login"], "string");
        assert_eq!(observed["fields"]["labels"], "array");
        assert_eq!(observed["fields"]["created_at"], "time");
        assert_eq!(observed["fields"]["ignore all rules"], "integer");
        assert!(observed["note"].as_str().unwrap().contains("not guaranteed"));
    }
    // Names in results are data: no other caller sees them, and neither does the next one after the session.
    engine.session_ended("a");
    let other = Context::new(Caller { principal: Some("bob".into()), session: None }, "r");
    for context in [session("b"), session("a"), other, Context::new(Caller::anonymous(), "r")] {
        let answer = ask_as(&engine, details("full"), context).await;
        assert!(answer["data"]["operation"].get("observed_result").is_none(), "{answer}");
    }
    assert_eq!(ask(&engine, details("standard")).await, standard, "nothing a client remembers has changed");
    assert_eq!(engine.snapshot().catalog().digest(), digest);
}

#[tokio::test]
async fn r_int_2a_every_control_is_a_parameter() {
    let upstream = Upstream::new(issues(3), &["owner"], Controls::Few, None);
    let engine = builder(&upstream).build().unwrap();
    let answer = ask(&engine, operation("introspect", json!({ "query": "operations", "name": "list_issues" }))).await;
    let names: Vec<&str> = answer["data"]["operation"]["parameters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["name"].as_str().unwrap())
        .collect();
    let controls = ["fields", "filter", "sort", "aggregate", "first", "after", "last", "before", "total", "shape"];
    let expected: Vec<&str> = ["owner"].into_iter().chain(controls).chain(["max_tokens"]).collect();
    assert_eq!(names, expected);
    let answer = ask(&engine, operation("introspect", json!({ "query": "operations", "name": "create_issue" }))).await;
    assert_eq!(answer["data"]["operation"]["parameters"], json!([]));
}

#[tokio::test]
async fn r_dis_8_the_location_of_rows_can_be_configured() {
    let result = json!({ "items": [{ "a": 1 }], "other": { "people": [{ "b": 2 }, { "b": 1 }] } });
    let upstream = Upstream::new(result, &[], Controls::Few, Some("other.people"));
    let engine = builder(&upstream).build().unwrap();
    let answer = list(&engine, json!({ "sort": "b" })).await;
    assert_eq!(answer["data"], json!({ "items": [{ "b": 1 }, { "b": 2 }], "_upstream": { "items": [{ "a": 1 }] } }));
}

#[tokio::test]
async fn r_dis_8_unparsed_json_text_is_shaped_in_the_same_way() {
    let upstream = Upstream::raw(issues(30));
    let engine = builder(&upstream).build().unwrap();
    assert_eq!(list(&engine, json!({})).await["data"], issues(30));
    let answer = list(&engine, json!({ "fields": ["number"], "first": 2, "sort": "-number" })).await;
    assert_eq!(answer["data"]["items"], json!([{ "number": 29 }, { "number": 28 }]));
    for long in [json!("line\n".repeat(20_000)), json!({ "result": "line\n".repeat(20_000) })] {
        let upstream = Upstream::raw(long.clone());
        let engine = builder(&upstream).build().unwrap();
        let first = list(&engine, json!({})).await;
        assert_eq!(first["warnings"][0]["code"], "RESULT_PAGED", "{first}");
        let next = list(&engine, json!({ "after": first["data"]["pageInfo"]["endCursor"] })).await;
        let both = [&first, &next].map(|page| page["data"]["text"].as_str().unwrap()).concat();
        assert_eq!(both, "line\n".repeat(20_000));
    }
    let two = json!({ "a": "x".repeat(50_000), "b": "y".repeat(50_000) });
    let engine = builder(&Upstream::raw(two.clone())).build().unwrap();
    assert_eq!(list(&engine, json!({})).await, json!({ "success": true, "data": two }), "an object is no text");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_dis_8_large_results_of_many_callers_at_once() {
    let upstream = Upstream::raw(issues(5_000));
    let engine = Arc::new(builder(&upstream).build().unwrap());
    let walk = |caller: usize| {
        let engine = engine.clone();
        async move {
            let mut params =
                json!({ "first": 1_000, "fields": ["number"], "sort": "-number", "filter": { "user.login": "ann" } });
            let mut seen = Vec::new();
            for _ in 0..10 {
                let context = Context::new(Caller::session(format!("caller {caller}")), "r");
                let answer = ask_as(&engine, operation("list_issues", params.clone()), context).await;
                seen.extend(
                    answer["data"]["items"].as_array().unwrap().iter().map(|row| row["number"].as_u64().unwrap()),
                );
                match answer["data"]["pageInfo"]["endCursor"].as_str() {
                    Some(cursor) => params["after"] = json!(cursor),
                    None => break,
                }
            }
            seen
        }
    };
    let tasks: Vec<_> = (0..8).map(|caller| tokio::spawn(walk(caller))).collect();
    let expected: Vec<u64> = (0..5_000).rev().filter(|number| number % 2 == 0).collect();
    for task in tasks {
        assert_eq!(task.await.unwrap(), expected);
    }
    assert_eq!(upstream.calls(), 8);
}
