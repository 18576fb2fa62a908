//! Calls to the state store, with a time limit.

use std::time::Duration;

use aquifer_engine::store::{Record, StateStore, StoreError};
use futures::future::{BoxFuture, poll_immediate};

/// How long a call to the store may take.
const STORE_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum number of attempts to write a record that others write, too.
const MAX_ATTEMPTS: usize = 8;

/// Writes what `change` makes of a record, if anything.
pub(crate) async fn change_record(
    store: &dyn StateStore,
    key: &str,
    change: impl Fn(Option<&Record>) -> Option<(Vec<u8>, Duration)>,
) -> Result<(), StoreError> {
    for _ in 0..MAX_ATTEMPTS {
        let record = with_timeout(store.get(key)).await?;
        let Some((value, keep)) = change(record.as_ref()) else { return Ok(()) };
        let version = record.map(|record| record.version);
        if with_timeout(store.compare_and_set(key, version, value, keep)).await? {
            return Ok(());
        }
    }
    Err(StoreError("other processes keep changing the record".to_owned()))
}

/// Awaits a call to the store with a time limit. Creates no timer if the result is ready at once.
pub(crate) async fn with_timeout<T>(mut request: BoxFuture<'_, Result<T, StoreError>>) -> Result<T, StoreError> {
    if let Some(answer) = poll_immediate(&mut request).await {
        return answer;
    }
    match tokio::time::timeout(STORE_TIMEOUT, request).await {
        Ok(answer) => answer,
        Err(_) => Err(StoreError("the state store did not answer in time".to_owned())),
    }
}
