//! Adapters written in Rust: a few types and functions become a [`Source`].
//!
//! The parameter type of a handler defines its operation: the type's name in snake_case is the name of the operation, its
//! doc comment the description, and its fields are the parameters with their docs, constraints and defaults. There is
//! one definition, so nothing can disagree. [`adapter`] generates these types from the methods of an `impl` block:
//!
//! ```
//! use aquifer_engine::adapter::{Failure, adapter};
//!
//! struct Greeter;
//!
//! #[adapter]
//! impl Greeter {
//!     /// Greet somebody.
//!     async fn get_greeting(
//!         &self,
//!         /// Whom to greet.
//!         #[schemars(length(min = 1, max = 50))]
//!         name: String,
//!     ) -> Result<String, Failure> {
//!         Ok(format!("Hello, {name}!"))
//!     }
//! }
//!
//! let source = Greeter.into_adapter("greeter").build().unwrap();
//! assert_eq!(&*source.offering().operations[0].name, "get_greeting");
//! ```

mod collection;
mod describe;
mod long_running;
mod params;

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use aquifer_protocol::category::Category;
use aquifer_protocol::operation::{Example, Operation, Returns, Role};
use aquifer_protocol::schema::Types;
use aquifer_query::Collection;
use aquifer_query::shape::add_collection_controls;
use describe::AnswerDescription;
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

pub use aquifer_derive::adapter;
pub use aquifer_protocol::danger::Danger;
pub use aquifer_protocol::error::{Code, Failure};
pub use params::Binary;
pub use params::DryRun;
pub use params::Items;
pub use params::Patch;

use crate::caller::Caller;
use crate::clock::{SharedClock, SystemClock};
use crate::execution::Executions;
use crate::source::{Call, Context, Offering, Outcome, ProgressUpdate};

pub use crate::execution::Reporter;
pub use crate::source::Source;

/// The result of a handler.
pub type Answer<T> = Result<T, Failure>;

/// Used by the expansion of [`adapter`].
#[doc(hidden)]
pub mod macros {
    pub use aquifer_protocol::category::Category;
    pub use schemars;
    pub use schemars::JsonSchema;
    pub use serde;
    pub use serde::Deserialize;
    pub use serde_json::json;
}

/// The context of a handler: the state of the adapter, and the call.
pub struct Ctx<S> {
    state: Arc<S>,
    context: Context,
}

impl<S> Clone for Ctx<S> {
    fn clone(&self) -> Self {
        Self { state: self.state.clone(), context: self.context.clone() }
    }
}

impl<S> Deref for Ctx<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.state
    }
}

impl<S> Ctx<S> {
    /// The caller.
    pub fn caller(&self) -> &Caller {
        &self.context.caller
    }

    /// Fires when the caller cancels. The handler is stopped anyway; this is for handlers that need to clean up.
    pub fn cancelled(&self) -> &CancellationToken {
        &self.context.cancelled
    }

    /// Reports progress to the caller.
    pub fn progress(&self, current: f64, total: f64, message: impl Into<String>) {
        let update = ProgressUpdate { current, total: Some(total), message: Some(message.into()) };
        self.context.progress.report(update);
    }
}

type Handler<S> = Box<dyn Fn(Ctx<S>, Map<String, Value>) -> BoxFuture<'static, Outcome> + Send + Sync>;

/// An adapter under construction.
///
/// Methods that describe an operation ([`example`](Self::example), [`danger`](Self::danger), …) apply to the operation
/// added last.
pub struct Adapter<S> {
    name: Arc<str>,
    state: Arc<S>,
    operations: Vec<(Operation, Handler<S>)>,
    types: Types,
    collections: HashMap<Arc<str>, Arc<Collection>>,
    executions: Arc<Executions>,
    problems: Vec<AdapterError>,
}

/// The error of building an adapter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdapterError {
    /// The operation has no description.
    #[error("parameter type '{0}' needs a doc comment: it is the description of the operation")]
    NoDescription(String),
    /// The parameters are not a struct with named fields.
    #[error("parameter type '{0}' must be a struct with named fields")]
    NotAStruct(String),
    /// Two different types have the same name.
    #[error("two different types are named '{0}': rename one with #[schemars(rename = \"…\")]")]
    DuplicateType(String),
    /// `example` or a similar method was called before an operation was added.
    #[error("'{0}' must follow an operation")]
    NothingToDescribe(&'static str),
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
            problems: Vec::new(),
        }
    }

    /// Adds a CREATE operation.
    #[must_use]
    pub fn create<P, R, F>(self, handler: impl Fn(Ctx<S>, P) -> F + Send + Sync + 'static) -> Self
    where
        P: DeserializeOwned + JsonSchema + Send + 'static,
        R: Serialize + JsonSchema,
        F: Future<Output = Result<R, Failure>> + Send + 'static,
    {
        self.operation(Category::Create, handler)
    }

    /// Adds a READ operation.
    #[must_use]
    pub fn read<P, R, F>(self, handler: impl Fn(Ctx<S>, P) -> F + Send + Sync + 'static) -> Self
    where
        P: DeserializeOwned + JsonSchema + Send + 'static,
        R: Serialize + JsonSchema,
        F: Future<Output = Result<R, Failure>> + Send + 'static,
    {
        self.operation(Category::Read, handler)
    }

    /// Adds an UPDATE operation. Its parameters contain the changes in `input`: see [`Patch`].
    #[must_use]
    pub fn update<P, R, F>(self, handler: impl Fn(Ctx<S>, P) -> F + Send + Sync + 'static) -> Self
    where
        P: DeserializeOwned + JsonSchema + Send + 'static,
        R: Serialize + JsonSchema,
        F: Future<Output = Result<R, Failure>> + Send + 'static,
    {
        self.operation(Category::Update, handler)
    }

    /// Adds a DELETE operation.
    #[must_use]
    pub fn delete<P, R, F>(self, handler: impl Fn(Ctx<S>, P) -> F + Send + Sync + 'static) -> Self
    where
        P: DeserializeOwned + JsonSchema + Send + 'static,
        R: Serialize + JsonSchema,
        F: Future<Output = Result<R, Failure>> + Send + 'static,
    {
        self.operation(Category::Delete, handler)
    }

    /// Adds an EXECUTE operation that responds when it is finished.
    #[must_use]
    pub fn execute<P, R, F>(self, handler: impl Fn(Ctx<S>, P) -> F + Send + Sync + 'static) -> Self
    where
        P: DeserializeOwned + JsonSchema + Send + 'static,
        R: Serialize + JsonSchema,
        F: Future<Output = Result<R, Failure>> + Send + 'static,
    {
        self.operation(Category::Execute, handler)
    }

    /// Adds an operation of any category.
    #[must_use]
    pub fn operation<P, R, F>(
        mut self,
        category: Category,
        handler: impl Fn(Ctx<S>, P) -> F + Send + Sync + 'static,
    ) -> Self
    where
        P: DeserializeOwned + JsonSchema + Send + 'static,
        R: Serialize + JsonSchema,
        F: Future<Output = Result<R, Failure>> + Send + 'static,
    {
        let handler: Handler<S> = Box::new(move |cx, params| match parse_params::<P>(params) {
            Ok(params) => {
                let answer = handler(cx, params);
                async move { answer.await.and_then(to_value).into() }.boxed()
            }
            Err(failure) => std::future::ready(Outcome::Failed(failure)).boxed(),
        });
        let described = describe::describe_operation::<P>(category, &mut self.types).and_then(|operation| {
            let AnswerDescription { returns, collection } =
                describe::describe_answer::<R>(&mut self.types, category == Category::Read)?;
            Ok((Operation { returns, ..operation }, collection))
        });
        let operation = described.and_then(|(operation, collection)| match collection {
            Some(collection) => self.make_queryable(operation, collection),
            None => Ok(operation),
        });
        match operation {
            Ok(operation) => self.operations.push((operation, handler)),
            Err(problem) => self.problems.push(problem),
        }
        self
    }

    /// Lets the engine query the list that an operation returns.
    fn make_queryable(&mut self, mut operation: Operation, collection: Collection) -> Result<Operation, AdapterError> {
        add_collection_controls(&mut operation, &collection);
        if operation.shaping.as_ref().is_some_and(|shaping| shaping.controls.iter().any(|name| &**name == "sort")) {
            describe::register_query_types(&mut self.types)?;
        }
        self.collections.insert(operation.name.clone(), Arc::new(collection));
        Ok(operation)
    }

    /// Adds an example request.
    #[must_use]
    pub fn example(self, description: &str, params: Value) -> Self {
        self.with_last_operation("example", |operation| {
            operation.examples.push(Example {
                description: Some(description.into()),
                params: params.as_object().cloned().unwrap_or_default(),
            });
        })
    }

    /// Sets the danger level.
    #[must_use]
    pub fn danger(self, danger: Danger) -> Self {
        self.with_last_operation("danger", |operation| operation.danger = danger)
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
    pub fn build(self) -> Result<Arc<dyn Source>, AdapterError> {
        if let Some(problem) = self.problems.into_iter().next() {
            return Err(problem);
        }
        let offering = Offering {
            operations: self.operations.iter().map(|(operation, _)| operation.clone()).collect(),
            types: self.types,
            indirect: Vec::new(),
        };
        let handlers = self.operations.into_iter().map(|(operation, handler)| (operation.name, handler)).collect();
        let Self { name, state, collections, executions, .. } = self;
        Ok(Arc::new(AdapterSource { name, state, offering, handlers, collections, executions }))
    }
}

/// The parameters are already validated, so this fails only if the type is stricter than its schema.
fn parse_params<P: DeserializeOwned>(params: Map<String, Value>) -> Result<P, Failure> {
    serde_json::from_value(Value::Object(params)).map_err(|cause| {
        Failure::new(
            Code::ValidationInvalidValue,
            "The parameters do not fit together. See the operation's description",
        )
        .because(cause)
    })
}

fn to_value<R: Serialize>(result: R) -> Result<Value, Failure> {
    serde_json::to_value(result).map_err(Failure::internal)
}

struct AdapterSource<S> {
    name: Arc<str>,
    state: Arc<S>,
    offering: Offering,
    handlers: HashMap<Arc<str>, Handler<S>>,
    collections: HashMap<Arc<str>, Arc<Collection>>,
    executions: Arc<Executions>,
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
            Some(handler) => handler(Ctx { state: self.state.clone(), context: call.context }, call.params),
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
