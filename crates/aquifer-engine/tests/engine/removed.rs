//! Operations that a source no longer offers: callers learn that they are gone, unless policy conceals them.

use std::sync::Arc;

use aquifer_engine::gate::{Decision, Gate, Pass, Rules};
use aquifer_engine::source::{Answer, Call, LiveSource, Offering, Outcome};
use aquifer_engine::{Context, Engine, Mount, Source};
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::trust::Trust;
use aquifer_protocol::validate::Checked;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;

use crate::fixture::{ask, board, operation, surface};

/// Has `get_one`, and had other operations earlier.
struct ShrinkingSource;

impl Source for ShrinkingSource {
    fn name(&self) -> &str {
        "shop"
    }

    fn offering(&self) -> Offering {
        Offering { operations: vec![Operation::new("get_one", Category::Read, "Get.")], ..Offering::default() }
    }

    fn call(&self, _call: Call) -> BoxFuture<'_, Outcome> {
        async { Outcome::Done(Answer::new(json!({}))) }.boxed()
    }

    fn as_live(&self) -> Option<&dyn LiveSource> {
        Some(self)
    }
}

impl LiveSource for ShrinkingSource {
    fn removed_operation(&self, operation: &str) -> Option<Operation> {
        let danger = match operation {
            "get_two" => Danger::Safe,
            "drop_two" => Danger::Forbidden,
            _ => return None,
        };
        let mut removed = Operation::new(operation, Category::Read, "its server lost it");
        removed.safety.danger = danger;
        Some(removed)
    }
}

/// Denies forbidden operations, depending on the trust of the source.
struct ConcealingGate;

impl Gate for ConcealingGate {
    fn decide<'a>(&'a self, _request: &'a Checked, _context: &'a Context) -> BoxFuture<'a, Decision> {
        std::future::ready(Decision::Allow(Pass::default())).boxed()
    }

    fn as_rules(&self) -> Option<&dyn Rules> {
        Some(self)
    }
}

impl Rules for ConcealingGate {
    fn denies_always(&self, operation: &Operation) -> bool {
        let is_judged_whole = &*operation.origin.source == "shop" && operation.origin.trust == Trust::CommunityReviewed;
        assert!(operation.origin.own_name.ends_with("_one") || &*operation.origin.source != "shop" || is_judged_whole);
        operation.safety.danger == Danger::Forbidden
    }
}

fn mount(source: Arc<dyn Source>) -> Mount {
    Mount { trust: Some(Trust::CommunityReviewed), ..Mount::new(source) }
}

#[tokio::test]
async fn r_dis_7a_removed_operations_are_reported_unless_policy_conceals_them() {
    let alone = Engine::builder(surface())
        .gate(Arc::new(ConcealingGate))
        .mount(mount(Arc::new(ShrinkingSource)))
        .build()
        .unwrap();
    let beside = Engine::builder(surface()).gate(Arc::new(ConcealingGate));
    let beside = beside.mount(mount(Arc::new(ShrinkingSource))).source(board()).build().unwrap();
    for (engine, name, is_told) in [
        (&alone, "get_two", true),
        (&alone, "drop_two", false),
        (&alone, "shop_get_two", false),
        (&alone, "get_three", false),
        (&beside, "shop_get_two", true),
        (&beside, "shop_drop_two", false),
        (&beside, "get_two", false),
        (&beside, "tasks_get_two", false),
    ] {
        let answer = ask(engine, operation(name, json!({ "anything": 1 }))).await;
        assert_eq!(answer["error"]["code"], "NOT_FOUND_OPERATION", "{answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert_eq!(message.contains("is gone: its server lost it"), is_told, "{name}: {message}");
        assert_eq!(message.contains("Unknown operation"), !is_told, "{name}: {message}");
        assert_eq!(answer["error"]["details"]["source"] == "shop", is_told, "{name}: {answer}");
    }
}
