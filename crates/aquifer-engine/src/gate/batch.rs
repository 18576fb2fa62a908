//! The confirmation of several requests of a batch together.

use std::any::Any;
use std::sync::Arc;

use aquifer_protocol::error::Failure;
use aquifer_protocol::validate::Checked;
use serde_json::{Map, Value};

use crate::call::InputRequest;
use crate::call::rehearsal::Preview;

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
