//! What a handler can take from a call besides its parameters.

pub(crate) mod argument;
pub(crate) mod elicitation;
mod form;

use std::ops::Deref;
use std::sync::Arc;

use aquifer_engine::{Caller, ProgressUpdate};
use aquifer_protocol::error::{Code, Failure};
use aquifer_query::{Collection, CursorKey};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::describe::OperationDraft;
use crate::execution::Reporter;
use crate::params::DryRun;
use elicitation::Elicitation;

/// A value that a handler takes from the call: its context, its caller, or something of your own.
///
/// An argument of a handler whose type implements this trait is extracted; any other is a parameter of the operation. The
/// type decides, so an alias works like the type itself.
///
/// ```
/// use aquifer_adapter::{Answer, CallParts, Code, Failure, FromCall};
///
/// /// The signed-in user.
/// struct User(String);
///
/// impl<S: Send + Sync> FromCall<S> for User {
///     async fn from_call(call: &mut CallParts<S>) -> Answer<Self> {
///         match &call.caller().principal {
///             Some(name) => Ok(User(name.to_string())),
///             None => Err(Failure::new(Code::PermissionDenied, "Permission denied: sign in first")),
///         }
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` can be neither extracted from a call nor read as a parameter",
    note = "a parameter implements `serde::Deserialize` and `schemars::JsonSchema`; an extractor implements `FromCall`"
)]
pub trait FromCall<S>: Sized + Send {
    /// Changes the operation of a handler that takes this: adds parameters, for example.
    fn describe(_operation: &mut OperationDraft) {}

    /// Takes the value from the call. A failure is the answer to the call, and the handler does not run.
    fn from_call(call: &mut CallParts<S>) -> impl Future<Output = Result<Self, Failure>> + Send;
}

/// A call under way, as extractors see it.
pub struct CallParts<S> {
    context: Context<S>,
    /// An object.
    params: Value,
    pub(crate) execution: Option<Reporter>,
    pub(crate) elicitation: Elicitation,
    pub(crate) cursor_key: CursorKey,
    /// The collection of an operation that takes a query.
    pub(crate) collection: Option<Arc<Collection>>,
    /// How many tokens the pages of a query may take.
    pub(crate) max_tokens: Option<usize>,
}

impl<S> CallParts<S> {
    pub(crate) fn new(context: Context<S>, params: Map<String, Value>, cursor_key: CursorKey) -> Self {
        let elicitation = Elicitation::new(&context.call);
        let params = Value::Object(params);
        Self { context, params, execution: None, elicitation, cursor_key, collection: None, max_tokens: None }
    }

    /// The state of the adapter.
    pub fn state(&self) -> &S {
        &self.context
    }

    /// The context of the call.
    pub fn context(&self) -> &Context<S> {
        &self.context
    }

    /// The caller.
    pub fn caller(&self) -> &Caller {
        self.context.caller()
    }

    /// Takes a parameter. Only an optional type, such as `Option<T>`, can be missing.
    pub fn parameter<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, Failure> {
        /// Serde decides by the type of the field whether it can be missing.
        #[derive(Deserialize)]
        #[serde(bound = "T: DeserializeOwned")]
        struct One<T> {
            value: T,
        }
        let given = self.params.as_object_mut().and_then(|params| params.shift_remove(name));
        match given {
            Some(value) => serde_json::from_value(value).map_err(do_not_fit),
            None => serde_json::from_value(Value::Object(Map::new())).map(|one: One<T>| one.value).map_err(do_not_fit),
        }
    }

    /// Reads all parameters as one type.
    pub fn parameters<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        T::deserialize(&self.params).map_err(do_not_fit)
    }

    /// Takes a boolean parameter. A missing one is false.
    pub(crate) fn take_flag(&mut self, name: &str) -> bool {
        self.parameter::<Option<bool>>(name).ok().flatten().unwrap_or(false)
    }

    pub(crate) fn take_parameters(&mut self) -> Map<String, Value> {
        match std::mem::take(&mut self.params) {
            Value::Object(params) => params,
            _ => Map::new(),
        }
    }
}

/// The parameters were checked against the definition, so this happens only if the type is stricter than its schema.
fn do_not_fit(cause: serde_json::Error) -> Failure {
    let message = "The parameters do not fit together. See the operation's description";
    Failure::new(Code::ValidationInvalidValue, message).because(cause)
}

/// The context of a call: the state of the adapter, the caller, and its wish to cancel.
pub struct Context<S> {
    state: Arc<S>,
    call: Arc<aquifer_engine::Context>,
}

impl<S> Context<S> {
    pub(crate) fn new(state: Arc<S>, call: Arc<aquifer_engine::Context>) -> Self {
        Self { state, call }
    }

    pub(crate) fn call(&self) -> &Arc<aquifer_engine::Context> {
        &self.call
    }

    /// The caller.
    pub fn caller(&self) -> &Caller {
        &self.call.caller
    }

    /// The id of the request in the log.
    pub fn request_id(&self) -> &str {
        &self.call.request_id
    }

    /// Fires when the caller cancels. The handler is stopped anyway; this is for handlers that need to clean up.
    pub fn cancelled(&self) -> &CancellationToken {
        &self.call.cancelled
    }
}

impl<S> Clone for Context<S> {
    fn clone(&self) -> Self {
        Self { state: self.state.clone(), call: self.call.clone() }
    }
}

impl<S> Deref for Context<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.state
    }
}

impl<S: Send + Sync> FromCall<S> for Context<S> {
    async fn from_call(call: &mut CallParts<S>) -> Result<Self, Failure> {
        Ok(call.context.clone())
    }
}

impl<S: Send + Sync> FromCall<S> for Caller {
    async fn from_call(call: &mut CallParts<S>) -> Result<Self, Failure> {
        Ok(call.caller().clone())
    }
}

impl<S: Send + Sync> FromCall<S> for DryRun {
    fn describe(operation: &mut OperationDraft) {
        operation.parameter::<DryRun>("dry_run", None);
    }

    async fn from_call(call: &mut CallParts<S>) -> Result<Self, Failure> {
        Ok(call.parameter::<Option<DryRun>>("dry_run")?.unwrap_or_default())
    }
}

/// Reports the progress of a call to its caller, or that of a long-running operation to whoever watches it.
#[derive(Clone)]
pub struct Progress {
    listener: Listener,
    cancelled: CancellationToken,
}

#[derive(Clone)]
enum Listener {
    Caller(aquifer_engine::Progress),
    Execution(Reporter),
}

impl Progress {
    /// Reports progress in steps.
    pub fn report(&self, current: usize, total: usize, message: impl Into<String>) {
        #[expect(clippy::cast_precision_loss, reason = "nobody counts that many steps")]
        let (current, total) = (current as f64, total as f64);
        let update = ProgressUpdate { current, total: Some(total), message: Some(message.into()) };
        match &self.listener {
            Listener::Caller(progress) => progress.report(update),
            Listener::Execution(reporter) => reporter.report(update),
        }
    }

    /// Fires when the work is cancelled, for handlers that need to clean up.
    pub fn cancelled(&self) -> &CancellationToken {
        &self.cancelled
    }
}

impl<S: Send + Sync> FromCall<S> for Progress {
    async fn from_call(call: &mut CallParts<S>) -> Result<Self, Failure> {
        Ok(match &call.execution {
            Some(reporter) => {
                Self { cancelled: reporter.cancelled().clone(), listener: Listener::Execution(reporter.clone()) }
            }
            None => Self {
                cancelled: call.context.cancelled().clone(),
                listener: Listener::Caller(call.context.call.progress.clone()),
            },
        })
    }
}
