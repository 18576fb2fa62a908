//! The request pipeline: parse, route, check, gate, source, shape, envelope.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use aquifer_protocol::batch::refused;
use aquifer_protocol::category::Category;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::introspect::OperationClass;
use aquifer_protocol::request::{ParsedRequest, Request, RequestError, parse};
use aquifer_protocol::response::{Meta, Response, Success};
use aquifer_protocol::surface::{Receiver, Surface};
use aquifer_protocol::validate::Checked;
use arc_swap::ArcSwap;
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::builder::Settings;
use super::rehearsal::{SnapshotRehearsal, can_rehearse};
use super::source_call::SourceResult;
use crate::call::configuration::configuration_changed;
use crate::clients::ClientRegistry;
use crate::clock::{SharedClock, random_id};
use crate::event::{Event, Observer};
use crate::gate::{Cleared, Decision, Grant, Shown};
use crate::shape::Shaper;
use crate::snapshot::{Route, Snapshot};
use crate::source::{Answer, Context, InputRequest, Outcome};
use crate::store::StateStore;
use crate::trace::{CallLog, Stage};

/// Longer than any session, so that a once-per-session warning is not repeated.
const WARNING_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// The reply to a request.
#[derive(Debug)]
pub enum Reply {
    /// A response.
    Response(Response),
    /// A question to a person. The client sends the same request again with the answer.
    NeedsInput(InputRequest),
}

/// Answers requests from its sources.
pub struct Engine {
    /// Notifies when the mounts change.
    pub(super) mount_changes: watch::Sender<u64>,
    /// Held while a catalog is built, so that an older catalog never replaces a newer one.
    pub(super) building: Mutex<()>,
    pub(super) surface: Arc<Surface>,
    pub(super) store: Arc<dyn StateStore>,
    pub(super) clock: SharedClock,
    pub(super) observer: Arc<dyn Observer>,
    pub(super) settings: Settings,
    pub(super) shaper: Shaper,
    pub(super) snapshot: ArcSwap<Snapshot>,
    pub(super) changes: watch::Sender<u64>,
    pub(super) requests: AtomicU64,
    /// The sum of the sources' generations when the catalog was built.
    pub(super) generation: AtomicU64,
    pub(super) call_log: CallLog,
    pub(super) clients: Arc<ClientRegistry>,
}

impl Engine {
    /// The current snapshot.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The clock.
    pub fn clock(&self) -> &SharedClock {
        &self.clock
    }

    /// The clients that are connected.
    pub fn clients(&self) -> &Arc<ClientRegistry> {
        &self.clients
    }

    /// Notifies when the catalog has changed in a way that callers can observe.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// A new request id, unique in this process.
    pub fn next_request_id(&self) -> Arc<str> {
        format!("req_{:x}", self.requests.fetch_add(1, Ordering::Relaxed)).into()
    }

    /// A new session id that cannot be guessed.
    pub fn next_session_id(&self) -> Arc<str> {
        random_id("session_")
            // Without randomness the id is unique in this process, which is sufficient.
            .unwrap_or_else(|_| format!("session_{:x}", self.requests.fetch_add(1, Ordering::Relaxed)))
            .into()
    }

    /// Answers a request that arrived at `receiver`.
    pub fn handle<'a>(
        &'a self,
        receiver: &'a Receiver,
        arguments: Map<String, Value>,
        context: impl Into<Arc<Context>>,
    ) -> impl Future<Output = Reply> + Send {
        let context = context.into();
        async move {
            match self.call_log.trace_for(&context.trace) {
                None => self.handle_request(receiver, arguments, context).await,
                // Rare futures are boxed, here and below, to keep the size of the common future small.
                Some(trace) => {
                    let context = Arc::new(Context { trace, ..Context::clone(&context) });
                    self.handle_recorded(receiver, arguments, context).boxed().await
                }
            }
        }
    }

    pub(super) async fn handle_request(
        &self,
        receiver: &Receiver,
        arguments: Map<String, Value>,
        context: Arc<Context>,
    ) -> Reply {
        let mut snapshot = self.snapshot.load_full();
        let named = arguments.iter().find(|(name, _)| *name == "operation").and_then(|(_, named)| named.as_str());
        let class = OperationClass::from_name(named.unwrap_or_default());
        // Introspection and requests for unknown operations use the newest catalog.
        let mut state = named.map(|name| OperationState::from_snapshot(&snapshot, name));
        if class.describes_catalog() || state == Some(OperationState::Unknown) {
            self.check_sources_for_changes(&snapshot, state).boxed().await;
            snapshot = self.snapshot.load_full();
            state = named.map(|name| OperationState::from_snapshot(&snapshot, name));
        }
        if let Some(name) = named.filter(|_| state.is_some_and(|state| state != OperationState::Served)) {
            self.confirm_catalogs(&snapshot, name).boxed().await;
            snapshot = self.snapshot.load_full();
        }
        match parse(arguments, self.settings.max_batch_size) {
            Ok(ParsedRequest::One(request)) => self.handle_one(&snapshot, receiver, request, context).await,
            Ok(ParsedRequest::Batch(batch)) => self.handle_batch(receiver, batch, context).boxed().await,
            Err(error) => {
                self.observe_failure(&context, "", error.failure());
                Reply::Response(match error {
                    RequestError::One(failure) => failure_response(class, failure),
                    RequestError::Batch(failure) => refused(failure),
                })
            }
        }
    }

    /// Gives sources with an offering from an earlier run a moment to update it, before an operation is refused because
    /// it is unknown or quarantined. For an unknown operation this applies to all sources, otherwise to its own.
    pub(super) async fn confirm_catalogs(&self, snapshot: &Snapshot, operation: &str) {
        match snapshot.route(operation) {
            Some(route) => {
                route.source.check_for_changes().await;
                route.source.confirm_catalog().await;
            }
            None => {
                let all = snapshot.mounts().iter().map(|mount| mount.source.confirm_catalog());
                futures::future::join_all(all).await;
            }
        }
        self.refresh_if_changed();
    }

    async fn handle_one(
        &self,
        snapshot: &Snapshot,
        receiver: &Receiver,
        request: Request,
        context: Arc<Context>,
    ) -> Reply {
        let started = Instant::now();
        let operation = request.operation.clone();
        let mut outcome = match self.route_and_check(snapshot, receiver, request) {
            Ok((request, route)) => {
                context.trace.end(Stage::Check);
                let decision = self.decide(snapshot, &request, &context).await;
                context.trace.end(Stage::Gate);
                self.perform_decided(snapshot, route, request, decision, &context).await
            }
            Err(refused) => self.perform_refused(snapshot, receiver, *refused, &context).boxed().await,
        };
        let took = self.observe_outcome(&outcome, &operation, &context, started);
        if has_warnings(&outcome) {
            self.drop_repeated_warnings(&mut outcome, &context).boxed().await;
        }
        self.reply(outcome, &operation, &context, took)
    }

    /// Reports an outcome to the observer. Returns how long the request took.
    pub(super) fn observe_outcome(
        &self,
        outcome: &Outcome,
        operation: &str,
        context: &Context,
        started: Instant,
    ) -> Duration {
        let took = started.elapsed();
        match outcome {
            Outcome::Done(_) => {
                let caller = context.into();
                self.observer.observe(Event::Answered { request_id: &context.request_id, operation, took, caller });
            }
            // A cancelled request is observed as such, not as a failure.
            Outcome::Failed(failure) if !context.cancelled.is_cancelled() => {
                self.observe_failure(context, operation, failure);
            }
            Outcome::Failed(_) | Outcome::NeedsInput(_) => {}
        }
        took
    }

    /// The reply to a request with this outcome.
    pub(super) fn reply(&self, outcome: Outcome, operation: &str, context: &Context, took: Duration) -> Reply {
        match outcome {
            Outcome::Done(answer) => Reply::Response(Response::Success(self.success(answer, operation, context, took))),
            Outcome::Failed(failure) => {
                Reply::Response(failure_response(OperationClass::from_name(operation), failure))
            }
            Outcome::NeedsInput(question) => Reply::NeedsInput(question),
        }
    }

    fn success(&self, answer: Answer, operation: &str, context: &Context, took: Duration) -> Success {
        if OperationClass::from_name(operation).has_bare_answers() {
            return Success::new(answer.data);
        }
        // The published schema of batch results does not allow it.
        let meta = (self.settings.meta && !context.interaction.is_batch())
            .then(|| Meta { request_id: context.request_id.to_string(), duration_ms: took.as_secs_f64() * 1000.0 });
        Success { data: answer.data, warnings: answer.warnings, attachments: answer.attachments, meta }
    }

    /// Drops warnings that this session has already received (R-RES-2).
    pub(super) async fn drop_repeated_warnings(&self, outcome: &mut Outcome, context: &Context) {
        let (Outcome::Done(answer), Some(session)) = (outcome, context.caller.session.as_deref()) else { return };
        let mut remaining = Vec::with_capacity(answer.warnings.len());
        for warning in std::mem::take(&mut answer.warnings) {
            if warning.once_per_session() {
                let key = format!("warned/{session}/{}", warning.identity());
                // If the store fails, repeating the warning does less harm.
                if let Ok(false) = self.store.compare_and_set(&key, None, Vec::new(), WARNING_TTL).await {
                    continue;
                }
            }
            remaining.push(warning);
        }
        answer.warnings = remaining;
    }

    /// Performs a request that was checked in this snapshot. `grant` confirms it as the operation of a batch with this
    /// index.
    pub(super) async fn perform_checked(
        &self,
        snapshot: &Snapshot,
        request: Checked,
        grant: Option<(&Grant, usize)>,
        context: &Arc<Context>,
    ) -> Outcome {
        let route = snapshot.route(&request.operation().name);
        let decision = match grant {
            Some((grant, index)) => snapshot.gate().decide_confirmed(&request, grant, index, context).await,
            None => self.decide(snapshot, &request, context).await,
        };
        context.trace.end(Stage::Gate);
        self.perform_decided(snapshot, route, request, decision, context).await
    }

    /// Lets the gate decide, with a rehearsal if its source can try the call.
    fn decide<'a>(
        &self,
        snapshot: &'a Snapshot,
        request: &'a Checked,
        context: &'a Context,
    ) -> BoxFuture<'a, Decision> {
        if !can_rehearse(request) {
            return snapshot.gate().decide(request, context);
        }
        async move {
            let rehearsal = SnapshotRehearsal { snapshot };
            snapshot.gate().decide_rehearsed(request, &rehearsal, context).await
        }
        .boxed()
    }

    async fn perform_decided(
        &self,
        snapshot: &Snapshot,
        route: Option<&Route>,
        request: Checked,
        decision: Decision,
        context: &Arc<Context>,
    ) -> Outcome {
        if context.trace.is_recording()
            && let Some((_, catalog)) = snapshot.operation(&request.operation().name)
        {
            context.trace.add_secrets(request.operation(), catalog.types(), request.params());
        }
        match decision {
            // Its parameters were not checked.
            Decision::Allow(_) | Decision::Ask(_) if route.is_some_and(|route| route.is_denied) => {
                Outcome::Failed(Failure::new(Code::PermissionDenied, "This operation cannot be called"))
            }
            Decision::Allow(pass) if self.is_outdated(snapshot, &request) => {
                let outcome = Outcome::Failed(configuration_changed());
                if let Some(receipt) = pass.receipt {
                    receipt.settle(&outcome).await;
                }
                outcome
            }
            Decision::Allow(pass) => self.run(snapshot, route, Cleared { request, pass }, context).await,
            Decision::Refuse(failure) => Outcome::Failed(failure),
            Decision::Ask(question) => Outcome::NeedsInput(question),
        }
    }

    /// Whether a change was decided under a configuration that is no longer in force. A person may have taken minutes
    /// to answer.
    fn is_outdated(&self, snapshot: &Snapshot, request: &Checked) -> bool {
        request.operation().category != Category::Read && snapshot.configuration().is_replaced()
    }

    /// Calls the source and reports the outcome to the gate. After cancellation or a panic the outcome is unknown: the
    /// receipt is dropped, which records that.
    async fn run(
        &self,
        snapshot: &Snapshot,
        route: Option<&Route>,
        cleared: Cleared,
        context: &Arc<Context>,
    ) -> Outcome {
        let Cleared { request, pass } = cleared;
        let operation = request.operation().clone();
        match self.ask_source(snapshot, route, request, pass.warnings, context).await {
            SourceResult::Answered(outcome) => {
                context.trace.end(Stage::Shape);
                if let Some(receipt) = pass.receipt {
                    receipt.settle(&outcome).await;
                }
                let shown = Shown::from_outcome(&outcome);
                if let Some(noted) = shown.and_then(|shown| snapshot.gate().note(&operation, shown, context)) {
                    noted.await;
                }
                outcome
            }
            SourceResult::Unknown(failure) => Outcome::Failed(failure),
        }
    }

    pub(super) fn observe_failure(&self, context: &Context, operation: &str, failure: &Failure) {
        self.observer.observe(Event::Failed {
            request_id: &context.request_id,
            operation,
            code: failure.code(),
            cause: failure.cause(),
            caller: context.into(),
        });
    }
}

/// Whether the call succeeded with warnings.
pub(super) fn has_warnings(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Done(answer) if !answer.warnings.is_empty())
}

/// A failure, reduced to what answers of this class of operation can contain.
pub(super) fn failure_response(class: OperationClass, failure: Failure) -> Response {
    Response::Failure(if class.has_bare_answers() { failure.without_details() } else { failure })
}

/// The state of a requested operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperationState {
    Served,
    Quarantined,
    Unknown,
}

impl OperationState {
    pub(super) fn from_snapshot(snapshot: &Snapshot, name: &str) -> Self {
        match snapshot.operation(name) {
            Some((operation, _)) if operation.safety.quarantine.is_none() => Self::Served,
            Some(_) => Self::Quarantined,
            None => Self::Unknown,
        }
    }
}
