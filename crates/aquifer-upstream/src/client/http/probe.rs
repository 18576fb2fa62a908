//! Checks whether a session still works.
//!
//! Only a 404 without a JSON-RPC response means that a session is lost. Some servers respond with 400 for an unknown
//! session; a broken connection or a server error leaves it open. Giving up a session loses the state that the server
//! keeps in it, and keeping a dead one fails every later call. The server is therefore pinged, and the connection is
//! closed only if the ping is refused or not answered.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::transport::{HttpTransport, RequestInfo};
use crate::client::delivery::Delivery;
use crate::client::message::{self, Json};
use crate::client::pending_calls::CallOrigin;
use crate::client::shared_state::SharedState;
use crate::error::{Outage, UpstreamError};

const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// JSON-RPC's code for an unknown method. A server that sends it is alive.
const METHOD_NOT_FOUND: i64 = -32601;

impl HttpTransport {
    /// Whether the session may be broken after this error.
    pub(crate) fn is_doubtful(&self, error: &UpstreamError) -> bool {
        match error {
            UpstreamError::Disconnected(_)
            | UpstreamError::ServerError { .. }
            | UpstreamError::Redirected { .. }
            | UpstreamError::Unauthorized(_) => true,
            UpstreamError::Refused(error) => self.session.id().is_some() && matches!(error.status, Some(400 | 404)),
            _ => false,
        }
    }

    /// Pings the server and closes the connection if the session does not work. Returns whether it works.
    pub(crate) async fn probe(
        self: Arc<Self>,
        shared: Arc<SharedState>,
        meta: Option<Value>,
        wait_for_turn: bool,
    ) -> bool {
        let turn = match self.probes.try_acquire() {
            Ok(turn) => Ok(turn),
            // Another probe is running.
            Err(_) if !wait_for_turn => return true,
            Err(_) => self.probes.acquire().await,
        };
        let ended = shared.ended.clone();
        let ping = tokio::time::timeout(PROBE_TIMEOUT, self.ping(&shared, meta));
        let Some(outcome) = ended.run_until_cancelled(ping).await else { return false };
        drop(turn);
        match outcome.unwrap_or(Err(UpstreamError::TimedOut)) {
            Err(error) if is_fatal(&error) => {
                if matches!(error, UpstreamError::Refused(_)) {
                    self.session.lose();
                }
                shared.close(&Outage::new("its session no longer works", format!("a ping failed: {error:?}")));
                false
            }
            _ => true,
        }
    }

    async fn ping(&self, shared: &Arc<SharedState>, meta: Option<Value>) -> Result<Json, UpstreamError> {
        let id = shared.calls.next_id();
        let params = meta.map_or_else(|| json!({}), |meta| json!({ "_meta": meta }));
        let body = message::request(id, "ping", &params)
            .map_err(|cause| UpstreamError::InvalidResponse(format!("the request cannot be written: {cause}")))?;
        let origin = Arc::new(CallOrigin::internal());
        let info = RequestInfo { id, method: "ping", name: None };
        self.exchange(shared, info, body, &mut Delivery::repeatable(), &origin).await
    }
}

/// Whether a ping that fails with this error proves that the session is unusable.
fn is_fatal(error: &UpstreamError) -> bool {
    match error {
        UpstreamError::Refused(error) => matches!(error.status, Some(400 | 404)) && error.code != METHOD_NOT_FOUND,
        UpstreamError::SessionLost
        | UpstreamError::Unavailable(_)
        | UpstreamError::Unsent(_)
        | UpstreamError::Disconnected(_)
        | UpstreamError::TimedOut
        | UpstreamError::Unauthorized(_)
        | UpstreamError::ServerError { .. } => true,
        UpstreamError::Operation(_)
        | UpstreamError::Redirected { .. }
        | UpstreamError::LoginRenewed
        | UpstreamError::Forbidden { .. }
        | UpstreamError::RateLimited { .. }
        | UpstreamError::TooLarge { .. }
        | UpstreamError::InvalidResponse(_)
        | UpstreamError::MissingInput(_)
        | UpstreamError::AlreadySent
        | UpstreamError::ConfigurationChanged => false,
    }
}
