//! The traits of sources. Every source is a [`Source`]; what only some have is in the other three.

use std::collections::HashSet;
use std::sync::Arc;

use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::Operation;
use aquifer_query::Collection;
use aquifer_query::shape::ResultShape;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::table_model::TableModel;
use super::{Call, FetchRequest, Offering, Resolution, SourceCapabilities, SourceStatus, TableLines, TableSummary};
use crate::call::rehearsal::RehearsalResult;
use crate::call::{Context, Outcome};

/// A source of operations: an adapter written in Rust, a database, or another server.
///
/// The engine uses a source as `dyn Source`, which has the methods of the other traits as well. Each of them says what
/// holds for a source without the trait.
pub trait Source: Send + Sync + 'static {
    /// Its name. With several sources, it prefixes the names of its operations.
    fn name(&self) -> &str;

    /// Its current operations. Called when a catalog is built, never during a request.
    fn offering(&self) -> Offering;

    /// Answers a call. The operation is part of its offering, and the parameters are valid for it.
    ///
    /// The future is dropped when the caller cancels: nothing after its next await point is executed.
    fn call(&self, call: Call) -> BoxFuture<'_, Outcome>;

    /// Tries a call and undoes it, so that a person is asked only about calls that can succeed, and sees their effect.
    /// Called only for operations with `has_safe_dry_run`. Leaves nothing behind, holds no lock for long, and reveals
    /// nothing that the call itself would not. If that is not possible, the answer is `Unknown`.
    fn rehearse(&self, _call: Call) -> BoxFuture<'_, RehearsalResult> {
        std::future::ready(RehearsalResult::Unknown).boxed()
    }

    /// The collection of an operation (by its own name) whose [`Shaping`](aquifer_protocol::operation::Shaping) lets
    /// the engine query the items. The source then returns all items, as a list or as `{items: […]}`. `None` if the
    /// engine has to infer the collection from the result. Must be cheap.
    fn collection(&self, _operation: &str) -> Option<Arc<Collection>> {
        None
    }

    /// Resolves a request for an operation with `is_indirect`: to which operation it leads, and to which tables its
    /// aliases refer. Called after the parameters are checked and before policy decides. Policy sees only what is
    /// returned here.
    fn resolve(&self, _operation: &str, params: Map<String, Value>) -> Result<Resolution, Failure> {
        Ok(Resolution { params, ..Resolution::default() })
    }

    /// The version of the source, if it has one of its own. Must be cheap.
    fn version(&self) -> Option<Arc<str>> {
        None
    }

    /// Called when a session has ended, to release everything bound to it.
    fn session_ended(&self, _session: &str) {}

    /// Itself, if its offering changes while it is served.
    fn as_live(&self) -> Option<&dyn LiveSource> {
        None
    }

    /// Itself, if it has tables.
    fn as_tables(&self) -> Option<&dyn TableSource> {
        None
    }

    /// Itself, if it has resources or prompts.
    fn as_resources(&self) -> Option<&dyn ResourceSource> {
        None
    }
}

/// A source whose offering changes while it is served.
pub trait LiveSource: Source {
    /// Records what a result of an operation (by its own name) looked like, if its offering does not say where rows are.
    /// The source may offer controls accordingly from then on, for all callers. It must not show anything of the shape:
    /// a path consists of names in the result of one caller. Called a bounded number of times for each caller. Returns
    /// whether the offering now has controls for rows that it did not have.
    fn record_observation(&self, _operation: &str, _shape: &ResultShape) -> bool {
        false
    }

    /// An operation (by its own name) that was offered earlier and no longer exists. Its description completes a
    /// sentence that says why. Called when an unknown operation is requested. Must be cheap.
    fn removed_operation(&self, _operation: &str) -> Option<Operation> {
        None
    }

    /// Notifies when the offering may have changed on its own, if that can happen. The engine then requests it again.
    fn changes(&self) -> Option<watch::Receiver<u64>> {
        None
    }

    /// A number that changes whenever [`offering`](Source::offering) may have changed. It is compared after every call,
    /// so that the catalog reflects what a call has revealed before its response is sent.
    fn generation(&self) -> u64 {
        0
    }

    /// Checks whether the offering is still current, if that is cheap. Called before introspection.
    fn check_for_changes(&self) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }

    /// Checks whether the offering is still current, although that may take a round trip. Called before a request is
    /// refused because its operation is unknown or its parameters are invalid. If the offering has changed, the request
    /// is checked once more.
    fn check_before_refusal(&self) -> BoxFuture<'_, ()> {
        self.check_for_changes()
    }

    /// Waits briefly if the offering is from an earlier run and a new one is being fetched. Called before an operation
    /// is refused because it is unknown or quarantined.
    fn confirm_catalog(&self) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }

    /// Reloads the offering. Called when the operator requests it.
    fn reload(&self) -> BoxFuture<'_, Result<(), Failure>> {
        std::future::ready(Ok(())).boxed()
    }

    /// The origin and the age of its offering. Must be cheap.
    fn status(&self) -> SourceStatus {
        SourceStatus::default()
    }
}

/// A source with tables.
pub trait TableSource: Source {
    /// Its tables, as far as they can be described. Must be cheap.
    fn tables(&self) -> Vec<TableSummary>;

    /// The lines that describe these tables, in the notation of `docs/protocol.md`; complete if the caller asked for
    /// the tables by name. May read a bounded number of rows.
    fn describe_tables(&self, tables: Vec<Arc<str>>, is_whole: bool) -> BoxFuture<'_, TableLines>;

    /// Its tables with all that callers may see of them, for people. Must be cheap: numbers of rows are those that are
    /// already known.
    fn table_models(&self) -> Vec<TableModel>;

    /// The parameters of an operation's examples (by its own name), if they depend on what the source holds, such as
    /// the key of an existing row. They replace the examples of the offering; an empty list means that there are none.
    /// Called when the operation is described. May read a bounded number of rows. Must return the same examples until
    /// the offering changes.
    fn examples(&self, _operation: Arc<str>) -> BoxFuture<'_, Option<Vec<Map<String, Value>>>> {
        std::future::ready(None).boxed()
    }

    /// Sets the operations (by their own names) that policy may refuse or ask about. An answer about one table may
    /// mention rows of another, such as how many refer to it. The source omits them if reading them is restricted.
    fn set_restricted(&self, _restricted: HashSet<Arc<str>>) {}

    /// Conceals operations (by their own names) that policy always denies. A source whose other operations reveal them
    /// omits them from now on. Returns whether its offering changed.
    fn conceal(&self, _denied: &HashSet<Arc<str>>) -> bool {
        false
    }
}

/// A source with resources or prompts.
pub trait ResourceSource: Source {
    /// What it has in addition to operations. Must be cheap.
    fn capabilities(&self) -> SourceCapabilities;

    /// Fetches resources, prompts or completions: a list as an array of its entries, anything else in the form of MCP.
    /// Called only for its own resources and prompts.
    fn fetch(&self, wanted: FetchRequest, context: Context) -> BoxFuture<'_, Result<Value, Failure>>;
}

/// What the other traits say, for any source.
impl dyn Source + '_ {
    /// See [`LiveSource::record_observation`]. A source without it learns nothing.
    pub fn record_observation(&self, operation: &str, shape: &ResultShape) -> bool {
        self.as_live().is_some_and(|live| live.record_observation(operation, shape))
    }

    /// See [`LiveSource::removed_operation`]. A source without it has removed none.
    pub fn removed_operation(&self, operation: &str) -> Option<Operation> {
        self.as_live()?.removed_operation(operation)
    }

    /// See [`LiveSource::changes`]. The offering of a source without it does not change.
    pub fn changes(&self) -> Option<watch::Receiver<u64>> {
        self.as_live()?.changes()
    }

    /// See [`LiveSource::generation`]. It stays 0 without it.
    pub fn generation(&self) -> u64 {
        self.as_live().map_or(0, LiveSource::generation)
    }

    /// See [`LiveSource::check_for_changes`]. The offering of a source without it is always current.
    pub fn check_for_changes(&self) -> BoxFuture<'_, ()> {
        self.as_live().map_or_else(ready, LiveSource::check_for_changes)
    }

    /// See [`LiveSource::check_before_refusal`]. The offering of a source without it is always current.
    pub fn check_before_refusal(&self) -> BoxFuture<'_, ()> {
        self.as_live().map_or_else(ready, LiveSource::check_before_refusal)
    }

    /// See [`LiveSource::confirm_catalog`]. The offering of a source without it is never from an earlier run.
    pub fn confirm_catalog(&self) -> BoxFuture<'_, ()> {
        self.as_live().map_or_else(ready, LiveSource::confirm_catalog)
    }

    /// See [`LiveSource::reload`]. A source without it has nothing to reload.
    pub fn reload(&self) -> BoxFuture<'_, Result<(), Failure>> {
        self.as_live().map_or_else(|| std::future::ready(Ok(())).boxed(), LiveSource::reload)
    }

    /// See [`LiveSource::status`]. A source without it is live.
    pub fn status(&self) -> SourceStatus {
        self.as_live().map(LiveSource::status).unwrap_or_default()
    }

    /// See [`TableSource::tables`]. None without it.
    pub fn tables(&self) -> Vec<TableSummary> {
        self.as_tables().map(TableSource::tables).unwrap_or_default()
    }

    /// See [`TableSource::describe_tables`]. Nothing without it.
    pub fn describe_tables(&self, tables: Vec<Arc<str>>, is_whole: bool) -> BoxFuture<'_, TableLines> {
        match self.as_tables() {
            Some(source) => source.describe_tables(tables, is_whole),
            None => std::future::ready(TableLines::default()).boxed(),
        }
    }

    /// See [`TableSource::table_models`]. None without it.
    pub fn table_models(&self) -> Vec<TableModel> {
        self.as_tables().map(TableSource::table_models).unwrap_or_default()
    }

    /// See [`TableSource::examples`]. The examples of the offering hold for a source without it.
    pub fn examples(&self, operation: Arc<str>) -> BoxFuture<'_, Option<Vec<Map<String, Value>>>> {
        match self.as_tables() {
            Some(source) => source.examples(operation),
            None => std::future::ready(None).boxed(),
        }
    }

    /// See [`TableSource::set_restricted`]. A source without it reveals nothing of another operation.
    pub fn set_restricted(&self, restricted: HashSet<Arc<str>>) {
        if let Some(source) = self.as_tables() {
            source.set_restricted(restricted);
        }
    }

    /// See [`TableSource::conceal`]. A source without it reveals nothing of another operation.
    pub fn conceal(&self, denied: &HashSet<Arc<str>>) -> bool {
        self.as_tables().is_some_and(|source| source.conceal(denied))
    }

    /// See [`ResourceSource::capabilities`]. None without it.
    pub fn capabilities(&self) -> SourceCapabilities {
        self.as_resources().map(ResourceSource::capabilities).unwrap_or_default()
    }

    /// See [`ResourceSource::fetch`]. Fails without it.
    pub fn fetch(&self, wanted: FetchRequest, context: Context) -> BoxFuture<'_, Result<Value, Failure>> {
        match self.as_resources() {
            Some(source) => source.fetch(wanted, context),
            None => {
                let failure = Failure::new(Code::NotFoundResource, "This source has only operations");
                std::future::ready(Err(failure)).boxed()
            }
        }
    }
}

fn ready<'a>() -> BoxFuture<'a, ()> {
    std::future::ready(()).boxed()
}
