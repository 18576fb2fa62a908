//! An MCP server as a source.

use std::sync::Arc;

use aquifer_discovery::digest::Drift;
use aquifer_engine::clock::SharedClock;
use aquifer_engine::source::{Call, Outcome};
use aquifer_engine::{Offering, Source};
use aquifer_protocol::error::{Code, Failure};
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::settings::Settings;

/// An MCP server that answers calls.
#[derive(Debug)]
pub struct Upstream {
    settings: Settings,
}

impl Upstream {
    /// An upstream. It starts when it is needed; its catalogue comes from the cache until then. Must be called inside a
    /// tokio runtime.
    pub fn new(settings: Settings, _clock: SharedClock) -> Arc<Self> {
        Arc::new(Self { settings })
    }

    /// Waits until it is connected and has said what it offers, or has failed to.
    pub async fn ready(&self) -> Result<(), Failure> {
        Err(Failure::new(Code::UpstreamUnavailable, format!("Source '{}' is unavailable", self.settings.name)))
    }

    /// How the live tools differ from the reviewed adapter, or from the cached catalogue, if they do.
    pub fn drift(&self) -> Option<Drift> {
        None
    }
}

impl Source for Upstream {
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn offering(&self) -> Offering {
        Offering::default()
    }

    fn call(&self, _call: Call) -> BoxFuture<'_, Outcome> {
        async move {
            let message = format!("Source '{}' is unavailable", self.settings.name);
            Outcome::Failed(Failure::new(Code::UpstreamUnavailable, message))
        }
        .boxed()
    }
}
