//! Explains what would be decided about a call, without deciding it.

use aquifer_engine::Context;
use aquifer_protocol::validate::Checked;
use serde_json::{Value, json};

use super::{SafetyGate, is_dry_run};
use crate::policy::{Effect, Inventory, UnusedRule};

impl SafetyGate {
    /// Whether there is any rule, limit, quota or price.
    pub fn has_rules(&self) -> bool {
        self.policy.has_rules() || self.quotas.has_any()
    }

    /// Finds every rule, limit, quota and price that has no effect, as far as that is known.
    pub fn find_unused(&self, inventory: &Inventory<'_>) -> Vec<UnusedRule> {
        let mut unused = self.policy.find_unused(inventory);
        unused.extend(self.quotas.find_unused(inventory));
        unused
    }

    /// What would be decided about a call: the decision with all its reasons, and the limits that count the call.
    /// Nothing is spent, asked or recorded.
    pub async fn explain(&self, request: &Checked, context: &Context) -> Value {
        let operation = request.operation();
        let decision = self.decide_policy(&self.prepare(operation), request, &context.caller);
        let mut explanation = json!({
            "operation": operation.name,
            "source": operation.source,
            "category": operation.category,
            "danger": operation.danger,
            "trust": operation.trust,
        });
        if let (Some(explanation), Value::Object(explained)) =
            (explanation.as_object_mut(), decision.explain(operation, Some(request.types())))
        {
            explanation.extend(explained);
            if let (Effect::Confirm(_), true) = (decision.effect, operation.has_safe_dry_run && operation.native) {
                if is_dry_run(request) {
                    explanation.insert("decision".to_owned(), "allow".into());
                    explanation.shift_remove("strength");
                    explanation.shift_remove("to_change");
                }
                explanation.insert("dry_run".to_owned(), "A dry run changes nothing, so nobody is asked".into());
            }
            let limits = match operation.source.is_empty() {
                true => Vec::new(),
                false => self.quotas.status_of_operation(operation, &context.caller).await,
            };
            explanation.insert("limits".to_owned(), limits.into());
        }
        explanation
    }
}
