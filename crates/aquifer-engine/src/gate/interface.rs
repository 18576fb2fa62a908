//! The traits of gates. Every gate is a [`Gate`]; what only some can say is in the other two.

use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::introspect::signature::Mark;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::Types;
use aquifer_protocol::validate::Checked;
use futures::future::{BoxFuture, FutureExt};
use serde_json::{Map, Value, json};

use super::{BatchConfirmation, BatchDecision, ConfirmationMethod, Decision, Grant, Shown};
use crate::call::Context;
use crate::call::rehearsal::Rehearsal;

/// The default decision of a gate that says nothing else.
const ALLOW: &str = "allow";

/// Decides whether a checked request may run.
///
/// The engine uses a gate as `dyn Gate`, which has the methods of the other traits as well. Each of them says what holds
/// for a gate without the trait.
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

    /// Decides about access to resources and prompts. The access is represented as a READ operation of its source:
    /// `read_resource`, `get_prompt`, `complete` and the lists.
    fn admit<'a>(&'a self, _reading: &'a Operation, _context: &'a Context) -> BoxFuture<'a, Result<(), Failure>> {
        std::future::ready(Ok(())).boxed()
    }

    /// Decides about an operation that the source of a call was led to, for example by a redirect, with the parameters
    /// that it would have. Nobody can be asked in the middle of a call, so what needs confirmation is refused. By
    /// default, everything is refused that [`restricts`](Rules::restricts) names.
    fn admit_target(
        &self,
        operation: &Operation,
        _params: &Map<String, Value>,
        _types: &Types,
        _context: &Context,
    ) -> Result<(), Failure> {
        if self.as_rules().is_none_or(|rules| rules.restricts(operation)) {
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

    /// Notes what a caller is about to see, because later calls may follow what it says. Returns what has to be done
    /// first, if anything.
    fn note<'a>(
        &'a self,
        _operation: &'a Operation,
        _shown: Shown<'_>,
        _context: &'a Context,
    ) -> Option<BoxFuture<'a, ()>> {
        None
    }

    /// The limits and quotas of all sources or of one, how much the caller has used, and when the oldest use stops
    /// counting. Shown by introspection.
    fn quota<'a>(&'a self, _context: &'a Context, _source: Option<&'a str>) -> BoxFuture<'a, Value> {
        std::future::ready(json!({ "api_limits": {}, "quotas": [], "next_reset": null })).boxed()
    }

    /// Itself, if its decisions can be told before a call.
    fn as_rules(&self) -> Option<&dyn Rules> {
        None
    }

    /// Itself, if it can confirm several requests of a batch together.
    fn as_batch(&self) -> Option<&dyn BatchGate> {
        None
    }
}

/// A gate whose decisions can be told before a call, from the operation alone.
pub trait Rules: Gate {
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

    /// The default decision for this operation, before rules that depend on the call. Shown by introspection.
    fn policy(&self, _operation: &Operation, _context: &Context) -> &'static str {
        ALLOW
    }

    /// The mark of the operation in signatures: the decision of [`policy`](Rules::policy), and how a confirmation is
    /// given by this caller.
    fn mark(&self, operation: &Operation, context: &Context) -> Mark {
        match self.policy(operation, context) {
            "confirm" => Mark::Confirm,
            "deny" => Mark::Denied,
            _ => Mark::None,
        }
    }
}

/// A gate that can confirm several requests of a batch together.
pub trait BatchGate: Gate {
    /// How this request of a batch would have to be confirmed, if at all. Decides and records nothing.
    fn confirmation(&self, request: &Checked, context: &Context) -> Option<ConfirmationMethod>;

    /// Confirms several requests of a batch together: with the token or the answer that was sent, otherwise by asking
    /// for one confirmation of all of them.
    fn confirm_batch<'a>(
        &'a self,
        batch: &'a BatchConfirmation<'a>,
        context: &'a Context,
    ) -> BoxFuture<'a, BatchDecision>;

    /// Decides about a request of a batch that `grant` may confirm. It has this index in the batch.
    fn decide_confirmed<'a>(
        &'a self,
        request: &'a Checked,
        grant: &'a Grant,
        index: usize,
        context: &'a Context,
    ) -> BoxFuture<'a, Decision>;
}

/// What the other traits say, for any gate.
impl dyn Gate + '_ {
    /// See [`Rules::confirms`]. A gate without rules cannot ask.
    pub fn confirms(&self) -> bool {
        self.as_rules().is_some_and(Rules::confirms)
    }

    /// See [`Rules::may_confirm`]. A gate without rules cannot ask.
    pub fn may_confirm(&self, operation: &Operation) -> bool {
        self.as_rules().is_some_and(|rules| rules.may_confirm(operation))
    }

    /// See [`Rules::denies_always`]. A gate without rules conceals nothing.
    pub fn denies_always(&self, operation: &Operation) -> bool {
        self.as_rules().is_some_and(|rules| rules.denies_always(operation))
    }

    /// See [`Rules::restricts`]. A gate without rules may refuse anything.
    pub fn restricts(&self, operation: &Operation) -> bool {
        self.as_rules().is_none_or(|rules| rules.restricts(operation))
    }

    /// See [`Rules::judges_parameters`]. A gate without rules does not.
    pub fn judges_parameters(&self, operation: &Operation) -> bool {
        self.as_rules().is_some_and(|rules| rules.judges_parameters(operation))
    }

    /// See [`Rules::policy`]. A gate without rules allows by default.
    pub fn policy(&self, operation: &Operation, context: &Context) -> &'static str {
        self.as_rules().map_or(ALLOW, |rules| rules.policy(operation, context))
    }

    /// See [`Rules::mark`]. None without rules.
    pub fn mark(&self, operation: &Operation, context: &Context) -> Mark {
        self.as_rules().map_or(Mark::None, |rules| rules.mark(operation, context))
    }

    /// See [`BatchGate::confirmation`]. A gate without it confirms no batches.
    pub fn confirmation(&self, request: &Checked, context: &Context) -> Option<ConfirmationMethod> {
        self.as_batch()?.confirmation(request, context)
    }

    /// See [`BatchGate::confirm_batch`]. No token is for a batch without it.
    pub fn confirm_batch<'a>(
        &'a self,
        batch: &'a BatchConfirmation<'a>,
        context: &'a Context,
    ) -> BoxFuture<'a, BatchDecision> {
        match self.as_batch() {
            Some(gate) => gate.confirm_batch(batch, context),
            None => std::future::ready(BatchDecision::NotForBatch).boxed(),
        }
    }

    /// See [`BatchGate::decide_confirmed`]. A gate without it decides about each request alone.
    pub fn decide_confirmed<'a>(
        &'a self,
        request: &'a Checked,
        grant: &'a Grant,
        index: usize,
        context: &'a Context,
    ) -> BoxFuture<'a, Decision> {
        match self.as_batch() {
            Some(gate) => gate.decide_confirmed(request, grant, index, context),
            None => self.decide(request, context),
        }
    }
}
