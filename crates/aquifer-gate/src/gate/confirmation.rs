//! The confirmation step of the gate: redeems a token, asks the user, or refuses with a token.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use aquifer_engine::gate::Decision;
use aquifer_engine::rehearsal::{Preview, RehearsalResult};
use aquifer_engine::{Context, InputRequest};

use super::{EarlyDecision, Evaluation, SafetyGate, refuse_with};
use crate::audit::Event;
use crate::confirm::{
    ApprovalNotifier, ApprovalPages, ConfirmationPrompt, Confirmations, ElicitationAnswer, Findings, Purpose,
    Redemption, Refusal, TokenRequest, cannot_ask_in_batch, form, nobody_to_ask, rules_changed,
};
use crate::destination::Remember;
use crate::policy::{Effect, PolicyDecision, RequiredStrength, Strength};

impl Evaluation<'_> {
    /// The strength that this call needs.
    pub(super) fn required_strength(&self, strength: RequiredStrength) -> Strength {
        let required = strength.for_interaction(self.context.interaction);
        // A question that cannot show the whole call is not enough; an approval can show it.
        let is_shown = required == Strength::Approval || self.prompt().is_complete();
        if is_shown { required } else { Strength::Approval }
    }

    /// Whether the call comes with a token or an answer that [`SafetyGate::confirm`] accepts or refuses. Nothing is
    /// issued for such a call.
    pub(super) fn brings_confirmation(&self, required: Strength) -> bool {
        let has_answer = || {
            required == Strength::Elicit
                && self.context.interaction.can_ask()
                && Confirmations::find_answer(self.context).is_some()
        };
        self.grant.is_none() && (self.request.metadata().confirmation.is_some() || has_answer())
    }
}

impl Evaluation<'_> {
    /// Whether a person makes the call, or it comes with what a person has decided about it.
    pub(super) fn brings_decision(&self, required: Option<Strength>) -> bool {
        self.context.interaction.is_person()
            || self.grant.is_some_and(|(grant, _)| grant.strength() > Strength::Token)
            || required.is_some_and(|required| required > Strength::Token && self.brings_confirmation(required))
    }
}

impl SafetyGate {
    /// Refuses a change while changes are paused.
    pub(super) async fn check_pause(&self, evaluation: Evaluation<'_>) -> Result<(), EarlyDecision> {
        let is_allowed = evaluation.decision.effect == Effect::Allow;
        let checked = self.confirmations.check_pause(evaluation.operation(), evaluation.caller(), is_allowed).await;
        checked.map_err(|failure| {
            self.submit(|| evaluation.entry(Event::Denied).code(failure.code().as_str()).reason(failure.message()));
            refuse_with(failure)
        })
    }

    /// Tells `notifier` about every approval that this gate requests.
    #[must_use]
    pub fn with_approval_notifier(mut self, notifier: Arc<dyn ApprovalNotifier>) -> Self {
        self.confirmations.set_notifier(notifier);
        self
    }

    /// Tells callers at which pages the approvals of this gate are decided.
    #[must_use]
    pub fn with_approval_pages(mut self, pages: ApprovalPages) -> Self {
        self.confirmations.set_pages(pages);
        self
    }

    /// Requires a confirmation of this strength.
    pub(super) async fn confirm(
        &self,
        evaluation: Evaluation<'_>,
        required: Strength,
    ) -> Result<Redemption, EarlyDecision> {
        let context = evaluation.context;
        if let Some((grant, index)) = evaluation.grant
            && grant.confirm(index, &evaluation.scope(), required)
        {
            self.submit(|| evaluation.entry(Event::Confirmed).token(grant.token()).confirmed_by(grant.confirmer()));
            let (confirmer, remember) = (grant.confirmer().clone(), grant.remember());
            return Ok(Redemption { confirmer, edit: None, remember });
        }
        if let Some(token) = &evaluation.request.metadata().confirmation {
            return self.redeem(evaluation, token, required).await;
        }
        if required == Strength::Elicit {
            if !context.interaction.can_ask() {
                return Err(refuse_with(cannot_ask_in_batch(evaluation.operation(), &evaluation.prompt())));
            }
            if let Some((key, answer)) = Confirmations::find_answer(context) {
                return self.on_answer(evaluation, key, answer).await;
            }
        }
        let prompt = self.rehearse(evaluation, required).await?;
        Err(match required {
            Strength::Elicit => self.ask(evaluation, &prompt).await,
            Strength::Token | Strength::Approval => self.issue(evaluation, required, &prompt).await,
        })
    }

    async fn redeem(
        &self,
        evaluation: Evaluation<'_>,
        token: &str,
        required: Strength,
    ) -> Result<Redemption, EarlyDecision> {
        let (scope, caller) = (evaluation.scope(), evaluation.caller());
        match self.confirmations.redeem(token, Purpose::Confirmation, required, &scope, caller).await {
            Ok(redeemed) => {
                let redeemed = redeemed.by(evaluation.context);
                self.submit(|| evaluation.entry(Event::Confirmed).token(token).confirmed_by(&redeemed.confirmer));
                Ok(redeemed)
            }
            Err(refusal) => Err(self.refuse(evaluation, refusal, token)),
        }
    }

    /// Builds the question about a call after a rehearsal: nobody is asked about a call that cannot succeed.
    async fn rehearse(
        &self,
        evaluation: Evaluation<'_>,
        required: Strength,
    ) -> Result<ConfirmationPrompt, EarlyDecision> {
        if self.is_unattended(required, evaluation.decision, evaluation.context) {
            let failure = nobody_to_ask(evaluation.operation());
            let entry = || evaluation.entry(Event::Denied).code(failure.code().as_str()).reason(failure.message());
            self.submit(entry);
            return Err(refuse_with(failure));
        }
        let Some(rehearsal) = evaluation.rehearsal else {
            return Ok(self.announce_memory(evaluation, evaluation.prompt()).await);
        };
        let result = rehearsal.rehearse(evaluation.request, evaluation.context).await;
        if self.is_retired.load(Ordering::Relaxed) {
            return Err(refuse_with(rules_changed()));
        }
        let preview: Option<&Preview> = match &result {
            RehearsalResult::WouldFail(failure) => return Err(refuse_with(failure.clone())),
            result => result.preview(),
        };
        let findings = Findings { preview, obstacle: None };
        let prompt = ConfirmationPrompt::with_findings(evaluation.request, evaluation.decision, findings);
        Ok(self.announce_memory(evaluation, prompt).await)
    }

    /// Whether a call is denied because nobody is there to confirm it. Where a rule requires an approval, somebody is
    /// there to give it.
    pub(super) fn is_unattended(&self, required: Strength, decision: &PolicyDecision, context: &Context) -> bool {
        let could_be_asked = matches!(decision.effect, Effect::Confirm(own) if own.interactive < Strength::Approval);
        self.confirmations.denies_unattended()
            && required == Strength::Approval
            && could_be_asked
            && !context.interaction.can_ask_outside_batch()
    }

    /// Refuses the call and issues a token for sending it again.
    async fn issue(
        &self,
        evaluation: Evaluation<'_>,
        strength: Strength,
        prompt: &ConfirmationPrompt,
    ) -> EarlyDecision {
        match self
            .confirmations
            .issue(self.token_request(evaluation, Purpose::Confirmation, strength), Some(prompt))
            .await
        {
            Ok(issued) => {
                self.submit(|| {
                    let entry = evaluation.entry(Event::ConfirmationRequired).token(&issued.token);
                    let entry = entry.approval(issued.approval_id()).reason(strength.as_str());
                    // If a person denies it, no other entry says what was denied.
                    match issued.approval_id() {
                        Some(_) => {
                            let request = evaluation.request;
                            entry.parameters(request.operation(), Some(request.types()), request.params())
                        }
                        None => entry,
                    }
                });
                refuse_with(issued.into_failure(evaluation.operation(), prompt))
            }
            Err(refusal) => self.refuse(evaluation, refusal, ""),
        }
    }

    /// Asks the user behind the client. The question's key is as unguessable as a token and bound to the same scope.
    async fn ask(&self, evaluation: Evaluation<'_>, prompt: &ConfirmationPrompt) -> EarlyDecision {
        match self.confirmations.issue(self.token_request(evaluation, Purpose::Question, Strength::Elicit), None).await
        {
            Ok(issued) => {
                let reason = Strength::Elicit.as_str();
                self.submit(|| evaluation.entry(Event::ConfirmationRequired).token(&issued.token).reason(reason));
                let schema = form(self.would_remember(evaluation.request, evaluation.decision));
                Box::new(Decision::Ask(InputRequest { key: issued.token, message: prompt.to_text(), schema }))
            }
            Err(refusal) => self.refuse(evaluation, refusal, ""),
        }
    }

    /// Handles the user's answer.
    async fn on_answer(
        &self,
        evaluation: Evaluation<'_>,
        question: &str,
        answer: ElicitationAnswer,
    ) -> Result<Redemption, EarlyDecision> {
        let (scope, caller) = (evaluation.scope(), evaluation.caller());
        let ElicitationAnswer::Yes(remember) = answer else {
            let declined = self.token_request(evaluation, Purpose::Confirmation, Strength::Approval);
            return Err(match self.confirmations.decline(question, &scope, caller).await {
                Ok(()) => {
                    let failure = answer.failure(evaluation.operation());
                    self.submit(|| evaluation.entry(Event::Declined).token(question).reason(failure.message()));
                    self.remember(answer, declined, &evaluation.prompt()).await;
                    refuse_with(failure)
                }
                Err(refusal) => self.refuse(evaluation, refusal, ""),
            });
        };
        let redeem = || self.confirmations.redeem(question, Purpose::Question, Strength::Elicit, &scope, caller);
        let mut redeemed = redeem().await;
        if let Err(Refusal::CoolingDown { wait, .. }) = redeemed {
            // Wait here: asking again would only restart the cooldown.
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = evaluation.context.cancelled.cancelled() => {}
            }
            if self.is_retired.load(Ordering::Relaxed) {
                return Err(self.refuse(evaluation, Refusal::Token(rules_changed()), ""));
            }
            redeemed = redeem().await;
        }
        match redeemed {
            Ok(redeemed) => {
                self.submit(|| evaluation.entry(Event::Confirmed).token(question).confirmed_by(&redeemed.confirmer));
                self.confirmations.end_refusals(&scope, caller).await;
                let remember = if self.would_remember(evaluation.request, evaluation.decision) {
                    remember
                } else {
                    Remember::Nothing
                };
                Ok(Redemption { remember, ..redeemed })
            }
            Err(refusal) => Err(self.refuse(evaluation, refusal, "")),
        }
    }

    /// Remembers a refusal. Closing a question is none.
    pub(super) async fn remember(
        &self,
        answer: ElicitationAnswer,
        declined: TokenRequest<'_>,
        prompt: &ConfirmationPrompt,
    ) {
        if answer == ElicitationAnswer::No
            && let Err(refusal) = self.confirmations.remember_refusal(declined, prompt).await
        {
            // The call was refused; only a repetition would be asked about again.
            tracing::warn!(?refusal, "a refusal could not be remembered");
        }
    }

    pub(super) fn token_request<'a>(
        &self,
        evaluation: Evaluation<'a>,
        purpose: Purpose,
        strength: Strength,
    ) -> TokenRequest<'a> {
        let (operation, context) = (evaluation.operation(), evaluation.context);
        let cooldown = match purpose {
            Purpose::Confirmation | Purpose::Question => {
                operation.safety.safeguards.cooldown.max(evaluation.decision.cooldown())
            }
            Purpose::Quota => Duration::ZERO,
        };
        TokenRequest { purpose, strength, scope: evaluation.scope(), operation, context, cooldown }
    }

    pub(super) fn refuse(&self, evaluation: Evaluation<'_>, refusal: Refusal, token: &str) -> EarlyDecision {
        let (is_wait, denied) = (refusal.is_wait(), refusal.denied_approval().map(str::to_owned));
        let failure = refusal.into_failure(evaluation.request, &evaluation.prompt(), token);
        if !is_wait {
            let entry = || {
                let entry =
                    evaluation.entry(Event::TokenRejected).code(failure.code().as_str()).approval(denied.as_deref());
                if token.is_empty() { entry } else { entry.token(token) }
            };
            self.submit(entry);
        }
        refuse_with(failure)
    }
}
