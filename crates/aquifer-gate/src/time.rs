//! Keeps the time in the state store as long as something that was issued can still be used.
//!
//! The store writes the time down whenever it is used. A token that nobody touches would be forgotten to have expired:
//! after a restart with a clock that was set back, it would hold again. So while tokens are out, the time is written once
//! a second; when none is, nothing is written.

use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::clock::{Clock as _, SteadyClock};
use aquifer_engine::store::{HIGH_WATER, StateStore};

use crate::confirm::ConfirmSettings;
use crate::strength::MAX_COOLDOWN;
use crate::timeout::with_timeout;

/// How often the time is written while tokens are out.
const WRITE_INTERVAL: Duration = Duration::from_secs(1);

/// Keeps the time in the store. Never ends by itself: whoever starts it ends it.
pub async fn persist_time(clock: Arc<SteadyClock>, store: Arc<dyn StateStore>) {
    if !store.outlives_process() {
        return std::future::pending().await;
    }
    while !write(&*store).await {
        tokio::time::sleep(WRITE_INTERVAL).await;
    }
    // An earlier process may have issued tokens that still hold.
    if let Ok(until) = clock.now().checked_add(ConfirmSettings::MAX_LIFETIME + MAX_COOLDOWN) {
        clock.need_until(until);
    }
    // Once more after the last token has ended, so that its end is in the store.
    let mut is_owed = false;
    loop {
        let is_needed = clock.is_needed();
        if (is_needed || is_owed) && write(&*store).await {
            is_owed = is_needed;
        }
        tokio::time::sleep(WRITE_INTERVAL).await;
    }
}

/// A store writes the time when it is read. While it does not answer, no token can be used either.
async fn write(store: &dyn StateStore) -> bool {
    let read = with_timeout(store.get(HIGH_WATER)).await;
    read.inspect_err(|error| tracing::debug!(%error, "the time is not written to the state store")).is_ok()
}
