//! What the explorer needs from the program around it.

use std::path::PathBuf;
use std::sync::Arc;

use aquifer_gate::SafetyGate;
use futures::future::BoxFuture;
use serde_json::Value;

use crate::error::ApiError;

/// Where the audit log can be read.
#[derive(Debug, Clone, Default)]
pub struct AuditFiles {
    /// The directory of its files, if it is written to files.
    pub directory: Option<PathBuf>,
    /// Whether it is written to the state store.
    pub is_in_store: bool,
}

/// The program around the explorer: it knows the configuration and can change it. Values have the form that the page
/// reads.
pub trait Operator: Send + Sync + 'static {
    /// The gate in force.
    fn gate(&self) -> Arc<SafetyGate>;

    /// Where the audit log can be read.
    fn audit_files(&self) -> AuditFiles;

    /// The configuration, where each value comes from, and its problems.
    fn settings(&self) -> BoxFuture<'_, Result<Value, ApiError>>;

    /// Definitions in quarantine, and tools without enough evidence for a category.
    fn review(&self) -> BoxFuture<'_, Result<Value, ApiError>>;

    /// Records a decision about a tool.
    fn decide_review(&self, decision: Value, person: String) -> BoxFuture<'_, Result<(), ApiError>>;

    /// How the file of rules would change.
    fn preview_rules(&self, change: Value) -> BoxFuture<'_, Result<Value, ApiError>>;

    /// Changes the file of rules, unless it has changed since it was shown.
    fn apply_rules(&self, change: Value, person: String) -> BoxFuture<'_, Result<(), ApiError>>;
}
