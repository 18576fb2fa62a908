//! Requests that are refused, kept so that they can be checked again with a newer catalog.

use serde_json::{Map, Value};

use crate::error::Failure;
use crate::operation::Operation;
use crate::request::{Metadata, Request};

/// A request whose parameters are not valid.
#[derive(Debug)]
pub struct Refused {
    /// What is wrong with it.
    pub failure: Failure,
    /// The request, with the canonical names of its parameters. `None` if it cannot be checked again, because it was
    /// ambiguous or parts of it were dropped.
    pub request: Option<Request>,
}

impl From<Failure> for Box<Refused> {
    fn from(failure: Failure) -> Self {
        Box::new(Refused { failure, request: None })
    }
}

/// The parameters that an operation does not declare, by where they were sent.
#[derive(Default)]
pub(super) struct UnknownParameters {
    pub(super) params: Vec<(String, Value)>,
    pub(super) beside: Vec<(String, Value)>,
}

impl UnknownParameters {
    pub(super) fn is_empty(&self) -> bool {
        self.params.is_empty() && self.beside.is_empty()
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.params.iter().chain(&self.beside).map(|(name, _)| name.clone()).collect()
    }

    /// The request that these and the known parameters came from.
    pub(super) fn into_request(
        self,
        operation: &Operation,
        mut known: Map<String, Value>,
        metadata: Metadata,
    ) -> Request {
        known.extend(self.params);
        let beside = self.beside.into_iter().collect();
        Request { operation: operation.name.to_string(), params: known, beside, metadata }
    }
}
