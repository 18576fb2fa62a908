//! The failure of a denied call: the reason, the specification's details, and the decision.

use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::Operation;
use aquifer_protocol::trust::Trust;
use serde_json::{Value, json};

use super::decision::{Denial, Effect, PolicyDecision, Reason};

impl PolicyDecision {
    /// The failure of a denied call. `None` if it was not denied.
    pub fn failure(&self, operation: &Operation) -> Option<Failure> {
        let Effect::Deny(denial) = self.effect else { return None };
        let (name, danger, trust) = (&operation.name, operation.safety.danger, operation.origin.trust);
        let needed = self.needed();
        // A published member with published values.
        let shown = needed.map_or(Value::Null, |needed| json!(needed.as_published()));
        let message = |code: Code| Failure::new(code, format!("Permission denied: {}", self.reason_for_caller()));
        let failure = match denial {
            Denial::Danger => message(Code::PermissionDangerLevelDenied)
                .detail("operation", &**name)
                .detail("danger_level", danger.as_str())
                .detail("adapter_trust", trust.as_str())
                .detail("minimum_trust_required", shown),
            Denial::Trust => message(Code::PermissionTrustLevelInsufficient)
                .detail("operation", &**name)
                .detail("required_trust", shown)
                .detail("actual_trust", trust.as_str())
                // The specification uses a number here and a name elsewhere.
                .detail("danger_level", danger as u8),
            Denial::Rule | Denial::Quarantine | Denial::RequiredOperation => message(Code::PermissionDenied)
                .detail("operation", &**name)
                .detail("danger_level", danger.as_str())
                .detail("adapter_trust", trust.as_str()),
        };
        let failure = match operation.safety.safeguards.reasons.as_slice() {
            [] => failure,
            reasons => failure.detail("reasons", reasons.iter().map(|reason| &**reason).collect::<Vec<_>>()),
        };
        let failure = if operation.origin.source.is_empty() {
            failure
        } else {
            failure.detail("source", &*operation.origin.source)
        };
        Some(failure.detail("policy", self.for_caller()))
    }

    /// The lowest trust at which trust is no longer a reason to deny the call.
    fn needed(&self) -> Option<Trust> {
        self.reasons.iter().find_map(|reason| match reason {
            Reason::Cell { needed, .. } | Reason::Minimum { needed, .. } => *needed,
            _ => None,
        })
    }
}
