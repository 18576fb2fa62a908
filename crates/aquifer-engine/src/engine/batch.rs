//! Batches: everything is checked before the first operation runs, reads run concurrently, and one confirmation covers
//! all operations that need one.
//!
//! Operations that change something run in order and alone: a read before a change does not see it, a read after it
//! does. `$from` is resolved when the answer it refers to is available, before the request is checked and decided, so
//! policy, confirmation and audit only ever see values.
//!
//! A client that asks its user repeats the request with the answer. The question is therefore asked before anything but
//! reads has run: nothing that changes something runs twice.

mod confirmation;
mod deadline;
mod rehearsal;

use std::sync::Arc;
use std::time::Instant;

use aquifer_protocol::batch::{BatchAnswer, OnConfirmation, Step, refused};
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::introspect::OperationClass;
use aquifer_protocol::reference::{self, Target};
use aquifer_protocol::request::{BatchItem, BatchRequest, Request};
use aquifer_protocol::response::Response;
use aquifer_protocol::surface::Receiver;
use aquifer_protocol::validate::Checked;
use futures::{FutureExt, StreamExt};
use serde_json::{Map, Value};

use confirmation::{ConfirmStep, TokenStep};
use deadline::Deadline;

use super::pipeline::{Engine, OperationState, Reply, failure_response, has_warnings};
use crate::call::rehearsal::RehearsalResult;
use crate::gate::{BatchEntry, ConfirmationMethod, EntryRequest, Grant};
use crate::snapshot::Snapshot;
use crate::source::Context;

/// How many reads of a batch run concurrently.
const MAX_CONCURRENT_READS: usize = 8;

impl Engine {
    /// Answers a batch.
    pub(super) async fn handle_batch(&self, receiver: &Receiver, batch: BatchRequest, context: Arc<Context>) -> Reply {
        self.refresh_for_batch(&batch.items).await;
        BatchRun::new(self, receiver, batch.items, context).await.run(batch.metadata.confirmation).await
    }

    /// Introspection and requests for unknown operations use the newest catalog, as outside of a batch.
    async fn refresh_for_batch(&self, items: &[BatchItem]) {
        let names = || items.iter().map(|item| item.operation.as_str());
        let state = |name: &str| OperationState::from_snapshot(&self.snapshot(), name);
        let describes = |name: &str| OperationClass::from_name(name).describes_catalog();
        let unknown = names().map(state).find(|state| *state == OperationState::Unknown);
        if unknown.is_some() || names().any(describes) {
            self.check_sources_for_changes(&self.snapshot(), unknown).await;
        }
        // One unknown operation is enough, because all sources are asked for it.
        if let Some(name) = names().find(|name| state(name) != OperationState::Served) {
            self.confirm_catalogs(&self.snapshot(), name).await;
        }
    }

    /// Runs one operation of a batch, under the rules in force when it starts: a batch may take minutes.
    async fn run_in_batch(
        &self,
        receiver: &Receiver,
        request: Request,
        ready: ReadyRequest,
        grant: Option<(Grant, usize)>,
        context: Arc<Context>,
    ) -> Response {
        let started = Instant::now();
        let operation = request.operation.clone();
        let snapshot = self.snapshot();
        let grant = grant.as_ref().map(|(grant, index)| (grant, *index));
        let checked = match Arc::ptr_eq(&snapshot, &ready.snapshot) {
            true => Ok(ready.checked),
            false => self.route_and_check(&snapshot, receiver, request).map(|(checked, _)| checked),
        };
        let mut outcome = match checked {
            Ok(checked) => self.perform_checked(&snapshot, checked, grant, &context).await,
            Err(refused) => crate::source::Outcome::Failed(refused.failure),
        };
        let took = self.observe_outcome(&outcome, &operation, &context, started);
        if has_warnings(&outcome) {
            self.drop_repeated_warnings(&mut outcome, &context).await;
        }
        match self.reply(outcome, &operation, &context, took) {
            Reply::Response(response) => response,
            // A question in the middle would run the earlier operations again when the request is repeated.
            Reply::NeedsInput(question) => Response::Failure(question.into_failure()),
        }
    }
}

/// A batch that is being run.
struct BatchRun<'a> {
    engine: &'a Engine,
    receiver: &'a Receiver,
    /// The context of the batch as a whole, in which a question can be asked.
    context: Arc<Context>,
    /// The context of its operations, which never ask.
    operation_context: Arc<Context>,
    deadline: Deadline,
    entries: Vec<Entry>,
    answer: BatchAnswer,
    /// How many bytes may still be taken from answers.
    budget: usize,
    grant: Option<Grant>,
    /// Whether the question was considered. It is asked before anything but reads has run, or not at all.
    is_question_settled: bool,
    /// Whether a source has checked for changes because an operation was refused. Once is enough for a batch.
    is_catalog_checked: bool,
}

/// An operation of a batch.
struct Entry {
    operation: String,
    /// The request, with its references replaced as soon as all of them can be. `None` if it was invalid.
    request: Option<Request>,
    /// The operations that it refers to, until its references are replaced.
    refers_to: Vec<usize>,
    has_references: bool,
    /// Whether it is answered.
    is_finished: bool,
    ready: Option<ReadyRequest>,
    /// What its last rehearsal found.
    rehearsal: RehearsalResult,
}

/// A complete and valid request.
struct ReadyRequest {
    /// The catalog and rules it was checked with.
    snapshot: Arc<Snapshot>,
    checked: Checked,
    confirmation: Option<ConfirmationMethod>,
}

impl ReadyRequest {
    /// Whether it can run beside other reads.
    fn is_plain_read(&self) -> bool {
        let operation = self.checked.operation();
        operation.category == Category::Read && operation.safety.danger == Danger::Safe && self.confirmation.is_none()
    }

    /// The token that was sent with it.
    fn own_token(&self) -> Option<&str> {
        self.checked.metadata().confirmation.as_deref()
    }
}

impl<'a> BatchRun<'a> {
    async fn new(engine: &'a Engine, receiver: &'a Receiver, items: Vec<BatchItem>, context: Arc<Context>) -> Self {
        let limits = &engine.settings().limits;
        let answer = BatchAnswer::new(items.len(), limits);
        let interaction = context.interaction.in_batch();
        let operation_context = Arc::new(Context { interaction, ..Context::clone(&context) });
        let mut run = Self {
            engine,
            receiver,
            context,
            operation_context,
            deadline: Deadline::after(engine.settings().batch_timeout),
            entries: Vec::with_capacity(items.len()),
            answer,
            budget: limits.max_request_size,
            grant: None,
            is_question_settled: false,
            is_catalog_checked: false,
        };
        for item in items {
            run.add(item).await;
        }
        run
    }

    /// Adds and checks an operation. An invalid one fails without affecting the others. If it has references, whose
    /// values are not known yet, only the operation and the references are checked.
    async fn add(&mut self, item: BatchItem) {
        let index = self.entries.len();
        let BatchItem { operation, request } = item;
        let mut entry = Entry {
            operation,
            request: None,
            refers_to: Vec::new(),
            has_references: false,
            is_finished: false,
            ready: None,
            rehearsal: RehearsalResult::Unknown,
        };
        let snapshot = self.engine.snapshot();
        let valid = request.and_then(|request| {
            let refers_to = reference::referenced(&request, index)?;
            if !refers_to.is_empty() {
                self.engine.check_route(&snapshot, self.receiver, &request)?;
            }
            Ok((request, refers_to))
        });
        let failure = match valid {
            Ok((request, refers_to)) => {
                entry.has_references = !refers_to.is_empty();
                (entry.request, entry.refers_to) = (Some(request), refers_to);
                None
            }
            Err(failure) => Some(failure),
        };
        self.entries.push(entry);
        match failure {
            Some(failure) => self.fail(index, failure),
            None => self.prepare(index).await,
        }
    }

    async fn run(mut self, token: Option<String>) -> Reply {
        match self.redeem_token(token).await {
            TokenStep::Next => {}
            TokenStep::Refused(reply) => return reply,
            TokenStep::Halted(index) => return self.halt(index),
        }
        while let Some(index) = self.entries.iter().position(|entry| !entry.is_finished) {
            if self.deadline.has_passed() {
                self.fail(index, self.deadline.not_run());
                continue;
            }
            let reads = self.next_reads(index).await;
            if !reads.is_empty() {
                if let Some(halted) = self.run_reads(reads).await {
                    return self.halt(halted);
                }
                continue;
            }
            // Preparing it may have shown that it is invalid.
            if self.entry(index).is_none_or(|entry| entry.is_finished) {
                continue;
            }
            if let Some(reply) = self.ask_first().await {
                return reply;
            }
            if self.is_unconfirmed(index) {
                match self.confirm_rest(index).await {
                    ConfirmStep::Halted => return self.halt(index),
                    ConfirmStep::Skipped => continue,
                    ConfirmStep::EachAlone => {}
                }
            }
            if self.run_alone(index).await == Step::Halted {
                return self.halt(index);
            }
        }
        Reply::Response(Response::Batch(self.answer))
    }

    fn entry(&self, index: usize) -> Option<&Entry> {
        self.entries.get(index)
    }

    fn ready(&self, index: usize) -> Option<&ReadyRequest> {
        self.entry(index).filter(|entry| !entry.is_finished)?.ready.as_ref()
    }

    /// Completes a request and checks it under the current rules, if every answer it refers to is available.
    async fn prepare(&mut self, index: usize) {
        let mut snapshot = self.engine.snapshot();
        let Some(entry) = self.entries.get(index).filter(|entry| !entry.is_finished) else { return };
        if entry.ready.as_ref().is_some_and(|ready| Arc::ptr_eq(&ready.snapshot, &snapshot)) {
            return;
        }
        if entry.refers_to.iter().any(|other| self.entry(*other).is_some_and(|other| !other.is_finished)) {
            return;
        }
        let Some(mut request) = entry.request.clone() else { return };
        if !entry.refers_to.is_empty() {
            let answer = &self.answer;
            let target = |other: usize| Target::Known(answer.earlier(other));
            match reference::resolve(request, &target, &mut self.budget, &self.engine.settings().limits) {
                Ok(resolved) => request = resolved,
                Err(failure) => return self.fail(index, failure),
            }
        }
        let check = |snapshot: &Snapshot| {
            let checked = self.engine.route_and_check(snapshot, self.receiver, request.clone());
            checked.map(|(checked, _)| checked).map_err(|refused| refused.failure)
        };
        let mut checked = check(&snapshot);
        if let Err(failure) = &checked
            && !std::mem::replace(&mut self.is_catalog_checked, true)
            && let Some(newer) = self.engine.newer_snapshot(&snapshot, &request.operation, failure).await
        {
            checked = check(&newer);
            snapshot = newer;
        }
        match checked {
            Ok(checked) => {
                let confirmation = snapshot.gate().confirmation(&checked, &self.operation_context);
                if let Some(entry) = self.entries.get_mut(index) {
                    entry.refers_to.clear();
                    entry.request = Some(request);
                    entry.ready = Some(ReadyRequest { snapshot, checked, confirmation });
                }
            }
            Err(failure) => self.fail(index, failure),
        }
    }

    async fn prepare_all(&mut self) {
        for index in 0..self.entries.len() {
            self.prepare(index).await;
        }
    }

    /// Answers an operation that does not run.
    fn fail(&mut self, index: usize, failure: Failure) {
        let Some(entry) = self.entries.get_mut(index) else { return };
        entry.is_finished = true;
        self.engine.observe_failure(&self.operation_context, &entry.operation, &failure);
        let response = failure_response(OperationClass::from_name(&entry.operation), failure);
        self.answer.push(index, &entry.operation, response, OnConfirmation::Skip);
    }

    /// The reads from here on that can run concurrently: up to the first operation that is not a plain read, or that
    /// refers to one of them.
    async fn next_reads(&mut self, first: usize) -> Vec<usize> {
        let mut reads = Vec::new();
        for index in first..self.entries.len() {
            self.prepare(index).await;
            match self.entry(index) {
                Some(entry) if entry.is_finished => {}
                Some(Entry { ready: Some(ready), .. }) if ready.is_plain_read() => reads.push(index),
                _ => break,
            }
        }
        reads
    }

    /// Runs reads concurrently, until the time of the batch is used up. Returns the one that has to be confirmed, if the
    /// rules have changed meanwhile.
    async fn run_reads(&mut self, reads: Vec<usize>) -> Option<usize> {
        let cancelled = self.operation_context.cancelled.child_token();
        let context = Arc::new(Context { cancelled: cancelled.clone(), ..Context::clone(&self.operation_context) });
        let mut jobs = Vec::with_capacity(reads.len());
        for index in reads {
            let Some((request, ready)) = self.take(index) else { continue };
            let (engine, receiver, context, deadline) = (self.engine, self.receiver, context.clone(), self.deadline);
            let job = async move {
                if deadline.has_passed() {
                    return (index, deadline.skip(engine, &context, &request.operation));
                }
                let response = engine.run_in_batch(receiver, request, ready, None, context).await;
                (index, deadline.explain(response))
            };
            jobs.push(job.boxed());
        }
        let mut answered = futures::stream::iter(jobs).buffered(MAX_CONCURRENT_READS);
        while let Some((index, response)) = self.deadline.cancel_when_passed(answered.next(), &cancelled).await {
            if self.push(index, response) == Step::Halted {
                return Some(index);
            }
        }
        None
    }

    async fn run_alone(&mut self, index: usize) -> Step {
        let Some((request, ready)) = self.take(index) else {
            // Everything it refers to is answered, so it is ready, or has failed while it was prepared.
            if self.entry(index).is_some_and(|entry| !entry.is_finished) {
                self.fail(index, Failure::internal("an operation of a batch was not ready"));
            }
            return Step::Next;
        };
        let grant = self.grant.clone().filter(|grant| grant.covers(index)).map(|grant| (grant, index));
        let context = self.operation_context.clone();
        let response = self.engine.run_in_batch(self.receiver, request, ready, grant, context).await;
        self.push(index, response)
    }

    /// Takes a request to run it. The entry keeps a copy, in case the operation has to be sent again.
    fn take(&mut self, index: usize) -> Option<(Request, ReadyRequest)> {
        let entry = self.entries.get_mut(index).filter(|entry| !entry.is_finished)?;
        Some((entry.request.clone()?, entry.ready.take()?))
    }

    /// Adds the answer to an operation that has run, or has to be confirmed first.
    fn push(&mut self, index: usize, response: Response) -> Step {
        let Some(entry) = self.entries.get_mut(index) else { return Step::Next };
        entry.is_finished = true;
        let response = match response {
            // The caller has to send the values again: the answer they come from is not part of the next batch.
            Response::Failure(failure) if failure.code() == Code::ConfirmationRequired && entry.has_references => {
                let params = entry.request.clone().map(Request::into_params).unwrap_or_default();
                Response::Failure(failure.detail("params", Value::Object(params)))
            }
            other => other,
        };
        self.answer.push(index, &entry.operation, response, self.engine.settings().on_confirmation)
    }

    /// The operations that are not answered.
    fn open(&self) -> Vec<usize> {
        let open = self.entries.iter().enumerate().filter(|(_, entry)| !entry.is_finished);
        open.map(|(index, _)| index).collect()
    }

    /// Fails every operation that refers to a value that will never be available, so that it is neither confirmed nor
    /// sent again.
    fn fail_unresolvable(&mut self) {
        let mut budget = self.budget;
        for index in 0..self.entries.len() {
            let Some(entry) = self.entry(index).filter(|entry| !entry.is_finished) else { continue };
            if entry.refers_to.is_empty() {
                continue;
            }
            let open = self.open();
            if let Err(failure) = self.params_for(index, &open, &mut budget) {
                self.fail(index, failure);
            }
        }
    }

    /// These operations as the gate sees them.
    fn batch_entries(&self, batch: &[usize], gated: &[usize]) -> Vec<BatchEntry<'_>> {
        let mut budget = self.budget;
        let entries = batch.iter().filter_map(|index| {
            let entry = self.entry(*index)?;
            let request = match &entry.ready {
                Some(ready) => EntryRequest::Checked(&ready.checked),
                None => {
                    let params = self.params_for(*index, batch, &mut budget).unwrap_or_default();
                    EntryRequest::Unresolved { operation: &entry.operation, params }
                }
            };
            let obstacle = match &entry.rehearsal {
                RehearsalResult::WouldFail(failure) => Some(failure),
                RehearsalResult::Unknown | RehearsalResult::WouldDo(_) => None,
            };
            let preview = entry.rehearsal.preview();
            Some(BatchEntry { index: *index, request, is_gated: gated.contains(index), preview, obstacle })
        });
        entries.collect()
    }

    /// The parameters of an operation for a batch of these operations: references to available answers are replaced by
    /// values, and others count from the first of these operations.
    fn params_for(&self, index: usize, batch: &[usize], budget: &mut usize) -> Result<Map<String, Value>, Failure> {
        let Some(entry) = self.entry(index) else { return Ok(Map::new()) };
        let Some(request) = entry.request.clone() else { return Ok(Map::new()) };
        if entry.refers_to.is_empty() {
            return Ok(request.into_params());
        }
        let target = |other: usize| match batch.iter().position(|own| *own == other) {
            Some(position) => Target::Later(position),
            None => Target::Known(self.answer.earlier(other)),
        };
        reference::resolve(request, &target, budget, &self.engine.settings().limits).map(Request::into_params)
    }

    /// The answer of a batch that stops here. All operations after it are sent again with it.
    fn halt(mut self, halted: usize) -> Reply {
        // Answered as the operation that waits, and part of the next batch.
        let is_next = |run: &mut Self, is_next: bool| {
            if let Some(entry) = run.entries.get_mut(halted) {
                entry.is_finished = !is_next;
            }
        };
        is_next(&mut self, true);
        self.fail_unresolvable();
        let next = self.open();
        is_next(&mut self, false);
        let mut budget = self.budget;
        for index in next.iter().copied().filter(|index| *index != halted) {
            let params = self.params_for(index, &next, &mut budget).unwrap_or_default();
            let operation = self.entry(index).map(|entry| entry.operation.clone()).unwrap_or_default();
            self.answer.push_pending(index, &operation, params);
        }
        Reply::Response(Response::Batch(self.answer))
    }

    /// Refuses the batch as a whole.
    fn refuse(&self, failure: Failure) -> Reply {
        self.engine.observe_failure(&self.operation_context, "", &failure);
        Reply::Response(refused(failure))
    }
}
