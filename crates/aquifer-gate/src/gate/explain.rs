//! Explains how a call would be decided, without side effects.

use std::sync::Arc;

use aquifer_engine::{Caller, Context};
use aquifer_protocol::effect::SettledBy;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::Types;
use aquifer_protocol::validate::Checked;
use serde_json::{Map, Value, json};

use super::{SafetyGate, is_dry_run};
use crate::policy::{Effect, Inventory, PolicyDecision, Subject, UnusedRule, shown_effects};

impl SafetyGate {
    /// Whether there is any rule, limit, quota or price.
    pub fn has_rules(&self) -> bool {
        self.policy.has_rules() || self.quotas.has_any()
    }

    /// Finds every rule, limit, quota and price that is known to have no effect.
    pub fn find_unused(&self, inventory: &Inventory<'_>) -> Vec<UnusedRule> {
        let mut unused = self.policy.find_unused(inventory);
        unused.extend(self.quotas.find_unused(inventory));
        unused
    }

    /// Explains how a call would be decided: the decision with all its reasons, and the limits that count the call.
    /// Spends, asks and records nothing.
    pub async fn explain(&self, request: &Checked, context: &Context) -> Value {
        let operation = request.operation();
        let prepared = self.prepare(operation);
        let decision = self.decide_policy(&prepared, request, &context.caller);
        let runs = decision.effect == Effect::Allow && !is_dry_run(request);
        let decision = match runs && self.may_follow_text(request, context) {
            true => self.ask_about_text(request, decision, &context.caller).await,
            false => decision,
        };
        let mut explanation = self.explain_decision(operation, &decision, Some(request.types()), context).await;
        let asks = matches!(decision.effect, Effect::Confirm(_));
        let is_settled = asks && self.is_settled(request, &prepared, &context.caller).await;
        if is_settled || (is_dry_run(request) && asks_except_for_dry_runs(operation, &decision)) {
            explanation.insert("decision".to_owned(), "allow".into());
            explanation.shift_remove("strength");
            explanation.shift_remove("to_change");
        }
        if asks && operation.safety.settled_by() != SettledBy::Nothing {
            let words = match is_settled {
                true => "All of them are known, so nobody is asked",
                false => "Nobody is asked about calls whose destinations, links and addresses are all known",
            };
            explanation.insert("destinations".to_owned(), words.into());
        }
        Value::Object(explanation)
    }

    /// How a call with unknown parameters would be decided. Rules that depend on the parameters are listed as reasons.
    pub fn decide_without_params(&self, operation: &Operation, caller: &Caller) -> Arc<PolicyDecision> {
        let subject = Subject { operation, caller, scopes: &[], params: None, types: None };
        self.prepare(operation).compiled.decide(&subject)
    }

    /// Explains how a call with unknown parameters would be decided.
    pub async fn explain_without_params(&self, operation: &Operation, context: &Context) -> Value {
        let decision = self.decide_without_params(operation, &context.caller);
        Value::Object(self.explain_decision(operation, &decision, None, context).await)
    }

    async fn explain_decision(
        &self,
        operation: &Operation,
        decision: &PolicyDecision,
        types: Option<&Types>,
        context: &Context,
    ) -> Map<String, Value> {
        let mut explanation = Map::from_iter([
            ("operation".to_owned(), json!(operation.name)),
            ("source".to_owned(), json!(operation.origin.source)),
            ("category".to_owned(), json!(operation.category)),
            ("danger".to_owned(), json!(operation.safety.danger)),
            ("trust".to_owned(), json!(operation.origin.trust)),
            ("effects".to_owned(), json!(shown_effects(&operation.safety.effects))),
        ]);
        if let Value::Object(explained) = decision.explain(operation, types) {
            explanation.extend(explained);
        }
        if asks_except_for_dry_runs(operation, decision) {
            explanation.insert("dry_run".to_owned(), "A dry run changes nothing, so nobody is asked".into());
        }
        let limits = match operation.origin.source.is_empty() {
            true => Vec::new(),
            false => self.quotas.status_of_operation(operation, &context.caller).await,
        };
        explanation.insert("limits".to_owned(), limits.into());
        explanation
    }
}

fn asks_except_for_dry_runs(operation: &Operation, decision: &PolicyDecision) -> bool {
    matches!(decision.effect, Effect::Confirm(_)) && operation.safety.has_safe_dry_run && operation.origin.native
}
