//! An HTTP API whose description is fetched from a URL, and fetched again when the operator requests it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use aquifer_engine::shape::ResultShape;
use aquifer_engine::source::{Call, LiveSource, Outcome, Resolution, SourceStatus};
use aquifer_engine::{Offering, Source};
use aquifer_protocol::error::{Code, Failure};
use aquifer_rest::RestSource;
use arc_swap::ArcSwap;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value};

/// Fetches the description and opens the API again.
type Reopen = Box<dyn Fn() -> BoxFuture<'static, anyhow::Result<RestSource>> + Send + Sync>;

/// The API as the last good description defines it.
pub(super) struct FetchedApi {
    name: String,
    current: ArcSwap<RestSource>,
    /// How often the description was replaced.
    generation: AtomicU64,
    reopen: Reopen,
}

impl FetchedApi {
    pub(super) fn new(
        served: RestSource,
        reopen: impl Fn() -> BoxFuture<'static, anyhow::Result<RestSource>> + Send + Sync + 'static,
    ) -> Self {
        let name = served.name().to_owned();
        Self { name, current: ArcSwap::from_pointee(served), generation: AtomicU64::new(0), reopen: Box::new(reopen) }
    }
}

impl Source for FetchedApi {
    fn name(&self) -> &str {
        &self.name
    }

    fn offering(&self) -> Offering {
        self.current.load().offering()
    }

    fn version(&self) -> Option<Arc<str>> {
        self.current.load().version()
    }

    fn resolve(&self, operation: &str, params: Map<String, Value>) -> Result<Resolution, Failure> {
        self.current.load().resolve(operation, params)
    }

    /// A call finishes with the description it started with.
    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        let current = self.current.load_full();
        async move { current.call(call).await }.boxed()
    }

    fn as_live(&self) -> Option<&dyn LiveSource> {
        Some(self)
    }
}

impl LiveSource for FetchedApi {
    fn record_observation(&self, operation: &str, shape: &ResultShape) -> bool {
        self.current.load().record_observation(operation, shape)
    }

    fn status(&self) -> SourceStatus {
        self.current.load().status()
    }

    /// The number of descriptions, and that of changes since the last one.
    fn generation(&self) -> u64 {
        (self.generation.load(Ordering::Relaxed) << 32) | self.current.load().generation()
    }

    fn reload(&self) -> BoxFuture<'_, Result<(), Failure>> {
        async move {
            match (self.reopen)().await {
                Ok(served) => {
                    self.current.store(Arc::new(served));
                    self.generation.fetch_add(1, Ordering::Relaxed);
                    Ok(())
                }
                Err(error) => {
                    let message = format!("The description of source '{}' was not replaced: {error:#}", self.name);
                    Err(Failure::new(Code::UpstreamUnavailable, message))
                }
            }
        }
        .boxed()
    }
}
