//! Sources that are added and removed at run time.

use std::sync::Arc;
use std::time::Duration;

use aquifer_adapter::IntoAdapter as _;
use aquifer_engine::source::{Call, LiveSource, Offering, Outcome};
use aquifer_engine::{Engine, Mount, Source};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;
use tokio::sync::Barrier;

use crate::fixture::{ask, board, operation, surface};
use crate::task_board::Board;

fn named(name: &str) -> Arc<dyn Source> {
    Board::default().into_adapter().named(name).build().unwrap()
}

fn alone(source: Arc<dyn Source>) -> Mount {
    Mount::new(source)
}

#[tokio::test]
async fn r_dis_7_other_sources_are_served_without_a_restart() {
    let first = board();
    let engine = Engine::builder(surface()).dangerously_let_everything_pass().source(first.clone()).build().unwrap();
    ask(&engine, operation("create_task", json!({ "title": "Milk" }))).await;
    let changes = engine.changes();
    engine.remount(vec![alone(first.clone()), alone(named("house"))]).unwrap();
    assert!(changes.has_changed().unwrap(), "clients are told");
    assert_eq!(ask(&engine, operation("tasks_list_tasks", json!({}))).await["data"]["items"][0]["title"], "Milk");
    assert_eq!(ask(&engine, operation("house_list_tasks", json!({}))).await["data"]["items"], json!([]));
    // The same catalog with another source.
    engine.remount(vec![alone(first)]).unwrap();
    engine.remount(vec![alone(board())]).unwrap();
    assert_eq!(ask(&engine, operation("list_tasks", json!({}))).await["data"]["items"], json!([]));
}

#[tokio::test]
async fn r_dis_7_an_invalid_mount_changes_nothing() {
    let engine = Engine::builder(surface()).dangerously_let_everything_pass().source(board()).build().unwrap();
    let twins = engine.remount(vec![alone(named("a")), alone(named("a"))]).unwrap_err();
    assert!(twins.to_string().contains("two sources are named 'a'"), "{twins}");
    assert_eq!(ask(&engine, operation("list_tasks", json!({}))).await["success"], true);
}

#[tokio::test]
async fn the_catalog_follows_the_mounted_sources() {
    let engine =
        Arc::new(Engine::builder(surface()).dangerously_let_everything_pass().source(board()).build().unwrap());
    let keeping = tokio::spawn({
        let engine = engine.clone();
        async move { engine.watch_sources().await }
    });
    for round in 0..20 {
        engine.remount(vec![alone(named(&format!("n{round}"))), alone(named("b"))]).unwrap();
        tokio::task::yield_now().await;
    }
    assert!(!keeping.is_finished());
    assert_eq!(ask(&engine, operation("n19_list_tasks", json!({}))).await["success"], true);
    keeping.abort();
}

/// A source whose check for changes ends only when all others check as well.
struct SynchronizedSource(&'static str, Arc<Barrier>);

impl Source for SynchronizedSource {
    fn name(&self) -> &str {
        self.0
    }

    fn offering(&self) -> Offering {
        Offering::default()
    }

    fn call(&self, _call: Call) -> BoxFuture<'_, Outcome> {
        async { Outcome::from(Ok(json!({}))) }.boxed()
    }

    fn as_live(&self) -> Option<&dyn LiveSource> {
        Some(self)
    }
}

impl LiveSource for SynchronizedSource {
    fn check_for_changes(&self) -> BoxFuture<'_, ()> {
        async move {
            self.1.wait().await;
        }
        .boxed()
    }
}

/// A caller waits for the slowest source, not for the sum of all.
#[tokio::test]
async fn r_dis_7_sources_check_for_changes_concurrently() {
    let barrier = Arc::new(Barrier::new(3));
    let builder = ["a", "b", "c"].iter().fold(Engine::builder(surface()), |builder, name| {
        builder.source(Arc::new(SynchronizedSource(name, barrier.clone())))
    });
    let engine = builder.source(board()).build().unwrap();
    for name in ["introspect", "no_such_operation"] {
        // Sequential checks would wait forever.
        let answer = tokio::time::timeout(Duration::from_secs(60), ask(&engine, operation(name, json!({})))).await;
        assert!(answer.is_ok(), "{name}");
    }
}
