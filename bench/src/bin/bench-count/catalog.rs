//! A source with any number of operations that differ in name, category and parameters, and requests for them.

use std::sync::Arc;

use aquifer_engine::{Answer, Call, Offering, Outcome, Source};
use aquifer_protocol::category::Category;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Kind, Parameter, Schema};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

pub(crate) struct GeneratedSource {
    operations: usize,
}

impl GeneratedSource {
    pub(crate) fn new(operations: usize) -> Arc<Self> {
        Arc::new(Self { operations })
    }
}

impl Source for GeneratedSource {
    fn name(&self) -> &str {
        "generated"
    }

    fn offering(&self) -> Offering {
        Offering { operations: operations(self.operations), ..Offering::default() }
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        std::future::ready(Outcome::Done(Answer::new(Value::Object(call.params)))).boxed()
    }
}

pub(crate) fn operations(count: usize) -> Vec<Operation> {
    (0..count).map(operation).collect()
}

/// Cycles through the categories, so that every family has its share of the catalog.
fn category(index: usize) -> (Category, &'static str) {
    match index % 5 {
        0 => (Category::Create, "create"),
        1 => (Category::Read, "get"),
        2 => (Category::Update, "update"),
        3 => (Category::Delete, "delete"),
        _ => (Category::Execute, "execute"),
    }
}

fn name(index: usize) -> String {
    format!("{}_record_{index:05}", category(index).1)
}

fn operation(index: usize) -> Operation {
    let words = format!("Do what has to be done with records of kind {index}, and answer with what came of it.");
    let mut operation = Operation::new(&name(index), category(index).0, &words);
    operation.parameters = vec![
        Parameter::required("id", Schema::integer(1.0, 1_000_000.0).describe("Which record.")),
        Parameter::required("input", Schema::object(fields()).describe("What to change.")),
        Parameter::optional("state", Schema::one_of(["open", "closed", "all"]).describe("Only in this state.")),
        Parameter::optional("labels", Schema::new(Kind::Array(Some(Box::new(Schema::string()))))),
        Parameter::optional("exact", Schema { default: Some(Value::Bool(false)), ..Schema::new(Kind::Boolean) }),
    ];
    operation
}

fn fields() -> Vec<Parameter> {
    let number = Schema::new(Kind::Number);
    vec![
        Parameter::required("title", Schema::string().describe("What it is called.")),
        Parameter::optional("weight", Schema { nullable: true, ..number }),
        Parameter::optional("owner", Schema::new(Kind::Union(vec![Schema::integer(0.0, 9e6), Schema::string()]))),
    ]
}

/// Requests for ten operations spread over the whole catalog, as tool call arguments.
pub(crate) fn requests(operations: usize) -> Vec<Map<String, Value>> {
    let step = (operations / 10).max(1);
    (0..10).map(|index| request(&name(index * step % operations.max(1)))).collect()
}

fn request(operation: &str) -> Map<String, Value> {
    let request = json!({
        "operation": operation,
        "params": {
            "id": 42,
            "input": { "title": "A record among many", "weight": 2.5, "owner": "somebody" },
            "state": "open",
            "labels": ["first", "second", "third"]
        }
    });
    match request {
        Value::Object(request) => request,
        _ => Map::new(),
    }
}
