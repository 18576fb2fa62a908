//! The context of a call: the caller, the person behind it, and progress.

use std::sync::{Arc, LazyLock};

use aquifer_protocol::error::Failure;
use futures::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::caller::Caller;
use crate::trace::Trace;

/// The context of a call: the caller, and how to communicate with it while the call runs.
#[derive(Debug, Clone)]
pub struct Context {
    /// The caller.
    pub caller: Caller,
    /// What the client calls itself. Nobody has verified it: it is shown to people and never used for a decision.
    pub client_name: Option<Arc<str>>,
    /// The id of the request in the log.
    pub request_id: Arc<str>,
    /// Fires when the caller cancels.
    pub cancelled: CancellationToken,
    /// Receives progress updates.
    pub progress: Progress,
    /// Whether a person can be asked.
    pub interaction: Interaction,
    /// The person's answers to earlier questions of this call, by key.
    pub answers: Arc<Map<String, Value>>,
    /// The client itself, if it can be asked while the call waits.
    pub client: Option<Arc<dyn ClientSide>>,
    /// Records how long each stage takes, if somebody follows the request.
    pub trace: Trace,
}

/// A capability of a client that a source can use while a call waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientCapability {
    /// Ask the person to fill in a form.
    Elicitation,
    /// Let its model complete a conversation.
    Sampling,
    /// List the folders it works in.
    Roots,
}

/// The client of a call, as sources can use it. Requests and responses have the form of MCP.
pub trait ClientSide: Send + Sync + std::fmt::Debug + 'static {
    /// Whether the client has declared the capability.
    fn can(&self, capability: ClientCapability) -> bool;

    /// Whether its model can use tools in a completion, which a client declares apart from [`ClientCapability::Sampling`].
    fn can_sample_with_tools(&self) -> bool {
        false
    }

    /// Asks and waits for the answer. Fails if the client lacks the capability, returns an error, or takes too long.
    fn ask(&self, capability: ClientCapability, params: Map<String, Value>) -> BoxFuture<'_, Result<Value, Failure>>;

    /// Forwards a log message of a source (`{level, logger?, data}`). Never waits: messages that the client cannot
    /// accept are dropped.
    fn log(&self, params: Map<String, Value>);
}

/// Whether a person can be asked while the call waits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Interaction {
    /// The client cannot ask anybody.
    #[default]
    Unavailable,
    /// The client can ask.
    Available,
    /// The caller is a person: what it confirms, a person has confirmed.
    Person,
    /// The call is one of a batch, which is never interrupted by a question.
    Batch {
        /// Whether the client could ask if the call came alone.
        is_available_alone: bool,
        /// Whether the caller is a person.
        is_person: bool,
    },
}

impl Interaction {
    /// The same client in a batch.
    #[must_use]
    pub fn in_batch(self) -> Self {
        Self::Batch { is_available_alone: self.can_ask_outside_batch(), is_person: self.is_person() }
    }

    /// Whether the caller is a person.
    pub fn is_person(self) -> bool {
        matches!(self, Self::Person | Self::Batch { is_person: true, .. })
    }

    /// Whether the person can be asked now.
    pub fn can_ask(self) -> bool {
        self == Self::Available
    }

    /// Whether the person can be asked now, or could be if the call came alone.
    pub fn can_ask_outside_batch(self) -> bool {
        matches!(self, Self::Available | Self::Batch { is_available_alone: true, .. })
    }

    /// Whether the call is one of a batch.
    pub fn is_batch(self) -> bool {
        matches!(self, Self::Batch { .. })
    }
}

impl Context {
    /// The answers of a call whose person was not asked. All these calls share one map.
    pub fn no_answers() -> Arc<Map<String, Value>> {
        static NONE: LazyLock<Arc<Map<String, Value>>> = LazyLock::new(Arc::default);
        NONE.clone()
    }

    /// A context without cancellation, progress and questions.
    pub fn new(caller: Caller, request_id: impl Into<Arc<str>>) -> Self {
        Self {
            caller,
            client_name: None,
            request_id: request_id.into(),
            cancelled: CancellationToken::new(),
            progress: Progress::silent(),
            interaction: Interaction::Unavailable,
            answers: Self::no_answers(),
            client: None,
            trace: Trace::default(),
        }
    }
}

/// A progress update.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgressUpdate {
    /// Completed steps.
    pub current: f64,
    /// Total steps, if known.
    pub total: Option<f64>,
    /// The current step.
    pub message: Option<String>,
}

/// Reports the progress of a call. Reporting never waits: a slow listener misses updates.
#[derive(Debug, Clone)]
pub struct Progress(Option<mpsc::Sender<ProgressUpdate>>);

impl Progress {
    /// How many updates are kept for a slow listener.
    const CAPACITY: usize = 16;

    /// Without a listener.
    pub fn silent() -> Self {
        Self(None)
    }

    /// With a listener at the receiver.
    pub fn channel() -> (Self, mpsc::Receiver<ProgressUpdate>) {
        let (sender, receiver) = mpsc::channel(Self::CAPACITY);
        (Self(Some(sender)), receiver)
    }

    /// Whether there is a listener.
    pub fn has_listener(&self) -> bool {
        self.0.is_some()
    }

    /// Reports progress.
    pub fn report(&self, update: ProgressUpdate) {
        if let Some(sender) = &self.0 {
            // A full or closed channel does not affect the call.
            let _ = sender.try_send(update);
        }
    }
}
