//! The interface to policy: the only place where a valid request can be refused.

use std::any::Any;
use std::sync::Arc;

use aquifer_protocol::danger::Danger;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::introspect::signature::Mark;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::Types;
use aquifer_protocol::trust::Trust;
use aquifer_protocol::validate::Checked;
use aquifer_protocol::warning::Warning;
use futures::future::{BoxFuture, FutureExt};
use serde_json::{Map, Value, json};

use crate::rehearsal::{Preview, Rehearsal};
use crate::source::{Context, InputRequest, Outcome};

/// Decides whether a checked request may run.
pub trait Gate: Send + Sync + 'static {
    /// Decides about a request. Called once for each operation, also in a batch.
    fn decide<'a>(&'a self, request: &'a Checked, context: &'a Context) -> BoxFuture<'a, Decision>;

    /// Decides about a request that can be rehearsed: before a person is asked to confirm it, the gate determines
    /// whether it can succeed and what it would do.
    fn decide_rehearsed<'a>(
        &'a self,
        request: &'a Checked,
        _rehearsal: &'a dyn Rehearsal,
        context: &'a Context,
    ) -> BoxFuture<'a, Decision> {
        self.decide(request, context)
    }

    /// How this request of a batch would have to be confirmed, if at all. Decides and records nothing.
    fn confirmation(&self, _request: &Checked, _context: &Context) -> Option<ConfirmationMethod> {
        None
    }

    /// Confirms several requests of a batch together: with the token or the answer that was sent, otherwise by asking
    /// for one confirmation of all of them.
    fn confirm_batch<'a>(
        &'a self,
        _batch: &'a BatchConfirmation<'a>,
        _context: &'a Context,
    ) -> BoxFuture<'a, BatchDecision> {
        std::future::ready(BatchDecision::NotForBatch).boxed()
    }

    /// Decides about a request of a batch that `grant` may confirm. It has this index in the batch.
    fn decide_confirmed<'a>(
        &'a self,
        request: &'a Checked,
        _grant: &'a Grant,
        _index: usize,
        context: &'a Context,
    ) -> BoxFuture<'a, Decision> {
        self.decide(request, context)
    }

    /// Decides about access to resources and prompts. The access is represented as a READ operation of its source:
    /// `read_resource`, `get_prompt`, `complete` and the lists.
    fn admit<'a>(&'a self, _reading: &'a Operation, _context: &'a Context) -> BoxFuture<'a, Result<(), Failure>> {
        std::future::ready(Ok(())).boxed()
    }

    /// Decides about an operation that the source of a call was led to, for example by a redirect, with the parameters
    /// that it would have. Nobody can be asked in the middle of a call, so what needs confirmation is refused. By
    /// default, everything is refused that [`restricts`](Gate::restricts) names.
    fn admit_target(
        &self,
        operation: &Operation,
        _params: &Map<String, Value>,
        _types: &Types,
        _context: &Context,
    ) -> Result<(), Failure> {
        if self.restricts(operation) {
            return Err(Failure::new(Code::PermissionDenied, "Permission denied: the operation is restricted"));
        }
        Ok(())
    }

    /// Counts another request to the source of a call that already runs: a further page of a list, or the read before a
    /// change. It is counted by the limits that the source declares, and an error says that one of them is reached.
    fn count_page<'a>(
        &'a self,
        _operation: &'a Operation,
        _context: &'a Context,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        std::future::ready(Ok(())).boxed()
    }

    /// Whether it can ask for confirmation. Shown by introspection.
    fn confirms(&self) -> bool {
        false
    }

    /// Whether it may ask for confirmation of this operation. If so, the operation takes a `confirmation_token`.
    fn may_confirm(&self, _operation: &Operation) -> bool {
        false
    }

    /// Whether it refuses every call of this operation, for every caller and all parameters. The operation is then
    /// concealed from callers.
    fn denies_always(&self, _operation: &Operation) -> bool {
        false
    }

    /// Whether it may refuse a call of this operation, or ask about it.
    fn restricts(&self, _operation: &Operation) -> bool {
        true
    }

    /// Whether its decision depends on the parameters of this operation. If the operation also has a generic name, the
    /// parameters of the generic operation are then evaluated as well.
    fn judges_parameters(&self, _operation: &Operation) -> bool {
        false
    }

    /// The limits and quotas of all sources or of one, how much the caller has used, and when the oldest use stops
    /// counting. Shown by introspection.
    fn quota<'a>(&'a self, _context: &'a Context, _source: Option<&'a str>) -> BoxFuture<'a, Value> {
        std::future::ready(json!({ "api_limits": {}, "quotas": [], "next_reset": null })).boxed()
    }

    /// The default decision for this operation, before rules that depend on the call. Shown by introspection.
    fn policy(&self, _operation: &Operation, _context: &Context) -> &'static str {
        "allow"
    }

    /// The mark of the operation in signatures: the decision of [`policy`](Gate::policy), and how a confirmation is
    /// given by this caller.
    fn mark(&self, operation: &Operation, context: &Context) -> Mark {
        match self.policy(operation, context) {
            "confirm" => Mark::Confirm,
            "deny" => Mark::Denied,
            _ => Mark::None,
        }
    }
}

/// The decision of the gate.
#[derive(Debug)]
pub enum Decision {
    /// The request may run.
    Allow(Pass),
    /// The request is refused.
    Refuse(Failure),
    /// A person has to answer first.
    Ask(InputRequest),
}

/// How a request would have to be confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfirmationMethod {
    /// The client asks its user.
    Question,
    /// The caller sends a token, which somebody may have to approve first.
    Token,
}

/// The requests of a batch that are confirmed together, and those that run with them.
#[derive(Debug)]
pub struct BatchConfirmation<'a> {
    /// The requests in the order in which they run.
    pub entries: Vec<BatchEntry<'a>>,
    /// The token that was sent.
    pub token: Option<BatchToken<'a>>,
}

/// A token that was sent with a batch.
#[derive(Clone, Copy)]
pub enum BatchToken<'a> {
    /// Beside the operations.
    OfBatch(&'a str),
    /// With one operation, so that it may be a token for that operation alone.
    OfOperation(&'a str),
}

impl<'a> BatchToken<'a> {
    /// The token.
    pub fn text(self) -> &'a str {
        match self {
            BatchToken::OfBatch(token) | BatchToken::OfOperation(token) => token,
        }
    }
}

/// Tokens are secrets.
impl std::fmt::Debug for BatchToken<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            BatchToken::OfBatch(_) => "OfBatch",
            BatchToken::OfOperation(_) => "OfOperation",
        })
    }
}

/// A request of a batch.
#[derive(Debug)]
pub struct BatchEntry<'a> {
    /// Its index in the batch.
    pub index: usize,
    /// The request.
    pub request: EntryRequest<'a>,
    /// Whether it is to be confirmed.
    pub is_gated: bool,
    /// What it would do, if it was rehearsed.
    pub preview: Option<&'a Preview>,
    /// Why it would currently fail. An earlier operation of the batch may change that.
    pub obstacle: Option<&'a Failure>,
}

/// A request of a batch, as far as it is known.
#[derive(Debug)]
pub enum EntryRequest<'a> {
    /// It is complete.
    Checked(&'a Checked),
    /// It refers to answers that are not available yet. The references count from the first of the requests.
    Unresolved {
        /// The operation's name.
        operation: &'a str,
        /// The parameters.
        params: Map<String, Value>,
    },
}

/// The decision about several requests of a batch.
#[derive(Debug)]
pub enum BatchDecision {
    /// Those that the grant covers are confirmed. Each is still decided when it runs.
    Confirmed(Grant),
    /// The requests with these indices have to be confirmed first. The failure is for each of them.
    Wait {
        /// What the caller has to do.
        failure: Failure,
        /// The indices of the requests.
        indices: Vec<usize>,
    },
    /// A person has to answer first.
    Ask(InputRequest),
    /// The confirmation is refused, so nothing runs.
    Refuse(Failure),
    /// The token is not for a batch.
    NotForBatch,
}

/// A confirmation of several requests of a batch. It was consumed before the first of them runs, and covers each once.
#[derive(Clone)]
pub struct Grant {
    indices: Arc<[usize]>,
    confirmation: Arc<dyn Any + Send + Sync>,
}

impl Grant {
    /// A grant for the requests with these indices. Only the gate knows what confirms them.
    pub fn new(indices: Vec<usize>, confirmation: impl Any + Send + Sync) -> Self {
        Self { indices: indices.into(), confirmation: Arc::new(confirmation) }
    }

    /// Whether it covers the request with this index.
    pub fn covers(&self, index: usize) -> bool {
        self.indices.contains(&index)
    }

    /// What confirms the requests, for the gate.
    pub fn confirmation<T: Any>(&self) -> Option<&T> {
        self.confirmation.downcast_ref()
    }
}

impl std::fmt::Debug for Grant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Grant").field("indices", &self.indices).finish_non_exhaustive()
    }
}

/// Permission to run.
#[derive(Default)]
pub struct Pass {
    /// Warnings for the response.
    pub warnings: Vec<Warning>,
    /// Receives the outcome.
    pub receipt: Option<Box<dyn Receipt>>,
}

/// Receives the outcome of an operation that was allowed.
///
/// If it is dropped without being settled, the outcome is unknown: the caller cancelled or the source panicked, and the
/// operation may have been carried out.
pub trait Receipt: Send + 'static {
    /// Called once, after the source has answered and before the caller gets the response.
    fn settle<'a>(self: Box<Self>, outcome: &'a Outcome) -> BoxFuture<'a, ()>;
}

impl std::fmt::Debug for Pass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pass").field("warnings", &self.warnings).field("receipt", &self.receipt.is_some()).finish()
    }
}

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
    fn restricts(&self, operation: &Operation) -> bool {
        Self::refusal(operation).is_some()
    }

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

    fn policy(&self, operation: &Operation, _context: &Context) -> &'static str {
        if Self::refusal(operation).is_some() { "deny" } else { "allow" }
    }
}

/// Allows everything: no danger levels, trust, confirmation or audit. For tests and benchmarks.
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

/// A request that the gate allowed. Only the engine creates one, and only from a decision.
#[derive(Debug)]
pub(crate) struct Cleared {
    pub(crate) request: Checked,
    pub(crate) pass: Pass,
}
