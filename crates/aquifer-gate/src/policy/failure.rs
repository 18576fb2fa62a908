//! What a caller is told whose call is denied: the specification's messages and details, and beside them the decision.

use aquifer_protocol::error::{Code, Failure, wording};
use aquifer_protocol::operation::Operation;
use aquifer_protocol::trust::Trust;
use serde_json::{Value, json};

use super::ruling::{Denial, Effect, Reason, Ruling};

impl Ruling {
    /// The failure of a denied call; nothing if it was not denied.
    pub fn failure(&self, operation: &Operation) -> Option<Failure> {
        let Effect::Deny(denial) = self.effect else { return None };
        let (name, danger, trust) = (&operation.name, operation.danger, operation.trust);
        let needed = self.needed();
        let shown = needed.map_or(Value::Null, |needed| json!(needed));
        let failure = match denial {
            Denial::Danger => Failure::new(
                Code::PermissionDangerLevelDenied,
                format!("Operation '{name}' (danger: {danger}) denied for adapter trust level '{trust}'"),
            )
            .detail("operation", &**name)
            .detail("danger_level", danger.as_str())
            .detail("adapter_trust", trust.as_str())
            .detail("minimum_trust_required", shown),
            Denial::Trust => {
                let required = needed.map_or("none", Trust::as_str);
                let message = format!("Operation '{name}' requires trust level '{required}', adapter has '{trust}'");
                Failure::new(Code::PermissionTrustLevelInsufficient, message)
                    .detail("operation", &**name)
                    .detail("required_trust", shown)
                    .detail("actual_trust", trust.as_str())
                    // A number here and a name elsewhere: so the specification has it.
                    .detail("danger_level", danger as u8)
            }
            Denial::Rule => Failure::new(Code::PermissionDenied, self.rule_message(operation))
                .detail("operation", &**name)
                .detail("danger_level", danger.as_str())
                .detail("adapter_trust", trust.as_str()),
        };
        let failure = match operation.safeguards.reasons.as_slice() {
            [] => failure,
            reasons => failure.detail("reasons", reasons.iter().map(|reason| &**reason).collect::<Vec<_>>()),
        };
        let failure = if operation.source.is_empty() { failure } else { failure.detail("source", &*operation.source) };
        Some(failure.detail("policy", self.explain(operation)))
    }

    /// The least trust under which nothing about trust stands in the way.
    fn needed(&self) -> Option<Trust> {
        self.because.iter().find_map(|reason| match reason {
            Reason::Cell { needed, .. } | Reason::Minimum { needed, .. } => *needed,
            _ => None,
        })
    }

    /// The operator's reason where there is one, else which rule it is. Words that a client would take for a leak stay
    /// in the details.
    fn rule_message(&self, operation: &Operation) -> String {
        let Some(Reason::Rule(rule)) = self.because.first() else {
            return format!("Permission denied: policy denies operation '{}'", operation.name);
        };
        if let Some(reason) = rule.reason.as_deref().filter(|reason| !wording::looks_like_a_leak(reason)) {
            return format!("Permission denied: {reason}");
        }
        let rule = Some(rule.to_string()).filter(|rule| !wording::looks_like_a_leak(rule));
        let rule = rule.unwrap_or_else(|| "a rule".to_owned());
        format!("Permission denied: {rule} denies operation '{}'", operation.name)
    }
}
