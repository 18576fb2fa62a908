//! Keeps the time in the state store up to date while issued tokens are valid.
//!
//! The store writes the time whenever it is used. If a token expired while the store was not used, and the clock was
//! then set back during a restart, the token would be valid again. So while tokens are valid, the time is written once
//! a second; otherwise nothing is written.

use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::clock::{Clock as _, SteadyClock};
use aquifer_engine::store::{HIGH_WATER, StateStore};

use crate::confirm::ConfirmSettings;
use crate::strength::MAX_COOLDOWN;
use crate::timeout::with_timeout;

/// How often the time is written while tokens are valid.
const WRITE_INTERVAL: Duration = Duration::from_secs(1);

/// Keeps the store's time up to date. Runs until it is cancelled.
pub async fn persist_time(clock: Arc<SteadyClock>, store: Arc<dyn StateStore>) {
    if !store.outlives_process() {
        return std::future::pending().await;
    }
    while !write(&*store).await {
        tokio::time::sleep(WRITE_INTERVAL).await;
    }
    // An earlier process may have issued tokens that are still valid.
    if let Ok(until) = clock.now().checked_add(ConfirmSettings::MAX_LIFETIME + MAX_COOLDOWN) {
        clock.need_until(until);
    }
    // The time is written once more after the last token has expired, so that the expiry is recorded.
    let mut is_owed = false;
    loop {
        let is_needed = clock.is_needed();
        if (is_needed || is_owed) && write(&*store).await {
            is_owed = is_needed;
        }
        tokio::time::sleep(WRITE_INTERVAL).await;
    }
}

/// Makes the store write the time by reading from it. While the store is unavailable, no token can be used either.
async fn write(store: &dyn StateStore) -> bool {
    let read = with_timeout(store.get(HIGH_WATER)).await;
    read.inspect_err(|error| tracing::debug!(%error, "the time could not be written to the state store")).is_ok()
}
