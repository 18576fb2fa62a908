//! The interface to sources: a [`Source`] offers operations and answers calls to them.

mod context;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use aquifer_protocol::category::Category;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::Operation;
use aquifer_protocol::response::{Attachment, Data};
use aquifer_protocol::schema::Types;
use aquifer_protocol::warning::Warning;
use aquifer_query::Collection;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::watch;

use crate::configuration::Validity;
use crate::rehearsal::RehearsalResult;
use crate::shape::ResultShape;
use crate::snapshot::Snapshot;
use crate::table_model::TableModel;

pub use context::{ClientCapability, ClientSide, Context, Interaction, Progress, ProgressUpdate};

/// When a call to a source that is starting should be repeated.
const STARTING_RETRY_SECONDS: u64 = 5;

/// A source of operations: an adapter written in Rust, a database, or another server.
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

    /// Sets the operations (by their own names) that policy may refuse or ask about. An answer about one table may
    /// mention rows of another, such as how many refer to it. The source omits them if reading them is restricted.
    fn set_restricted(&self, _restricted: HashSet<Arc<str>>) {}

    /// The collection of an operation (by its own name) whose [`Shaping`](aquifer_protocol::operation::Shaping) lets
    /// the engine query the items. The source then returns all items, as a list or as `{items: […]}`. `None` if the
    /// engine has to infer the collection from the result. Must be cheap.
    fn collection(&self, _operation: &str) -> Option<Arc<Collection>> {
        None
    }

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

    /// Resolves a request for an operation with `is_indirect`: to which operation it leads, and to which tables its
    /// aliases refer. Called after the parameters are checked and before policy decides. Policy sees only what is
    /// returned here.
    fn resolve(&self, _operation: &str, params: Map<String, Value>) -> Result<Resolution, Failure> {
        Ok(Resolution { params, ..Resolution::default() })
    }

    /// The parameters of an operation's examples (by its own name), if they depend on what the source holds, such as
    /// the key of an existing row. They replace the examples of the offering; an empty list means that there are none.
    /// Called when the operation is described. May read a bounded number of rows. Must return the same examples until
    /// the offering changes.
    fn examples(&self, _operation: Arc<str>) -> BoxFuture<'_, Option<Vec<Map<String, Value>>>> {
        std::future::ready(None).boxed()
    }

    /// Its tables, if it has any that can be described. Must be cheap.
    fn tables(&self) -> Vec<TableSummary> {
        Vec::new()
    }

    /// The lines that describe these tables, in the notation of `docs/protocol.md`; complete if the caller asked for
    /// the tables by name. May read a bounded number of rows.
    fn describe_tables(&self, _tables: Vec<Arc<str>>, _is_whole: bool) -> BoxFuture<'_, TableLines> {
        std::future::ready(TableLines::default()).boxed()
    }

    /// Its tables with all that callers may see of them, for people. Must be cheap: numbers of rows are those that are
    /// already known.
    fn table_models(&self) -> Vec<TableModel> {
        Vec::new()
    }

    /// Conceals operations (by their own names) that policy always denies. A source whose other operations reveal them
    /// omits them from now on. Returns whether its offering changed.
    fn conceal(&self, _denied: &HashSet<Arc<str>>) -> bool {
        false
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

    /// The version of the source, if it has one of its own. Must be cheap.
    fn version(&self) -> Option<Arc<str>> {
        None
    }

    /// The origin and the age of its offering. Must be cheap.
    fn status(&self) -> SourceStatus {
        SourceStatus::default()
    }

    /// Called when a session has ended, to release everything bound to it.
    fn session_ended(&self, _session: &str) {}

    /// What it has in addition to operations. Must be cheap.
    fn capabilities(&self) -> SourceCapabilities {
        SourceCapabilities::default()
    }

    /// Fetches resources, prompts or completions: a list as an array of its entries, anything else in the form of MCP.
    /// Called only for its own resources and prompts.
    fn fetch(&self, _wanted: FetchRequest, _context: Context) -> BoxFuture<'_, Result<Value, Failure>> {
        std::future::ready(Err(Failure::new(Code::NotFoundResource, "This source has only operations"))).boxed()
    }
}

/// The origin of a source's offering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CatalogState {
    /// From the source itself, which is available.
    #[default]
    Live,
    /// From an earlier time. The source has not been contacted yet, or its connection has ended.
    Cached,
    /// There is none yet: the source is starting for the first time.
    Starting,
    /// The source could not be reached. Its offering, if any, is from an earlier time.
    Unavailable,
}

impl CatalogState {
    /// The name in responses.
    pub const fn as_str(self) -> &'static str {
        match self {
            CatalogState::Live => "live",
            CatalogState::Cached => "cached",
            CatalogState::Starting => "starting",
            CatalogState::Unavailable => "unavailable",
        }
    }
}

/// The failure for a call to a source that is still starting.
pub fn starting_failure(source: &str) -> Failure {
    let message = format!("Source '{source}' is starting. Try again in a moment");
    Failure::new(Code::UpstreamUnavailable, message)
        .detail("source", source)
        .detail("retry_after_seconds", STARTING_RETRY_SECONDS)
}

/// The origin and age of a source's offering, and what is withheld.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceStatus {
    /// The origin.
    pub state: CatalogState,
    /// The age of the offering, if known.
    pub catalog_age: Option<Duration>,
    /// The number of operations that cannot be called until somebody accepts their definitions.
    pub quarantined: usize,
    /// The number of tools that are not served because a limit was exceeded.
    pub left_out: usize,
    /// Notes for the operator. Never shown to callers.
    pub notes: Vec<String>,
    /// Settings of the source that do not fit it, for the operator. Never shown to callers.
    pub setting_problems: Vec<String>,
}

/// What a source has in addition to operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SourceCapabilities {
    /// Resources.
    pub resources: bool,
    /// Prompts.
    pub prompts: bool,
    /// Completions for the parameters of both.
    pub completions: bool,
}

impl SourceCapabilities {
    /// The union of two sets of capabilities.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            resources: self.resources || other.resources,
            prompts: self.prompts || other.prompts,
            completions: self.completions || other.completions,
        }
    }

    /// Whether the request can be answered.
    pub fn has(self, wanted: &FetchRequest) -> bool {
        match wanted {
            FetchRequest::Resources | FetchRequest::ResourceTemplates | FetchRequest::Resource(_) => self.resources,
            FetchRequest::Prompts | FetchRequest::Prompt { .. } => self.prompts,
            FetchRequest::Completion { .. } => self.completions,
        }
    }
}

/// A request for resources, prompts or completions.
#[derive(Debug, Clone, PartialEq)]
pub enum FetchRequest {
    /// The list of resources.
    Resources,
    /// The list of resource templates.
    ResourceTemplates,
    /// The list of prompts.
    Prompts,
    /// A resource by its URI.
    Resource(String),
    /// A prompt with its arguments filled in.
    Prompt {
        /// Its name.
        name: String,
        /// Its arguments.
        arguments: Option<Map<String, Value>>,
    },
    /// Completions for a parameter.
    Completion {
        /// The name of a prompt, or the URI of a template.
        target: String,
        /// Whether that is a URI.
        by_uri: bool,
        /// The rest of the request, in the form of MCP.
        params: Map<String, Value>,
    },
}

impl FetchRequest {
    /// The requested name or URI.
    pub fn name(&self) -> Option<&str> {
        match self {
            FetchRequest::Resource(name)
            | FetchRequest::Prompt { name, .. }
            | FetchRequest::Completion { target: name, .. } => Some(name),
            FetchRequest::Resources | FetchRequest::ResourceTemplates | FetchRequest::Prompts => None,
        }
    }

    /// The same request with another name or URI.
    #[must_use]
    pub fn with_name(mut self, other: &str) -> Self {
        if let FetchRequest::Resource(name)
        | FetchRequest::Prompt { name, .. }
        | FetchRequest::Completion { target: name, .. } = &mut self
        {
            other.clone_into(name);
        }
        self
    }

    /// Whether it refers to a URI rather than a name.
    pub fn is_by_uri(&self) -> bool {
        match self {
            FetchRequest::Resources | FetchRequest::ResourceTemplates | FetchRequest::Resource(_) => true,
            FetchRequest::Prompts | FetchRequest::Prompt { .. } => false,
            FetchRequest::Completion { by_uri, .. } => *by_uri,
        }
    }

    /// The field that identifies the entries of a list.
    pub fn key(&self) -> Option<&'static str> {
        match self {
            FetchRequest::Resources => Some("uri"),
            FetchRequest::ResourceTemplates => Some("uriTemplate"),
            FetchRequest::Prompts => Some("name"),
            _ => None,
        }
    }
}

/// The operations and types of a source.
#[derive(Debug, Clone, Default)]
pub struct Offering {
    /// Its operations.
    pub operations: Vec<Operation>,
    /// The types they use.
    pub types: Types,
    /// Unlisted operations, to which requests of generic operations are resolved. They can be called and introspected
    /// by name.
    pub indirect: Vec<Operation>,
}

/// A table of a source, as needed for an overview. Tables that policy conceals are left out, as in
/// [`Source::conceal`].
#[derive(Debug, Clone, Default)]
pub struct TableSummary {
    /// Its name for callers.
    pub name: Arc<str>,
    /// Its operations, by their own names. The first one reads its rows.
    pub operations: Vec<Arc<str>>,
    /// How many references lead to it and from it.
    pub reference_count: usize,
    /// Text that a search for the table matches.
    pub description: String,
}

/// The description of tables.
#[derive(Debug, Clone, Default)]
pub struct TableLines {
    /// One line for each table that still exists.
    pub lines: Vec<String>,
    /// Notes that apply to several lines.
    pub notes: Vec<String>,
    /// Operations on all tables, by their own names, each with a short description.
    pub operations: Vec<(Arc<str>, String)>,
}

/// The resolution of a request for an indirect operation.
#[derive(Debug, Clone, Default)]
pub struct Resolution {
    /// The actual operation, by its own name, if it differs from the requested one.
    pub operation: Option<Arc<str>>,
    /// The parameters, with every alias resolved.
    pub params: Map<String, Value>,
    /// Further operations, by their own names, that the caller must be allowed to use, because the request reads the
    /// same data.
    pub also_needs: Vec<Arc<str>>,
    /// The parameters with which these operations are judged, if the source calls them with parameters.
    pub needed_params: Map<String, Value>,
    /// Parameters for policy, in addition to and instead of the others: those that only the generic operation has, and
    /// lists of all names instead of one. Rules can refer to any of them.
    pub judged_params: Map<String, Value>,
    /// A problem with the parameters. It is not shown to callers to whom the operation is denied.
    pub problem: Option<Failure>,
}

/// A call to a source.
#[derive(Debug)]
pub struct Call {
    /// The source's own name of the operation.
    pub name: Arc<str>,
    /// The operation from the catalog.
    pub operation: Arc<Operation>,
    /// The parameters, checked and complete.
    pub params: Map<String, Value>,
    /// The context of the call.
    pub context: Arc<Context>,
    /// The prefix of resource URIs for the caller, if there are several sources: a URI in a result has to lead back to
    /// its source.
    pub uri_prefix: Option<Arc<str>>,
    /// The token budget of the answer. A source that returns pages or groups ends them within it; the engine shortens
    /// other answers.
    pub max_tokens: Option<usize>,
    /// The page of a list, for operations whose [`Shaping`](aquifer_protocol::operation::Shaping) is paged.
    pub page: PageRequest,
    /// Whether the call may still be carried out. A source that queues calls checks again after the wait.
    pub validity: Validity,
    /// Decides about other operations that the call is led to.
    pub targets: TargetCheck,
}

/// Decides whether a call may be led to another operation of its source, for example by a redirect.
#[derive(Clone)]
pub struct TargetCheck {
    /// `None` for a rehearsal, which is led nowhere.
    snapshot: Option<Arc<Snapshot>>,
    /// The operation that was called.
    called: Arc<Operation>,
    context: Arc<Context>,
}

impl TargetCheck {
    pub(crate) fn new(snapshot: Option<Arc<Snapshot>>, called: Arc<Operation>, context: Arc<Context>) -> Self {
        Self { snapshot, called, context }
    }

    /// Judges the operation with this name of the source, with the parameters that it would have, as if the caller had
    /// called it. Another operation than that of the call is refused if it does more than read.
    ///
    /// # Errors
    ///
    /// If the caller may not call it, or not without confirmation. The message names the operation, which may be
    /// concealed from the caller.
    pub fn judge(&self, own_name: &Arc<str>, params: &Map<String, Value>) -> Result<(), Failure> {
        let gone = || Failure::new(Code::NotFoundOperation, "The operation is gone");
        let snapshot = self.snapshot.as_ref().ok_or_else(gone)?;
        let (operation, catalog) = snapshot.operation_of(&self.called.origin.source, own_name).ok_or_else(gone)?;
        if operation.category != Category::Read && operation.name != self.called.name {
            return Err(Failure::new(Code::PermissionDenied, "Permission denied: the operation does more than read"));
        }
        snapshot.gate().admit_target(operation, params, catalog.types(), &self.context)
    }
}

impl std::fmt::Debug for TargetCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TargetCheck").field("called", &self.called.name).finish_non_exhaustive()
    }
}

/// Which page of a list a source returns, and how large it should be.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PageRequest {
    /// Where the list continues: [`Answer::next_page`] of the page before, or `None` for the first page.
    pub resume: Option<Box<Value>>,
    /// How many rows the caller asked for. `None` if as many as possible are needed.
    pub rows: Option<usize>,
    /// The fields of rows that are needed, for operations whose shaping sends them. `None` if all may be needed.
    pub fields: Option<Vec<String>>,
    /// Whether the caller selects, counts or pages rows, so that further pages may be needed. Otherwise the result is
    /// passed on as it is.
    pub is_shaped: bool,
}

/// The outcome of a call.
#[derive(Debug)]
pub enum Outcome {
    /// The call succeeded.
    Done(Answer),
    /// The call was refused or failed.
    Failed(Failure),
    /// The call needs an answer from a person to continue.
    NeedsInput(InputRequest),
}

/// The result of a successful call.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The result.
    pub data: Data,
    /// Warnings.
    pub warnings: Vec<Warning>,
    /// Attachments such as images.
    pub attachments: Vec<Attachment>,
    /// Where the list continues, if it has another page. Only the source understands it, and callers never see it.
    /// Boxed because it is rare and answers are moved often.
    pub next_page: Option<Box<Value>>,
    /// Whether the list may have more rows that cannot be fetched. A warning says so. The answer must not claim that
    /// these are all rows.
    pub is_partial: bool,
    /// Whether it consists of pages or groups that already fit the budget of the call. The engine must not shorten such
    /// an answer, because its cursors have to stay intact.
    pub keeps_budget: bool,
}

impl Answer {
    /// A result without warnings.
    pub fn new(data: impl Into<Data>) -> Self {
        Self {
            data: data.into(),
            warnings: Vec::new(),
            attachments: Vec::new(),
            next_page: None,
            is_partial: false,
            keeps_budget: false,
        }
    }
}

impl From<Result<Value, Failure>> for Outcome {
    fn from(result: Result<Value, Failure>) -> Self {
        match result {
            Ok(value) => Outcome::Done(Answer::new(value)),
            Err(failure) => Outcome::Failed(failure),
        }
    }
}

/// A question to the person who uses the client. The call is repeated with the answer.
#[derive(Debug, Clone)]
pub struct InputRequest {
    /// Identifies the question among those of one call.
    pub key: String,
    /// The question.
    pub message: String,
    /// The fields of the answer, as a flat JSON Schema object.
    pub schema: Map<String, Value>,
}

impl InputRequest {
    /// The failure for a client that cannot ask.
    pub fn into_failure(self) -> Failure {
        Failure::new(
            Code::ConfirmationRequired,
            "This operation requires confirmation by a person, and this client cannot ask one",
        )
        .detail("confirmation_message", self.message)
    }
}
