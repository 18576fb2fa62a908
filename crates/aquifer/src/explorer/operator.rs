//! Answers the explorer's questions about this program, and carries out its changes.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use aquifer_engine::Engine;
use aquifer_explorer::{ApiError, AuditFiles, Operator};
use aquifer_gate::SafetyGate;
use aquifer_gate::audit::Entry;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;

use super::review::Reviewer;
use super::{rules, settings};
use crate::cli::{ConfirmationArgs, SurfaceArgs, UpstreamArgs};
use crate::config::{AuditSink, Config};
use crate::safety::{self, Safety};
use crate::setup::SourceSelection;

/// What is served, and what it was built from.
pub(crate) struct OperatorContext {
    pub(crate) engine: Arc<Engine>,
    pub(crate) safety: Arc<Safety>,
    /// The configuration at the start. Sources and rules may have been reloaded since.
    pub(crate) config: Config,
    /// The path of the configuration.
    pub(crate) path: Option<PathBuf>,
    /// The sources on the command line.
    pub(crate) targets: Vec<String>,
    pub(crate) upstream: UpstreamArgs,
    pub(crate) confirmation: ConfirmationArgs,
    pub(crate) surface: SurfaceArgs,
    /// The address on the command line.
    pub(crate) http: Option<SocketAddr>,
}

impl OperatorContext {
    /// The configuration in the file. If it is not valid now, the one at the start: a reload refuses it, too.
    pub(super) fn current_config(&self) -> Config {
        match &self.path {
            Some(path) => match Config::read(Some(path)) {
                Ok(config) => self.confirmation.apply_to(config),
                Err(_) => self.config.clone(),
            },
            None => self.config.clone(),
        }
    }

    /// The sources of a configuration, or of the command line.
    pub(super) fn selection<'a>(&'a self, config: &'a Config) -> SourceSelection<'a> {
        SourceSelection { targets: &self.targets, upstream: &self.upstream, config }
    }

    /// Records what a person decided. The decision is already in effect, so a failure is only logged.
    pub(super) async fn record(&self, entry: Entry) {
        if let Err(error) = self.safety.audit.record(entry).await {
            tracing::error!(%error, "the decision is in effect, but could not be written to the audit log");
        }
    }
}

/// The program, as the explorer sees it.
pub(crate) struct ExplorerOperator {
    context: OperatorContext,
    reviewer: Reviewer,
    /// Allows only one change of files at a time.
    writing: tokio::sync::Mutex<()>,
}

impl ExplorerOperator {
    pub(crate) fn new(context: OperatorContext) -> Arc<Self> {
        Arc::new(Self { context, reviewer: Reviewer::default(), writing: tokio::sync::Mutex::default() })
    }
}

impl Operator for ExplorerOperator {
    fn gate(&self) -> Arc<SafetyGate> {
        self.context.safety.gate_in_force()
    }

    fn audit_files(&self) -> AuditFiles {
        let audit = &self.context.config.audit;
        let writes = |sink: AuditSink| audit.to.as_ref().is_some_and(|sinks| sinks.contains(&sink));
        let has_files = audit.to.is_none() || writes(AuditSink::File);
        AuditFiles {
            directory: safety::audit_directory(&self.context.config).filter(|_| has_files),
            is_in_store: writes(AuditSink::Store),
        }
    }

    fn settings(&self) -> BoxFuture<'_, Result<Value, ApiError>> {
        async move { Ok(settings::describe(&self.context)) }.boxed()
    }

    fn review(&self) -> BoxFuture<'_, Result<Value, ApiError>> {
        self.reviewer.show(&self.context).boxed()
    }

    fn decide_review(&self, decision: Value, person: String) -> BoxFuture<'_, Result<(), ApiError>> {
        async move {
            let _writing = self.writing.lock().await;
            self.reviewer.decide(&self.context, decision, &person).await
        }
        .boxed()
    }

    fn preview_rules(&self, change: Value) -> BoxFuture<'_, Result<Value, ApiError>> {
        async move { rules::preview(&self.context, change) }.boxed()
    }

    fn apply_rules(&self, change: Value, person: String) -> BoxFuture<'_, Result<(), ApiError>> {
        async move {
            let _writing = self.writing.lock().await;
            rules::apply(&self.context, change, &person).await
        }
        .boxed()
    }
}

/// Reads the body of a request.
pub(super) fn parse<T: serde::de::DeserializeOwned>(body: Value) -> Result<T, ApiError> {
    serde_json::from_value(body).map_err(|error| ApiError::Invalid(format!("The request is not valid: {error}")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]
mod tests;
