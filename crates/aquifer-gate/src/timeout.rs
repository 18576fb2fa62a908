//! A time limit for calls to the state store.

use std::time::Duration;

use aquifer_engine::store::StoreError;
use futures::future::{BoxFuture, poll_immediate};

/// How long a call to the store may take.
const STORE_TIMEOUT: Duration = Duration::from_secs(5);

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
