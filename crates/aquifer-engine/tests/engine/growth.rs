//! The cost of a catalog is linear: building, searching and introspecting four times the operations takes about four times
//! the work. Work is the CPU time of this thread. Quadratic growth would take sixteen times.

use std::sync::Arc;

use aquifer_engine::source::{Call, Offering, Outcome};
use aquifer_engine::{Engine, Source};
use aquifer_protocol::category::Category;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Parameter, Schema};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::fixture::{ask, operation, surface};

/// The maximum ratio of the work for four times the input.
const MAX_RATIO: f64 = 9.0;

struct LargeSource(Vec<Operation>);

impl Source for LargeSource {
    fn name(&self) -> &str {
        "many"
    }

    fn offering(&self) -> Offering {
        Offering { operations: self.0.clone(), ..Offering::default() }
    }

    fn call(&self, _call: Call) -> BoxFuture<'_, Outcome> {
        std::future::ready(Outcome::from(Ok(Value::Null))).boxed()
    }
}

/// The CPU time of this thread, in milliseconds.
fn work() -> f64 {
    let scheduled = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    scheduled.split(' ').next().unwrap().parse::<u64>().unwrap() as f64 / 1e6
}

async fn measured(operations: &[Operation]) -> f64 {
    let mut least = f64::INFINITY;
    for _ in 0..3 {
        let before = work();
        let engine = Engine::builder(surface()).source(Arc::new(LargeSource(operations.to_vec()))).build().unwrap();
        engine.refresh().unwrap();
        for query in [
            json!({ "query": "operations" }),
            json!({ "query": "operations", "search": "read a thing of many words" }),
            json!({ "query": "operations", "fields": "full", "first": 500 }),
            json!({ "query": "types" }),
            json!({ "query": "summary" }),
            json!({ "query": "policy" }),
        ] {
            assert_eq!(ask(&engine, operation("introspect", query)).await["success"], true);
        }
        assert_eq!(ask(&engine, operation("get_thing", json!({}))).await["error"]["code"], "NOT_FOUND_OPERATION");
        least = least.min(work() - before);
    }
    least
}

#[tokio::test]
async fn r_int_6_the_cost_of_a_catalog_is_linear() {
    let parameters = |count: usize| -> Vec<Parameter> {
        let fields = |number: usize| vec![Parameter::optional(&format!("f{number}"), Schema::string())];
        let of = |number: usize| match number % 5 {
            0 => Schema::object(fields(number)),
            _ => Schema::string().describe("Some words about this parameter."),
        };
        (0..count).map(|number| Parameter::optional(&format!("p{number}"), of(number))).collect()
    };
    let many = |count: usize| -> Vec<Operation> {
        let of = |number: usize| {
            let name = format!("read_thing_{number}");
            let mut operation = Operation::new(&name, Category::Read, "Read a thing of which there are many.");
            operation.origin.native = false;
            operation.parameters = parameters(8);
            operation
        };
        (0..count).map(of).collect()
    };
    // Equal names, as a hostile upstream may have them.
    let alike = |count: usize| -> Vec<Operation> {
        many(count)
            .into_iter()
            .map(|mut operation| {
                operation.name = "read_thing".into();
                operation.origin.own_name = "read_thing".into();
                operation
            })
            .collect()
    };
    let wide = |count: usize| -> Vec<Operation> {
        let mut operation = Operation::new("read_thing", Category::Read, "Read a thing.");
        operation.origin.native = false;
        operation.parameters = parameters(count);
        vec![operation]
    };
    for (case, small, large) in [
        ("operations", many(80), many(320)),
        ("operations of one name", alike(60), alike(240)),
        ("parameters", wide(300), wide(1_200)),
    ] {
        let (base, four) = (measured(&small).await, measured(&large).await);
        assert!(four / base.max(2.0) < MAX_RATIO, "{case}: {base:.1} ms, {four:.1} ms");
    }
}
