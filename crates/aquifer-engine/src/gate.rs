//! The seam to policy: the only place where an operation that would be accepted can be stopped.

use aquifer_protocol::error::Failure;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::validate::Checked;
use aquifer_protocol::warning::Warning;
use futures::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};

use crate::source::{Context, InputRequest};

/// Decides whether a checked request may run.
pub trait Gate: Send + Sync + 'static {
    /// Decides. Called once for each operation, also inside a batch.
    fn decide<'a>(&'a self, request: &'a Checked, context: &'a Context) -> BoxFuture<'a, Decision>;

    /// Whether it can ask for confirmation; told by introspection.
    fn confirms(&self) -> bool {
        false
    }

    /// The quotas and how much of them the caller has used; told by introspection. None are none.
    fn quota(&self, _context: &Context) -> Value {
        json!({ "quotas": [] })
    }

    /// What it would decide if nothing about a call spoke for or against it; told by introspection.
    fn policy(&self, _operation: &Operation, _context: &Context) -> &'static str {
        "allow"
    }
}

/// What the gate decided.
#[derive(Debug)]
pub enum Decision {
    /// It may run; these warnings go with the answer.
    Allow(Vec<Warning>),
    /// It may not.
    Refuse(Failure),
    /// A person has to say.
    Ask(InputRequest),
}

/// Lets everything pass.
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenGate;

impl Gate for OpenGate {
    fn decide<'a>(&'a self, _request: &'a Checked, _context: &'a Context) -> BoxFuture<'a, Decision> {
        std::future::ready(Decision::Allow(Vec::new())).boxed()
    }
}

/// A request the gate let pass. Only the engine makes one, and only from a decision.
#[derive(Debug)]
pub(crate) struct Cleared {
    pub(crate) request: Checked,
    pub(crate) warnings: Vec<Warning>,
}
