//! Errors of operations of an MCP-AQL server.

use aquifer_protocol::error::{Code, Failure, FailureReason};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::client::aql::TOKEN_PARAMETER;
use crate::sanitize::Sanitizer;

/// Codes that mean the same here. A server reports others in its own words.
const SHARED_CODES: &[Code] = &[
    Code::ValidationMissingParam,
    Code::ValidationInvalidType,
    Code::ValidationInvalidValue,
    Code::ValidationUnknownParam,
    Code::ValidationUnknownField,
    Code::NotFoundResource,
    Code::ConflictAlreadyExists,
    Code::ConflictVersionMismatch,
    Code::ConflictConstraint,
    Code::PermissionDenied,
    Code::RateLimitExceeded,
    Code::UpstreamUnavailable,
    Code::UpstreamTimeout,
];

/// Beginnings of codes that mean that nothing was done.
const REFUSALS: &[&str] =
    &["VALIDATION_", "NOT_FOUND_", "CONFLICT_", "PERMISSION_", "CONFIRMATION_", "TOKEN_", "RATE_LIMIT_"];

/// The error in the envelope of an MCP-AQL server.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct OperationError {
    #[serde(default)]
    pub(crate) code: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    details: Map<String, Value>,
}

impl OperationError {
    /// Whether the server reports that it did nothing.
    pub(super) fn is_refusal(&self) -> bool {
        REFUSALS.iter().any(|beginning| self.code.starts_with(beginning))
    }

    /// The failure for callers. The server's text is in the details, where it cannot be taken for ours.
    pub(super) fn into_failure(self, source: &str, sanitizer: &Sanitizer) -> Failure {
        let code = SHARED_CODES.iter().find(|code| code.as_str() == self.code).copied().unwrap_or(Code::UpstreamError);
        let token = self.details.get("confirmation_token").filter(|_| self.code == Code::ConfirmationRequired.as_str());
        let message = match token {
            Some(_) => format!(
                "Source '{source}' requires a confirmation of its own. Ask your user, then send the call again with \
                 '{TOKEN_PARAMETER}'"
            ),
            None => format!("Source '{source}' refused the call"),
        };
        let mut failure = Failure::new(code, message)
            .detail("source", source)
            .detail("upstream_code", sanitizer.for_caller(&self.code))
            .with_reason(FailureReason::SourceError(sanitizer.for_caller(&self.message).into()));
        if let Some(token) = token {
            failure = failure.detail(TOKEN_PARAMETER, token.clone());
        }
        failure
    }
}
