//! The calls of all callers as they happen.

use aquifer_engine::event::{Event, Observer};
use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::broadcast;

/// How many calls are kept for a page that reads slowly. It misses the others.
const CAPACITY: usize = 256;

/// Names longer than this are truncated: an unknown operation can have any name.
const MAX_NAME_CHARS: usize = 100;

/// A call that has ended.
#[derive(Debug, Clone, Serialize)]
pub struct CallSummary {
    /// When it ended.
    pub time: Timestamp,
    /// The request, as in the log.
    pub request_id: String,
    /// The operation.
    pub operation: String,
    /// The caller, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// What the client calls itself, if the caller is not known. Nobody has verified it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_name: Option<String>,
    /// `ok`, `failed`, `cancelled` or `panicked`.
    pub outcome: &'static str,
    /// The code that the caller saw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
    /// How long it took, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took_us: Option<u64>,
}

/// Passes events on, and sends calls to the pages that show them. Without such a page it costs one comparison.
#[derive(Debug, Clone)]
pub struct CallFeed(broadcast::Sender<CallSummary>);

impl Default for CallFeed {
    fn default() -> Self {
        Self(broadcast::channel(CAPACITY).0)
    }
}

impl CallFeed {
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<CallSummary> {
        self.0.subscribe()
    }

    /// An observer that also reports to `next`.
    pub fn observer(&self, next: impl Observer) -> impl Observer {
        FeedObserver { feed: self.clone(), next }
    }

    fn send(&self, event: Event<'_>) {
        let (request_id, operation, outcome, code, took, caller) = match event {
            Event::Answered { request_id, operation, took, caller } => {
                (request_id, operation, "ok", None, Some(took), caller)
            }
            Event::Failed { request_id, operation, code, caller, .. } => {
                (request_id, operation, "failed", Some(code.as_str()), None, caller)
            }
            Event::Panicked { request_id, operation, caller, .. } => {
                (request_id, operation, "panicked", None, None, caller)
            }
            Event::Cancelled { request_id, operation, caller } => {
                (request_id, operation, "cancelled", None, None, caller)
            }
            Event::CatalogChanged { .. } => return,
        };
        // An error means that the last page has just been closed.
        let _ = self.0.send(CallSummary {
            time: Timestamp::now(),
            request_id: request_id.to_owned(),
            operation: operation.chars().take(MAX_NAME_CHARS).collect(),
            caller: caller.principal.map(str::to_owned),
            client_name: caller.client_name.filter(|_| caller.principal.is_none()).map(str::to_owned),
            outcome,
            code,
            took_us: took.map(|took| u64::try_from(took.as_micros()).unwrap_or(u64::MAX)),
        });
    }
}

struct FeedObserver<O> {
    feed: CallFeed,
    next: O,
}

impl<O: Observer> Observer for FeedObserver<O> {
    fn observe(&self, event: Event<'_>) {
        if self.feed.0.receiver_count() > 0 {
            self.feed.send(event);
        }
        self.next.observe(event);
    }
}
