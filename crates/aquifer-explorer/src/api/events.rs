//! What happens while a page is open, as server-sent events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use aquifer_gate::confirm::approvals::{self, Status};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream;
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::ExplorerState;
use crate::Explorer;
use crate::error::ApiError;
use crate::feed::CallSummary;
use crate::login::{self, Session};

/// How often the store is asked for approvals: other processes may have added or decided some.
const APPROVALS_INTERVAL: Duration = Duration::from_secs(1);

/// How many ticks may pass without an event until a comment is sent, so that a lost connection is noticed.
const MAX_QUIET_TICKS: u32 = 15;

pub(super) async fn stream(
    State(explorer): ExplorerState,
    Extension(session): Extension<Session>,
) -> Result<Response, ApiError> {
    let mut ticks = interval(APPROVALS_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let events = Events {
        calls: explorer.feed.subscribe(),
        catalog: explorer.engine.changes(),
        approvals: None,
        quiet_ticks: 0,
        ticks,
        session,
        explorer,
    };
    let hello = event("hello", &json!({ "version": env!("CARGO_PKG_VERSION") }));
    let first = stream::iter([Ok::<_, Infallible>(hello)]);
    let rest = stream::unfold(events, |mut events| async move {
        let next = events.next().await?;
        Some((Ok(next), events))
    });
    let head = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((head, Body::from_stream(futures::StreamExt::chain(first, rest))).into_response())
}

struct Events {
    explorer: Arc<Explorer>,
    session: Session,
    calls: broadcast::Receiver<CallSummary>,
    catalog: watch::Receiver<u64>,
    /// The ids and statuses of the approvals when they were last read.
    approvals: Option<Vec<(String, Status)>>,
    quiet_ticks: u32,
    ticks: Interval,
}

impl Events {
    /// The next event. `None` if the server has stopped, or the session has ended.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let next = tokio::select! {
                call = self.calls.recv() => match call {
                    Ok(call) => Some(event("call", &json!(call))),
                    // The page reads too slowly and has missed some.
                    Err(RecvError::Lagged(_)) => None,
                    Err(RecvError::Closed) => return None,
                },
                changed = self.catalog.changed() => {
                    changed.ok()?;
                    let operations = self.explorer.engine.snapshot().catalog().operations().len();
                    Some(event("catalog", &json!({ "operations": operations })))
                }
                _ = self.ticks.tick() => {
                    if login::is_over(&self.explorer, &self.session).await {
                        return None;
                    }
                    self.on_tick().await
                }
            };
            if let Some(next) = next {
                self.quiet_ticks = 0;
                return Some(next);
            }
        }
    }

    async fn on_tick(&mut self) -> Option<Bytes> {
        self.quiet_ticks += 1;
        let listed = approvals::list(&*self.explorer.store, &*self.explorer.clock).await;
        if let Ok(listed) = listed {
            let now: Vec<_> = listed.into_iter().map(|approval| (approval.id, approval.status)).collect();
            if self.approvals.as_ref() != Some(&now) {
                let pending = now.iter().filter(|(_, status)| *status == Status::Pending).count();
                self.approvals = Some(now);
                return Some(event("approvals", &json!({ "pending": pending })));
            }
        }
        (self.quiet_ticks >= MAX_QUIET_TICKS).then(|| Bytes::from_static(b":\n\n"))
    }
}

/// An event. JSON has no line breaks, so one line of data is enough.
fn event(name: &str, data: &Value) -> Bytes {
    format!("event: {name}\ndata: {data}\n\n").into()
}
