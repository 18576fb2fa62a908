//! A store that does not answer is a store that is down.

use std::time::Duration;

use aquifer_engine::store::StoreError;
use futures::future::{BoxFuture, poll_immediate};

/// No answer of a store is waited for longer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The answer of a store, or that there is none. One that is there costs no timer.
pub(crate) async fn within<T>(mut asked: BoxFuture<'_, Result<T, StoreError>>) -> Result<T, StoreError> {
    if let Some(answer) = poll_immediate(&mut asked).await {
        return answer;
    }
    match tokio::time::timeout(TIMEOUT, asked).await {
        Ok(answer) => answer,
        Err(_) => Err(StoreError("no answer in time".to_owned())),
    }
}
