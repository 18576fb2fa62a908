//! What an operation can do beyond returning a result.

use std::sync::Arc;

use serde::Serialize;

use super::shaping::Shaping;
use crate::published::{AggregateFunction, AggregationMode, Direction};

/// What an operation can do beyond returning a result.
#[derive(Debug, Clone, Default)]
pub struct Capabilities {
    /// The states of the execution that it starts, if it starts one.
    pub lifecycle: Option<Lifecycle>,
    /// Values that can be computed for each row on request.
    pub computed_fields: Vec<ComputedField>,
    /// The aggregates it can compute.
    pub aggregation: Option<AggregationSupport>,
    /// Relationships it can follow.
    pub relationships: Option<RelationshipCapabilities>,
    /// How we shape its results, if its source does not (R-DIS-8).
    pub shaping: Option<Shaping>,
}

/// The states of an execution.
#[derive(Debug, Clone, Serialize)]
pub struct Lifecycle {
    /// Every state it can be in.
    pub states: Vec<&'static str>,
    /// Whether it can be cancelled.
    pub supports_cancel: bool,
    /// Whether it can be started again after it failed.
    pub supports_retry: bool,
    /// Whether it reports progress.
    pub progress_reporting: bool,
}

impl Lifecycle {
    /// The five states of the specification, with cancellation and progress.
    pub fn standard() -> Self {
        Self {
            states: vec!["pending", "running", "completed", "failed", "cancelled"],
            supports_cancel: true,
            supports_retry: false,
            progress_reporting: true,
        }
    }
}

/// A value computed for each row.
#[derive(Debug, Clone, Serialize)]
pub struct ComputedField {
    /// Its name under `_computed`.
    pub name: Arc<str>,
    /// Its type.
    #[serde(rename = "type")]
    pub type_name: Arc<str>,
    /// What it means.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<Arc<str>>,
    /// Whether filters may use it.
    pub filterable: bool,
    /// Whether sorting may use it.
    pub sortable: bool,
}

/// The aggregates that an operation can compute.
#[derive(Debug, Clone, Serialize)]
pub struct AggregationSupport {
    /// Whether aggregation is supported.
    pub supported: bool,
    /// Whether items are returned together with aggregates by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_mode: Option<AggregationMode>,
    /// The supported functions that the specification knows.
    pub functions: Vec<AggregateFunction>,
    /// Fields to group by.
    pub groupable_fields: Vec<Arc<str>>,
    /// Fields to calculate with.
    pub numeric_fields: Vec<Arc<str>>,
}

/// Relationships an operation can follow.
#[derive(Debug, Clone, Serialize)]
pub struct RelationshipCapabilities {
    /// Whether relationships can be followed.
    pub supported: bool,
    /// The supported directions.
    pub directions: Vec<Direction>,
    /// The supported relationships.
    pub relationship_types: Vec<Arc<str>>,
    /// The maximum depth.
    pub max_depth: u32,
}
