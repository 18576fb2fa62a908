//! The decision about a request.

use aquifer_protocol::error::Failure;
use aquifer_protocol::validate::Checked;
use aquifer_protocol::warning::Warning;
use futures::future::BoxFuture;
use serde_json::Value;

use crate::call::{Answer, InputRequest, Outcome};

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

/// A request that the gate allowed. Only the engine creates one, and only from a decision.
#[derive(Debug)]
pub(crate) struct Cleared {
    pub(crate) request: Checked,
    pub(crate) pass: Pass,
}

/// What a caller is about to be shown.
#[derive(Debug, Clone, Copy)]
pub enum Shown<'a> {
    /// The answer of an operation.
    Answer(&'a Answer),
    /// A resource, a prompt or a list of them.
    Value(&'a Value),
    /// Why it failed.
    Failure(&'a Failure),
}

impl<'a> Shown<'a> {
    /// What an outcome shows, if it is one that the caller sees.
    pub(crate) fn from_outcome(outcome: &'a Outcome) -> Option<Self> {
        match outcome {
            Outcome::Done(answer) => Some(Shown::Answer(answer)),
            Outcome::Failed(failure) => Some(Shown::Failure(failure)),
            Outcome::NeedsInput(_) => None,
        }
    }
}

impl<'a> From<&'a Result<Value, Failure>> for Shown<'a> {
    fn from(result: &'a Result<Value, Failure>) -> Self {
        match result {
            Ok(value) => Shown::Value(value),
            Err(failure) => Shown::Failure(failure),
        }
    }
}
