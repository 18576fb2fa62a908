//! Lists of adapters: the adapter returns everything, the engine applies the query.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aquifer_adapter::{Answer, IntoAdapter as _, Items, Progress, adapter};
use aquifer_engine::{Caller, Context, Engine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::fixture::{ask, ask_as, operation, surface};

#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mood {
    Calm,
    Cross,
}

/// An animal in the zoo.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct Animal {
    id: u32,
    name: String,
    mood: Mood,
    weight: f64,
    #[schemars(extend("format" = "date-time"))]
    born_at: Option<String>,
    tags: Vec<String>,
    home: Option<Home>,
}

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct Home {
    cage: u32,
    doors: Vec<Door>,
}

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct Door {
    color: String,
}

#[derive(Clone, Default)]
struct Zoo {
    calls: Arc<AtomicUsize>,
    size: u32,
}

impl Zoo {
    fn animals(&self) -> Vec<Animal> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let animal = |id: u32| Animal {
            id,
            name: format!("Animal {id}"),
            mood: if id.is_multiple_of(3) { Mood::Cross } else { Mood::Calm },
            weight: f64::from(id % 5) * 1.5,
            born_at: (!id.is_multiple_of(4)).then(|| format!("2026-01-{:02}T00:00:00Z", id % 28 + 1)),
            tags: vec![format!("t{}", id % 2)],
            home: id.is_multiple_of(2).then(|| Home {
                cage: id,
                doors: ["red", "blue"].map(|color| Door { color: color.to_owned() }).into(),
            }),
        };
        // Not in the order of any field.
        (1..=self.size).rev().map(animal).collect()
    }
}

/// A list with something beside it.
#[derive(Serialize, JsonSchema)]
struct Report {
    items: Vec<Animal>,
    checked: bool,
}

#[adapter]
impl Zoo {
    /// List animals.
    #[operation]
    async fn list_animals(&self, mood: Option<Mood>) -> Answer<Items<Animal>> {
        let fits = |animal: &Animal| mood.is_none_or(|mood| json!(mood) == json!(animal.mood));
        Ok(self.animals().into_iter().filter(fits).collect())
    }
    /// Search animals.
    #[operation]
    async fn search_animals(&self, query: String, limit: Option<u32>) -> Answer<Vec<Animal>> {
        let most = limit.unwrap_or(1_000) as usize;
        Ok(self.animals().into_iter().filter(|animal| animal.name.contains(&query)).take(most).collect())
    }
    /// List names.
    #[operation]
    async fn list_names(&self) -> Answer<Vec<String>> {
        Ok(self.animals().into_iter().map(|animal| animal.name).collect())
    }
    /// List what was checked.
    #[operation]
    async fn list_checks(&self) -> Answer<Report> {
        Ok(Report { items: self.animals(), checked: true })
    }
    /// List anything.
    #[operation]
    async fn list_loose(&self) -> Answer<Items<serde_json::Map<String, Value>>> {
        Ok((0..3).map(|n| serde_json::Map::from_iter([("n".to_owned(), n.into())])).collect())
    }
    /// Feed all.
    #[operation(long_running)]
    async fn execute_feeding(&self, reporter: Progress) -> Answer<u32> {
        reporter.report(1, 1, "fed");
        Ok(self.size)
    }
}

fn zoo(size: u32) -> (Engine, Arc<AtomicUsize>) {
    let zoo = Zoo { size, ..Zoo::default() };
    let calls = zoo.calls.clone();
    let source = zoo.into_adapter().build().unwrap();
    (Engine::builder(surface()).dangerously_let_everything_pass().source(source).build().unwrap(), calls)
}

fn ids(answer: &Value) -> Vec<u64> {
    let items = answer["data"]["items"].as_array().unwrap_or_else(|| panic!("{answer}"));
    items.iter().map(|item| item["id"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn r_col_1_adapter_lists_support_the_whole_query_language() {
    let (engine, _) = zoo(12);
    let list = async |params: Value| ask(&engine, operation("list_animals", params)).await;
    for (params, expected) in [
        (json!({}), vec![12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]),
        (json!({ "mood": "cross" }), vec![12, 9, 6, 3]),
        (json!({ "filter": { "mood": "cross" } }), vec![12, 9, 6, 3]),
        (json!({ "filter": { "id": { "between": [4, 6] } }, "sort": "id" }), vec![4, 5, 6]),
        (json!({ "filter": { "born_at": null } }), vec![12, 8, 4]),
        (json!({ "filter": { "born_after": "2026-01-11" } }), vec![11]),
        (json!({ "filter": { "tags": { "contains": "t1" }, "id": { "gt": 6 } } }), vec![11, 9, 7]),
        (json!({ "filter": { "home.cage": { "gte": 10 } } }), vec![12, 10]),
        (json!({ "filter": { "or": [{ "id": 1 }, { "name": { "ends_with": " 2" } }] } }), vec![2, 1]),
        // Ties keep the order of the adapter.
        (json!({ "sort": { "field": "weight", "order": "desc" }, "first": 4 }), vec![9, 4, 8, 3]),
        (json!({ "sort": [{ "field": "mood" }, { "field": "id" }], "last": 2 }), vec![9, 12]),
        (json!({ "limit": 2, "offset": 3 }), vec![9, 8]),
        (json!({ "page": 2, "page_size": 5 }), vec![7, 6, 5, 4, 3]),
    ] {
        assert_eq!(ids(&list(params.clone()).await), expected, "{params}");
    }
    let shown = list(json!({ "filter": { "id": 2 }, "fields": ["name", "home.doors.1.color"] })).await;
    assert_eq!(shown["data"]["items"], json!([{ "name": "Animal 2", "home": { "doors": [{ "color": "blue" }] } }]));
    let info = &shown["data"]["pageInfo"];
    assert_eq!((&info["hasNextPage"], &info["hasPreviousPage"]), (&json!(false), &json!(false)));
    assert!(info["startCursor"].is_string() && info["endCursor"].is_string(), "{info}");
    let minimal = list(json!({ "filter": { "id": 2 }, "fields": "minimal" })).await;
    assert_eq!(minimal["data"]["items"], json!([{ "id": 2, "name": "Animal 2" }]));
    let sums = list(json!({ "aggregate": { "n": { "group_by": "mood", "count": true, "max": "id" } } })).await;
    let expected = json!({ "calm": { "count": 8, "max": 11 }, "cross": { "count": 4, "max": 12 } });
    assert_eq!(sums["data"], json!({ "aggregations": { "n": expected } }));
    let counted = list(json!({ "first": 1, "total": true, "filter": { "mood": "calm" } })).await;
    assert_eq!(counted["data"]["pageInfo"]["totalCount"], 8);
}

#[tokio::test]
async fn r_col_7_the_engine_pages_adapter_lists_and_pages_are_stable() {
    let (engine, calls) = zoo(250);
    let list = async |params: Value| ask(&engine, operation("list_animals", params)).await;
    let first = list(json!({})).await;
    assert_eq!(ids(&first).len(), 20, "a page has 20 items unless said otherwise");
    let mut seen = Vec::new();
    let mut params = json!({ "first": 90, "sort": "-weight" });
    for _ in 0..5 {
        let page = list(params.clone()).await;
        seen.extend(ids(&page));
        let info = &page["data"]["pageInfo"];
        assert!(info["startCursor"].is_string() && info["endCursor"].is_string(), "{info}");
        assert_eq!(info["hasPreviousPage"], seen.len() > 90, "{info}");
        if info["hasNextPage"] == false {
            break;
        }
        params["after"] = info["endCursor"].clone();
    }
    assert_eq!(seen.len(), 250);
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 250, "every item once");
    assert_eq!(calls.load(Ordering::SeqCst), 2, "later pages do not ask the adapter again");
    let large = list(json!({ "first": 101 })).await;
    assert_eq!(large["warnings"][0]["code"], "VALIDATION_PAGE_SIZE_CLAMPED");
    // A cursor belongs to its call.
    let cursor = &first["data"]["pageInfo"]["endCursor"];
    let foreign = list(json!({ "first": 5, "after": cursor, "filter": { "id": 1 } })).await;
    assert_eq!(foreign["error"]["code"], "VALIDATION_INVALID_VALUE");
    let stranger = Context::new(Caller::session("stranger"), "r");
    let stolen = ask_as(&engine, operation("list_animals", json!({ "first": 5, "after": cursor })), stranger).await;
    assert_eq!(stolen["error"]["code"], "VALIDATION_INVALID_VALUE");
}

#[tokio::test]
async fn r_col_3_unknown_fields_are_refused_before_the_adapter_is_called() {
    let (engine, calls) = zoo(3);
    for (params, words) in [
        (json!({ "filter": { "nmae": "x" } }), "Did you mean 'name'?"),
        (json!({ "filter": { "mood": "sad" } }), "must be one of: calm, cross"),
        (json!({ "filter": { "weight": "heavy" } }), "a number"),
        (json!({ "sort": "home" }), "cannot sort by 'home'"),
        (json!({ "sort": "tags" }), "cannot sort by 'tags'"),
        (json!({ "fields": ["colour"] }), "Unknown field 'colour'"),
        (json!({ "aggregate": { "n": { "count": true } }, "last": 2 }), "has no effect with 'aggregate'"),
        (json!({ "first": 1, "page": 1 }), "different styles"),
        (json!({ "after": "x" }), "requires 'first'"),
    ] {
        let refused = ask(&engine, operation("list_animals", params.clone())).await;
        let message = refused["error"]["message"].as_str().unwrap_or_else(|| panic!("accepted: {params}"));
        assert!(message.contains(words), "{params}: {message}");
    }
    assert_eq!(calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn r_int_5_introspection_shows_which_lists_can_be_queried() {
    let (engine, _) = zoo(3);
    let details = async |name: &str| {
        let answer = ask(&engine, operation("introspect", json!({ "query": "operations", "name": name }))).await;
        answer["data"]["operation"].clone()
    };
    let parameters = |details: &Value| -> Vec<String> {
        details["parameters"]
            .as_array()
            .unwrap()
            .iter()
            .map(|parameter| parameter["name"].as_str().unwrap().to_owned())
            .collect()
    };
    for (name, own, lacks) in [
        ("list_animals", &["mood"][..], &[][..]),
        ("search_animals", &["query", "limit"], &["offset"]),
        ("list_executions", &[], &[]),
        ("list_loose", &[], &[]),
    ] {
        let details = details(name).await;
        let names = parameters(&details);
        for expected in ["filter", "sort", "fields", "aggregate", "first", "after", "last", "page_size", "total"] {
            assert!(names.iter().any(|name| name == expected), "{name} lacks {expected}");
        }
        assert!(own.iter().all(|own| names.iter().filter(|name| name == own).count() == 1), "{name}: {names:?}");
        assert!(!names.iter().any(|name| lacks.contains(&name.as_str())), "{name}: {names:?}");
        assert_eq!(details["returns"]["name"], "ResultPage", "{name}");
        assert_eq!(details["aggregation_support"]["supported"], true, "{name}");
    }
    let animals = details("list_animals").await;
    assert_eq!(animals["returns"]["description"], "{items: Animal[], pageInfo}, or {aggregations}");
    assert_eq!(animals["aggregation_support"]["numeric_fields"], json!(["id", "weight"]));
    // Other results than lists of objects have a budget, and are otherwise unchanged.
    for name in ["list_names", "list_checks"] {
        assert_eq!(parameters(&details(name).await), ["max_tokens"], "{name}");
    }
    assert_eq!(ask(&engine, operation("list_names", json!({}))).await["data"][0], "Animal 3");
    assert_eq!(ask(&engine, operation("list_checks", json!({}))).await["data"]["checked"], true);
    // The adapter's own 'limit' is passed to it and does not page.
    let answer =
        ask(&engine, operation("search_animals", json!({ "query": "Animal", "limit": 2, "sort": "id" }))).await;
    assert_eq!(ids(&answer), [2, 3]);
    let loose =
        ask(&engine, operation("list_loose", json!({ "filter": { "n": { "gt": 0 } }, "fields": ["n", "m"] }))).await;
    assert_eq!(loose["data"]["items"], json!([{ "n": 1 }, { "n": 2 }]));
    assert_eq!(loose["warnings"][0]["code"], "FIELD_NOT_FOUND", "the fields of such items are unknown");
}

#[tokio::test]
async fn r_int_3_every_return_type_is_a_type() {
    let (engine, _) = zoo(1);
    let types = ask(&engine, operation("introspect", json!({ "query": "types" }))).await;
    let known: Vec<&str> =
        types["data"]["types"].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    let listed = ask(&engine, operation("introspect", json!({ "query": "operations" }))).await;
    for listed_operation in listed["data"]["operations"].as_array().unwrap() {
        let params = json!({ "query": "operations", "name": listed_operation["name"] });
        let details = ask(&engine, operation("introspect", params)).await["data"]["operation"].clone();
        let name = details["returns"]["name"].as_str().unwrap();
        let is_scalar = ["string", "integer", "number", "boolean", "null"].contains(&name);
        assert!(known.contains(&name) || is_scalar, "{}: {name} is not a type", listed_operation["name"]);
    }
}

#[tokio::test]
async fn r_col_1_executions_are_a_collection() {
    let (engine, _) = zoo(1);
    for _ in 0..3 {
        ask(&engine, operation("execute_feeding", json!({ "wait": true }))).await;
    }
    let list = async |params: Value| ask(&engine, operation("list_executions", params)).await;
    let all = list(json!({})).await;
    let started: Vec<&str> =
        all["data"]["items"].as_array().unwrap().iter().map(|item| item["started_at"].as_str().unwrap()).collect();
    assert!(started.is_sorted_by(|a, b| a >= b), "newest first: {started:?}");
    let page = list(json!({ "first": 2, "fields": ["status", "result"], "filter": { "status": "completed" } })).await;
    assert_eq!(
        page["data"]["items"],
        json!([{ "status": "completed", "result": 1 }, { "status": "completed", "result": 1 }])
    );
    let cursor = &page["data"]["pageInfo"]["endCursor"];
    let rest = list(json!({ "first": 2, "after": cursor, "filter": { "status": "completed" } })).await;
    assert_eq!(rest["data"]["items"].as_array().unwrap().len(), 1, "{rest}");
    assert_eq!(list(json!({ "filter": { "status": "running" } })).await["data"]["items"], json!([]));
    assert_eq!(list(json!({ "filter": { "state": "x" } })).await["error"]["code"], "VALIDATION_UNKNOWN_FIELD");
}
