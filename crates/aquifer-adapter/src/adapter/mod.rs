//! An adapter: operations with their handlers over a shared state, built into a [`Source`].

mod long_running;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::clock::{SharedClock, SystemClock};
use aquifer_engine::source::{Call, Offering, Outcome};
use aquifer_engine::{Answer as EngineAnswer, Source};
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::error::Failure;
use aquifer_protocol::operation::{Example, Operation, Returns, Role, TOKEN};
use aquifer_protocol::schema::Types;
use aquifer_protocol::text::template::{self, Piece};
use aquifer_query::{Collection, CursorKey};
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::answer::{IntoAnswer, Reply};
use crate::describe::OperationDraft;
use crate::error::{AdapterError, AdapterErrors};
use crate::execution::Executions;
use crate::extract::{CallParts, Context, Progress};

pub(crate) type Handler<S> = Box<dyn Fn(CallParts<S>) -> BoxFuture<'static, Outcome> + Send + Sync>;

/// What can be turned into an adapter: an [`Adapter`], or a type with [`#[adapter]`](crate::adapter).
pub trait IntoAdapter {
    /// The state that the handlers share.
    type State: Send + Sync + 'static;

    /// The adapter.
    fn into_adapter(self) -> Adapter<Self::State>;
}

impl<S: Send + Sync + 'static> IntoAdapter for Adapter<S> {
    type State = S;

    fn into_adapter(self) -> Self {
        self
    }
}

/// An adapter under construction.
///
/// Methods that describe an operation ([`example`](Self::example), [`danger`](Self::danger), …) apply to the operation
/// added last.
pub struct Adapter<S> {
    name: Arc<str>,
    state: Arc<S>,
    pub(crate) operations: Vec<(Operation, Handler<S>)>,
    pub(crate) types: Types,
    pub(crate) collections: HashMap<Arc<str>, Arc<Collection>>,
    pub(crate) executions: Arc<Executions>,
    /// Random if it is not set.
    cursor_key: Option<CursorKey>,
    problems: Vec<AdapterError>,
}

impl<S: Send + Sync + 'static> Adapter<S> {
    /// An adapter with this name. Its handlers share the state.
    pub fn new(name: &str, state: S) -> Self {
        Self::with_clock(name, state, Arc::new(SystemClock))
    }

    /// Like [`new`](Self::new), with another clock for executions.
    pub fn with_clock(name: &str, state: S, clock: SharedClock) -> Self {
        Self {
            name: name.into(),
            state: Arc::new(state),
            operations: Vec::new(),
            types: Types::new(),
            collections: HashMap::new(),
            executions: Arc::new(Executions::new(clock)),
            cursor_key: None,
            problems: Vec::new(),
        }
    }

    /// Renames the adapter.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the key of the cursors of [`Query`](crate::Query). Processes that serve the same clients need the same key;
    /// by default it is random.
    #[must_use]
    pub fn cursor_key(mut self, key: CursorKey) -> Self {
        self.cursor_key = Some(key);
        self
    }

    /// Adds an operation. The parameter type of its handler defines it: the type's name in snake_case is the name of the
    /// operation, its doc comment the description, and its fields are the parameters.
    #[must_use]
    pub fn operation<P, R, F, E>(
        self,
        category: Category,
        handler: impl Fn(Context<S>, P) -> F + Send + Sync + 'static,
    ) -> Self
    where
        P: DeserializeOwned + JsonSchema + Send + 'static,
        R: IntoAnswer,
        E: Into<Failure>,
        F: Future<Output = Result<R, E>> + Send + 'static,
    {
        let mut draft = OperationDraft::from_type::<P>(category);
        R::describe(&mut draft);
        self.add(draft, move |call| {
            let answer = call.parameters().map(|params| handler(call.context().clone(), params));
            async move { answer?.await.map_err(Into::into)?.into_answer().await }
        })
    }

    /// Adds an EXECUTE operation that runs in the background, with the lifecycle of the specification.
    ///
    /// A call returns the state of the execution at once, or with `wait: true` after it has ended. The first such
    /// operation also adds `get_execution`, `list_executions` and `cancel_execution` to the adapter.
    #[must_use]
    pub fn long_running<P, R, F, E>(
        self,
        handler: impl Fn(Context<S>, P, Progress) -> F + Send + Sync + 'static,
    ) -> Self
    where
        P: DeserializeOwned + JsonSchema + Send + 'static,
        R: IntoAnswer,
        E: Into<Failure>,
        F: Future<Output = Result<R, E>> + Send + 'static,
    {
        let mut draft = OperationDraft::from_type::<P>(Category::Execute);
        draft.is_long_running = true;
        R::describe(&mut draft);
        let handler = Arc::new(handler);
        self.add(draft, move |mut call| {
            let handler = handler.clone();
            async move {
                let progress = <Progress as crate::FromCall<S>>::from_call(&mut call).await?;
                let params = call.parameters()?;
                handler(call.context().clone(), params, progress).await.map_err(Into::into)?.into_answer().await
            }
        })
    }

    /// Adds an operation that is already described.
    #[doc(hidden)]
    #[must_use]
    pub fn add<F>(
        mut self,
        mut draft: OperationDraft,
        handler: impl Fn(CallParts<S>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Reply, Failure>> + Send + 'static,
    {
        draft.finish();
        let queried = draft.queried.take().map(Arc::new);
        if draft.is_long_running {
            return self.add_long_running(draft, handler);
        }
        let handler: Handler<S> = Box::new(move |mut call| {
            call.collection.clone_from(&queried);
            let elicitation = call.elicitation.clone();
            let answer = handler(call);
            async move {
                match (answer.await, elicitation.take_question()) {
                    (Ok(Reply { data, warnings, keeps_budget }), _) => {
                        Outcome::Done(EngineAnswer { warnings, keeps_budget, ..EngineAnswer::new(data) })
                    }
                    (Err(_), Some(question)) => Outcome::NeedsInput(question),
                    (Err(failure), None) => Outcome::Failed(failure),
                }
            }
            .boxed()
        });
        self.push(draft, handler);
        self
    }

    /// Registers a finished operation with its types and its collection.
    pub(crate) fn push(&mut self, draft: OperationDraft, handler: Handler<S>) {
        let OperationDraft { operation, types, returned, mut problems, .. } = draft;
        for (name, schema) in &types {
            match self.types.get(name) {
                Some(known) if !known.is_same(schema) => problems.push(AdapterError::DuplicateType(name.to_string())),
                Some(_) => {}
                None => {
                    self.types.insert(name.clone(), schema.clone());
                }
            }
        }
        if self.operations.iter().any(|(known, _)| known.name == operation.name) {
            problems.push(AdapterError::DuplicateOperation(operation.name.to_string()));
        }
        if let Some(collection) = returned {
            self.collections.insert(operation.name.clone(), Arc::new(collection));
        }
        self.problems.extend(problems);
        self.operations.push((operation, handler));
    }

    /// Adds an example request.
    #[must_use]
    pub fn example(mut self, description: &str, params: Value) -> Self {
        let Value::Object(params) = params else {
            let name = self.operations.last().map(|(operation, _)| operation.name.to_string()).unwrap_or_default();
            self.problems.push(AdapterError::ExampleNotAnObject(name));
            return self;
        };
        self.with_last_operation("example", |operation| {
            operation.examples.push(Example { description: Some(description.into()), params });
        })
    }

    /// Sets the danger level.
    #[must_use]
    pub fn danger(self, danger: Danger) -> Self {
        self.with_last_operation("danger", |operation| operation.safety.danger = danger)
    }

    /// Has every call confirmed by a person, whatever the danger level.
    #[must_use]
    pub fn confirm(self) -> Self {
        self.with_last_operation("confirm", |operation| operation.safety.safeguards.always_confirm = true)
    }

    /// Sets what the person who confirms is asked. `{param}` stands for the value of a parameter.
    #[must_use]
    pub fn confirm_message(self, message: &str) -> Self {
        self.confirm().with_last_operation("confirm_message", |operation| {
            operation.safety.safeguards.message = Some(message.into());
        })
    }

    /// Sets how long a confirmation has to rest before it counts.
    #[must_use]
    pub fn cooldown(self, cooldown: Duration) -> Self {
        self.with_last_operation("cooldown", |operation| operation.safety.safeguards.cooldown = cooldown)
    }

    /// Declares that repeating a call changes nothing more. A caller who does not know whether a call was carried out is
    /// told that it may repeat it.
    #[must_use]
    pub fn idempotent(self) -> Self {
        self.with_last_operation("idempotent", |operation| operation.safety.is_idempotent = true)
    }

    /// Declares that the operation describes what exists, like a schema.
    #[must_use]
    pub fn discovery(self) -> Self {
        self.with_last_operation("discovery", |operation| operation.role = Role::Discovery)
    }

    /// Describes the result.
    #[must_use]
    pub fn returns(self, description: &str) -> Self {
        self.with_last_operation("returns", |operation| {
            let type_name = operation.returns.type_name.clone();
            operation.returns = Returns { type_name, description: description.into() };
        })
    }

    fn with_last_operation(mut self, word: &'static str, change: impl FnOnce(&mut Operation)) -> Self {
        match self.operations.last_mut() {
            Some((operation, _)) => change(operation),
            None => self.problems.push(AdapterError::NothingToDescribe(word)),
        }
        self
    }

    /// Builds the source.
    pub fn build(mut self) -> Result<Arc<dyn Source>, AdapterErrors> {
        let unknown = self.operations.iter().flat_map(|(operation, _)| find_unknown_names(operation));
        self.problems.extend(unknown);
        if !self.problems.is_empty() {
            return Err(AdapterErrors(self.problems));
        }
        let cursor_key = match self.cursor_key {
            Some(key) => key,
            None => random_cursor_key().map_err(|error| AdapterErrors(vec![error]))?,
        };
        let offering = Offering {
            operations: self.operations.iter().map(|(operation, _)| operation.clone()).collect(),
            types: self.types,
            indirect: Vec::new(),
        };
        let handlers = self.operations.into_iter().map(|(operation, handler)| (operation.name, handler)).collect();
        let Self { name, state, collections, executions, .. } = self;
        Ok(Arc::new(AdapterSource { name, state, offering, handlers, collections, executions, cursor_key }))
    }
}

/// Parameters that the engine adds.
const ADDED: [&str; 5] = [TOKEN, "max_tokens", "dry_run", "if_match", "preset"];

/// The names in examples and in the message of a confirmation that are not parameters: nobody would ever see a value there.
fn find_unknown_names(operation: &Operation) -> Vec<AdapterError> {
    let is_known = |name: &str| operation.parameter(name).is_some() || ADDED.contains(&name);
    let name = || operation.name.to_string();
    let message = operation.safety.safeguards.message.as_deref().unwrap_or_default();
    let placeholders = template::split(message).into_iter().filter_map(|piece| match piece {
        // What is inside a parameter is not checked here.
        Piece::Name(placeholder) if !placeholder.split('.').next().is_some_and(is_known) => {
            Some(placeholder.to_owned())
        }
        _ => None,
    });
    let mut problems: Vec<AdapterError> =
        placeholders.map(|placeholder| AdapterError::UnknownPlaceholder { operation: name(), placeholder }).collect();
    let members = operation.examples.iter().flat_map(|example| example.params.keys());
    problems.extend(
        members
            .filter(|member| !is_known(member))
            .map(|member| AdapterError::UnknownInExample { operation: name(), member: member.clone() }),
    );
    problems
}

fn random_cursor_key() -> Result<CursorKey, AdapterError> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(|error| AdapterError::NoRandomness(error.to_string()))?;
    Ok(CursorKey::new(secret))
}

struct AdapterSource<S> {
    name: Arc<str>,
    state: Arc<S>,
    offering: Offering,
    handlers: HashMap<Arc<str>, Handler<S>, foldhash::fast::RandomState>,
    collections: HashMap<Arc<str>, Arc<Collection>>,
    executions: Arc<Executions>,
    cursor_key: CursorKey,
}

impl<S: Send + Sync + 'static> Source for AdapterSource<S> {
    fn name(&self) -> &str {
        &self.name
    }

    fn offering(&self) -> Offering {
        self.offering.clone()
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        match self.handlers.get(&call.name) {
            Some(handler) => {
                let context = Context::new(self.state.clone(), call.context);
                let mut parts = CallParts::new(context, call.params, self.cursor_key.clone());
                parts.max_tokens = call.max_tokens;
                handler(parts)
            }
            None => {
                let failure = Failure::internal(format!("adapter has no handler for '{}'", call.name));
                std::future::ready(Outcome::Failed(failure)).boxed()
            }
        }
    }

    fn collection(&self, operation: &str) -> Option<Arc<Collection>> {
        self.collections.get(operation).cloned()
    }

    fn session_ended(&self, session: &str) {
        self.executions.session_ended(session);
    }
}
