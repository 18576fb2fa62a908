//! The calls whose messages a person wanted to see. They are kept in memory only, and only so many.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use aquifer_protocol::text;
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Map, Value};

use super::{Stage, Trace, WireMessage, lock};

/// How many calls are kept. The oldest are dropped.
const MAX_CALLS: usize = 100;

/// The maximum size of all calls that are kept.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Names longer than this are cut: an unknown operation can have any name.
const MAX_NAME_CHARS: usize = 100;

/// A call with its messages.
#[derive(Debug)]
pub struct RecordedCall {
    /// The request, as in the log.
    pub request_id: Arc<str>,
    /// Its operation, or `batch`.
    pub operation: String,
    /// Who made it, if it was authenticated.
    pub principal: Option<Arc<str>>,
    /// When it arrived.
    pub started_at: Timestamp,
    /// How long it took.
    pub took: Duration,
    /// The stages, and how long each took.
    pub stages: Vec<(Stage, Duration)>,
    /// What it would have cost with a tool of the source's own, in estimated tokens, if that is known.
    pub direct_tokens: Option<usize>,
    /// The messages in their order, without secrets.
    pub messages: Vec<WireMessage>,
}

impl RecordedCall {
    fn size(&self) -> usize {
        self.messages.iter().map(|message| message.head.len() + message.body.len()).sum()
    }
}

/// How long recording stays on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogSwitch {
    /// How many more calls are recorded.
    pub calls_left: u32,
    /// For how long.
    pub time_left: Duration,
}

/// The recorded calls, and whether the calls of all callers are recorded. They are not unless a person switches it on,
/// for a bounded number of calls and a bounded time.
#[derive(Debug, Default)]
pub struct CallLog {
    /// Read for every call, so it has no lock. Zero if recording is off.
    calls_left: AtomicU32,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    until: Option<Instant>,
    /// The oldest first.
    calls: VecDeque<Arc<RecordedCall>>,
    bytes: usize,
}

impl CallLog {
    /// Records the next calls, for so long.
    pub fn switch_on(&self, calls: u32, duration: Duration) {
        lock(&self.state).until = Instant::now().checked_add(duration);
        self.calls_left.store(calls, Ordering::Relaxed);
    }

    /// Ends recording. What was recorded stays.
    pub fn switch_off(&self) {
        self.calls_left.store(0, Ordering::Relaxed);
        lock(&self.state).until = None;
    }

    /// Drops what was recorded.
    pub fn clear(&self) {
        let mut state = lock(&self.state);
        (state.calls, state.bytes) = (VecDeque::new(), 0);
    }

    /// How long recording stays on, if it is.
    pub fn switch(&self) -> Option<LogSwitch> {
        let calls_left = self.calls_left.load(Ordering::Relaxed);
        let time_left = lock(&self.state).until?.checked_duration_since(Instant::now())?;
        (calls_left > 0 && !time_left.is_zero()).then_some(LogSwitch { calls_left, time_left })
    }

    /// The recorded calls, the newest first.
    pub fn calls(&self) -> Vec<Arc<RecordedCall>> {
        lock(&self.state).calls.iter().rev().cloned().collect()
    }

    /// A recorded call.
    pub fn find(&self, request_id: &str) -> Option<Arc<RecordedCall>> {
        lock(&self.state).calls.iter().rev().find(|call| *call.request_id == *request_id).cloned()
    }

    /// Whether this call is recorded, and how. If recording is off, this costs one comparison and one atomic read.
    pub(crate) fn trace_for(&self, wanted: &Trace) -> Option<Trace> {
        if wanted.is_recording() {
            return Some(wanted.clone());
        }
        if !wanted.is_undecided() || self.calls_left.load(Ordering::Relaxed) == 0 {
            return None;
        }
        self.take_turn().then(Trace::recording)
    }

    fn take_turn(&self) -> bool {
        let is_over = lock(&self.state).until.is_none_or(|until| until <= Instant::now());
        if is_over {
            self.switch_off();
            return false;
        }
        let one_less = |left: u32| left.checked_sub(1);
        self.calls_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
    }

    fn keep(&self, call: RecordedCall) {
        let mut state = lock(&self.state);
        state.bytes += call.size();
        state.calls.push_back(Arc::new(call));
        while (state.calls.len() > MAX_CALLS || state.bytes > MAX_BYTES)
            && let Some(oldest) = state.calls.pop_front()
        {
            state.bytes -= oldest.size();
        }
    }
}

/// Keeps a call in the log when it is dropped, so that a call that was cancelled is kept, too.
pub(crate) struct CallRecorder<'a> {
    pub(crate) log: &'a CallLog,
    pub(crate) trace: Trace,
    pub(crate) request_id: Arc<str>,
    /// As [`requested_operation`] returns it.
    pub(crate) operation: String,
    pub(crate) principal: Option<Arc<str>>,
    pub(crate) started_at: Timestamp,
}

/// The operation that a request names, bounded and fit to be shown; `batch` if it names none.
pub(crate) fn requested_operation(arguments: &Map<String, Value>) -> String {
    let operation = arguments.get("operation").and_then(Value::as_str).unwrap_or("batch");
    let operation: String = operation.chars().take(MAX_NAME_CHARS).collect();
    text::clean(&operation).into_owned()
}

impl Drop for CallRecorder<'_> {
    fn drop(&mut self) {
        self.log.keep(RecordedCall {
            request_id: self.request_id.clone(),
            operation: std::mem::take(&mut self.operation),
            principal: self.principal.clone(),
            started_at: self.started_at,
            took: self.trace.elapsed(),
            stages: self.trace.stages(),
            direct_tokens: self.trace.direct_tokens(),
            messages: self.trace.messages(),
        });
    }
}
