//! Requests: parses a JSON object as one operation or a batch (R-REQ-1, R-REQ-2, R-BAT-4).

use serde_json::{Map, Value};

use crate::error::{Code, Failure};
use crate::operation::TOKEN;
use crate::schema::type_of;

/// One parsed request whose parameters are not validated yet.
#[derive(Debug, Clone)]
pub struct Request {
    /// The operation's name, as the caller wrote it.
    pub operation: String,
    /// The parameters from `params`.
    pub params: Map<String, Value>,
    /// The top-level parameters. `params` takes precedence over them. Aliases of a parameter are resolved later,
    /// because the operation defines them.
    pub beside: Map<String, Value>,
    /// Parameters of the protocol itself.
    pub metadata: Metadata,
}

/// The parameters of a request that are for the protocol rather than for the operation.
#[derive(Clone, Default)]
pub struct Metadata {
    /// A confirmation token given as `_confirmation`.
    pub confirmation: Option<String>,
    /// A quota token given as `_quota_continue`.
    pub quota_continue: Option<String>,
}

const QUOTA_TOKEN_PREFIX: &str = "quota_continue_";

impl Metadata {
    /// Accepts a token that was sent as a parameter. That is the canonical place, so it takes precedence.
    pub(crate) fn accept(&mut self, token: String) {
        let place =
            if token.starts_with(QUOTA_TOKEN_PREFIX) { &mut self.quota_continue } else { &mut self.confirmation };
        *place = Some(token);
    }
}

/// Tokens are secrets, so only their presence is shown.
impl std::fmt::Debug for Metadata {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metadata")
            .field("confirmation", &self.confirmation.is_some())
            .field("quota_continue", &self.quota_continue.is_some())
            .finish()
    }
}

/// A parsed request: one operation or a batch.
#[derive(Debug)]
pub enum ParsedRequest {
    /// One operation.
    One(Request),
    /// Several, in order.
    Batch(BatchRequest),
}

/// Several operations in one request.
#[derive(Debug)]
pub struct BatchRequest {
    /// The operations.
    pub items: Vec<BatchItem>,
    /// Metadata beside the operations: a token that confirms the whole batch.
    pub metadata: Metadata,
}

/// One operation of a batch. An invalid one does not affect the others, provided that it names its operation.
#[derive(Debug)]
pub struct BatchItem {
    /// The operation's name.
    pub operation: String,
    /// The request, or why it is invalid.
    pub request: Result<Request, Failure>,
}

/// Why the arguments of a call are not a request. The failure of a whole batch has no details (R-REQ-4a).
#[derive(Debug)]
pub enum RequestError {
    /// The arguments were meant as one operation.
    One(Failure),
    /// The arguments were meant as a batch.
    Batch(Failure),
}

impl RequestError {
    /// The failure for the caller.
    pub fn failure(&self) -> &Failure {
        match self {
            RequestError::One(failure) | RequestError::Batch(failure) => failure,
        }
    }
}

/// Parses the arguments of a tool call.
pub fn parse(mut arguments: Map<String, Value>, max_batch_size: usize) -> Result<ParsedRequest, RequestError> {
    if arguments.keys().any(|name| name == "operations") {
        let operations = arguments.remove("operations").unwrap_or_default();
        let token = arguments.remove(TOKEN);
        let items = batch(operations, &arguments, max_batch_size).map_err(RequestError::Batch)?;
        let mut metadata = RequestParts::from_arguments(arguments).metadata;
        metadata.confirmation = token.and_then(text).or(metadata.confirmation);
        return Ok(ParsedRequest::Batch(BatchRequest { items, metadata }));
    }
    let mut parts = RequestParts::from_arguments(arguments);
    let operation = operation_name(parts.operation.take()).map_err(RequestError::One)?;
    parts.into_request(operation).map(ParsedRequest::One).map_err(RequestError::One)
}

fn operation_name(given: Option<Value>) -> Result<String, Failure> {
    match given {
        Some(Value::String(operation)) if !operation.is_empty() => Ok(operation),
        Some(Value::String(_)) => Err(Failure::invalid_request(
            "'operation' is empty. Name an operation; {operation: \"introspect\", params: {query: \"operations\"}} lists them",
        )),
        Some(other) => {
            Err(Failure::invalid_request(format!("'operation' expected 'string', got '{}'", type_of(&other))))
        }
        None => Err(Failure::invalid_request(
            "'operation' is missing. Send {operation, params}; {operation: \"introspect\", params: {query: \"operations\"}} lists the operations",
        )),
    }
}

/// The top-level fields of a request.
#[derive(Default)]
struct RequestParts {
    operation: Option<Value>,
    params: Option<Value>,
    metadata: Metadata,
    beside: Map<String, Value>,
}

impl RequestParts {
    /// Splits the arguments. Top-level names that begin with `_` belong to the protocol.
    fn from_arguments(arguments: Map<String, Value>) -> Self {
        let mut parts = Self::default();
        for (name, value) in arguments {
            match name.as_str() {
                "operation" => parts.operation = Some(value),
                "params" => parts.params = Some(value),
                "_confirmation" => parts.metadata.confirmation = text(value),
                "_quota_continue" => parts.metadata.quota_continue = text(value),
                _ if name.starts_with('_') => {}
                _ => {
                    parts.beside.insert(name, value);
                }
            }
        }
        parts
    }

    /// Merges the parameters: `params.x` takes precedence over a top-level `x`.
    fn into_request(self, operation: String) -> Result<Request, Failure> {
        let RequestParts { params, mut metadata, beside, .. } = self;
        let mut params = match params {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(params)) => params,
            Some(other) => {
                return Err(Failure::new(
                    Code::ValidationInvalidType,
                    format!(
                        "Parameter 'params' expected 'object', got '{}'. Send a JSON object, not its text",
                        type_of(&other)
                    ),
                )
                .detail("param_name", "params")
                .detail("expected_type", "object")
                .detail("actual_type", type_of(&other)));
            }
        };
        if params.keys().any(|name| name.starts_with('_')) {
            metadata.confirmation = take_text(&mut params, "_confirmation").or(metadata.confirmation);
            metadata.quota_continue = take_text(&mut params, "_quota_continue").or(metadata.quota_continue);
        }
        Ok(Request { operation, params, beside, metadata })
    }
}

impl Request {
    /// All parameters in one object, as a caller could send them again.
    pub fn into_params(self) -> Map<String, Value> {
        let Request { mut params, beside, .. } = self;
        for (name, value) in beside {
            params.entry(name).or_insert(value);
        }
        params
    }
}

fn take_text(params: &mut Map<String, Value>, name: &str) -> Option<String> {
    params.remove(name).and_then(text)
}

/// A token. A value that is not text is treated like an invalid token.
fn text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Null => None,
        _ => Some(String::new()),
    }
}

fn batch(operations: Value, rest: &Map<String, Value>, max_batch_size: usize) -> Result<Vec<BatchItem>, Failure> {
    let invalid = |problem: String| Err(Failure::invalid_request(problem));
    let Value::Array(items) = operations else {
        return invalid(format!("'operations' expected 'array', got '{}'", type_of(&operations)));
    };
    if let Some(name) = rest.keys().find(|name| !name.starts_with('_')) {
        let name = crate::error::wording::quotable(name);
        return invalid(format!(
            "'{name}' cannot be combined with 'operations'. Put it into the operations of the batch"
        ));
    }
    if items.is_empty() {
        return invalid("'operations' is empty. A batch needs one operation or more".to_owned());
    }
    if items.len() > max_batch_size {
        return invalid(format!(
            "'operations' has {} entries, more than the {max_batch_size} allowed. Send several batches",
            items.len()
        ));
    }
    items.into_iter().enumerate().map(|(index, item)| batch_item(index, item)).collect()
}

fn batch_item(index: usize, item: Value) -> Result<BatchItem, Failure> {
    let invalid = |problem: &str| Err(Failure::invalid_request(format!("'operations[{index}]' {problem}")));
    let Value::Object(arguments) = item else {
        return invalid("is not an object with 'operation' and 'params'");
    };
    if arguments.contains_key("operations") {
        return invalid("is itself a batch. Batches do not nest");
    }
    let mut parts = RequestParts::from_arguments(arguments);
    match parts.operation.take() {
        Some(Value::String(operation)) if !operation.is_empty() => {
            Ok(BatchItem { operation: operation.clone(), request: parts.into_request(operation) })
        }
        _ => invalid("has no 'operation' (a name)"),
    }
}
