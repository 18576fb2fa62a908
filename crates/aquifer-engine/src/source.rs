//! The seam to the world: a [`Source`] offers operations and answers calls to them.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::Operation;
use aquifer_protocol::response::{Attachment, Data};
use aquifer_protocol::schema::Types;
use aquifer_protocol::warning::Warning;
use aquifer_query::Collection;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::caller::Caller;
use crate::configuration::Validity;

/// Something that can be asked: an adapter written in Rust, a database, another server.
pub trait Source: Send + Sync + 'static {
    /// Its name, which prefixes its operations where there are several sources.
    fn name(&self) -> &str;

    /// What it offers now. Called when a catalog is built, never during a request.
    fn offering(&self) -> Offering;

    /// Answers one call. The operation is one of its offering, and the parameters are exactly what that accepts.
    ///
    /// The future is dropped when the caller cancels: nothing after its next await point happens then.
    fn call(&self, call: Call) -> BoxFuture<'_, Outcome>;

    /// The items of an operation (by its own name) whose [`Shaping`](aquifer_protocol::operation::Shaping) has the engine
    /// query them: the source answers with all of them, as a list or as `{items: […]}`. None where the engine has to find
    /// out from the result what it is made of. Must cost next to nothing.
    fn collection(&self, _operation: &str) -> Option<Arc<Collection>> {
        None
    }

    /// An operation (by its own name) that was offered before, while what it stands for is gone. Its description says why, as
    /// the rest of a sentence. Asked when somebody calls an operation that nobody offers; must cost next to nothing.
    fn removed_operation(&self, _operation: &str) -> Option<Operation> {
        None
    }

    /// Says what a request of an operation with `is_indirect` means: which of its operations, and which tables behind
    /// aliases. Called once the parameters were checked and before policy judges, which sees only what is returned here.
    fn resolve(&self, _operation: &str, params: Map<String, Value>) -> Result<Resolution, Failure> {
        Ok(Resolution { params, ..Resolution::default() })
    }

    /// Callers must not learn of these operations (their own names): policy denies every call of them. A source whose
    /// other operations tell of what stands behind them leaves it out from now on, and says whether its offering changed.
    fn conceal(&self, _denied: &HashSet<Arc<str>>) -> bool {
        false
    }

    /// Tells when something else may be offered, if that can happen by itself. The engine then asks again.
    fn changes(&self) -> Option<watch::Receiver<u64>> {
        None
    }

    /// A number that is another whenever [`offering`](Source::offering) may be. Compared after every call, so that what
    /// a call has brought to light is in the catalog before its answer is out.
    fn generation(&self) -> u64 {
        0
    }

    /// Looks whether what is offered is still right, where that costs next to nothing. Called before introspection, and
    /// when somebody asks for an operation nobody knows.
    fn check_for_changes(&self) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }

    /// Waits a moment if what is offered is from an earlier run and is just being asked for. Called before an operation is
    /// refused because it is unknown or quarantined.
    fn confirm_catalog(&self) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }

    /// Looks again what there is to offer. Called when the operator says that it has changed.
    fn reload(&self) -> BoxFuture<'_, Result<(), Failure>> {
        std::future::ready(Ok(())).boxed()
    }

    /// The version of what answers, if it has one of its own. Must cost next to nothing.
    fn version(&self) -> Option<Arc<str>> {
        None
    }

    /// Where what it offers comes from, and how old that is. Must cost next to nothing.
    fn status(&self) -> SourceStatus {
        SourceStatus::default()
    }

    /// A connection is gone, and with it everything that was bound to it.
    fn session_ended(&self, _session: &str) {}

    /// What it has beside operations. Must cost next to nothing.
    fn capabilities(&self) -> SourceCapabilities {
        SourceCapabilities::default()
    }

    /// Gets something beside operations: a list as an array of its entries, anything else as MCP answers it. Asked only
    /// for its resources and prompts.
    fn fetch(&self, _wanted: FetchRequest, _context: Context) -> BoxFuture<'_, Result<Value, Failure>> {
        std::future::ready(Err(Failure::new(Code::NotFoundResource, "This source has nothing but operations"))).boxed()
    }
}

/// Where what a source offers comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CatalogState {
    /// From the source itself, which is there.
    #[default]
    Live,
    /// From an earlier time. The source has not been asked yet, or its connection has ended.
    Cached,
    /// The source could not be reached. What it offers, if anything, is from an earlier time.
    Unavailable,
}

impl CatalogState {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            CatalogState::Live => "live",
            CatalogState::Cached => "cached",
            CatalogState::Unavailable => "unavailable",
        }
    }
}

/// Where what a source offers comes from, how old that is, and what of it is withheld.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceStatus {
    /// Where it comes from.
    pub state: CatalogState,
    /// How long ago the source itself said it, if that is known.
    pub catalog_age: Option<Duration>,
    /// Operations that cannot be called until somebody accepts their definitions.
    pub quarantined: usize,
    /// Tools that are not served because a limit was exceeded.
    pub left_out: usize,
    /// What the operator should know. Never shown to callers.
    pub notes: Vec<String>,
}

/// What a source has beside operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SourceCapabilities {
    /// Documents to read.
    pub resources: bool,
    /// Prompts to fill in.
    pub prompts: bool,
    /// Suggestions for the parameters of both.
    pub completions: bool,
}

impl SourceCapabilities {
    /// What either has.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            resources: self.resources || other.resources,
            prompts: self.prompts || other.prompts,
            completions: self.completions || other.completions,
        }
    }

    /// Whether this may be there.
    pub fn has(self, wanted: &FetchRequest) -> bool {
        match wanted {
            FetchRequest::Resources | FetchRequest::ResourceTemplates | FetchRequest::Resource(_) => self.resources,
            FetchRequest::Prompts | FetchRequest::Prompt { .. } => self.prompts,
            FetchRequest::Completion { .. } => self.completions,
        }
    }
}

/// What can be asked for beside operations.
#[derive(Debug, Clone, PartialEq)]
pub enum FetchRequest {
    /// The list of documents.
    Resources,
    /// The list of documents with holes in their addresses.
    ResourceTemplates,
    /// The list of prompts.
    Prompts,
    /// A document by its address.
    Resource(String),
    /// A prompt, filled in.
    Prompt {
        /// Its name.
        name: String,
        /// What it is filled in with.
        arguments: Option<Map<String, Value>>,
    },
    /// Suggestions for a parameter.
    Completion {
        /// Whose parameter: the name of a prompt, or the address of a template.
        of: String,
        /// Whether that is an address.
        by_address: bool,
        /// The rest of the request, as MCP has it.
        params: Map<String, Value>,
    },
}

impl FetchRequest {
    /// The name or address of what is wanted.
    pub fn name(&self) -> Option<&str> {
        match self {
            FetchRequest::Resource(name)
            | FetchRequest::Prompt { name, .. }
            | FetchRequest::Completion { of: name, .. } => Some(name),
            FetchRequest::Resources | FetchRequest::ResourceTemplates | FetchRequest::Prompts => None,
        }
    }

    /// The same under another name.
    #[must_use]
    pub fn with_name(mut self, other: &str) -> Self {
        if let FetchRequest::Resource(name)
        | FetchRequest::Prompt { name, .. }
        | FetchRequest::Completion { of: name, .. } = &mut self
        {
            other.clone_into(name);
        }
        self
    }

    /// Whether it is known by an address rather than by a name.
    pub fn is_by_address(&self) -> bool {
        match self {
            FetchRequest::Resources | FetchRequest::ResourceTemplates | FetchRequest::Resource(_) => true,
            FetchRequest::Prompts | FetchRequest::Prompt { .. } => false,
            FetchRequest::Completion { by_address, .. } => *by_address,
        }
    }

    /// The field of a list's entries that names them.
    pub fn key(&self) -> Option<&'static str> {
        match self {
            FetchRequest::Resources => Some("uri"),
            FetchRequest::ResourceTemplates => Some("uriTemplate"),
            FetchRequest::Prompts => Some("name"),
            _ => None,
        }
    }
}

/// What a source offers.
#[derive(Debug, Clone, Default)]
pub struct Offering {
    /// Its operations.
    pub operations: Vec<Operation>,
    /// The types they use.
    pub types: Types,
    /// Operations that are not listed: requests of generic operations are resolved into them. They can be called and
    /// introspected by name.
    pub indirect: Vec<Operation>,
}

/// What a request of an indirect operation turned out to mean.
#[derive(Debug, Clone, Default)]
pub struct Resolution {
    /// The operation that is meant, by its own name, where it is another one.
    pub operation: Option<Arc<str>>,
    /// The parameters, with every alias replaced by the name it stands for.
    pub params: Map<String, Value>,
    /// Further operations, by their own names, that the caller must be allowed to use because the request reads what
    /// they read.
    pub also_needs: Vec<Arc<str>>,
    /// What policy judges beside these parameters, and in their place: those that only the generic operation has, and
    /// lists of all names instead of one. A rule may be written with any of them.
    pub judged_params: Map<String, Value>,
    /// What is wrong with the parameters. Callers to whom the operation is denied do not learn of it.
    pub problem: Option<Failure>,
}

/// One call to a source.
#[derive(Debug)]
pub struct Call {
    /// The operation's name as the source itself calls it.
    pub name: Arc<str>,
    /// The operation as the catalog has it.
    pub operation: Arc<Operation>,
    /// Its parameters, checked and complete.
    pub params: Map<String, Value>,
    /// Who asks, and how to talk back.
    pub context: Context,
    /// What addresses of documents begin with for the caller, where several sources have some: an address in a result
    /// has to lead back to the source that wrote it.
    pub address_prefix: Option<Arc<str>>,
    /// Whether it may still be carried out. A source that lets calls wait asks again when the wait is over.
    pub validity: Validity,
}

/// What came of a call.
#[derive(Debug)]
pub enum Outcome {
    /// It was done.
    Done(Answer),
    /// It was refused or failed.
    Failed(Failure),
    /// It can only go on with an answer from the person behind the caller.
    NeedsInput(InputRequest),
}

/// The result of a call that was done.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The result.
    pub data: Data,
    /// What went less well.
    pub warnings: Vec<Warning>,
    /// Pictures and the like.
    pub attachments: Vec<Attachment>,
}

impl Answer {
    /// A result without warnings.
    pub fn new(data: impl Into<Data>) -> Self {
        Self { data: data.into(), warnings: Vec::new(), attachments: Vec::new() }
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

/// A question to the person behind the caller. The call is repeated with the answer.
#[derive(Debug, Clone)]
pub struct InputRequest {
    /// Which question it is, among those of one call.
    pub key: String,
    /// The question.
    pub message: String,
    /// The fields of the answer, as a flat JSON Schema object.
    pub schema: Map<String, Value>,
}

impl InputRequest {
    /// What a caller is told who cannot be asked.
    pub fn into_failure(self) -> Failure {
        Failure::new(
            Code::ConfirmationRequired,
            "This operation requires confirmation by a person, and this client cannot ask one",
        )
        .detail("confirmation_message", self.message)
    }
}

/// Who asks, and how to talk back while the call runs.
#[derive(Debug, Clone)]
pub struct Context {
    /// Who asks.
    pub caller: Caller,
    /// The id under which the log knows the request.
    pub request_id: Arc<str>,
    /// Fires when the caller no longer wants the answer.
    pub cancelled: CancellationToken,
    /// Where to tell how far the call is.
    pub progress: Progress,
    /// Whether the person behind the caller can be asked.
    pub interaction: Interaction,
    /// The person's answers to earlier questions of this call, by key.
    pub answers: Arc<Map<String, Value>>,
    /// The client itself, where it can be asked things while the call waits.
    pub client: Option<Arc<dyn ClientSide>>,
}

/// What a client may be able to do for a source while a call waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientCapability {
    /// Ask the person to fill in a form.
    Elicitation,
    /// Have its model complete a conversation.
    Sampling,
    /// Say which folders it works in.
    Roots,
}

/// The client of a call, as far as sources may turn to it. What is asked and answered has the shape that MCP gives it.
pub trait ClientSide: Send + Sync + std::fmt::Debug + 'static {
    /// Whether it said that it can.
    fn can(&self, capability: ClientCapability) -> bool;

    /// Asks, and waits. Refused are what it cannot do, what it declines with an error, and what takes too long.
    fn ask(&self, capability: ClientCapability, params: Map<String, Value>) -> BoxFuture<'_, Result<Value, Failure>>;

    /// Passes on what a source logs (`{level, logger?, data}`). Never waits: what the client cannot take is lost.
    fn log(&self, params: Map<String, Value>);
}

/// Whether the person behind a call can be asked while the call waits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Interaction {
    /// The client cannot ask anybody.
    #[default]
    Unavailable,
    /// The client can ask.
    Available,
    /// The call is one of a batch, which is never interrupted by a question.
    Batch {
        /// Whether the client could ask if the call came alone.
        is_available_alone: bool,
    },
}

impl Interaction {
    /// The same client's call as one of a batch.
    #[must_use]
    pub fn in_batch(self) -> Self {
        Self::Batch { is_available_alone: self.can_ask_alone() }
    }

    /// Whether the person can be asked now.
    pub fn can_ask(self) -> bool {
        self == Self::Available
    }

    /// Whether the person can be asked now, or could be if the call came alone.
    pub fn can_ask_alone(self) -> bool {
        matches!(self, Self::Available | Self::Batch { is_available_alone: true })
    }

    /// Whether the call is one of a batch.
    pub fn is_batch(self) -> bool {
        matches!(self, Self::Batch { .. })
    }
}

impl Context {
    /// A context for a caller who neither cancels, nor listens to progress, nor can be asked.
    pub fn new(caller: Caller, request_id: impl Into<Arc<str>>) -> Self {
        Self {
            caller,
            request_id: request_id.into(),
            cancelled: CancellationToken::new(),
            progress: Progress::silent(),
            interaction: Interaction::Unavailable,
            answers: Arc::default(),
            client: None,
        }
    }
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgressUpdate {
    /// Steps done.
    pub current: f64,
    /// Steps in all, if known.
    pub total: Option<f64>,
    /// What is being done.
    pub message: Option<String>,
}

/// Where to tell how far a call is. Telling never waits: a listener too slow to keep up misses updates.
#[derive(Debug, Clone)]
pub struct Progress(Option<mpsc::Sender<ProgressUpdate>>);

impl Progress {
    /// Updates kept for a slow listener.
    const CAPACITY: usize = 16;

    /// Nobody listens.
    pub fn silent() -> Self {
        Self(None)
    }

    /// Somebody listens at the other end.
    pub fn channel() -> (Self, mpsc::Receiver<ProgressUpdate>) {
        let (sender, receiver) = mpsc::channel(Self::CAPACITY);
        (Self(Some(sender)), receiver)
    }

    /// Whether anybody listens.
    pub fn has_listener(&self) -> bool {
        self.0.is_some()
    }

    /// Tells how far the call is.
    pub fn report(&self, update: ProgressUpdate) {
        if let Some(sender) = &self.0 {
            // Full or closed: the listener's loss, not the call's.
            let _ = sender.try_send(update);
        }
    }
}
