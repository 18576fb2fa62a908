//! A store that answers late, or never.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use aquifer_engine::store::{Record, SpendResult, StateStore, StoreError};
use futures::FutureExt;
use futures::future::BoxFuture;

use super::callers::Fault;

/// The stages of slowness: the work is done but the answer comes too late; the work is never done.
pub(super) const STAGES: usize = 2;
/// Longer than the gate waits.
const TOO_LONG: Duration = Duration::from_secs(6);
const NEVER: Duration = Duration::from_secs(3600);

/// The slowness of all stores that share it.
#[derive(Clone, Default)]
pub(super) struct Slowness(Arc<AtomicUsize>);

impl Fault for Slowness {
    fn set(&mut self, stage: usize) {
        self.0.store(stage, Ordering::SeqCst);
    }
}

pub(super) struct Slow {
    inner: Arc<dyn StateStore>,
    slowness: Slowness,
    asked: AtomicUsize,
}

impl Slow {
    pub(super) fn new(inner: Arc<dyn StateStore>, slowness: &Slowness) -> Arc<Self> {
        Arc::new(Self { inner, slowness: slowness.clone(), asked: AtomicUsize::new(0) })
    }

    fn late<'a, T: Send + 'a>(
        &'a self,
        asked: BoxFuture<'a, Result<T, StoreError>>,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        async move {
            match self.slowness.0.load(Ordering::SeqCst) {
                0 => {
                    // Even without a fault it is not always fast.
                    let turn = self.asked.fetch_add(1, Ordering::SeqCst);
                    tokio::time::sleep(Duration::from_millis([0, 0, 1, 3][turn % 4])).await;
                    asked.await
                }
                1 => {
                    let answer = asked.await;
                    tokio::time::sleep(TOO_LONG).await;
                    answer
                }
                _ => {
                    tokio::time::sleep(NEVER).await;
                    asked.await
                }
            }
        }
        .boxed()
    }
}

impl StateStore for Slow {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        self.late(async move { self.inner.get(key).await }.boxed())
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a str,
        expected: Option<u64>,
        value: Vec<u8>,
        keep: Duration,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.late(async move { self.inner.compare_and_set(key, expected, value, keep).await }.boxed())
    }

    fn list<'a>(&'a self, prefix: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<(String, Record)>, StoreError>> {
        self.late(async move { self.inner.list(prefix, limit).await }.boxed())
    }

    fn spend<'a>(
        &'a self,
        key: &'a str,
        amount: u64,
        limit: u64,
        window: Duration,
    ) -> BoxFuture<'a, Result<SpendResult, StoreError>> {
        self.late(async move { self.inner.spend(key, amount, limit, window).await }.boxed())
    }
}
