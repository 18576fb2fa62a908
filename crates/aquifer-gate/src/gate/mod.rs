//! The gate: policy, then limits, then confirmation, then recording the intent, then the pass.
//!
//! A read that policy allows and no limit counts costs one lookup and no I/O. If the state store is unavailable, reads
//! continue uncounted, and everything that needs the store is refused. Every write is recorded; if the audit cannot be
//! written, writes are refused.

mod batch;
mod confirmation;
mod destinations;
mod edit;
mod explain;
mod hidden_tests;
mod intent;
mod limits;
mod receipt;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use aquifer_engine::clock::SteadyClock;
use aquifer_engine::gate::{
    BatchConfirmation, BatchDecision, BatchGate, ConfirmationMethod, Decision, Gate, Grant, Pass, Rules, Shown,
};
use aquifer_engine::rehearsal::Rehearsal;
use aquifer_engine::store::StateStore;
use aquifer_engine::{Caller, Context};
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::introspect::signature::Mark;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::Types;
use aquifer_protocol::validate::Checked;
use futures::future::{BoxFuture, FutureExt};
use parking_lot::RwLock;
use serde_json::{Map, Value};

use crate::audit::{Audit, Entry, Event};
use crate::confirm::{
    ConfirmSettings, ConfirmSettingsError, ConfirmationPrompt, Confirmations, RecordedEdit, Redemption, Scope,
};
use crate::destination::{DestinationSettings, DestinationSettingsError, KnownDestinations, TextOrigins};
use crate::policy::{
    CompiledPolicy, Effect, Policy, PolicyDecision, PolicySettings, RequiredOperation, SettingsError, Strength, Subject,
};
use crate::quota::{CountedCall, OperationCounters, QuotaSettings, QuotaSettingsError, Quotas};
use batch::BatchGrant;
use hidden_tests::HiddenTestReceipt;
use intent::is_write;

/// Maximum number of operations prepared at a time.
const MAX_PREPARED: usize = 20_000;

/// Settings of the gate.
#[derive(Debug, Clone, Default)]
pub struct GateSettings {
    /// Matrix, rules and strengths.
    pub policy: PolicySettings,
    /// Confirmations.
    pub confirm: ConfirmSettings,
    /// Rate limits and quotas.
    pub quota: QuotaSettings,
    /// Known destinations.
    pub destinations: DestinationSettings,
}

/// Why settings are invalid.
#[derive(Debug, thiserror::Error)]
pub enum GateSettingsError {
    /// The policy is invalid.
    #[error(transparent)]
    Policy(#[from] SettingsError),
    /// The confirmation settings are invalid.
    #[error(transparent)]
    Confirm(#[from] ConfirmSettingsError),
    /// The limits are invalid.
    #[error(transparent)]
    Quota(#[from] QuotaSettingsError),
    /// The known destinations are invalid.
    #[error(transparent)]
    Destinations(#[from] DestinationSettingsError),
}

/// Stops calls that are denied by policy, lack confirmation, or exceed a limit.
pub struct SafetyGate {
    policy: Policy,
    /// Cached per-operation state that does not depend on the call.
    prepared: RwLock<HashMap<Arc<str>, Arc<PreparedOperation>, foldhash::fast::RandomState>>,
    confirmations: Confirmations,
    destinations: KnownDestinations,
    origins: TextOrigins,
    quotas: Quotas,
    audit: Audit,
    started: Instant,
    /// Reads are not counted until this time because the store has failed, in milliseconds since `started`.
    uncounted_until: AtomicU64,
    /// Whether this gate was replaced because the rules changed.
    is_retired: AtomicBool,
}

/// The state of an operation that does not depend on the call.
struct PreparedOperation {
    compiled: CompiledPolicy,
    /// The limits and quotas that count its calls.
    counters: OperationCounters,
    /// Whether every call is denied, in which case callers must not learn of the operation.
    is_hidden: bool,
}

/// A call that is being evaluated.
#[derive(Clone, Copy)]
struct Evaluation<'a> {
    request: &'a Checked,
    context: &'a Context,
    prepared: &'a PreparedOperation,
    decision: &'a PolicyDecision,
    /// The confirmation of a batch, and the index of this call in it.
    grant: Option<(&'a BatchGrant, usize)>,
    /// Rehearses the call before a person is asked about it.
    rehearsal: Option<&'a dyn Rehearsal>,
}

/// A refusal or a question. Boxed, because most calls pass.
type EarlyDecision = Box<Decision>;

fn refuse_with(failure: Failure) -> EarlyDecision {
    Box::new(Decision::Refuse(failure))
}

impl<'a> Evaluation<'a> {
    fn operation(&self) -> &'a Arc<Operation> {
        self.request.operation()
    }

    fn caller(&self) -> &'a Caller {
        &self.context.caller
    }

    fn counters(&self) -> &'a OperationCounters {
        &self.prepared.counters
    }

    fn counted(&self) -> CountedCall<'a> {
        CountedCall::new(self.request, self.caller())
    }

    fn entry(&self, event: Event) -> Entry {
        Entry::for_operation(event, self.operation()).context(self.context)
    }

    fn scope(&self) -> Scope {
        Scope::new(self.operation(), self.caller(), self.request.params())
    }

    fn prompt(&self) -> ConfirmationPrompt {
        ConfirmationPrompt::new(self.request, self.decision)
    }
}

/// Whether a request is a dry run: its source guarantees that nothing is changed, and `dry_run` is exactly `true`. An
/// upstream's own dry run does not count, because nothing guarantees it.
///
/// The parameters are validated and canonical, and reach the source unchanged, so the source cannot interpret a
/// different spelling instead.
fn is_dry_run(request: &Checked) -> bool {
    let operation = request.operation();
    operation.safety.has_safe_dry_run
        && operation.origin.native
        && request.params().get("dry_run") == Some(&Value::Bool(true))
}

impl SafetyGate {
    /// Creates a gate on this store. The store should use the same clock, so that the gate learns the store's time; see
    /// [`persist_time`](crate::persist_time).
    pub fn new(
        settings: &GateSettings,
        audit: Audit,
        store: Arc<dyn StateStore>,
        clock: Arc<SteadyClock>,
    ) -> Result<Self, GateSettingsError> {
        settings.confirm.check()?;
        if settings.confirm.skew > Duration::from_secs(60) {
            tracing::warn!(
                seconds = settings.confirm.skew.as_secs(),
                "a large clock skew tolerance extends the lifetime of tokens"
            );
        }
        Ok(Self {
            policy: Policy::new(&settings.policy)?,
            prepared: RwLock::default(),
            quotas: Quotas::new(&settings.quota, store.clone(), clock.clone())?,
            destinations: KnownDestinations::new(&settings.destinations, store.clone(), clock.clone())?,
            origins: TextOrigins::new(&settings.destinations, store.clone(), clock.clone()),
            confirmations: Confirmations::new(store, clock, settings.confirm.clone()),
            audit,
            started: Instant::now(),
            uncounted_until: AtomicU64::new(0),
            is_retired: AtomicBool::new(false),
        })
    }

    /// Marks the gate as replaced because the rules changed. A call that is waiting for its cooldown is then refused:
    /// the new rules may require a different confirmation, or deny the call.
    pub fn retire(&self) {
        self.is_retired.store(true, Ordering::Relaxed);
    }

    /// The policy in force.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    fn prepare(&self, operation: &Operation) -> Arc<PreparedOperation> {
        let cached = self.prepared.read().get(&operation.name).cloned();
        if let Some(prepared) = cached.filter(|prepared| prepared.compiled.matches(operation)) {
            return prepared;
        }
        let prepared = Arc::new(PreparedOperation {
            compiled: self.policy.compile(operation),
            // The protocol's own operations belong to no source, and callers need them to diagnose failures.
            counters: match operation.origin.source.is_empty() {
                true => OperationCounters::default(),
                false => self.quotas.counters_for(operation),
            },
            is_hidden: self.policy.denies_always(operation),
        });
        let mut all = self.prepared.write();
        if all.len() >= MAX_PREPARED {
            all.clear();
        }
        all.insert(operation.name.clone(), prepared.clone());
        prepared
    }

    /// The effect before rules that depend on the call.
    fn default_effect(&self, operation: &Operation, context: &Context) -> Effect {
        let subject = Subject { operation, caller: &context.caller, scopes: &[], params: None, types: None };
        self.prepare(operation).compiled.decide(&subject).effect
    }

    fn decide_policy(&self, prepared: &PreparedOperation, request: &Checked, caller: &Caller) -> Arc<PolicyDecision> {
        let (operation, params, types) = (request.operation(), Some(request.judged_params()), Some(request.types()));
        let decision = prepared.compiled.decide(&Subject { operation, caller, scopes: &[], params, types });
        request.also_needs().iter().fold(decision, |decision, needed| {
            let params = Some(request.needed_params());
            let subject = Subject { operation: needed, caller, scopes: &[], params, types };
            let prepared = self.prepare(needed);
            let (operation, is_hidden) = (needed.name.clone(), prepared.is_hidden);
            Arc::new(decision.combine_with(RequiredOperation {
                operation,
                is_hidden,
                decision: prepared.compiled.decide(&subject),
            }))
        })
    }

    /// Decides about a call that a batch confirmation may cover.
    fn decide_with<'a>(
        &'a self,
        request: &'a Checked,
        grant: Option<(&'a BatchGrant, usize)>,
        rehearsal: Option<&'a dyn Rehearsal>,
        context: &'a Context,
    ) -> BoxFuture<'a, Decision> {
        let operation = request.operation();
        let prepared = self.prepare(operation);
        let limited = !prepared.counters.is_empty()
            && self.is_counted(operation)
            && self.quotas.apply_to(&prepared.counters, &context.caller);
        let decision = self.decide_policy(&prepared, request, &context.caller);
        let may_follow_text =
            decision.effect == Effect::Allow && !is_dry_run(request) && self.may_follow_text(request, context);
        let passes_unasked = match decision.effect {
            Effect::Allow if may_follow_text => false,
            Effect::Allow => !is_write(operation) || is_dry_run(request) || self.passes_unrecorded(context),
            Effect::Confirm(_) => is_dry_run(request),
            Effect::Deny(_) => false,
        };
        if passes_unasked && !limited && !operation.safety.tests_hidden {
            return std::future::ready(Decision::Allow(Pass::default())).boxed();
        }
        async move {
            let decision = match may_follow_text {
                true => Box::pin(self.ask_about_text(request, decision, &context.caller)).await,
                false => decision,
            };
            let evaluation =
                Evaluation { request, context, prepared: &prepared, decision: &decision, grant, rehearsal };
            match self.evaluate(evaluation).await {
                Ok(pass) => Decision::Allow(pass),
                Err(stopped) => *stopped,
            }
        }
        .boxed()
    }

    /// Whether a change needs neither a record nor a look at the store.
    fn passes_unrecorded(&self, context: &Context) -> bool {
        !self.audit.is_enabled() && self.confirmations.is_unpaused(&context.caller)
    }

    async fn evaluate(&self, evaluation: Evaluation<'_>) -> Result<Pass, EarlyDecision> {
        let (operation, caller) = (evaluation.operation(), evaluation.caller());
        if let Some(denied) = evaluation.decision.failure(operation) {
            let entry = || {
                evaluation.entry(Event::Denied).code(denied.code().as_str()).reason(&evaluation.decision.explanation())
            };
            self.submit(entry);
            return Err(refuse_with(denied));
        }
        let is_dry_run = is_dry_run(evaluation.request);
        let required = match evaluation.decision.effect {
            // A dry run changes nothing, so nobody is asked and no token is consumed. Denied calls were refused above.
            Effect::Confirm(strength) if !is_dry_run => {
                let is_settled = Box::pin(self.is_settled(evaluation.request, evaluation.prepared, caller)).await;
                (!is_settled).then(|| evaluation.required_strength(strength))
            }
            Effect::Confirm(_) | Effect::Allow | Effect::Deny(_) => None,
        };
        if is_write(operation) && !is_dry_run && !evaluation.brings_decision(required) {
            self.check_pause(evaluation).await?;
        }
        // A call that is sent again with its confirmation was counted the first time. A refused one must not use up a
        // limit that the caller shares with others.
        let is_sent_again = required.is_some_and(|required| evaluation.brings_confirmation(required));
        if !is_sent_again
            && self.is_counted(operation)
            && let Err(quota_error) = self.quotas.count_attempt(evaluation.counters(), evaluation.counted()).await
        {
            self.apply_quota_error(evaluation, quota_error)?;
        }
        let hidden_test = match operation.safety.tests_hidden {
            true => Box::pin(self.admit_hidden_test(evaluation, is_dry_run)).await?,
            false => None,
        };
        let confirmed: Option<Redemption> = match required {
            Some(required) => {
                // Boxed, so that calls without confirmation do not pay for its size.
                let confirmed = Box::pin(async move {
                    self.check_quotas(evaluation).await?;
                    self.confirm(evaluation, required).await
                });
                Some(confirmed.await?)
            }
            None => None,
        };
        if let Some(confirmed) = &confirmed {
            Box::pin(self.remember_destinations(evaluation, confirmed)).await;
        }
        let mut warnings = if self.is_counted(operation) { self.consume(evaluation).await? } else { Vec::new() };
        warnings.extend(confirmed.iter().filter_map(|confirmed| confirmed.edit.as_ref()).map(RecordedEdit::warning));
        let mut pass = Pass { warnings, receipt: None };
        let is_recorded = is_write(operation) && (!is_dry_run || operation.safety.tests_hidden);
        if self.audit.is_enabled() && (confirmed.is_some() || is_recorded) {
            pass.receipt = Some(Box::pin(self.record_intent(evaluation, confirmed.as_ref())).await?);
        }
        if let Some(test) = hidden_test {
            pass.receipt = Some(Box::new(HiddenTestReceipt { test, inner: pass.receipt.take() }));
        }
        Ok(pass)
    }

    /// Decides where nobody can be asked: what needs confirmation is refused, because of `reason`.
    fn admit_unasked(&self, subject: &Subject<'_>, reason: &str, context: &Context) -> Result<(), Failure> {
        let (operation, decision) = (subject.operation, self.policy.decide(subject));
        if let Effect::Allow = decision.effect {
            return Ok(());
        }
        self.submit(|| Entry::for_operation(Event::Denied, operation).context(context).reason(&decision.explanation()));
        Err(match decision.effect {
            Effect::Confirm(_) => {
                let message = format!("Permission denied: {reason}. {}", decision.reason_for_caller());
                Failure::new(Code::PermissionDenied, message).detail("policy", decision.for_caller())
            }
            _ => decision.failure(operation).unwrap_or_else(|| Failure::internal("a denial without words")),
        })
    }

    /// Queues an entry without waiting until it is written.
    fn submit(&self, entry: impl FnOnce() -> Entry) {
        if self.audit.is_enabled()
            && let Err(error) = self.audit.submit(entry())
        {
            tracing::error!(%error, "a decision was not recorded");
        }
    }
}

impl Gate for SafetyGate {
    fn decide<'a>(&'a self, request: &'a Checked, context: &'a Context) -> BoxFuture<'a, Decision> {
        self.decide_with(request, None, None, context)
    }

    fn decide_rehearsed<'a>(
        &'a self,
        request: &'a Checked,
        rehearsal: &'a dyn Rehearsal,
        context: &'a Context,
    ) -> BoxFuture<'a, Decision> {
        self.decide_with(request, None, Some(rehearsal), context)
    }

    fn admit<'a>(&'a self, reading: &'a Operation, context: &'a Context) -> BoxFuture<'a, Result<(), Failure>> {
        async move {
            let subject =
                Subject { operation: reading, caller: &context.caller, scopes: &[], params: None, types: None };
            self.admit_unasked(&subject, "resources and prompts cannot be confirmed", context)?;
            self.count(&self.quotas.counters_for(reading), reading, context).await
        }
        .boxed()
    }

    fn admit_target(
        &self,
        operation: &Operation,
        params: &Map<String, Value>,
        types: &Types,
        context: &Context,
    ) -> Result<(), Failure> {
        let (caller, params, types) = (&context.caller, Some(params), Some(types));
        let subject = Subject { operation, caller, scopes: &[], params, types };
        self.admit_unasked(&subject, "nobody can be asked while the call runs", context)
    }

    fn count_page<'a>(&'a self, operation: &'a Operation, context: &'a Context) -> BoxFuture<'a, Result<(), Failure>> {
        async move {
            let counters = self.quotas.declared(&self.prepare(operation).counters);
            self.count(&counters, operation, context).await
        }
        .boxed()
    }

    fn quota<'a>(&'a self, context: &'a Context, source: Option<&'a str>) -> BoxFuture<'a, Value> {
        self.quotas.status(&context.caller, source).boxed()
    }

    fn note<'a>(
        &'a self,
        operation: &'a Operation,
        shown: Shown<'_>,
        context: &'a Context,
    ) -> Option<BoxFuture<'a, ()>> {
        if context.interaction.is_person() {
            return None;
        }
        Some(self.origins.note(operation, shown, &context.caller)?.boxed())
    }

    fn as_rules(&self) -> Option<&dyn Rules> {
        Some(self)
    }

    fn as_batch(&self) -> Option<&dyn BatchGate> {
        Some(self)
    }
}

impl Rules for SafetyGate {
    fn confirms(&self) -> bool {
        true
    }

    fn may_confirm(&self, operation: &Operation) -> bool {
        self.policy.may_confirm(operation) || self.quotas.may_pause(operation) || self.origins.may_concern(operation)
    }

    fn denies_always(&self, operation: &Operation) -> bool {
        self.policy.denies_always(operation)
    }

    fn restricts(&self, operation: &Operation) -> bool {
        self.policy.restricts(operation)
    }

    fn judges_parameters(&self, operation: &Operation) -> bool {
        self.policy.judges_parameters(operation)
    }

    fn policy(&self, operation: &Operation, context: &Context) -> &'static str {
        self.default_effect(operation, context).as_str()
    }

    fn mark(&self, operation: &Operation, context: &Context) -> Mark {
        match self.default_effect(operation, context) {
            Effect::Allow => Mark::None,
            Effect::Confirm(strength) => match strength.for_interaction(context.interaction) {
                Strength::Approval => Mark::Approval,
                Strength::Token | Strength::Elicit => Mark::Confirm,
            },
            Effect::Deny(_) => Mark::Denied,
        }
    }
}

impl BatchGate for SafetyGate {
    fn confirmation(&self, request: &Checked, context: &Context) -> Option<ConfirmationMethod> {
        self.confirmation_method(request, context)
    }

    fn confirm_batch<'a>(
        &'a self,
        batch: &'a BatchConfirmation<'a>,
        context: &'a Context,
    ) -> BoxFuture<'a, BatchDecision> {
        self.confirm_calls(batch, context).boxed()
    }

    fn decide_confirmed<'a>(
        &'a self,
        request: &'a Checked,
        grant: &'a Grant,
        index: usize,
        context: &'a Context,
    ) -> BoxFuture<'a, Decision> {
        self.decide_with(request, grant.confirmation().map(|grant| (grant, index)), None, context)
    }
}
