//! What happens to one request, for a person who follows it: the stages and how long each took, and the messages that
//! were exchanged with its client and its source. Without such a person nothing is recorded.

mod call_log;
mod message;
mod secret_values;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::Types;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Map, Value};

pub use call_log::CallLog;
pub(crate) use call_log::CallRecorder;
pub use call_log::LogSwitch;
pub use call_log::RecordedCall;
pub(crate) use call_log::requested_operation;
pub use message::Channel;
pub use message::MAX_TEXT_BYTES;
pub use message::Step;
pub use message::WireMessage;

use message::Messages;
use secret_values::SecretValues;

/// A stage of the pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The operation was found and its parameters were checked.
    Check,
    /// The gate decided.
    Gate,
    /// The source answered. Lists that are fetched page by page have one for each page.
    Source,
    /// The answer was filtered, sorted and cut.
    Shape,
}

impl Stage {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Stage::Check => "check",
            Stage::Gate => "gate",
            Stage::Source => "source",
            Stage::Shape => "shape",
        }
    }
}

/// Records what happens to a request, if anybody wants to know.
#[derive(Debug, Clone, Default)]
pub struct Trace(TraceState);

#[derive(Debug, Clone, Default)]
enum TraceState {
    /// Recorded if the [`CallLog`] is on.
    #[default]
    Undecided,
    Never,
    Recording(Arc<Recording>),
}

#[derive(Debug)]
struct Recording {
    started: Instant,
    ends: Mutex<Vec<(Stage, Instant)>>,
    messages: Mutex<Messages>,
    secrets: Mutex<SecretValues>,
    measures_cost: bool,
    direct_tokens: Mutex<Option<usize>>,
}

/// More stages are not recorded. A list of very many pages has as many.
const MAX_STAGES: usize = 200;

impl Trace {
    /// A trace that records.
    pub fn recording() -> Self {
        Self::new(false)
    }

    /// A trace that records, and lets sources find out what the answer would have cost with a tool of their own. That
    /// may take one more read.
    pub fn measuring() -> Self {
        Self::new(true)
    }

    fn new(measures_cost: bool) -> Self {
        Self(TraceState::Recording(Arc::new(Recording {
            started: Instant::now(),
            ends: Mutex::default(),
            messages: Mutex::default(),
            secrets: Mutex::default(),
            measures_cost,
            direct_tokens: Mutex::default(),
        })))
    }

    /// A trace of a request that is never recorded, because the explorer makes it for itself.
    pub fn never() -> Self {
        Self(TraceState::Never)
    }

    /// Whether it records.
    pub fn is_recording(&self) -> bool {
        matches!(self.0, TraceState::Recording(_))
    }

    /// Whether the source should find out what the answer would have cost with a tool of its own.
    pub fn measures_cost(&self) -> bool {
        self.recorded().is_some_and(|recording| recording.measures_cost)
    }

    /// Notes what the answer would have cost with a tool of the source's own, in estimated tokens.
    pub fn set_direct_tokens(&self, tokens: usize) {
        if let Some(recording) = self.recorded() {
            *lock(&recording.direct_tokens) = Some(tokens);
        }
    }

    /// What the answer would have cost with a tool of the source's own, in estimated tokens: what the source noted, or
    /// else everything that an MCP server or an HTTP API returned.
    pub fn direct_tokens(&self) -> Option<usize> {
        let recording = self.recorded()?;
        let noted = *lock(&recording.direct_tokens);
        noted.or_else(|| lock(&recording.messages).returned_tokens())
    }

    fn is_undecided(&self) -> bool {
        matches!(self.0, TraceState::Undecided)
    }

    fn recorded(&self) -> Option<&Recording> {
        match &self.0 {
            TraceState::Recording(recording) => Some(recording),
            TraceState::Undecided | TraceState::Never => None,
        }
    }

    /// Records that a stage has ended.
    #[inline]
    pub(crate) fn end(&self, stage: Stage) {
        let Some(recording) = self.recorded() else { return };
        let mut ends = lock(&recording.ends);
        if ends.len() < MAX_STAGES {
            ends.push((stage, Instant::now()));
        }
    }

    /// Records a message. `head` is what precedes its body, such as headers. Sources remove their own credentials from
    /// both. They are written only if the trace records, and kept up to [`MAX_TEXT_BYTES`].
    pub fn record<'t>(&self, step: Step, channel: Channel, write: impl FnOnce() -> (String, Cow<'t, str>)) {
        let Some(recording) = self.recorded() else { return };
        let (head, body) = write();
        lock(&recording.messages).add(step, channel, recording.started.elapsed(), &head, &body);
    }

    /// Remembers the secrets among the parameters of an operation, so that no message shows them.
    pub(crate) fn add_secrets(&self, operation: &Operation, types: &Types, params: &Map<String, Value>) {
        let Some(recording) = self.recorded() else { return };
        lock(&recording.secrets).add_params(operation, types, params);
    }

    /// The stages in their order, and how long each took. The stages of the operations of a batch follow each other.
    pub fn stages(&self) -> Vec<(Stage, Duration)> {
        let Some(recording) = self.recorded() else { return Vec::new() };
        let ends = lock(&recording.ends);
        let mut before = recording.started;
        let stages = ends.iter().map(|(stage, end)| {
            let took = end.saturating_duration_since(before);
            before = *end;
            (*stage, took)
        });
        stages.collect()
    }

    /// The messages in their order, without secrets.
    pub fn messages(&self) -> Vec<WireMessage> {
        let Some(recording) = self.recorded() else { return Vec::new() };
        let secrets = lock(&recording.secrets);
        lock(&recording.messages).redacted(&secrets)
    }

    /// How long ago the trace began.
    fn elapsed(&self) -> Duration {
        self.recorded().map(|recording| recording.started.elapsed()).unwrap_or_default()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}
