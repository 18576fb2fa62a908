//! One failed request: the message for the caller and, separately, the cause for the log.

use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use super::{Code, wording};

/// A failed request.
#[derive(Debug, Clone)]
pub struct Failure {
    code: Code,
    message: String,
    /// The byte offset of the explanation in the message.
    explanation: usize,
    details: Map<String, Value>,
    /// Boxed, because most failures have none and every `Result` reserves space for it.
    background: Option<Box<Background>>,
    outcome_unknown: bool,
}

/// Data that callers never see.
#[derive(Debug, Clone, Default)]
struct Background {
    reason: Option<FailureReason>,
    cause: Option<Arc<str>>,
}

/// Why a request failed, for our own code. Callers only see the message and the details.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureReason {
    /// The request was cancelled before it was finished.
    Cancelled,
    /// The configuration changed before the request was executed.
    ConfigurationChanged,
    /// The tables of a database have changed since they were reflected. Callers see `details.schema_changed`.
    SchemaChanged,
    /// The source answered with an error. Callers see its text as `details.upstream_error`.
    SourceError(Arc<str>),
    /// The program of a source is not installed.
    CommandNotFound {
        /// The name of the source.
        source: Arc<str>,
    },
    /// A person has to approve the call on a page. Callers see its address as `details.approval_url`.
    ApprovalPending {
        /// The approval's id.
        id: Arc<str>,
        /// The address of its page.
        url: Arc<str>,
    },
}

impl Failure {
    /// A failure with a message for the caller.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            explanation: 0,
            details: Map::new(),
            background: None,
            outcome_unknown: false,
        }
    }

    /// A failure whose message says what failed and, after a colon, why.
    pub fn explained(code: Code, what: impl std::fmt::Display, why: impl std::fmt::Display) -> Self {
        let mut message = format!("{what}: ");
        let explanation = message.len();
        message.push_str(&why.to_string());
        Self { explanation, ..Self::new(code, message) }
    }

    /// Records the reason, and adds the detail that shows it to callers.
    #[must_use]
    pub fn with_reason(mut self, reason: FailureReason) -> Self {
        self = match &reason {
            FailureReason::SchemaChanged => self.detail("schema_changed", true),
            FailureReason::SourceError(text) => self.detail("upstream_error", &**text),
            FailureReason::ApprovalPending { url, .. } => self.detail("approval_url", &**url),
            FailureReason::Cancelled | FailureReason::ConfigurationChanged | FailureReason::CommandNotFound { .. } => {
                self
            }
        };
        self.background.get_or_insert_default().reason = Some(reason);
        self
    }

    /// The same failure with another message.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self.explanation = 0;
        self
    }

    /// Renames the operation in `details.operation`, because sources and callers use different names for the same
    /// operation.
    #[must_use]
    pub fn with_operation_renamed(mut self, from: &str, to: &str) -> Self {
        if let Some(operation) = self.details.get_mut("operation").filter(|operation| **operation == *from) {
            *operation = to.into();
        }
        self
    }

    /// Marks that the operation may have been executed although no result arrived, because of a timeout, a lost
    /// connection or an unreadable answer. Callers see `details.outcome = "unknown"`, and the audit log records the
    /// same.
    #[must_use]
    pub fn with_unknown_outcome(mut self) -> Self {
        self.outcome_unknown = true;
        self.detail("outcome", "unknown")
    }

    /// Whether the operation may nevertheless have been executed.
    pub fn is_outcome_unknown(&self) -> bool {
        self.outcome_unknown
    }

    /// Adds a machine-readable detail.
    #[must_use]
    pub fn detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// Adds a cause for the log. Callers never see it: it may contain paths, driver messages or secrets.
    #[must_use]
    pub fn because(mut self, cause: impl std::fmt::Display) -> Self {
        self.background.get_or_insert_default().cause = Some(cause.to_string().into());
        self
    }

    /// An internal error. Callers do not see the cause.
    pub fn internal(cause: impl std::fmt::Display) -> Self {
        Self::explained(Code::InternalError, "Internal error", "the request could not be completed").because(cause)
    }

    /// A failure for a resource that does not exist.
    pub fn not_found(resource_type: &str, resource_id: impl std::fmt::Display) -> Self {
        let id = resource_id.to_string();
        Self::new(Code::NotFoundResource, format!("Resource '{resource_type}' not found: '{}'", wording::quotable(&id)))
            .detail("resource_type", resource_type)
            .detail("resource_id", id)
    }

    /// A failure for a parameter that has the right type but an invalid value. `problem` completes "Parameter 'x' …".
    pub fn invalid_value(param_name: &str, problem: impl std::fmt::Display) -> Self {
        Self::new(Code::ValidationInvalidValue, format!("Parameter '{param_name}' {problem}"))
            .detail("param_name", param_name)
    }

    /// A failure for arguments that are not a valid request. `problem` is the reason.
    pub fn invalid_request(problem: impl std::fmt::Display) -> Self {
        Self::new(Code::ValidationInvalidRequest, format!("Invalid request: {problem}"))
    }

    /// The code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// The message for the caller.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The part of the message that says why, for use in texts that already say what failed. The whole message unless
    /// the failure was [`explained`](Self::explained).
    pub fn explanation(&self) -> &str {
        self.message.get(self.explanation..).unwrap_or(&self.message)
    }

    /// The machine-readable details.
    pub fn details(&self) -> &Map<String, Value> {
        &self.details
    }

    /// The reason, for our own code.
    pub fn reason(&self) -> Option<&FailureReason> {
        self.background.as_ref()?.reason.as_ref()
    }

    /// The cause, for the log only.
    pub fn cause(&self) -> Option<&str> {
        self.background.as_ref()?.cause.as_deref()
    }

    /// The same failure with only `code` and `message`, for answers whose published schema allows no details
    /// (R-REQ-4a).
    #[must_use]
    pub fn without_details(mut self) -> Self {
        self.details.clear();
        self
    }
}

impl Serialize for Failure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("code", self.code.as_str())?;
        map.serialize_entry("message", &self.message)?;
        if !self.details.is_empty() {
            map.serialize_entry("details", &self.details)?;
        }
        map.end()
    }
}
