//! Permits to use a connection, shared fairly among callers.
//!
//! A statement cannot be paused, so a caller that holds every permit makes everybody else wait until it is done. A
//! caller therefore gets another permit only while it holds fewer than are free: alone it gets half of them, the next one
//! half of the rest, and so on. A released permit goes to the waiting caller that holds the fewest.
//!
//! One more permit is for reads of a row by its key only. They are always fast, so it is never taken for long.
//!
//! Invariant: while the lock is free, no waiting call could be granted a permit. A new call therefore never overtakes
//! one that waits: whoever waits holds at least as many as are free.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::Context;
use futures::FutureExt;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use crate::error::SqlError;

/// Who uses a connection. Callers that cannot be told apart are told apart by their requests: a batch is one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Holder {
    /// Work that no caller asked for, such as reflection.
    Internal,
    Principal(Arc<str>),
    Session(Arc<str>),
    Request(Arc<str>),
}

impl From<&Context> for Holder {
    fn from(context: &Context) -> Self {
        match (&context.caller.principal, &context.caller.session) {
            (Some(principal), _) => Holder::Principal(principal.clone()),
            (None, Some(session)) => Holder::Session(session.clone()),
            (None, None) => Holder::Request(context.request_id.clone()),
        }
    }
}

/// What a permit is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Any,
    /// Reading one row by a key that the database has an index for.
    RowByKey,
}

/// A number of permits.
#[derive(Clone)]
pub(crate) struct FairPermits(Arc<Mutex<Ledger>>);

struct Ledger {
    free: usize,
    /// Whether the permit for reads by key is free.
    is_key_permit_free: bool,
    /// How many permits each caller holds, except the one for reads by key.
    held: Vec<(Holder, usize)>,
    waiting: VecDeque<Waiter>,
    /// Who was granted a permit last after a wait. Others come first, if they hold as many.
    last_granted: Option<Holder>,
}

struct Waiter {
    holder: Holder,
    purpose: Purpose,
    sender: oneshot::Sender<Permit>,
}

/// The right to use one connection, until it is dropped.
pub(crate) struct Permit {
    permits: FairPermits,
    holder: Holder,
    is_key_permit: bool,
}

impl FairPermits {
    /// This many permits, and perhaps one for reads by key.
    pub(crate) fn new(count: usize, has_key_permit: bool) -> Self {
        Self(Arc::new(Mutex::new(Ledger {
            free: count.max(1),
            is_key_permit_free: has_key_permit,
            held: Vec::new(),
            waiting: VecDeque::new(),
            last_granted: None,
        })))
    }

    /// Waits for a permit. The purpose matters only if the caller cannot have one for any purpose.
    pub(crate) async fn acquire(
        &self,
        holder: Holder,
        purpose: impl FnOnce() -> Purpose,
        timeout: Duration,
    ) -> Result<Permit, SqlError> {
        let (waiting, held) = {
            let mut ledger = self.lock();
            let is_taken = ledger.take(&holder);
            let purpose = if is_taken { Purpose::Any } else { purpose() };
            let is_key_permit = !is_taken && ledger.take_key_permit(purpose);
            if is_taken || is_key_permit {
                drop(ledger);
                return Ok(Permit { permits: self.clone(), holder, is_key_permit });
            }
            let held = ledger.held_by(&holder);
            (ledger.wait(holder, purpose), held)
        };
        // Boxed because it is rare: otherwise every caller's future would contain it.
        let granted = tokio::time::timeout(timeout, waiting).boxed().await;
        let reason = match held {
            0 => "too many requests are waiting for it",
            _ => "your other requests use your share of the connections",
        };
        granted.ok().and_then(Result::ok).ok_or(SqlError::Busy { reason })
    }

    fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.0.lock()
    }

    /// Grants permits to waiting calls, as long as there are some for them.
    fn grant(&self) {
        loop {
            // The lock is not held while a permit is sent: if nobody receives it, it is dropped and released again.
            let Some((waiter, is_key_permit)) = self.lock().take_next() else { return };
            let Waiter { holder, sender, .. } = waiter;
            let _ = sender.send(Permit { permits: self.clone(), holder, is_key_permit });
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let has_waiting = {
            let mut ledger = self.permits.lock();
            ledger.put_back(&self.holder, self.is_key_permit);
            !ledger.waiting.is_empty()
        };
        if has_waiting {
            self.permits.grant();
        }
    }
}

impl Ledger {
    fn held_by(&self, holder: &Holder) -> usize {
        self.held.iter().find(|(other, _)| other == holder).map_or(0, |(_, count)| *count)
    }

    /// Takes a permit, if there is one for this caller. Returns whether it did.
    fn take(&mut self, holder: &Holder) -> bool {
        let entry = self.held.iter_mut().find(|(other, _)| other == holder);
        if entry.as_ref().map_or(0, |(_, count)| *count) >= self.free {
            return false;
        }
        self.free -= 1;
        match entry {
            Some((_, count)) => *count += 1,
            None => self.held.push((holder.clone(), 1)),
        }
        true
    }

    /// Takes the permit for reads by key, if this is one and the permit is free. Returns whether it did.
    fn take_key_permit(&mut self, purpose: Purpose) -> bool {
        purpose == Purpose::RowByKey && std::mem::take(&mut self.is_key_permit_free)
    }

    fn put_back(&mut self, holder: &Holder, is_key_permit: bool) {
        if is_key_permit {
            self.is_key_permit_free = true;
            return;
        }
        self.free += 1;
        if let Some(index) = self.held.iter().position(|(other, _)| other == holder)
            && let Some((_, count)) = self.held.get_mut(index)
        {
            *count -= 1;
            if *count == 0 {
                self.held.swap_remove(index);
            }
        }
    }

    fn wait(&mut self, holder: Holder, purpose: Purpose) -> oneshot::Receiver<Permit> {
        // Calls that no longer wait, because they timed out or were cancelled.
        self.waiting.retain(|waiter| !waiter.sender.is_closed());
        let (sender, receiver) = oneshot::channel();
        self.waiting.push_back(Waiter { holder, purpose, sender });
        receiver
    }

    /// Takes a permit for the waiting call whose caller holds the fewest, if there is one for it.
    fn take_next(&mut self) -> Option<(Waiter, bool)> {
        self.waiting.retain(|waiter| !waiter.sender.is_closed());
        let order = |waiter: &Waiter| {
            let held = self.held_by(&waiter.holder);
            let may_take = held < self.free || (waiter.purpose == Purpose::RowByKey && self.is_key_permit_free);
            may_take.then(|| (held, self.last_granted.as_ref() == Some(&waiter.holder)))
        };
        let next = self.waiting.iter().enumerate().filter_map(|(index, waiter)| Some((order(waiter)?, index)));
        let waiter = next.min().and_then(|(_, index)| self.waiting.remove(index))?;
        let is_key_permit = !self.take(&waiter.holder) && self.take_key_permit(waiter.purpose);
        self.last_granted = Some(waiter.holder.clone());
        Some((waiter, is_key_permit))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(1);
    const LONG: Duration = Duration::from_secs(60);

    fn caller(name: &str) -> Holder {
        Holder::Session(name.into())
    }

    /// As many permits as a caller gets without a wait.
    async fn take_all(permits: &FairPermits, name: &str) -> Vec<Permit> {
        let mut taken = Vec::new();
        while let Ok(permit) = permits.acquire(caller(name), || Purpose::Any, SHORT).await {
            taken.push(permit);
        }
        taken
    }

    #[tokio::test]
    async fn each_caller_gets_half_of_what_the_others_left() {
        let permits = FairPermits::new(8, false);
        let mut taken = Vec::new();
        for (name, count) in [("a", 4), ("b", 2), ("c", 1), ("d", 1), ("e", 0)] {
            let permits = take_all(&permits, name).await;
            assert_eq!(permits.len(), count, "{name}");
            taken.push(permits);
        }
        drop(taken);
        assert_eq!(take_all(&permits, "e").await.len(), 4);
        assert_eq!(take_all(&FairPermits::new(1, false), "a").await.len(), 1, "a single one can be used");
    }

    #[tokio::test]
    async fn a_released_permit_goes_to_whoever_holds_the_fewest() {
        let permits = FairPermits::new(2, false);
        let mut first = take_all(&permits, "a").await;
        first.extend(take_all(&permits, "b").await);
        assert_eq!(first.len(), 2);
        let wait = |name: &str| {
            let (permits, holder) = (permits.clone(), caller(name));
            Box::pin(async move { permits.acquire(holder, || Purpose::Any, LONG).await.unwrap() })
        };
        let (mut again, mut new) = (wait("b"), wait("c"));
        assert!((&mut again).now_or_never().is_none() && (&mut new).now_or_never().is_none());
        first.remove(0);
        assert!((&mut again).now_or_never().is_none(), "it has one already");
        let granted = new.now_or_never().unwrap();
        drop(granted);
        drop(first);
        assert!(again.now_or_never().is_some());
    }

    #[tokio::test]
    async fn callers_alternate_where_there_is_one_permit() {
        let permits = FairPermits::new(1, false);
        let mut held = Some(permits.acquire(caller("a"), || Purpose::Any, SHORT).await.unwrap());
        let names = ["a", "a", "a", "a", "b"];
        let mut waiting = names.map(|name| {
            let (permits, holder) = (permits.clone(), caller(name));
            let mut waiting = Box::pin(async move { permits.acquire(holder, || Purpose::Any, LONG).await.unwrap() });
            assert!((&mut waiting).now_or_never().is_none());
            Some(waiting)
        });
        let mut order = Vec::new();
        for _ in names {
            drop(held.take());
            for (index, slot) in waiting.iter_mut().enumerate() {
                if let Some(permit) = slot.as_mut().and_then(FutureExt::now_or_never) {
                    (held, *slot) = (Some(permit), None);
                    order.push(names[index]);
                }
            }
        }
        assert_eq!(order, ["a", "b", "a", "a", "a"]);
    }

    #[tokio::test]
    async fn one_permit_is_for_reads_by_key() {
        let permits = FairPermits::new(1, true);
        let _taken = take_all(&permits, "a").await;
        let by_key = || permits.acquire(caller("a"), || Purpose::RowByKey, SHORT);
        let key_permit = by_key().await.unwrap();
        assert!(by_key().await.is_err());
        drop(key_permit);
        assert!(permits.acquire(caller("b"), || Purpose::Any, SHORT).await.is_err());
        assert!(by_key().await.is_ok());
    }

    #[tokio::test]
    async fn a_permit_that_nobody_takes_is_not_lost() {
        let permits = FairPermits::new(1, false);
        let held = permits.acquire(caller("a"), || Purpose::Any, SHORT).await.unwrap();
        let waiting = permits.acquire(caller("b"), || Purpose::Any, LONG).boxed();
        let mut waiting = waiting;
        assert!((&mut waiting).now_or_never().is_none());
        drop(held);
        // It was granted, and is dropped unseen.
        drop(waiting);
        assert!(permits.acquire(caller("c"), || Purpose::Any, SHORT).await.is_ok());
    }
}
