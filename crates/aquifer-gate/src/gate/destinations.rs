//! Calls that nobody is asked about because of where they go, and what people's decisions say about destinations.

use std::sync::Arc;

use aquifer_engine::store::StoreError;
use aquifer_engine::{Caller, Context};
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::effect::SettledBy;
use aquifer_protocol::validate::Checked;

use super::{Evaluation, PreparedOperation, SafetyGate, is_write};
use crate::confirm::{ConfirmationPrompt, Redemption, Scope};
use crate::destination::{CallDestinations, TextOrigin};
use crate::policy::{Effect, PolicyDecision, Subject};

impl SafetyGate {
    /// Whether a call that would run may have to be confirmed because of a text that its caller has read.
    pub(super) fn may_follow_text(&self, request: &Checked, context: &Context) -> bool {
        let operation = request.operation();
        if operation.origin.source.is_empty() || context.interaction.is_person() {
            return false;
        }
        (self.origins.confirms_after_text() && is_write(operation))
            || !self.origins.destinations(operation, request.params()).is_empty()
    }

    /// The decision about a call that would run, as its caller has read certain texts.
    pub(super) async fn ask_about_text(
        &self,
        request: &Checked,
        decision: Arc<PolicyDecision>,
        caller: &Caller,
    ) -> Arc<PolicyDecision> {
        match self.find_origin(request, caller).await {
            // It is confirmed like a call that sends something.
            Some(origin) => Arc::new(decision.because_of_text(origin, self.policy.strength_for(Danger::Destructive))),
            None => decision,
        }
    }

    /// What a call that would run has to do with a text that its caller has read. While the store is unavailable, that is
    /// not known, and a person decides.
    async fn find_origin(&self, request: &Checked, caller: &Caller) -> Option<TextOrigin> {
        let operation = request.operation();
        if self.origins.confirms_after_text() && is_write(operation) {
            match self.origins.text_read(caller).await {
                Ok(None) => {}
                Ok(read) => return read,
                Err(error) => return Some(unknown_origin(&error)),
            }
        }
        let destinations = self.origins.destinations(operation, request.params());
        match self.origins.find(caller, &destinations).await {
            Ok(None) => None,
            Ok(Some(_)) => {
                let unknown = self.destinations.unknown_among(operation, caller, destinations).await;
                self.origins.find(caller, &unknown).await.unwrap_or_else(|error| Some(unknown_origin(&error)))
            }
            Err(error) => Some(unknown_origin(&error)),
        }
    }

    /// Whether a call that would need a person only sends something to destinations that a person has agreed to before.
    pub(super) async fn is_settled(&self, request: &Checked, prepared: &PreparedOperation, caller: &Caller) -> bool {
        let operation = request.operation();
        let settled_by = operation.safety.settled_by();
        if settled_by == SettledBy::Nothing || !request.also_needs().is_empty() {
            return false;
        }
        let (params, types) = (Some(request.judged_params()), Some(request.types()));
        let subject = Subject { operation, caller, scopes: &[], params, types };
        let is_allowed = prepared.compiled.decide_settled(&subject).is_some_and(|effect| effect == Effect::Allow);
        if !is_allowed {
            return false;
        }
        if self.origins.confirms_after_text() && !matches!(self.origins.text_read(caller).await, Ok(None)) {
            return false;
        }
        let destinations = CallDestinations::of(operation, request.params());
        if !destinations.has_recipient() {
            // Something is added, and nothing is sent to anybody.
            return settled_by == SettledBy::KnownOrNoDestinations
                && operation.category == Category::Create
                && destinations.is_complete()
                && !destinations.has_others();
        }
        self.destinations.know_all(operation, caller, &destinations).await
            && !self.confirmations.refuses_destinations(&Scope::new(operation, caller, request.params())).await
    }

    /// Whether agreeing to this call makes its destinations known.
    pub(super) fn would_remember(&self, request: &Checked, decision: &PolicyDecision) -> bool {
        let operation = request.operation();
        if !self.destinations.remembers() {
            return false;
        }
        if decision.stood_in_text() {
            return true;
        }
        if operation.safety.settled_by() == SettledBy::Nothing {
            return false;
        }
        let destinations = CallDestinations::of(operation, request.params());
        destinations.is_complete() && destinations.has_recipient()
    }

    /// Tells the person which destinations nobody has agreed to, and what agreeing means for later calls.
    pub(super) async fn announce_memory(
        &self,
        evaluation: Evaluation<'_>,
        prompt: ConfirmationPrompt,
    ) -> ConfirmationPrompt {
        let (request, operation) = (evaluation.request, evaluation.operation());
        let mut prompt = prompt;
        if operation.safety.settled_by() != SettledBy::Nothing && !evaluation.decision.stood_in_text() {
            let destinations = CallDestinations::of(operation, request.params());
            let unknown = self.destinations.unknown_of(operation, evaluation.caller(), &destinations).await;
            prompt = prompt.naming_unknown(unknown.iter().map(|destination| &*destination.value));
        }
        match self.would_remember(evaluation.request, evaluation.decision) {
            true => prompt.offering_memory(self.destinations.remember_for(), !evaluation.decision.stood_in_text()),
            false => prompt,
        }
    }

    /// Makes the destinations of a call known to which a person agreed.
    pub(super) async fn remember_destinations(&self, evaluation: Evaluation<'_>, redeemed: &Redemption) {
        let (operation, request, caller) = (evaluation.operation(), evaluation.request, evaluation.caller());
        if !redeemed.confirmer.is_person() || !self.would_remember(request, evaluation.decision) {
            return;
        }
        let decision = (redeemed.remember, redeemed.confirmer.name());
        let remembered = if evaluation.decision.stood_in_text() {
            let destinations = self.origins.destinations(operation, request.params());
            self.destinations.remember_each(operation, caller, destinations, Vec::new(), decision).await
        } else {
            let destinations = CallDestinations::of(operation, request.params());
            self.destinations.remember(operation, caller, &destinations, decision).await
        };
        if let Err(error) = remembered {
            tracing::warn!(%error, operation = &*operation.name, "destinations are not remembered: somebody is asked again");
        }
    }
}

/// What is said if it is not known what stood in texts.
fn unknown_origin(error: &StoreError) -> TextOrigin {
    tracing::warn!(%error, "it is not known whether a destination stood in a text");
    TextOrigin::Earlier { operation: None }
}
