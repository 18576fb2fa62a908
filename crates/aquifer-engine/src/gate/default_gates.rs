//! The gates of an engine that is given none.

use aquifer_protocol::danger::Danger;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::Operation;
use aquifer_protocol::trust::Trust;
use aquifer_protocol::validate::Checked;
use futures::future::{BoxFuture, FutureExt};

use super::{Decision, Gate, Pass, Rules};
use crate::call::Context;

/// The default gate of an engine. It refuses operations that cannot be undone, because nobody could confirm them, and
/// changes by sources that nobody has reviewed.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClosedGate;

impl ClosedGate {
    fn refusal(operation: &Operation) -> Option<Failure> {
        let needed = match operation.safety.danger {
            Danger::Safe => Trust::Generated,
            Danger::Reversible => Trust::Accepted,
            Danger::Destructive | Danger::Dangerous | Danger::Forbidden => {
                let message = format!(
                    "Permission denied: '{}' is {}, and this server has no safety gate to confirm it with",
                    operation.name, operation.safety.danger
                );
                return Some(Failure::new(Code::PermissionDangerLevelDenied, message));
            }
        };
        if operation.origin.trust < needed {
            let message = format!("Permission denied: '{}' needs a source trusted as '{needed}'", operation.name);
            return Some(Failure::new(Code::PermissionTrustLevelInsufficient, message));
        }
        if let Some(reason) = &operation.safety.quarantine {
            return Some(Failure::new(Code::PermissionDenied, format!("Permission denied: {reason}")));
        }
        operation.safety.safeguards.always_confirm.then(|| {
            let message =
                format!("Permission denied: '{}' requires confirmation, and nobody can be asked", operation.name);
            Failure::new(Code::PermissionDenied, message)
        })
    }
}

impl Gate for ClosedGate {
    fn decide<'a>(&'a self, request: &'a Checked, _context: &'a Context) -> BoxFuture<'a, Decision> {
        let operations = std::iter::once(request.operation()).chain(request.also_needs());
        let decision = match operations.into_iter().find_map(|operation| Self::refusal(operation)) {
            // The operations of the protocol itself belong to no source.
            Some(failure) if !request.operation().origin.source.is_empty() => Decision::Refuse(failure),
            _ => Decision::Allow(Pass::default()),
        };
        std::future::ready(decision).boxed()
    }

    fn admit<'a>(&'a self, reading: &'a Operation, _context: &'a Context) -> BoxFuture<'a, Result<(), Failure>> {
        std::future::ready(Self::refusal(reading).map_or(Ok(()), Err)).boxed()
    }

    fn as_rules(&self) -> Option<&dyn Rules> {
        Some(self)
    }
}

impl Rules for ClosedGate {
    fn restricts(&self, operation: &Operation) -> bool {
        Self::refusal(operation).is_some()
    }

    fn policy(&self, operation: &Operation, _context: &Context) -> &'static str {
        if Self::refusal(operation).is_some() { "deny" } else { "allow" }
    }
}

/// Allows everything: no danger levels, trust, confirmation or audit. For tests and benchmarks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OpenGate;

impl Gate for OpenGate {
    fn decide<'a>(&'a self, _request: &'a Checked, _context: &'a Context) -> BoxFuture<'a, Decision> {
        std::future::ready(Decision::Allow(Pass::default())).boxed()
    }

    fn as_rules(&self) -> Option<&dyn Rules> {
        Some(self)
    }
}

impl Rules for OpenGate {
    fn restricts(&self, _operation: &Operation) -> bool {
        false
    }
}
