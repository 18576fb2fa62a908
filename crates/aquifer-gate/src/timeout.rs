//! A store that does not answer is a store that is down.

use std::time::Duration;

use aquifer_engine::store::StoreError;
use futures::future::{BoxFuture, poll_immediate};

/// No answer of a store is waited for longer.
const STORE_TIMEOUT: Duration = Duration::from_secs(5);

/// The answer of a store, or that there is none. One that is there costs no timer.
pub(crate) async fn with_timeout<T>(mut request: BoxFuture<'_, Result<T, StoreError>>) -> Result<T, StoreError> {
    if let Some(answer) = poll_immediate(&mut request).await {
        return answer;
    }
    match tokio::time::timeout(STORE_TIMEOUT, request).await {
        Ok(answer) => answer,
        Err(_) => Err(StoreError("no answer in time".to_owned())),
    }
}
