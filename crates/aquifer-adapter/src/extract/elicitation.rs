//! Questions of a handler to the person who uses the client.

use std::sync::Arc;

use aquifer_engine::{Context as EngineContext, InputRequest, Interaction};
use aquifer_protocol::error::{Code, Failure};
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::extract::form::form_schema;
use crate::extract::{CallParts, FromCall};

/// Asks the person who uses the client.
///
/// ```
/// use aquifer_adapter::{Answer, Elicitation, adapter};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Recipient {
///     /// The address to send it to.
///     address: String,
/// }
///
/// struct Mailer;
///
/// #[adapter]
/// impl Mailer {
///     /// Send the report.
///     #[operation(category = Execute)]
///     async fn send_report(&self, elicitation: Elicitation) -> Answer<String> {
///         let Recipient { address } = elicitation.ask("Who should get the report?")?;
///         Ok(format!("sent to {address}"))
///     }
/// }
/// ```
///
/// The first call of [`ask`](Self::ask) ends the handler with a failure. The client asks, and the handler runs again from
/// its beginning, now with the answer: ask before you change anything. A client that cannot ask gets the failure.
#[derive(Clone)]
pub struct Elicitation {
    context: Arc<EngineContext>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    asked: usize,
    question: Option<InputRequest>,
}

impl Elicitation {
    pub(crate) fn new(context: &Arc<EngineContext>) -> Self {
        Self { context: context.clone(), state: Arc::default() }
    }

    /// Asks for the fields of `T`: a struct with fields of simple types, which are texts, numbers, booleans, enums without
    /// content, and lists of such enums. The doc comments of fields and variants are shown.
    pub fn ask<T: DeserializeOwned + JsonSchema>(&self, message: impl Into<String>) -> Result<T, Failure> {
        let mut state = self.state.lock();
        state.asked += 1;
        let key = format!("adapter_{}", state.asked);
        if let Some(answer) = self.context.answers.get(&key) {
            return read_answer(answer);
        }
        let question = InputRequest { key, message: message.into(), schema: form_schema::<T>()? };
        if self.context.interaction == Interaction::Available {
            state.question = Some(question.clone());
        }
        Err(question.into_failure())
    }

    /// The question that the handler ended with.
    pub(crate) fn take_question(&self) -> Option<InputRequest> {
        self.state.lock().question.take()
    }
}

impl<S: Send + Sync> FromCall<S> for Elicitation {
    async fn from_call(call: &mut CallParts<S>) -> Result<Self, Failure> {
        Ok(call.elicitation.clone())
    }
}

fn read_answer<T: DeserializeOwned>(answer: &Value) -> Result<T, Failure> {
    let reason = match answer.get("action").and_then(Value::as_str) {
        Some("accept") => {
            let content = answer.get("content").cloned().unwrap_or_else(|| Value::Object(Map::new()));
            return serde_json::from_value(content).map_err(|cause| {
                Failure::new(Code::ValidationInvalidValue, "The answer of the person who was asked is not valid")
                    .because(cause)
            });
        }
        Some("decline") => "the person who was asked declined",
        Some("timeout") => "nobody answered the question in time",
        Some("unavailable") => {
            return Err(Failure::new(
                Code::UpstreamUnavailable,
                "The client could not show the question of this operation",
            ));
        }
        _ => "the person who was asked closed the question without an answer",
    };
    Err(Failure::new(Code::PermissionDenied, format!("Permission denied: {reason}")))
}
