//! Long-running executions: pending, running, then completed, failed or cancelled.
//!
//! An execution belongs to the caller who started it and ends with the connection (R-END-6). The registry is bounded, owns
//! the tasks it starts, and cancels them when it is dropped.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use aquifer_engine::clock::{SharedClock, random_id};
use aquifer_engine::{Caller, ProgressUpdate, panic_message};
use aquifer_protocol::error::{Code, Failure, Fault};
use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Limits for executions, running or finished, for each owner and in total. The limit for each owner protects the results
/// of others.
const MAX_PER_OWNER: usize = 64;
const MAX_TOTAL: usize = 1024;

/// The status of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Created, not started.
    Pending,
    /// Running.
    Running,
    /// Completed.
    Completed,
    /// Ended by an error.
    Failed,
    /// Ended by request.
    Cancelled,
}

impl Status {
    /// The name in responses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Running => "running",
            Status::Completed => "completed",
            Status::Failed => "failed",
            Status::Cancelled => "cancelled",
        }
    }

    /// Whether the status is final.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Status::Completed | Status::Failed | Status::Cancelled)
    }
}

/// The state of an execution.
#[derive(Debug, Clone)]
struct State {
    status: Status,
    started_at: Option<Timestamp>,
    finished_at: Option<Timestamp>,
    progress: Option<ProgressUpdate>,
    result: Option<Value>,
    failure: Option<Failure>,
}

/// One execution.
pub struct Execution {
    id: Arc<str>,
    operation: Arc<str>,
    owner: Option<Arc<str>>,
    session: Option<Arc<str>>,
    state: watch::Sender<State>,
    cancel: CancellationToken,
}

/// Reports the progress of running work.
#[derive(Clone)]
pub struct Reporter(Arc<Execution>);

impl Reporter {
    /// Reports progress.
    pub fn report(&self, update: ProgressUpdate) {
        self.0.state.send_modify(|state| state.progress = Some(update));
    }

    /// Fires when the execution is cancelled, for work that needs to clean up.
    pub fn cancelled(&self) -> &CancellationToken {
        &self.0.cancel
    }
}

/// The executions of one adapter.
pub struct Executions {
    clock: SharedClock,
    executions: Mutex<VecDeque<Arc<Execution>>>,
    root: CancellationToken,
    _cancel_on_drop: DropGuard,
}

impl Executions {
    /// Creates an empty registry.
    pub fn new(clock: SharedClock) -> Self {
        let root = CancellationToken::new();
        Self { clock, executions: Mutex::default(), _cancel_on_drop: root.clone().drop_guard(), root }
    }

    /// Starts work in the background. Must be called inside a Tokio runtime.
    pub fn start(
        &self,
        operation: &Arc<str>,
        caller: &Caller,
        work: impl FnOnce(Reporter) -> BoxFuture<'static, Result<Value, Failure>>,
    ) -> Result<Arc<Execution>, Failure> {
        let id = random_id("exec_").map_err(Failure::internal)?;
        let execution = Arc::new(Execution {
            id: id.into(),
            operation: operation.clone(),
            owner: caller.owner().map(Into::into),
            session: caller.session.clone(),
            state: watch::Sender::new(State {
                status: Status::Pending,
                started_at: None,
                finished_at: None,
                progress: None,
                result: None,
                failure: None,
            }),
            cancel: self.root.child_token(),
        });
        self.register(execution.clone())?;
        let work = work(Reporter(execution.clone()));
        tokio::spawn(run(execution.clone(), work, self.clock.clone()));
        Ok(execution)
    }

    fn register(&self, execution: Arc<Execution>) -> Result<(), Failure> {
        let mut executions = self.lock();
        let own = executions.iter().filter(|known| known.owner == execution.owner).count();
        let is_owner_full = own >= MAX_PER_OWNER;
        if is_owner_full || executions.len() >= MAX_TOTAL {
            let can_be_removed = |known: &Arc<Execution>| {
                known.status().is_terminal() && (!is_owner_full || known.owner == execution.owner)
            };
            let Some(finished) = executions.iter().position(can_be_removed) else {
                let message =
                    format!("Too many executions: {own} of yours are running. Cancel one or wait for one to finish");
                return Err(Failure::new(Code::RateLimitExceeded, message));
            };
            executions.remove(finished);
        }
        executions.push_back(execution);
        Ok(())
    }

    /// The execution with this id, if it belongs to the caller.
    pub fn find(&self, id: &str, caller: &Caller) -> Result<Arc<Execution>, Failure> {
        self.lock()
            .iter()
            .find(|execution| &*execution.id == id && execution.belongs_to(caller))
            .cloned()
            .ok_or_else(|| Failure::not_found("execution", id))
    }

    /// The executions of the caller, newest first. Executions without an owner are found by id only.
    pub fn list(&self, caller: &Caller) -> Vec<Arc<Execution>> {
        let Some(owner) = caller.owner() else { return Vec::new() };
        self.lock().iter().rev().filter(|execution| execution.owner.as_deref() == Some(owner)).cloned().collect()
    }

    /// Cancels and removes the executions of a session.
    pub fn session_ended(&self, session: &str) {
        self.lock().retain(|execution| {
            let belongs_to_session = execution.session.as_deref() == Some(session);
            if belongs_to_session {
                execution.cancel.cancel();
            }
            !belongs_to_session
        });
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Execution>>> {
        self.executions.lock()
    }
}

impl Execution {
    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its status.
    pub fn status(&self) -> Status {
        self.state.borrow().status
    }

    /// Cancels it, unless it has ended. Running work stops at its next await point.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Waits for the end and passes every progress update to `each`.
    pub async fn wait_finished(&self, mut each: impl FnMut(ProgressUpdate)) {
        let mut state = self.state.subscribe();
        let mut reported: Option<ProgressUpdate> = None;
        loop {
            let (terminal, progress) = {
                let now = state.borrow_and_update();
                (now.status.is_terminal(), now.progress.clone())
            };
            if progress != reported
                && let Some(update) = progress
            {
                reported = Some(update.clone());
                each(update);
            }
            if terminal || state.changed().await.is_err() {
                return;
            }
        }
    }

    /// The state in the form of the specification.
    pub fn to_value(&self) -> Value {
        let state = self.state.borrow();
        let mut value = Map::new();
        value.insert("execution_id".to_owned(), (*self.id).into());
        value.insert("operation".to_owned(), (*self.operation).into());
        value.insert("status".to_owned(), state.status.as_str().into());
        let mut put = |key: &str, field: Option<Value>| {
            if let Some(field) = field {
                value.insert(key.to_owned(), field);
            }
        };
        put("started_at", state.started_at.map(|time| time.to_string().into()));
        put("finished_at", state.finished_at.map(|time| time.to_string().into()));
        put("progress", state.progress.as_ref().map(progress_value));
        put("result", state.result.clone());
        put("error", state.failure.as_ref().map(|failure| json!(failure)));
        Value::Object(value)
    }

    fn belongs_to(&self, caller: &Caller) -> bool {
        match &self.owner {
            None => true,
            Some(owner) => caller.owner() == Some(owner),
        }
    }
}

fn progress_value(progress: &ProgressUpdate) -> Value {
    let mut value = json!({ "current": progress.current, "total": progress.total, "message": progress.message });
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|_, field| !field.is_null());
    }
    value
}

async fn run(execution: Arc<Execution>, work: BoxFuture<'static, Result<Value, Failure>>, clock: SharedClock) {
    let cancelled_before_start = execution.cancel.is_cancelled();
    if !cancelled_before_start {
        execution.state.send_modify(|state| {
            state.status = Status::Running;
            state.started_at = Some(clock.now());
        });
    }
    let end = tokio::select! {
        biased;
        () = execution.cancel.cancelled() => None,
        end = AssertUnwindSafe(work).catch_unwind() => Some(end),
    };
    let failure = match &end {
        Some(Ok(Err(failure))) => Some(failure.clone()),
        Some(Err(panic)) => Some(Failure::internal(panic_message(&**panic))),
        _ => None,
    };
    if let Some(failure) = failure.as_ref().filter(|failure| failure.code().info().fault == Fault::Us) {
        let (id, operation) = (&*execution.id, &*execution.operation);
        tracing::error!(
            execution_id = id,
            operation,
            code = failure.code().as_str(),
            cause = failure.cause(),
            "failed"
        );
    }
    execution.state.send_modify(|state| {
        state.finished_at = Some(clock.now());
        state.status = match end {
            None => Status::Cancelled,
            Some(Ok(Ok(result))) => {
                state.result = Some(result);
                Status::Completed
            }
            Some(Ok(Err(_)) | Err(_)) => {
                state.failure = failure;
                Status::Failed
            }
        };
    });
}
