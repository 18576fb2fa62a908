//! What would be decided about a call, in full, without deciding it.

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

    /// Every rule, limit, quota and price that does nothing, as far as that can be told.
    pub fn unused(&self, inventory: &Inventory<'_>) -> Vec<UnusedRule> {
        let mut unused = self.policy.unused(inventory);
        unused.extend(self.quotas.unused(inventory));
        unused
    }

    /// What would be decided about a call: the decision with everything that has a say in it, and the limits that count
    /// it. Nothing is spent, asked or written down.
    pub async fn explain(&self, request: &Checked, context: &Context) -> Value {
        let operation = request.operation();
        let ruling = self.rule(&self.prepared(operation), request, &context.caller);
        let mut told = json!({
            "operation": operation.name,
            "source": operation.source,
            "category": operation.category,
            "danger": operation.danger,
            "trust": operation.trust,
        });
        if let (Some(told), Value::Object(explained)) =
            (told.as_object_mut(), ruling.explain(operation, Some(request.types())))
        {
            told.extend(explained);
            if let (Effect::Confirm(_), true) = (ruling.effect, operation.has_safe_dry_run && operation.native) {
                if is_dry_run(request) {
                    told.insert("decision".to_owned(), "allow".into());
                    told.shift_remove("strength");
                    told.shift_remove("to_change");
                }
                told.insert("dry_run".to_owned(), "A dry run changes nothing, so nobody is asked".into());
            }
            let limits = match operation.source.is_empty() {
                true => Vec::new(),
                false => self.quotas.counting(operation, &context.caller).await,
            };
            told.insert("limits".to_owned(), limits.into());
        }
        told
    }
}
