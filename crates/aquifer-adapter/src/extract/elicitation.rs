//! Questions of a handler to the person who uses the client.

use std::sync::{Arc, Mutex, PoisonError};

use aquifer_engine::{Context as EngineContext, InputRequest, Interaction};
use aquifer_protocol::error::{Code, Failure};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

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

    /// Asks for the fields of `T`: a struct with fields of simple types.
    pub fn ask<T: DeserializeOwned + JsonSchema>(&self, message: impl Into<String>) -> Result<T, Failure> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.asked += 1;
        let key = format!("adapter_{}", state.asked);
        if let Some(answer) = self.context.answers.get(&key) {
            return read_answer(answer);
        }
        let question = InputRequest { key, message: message.into(), schema: form_schema::<T>() };
        if self.context.interaction == Interaction::Available {
            state.question = Some(question.clone());
        }
        Err(question.into_failure())
    }

    /// The question that the handler ended with.
    pub(crate) fn take_question(&self) -> Option<InputRequest> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).question.take()
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
        _ => "the person who was asked closed the question without an answer",
    };
    Err(Failure::new(Code::PermissionDenied, format!("Permission denied: {reason}")))
}

/// The fields of `T` as MCP forms have them: a flat object without references and nulls.
fn form_schema<T: JsonSchema>() -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let Value::Object(mut schema) = settings.into_generator().into_root_schema_for::<T>().to_value() else {
        return Map::new();
    };
    schema.retain(|name, _| matches!(name.as_str(), "type" | "properties" | "required"));
    for field in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        let Some(field) = field.1.as_object_mut() else { continue };
        if let Some(Value::Array(types)) = field.get("type")
            && let Some(only) = types.iter().find(|name| name.as_str() != Some("null"))
        {
            let only = only.clone();
            field.insert("type".to_owned(), only);
        }
        // Widths such as `uint8` are no formats of MCP.
        field.retain(|name, value| {
            name != "format" || matches!(value.as_str(), Some("email" | "uri" | "date" | "date-time"))
        });
    }
    schema
}
