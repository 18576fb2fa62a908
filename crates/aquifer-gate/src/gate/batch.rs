//! One confirmation for several calls of a batch.
//!
//! The token, or the question, is bound to everything that is sent again: all operations with their parameters, their
//! order, and which of them are confirmed. It has the highest strength and the longest cooldown that any of the calls
//! requires, and it is consumed before the first call runs. Each call is still evaluated when it runs: the grant
//! replaces only the confirmation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aquifer_engine::gate::{BatchConfirmation, BatchDecision, BatchToken, ConfirmationMethod, EntryRequest, Grant};
use aquifer_engine::{Context, InputRequest};
use aquifer_protocol::operation::Operation;
use aquifer_protocol::validate::Checked;
use serde_json::json;

use super::{Evaluation, PreparedOperation, SafetyGate, is_dry_run};
use crate::audit::Event;
use crate::confirm::{
    CallInBatch, CallSubject, ConfirmationPrompt, Confirmations, Confirmer, CoveredCall, ElicitationAnswer, Findings,
    IssuedToken, Purpose, Redemption, Refusal, Scope, TokenRequest, rules_changed, store_unavailable,
};
use crate::destination::Remember;
use crate::policy::{Effect, PolicyDecision, Strength};

/// A confirmation of several calls, already consumed.
pub(super) struct BatchGrant {
    token: String,
    confirmer: Confirmer,
    strength: Strength,
    remember: Remember,
    calls: Vec<GrantedCall>,
}

struct GrantedCall {
    index: usize,
    scope: Scope,
    is_used: AtomicBool,
}

impl BatchGrant {
    /// The token or the question's key, for the audit.
    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Who or what confirmed the calls.
    pub(super) fn confirmer(&self) -> &Confirmer {
        &self.confirmer
    }

    /// What the person wants to be remembered about the destinations of the calls.
    pub(super) fn remember(&self) -> Remember {
        self.remember
    }

    /// How strong the confirmation was.
    pub(super) fn strength(&self) -> Strength {
        self.strength
    }

    /// Whether the grant confirms exactly this call with this strength. Works once per call.
    pub(super) fn confirm(&self, index: usize, scope: &Scope, required: Strength) -> bool {
        let granted = self.calls.iter().find(|call| call.index == index && call.scope == *scope);
        granted.is_some_and(|call| self.strength >= required && !call.is_used.swap(true, Ordering::Relaxed))
    }
}

/// A call of a batch that needs confirmation.
struct GatedCall<'a> {
    index: usize,
    request: &'a Checked,
    prepared: Arc<PreparedOperation>,
    decision: Arc<PolicyDecision>,
    required: Strength,
    findings: Findings<'a>,
}

impl<'a> GatedCall<'a> {
    fn evaluation(&'a self, context: &'a Context) -> Evaluation<'a> {
        Evaluation {
            request: self.request,
            context,
            prepared: &self.prepared,
            decision: &self.decision,
            grant: None,
            rehearsal: None,
        }
    }
}

/// Calls that are confirmed together, with the question about them.
struct CoveredCalls<'a> {
    calls: &'a [GatedCall<'a>],
    prompt: ConfirmationPrompt,
    scope: Scope,
    required: Strength,
    context: &'a Context,
}

impl<'a> CoveredCalls<'a> {
    /// The most dangerous operation, which determines how long the confirmation is valid.
    fn operation(&self) -> Option<&'a Operation> {
        self.calls.iter().map(|call| &**call.request.operation()).max_by_key(|operation| operation.safety.danger)
    }

    fn indices(&self) -> Vec<usize> {
        self.calls.iter().map(|call| call.index).collect()
    }

    fn evaluations(&self) -> impl Iterator<Item = Evaluation<'a>> {
        let context = self.context;
        self.calls.iter().map(move |call| call.evaluation(context))
    }

    fn grant(&self, token: &str, redeemed: Redemption) -> Grant {
        let calls = self.calls.iter().map(|call| GrantedCall {
            index: call.index,
            scope: call.evaluation(self.context).scope(),
            is_used: AtomicBool::new(false),
        });
        let Redemption { confirmer, remember, .. } = redeemed;
        let (token, strength) = (token.to_owned(), self.required);
        let grant = BatchGrant { token, confirmer, strength, remember, calls: calls.collect() };
        Grant::new(self.indices(), grant)
    }
}

impl SafetyGate {
    /// How this call would have to be confirmed.
    pub(super) fn confirmation_method(&self, request: &Checked, context: &Context) -> Option<ConfirmationMethod> {
        let prepared = self.prepare(request.operation());
        let decision = self.decide_policy(&prepared, request, &context.caller);
        let required = required_strength(request, &decision, context)?;
        Some(match required {
            Strength::Elicit => ConfirmationMethod::Question,
            Strength::Token | Strength::Approval => ConfirmationMethod::Token,
        })
    }

    pub(super) async fn confirm_calls(&self, batch: &BatchConfirmation<'_>, context: &Context) -> BatchDecision {
        let gated = self.gated_calls(batch, context).await;
        let required = gated.iter().map(|call| call.required).max().unwrap_or(Strength::Token);
        let covered = cover(batch, &gated, required, context);
        match batch.token {
            Some(token) => self.redeem_for_batch(token, &covered).await,
            None if gated.is_empty() => BatchDecision::NotForBatch,
            // Each is denied on its own.
            None if gated.iter().any(|call| self.is_unattended(call.required, &call.decision, context)) => {
                BatchDecision::NotForBatch
            }
            // So is a call that a person has refused already.
            None if self.refuses_any_unasked(&covered).await => BatchDecision::NotForBatch,
            None if required != Strength::Elicit => self.issue_for_batch(&covered).await,
            None if !context.interaction.can_ask() => BatchDecision::NotForBatch,
            None => match Confirmations::find_answer(context) {
                Some((key, answer)) => self.on_batch_answer(&covered, key, answer).await,
                None => self.ask_about_batch(&covered).await,
            },
        }
    }

    /// Whether a call is refused before anybody is asked about it.
    async fn refuses_any_unasked(&self, covered: &CoveredCalls<'_>) -> bool {
        let (context, Some(operation)) = (covered.context, covered.operation()) else { return false };
        if context.interaction.is_person() {
            return false;
        }
        if self.confirmations.check_pause(operation, &context.caller, false).await.is_err() {
            return true;
        }
        if covered.required == Strength::Token {
            return false;
        }
        for evaluation in covered.evaluations() {
            if self.confirmations.refuses_destinations(&evaluation.scope()).await {
                return true;
            }
        }
        false
    }

    async fn gated_calls<'a>(&self, batch: &'a BatchConfirmation<'_>, context: &Context) -> Vec<GatedCall<'a>> {
        let mut gated = Vec::new();
        for entry in batch.entries.iter().filter(|entry| entry.is_gated) {
            let EntryRequest::Checked(request) = &entry.request else { continue };
            let prepared = self.prepare(request.operation());
            let decision = self.decide_policy(&prepared, request, &context.caller);
            let Some(required) = required_strength(request, &decision, context) else { continue };
            if self.is_settled(request, &prepared, &context.caller).await {
                continue;
            }
            let findings = Findings { preview: entry.preview, obstacle: entry.obstacle };
            gated.push(GatedCall { index: entry.index, request, prepared, decision, required, findings });
        }
        gated
    }

    async fn redeem_for_batch(&self, token: BatchToken<'_>, covered: &CoveredCalls<'_>) -> BatchDecision {
        let is_for_batch = match self.confirmations.is_for_batch(token.text()).await {
            Ok(is_for_batch) => is_for_batch,
            Err(error) => {
                let danger =
                    covered.operation().map_or(aquifer_protocol::danger::Danger::Destructive, |own| own.safety.danger);
                return BatchDecision::Refuse(store_unavailable(danger, &error));
            }
        };
        match (is_for_batch, token) {
            // A token for a single call, or an unknown token sent with one; that call handles it.
            (Some(false), _) | (None, BatchToken::OfOperation(_)) => BatchDecision::NotForBatch,
            (Some(true), _) | (None, BatchToken::OfBatch(_)) => {
                self.redeem_covered(covered, token.text(), Purpose::Confirmation).await
            }
        }
    }

    /// Consumes a token or a question. Nothing runs unless this succeeds.
    async fn redeem_covered(&self, covered: &CoveredCalls<'_>, token: &str, purpose: Purpose) -> BatchDecision {
        let caller = &covered.context.caller;
        let redeem = || self.confirmations.redeem(token, purpose, covered.required, &covered.scope, caller);
        let mut redeemed = redeem().await;
        if let (Err(Refusal::CoolingDown { wait, .. }), Purpose::Question) = (&redeemed, purpose) {
            // Wait here: asking again would only restart the cooldown.
            tokio::select! {
                () = tokio::time::sleep(*wait) => {}
                () = covered.context.cancelled.cancelled() => {}
            }
            redeemed = match self.is_retired.load(Ordering::Relaxed) {
                true => Err(Refusal::Token(rules_changed())),
                false => redeem().await,
            };
        }
        if redeemed.is_ok() && purpose == Purpose::Question {
            self.confirmations.end_refusals(&covered.scope, caller).await;
        }
        match redeemed {
            Ok(redeemed) => BatchDecision::Confirmed(covered.grant(token, redeemed.by(covered.context))),
            Err(refusal) => self.refuse_batch(covered, refusal, token),
        }
    }

    fn refuse_batch(&self, covered: &CoveredCalls<'_>, refusal: Refusal, token: &str) -> BatchDecision {
        let (is_wait, denied) = (refusal.is_wait(), refusal.denied_approval().map(str::to_owned));
        let riskiest = covered.calls.iter().max_by_key(|call| call.request.operation().safety.danger);
        let failure = match (riskiest, refusal) {
            (Some(call), refusal) => refusal.into_failure(call.request, &covered.prompt, token),
            (None, Refusal::Token(failure)) => failure,
            (None, _) => rules_changed(),
        };
        if is_wait {
            return BatchDecision::Wait { failure, indices: covered.indices() };
        }
        for evaluation in covered.evaluations() {
            self.submit(|| {
                let entry =
                    evaluation.entry(Event::TokenRejected).code(failure.code().as_str()).approval(denied.as_deref());
                if token.is_empty() { entry } else { entry.token(token) }
            });
        }
        BatchDecision::Refuse(failure)
    }

    fn batch_token_request<'a>(
        &self,
        covered: &CoveredCalls<'a>,
        purpose: Purpose,
        strength: Strength,
    ) -> Option<TokenRequest<'a>> {
        let cooldowns = covered
            .evaluations()
            .map(|evaluation| evaluation.operation().safety.safeguards.cooldown.max(evaluation.decision.cooldown()));
        Some(TokenRequest {
            purpose,
            strength,
            scope: covered.scope.clone(),
            operation: covered.operation()?,
            context: covered.context,
            cooldown: cooldowns.max().unwrap_or_default(),
        })
    }

    async fn issue_for_batch(&self, covered: &CoveredCalls<'_>) -> BatchDecision {
        let Some(request) = self.batch_token_request(covered, Purpose::Confirmation, covered.required) else {
            return BatchDecision::NotForBatch;
        };
        let operation = request.operation;
        match self.confirmations.issue(request, Some(&covered.prompt)).await {
            Ok(issued) => {
                self.submit_required(covered, &issued);
                let failure = issued.into_failure(operation, &covered.prompt);
                BatchDecision::Wait { failure, indices: covered.indices() }
            }
            // Each call may still be small enough to be shown on its own.
            Err(Refusal::CannotDisplay { .. }) => BatchDecision::NotForBatch,
            Err(refusal) => self.refuse_batch(covered, refusal, ""),
        }
    }

    async fn ask_about_batch(&self, covered: &CoveredCalls<'_>) -> BatchDecision {
        let Some(request) = self.batch_token_request(covered, Purpose::Question, Strength::Elicit) else {
            return BatchDecision::NotForBatch;
        };
        match self.confirmations.issue(request, None).await {
            Ok(issued) => {
                self.submit_required(covered, &issued);
                let schema = [("type".to_owned(), json!("object")), ("properties".to_owned(), json!({}))];
                BatchDecision::Ask(InputRequest {
                    key: issued.token,
                    message: covered.prompt.to_text(),
                    schema: schema.into_iter().collect(),
                })
            }
            Err(refusal) => self.refuse_batch(covered, refusal, ""),
        }
    }

    async fn on_batch_answer(
        &self,
        covered: &CoveredCalls<'_>,
        question: &str,
        answer: ElicitationAnswer,
    ) -> BatchDecision {
        if let ElicitationAnswer::Yes(_) = answer {
            return self.redeem_covered(covered, question, Purpose::Question).await;
        }
        match self.confirmations.decline(question, &covered.scope, &covered.context.caller).await {
            Ok(()) => {
                let Some(operation) = covered.operation() else { return BatchDecision::NotForBatch };
                let failure = answer.failure(operation);
                for evaluation in covered.evaluations() {
                    self.submit(|| evaluation.entry(Event::Declined).token(question).reason(failure.message()));
                }
                if let Some(declined) = self.batch_token_request(covered, Purpose::Confirmation, Strength::Approval) {
                    self.remember(answer, declined, &covered.prompt).await;
                }
                BatchDecision::Refuse(failure)
            }
            Err(refusal) => self.refuse_batch(covered, refusal, ""),
        }
    }

    fn submit_required(&self, covered: &CoveredCalls<'_>, issued: &IssuedToken) {
        for evaluation in covered.evaluations() {
            let reason = covered.required.as_str();
            self.submit(|| {
                let entry = evaluation.entry(Event::ConfirmationRequired).token(&issued.token);
                entry.approval(issued.approval_id()).reason(reason)
            });
        }
    }
}

/// The strength that a call needs, if it has to be confirmed.
fn required_strength(request: &Checked, decision: &PolicyDecision, context: &Context) -> Option<Strength> {
    let Effect::Confirm(strength) = decision.effect else { return None };
    if is_dry_run(request) {
        return None;
    }
    let required = strength.for_interaction(context.interaction);
    // A question that cannot show the whole call is not enough; an approval can show it.
    let is_shown = required == Strength::Approval || ConfirmationPrompt::new(request, decision).is_complete();
    Some(if is_shown { required } else { Strength::Approval })
}

/// The calls that one question can show completely, at least the first. The others have to be confirmed later. An
/// approval shows everything.
fn cover<'a>(
    batch: &BatchConfirmation<'_>,
    gated: &'a [GatedCall<'a>],
    required: Strength,
    context: &'a Context,
) -> CoveredCalls<'a> {
    let sent_again: Vec<usize> = batch.entries.iter().map(|entry| entry.index).collect();
    let others: Vec<&str> = batch
        .entries
        .iter()
        .filter(|entry| !gated.iter().any(|call| call.index == entry.index))
        .map(|entry| match &entry.request {
            EntryRequest::Checked(request) => &*request.operation().name,
            EntryRequest::Unresolved { operation, .. } => operation,
        })
        .collect();
    let prompt_for = |calls: &'a [GatedCall<'a>], is_detailed: bool| {
        let covered: Vec<CoveredCall<'_>> = calls
            .iter()
            .map(|call| {
                let findings = if is_detailed { call.findings } else { Findings::default() };
                CoveredCall {
                    index: call.index,
                    operation: call.request.operation(),
                    prompt: ConfirmationPrompt::with_findings(call.request, &call.decision, findings),
                }
            })
            .collect();
        ConfirmationPrompt::for_batch(&covered, &others, gated.len() - calls.len(), sent_again.clone())
    };
    let mut calls = gated;
    let mut prompt = prompt_for(calls, false);
    if required != Strength::Approval {
        // Halving finds a count that fits without building a question for every count.
        while !prompt.is_complete() && calls.len() > 1 {
            calls = calls.get(..calls.len() / 2).unwrap_or_default();
            prompt = prompt_for(calls, false);
        }
    }
    // The covered calls must not depend on the findings of a rehearsal: the token is bound to these calls and is redeemed
    // without a rehearsal.
    let detailed = prompt_for(calls, true);
    if detailed.is_complete() || !prompt.is_complete() {
        prompt = detailed;
    } else {
        // An approval can still show the findings apart from the question.
        prompt.preview = detailed.preview;
    }
    let in_batch = batch.entries.iter().map(|entry| CallInBatch {
        subject: match &entry.request {
            EntryRequest::Checked(request) => CallSubject::Complete(request.operation(), request.params()),
            EntryRequest::Unresolved { operation, params } => CallSubject::Unresolved(operation, params),
        },
        is_confirmed: calls.iter().any(|call| call.index == entry.index),
    });
    CoveredCalls { calls, prompt, scope: Scope::for_batch(in_batch, &context.caller), required, context }
}
