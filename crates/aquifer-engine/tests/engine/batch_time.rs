//! The time that a batch may take.

use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::source::{Call, Offering, Outcome};
use aquifer_engine::{Settings, Source};
use aquifer_protocol::category::Category;
use aquifer_protocol::operation::Operation;
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::fixture::{ask, batch, builder};

/// Has a read without an end and a change, and remembers what was called.
#[derive(Default)]
struct SlowSource(Mutex<Vec<String>>);

impl Source for SlowSource {
    fn name(&self) -> &str {
        "slow"
    }

    fn offering(&self) -> Offering {
        let operations =
            [("list_endless", Category::Read), ("get_it", Category::Read), ("create_it", Category::Create)];
        let operations = operations.map(|(name, category)| Operation::new(name, category, "Does it.")).to_vec();
        Offering { operations, ..Offering::default() }
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        self.0.lock().push(call.name.to_string());
        async move {
            match &*call.name {
                "list_endless" => std::future::pending().await,
                _ => Outcome::from(Ok(json!({}))),
            }
        }
        .boxed()
    }
}

#[tokio::test]
async fn r_ext_4_a_batch_ends_when_its_time_is_used_up() {
    let source = Arc::new(SlowSource::default());
    let settings = Settings { batch_timeout: Duration::from_millis(50), ..Settings::default() };
    let engine = builder().source_prefixed(source.clone(), "").settings(settings).build().unwrap();
    let mut operations = vec![json!({ "operation": "get_it" })];
    operations.extend(vec![json!({ "operation": "list_endless" }); 20]);
    operations.push(json!({ "operation": "create_it" }));
    operations.push(json!({ "operation": "get_it" }));
    let answer = ask(&engine, batch(Value::Array(operations))).await;
    assert_eq!(answer["summary"], json!({ "total": 23, "succeeded": 1, "failed": 22 }));
    let errors: Vec<&Value> =
        answer["results"].as_array().unwrap()[1..].iter().map(|one| &one["result"]["error"]).collect();
    assert!(errors.iter().all(|error| error["code"] == "UPSTREAM_TIMEOUT"), "{answer}");
    let cancelled = errors.iter().filter(|error| error["message"].as_str().unwrap().contains("was cancelled")).count();
    let called = source.0.lock().clone();
    assert_eq!(called.len(), cancelled + 1, "whatever else failed was not run: {called:?}");
    assert!(called.iter().all(|name| name != "create_it"));
    assert!(errors[21]["message"].as_str().unwrap().contains("this operation was not run"), "{answer}");
}
