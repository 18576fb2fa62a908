//! Calls that nobody is asked about because of where they go, and what people's decisions say about destinations.

use aquifer_engine::Caller;
use aquifer_protocol::category::Category;
use aquifer_protocol::effect::SettledBy;
use aquifer_protocol::validate::Checked;

use super::{Evaluation, PreparedOperation, SafetyGate};
use crate::confirm::{ConfirmationPrompt, Redemption, Scope};
use crate::destination::CallDestinations;
use crate::policy::{Effect, Subject};

impl SafetyGate {
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
    pub(super) fn would_remember(&self, request: &Checked) -> bool {
        let operation = request.operation();
        if !self.destinations.remembers() || operation.safety.settled_by() == SettledBy::Nothing {
            return false;
        }
        let destinations = CallDestinations::of(operation, request.params());
        destinations.is_complete() && destinations.has_recipient()
    }

    /// Tells the person what agreeing means for later calls.
    pub(super) fn announce_memory(&self, request: &Checked, prompt: ConfirmationPrompt) -> ConfirmationPrompt {
        match self.would_remember(request) {
            true => prompt.offering_memory(self.destinations.remember_for()),
            false => prompt,
        }
    }

    /// Makes the destinations of a call known to which a person agreed.
    pub(super) async fn remember_destinations(&self, evaluation: Evaluation<'_>, redeemed: &Redemption) {
        let operation = evaluation.operation();
        if !redeemed.confirmer.is_person() || !self.would_remember(evaluation.request) {
            return;
        }
        let destinations = CallDestinations::of(operation, evaluation.request.params());
        let decision = (redeemed.remember, redeemed.confirmer.name());
        let remembered = self.destinations.remember(operation, evaluation.caller(), &destinations, decision).await;
        if let Err(error) = remembered {
            tracing::warn!(%error, operation = &*operation.name, "destinations are not remembered: somebody is asked again");
        }
    }
}
