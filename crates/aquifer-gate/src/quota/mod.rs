//! Rate limits and quotas (R-SAF-4).
//!
//! A rate limit counts every attempt, but a call that is sent again with its confirmation only once. A quota counts calls that reach a source, so it is checked before a confirmation
//! and spent after it. All counts are sliding windows in the state store, so that several processes share them.

mod counter;
mod hidden_tests;
mod settings;
mod status;
mod unused;
mod usage;

use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::Caller;
use aquifer_engine::clock::SharedClock;
use aquifer_engine::store::{SpendResult, StateStore, StoreError};
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::hex::hex;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::warning::{Severity, Warning};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Number, Value};
use sha2::{Digest as _, Sha256};

use crate::confirm::{format_seconds, whole_seconds};
use crate::policy::AmountPath;
use crate::policy::selector::{Selector, SelectorKeys};
use crate::timeout::with_timeout;
use counter::Counter;
use hidden_tests::ChangesInFlight;
use usage::{UNCOUNTABLE, Usage};

pub(crate) use hidden_tests::HiddenTest;
pub(crate) use usage::CountedCall;

pub use settings::CostSettings;
pub use settings::CounterScope;
pub use settings::DeclaredLimits;
pub use settings::PartitionKey;
pub use settings::QuotaSettings;
pub use settings::QuotaSettingsError;
pub use settings::RateLimitSettings;
pub use settings::ThresholdSettings;
pub use settings::WindowUnit;

/// Describes the limits and quotas that restart from zero after a change of settings. A rate limit keeps its count
/// while its name, window and partition keys stay the same; a quota while its metric and scope do.
pub fn describe_counter_resets(before: &QuotaSettings, after: &QuotaSettings) -> Vec<String> {
    let mut restarted = Vec::new();
    let is_gone = |old: &RateLimitSettings| !after.rate_limit.iter().any(|new| new.name == old.name);
    let has_lost_a_limit = before.rate_limit.iter().any(is_gone);
    for limit in &after.rate_limit {
        let why = match before.rate_limit.iter().find(|old| old.name == limit.name) {
            Some(old) if old.window != limit.window => "its window changed",
            Some(old) if old.scope.per != limit.scope.per => "its 'per' changed",
            None if has_lost_a_limit => "its name is new, and another limit was removed",
            Some(_) | None => continue,
        };
        restarted.push(format!("rate limit '{}' counts from zero: {why}", limit.name));
    }
    let (old, new) = (counter_names(before), counter_names(after));
    if old.iter().any(|counter| !new.contains(counter)) {
        let changed = new.iter().zip(&after.quota).zip(1..).filter(|((counter, _), _)| !old.contains(counter));
        restarted.extend(changed.map(|((_, quota), number)| {
            format!("quota {number} '{}' counts from zero: its metric or what it counts changed", quota.metric)
        }));
    }
    restarted
}

/// Costs are counted in millionths.
const MICROS_PER_UNIT: f64 = 1_000_000.0;

/// The limits in force.
pub(crate) struct Quotas {
    store: Arc<dyn StateStore>,
    clock: SharedClock,
    rates: Vec<Rate>,
    quotas: Vec<Quota>,
    prices: Vec<Price>,
    currency: Option<String>,
    hidden_tests: ChangesInFlight,
}

/// The limits and quotas that count calls of an operation, and how much of each quota one call uses. Depends only on
/// the operation, so it is computed once.
#[derive(Debug, Default)]
pub(crate) struct OperationCounters {
    rates: Vec<usize>,
    quotas: Vec<(usize, Usage)>,
}

impl OperationCounters {
    pub(crate) fn is_empty(&self) -> bool {
        self.rates.is_empty() && self.quotas.is_empty()
    }
}

struct Rate {
    name: String,
    /// Whether a source declared it rather than the operator.
    is_declared: bool,
    counter: Counter,
    limit: u64,
    span: WindowUnit,
}

struct Quota {
    metric: String,
    /// Whether a source declared it rather than the operator.
    is_declared: bool,
    kind: Metric,
    span: WindowUnit,
    counter: Counter,
    /// The parameter that is added up, for amounts.
    amount: Option<AmountPath>,
    warn: Option<u64>,
    pause: Option<u64>,
    stop: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Metric {
    Requests,
    Cost,
    Recipients,
    Amount,
}

struct Price {
    /// Whether a source declared it rather than the operator.
    is_declared: bool,
    selector: Selector,
    micros: u64,
}

/// Why a call is refused or paused.
#[derive(Debug)]
pub(crate) enum QuotaError {
    /// A rate limit is exceeded.
    RateLimited { name: String, limit: u64, failure: Failure },
    /// A quota is paused: the caller needs a token to continue.
    Paused(QuotaPause),
    /// A quota is exhausted.
    Exhausted { metric: String, used: u64, limit: u64, failure: Failure },
    /// The store is unavailable.
    Store(StoreError),
}

/// The result of spending.
#[derive(Debug, Default)]
pub(crate) struct Charge {
    /// Every quota above its warning threshold, for the caller.
    pub(crate) warnings: Vec<Warning>,
    /// Every quota that this call raised to its warning threshold, for the audit.
    pub(crate) crossings: Vec<ThresholdCrossing>,
}

/// A quota that has just reached its warning threshold.
#[derive(Debug)]
pub(crate) struct ThresholdCrossing {
    pub(crate) metric: String,
    pub(crate) used: u64,
    pub(crate) warn: u64,
}

/// A paused quota.
#[derive(Debug)]
pub(crate) struct QuotaPause {
    pub(crate) metric: String,
    pub(crate) used: u64,
    pub(crate) limit: u64,
    current: Value,
    pause: Value,
    stop: Option<Value>,
}

impl From<StoreError> for QuotaError {
    fn from(error: StoreError) -> Self {
        QuotaError::Store(error)
    }
}

impl Quotas {
    pub(crate) fn new(
        settings: &QuotaSettings,
        store: Arc<dyn StateStore>,
        clock: SharedClock,
    ) -> Result<Self, QuotaSettingsError> {
        let mut problems = Vec::new();
        let mut names: Vec<&str> = Vec::new();
        let mut rates = Vec::new();
        let declared = &settings.declared;
        for (rate, is_declared) in with_declared(&settings.rate_limit, &declared.rate_limit) {
            if rate.name.is_empty() || rate.name.contains('/') || names.contains(&rate.name.as_str()) {
                problems.push(format!("rate limit '{}': a rate limit needs a name of its own, without '/'", rate.name));
            }
            names.push(&rate.name);
            let counter = Counter::new(&rate.name, &rate.scope, &mut problems);
            rates.push(Rate { name: rate.name.clone(), is_declared, counter, limit: rate.limit, span: rate.window });
        }
        let mut quotas = Vec::new();
        let all = with_declared(&settings.quota, &declared.quota);
        for (counter, (quota, is_declared)) in counter_names(settings).iter().zip(all) {
            quotas.extend(Quota::new(counter, quota, is_declared, &mut problems));
        }
        let mut prices = Vec::new();
        // The last price that selects an operation applies, so the operator's prices come last.
        let of_operator = settings.cost.iter().map(|price| (price, false));
        for (price, is_declared) in declared.cost.iter().map(|price| (price, true)).chain(of_operator) {
            let mut report = |problem: String| problems.push(format!("cost: {problem}"));
            let keys = SelectorKeys {
                source: price.source.clone(),
                operation: price.operation.clone(),
                tool: price.tool.clone(),
                table: price.table.clone(),
            };
            prices.push(Price {
                is_declared,
                selector: Selector::restricting(keys, &mut report),
                micros: amount(Metric::Cost, price.cost_per_call).unwrap_or_else(|| {
                    report(format!("{} is not a valid price", price.cost_per_call));
                    0
                }),
            });
        }
        if !problems.is_empty() {
            return Err(QuotaSettingsError(problems));
        }
        let currency = settings.currency.clone().or_else(|| declared.currency.clone());
        Ok(Self { store, clock, rates, quotas, prices, currency, hidden_tests: ChangesInFlight::default() })
    }

    /// The limits and quotas that count calls of this operation.
    pub(crate) fn counters_for(&self, operation: &Operation) -> OperationCounters {
        let rates = self.rates.iter().enumerate().filter(|(_, rate)| rate.counter.may_count(operation));
        let quotas = self.quotas.iter().enumerate().filter(|(_, quota)| quota.may_count(operation));
        let usage = |quota: &Quota| match quota.kind {
            Metric::Requests => Usage::Fixed(1),
            Metric::Cost => Usage::Fixed(self.price(operation)),
            Metric::Recipients | Metric::Amount => Usage::OfCall,
        };
        let quotas = quotas.map(|(index, quota)| (index, usage(quota))).filter(|(_, usage)| *usage != Usage::Fixed(0));
        OperationCounters { rates: rates.map(|(index, _)| index).collect(), quotas: quotas.collect() }
    }

    /// The counters among these that a source declared. They count every request to it.
    pub(crate) fn declared(&self, counters: &OperationCounters) -> OperationCounters {
        let rates = counters.rates.iter().filter(|index| self.rates.get(**index).is_some_and(|rate| rate.is_declared));
        let quotas =
            counters.quotas.iter().filter(|(index, _)| self.quotas.get(*index).is_some_and(|quota| quota.is_declared));
        OperationCounters { rates: rates.copied().collect(), quotas: quotas.copied().collect() }
    }

    /// Whether any of these counts calls of this caller.
    pub(crate) fn apply_to(&self, counters: &OperationCounters, caller: &Caller) -> bool {
        self.rates(counters, caller).next().is_some() || self.quotas(counters, caller).next().is_some()
    }

    fn rates<'a>(&'a self, counters: &'a OperationCounters, caller: &'a Caller) -> impl Iterator<Item = &'a Rate> {
        let rates = counters.rates.iter().filter_map(|index| self.rates.get(*index));
        rates.filter(|rate| rate.counter.counts_caller(caller))
    }

    /// The quotas that count calls of a caller.
    fn quotas<'a>(
        &'a self,
        counters: &'a OperationCounters,
        caller: &'a Caller,
    ) -> impl Iterator<Item = (&'a Quota, Usage)> {
        let quotas = counters.quotas.iter().filter_map(|(index, usage)| Some((self.quotas.get(*index)?, *usage)));
        quotas.filter(|(quota, _)| quota.counter.counts_caller(caller))
    }

    /// The quotas that count a call, and how much of each it uses.
    fn usages<'a>(&'a self, counters: &'a OperationCounters, call: CountedCall<'a>) -> Vec<(&'a Quota, u64)> {
        let usages = self.quotas(counters, call.caller).map(|(quota, usage)| (quota, quota.usage_of(usage, call)));
        usages.filter(|(_, usage)| *usage > 0).collect()
    }

    /// Whether a call of this operation may be paused and then needs a token.
    pub(crate) fn may_pause(&self, operation: &Operation) -> bool {
        self.quotas.iter().any(|quota| quota.pause.is_some() && quota.may_count(operation))
    }

    /// Counts an attempt. Limits checked before the one that refuses an attempt still count it.
    pub(crate) async fn count_attempt(
        &self,
        counters: &OperationCounters,
        call: CountedCall<'_>,
    ) -> Result<(), QuotaError> {
        for rate in self.rates(counters, call.caller) {
            let key = rate.counter.key(call.operation, call.caller);
            let spent = with_timeout(self.store.spend(&key, 1, rate.limit, rate.span.duration())).await?;
            if !spent.accepted {
                return Err(QuotaError::RateLimited {
                    name: rate.name.clone(),
                    limit: rate.limit,
                    failure: self.rate_limit_failure(&rate.name, rate.limit, rate.span, &spent),
                });
            }
        }
        Ok(())
    }

    /// Checks whether the quotas would admit a call. Spends nothing.
    pub(crate) async fn check(
        &self,
        counters: &OperationCounters,
        call: CountedCall<'_>,
        is_resumed: bool,
    ) -> Result<(), QuotaError> {
        for (quota, amount) in self.usages(counters, call) {
            let key = quota.counter.key(call.operation, call.caller);
            let Some(limit) = quota.limit(is_resumed) else { continue };
            let room = limit.saturating_sub(amount);
            let spent = with_timeout(self.store.spend(&key, 0, room, quota.span.duration())).await?;
            if !spent.accepted || amount > limit {
                return Err(self.quota_error(quota, amount, &spent));
            }
        }
        Ok(())
    }

    /// Spends the cost of a call. Returns the quotas that are nearly exhausted.
    pub(crate) async fn spend(
        &self,
        counters: &OperationCounters,
        call: CountedCall<'_>,
        is_resumed: bool,
    ) -> Result<Charge, QuotaError> {
        let usages = self.usages(counters, call);
        if usages.len() > 1 {
            // Check all quotas first: nothing is spent on one if another stops the call.
            self.check(counters, call, is_resumed).await?;
        }
        let mut charge = Charge::default();
        for (quota, amount) in usages {
            let key = quota.counter.key(call.operation, call.caller);
            let limit = quota.limit(is_resumed).unwrap_or(u64::MAX);
            let spent = with_timeout(self.store.spend(&key, amount, limit, quota.span.duration())).await?;
            if !spent.accepted {
                return Err(self.quota_error(quota, amount, &spent));
            }
            charge.warnings.extend(quota.warning(spent.total));
            if let Some(warn) = quota.warn
                && spent.total >= warn
                && spent.total.saturating_sub(amount) < warn
            {
                charge.crossings.push(ThresholdCrossing { metric: quota.metric.clone(), used: spent.total, warn });
            }
        }
        Ok(charge)
    }

    fn price(&self, operation: &Operation) -> u64 {
        self.prices.iter().rfind(|price| price.selector.selects(operation)).map_or(0, |price| price.micros)
    }

    fn rate_limit_failure(&self, name: &str, limit: u64, span: WindowUnit, spent: &SpendResult) -> Failure {
        let failure = Failure::new(Code::RateLimitExceeded, "API rate limit exceeded")
            .detail("limit_name", name)
            .detail("limit", limit)
            .detail("remaining", 0)
            .detail("window", span.as_str());
        self.with_retry_after(failure, spent.retry_after)
    }

    fn quota_error(&self, quota: &Quota, amount: u64, spent: &SpendResult) -> QuotaError {
        let used = spent.total;
        match quota.stop {
            Some(stop) if used.saturating_add(amount) > stop => {
                let failure = Failure::new(Code::RateLimitQuotaExhausted, "Quota exhausted")
                    .detail("metric", quota.metric.as_str())
                    .detail("current", quota.to_json(used))
                    .detail("hard_stop_threshold", quota.to_json(stop));
                let failure = match amount {
                    UNCOUNTABLE => failure.detail("reason", quota.uncountable()),
                    _ => failure,
                };
                let failure = self.with_retry_after(failure, spent.retry_after);
                QuotaError::Exhausted { metric: quota.metric.clone(), used, limit: stop, failure }
            }
            stop => {
                let pause = quota.pause.unwrap_or_default();
                QuotaError::Paused(QuotaPause {
                    metric: quota.metric.clone(),
                    used,
                    limit: pause,
                    current: quota.to_json(used),
                    pause: quota.to_json(pause),
                    stop: stop.map(|stop| quota.to_json(stop)),
                })
            }
        }
    }

    /// Adds the waiting time, unless waiting does not help.
    fn with_retry_after(&self, failure: Failure, retry_after: Duration) -> Failure {
        let resets_at = SignedDuration::try_from(retry_after)
            .ok()
            .and_then(|retry_after| self.clock.now().checked_add(retry_after).ok());
        match resets_at {
            Some(resets_at) => failure
                .detail("resets_at", format_seconds(round_up(resets_at)))
                .detail("retry_after_seconds", whole_seconds(retry_after)),
            None => failure,
        }
    }
}

/// Rounds up to the second, so that the time is never too early.
fn round_up(time: Timestamp) -> Timestamp {
    let up = i64::from(time.subsec_nanosecond() > 0);
    Timestamp::from_second(time.as_second().saturating_add(up)).unwrap_or(time)
}

impl Quota {
    fn new(counter: &str, settings: &ThresholdSettings, is_declared: bool, problems: &mut Vec<String>) -> Option<Self> {
        let metric = settings.metric.as_str();
        let read = metric.split_once("_per_").and_then(|(name, span)| {
            let kind = match name {
                "requests" => Metric::Requests,
                "cost" => Metric::Cost,
                "recipients" => Metric::Recipients,
                "amount" => Metric::Amount,
                _ => return None,
            };
            Some((kind, WindowUnit::parse(span)?))
        });
        let Some((kind, span)) = read else {
            problems.push(format!(
                "quota '{metric}': a metric is 'requests', 'cost', 'recipients' or 'amount', '_per_', and second, minute, \
                 hour, day or month"
            ));
            return None;
        };
        let path = settings.param.as_deref().and_then(AmountPath::parse);
        if (kind == Metric::Amount) != path.is_some() || path.is_some() != settings.param.is_some() {
            let problem = "'param' names the parameter that is added up, for amounts and only for them";
            problems.push(format!("quota '{metric}': {problem}"));
        }
        let mut threshold = |name: &str, value: Option<f64>| {
            let value = value?;
            let read = amount(kind, value);
            if read.is_none() {
                problems.push(format!("quota '{metric}': {name} = {value} is not a valid amount"));
            }
            read
        };
        let (warn, pause, stop) = (
            threshold("warn", settings.warn),
            threshold("pause", settings.pause),
            threshold("hard_stop", settings.hard_stop),
        );
        let rising: Vec<u64> = [warn, pause, stop].into_iter().flatten().collect();
        if rising.is_empty() {
            problems.push(format!("quota '{metric}': it needs 'warn', 'pause' or 'hard_stop'"));
        }
        if !rising.is_sorted() {
            problems.push(format!("quota '{metric}': 'warn', 'pause' and 'hard_stop' have to be in ascending order"));
        }
        let counter = Counter::new(counter, &settings.scope, problems);
        Some(Self { metric: metric.to_owned(), is_declared, kind, span, counter, amount: path, warn, pause, stop })
    }

    /// Whether it counts calls of this operation by any caller. An amount is added up where its parameter is declared. An
    /// operation that the quota names, by itself or by what it does, has to have it.
    fn may_count(&self, operation: &Operation) -> bool {
        let has_amount =
            || self.amount.as_ref().is_none_or(|amount| self.counter.is_selective() || amount.begins_in(operation));
        self.counter.may_count(operation) && has_amount()
    }

    /// Why a call is refused whose parameters cannot be counted.
    fn uncountable(&self) -> String {
        match &self.amount {
            Some(amount) => format!("'{}' has to be sent, as a plain number that is not negative", amount.written()),
            None => "its recipients cannot be counted: send fewer, each as a plain address or name".to_owned(),
        }
    }

    /// The maximum after a call: the pause threshold, or the hard stop if the caller continues with a token.
    fn limit(&self, is_resumed: bool) -> Option<u64> {
        if is_resumed { self.stop } else { self.pause.or(self.stop) }
    }

    fn to_json(&self, used: u64) -> Value {
        match self.kind {
            Metric::Requests | Metric::Recipients => used.into(),
            #[expect(clippy::cast_precision_loss, reason = "amounts of money are shown, not added up")]
            Metric::Cost | Metric::Amount => {
                Number::from_f64(used as f64 / MICROS_PER_UNIT).map_or(Value::Null, Value::Number)
            }
        }
    }

    fn warning(&self, used: u64) -> Option<Warning> {
        let warn = self.warn.filter(|warn| used >= *warn)?;
        let words = format!("Approaching quota limit '{}'", self.metric);
        let mut warning = Warning::new("RATE_LIMIT_QUOTA_WARNING", words)
            .detail("metric", self.metric.as_str())
            .detail("current", self.to_json(used))
            .detail("warn_threshold", self.to_json(warn))
            .severity(Severity::Medium);
        if let Some(pause) = self.pause {
            warning = warning.detail("pause_threshold", self.to_json(pause));
        }
        if let Some(stop) = self.stop {
            warning = warning.detail("hard_stop_threshold", self.to_json(stop));
        }
        Some(warning)
    }
}

impl QuotaPause {
    /// The failure for the caller, with the token for continuing.
    pub(crate) fn into_failure(self, token: &str, expires_at: Timestamp) -> Failure {
        let failure = Failure::new(Code::RateLimitQuotaPause, "Quota pause threshold reached")
            .detail("metric", self.metric)
            .detail("current", self.current)
            .detail("pause_threshold", self.pause);
        let failure = match self.stop {
            Some(stop) => failure.detail("hard_stop_threshold", stop),
            None => failure,
        };
        failure.detail("confirmation_token", token).detail("expires_at", format_seconds(expires_at))
    }
}

/// Chains the operator's settings and those that sources declare.
fn with_declared<'a, T>(own: &'a [T], declared: &'a [T]) -> impl Iterator<Item = (&'a T, bool)> {
    own.iter().map(|one| (one, false)).chain(declared.iter().map(|one| (one, true)))
}

/// The names of the quotas' counters. They depend on what is counted, not on order or thresholds, so that counts
/// survive configuration changes.
fn counter_names(settings: &QuotaSettings) -> Vec<String> {
    let mut names = Vec::new();
    for (quota, _) in with_declared(&settings.quota, &settings.declared.quota) {
        names.push(counter_name(quota, &names));
    }
    names
}

fn counter_name(settings: &ThresholdSettings, taken: &[String]) -> String {
    let param = settings.param.as_deref().map(|param| format!(" in '{param}'")).unwrap_or_default();
    let mut hash = hex(&Sha256::digest(format!("{}{param}", settings.scope)));
    hash.truncate(12);
    let name = format!("{}#{hash}", settings.metric);
    // Two quotas that count the same calls must not share a counter.
    let twins = taken.iter().filter(|taken| taken.starts_with(&name)).count();
    if twins == 0 { name } else { format!("{name}.{twins}") }
}

/// Converts an amount to the unit of its counter.
fn amount(kind: Metric, value: f64) -> Option<u64> {
    let counted = match kind {
        Metric::Requests | Metric::Recipients => value,
        Metric::Cost | Metric::Amount => (value * MICROS_PER_UNIT).round(),
    };
    // Larger floats are not exact.
    let fits = counted.is_finite() && (0.0..9_007_199_254_740_992.0).contains(&counted) && counted.fract() == 0.0;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, not negative, below 2^53")]
    fits.then_some(counted as u64)
}
