//! The limits of the gate: checks quotas before a confirmation and spends them after it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use aquifer_engine::Context;
use aquifer_engine::store::StoreError;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::Operation;
use aquifer_protocol::warning::Warning;

use super::{EarlyDecision, Evaluation, SafetyGate, refuse_with};
use crate::audit::{Entry, Event};
use crate::confirm::{Purpose, store_unavailable};
use crate::policy::Strength;
use crate::quota::{Charge, CountedCall, OperationCounters, QuotaError, QuotaPause, ThresholdCrossing};

/// How long reads go uncounted after the store has failed, so that they do not all wait for it.
const UNCOUNTED_INTERVAL: Duration = Duration::from_secs(2);

impl SafetyGate {
    /// Checks whether the quotas would admit the call. Spends nothing.
    pub(super) async fn check_quotas(&self, evaluation: Evaluation<'_>) -> Result<(), EarlyDecision> {
        let caller = evaluation.caller();
        match self.quotas.check(evaluation.counters(), evaluation.counted(), false).await {
            Ok(()) => Ok(()),
            Err(QuotaError::Paused(paused)) => match &evaluation.request.metadata().quota_continue {
                None => Err(self.pause(evaluation, paused).await),
                Some(token) => {
                    let inspected =
                        self.confirmations.inspect(token, Purpose::Quota, &evaluation.scope(), caller).await;
                    inspected.map_err(|refusal| self.refuse(evaluation, refusal, token))?;
                    self.quotas
                        .check(evaluation.counters(), evaluation.counted(), true)
                        .await
                        .or_else(|quota_error| self.apply_quota_error(evaluation, quota_error))
                }
            },
            Err(quota_error) => self.apply_quota_error(evaluation, quota_error),
        }
    }

    /// Spends the cost of the call.
    pub(super) async fn consume(&self, evaluation: Evaluation<'_>) -> Result<Vec<Warning>, EarlyDecision> {
        let charge = match self.quotas.spend(evaluation.counters(), evaluation.counted(), false).await {
            Ok(charge) => charge,
            Err(QuotaError::Paused(paused)) => {
                let Some(token) = &evaluation.request.metadata().quota_continue else {
                    return Err(Box::pin(self.pause(evaluation, paused)).await);
                };
                Box::pin(self.resume(evaluation, token)).await?;
                match self.quotas.spend(evaluation.counters(), evaluation.counted(), true).await {
                    Ok(charge) => charge,
                    Err(quota_error) => self.apply_quota_error(evaluation, quota_error).map(|()| Charge::default())?,
                }
            }
            Err(quota_error) => self.apply_quota_error(evaluation, quota_error).map(|()| Charge::default())?,
        };
        self.submit_crossings(&charge, || evaluation.entry(Event::QuotaWarned));
        Ok(charge.warnings)
    }

    /// Continues after a quota's pause by redeeming a token.
    async fn resume(&self, evaluation: Evaluation<'_>, token: &str) -> Result<(), EarlyDecision> {
        let (scope, caller) = (evaluation.scope(), evaluation.caller());
        let redeemed = self.confirmations.redeem(token, Purpose::Quota, Strength::Token, &scope, caller).await;
        let redeemed = redeemed.map_err(|refusal| self.refuse(evaluation, refusal, token))?;
        self.submit(|| evaluation.entry(Event::QuotaContinued).token(token).confirmed_by(&redeemed.confirmer));
        Ok(())
    }

    /// Refuses the call and issues a token for continuing after a quota's pause.
    async fn pause(&self, evaluation: Evaluation<'_>, paused: QuotaPause) -> EarlyDecision {
        match self.confirmations.issue(self.token_request(evaluation, Purpose::Quota, Strength::Token), None).await {
            Ok(issued) => {
                let entry = || {
                    let entry = evaluation.entry(Event::QuotaPaused).quota(&paused.metric, paused.used, paused.limit);
                    entry.token(&issued.token)
                };
                self.submit(entry);
                refuse_with(paused.into_failure(&issued.token, issued.expires_at))
            }
            Err(refusal) => self.refuse(evaluation, refusal, ""),
        }
    }

    /// Refuses the call because of a limit. A read that could not be counted continues.
    pub(super) fn apply_quota_error(
        &self,
        evaluation: Evaluation<'_>,
        quota_error: QuotaError,
    ) -> Result<(), EarlyDecision> {
        let operation = evaluation.operation();
        let (name, used, limit, failure) = match quota_error {
            QuotaError::RateLimited { name, limit, failure } => (name, limit, limit, failure),
            QuotaError::Exhausted { metric, used, limit, failure } => (metric, used, limit, failure),
            // Reached only if there is no way to continue after the pause.
            QuotaError::Paused(paused) => {
                let failure = Failure::new(Code::RateLimitQuotaPause, "Quota pause threshold reached");
                (paused.metric, paused.used, paused.limit, failure)
            }
            QuotaError::Store(error) => return self.skip_counting(operation, &error),
        };
        self.submit(|| evaluation.entry(Event::QuotaStopped).quota(&name, used, limit).code(failure.code().as_str()));
        Err(refuse_with(failure))
    }

    /// Whether calls of the operation are counted. Reads are not counted while the store is failing.
    pub(super) fn is_counted(&self, operation: &Operation) -> bool {
        let until = self.uncounted_until.load(Ordering::Relaxed);
        operation.safety.danger > Danger::Safe || until == 0 || milliseconds(self.started.elapsed()) >= until
    }

    fn skip_counting(&self, operation: &Operation, error: &StoreError) -> Result<(), EarlyDecision> {
        if operation.safety.danger == Danger::Safe {
            let until = milliseconds(self.started.elapsed() + UNCOUNTED_INTERVAL);
            self.uncounted_until.store(until, Ordering::Relaxed);
            tracing::warn!(%error, operation = &*operation.name, "a read was not counted");
            return Ok(());
        }
        Err(refuse_with(store_unavailable(operation.safety.danger, error)))
    }

    /// Counts a request for which nobody can be asked to confirm.
    pub(super) async fn count(
        &self,
        counters: &OperationCounters,
        operation: &Operation,
        context: &Context,
    ) -> Result<(), Failure> {
        let call = CountedCall::without_parameters(operation, &context.caller);
        let counted = async {
            self.quotas.count_attempt(counters, call).await?;
            self.quotas.spend(counters, call, false).await
        };
        let (name, used, limit, failure) = match counted.await {
            Ok(charge) => {
                let warned = || Entry::for_operation(Event::QuotaWarned, operation).context(context);
                self.submit_crossings(&charge, warned);
                return Ok(());
            }
            Err(QuotaError::RateLimited { name, limit, failure }) => (name, limit, limit, failure),
            Err(QuotaError::Exhausted { metric, used, limit, failure }) => (metric, used, limit, failure),
            // A token cannot be sent here.
            Err(QuotaError::Paused(paused)) => {
                let failure = Failure::new(Code::RateLimitQuotaPause, "Quota pause threshold reached");
                (paused.metric, paused.used, paused.limit, failure)
            }
            Err(QuotaError::Store(error)) => {
                tracing::warn!(%error, "a read was not counted");
                return Ok(());
            }
        };
        self.submit(|| {
            Entry::for_operation(Event::QuotaStopped, operation)
                .context(context)
                .quota(&name, used, limit)
                .code(failure.code().as_str())
        });
        Err(failure)
    }

    /// Records quotas that have just reached their warning threshold. Later calls carry the warning without another
    /// entry.
    pub(super) fn submit_crossings(&self, charge: &Charge, entry: impl Fn() -> Entry) {
        for ThresholdCrossing { metric, used, warn } in &charge.crossings {
            self.submit(|| entry().quota(metric, *used, *warn));
        }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
