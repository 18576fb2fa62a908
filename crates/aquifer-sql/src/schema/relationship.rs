//! References between offered tables.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::model::OnDelete;

/// Rows of one table refer to rows of another.
#[derive(Debug, Clone)]
pub(crate) struct Relationship {
    /// The name for callers, such as `orders.customer_id`.
    pub(crate) name: Arc<str>,
    /// The referring table.
    pub(crate) from: usize,
    /// The referenced table.
    pub(crate) to: usize,
    pub(crate) columns: Vec<Arc<str>>,
    pub(crate) to_columns: Vec<Arc<str>>,
    pub(crate) on_delete: OnDelete,
    /// Whether the referring table is concealed from callers.
    pub(crate) conceals_from: bool,
    /// Whether the referenced table is concealed from callers.
    pub(crate) conceals_to: bool,
}

/// The direction in which references are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Incoming,
    Outgoing,
    Both,
}

impl Direction {
    /// The requested direction.
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
