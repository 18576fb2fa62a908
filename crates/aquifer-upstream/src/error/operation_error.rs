//! Errors of operations of an MCP-AQL server.

use aquifer_protocol::error::{Code, Failure, FailureReason};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::token_parameter;
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
    /// Whether the server reports that it did nothing, or passes on such a report of a server behind it.
    pub(super) fn is_refusal(&self) -> bool {
        let refuses = |code: &str| REFUSALS.iter().any(|beginning| code.starts_with(beginning));
        let behind = || {
            let code = self.details.get("upstream_code").and_then(Value::as_str);
            code.is_some_and(refuses) && !self.details.contains_key("outcome")
        };
        refuses(&self.code) || self.token().is_some() || (self.is_passed_on() && behind())
    }

    fn is_passed_on(&self) -> bool {
        self.code == Code::UpstreamError.as_str()
    }

    /// The token that the server, or one behind it, asks for, with the name of its parameter here.
    fn token(&self) -> Option<(String, &Value)> {
        let asks = self.is_passed_on() || self.code == Code::ConfirmationRequired.as_str();
        self.details.iter().filter(|_| asks).find_map(|(name, token)| Some((token_parameter(name)?, token)))
    }

    /// The failure for callers. The server's text is in the details, where it cannot be taken for ours.
    pub(super) fn into_failure(self, source: &str, sanitizer: &Sanitizer) -> Failure {
        let code = SHARED_CODES.iter().find(|code| code.as_str() == self.code).copied().unwrap_or(Code::UpstreamError);
        let token = self.token();
        let message = match &token {
            Some((name, _)) => format!(
                "Source '{source}' requires a confirmation of its own. Ask your user, then send the call again with '{name}'"
            ),
            None => format!("Source '{source}' refused the call"),
        };
        let mut failure = Failure::new(code, message)
            .detail("source", source)
            .detail("upstream_code", sanitizer.for_caller(&self.code))
            .with_reason(FailureReason::SourceError(sanitizer.for_caller(&self.message).into()));
        if let Some((name, token)) = token {
            failure = failure.detail(&name, token.clone());
        }
        failure
    }
}
