//! A store that answers late, or never.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use aquifer_engine::store::{Record, SpendResult, StateStore, StoreError};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::watch;

use super::callers::Fault;

/// The stages of slowness: the work is done and not answered; the work is not begun. Either lasts until the next stage,
/// and the gate does not wait that long.
pub(super) const STAGES: usize = 2;

/// The slowness of all stores that share it.
#[derive(Clone, Default)]
pub(super) struct Slowness(watch::Sender<usize>);

impl Fault for Slowness {
    fn set(&mut self, stage: usize) {
        self.0.send_replace(stage);
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
            let mut stage = self.slowness.0.subscribe();
            let begun_in = *stage.borrow();
            match begun_in {
                0 => {
                    // Even without a fault, others sometimes come first.
                    let turn = self.asked.fetch_add(1, Ordering::SeqCst);
                    for _ in 0..turn % 4 {
                        tokio::task::yield_now().await;
                    }
                    asked.await
                }
                1 => {
                    let answer = asked.await;
                    let _ = stage.wait_for(|stage| *stage != begun_in).await;
                    answer
                }
                _ => {
                    let _ = stage.wait_for(|stage| *stage != begun_in).await;
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
