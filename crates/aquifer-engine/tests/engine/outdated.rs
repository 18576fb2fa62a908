//! Decisions under a configuration that is no longer in force: a change that waits inside its source is refused, and every
//! operation of a batch is evaluated under the rules in force when it starts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aquifer_engine::gate::{Decision, Gate, Pass};
use aquifer_engine::source::{Call, Offering, Outcome};
use aquifer_engine::{Answer, Context, Engine, Mount, Source};
use aquifer_protocol::category::Category;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::Operation;
use aquifer_protocol::validate::Checked;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::fixture::{ask, operation, surface};

const OPERATIONS: [(&str, Category); 5] = [
    ("get_thing", Category::Read),
    ("create_thing", Category::Create),
    ("update_thing", Category::Update),
    ("delete_thing", Category::Delete),
    ("run_thing", Category::Execute),
];

/// Lets every call wait until it is released, and then carries it out if it is still valid.
#[derive(Default)]
struct WaitingSource {
    has_begun: Notify,
    release: Notify,
    completed: AtomicUsize,
}

impl Source for WaitingSource {
    fn name(&self) -> &str {
        "waiting"
    }

    fn offering(&self) -> Offering {
        // Like the tools of an upstream, which change something without 'input'.
        let operations = OPERATIONS.map(|(name, category)| {
            let mut operation = Operation::new(name, category, "Does it.");
            operation.origin.native = false;
            operation
        });
        Offering { operations: operations.to_vec(), ..Offering::default() }
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        async move {
            self.has_begun.notify_one();
            self.release.notified().await;
            if let Err(failure) = call.validity.check() {
                return Outcome::Failed(failure);
            }
            self.completed.fetch_add(1, Ordering::Relaxed);
            Outcome::Done(Answer::new(json!("done")))
        }
        .boxed()
    }
}

/// Denies every call.
struct DenyingGate;

impl Gate for DenyingGate {
    fn decide<'a>(&'a self, _request: &'a Checked, _context: &'a Context) -> BoxFuture<'a, Decision> {
        std::future::ready(Decision::Refuse(Failure::new(Code::PermissionDenied, "Permission denied"))).boxed()
    }
}

/// Allows every call.
struct AllowingGate;

impl Gate for AllowingGate {
    fn decide<'a>(&'a self, _request: &'a Checked, _context: &'a Context) -> BoxFuture<'a, Decision> {
        std::future::ready(Decision::Allow(Pass::default())).boxed()
    }
}

fn stage() -> (Arc<WaitingSource>, Engine) {
    let source = Arc::new(WaitingSource::default());
    let engine = Engine::builder(surface()).gate(Arc::new(AllowingGate)).source(source.clone()).build().unwrap();
    (source, engine)
}

#[tokio::test]
async fn r_saf_2_a_change_that_waits_inside_its_source_ends_with_its_configuration() {
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum ChangeDuringWait {
        Nothing,
        NewCatalog,
        Denied,
        SameAgain,
        Removed,
        RefusedReload,
    }
    use ChangeDuringWait::*;
    for (name, category) in OPERATIONS {
        for meanwhile in [Nothing, NewCatalog, Denied, SameAgain, Removed, RefusedReload] {
            let (source, engine) = stage();
            let mount = || Mount::new(source.clone());
            let changing = async {
                source.has_begun.notified().await;
                match meanwhile {
                    Nothing => {}
                    NewCatalog => {
                        engine.refresh().unwrap();
                    }
                    Denied => engine.reconfigure(vec![mount()], Arc::new(DenyingGate)).unwrap(),
                    SameAgain => engine.reconfigure(vec![mount()], Arc::new(AllowingGate)).unwrap(),
                    Removed => engine.remount(Vec::new()).unwrap(),
                    // Two sources of the same name are refused.
                    RefusedReload => drop(engine.remount(vec![mount(), mount()]).unwrap_err()),
                }
                source.release.notify_one();
            };
            let (answer, ()) = tokio::join!(ask(&engine, operation(name, json!({}))), changing);
            let is_refused = category != Category::Read && matches!(meanwhile, Denied | SameAgain | Removed);
            let code = if is_refused { json!("CONFLICT_VERSION_MISMATCH") } else { json!(null) };
            assert_eq!(answer["error"]["code"], code, "{name} {meanwhile:?}: {answer}");
            assert_eq!(source.completed.load(Ordering::Relaxed), usize::from(!is_refused), "{name} {meanwhile:?}");
        }
    }
}

#[tokio::test]
async fn r_saf_2_each_operation_of_a_batch_uses_the_rules_in_force_when_it_starts() {
    let codes = |answer: &Value| -> Vec<Value> {
        answer["results"].as_array().unwrap().iter().map(|entry| entry["result"]["error"]["code"].clone()).collect()
    };
    let denied = || json!("PERMISSION_DENIED");
    let (source, engine) = stage();
    let changing = async {
        source.has_begun.notified().await;
        source.release.notify_one();
        source.has_begun.notified().await;
        engine.reconfigure(vec![Mount::new(source.clone())], Arc::new(DenyingGate)).unwrap();
        source.release.notify_one();
    };
    let batch = json!({ "operations": vec![json!({ "operation": "update_thing" }); 5] });
    let (answer, ()) = tokio::join!(ask(&engine, batch), changing);
    // The second one was running, and a change does not finish under rules that are no longer in force.
    let second = json!("CONFLICT_VERSION_MISMATCH");
    assert_eq!(codes(&answer), [json!(null), second, denied(), denied(), denied()], "{answer}");

    // Reads that run finish. The ninth has to wait for one of the others, and starts under the new rules.
    let (source, engine) = stage();
    let changing = async {
        source.has_begun.notified().await;
        engine.reconfigure(vec![Mount::new(source.clone())], Arc::new(DenyingGate)).unwrap();
        source.release.notify_waiters();
    };
    let batch = json!({ "operations": vec![json!({ "operation": "get_thing" }); 10] });
    let (answer, ()) = tokio::join!(ask(&engine, batch), changing);
    let mut expected = vec![json!(null); 8];
    expected.extend([denied(), denied()]);
    assert_eq!(codes(&answer), expected, "{answer}");
}
