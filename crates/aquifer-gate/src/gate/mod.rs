//! The gate itself: policy, then limits, then confirmation, then the record of what is about to happen, then the pass.
//!
//! A read that policy allows and nothing counts costs a look-up and no I/O. When the state store does not answer, reads go
//! on without being counted, and everything that needed it is refused. Every write goes on record; when the audit cannot
//! be written, nothing is changed.

mod explain;
mod intent;
mod receipt;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use aquifer_engine::clock::SteadyClock;
use aquifer_engine::gate::{Decision, Gate, Pass};
use aquifer_engine::store::{StateStore, StoreError};
use aquifer_engine::{Caller, Context, InputRequest};
use aquifer_protocol::danger::Danger;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::Operation;
use aquifer_protocol::validate::Checked;
use aquifer_protocol::warning::Warning;
use futures::future::{BoxFuture, FutureExt};
use serde_json::{Map, Value, json};

use crate::audit::{Audit, Entry, Event};
use crate::confirm::{
    Answered, Asked, ConfirmSettings, ConfirmSettingsError, Confirmations, Purpose, Refusal, Scope, Wanted, only_alone,
    rules_changed, store_down,
};
use crate::policy::{
    Asking, Compiled, Effect, Needed, Policy, PolicySettings, Ruling, SettingsError, Strength, Subject,
};
use crate::quota::{Charge, Crossed, OperationCounters, QuotaSettings, QuotaSettingsError, Quotas, Stop};
use intent::is_write;

/// More operations than this no catalog has for long.
const MAX_COMPILED: usize = 20_000;

/// How long reads are not counted after the store has failed, so that they do not all wait for it.
const UNCOUNTED: Duration = Duration::from_secs(2);

/// What an operator can set.
#[derive(Debug, Clone, Default)]
pub struct GateSettings {
    /// Matrix, rules and strengths.
    pub policy: PolicySettings,
    /// How long confirmations hold.
    pub confirm: ConfirmSettings,
    /// Rate limits and quotas.
    pub quota: QuotaSettings,
}

/// What is wrong with the settings.
#[derive(Debug, thiserror::Error)]
pub enum GateSettingsError {
    /// With policy.
    #[error(transparent)]
    Policy(#[from] SettingsError),
    /// With confirmations.
    #[error(transparent)]
    Confirm(#[from] ConfirmSettingsError),
    /// With limits.
    #[error(transparent)]
    Quota(#[from] QuotaSettingsError),
}

/// Stops what policy denies, what has not been confirmed and what is too much.
pub struct SafetyGate {
    policy: Policy,
    /// What can be said of each operation before a call.
    prepared: RwLock<HashMap<Arc<str>, Arc<Prepared>, foldhash::fast::RandomState>>,
    confirmations: Confirmations,
    quotas: Quotas,
    audit: Audit,
    begun: Instant,
    /// Until when reads are not counted, in milliseconds since the beginning: the store has just failed.
    uncounted_until: AtomicU64,
    /// Whether other rules are in force by now.
    is_retired: AtomicBool,
}

/// What can be said of an operation before anybody calls it.
struct Prepared {
    compiled: Compiled,
    /// The limits and quotas that count calls of it.
    counters: OperationCounters,
    /// Whether calls of it go on record.
    is_recorded: bool,
    /// Whether every call of it is denied, so that callers are not to know of it.
    is_hidden: bool,
}

/// One call on its way through the gate.
#[derive(Clone, Copy)]
struct Evaluation<'a> {
    request: &'a Checked,
    context: &'a Context,
    prepared: &'a Prepared,
    ruling: &'a Ruling,
}

/// Anything but a pass. Boxed, because most calls pass.
type Stopped = Box<Decision>;

fn refused(failure: Failure) -> Stopped {
    Box::new(Decision::Refuse(failure))
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
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

    fn entry(&self, event: Event) -> Entry {
        Entry::about(event, self.operation()).within(self.context)
    }

    fn scope(&self) -> Scope {
        Scope::new(self.operation(), self.caller(), self.request.params())
    }

    fn asked(&self) -> Asked {
        Asked::about(self.request, self.ruling)
    }
}

/// Whether a request only rehearses: its source guarantees that nothing is changed, and `dry_run` is exactly `true`. What
/// an upstream calls a dry run is that server's word, and counts for nothing.
///
/// The parameters are checked and canonical by now, and reach the source as they are: there is no other spelling that the
/// source would read instead.
fn is_dry_run(request: &Checked) -> bool {
    let operation = request.operation();
    operation.has_safe_dry_run && operation.native && request.params().get("dry_run") == Some(&Value::Bool(true))
}

impl SafetyGate {
    /// A gate over this store. The store should count by the same clock, so that the gate learns the time that the store
    /// has kept; see [`keep_time`](crate::keep_time).
    pub fn new(
        settings: &GateSettings,
        audit: Audit,
        store: Arc<dyn StateStore>,
        clock: Arc<SteadyClock>,
    ) -> Result<Self, GateSettingsError> {
        settings.confirm.check()?;
        if settings.confirm.skew > Duration::from_secs(60) {
            tracing::warn!(seconds = settings.confirm.skew.as_secs(), "a large skew lets tokens live longer");
        }
        Ok(Self {
            policy: Policy::new(&settings.policy)?,
            prepared: RwLock::default(),
            quotas: Quotas::new(&settings.quota, store.clone(), clock.clone())?,
            confirmations: Confirmations::new(store, clock, settings.confirm.clone()),
            audit,
            begun: Instant::now(),
            uncounted_until: AtomicU64::new(0),
            is_retired: AtomicBool::new(false),
        })
    }

    /// Other rules are in force from now on. A call that waits here for its confirmation to rest is not let pass any more:
    /// the new rules may want another confirmation, or none may be enough.
    pub fn retire(&self) {
        self.is_retired.store(true, Ordering::Relaxed);
    }

    /// The policy in force.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    fn prepared(&self, operation: &Operation) -> Arc<Prepared> {
        let known = self.prepared.read().unwrap_or_else(PoisonError::into_inner).get(&operation.name).cloned();
        if let Some(prepared) = known.filter(|prepared| prepared.compiled.is_of(operation)) {
            return prepared;
        }
        let prepared = Arc::new(Prepared {
            compiled: self.policy.compile(operation),
            // The protocol's own operations belong to no source, and are how a caller finds out what went wrong.
            counters: match operation.source.is_empty() {
                true => OperationCounters::default(),
                false => self.quotas.counters_of(operation),
            },
            is_recorded: self.audit.is_kept() && is_write(operation),
            is_hidden: self.policy.denies_always(operation),
        });
        let mut all = self.prepared.write().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_COMPILED {
            all.clear();
        }
        all.insert(operation.name.clone(), prepared.clone());
        prepared
    }

    /// Decides about a request: the most restrictive of what is decided about its operation and about every other that
    /// it needs.
    fn rule(&self, prepared: &Prepared, request: &Checked, caller: &Caller) -> Arc<Ruling> {
        let (operation, params, types) = (request.operation(), Some(request.judged_params()), Some(request.types()));
        let ruling = prepared.compiled.rule(&Subject { operation, caller, scopes: &[], params, types });
        request.also_needs().iter().fold(ruling, |ruling, needed| {
            // What they read is read without any parameters of theirs.
            let none = Map::new();
            let subject = Subject { operation: needed, caller, scopes: &[], params: Some(&none), types };
            let prepared = self.prepared(needed);
            let (operation, is_hidden) = (needed.name.clone(), prepared.is_hidden);
            Arc::new(ruling.and_needed(Needed { operation, is_hidden, ruling: prepared.compiled.rule(&subject) }))
        })
    }

    async fn evaluate(&self, passing: Evaluation<'_>) -> Result<Pass, Stopped> {
        let (operation, caller) = (passing.operation(), passing.caller());
        if let Some(denied) = passing.ruling.failure(operation) {
            let entry = || passing.entry(Event::Denied).code(denied.code().as_str()).reason(&passing.ruling.why());
            self.note(entry);
            return Err(refused(denied));
        }
        if self.counts(operation)
            && let Err(stop) = self.quotas.attempt(passing.counters(), operation, caller).await
        {
            self.stop(passing, stop)?;
        }
        let is_dry_run = is_dry_run(passing.request);
        let confirmed = match passing.ruling.effect {
            // Nothing is changed, so nobody is asked, and no token is used up. What is denied was refused above.
            Effect::Confirm(_) if is_dry_run => false,
            Effect::Confirm(asking) => {
                // Boxed, so that calls which only pass do not carry the room for it.
                Box::pin(async move {
                    self.may_pay(passing).await?;
                    self.confirm(passing, asking).await
                })
                .await?;
                true
            }
            Effect::Allow | Effect::Deny(_) => false,
        };
        let warnings = if self.counts(operation) { self.pay(passing).await? } else { Vec::new() };
        let mut pass = Pass { warnings, receipt: None };
        if self.audit.is_kept() && (confirmed || (is_write(operation) && !is_dry_run)) {
            pass.receipt = Some(Box::pin(self.intend(passing, confirmed)).await?);
        }
        Ok(pass)
    }

    /// Lets pass only with a confirmation as strong as policy wants it.
    async fn confirm(&self, passing: Evaluation<'_>, asking: Asking) -> Result<(), Stopped> {
        let context = passing.context;
        // Whoever could be asked alone is not asked less in a batch.
        let mut required = asking.with(context.interaction.can_ask_alone());
        // Nobody confirms what the question does not show: an approval shows it.
        if required != Strength::Approval && !passing.asked().is_complete() {
            required = Strength::Approval;
        }
        if let Some(token) = &passing.request.metadata().confirmation {
            return self.redeem(passing, token, required).await;
        }
        if required != Strength::Elicit {
            return Err(self.issue(passing, required).await);
        }
        if !context.interaction.can_ask() {
            return Err(refused(only_alone(passing.operation(), &passing.asked())));
        }
        match Confirmations::answered(context) {
            Some((key, answered)) => self.hear(passing, key, answered).await,
            None => Err(self.ask(passing).await),
        }
    }

    async fn redeem(&self, passing: Evaluation<'_>, token: &str, required: Strength) -> Result<(), Stopped> {
        let (scope, caller) = (passing.scope(), passing.caller());
        match self.confirmations.redeem(token, Purpose::Confirmation, required, &scope, caller).await {
            Ok(()) => {
                self.note(|| passing.entry(Event::Confirmed).token(token));
                Ok(())
            }
            Err(refusal) => Err(self.refuse(passing, refusal, token)),
        }
    }

    /// Refuses, with a token to come back with.
    async fn issue(&self, passing: Evaluation<'_>, strength: Strength) -> Stopped {
        let asked = passing.asked();
        match self.confirmations.issue(self.wanted(passing, Purpose::Confirmation, strength), Some(&asked)).await {
            Ok(issued) => {
                let entry =
                    || passing.entry(Event::ConfirmationRequired).token(&issued.token).reason(strength.as_str());
                self.note(entry);
                refused(issued.into_failure(passing.operation(), &asked))
            }
            Err(refusal) => self.refuse(passing, refusal, ""),
        }
    }

    /// Has the person behind the client asked. The name of the question is as unguessable as a token, and as bound.
    async fn ask(&self, passing: Evaluation<'_>) -> Stopped {
        match self.confirmations.issue(self.wanted(passing, Purpose::Question, Strength::Elicit), None).await {
            Ok(issued) => {
                let reason = Strength::Elicit.as_str();
                self.note(|| passing.entry(Event::ConfirmationRequired).token(&issued.token).reason(reason));
                let schema = [("type".to_owned(), json!("object")), ("properties".to_owned(), json!({}))];
                Box::new(Decision::Ask(InputRequest {
                    key: issued.token,
                    message: passing.asked().in_one_text(),
                    schema: schema.into_iter().collect(),
                }))
            }
            Err(refusal) => self.refuse(passing, refusal, ""),
        }
    }

    /// Hears what the person answered.
    async fn hear(&self, passing: Evaluation<'_>, question: &str, answered: Answered) -> Result<(), Stopped> {
        let (scope, caller) = (passing.scope(), passing.caller());
        if answered != Answered::Yes {
            return Err(match self.confirmations.decline(question, &scope, caller).await {
                Ok(()) => {
                    let failure = answered.failure(passing.operation());
                    self.note(|| passing.entry(Event::Declined).token(question).reason(failure.message()));
                    refused(failure)
                }
                Err(refusal) => self.refuse(passing, refusal, ""),
            });
        }
        let redeem = || self.confirmations.redeem(question, Purpose::Question, Strength::Elicit, &scope, caller);
        let mut redeemed = redeem().await;
        if let Err(Refusal::Early { wait, .. }) = redeemed {
            // Asking again would only begin the rest anew.
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = passing.context.cancelled.cancelled() => {}
            }
            if self.is_retired.load(Ordering::Relaxed) {
                return Err(self.refuse(passing, Refusal::Token(rules_changed()), ""));
            }
            redeemed = redeem().await;
        }
        match redeemed {
            Ok(()) => {
                self.note(|| passing.entry(Event::Confirmed).token(question));
                Ok(())
            }
            Err(refusal) => Err(self.refuse(passing, refusal, "")),
        }
    }

    fn wanted<'a>(&self, passing: Evaluation<'a>, purpose: Purpose, strength: Strength) -> Wanted<'a> {
        let (operation, caller) = (passing.operation(), passing.caller());
        let cooldown = match purpose {
            Purpose::Confirmation | Purpose::Question => operation.safeguards.cooldown.max(passing.ruling.cooldown()),
            Purpose::Quota => Duration::ZERO,
        };
        Wanted { purpose, strength, scope: passing.scope(), operation, caller, cooldown }
    }

    fn refuse(&self, passing: Evaluation<'_>, refusal: Refusal, token: &str) -> Stopped {
        let waits = matches!(refusal, Refusal::Pending { .. } | Refusal::Early { .. });
        let failure = refusal.into_failure(passing.request, &passing.asked(), token);
        if !waits {
            let entry = || {
                let entry = passing.entry(Event::TokenRejected).code(failure.code().as_str());
                if token.is_empty() { entry } else { entry.token(token) }
            };
            self.note(entry);
        }
        refused(failure)
    }

    /// Whether the quotas would let the call pass once it is confirmed. Nothing is spent yet.
    async fn may_pay(&self, passing: Evaluation<'_>) -> Result<(), Stopped> {
        let (operation, caller) = (passing.operation(), passing.caller());
        match self.quotas.look(passing.counters(), operation, caller, false).await {
            Ok(()) => Ok(()),
            Err(Stop::Paused(paused)) => match &passing.request.metadata().quota_continue {
                None => Err(self.pause(passing, paused).await),
                Some(token) => {
                    let found = self.confirmations.inspect(token, Purpose::Quota, &passing.scope(), caller).await;
                    found.map_err(|refusal| self.refuse(passing, refusal, token))?;
                    self.quotas
                        .look(passing.counters(), operation, caller, true)
                        .await
                        .or_else(|stop| self.stop(passing, stop))
                }
            },
            Err(stop) => self.stop(passing, stop),
        }
    }

    /// Spends what the call costs.
    async fn pay(&self, passing: Evaluation<'_>) -> Result<Vec<Warning>, Stopped> {
        let (operation, caller) = (passing.operation(), passing.caller());
        let charge = match self.quotas.spend(passing.counters(), operation, caller, false).await {
            Ok(charge) => charge,
            Err(Stop::Paused(paused)) => {
                let Some(token) = &passing.request.metadata().quota_continue else {
                    return Err(Box::pin(self.pause(passing, paused)).await);
                };
                Box::pin(self.resume(passing, token)).await?;
                match self.quotas.spend(passing.counters(), operation, caller, true).await {
                    Ok(charge) => charge,
                    Err(stop) => self.stop(passing, stop).map(|()| Charge::default())?,
                }
            }
            Err(stop) => self.stop(passing, stop).map(|()| Charge::default())?,
        };
        self.note_crossed(&charge, || passing.entry(Event::QuotaWarned));
        Ok(charge.warnings)
    }

    /// Somebody said that it goes on.
    async fn resume(&self, passing: Evaluation<'_>, token: &str) -> Result<(), Stopped> {
        let (scope, caller) = (passing.scope(), passing.caller());
        let redeemed = self.confirmations.redeem(token, Purpose::Quota, Strength::Token, &scope, caller).await;
        redeemed.map_err(|refusal| self.refuse(passing, refusal, token))?;
        self.note(|| passing.entry(Event::QuotaContinued).token(token));
        Ok(())
    }

    /// Refuses until somebody says that it goes on.
    async fn pause(&self, passing: Evaluation<'_>, paused: crate::quota::Paused) -> Stopped {
        match self.confirmations.issue(self.wanted(passing, Purpose::Quota, Strength::Token), None).await {
            Ok(issued) => {
                let entry = || {
                    let entry = passing.entry(Event::QuotaPaused).quota(&paused.metric, paused.used, paused.most);
                    entry.token(&issued.token)
                };
                self.note(entry);
                refused(paused.into_failure(&issued.token, issued.expires_at))
            }
            Err(refusal) => self.refuse(passing, refusal, ""),
        }
    }

    /// What a limit comes to. A read that could not be counted goes on.
    fn stop(&self, passing: Evaluation<'_>, stop: Stop) -> Result<(), Stopped> {
        let operation = passing.operation();
        let (name, used, most, failure) = match stop {
            Stop::Rate { name, most, failure } => (name, most, most, failure),
            Stop::Exhausted { metric, used, most, failure } => (metric, used, most, failure),
            // Only a pause that nobody can end comes here.
            Stop::Paused(paused) => {
                let failure = Failure::new(Code::RateLimitQuotaPause, "Quota pause threshold reached");
                (paused.metric, paused.used, paused.most, failure)
            }
            Stop::Store(error) => return self.uncounted(operation, &error),
        };
        self.note(|| passing.entry(Event::QuotaStopped).quota(&name, used, most).code(failure.code().as_str()));
        Err(refused(failure))
    }

    /// Whether calls are counted at present. Reads are not while the store is known to fail.
    fn counts(&self, operation: &Operation) -> bool {
        let until = self.uncounted_until.load(Ordering::Relaxed);
        operation.danger > Danger::Safe || until == 0 || milliseconds(self.begun.elapsed()) >= until
    }

    fn uncounted(&self, operation: &Operation, error: &StoreError) -> Result<(), Stopped> {
        if operation.danger == Danger::Safe {
            let until = milliseconds(self.begun.elapsed() + UNCOUNTED);
            self.uncounted_until.store(until, Ordering::Relaxed);
            tracing::warn!(%error, operation = &*operation.name, "a read was not counted");
            return Ok(());
        }
        Err(refused(store_down(operation.danger, error)))
    }

    /// Notes quotas that have just reached their warning threshold. Later calls only carry the warning.
    fn note_crossed(&self, charge: &Charge, entry: impl Fn() -> Entry) {
        for Crossed { metric, used, warn } in &charge.crossed {
            self.note(|| entry().quota(metric, *used, *warn));
        }
    }

    /// Hands in an entry that nothing waits for.
    fn note(&self, entry: impl FnOnce() -> Entry) {
        if self.audit.is_kept()
            && let Err(error) = self.audit.note(entry())
        {
            tracing::error!(%error, "a decision is not on record");
        }
    }
}

impl Gate for SafetyGate {
    fn decide<'a>(&'a self, request: &'a Checked, context: &'a Context) -> BoxFuture<'a, Decision> {
        let operation = request.operation();
        let prepared = self.prepared(operation);
        let limited = !prepared.counters.is_empty()
            && self.counts(operation)
            && self.quotas.concern(&prepared.counters, &context.caller);
        let ruling = self.rule(&prepared, request, &context.caller);
        let asks_nobody = match ruling.effect {
            Effect::Allow => !prepared.is_recorded || is_dry_run(request),
            Effect::Confirm(_) => is_dry_run(request),
            Effect::Deny(_) => false,
        };
        if asks_nobody && !limited {
            return std::future::ready(Decision::Allow(Pass::default())).boxed();
        }
        async move {
            match self.evaluate(Evaluation { request, context, prepared: &prepared, ruling: &ruling }).await {
                Ok(pass) => Decision::Allow(pass),
                Err(stopped) => *stopped,
            }
        }
        .boxed()
    }

    fn admit<'a>(&'a self, reading: &'a Operation, context: &'a Context) -> BoxFuture<'a, Result<(), Failure>> {
        async move {
            let subject =
                Subject { operation: reading, caller: &context.caller, scopes: &[], params: None, types: None };
            let ruling = self.policy.rule(&subject);
            let entry = |event: Event| Entry::about(event, reading).within(context).reason(&ruling.why());
            match ruling.effect {
                Effect::Allow => {}
                Effect::Deny(_) => {
                    self.note(|| entry(Event::Denied));
                    return Err(ruling.failure(reading).unwrap_or_else(|| Failure::internal("a denial without words")));
                }
                Effect::Confirm(_) => {
                    self.note(|| entry(Event::Denied));
                    let words = "Permission denied: documents and prompts cannot be confirmed";
                    let message = format!("{words}. {}", ruling.reason_for_caller());
                    return Err(Failure::new(Code::PermissionDenied, message).detail("policy", ruling.for_caller()));
                }
            }
            let counted = async {
                let counters = self.quotas.counters_of(reading);
                self.quotas.attempt(&counters, reading, &context.caller).await?;
                self.quotas.spend(&counters, reading, &context.caller, false).await
            };
            let (name, used, most, failure) = match counted.await {
                Ok(charge) => {
                    let warned = || Entry::about(Event::QuotaWarned, reading).within(context);
                    self.note_crossed(&charge, warned);
                    return Ok(());
                }
                Err(Stop::Rate { name, most, failure }) => (name, most, most, failure),
                Err(Stop::Exhausted { metric, used, most, failure }) => (metric, used, most, failure),
                // There is no place for a token that would let it go on.
                Err(Stop::Paused(paused)) => {
                    let failure = Failure::new(Code::RateLimitQuotaPause, "Quota pause threshold reached");
                    (paused.metric, paused.used, paused.most, failure)
                }
                Err(Stop::Store(error)) => {
                    tracing::warn!(%error, "a read was not counted");
                    return Ok(());
                }
            };
            self.note(|| entry(Event::QuotaStopped).quota(&name, used, most).code(failure.code().as_str()));
            Err(failure)
        }
        .boxed()
    }

    fn confirms(&self) -> bool {
        true
    }

    fn may_confirm(&self, operation: &Operation) -> bool {
        self.policy.may_confirm(operation) || self.quotas.may_pause(operation)
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

    fn quota<'a>(&'a self, context: &'a Context, source: Option<&'a str>) -> BoxFuture<'a, Value> {
        self.quotas.status(&context.caller, source).boxed()
    }

    fn policy(&self, operation: &Operation, context: &Context) -> &'static str {
        let subject = Subject { operation, caller: &context.caller, scopes: &[], params: None, types: None };
        self.prepared(operation).compiled.rule(&subject).effect.as_str()
    }
}
