//! Tools that a client was told not to show stay unseen here, too.

use std::sync::Arc;

use aquifer_discovery::name;
use aquifer_engine::source::{Call, Context, Fetch, Outcome, Shelves};
use aquifer_engine::{Offering, Source};
use aquifer_protocol::error::Failure;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::watch;

/// The source without these tools.
pub(super) fn hide(source: Arc<dyn Source>, tools: Vec<String>) -> Arc<dyn Source> {
    if tools.is_empty() { source } else { Arc::new(Hidden { source, tools }) }
}

struct Hidden {
    source: Arc<dyn Source>,
    tools: Vec<String>,
}

impl Source for Hidden {
    fn name(&self) -> &str {
        self.source.name()
    }

    fn offering(&self) -> Offering {
        let mut offering = self.source.offering();
        let is_hidden =
            |operation: &str| self.tools.iter().any(|tool| tool == operation || name::snake(tool) == operation);
        offering.operations.retain(|operation| !is_hidden(&operation.name));
        offering
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        self.source.call(call)
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        self.source.changes()
    }

    fn generation(&self) -> u64 {
        self.source.generation()
    }

    fn freshen(&self) -> BoxFuture<'_, ()> {
        self.source.freshen()
    }

    fn reload(&self) -> BoxFuture<'_, Result<(), Failure>> {
        self.source.reload()
    }

    fn session_ended(&self, session: &str) {
        self.source.session_ended(session);
    }
    fn shelves(&self) -> Shelves {
        self.source.shelves()
    }

    fn fetch(&self, wanted: Fetch, context: Context) -> BoxFuture<'_, Result<Value, Failure>> {
        self.source.fetch(wanted, context)
    }
}
