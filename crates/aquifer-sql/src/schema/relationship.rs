//! References between the tables that are offered.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::model::OnDelete;

/// Rows of one table refer to rows of another.
#[derive(Debug, Clone)]
pub(crate) struct Relationship {
    /// Its name for callers, such as `orders.customer_id`.
    pub(crate) name: Arc<str>,
    /// The table that refers.
    pub(crate) from: usize,
    /// The table referred to.
    pub(crate) to: usize,
    pub(crate) columns: Vec<Arc<str>>,
    pub(crate) to_columns: Vec<Arc<str>>,
    pub(crate) on_delete: OnDelete,
    /// Whether callers must not learn of the table that refers.
    pub(crate) conceals_from: bool,
    /// Whether callers must not learn of the table referred to.
    pub(crate) conceals_to: bool,
}

/// Which way references are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Incoming,
    Outgoing,
    Both,
}

impl Direction {
    /// The direction that a caller asked for.
    pub(crate) fn from_params(params: &Map<String, Value>) -> Self {
        match params.get("direction").and_then(Value::as_str) {
            Some("incoming") => Direction::Incoming,
            Some("outgoing") => Direction::Outgoing,
            _ => Direction::Both,
        }
    }

    pub(crate) fn allows(self, outgoing: bool) -> bool {
        match self {
            Direction::Both => true,
            Direction::Outgoing => outgoing,
            Direction::Incoming => !outgoing,
        }
    }
}
