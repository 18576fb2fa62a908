//! The seam to policy: the only place where something that would be accepted can be stopped.

use aquifer_protocol::danger::Danger;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::Operation;
use aquifer_protocol::trust::Trust;
use aquifer_protocol::validate::Checked;
use aquifer_protocol::warning::Warning;
use futures::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};

use crate::source::{Context, InputRequest, Outcome};

/// Decides whether a checked request may run.
pub trait Gate: Send + Sync + 'static {
    /// Decides. Called once for each operation, also inside a batch.
    fn decide<'a>(&'a self, request: &'a Checked, context: &'a Context) -> BoxFuture<'a, Decision>;

    /// Decides whether something beside operations may be got. It is put as an operation of its source that reads:
    /// `read_resource`, `get_prompt`, `complete` and the lists.
    fn admit<'a>(&'a self, _reading: &'a Operation, _context: &'a Context) -> BoxFuture<'a, Result<(), Failure>> {
        std::future::ready(Ok(())).boxed()
    }

    /// Whether it can ask for confirmation; told by introspection.
    fn confirms(&self) -> bool {
        false
    }

    /// Whether it may ask for confirmation of this operation. If so, the operation takes a `confirmation_token`.
    fn may_confirm(&self, _operation: &Operation) -> bool {
        false
    }

    /// Whether it refuses every call of this operation, whoever makes it and with whatever parameters. Callers are then
    /// not shown that the operation exists.
    fn denies_always(&self, _operation: &Operation) -> bool {
        false
    }

    /// Whether it may refuse a call of this operation, or ask about it.
    fn restricts(&self, _operation: &Operation) -> bool {
        true
    }

    /// Whether it looks at the parameters of this operation. A request of an operation that has a generic name is then
    /// judged by the generic operation's parameters as well.
    fn judges_parameters(&self, _operation: &Operation) -> bool {
        false
    }

    /// The limits and quotas of all sources or of one, how much of them the caller has used, and when the first of it ceases
    /// to count; told by introspection.
    fn quota<'a>(&'a self, _context: &'a Context, _source: Option<&'a str>) -> BoxFuture<'a, Value> {
        std::future::ready(json!({ "api_limits": {}, "quotas": [], "next_reset": null })).boxed()
    }

    /// What it would decide if nothing about a call spoke for or against it; told by introspection.
    fn policy(&self, _operation: &Operation, _context: &Context) -> &'static str {
        "allow"
    }
}

/// What the gate decided.
#[derive(Debug)]
pub enum Decision {
    /// It may run.
    Allow(Pass),
    /// It may not.
    Refuse(Failure),
    /// A person has to say.
    Ask(InputRequest),
}

/// Leave to run.
#[derive(Default)]
pub struct Pass {
    /// Go with the answer.
    pub warnings: Vec<Warning>,
    /// Wants to know what came of it.
    pub receipt: Option<Box<dyn Receipt>>,
}

/// Waits for the outcome of an operation that was let pass.
///
/// One that is dropped instead of settled will never know: the caller gave up or the source panicked, and the operation
/// may have been done all the same.
pub trait Receipt: Send + 'static {
    /// Called once, when the source has answered and before the caller learns of it.
    fn settle<'a>(self: Box<Self>, outcome: &'a Outcome) -> BoxFuture<'a, ()>;
}

impl std::fmt::Debug for Pass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pass").field("warnings", &self.warnings).field("receipt", &self.receipt.is_some()).finish()
    }
}

/// The gate of an engine that was given none: what cannot be undone is refused, because nobody could confirm it, and so is
/// what a source that nobody looked into would change.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClosedGate;

impl ClosedGate {
    fn refusal(operation: &Operation) -> Option<Failure> {
        let needed = match operation.danger {
            Danger::Safe => Trust::Generated,
            Danger::Reversible => Trust::Validated,
            Danger::Destructive | Danger::Dangerous | Danger::Forbidden => {
                let message = format!(
                    "Permission denied: '{}' is {}, and this server has no safety gate to confirm it with",
                    operation.name, operation.danger
                );
                return Some(Failure::new(Code::PermissionDangerLevelDenied, message));
            }
        };
        if operation.trust < needed {
            let message = format!("Permission denied: '{}' needs a source trusted as '{needed}'", operation.name);
            return Some(Failure::new(Code::PermissionTrustLevelInsufficient, message));
        }
        if let Some(reason) = &operation.quarantine {
            return Some(Failure::new(Code::PermissionDenied, format!("Permission denied: {reason}")));
        }
        operation.safeguards.always_confirm.then(|| {
            let message =
                format!("Permission denied: '{}' has to be confirmed, and nobody can be asked", operation.name);
            Failure::new(Code::PermissionDenied, message)
        })
    }
}

impl Gate for ClosedGate {
    fn restricts(&self, operation: &Operation) -> bool {
        Self::refusal(operation).is_some()
    }

    fn decide<'a>(&'a self, request: &'a Checked, _context: &'a Context) -> BoxFuture<'a, Decision> {
        let operations = std::iter::once(request.operation()).chain(request.also_needs());
        let decision = match operations.into_iter().find_map(|operation| Self::refusal(operation)) {
            // The protocol's own operations belong to no source.
            Some(failure) if !request.operation().source.is_empty() => Decision::Refuse(failure),
            _ => Decision::Allow(Pass::default()),
        };
        std::future::ready(decision).boxed()
    }

    fn admit<'a>(&'a self, reading: &'a Operation, _context: &'a Context) -> BoxFuture<'a, Result<(), Failure>> {
        std::future::ready(Self::refusal(reading).map_or(Ok(()), Err)).boxed()
    }

    fn policy(&self, operation: &Operation, _context: &Context) -> &'static str {
        if Self::refusal(operation).is_some() { "deny" } else { "allow" }
    }
}

/// Lets everything pass: no danger, no trust, no confirmation, no audit. For tests and measurements.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OpenGate;

impl Gate for OpenGate {
    fn restricts(&self, _operation: &Operation) -> bool {
        false
    }

    fn decide<'a>(&'a self, _request: &'a Checked, _context: &'a Context) -> BoxFuture<'a, Decision> {
        std::future::ready(Decision::Allow(Pass::default())).boxed()
    }
}

/// A request the gate let pass. Only the engine makes one, and only from a decision.
#[derive(Debug)]
pub(crate) struct Cleared {
    pub(crate) request: Checked,
    pub(crate) pass: Pass,
}
