//! Hides operations of a source: tools that the client configuration hides, and operations that may write if the source
//! is read-only.

use std::collections::HashSet;
use std::sync::Arc;

use aquifer_engine::rehearsal::RehearsalResult;
use aquifer_engine::shape::ResultShape;
use aquifer_engine::source::{
    Call, Context, FetchRequest, LiveSource, Outcome, Resolution, ResourceSource, SourceCapabilities, SourceStatus,
    TableLines, TableSource, TableSummary,
};
use aquifer_engine::table_model::TableModel;
use aquifer_engine::{Offering, Source};
use aquifer_protocol::case::snake_identifier;
use aquifer_protocol::error::Failure;
use aquifer_protocol::operation::Operation;
use aquifer_query::Collection;
use futures::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::watch;

/// The source without these tools and, if it is read-only, without operations that may write.
pub(super) fn hide(source: Arc<dyn Source>, tools: Vec<String>, read_only: bool) -> Arc<dyn Source> {
    if tools.is_empty() && !read_only { source } else { Arc::new(FilteredSource { source, tools, read_only }) }
}

struct FilteredSource {
    source: Arc<dyn Source>,
    tools: Vec<String>,
    /// Whether only operations that are known to read are offered. Doubtful ones have a higher danger level and are
    /// hidden.
    read_only: bool,
}

impl FilteredSource {
    /// Compares the tool's own name, because the operation's name may have a suffix.
    fn is_hidden(&self, operation: &Operation) -> bool {
        if self.read_only && !operation.only_reads() {
            return true;
        }
        let tool = operation.origin.backing.tool().unwrap_or_default();
        self.tools.iter().any(|hidden| {
            let spelled = snake_identifier(hidden);
            hidden == tool
                || *hidden == *operation.name
                || spelled == *operation.name
                || spelled == snake_identifier(tool)
        })
    }
}

impl Source for FilteredSource {
    fn name(&self) -> &str {
        self.source.name()
    }

    fn offering(&self) -> Offering {
        let mut offering = self.source.offering();
        offering.operations.retain(|operation| !self.is_hidden(operation));
        offering
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        self.source.call(call)
    }

    fn rehearse(&self, call: Call) -> BoxFuture<'_, RehearsalResult> {
        self.source.rehearse(call)
    }

    fn resolve(&self, operation: &str, params: Map<String, Value>) -> Result<Resolution, Failure> {
        self.source.resolve(operation, params)
    }

    fn collection(&self, operation: &str) -> Option<Arc<Collection>> {
        self.source.collection(operation)
    }

    fn session_ended(&self, session: &str) {
        self.source.session_ended(session);
    }

    fn version(&self) -> Option<Arc<str>> {
        self.source.version()
    }

    fn as_live(&self) -> Option<&dyn LiveSource> {
        self.source.as_live().map(|_| self as &dyn LiveSource)
    }

    fn as_tables(&self) -> Option<&dyn TableSource> {
        self.source.as_tables().map(|_| self as &dyn TableSource)
    }

    fn as_resources(&self) -> Option<&dyn ResourceSource> {
        self.source.as_resources().map(|_| self as &dyn ResourceSource)
    }
}

impl LiveSource for FilteredSource {
    fn record_observation(&self, operation: &str, shape: &ResultShape) -> bool {
        self.source.record_observation(operation, shape)
    }

    fn removed_operation(&self, operation: &str) -> Option<Operation> {
        self.source.removed_operation(operation).filter(|removed| !self.is_hidden(removed))
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        self.source.changes()
    }

    fn generation(&self) -> u64 {
        self.source.generation()
    }

    fn check_for_changes(&self) -> BoxFuture<'_, ()> {
        self.source.check_for_changes()
    }

    fn check_before_refusal(&self) -> BoxFuture<'_, ()> {
        self.source.check_before_refusal()
    }

    fn confirm_catalog(&self) -> BoxFuture<'_, ()> {
        self.source.confirm_catalog()
    }

    fn reload(&self) -> BoxFuture<'_, Result<(), Failure>> {
        self.source.reload()
    }

    fn status(&self) -> SourceStatus {
        self.source.status()
    }
}

impl TableSource for FilteredSource {
    fn set_restricted(&self, restricted: HashSet<Arc<str>>) {
        self.source.set_restricted(restricted);
    }

    fn conceal(&self, denied: &HashSet<Arc<str>>) -> bool {
        self.source.conceal(denied)
    }

    fn examples(&self, operation: Arc<str>) -> BoxFuture<'_, Option<Vec<Map<String, Value>>>> {
        self.source.examples(operation)
    }

    fn tables(&self) -> Vec<TableSummary> {
        self.source.tables()
    }

    fn describe_tables(&self, tables: Vec<Arc<str>>, is_whole: bool) -> BoxFuture<'_, TableLines> {
        self.source.describe_tables(tables, is_whole)
    }

    fn table_models(&self) -> Vec<TableModel> {
        self.source.table_models()
    }
}

impl ResourceSource for FilteredSource {
    fn capabilities(&self) -> SourceCapabilities {
        self.source.capabilities()
    }

    fn fetch(&self, wanted: FetchRequest, context: Context) -> BoxFuture<'_, Result<Value, Failure>> {
        self.source.fetch(wanted, context)
    }
}
