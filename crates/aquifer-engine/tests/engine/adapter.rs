//! Adapters written in Rust: definitions come from the types.

use aquifer_adapter::{
    Adapter, AdapterError, Answer, Binary, Category, Context, Danger, DryRun, Failure, IntoAdapter as _, Items, Patch,
    Progress, adapter,
};
use aquifer_engine::Engine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::fixture::{ask, operation, surface};

/// How loud.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Level {
    /// Hardly audible.
    Quiet,
    Loud,
}

/// A place.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct Place {
    /// North or south.
    #[schemars(range(min = -90.0, max = 90.0))]
    latitude: f64,
    name: Option<String>,
}

/// A thing.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct Thing {
    #[schemars(extend("readOnly" = true))]
    made_at: String,
    title: String,
    place: Option<Place>,
    #[serde(default)]
    level: Option<Level>,
}

/// A shape of one kind or another.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Shape {
    /// Round.
    Circle { radius: f64 },
    /// Not round.
    Square { side: f64 },
}

struct Kinds;

#[adapter]
impl Kinds {
    /// Create a thing
    /// over two lines.
    ///
    /// A second paragraph is for readers of the code.
    #[operation(example("A loud thing", { "title": "Drum", "level": "loud" }))]
    async fn create_thing(
        &self,
        #[schemars(length(min = 3, max = 30), regex(pattern = "^[A-Z]"))] title: String,
        level: Option<Level>,
        place: Option<Place>,
        tags: Option<Vec<String>>,
        #[schemars(range(min = 1, max = 10))] count: Option<u8>,
        #[serde(default = "yes")] loud: bool,
        dry_run: DryRun,
    ) -> Answer<Value> {
        Ok(
            json!({ "title": title, "level": level, "place": place, "tags": tags, "count": count, "loud": loud, "dry": dry_run.is_on() }),
        )
    }
    /// List things.
    #[operation]
    async fn list_things(&self, only: Option<Level>) -> Answer<Items<Thing>> {
        let _ = only;
        Ok(Items { items: Vec::new() })
    }
    /// Update a thing.
    #[operation]
    async fn update_thing(&self, title: String, input: Patch<Thing>) -> Answer<Thing> {
        let place = Place { latitude: 1.0, name: Some("here".to_owned()) };
        input.apply(&Thing { made_at: "then".to_owned(), title, place: Some(place), level: None })
    }
    /// Ring a bell.
    #[operation(category = Execute)]
    async fn ring_bell(&self, context: Context<Self>, progress: Progress, times: u32) -> Answer<u32> {
        assert_eq!(context.caller().owner(), Some("tests"));
        progress.report(1, 1, "rung");
        Ok(times)
    }
    /// Execute an experiment.
    #[operation(long_running, example("A lucky one", { "fail": false }))]
    async fn execute_experiment(&self, fail: bool, reporter: Progress) -> Answer<String> {
        reporter.report(1, 2, "half way");
        assert!(!reporter.cancelled().is_cancelled());
        if fail { Err(Failure::not_found("luck", "any")) } else { Ok("done".to_owned()) }
    }
    /// Get a picture.
    #[operation]
    async fn get_picture(&self) -> Answer<Binary> {
        Ok(Binary { bytes: vec![0, 255, 16], media_type: "image/png".to_owned() })
    }
    /// Create a shape. Names that the macro itself might use are free.
    #[operation]
    async fn create_shape(&self, shape: Shape, cx: Option<u32>, reporter: Option<i8>) -> Answer<Value> {
        Ok(json!({ "shape": shape, "cx": cx, "reporter": reporter }))
    }
    /// A helper with a doc comment is not exposed.
    #[allow(dead_code, reason = "it is here not to be exposed")]
    async fn get_helper(&self) -> Answer<u8> {
        Ok(self.helper())
    }
    fn helper(&self) -> u8 {
        1
    }
}

fn yes() -> bool {
    Kinds.helper() == 1
}

pub(crate) fn kinds() -> Engine {
    Engine::builder(surface())
        .dangerously_let_everything_pass()
        .source(Kinds.into_adapter().build().unwrap())
        .build()
        .unwrap()
}

async fn details(name: &str) -> Value {
    ask(&kinds(), operation("introspect", json!({ "query": "operations", "name": name }))).await["data"]["operation"]
        .clone()
}

#[tokio::test]
async fn r_int_5_names_docs_constraints_and_defaults_come_from_the_types() {
    let create = details("create_thing").await;
    assert_eq!(create["semantic_category"], "CREATE");
    assert_eq!(create["description"], "Create a thing over two lines.");
    assert_eq!(
        create["examples"][0],
        json!({ "description": "A loud thing", "request": { "operation": "create_thing", "params": { "title": "Drum", "level": "loud" } } })
    );
    assert_eq!(
        create["parameters"],
        json!([
            { "name": "title", "type": "string", "required": true, "minLength": 3, "maxLength": 30, "pattern": "^[A-Z]" },
            { "name": "level", "type": "string", "required": false, "enum": ["loud", "quiet"] },
            { "name": "place", "type": "Place", "required": false },
            { "name": "tags", "type": "array", "required": false, "items": { "type": "string" } },
            { "name": "count", "type": "integer", "required": false, "minimum": 1, "maximum": 10 },
            { "name": "loud", "type": "boolean", "required": false, "default": true },
            { "name": "dry_run", "type": "boolean", "required": false, "description": "Only report the change, do not make it.", "default": false },
        ])
    );
    assert_eq!(details("ring_bell").await["semantic_category"], "EXECUTE");
    // Descriptions of a long-running operation do not apply to the operations added with it.
    assert_eq!(details("execute_experiment").await["examples"][0]["description"], "A lucky one");
    assert_ne!(details("cancel_execution").await["examples"][0]["description"], "A lucky one");
    let returns = details("list_things").await["returns"].clone();
    assert_eq!(returns["name"], "ResultPage");
    assert_eq!(returns["description"], "{items: Thing[], pageInfo}, or {aggregations}");
    assert_eq!(details("execute_experiment").await["lifecycle"]["supports_cancel"], true);
    let list = ask(&kinds(), operation("introspect", json!({ "query": "operations" }))).await.to_string();
    assert!(!list.contains("helper"), "only methods with #[operation] are operations");
}

#[tokio::test]
async fn r_req_4_nested_types_are_checked_and_closed() {
    let engine = kinds();
    let create = async |extra: Value| {
        let mut params = json!({ "title": "Drum" });
        params.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        ask(&engine, operation("create_thing", params)).await
    };
    let created = create(json!({ "place": { "latitude": 5 }, "count": 3 })).await;
    assert_eq!(created["data"]["place"], json!({ "latitude": 5.0, "name": null }), "{created}");
    for (extra, code) in [
        (json!({ "place": {} }), "VALIDATION_MISSING_PARAM"),
        (json!({ "place": { "latitude": 91 } }), "VALIDATION_INVALID_VALUE"),
        (json!({ "place": { "latitude": 1, "longitude": 2 } }), "VALIDATION_UNKNOWN_FIELD"),
        (json!({ "count": 300 }), "VALIDATION_INVALID_VALUE"),
        (json!({ "level": null }), "VALIDATION_INVALID_TYPE"),
    ] {
        let refused = create(extra).await;
        assert_eq!(refused["error"]["code"], code, "{refused}");
    }
}

#[tokio::test]
async fn r_req_6_a_patch_knows_what_can_be_changed_and_removed() {
    let engine = kinds();
    let of = ask(&engine, operation("introspect", json!({ "query": "types", "name": "UpdateThingInput" }))).await;
    let names: Vec<&str> =
        of["data"]["type"]["fields"].as_array().unwrap().iter().map(|field| field["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["place", "level"], "neither the identifier nor what is read-only");
    let update =
        async |input: Value| ask(&engine, operation("update_thing", json!({ "title": "x", "input": input }))).await;
    let merged = update(json!({ "place": { "latitude": 2 }, "level": "loud" })).await;
    assert_eq!(
        merged["data"],
        json!({ "made_at": "then", "title": "x", "place": { "latitude": 2.0, "name": "here" }, "level": "loud" }),
        "{merged}"
    );
    assert_eq!(update(json!({ "place": null })).await["data"]["place"], Value::Null);
    assert_eq!(update(json!({ "place": { "name": null } })).await["data"]["place"]["name"], Value::Null);
    assert_eq!(update(json!({ "place": { "latitude": null } })).await["error"]["code"], "VALIDATION_INVALID_TYPE");
    assert_eq!(update(json!({ "made_at": "now" })).await["error"]["code"], "VALIDATION_UNKNOWN_FIELD");
}

#[tokio::test]
async fn adapters_can_be_written_by_hand_too() {
    /// Get the sum of two numbers.
    #[derive(Deserialize, JsonSchema)]
    struct GetSum {
        a: i64,
        b: i64,
    }
    async fn get_sum(base: Context<i64>, params: GetSum) -> Answer<i64> {
        Ok(*base + params.a + params.b)
    }
    let source = Adapter::new("sums", 100)
        .operation(Category::Read, get_sum)
        .example("Two and two", json!({ "a": 2, "b": 2 }))
        .danger(Danger::Safe)
        .build()
        .unwrap();
    let engine = Engine::builder(surface()).dangerously_let_everything_pass().source(source).build().unwrap();
    assert_eq!(ask(&engine, operation("get_sum", json!({ "a": 1, "b": 2 }))).await["data"], 103);
}

#[test]
fn an_adapter_that_cannot_be_explained_is_refused() {
    #[derive(Deserialize, JsonSchema)]
    struct GetNothing {}
    async fn get_nothing(_: Context<()>, _: GetNothing) -> Answer<()> {
        Ok(())
    }
    let refused = Adapter::new("x", ()).operation(Category::Read, get_nothing).build().err().unwrap();
    assert_eq!(refused.problems(), [AdapterError::NoDescription("GetNothing".to_owned())]);
    let refused = Adapter::new("x", ()).example("too early", json!({})).build().err().unwrap();
    assert_eq!(refused.problems(), [AdapterError::NothingToDescribe("example")]);
}

#[tokio::test]
async fn r_res_5_bytes_are_base64_with_their_type_beside_them() {
    let answer = ask(&kinds(), operation("get_picture", json!({}))).await;
    assert_eq!(answer["data"], json!({ "content": "AP8Q", "encoding": "base64", "media_type": "image/png" }));
}

#[tokio::test]
async fn r_req_5_alternatives_are_closed_and_widths_are_known() {
    let engine = kinds();
    let create = async |params: Value| ask(&engine, operation("create_shape", params)).await;
    let created =
        create(json!({ "shape": { "kind": "circle", "radius": 1 }, "cx": 4_294_967_295_u32, "reporter": -128 })).await;
    assert_eq!(created["data"]["shape"], json!({ "kind": "circle", "radius": 1.0 }), "{created}");
    for (params, code) in [
        (json!({ "shape": { "kind": "circle", "radius": 1, "bogus": 1 } }), "VALIDATION_UNKNOWN_FIELD"),
        (json!({ "shape": { "kind": "circle", "radius": 1 }, "cx": 5_000_000_000_u64 }), "VALIDATION_INVALID_VALUE"),
        (json!({ "shape": { "kind": "circle", "radius": 1 }, "reporter": 128 }), "VALIDATION_INVALID_VALUE"),
    ] {
        let refused = create(params).await;
        assert_eq!(refused["error"]["code"], code, "{refused}");
        assert!(refused["error"]["details"]["param_name"].is_string(), "{refused}");
    }
}

#[test]
fn two_types_of_one_name_are_refused() {
    mod one {
        #[derive(serde::Deserialize, schemars::JsonSchema)]
        pub(super) struct Spec {
            #[allow(dead_code)]
            a: String,
        }
    }
    mod two {
        #[derive(serde::Deserialize, schemars::JsonSchema)]
        pub(super) struct Spec {
            #[allow(dead_code)]
            b: String,
        }
    }
    /// Get one.
    #[derive(Deserialize, JsonSchema)]
    struct GetOne {
        #[allow(dead_code)]
        spec: one::Spec,
    }
    /// Get two.
    #[derive(Deserialize, JsonSchema)]
    struct GetTwo {
        #[allow(dead_code)]
        spec: two::Spec,
    }
    async fn get_one(_: Context<()>, _: GetOne) -> Answer<()> {
        Ok(())
    }
    async fn get_two(_: Context<()>, _: GetTwo) -> Answer<()> {
        Ok(())
    }
    let refused = Adapter::new("x", ())
        .operation(Category::Read, get_one)
        .operation(Category::Read, get_two)
        .build()
        .err()
        .unwrap();
    assert_eq!(refused.problems(), [AdapterError::DuplicateType("Spec".to_owned())]);
}
