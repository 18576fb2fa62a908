//! Errors of requests to a target, and the failures that callers see.
//!
//! HTTP statuses map to the codes that the specification publishes for them. Other errors have the codes of its plugin
//! contracts (`TRANSPORT_*`, `AUTH_*`, `SERIALIZATION_*`).

mod rate_limit;
mod status;

use aquifer_engine::configuration_changed;
use aquifer_protocol::error::{Code, Failure, FailureReason, too_large};
use aquifer_protocol::limits::LimitKind;

pub(crate) use rate_limit::RateLimit;
pub(crate) use status::StatusError;

/// A request error. It does not implement `std::error::Error`, so `?` cannot accidentally convert it into an internal
/// failure.
#[derive(Debug, Clone)]
pub struct RestError {
    problem: RestProblem,
    /// Whether the target may have changed something. A reported refusal rules that out.
    is_in_doubt: bool,
}

/// The cause of a request error. Its text contains no credentials.
#[derive(Debug, Clone)]
pub(crate) enum RestProblem {
    /// The route or the settings do not produce a valid request.
    InvalidRequest(String),
    /// Requests to this URL are not allowed.
    ForbiddenTarget(&'static str),
    /// The host resolves only to addresses that are not allowed.
    ForbiddenAddress,
    /// The host name cannot be resolved.
    Dns { cause: String },
    /// The target refused the connection.
    ConnectionRefused { cause: String },
    /// The TLS connection cannot be established.
    Tls { cause: String },
    /// The connection broke.
    Network { cause: String },
    /// No response arrived in time.
    TimedOut,
    /// The target sent a redirect that is not followed.
    Redirected { status: u16, reason: &'static str },
    /// A redirect or a link to the next page leads to something that the caller may not request.
    ForbiddenLink,
    /// The response is too large. `size` is the announced size, or the number of bytes read so far.
    TooLarge { max_bytes: usize, size: usize },
    /// The response body cannot be read. `problem` follows "it is".
    InvalidResponse { problem: String, cause: String },
    /// The target responded with a status that is not a success.
    Status(Box<StatusError>),
    /// Environment variables with credentials are not set.
    CredentialMissing { variables: Vec<String> },
    /// A credential, or the configuration for obtaining one, is invalid.
    CredentialInvalid { reason: String },
    /// The token endpoint refused our credentials.
    TokenRefused { text: String },
    /// The token endpoint cannot be used at the moment.
    TokenUnavailable { cause: String },
    /// The target refused the token. The token has been renewed, but the request must not be sent twice.
    TokenRenewed,
    /// The request was already sent and must not be sent twice.
    AlreadySent,
    /// The caller cancelled the request.
    Cancelled,
    /// The configuration has changed since the decision on the request.
    ConfigurationChanged,
}

impl RestProblem {
    /// Whether the target certainly did not carry out the request. After any other error, it may have carried out a
    /// request that was sent.
    fn is_refusal(&self) -> bool {
        match self {
            // A 408 says nothing about what the target has done.
            RestProblem::Status(error) => (400..500).contains(&error.status) && error.status != 408,
            RestProblem::InvalidRequest(_)
            | RestProblem::ForbiddenTarget(_)
            | RestProblem::CredentialMissing { .. }
            | RestProblem::CredentialInvalid { .. }
            | RestProblem::TokenRefused { .. }
            | RestProblem::TokenUnavailable { .. }
            | RestProblem::TokenRenewed => true,
            RestProblem::ForbiddenAddress
            | RestProblem::Dns { .. }
            | RestProblem::ConnectionRefused { .. }
            | RestProblem::Tls { .. }
            | RestProblem::Network { .. }
            | RestProblem::TimedOut
            | RestProblem::Redirected { .. }
            | RestProblem::ForbiddenLink
            | RestProblem::TooLarge { .. }
            | RestProblem::InvalidResponse { .. }
            | RestProblem::AlreadySent
            | RestProblem::Cancelled
            | RestProblem::ConfigurationChanged => false,
        }
    }

    /// Whether a retry may succeed. Whether one is allowed depends on what was sent.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            RestProblem::Status(error) => matches!(error.status, 429 | 502 | 503 | 504),
            // A timeout has used up the deadline. A retry could only end with an unknown outcome.
            RestProblem::Dns { .. } | RestProblem::ConnectionRefused { .. } | RestProblem::Network { .. } => true,
            _ => false,
        }
    }

    fn into_failure(self, source: &str) -> Failure {
        match self {
            RestProblem::InvalidRequest(problem) => Failure::explained(Code::InternalError, "Internal error", problem),
            RestProblem::ForbiddenTarget(reason) => forbidden(source, reason),
            RestProblem::ForbiddenAddress => forbidden(source, "its host has only addresses that are not allowed"),
            RestProblem::Dns { cause } => {
                source_failure(Code::TransportDnsError, source, "has an unknown host").because(cause)
            }
            RestProblem::ConnectionRefused { cause } => {
                source_failure(Code::TransportConnectionRefused, source, "refuses connections").because(cause)
            }
            RestProblem::Tls { cause } => {
                source_failure(Code::TransportTlsError, source, "cannot be reached securely").because(cause)
            }
            RestProblem::Network { cause } => unavailable(source, "the connection was lost").because(cause),
            RestProblem::TimedOut => source_failure(Code::TransportTimeout, source, "did not answer in time"),
            RestProblem::Redirected { status, reason } => {
                refused(source, format!("HTTP status {status}: {reason}")).detail("http_status", status)
            }
            RestProblem::ForbiddenLink => {
                let reason = format_args!("source '{source}' leads this call to something it may not request");
                Failure::explained(Code::PermissionDenied, "Permission denied", reason).detail("source", source)
            }
            RestProblem::TooLarge { max_bytes, size } => {
                too_large(LimitKind::ResponseSize, max_bytes, size).detail("source", source)
            }
            RestProblem::InvalidResponse { problem, cause } => {
                let message = format_args!("Source '{source}' gave an unreadable answer");
                let reason = format_args!("it is {problem}");
                Failure::explained(Code::SerializationParseError, message, reason)
                    .detail("source", source)
                    .because(cause)
            }
            RestProblem::Status(error) => status_failure(source, *error),
            RestProblem::CredentialMissing { variables } => credential_missing(source, &variables),
            RestProblem::CredentialInvalid { reason } => cannot_authenticate(source, &reason),
            RestProblem::TokenRefused { text } => {
                let reason = "its token endpoint refuses the credentials";
                cannot_authenticate(source, reason).with_reason(FailureReason::SourceError(text.into()))
            }
            RestProblem::TokenUnavailable { cause } => {
                unavailable(source, "its token endpoint cannot be used").because(cause)
            }
            RestProblem::TokenRenewed => {
                let message = format!(
                    "Source '{source}' did not accept the token, which has been renewed. The call was not executed and can \
                     be repeated"
                );
                Failure::new(Code::UpstreamUnavailable, message).detail("source", source)
            }
            RestProblem::AlreadySent => unavailable(source, "it did not answer, and the call is not sent again"),
            RestProblem::Cancelled => {
                Failure::new(Code::UpstreamUnavailable, format!("The call to source '{source}' was cancelled"))
                    .detail("source", source)
            }
            RestProblem::ConfigurationChanged => configuration_changed(),
        }
    }
}

impl RestError {
    pub(crate) fn new(problem: RestProblem, is_in_doubt: bool) -> Self {
        Self { problem, is_in_doubt }
    }

    /// The HTTP status, if the target responded with an error or a redirect.
    pub fn status(&self) -> Option<u16> {
        match &self.problem {
            RestProblem::Status(error) => Some(error.status),
            RestProblem::Redirected { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// Whether the target may have carried out the operation although no result arrived.
    pub fn is_outcome_unknown(&self) -> bool {
        self.is_in_doubt && !self.problem.is_refusal()
    }

    /// Converts the error into the failure for the caller. Only this function decides whether the outcome is unknown.
    pub fn into_failure(self, source: &str) -> Failure {
        if !self.is_outcome_unknown() {
            return self.problem.into_failure(source);
        }
        let problem = match &self.problem {
            RestProblem::TooLarge { max_bytes, .. } => {
                Some(format!("The answer of source '{source}' exceeds {max_bytes} bytes"))
            }
            RestProblem::InvalidResponse { .. } => Some(format!("The answer of source '{source}' is invalid")),
            RestProblem::Status(error) => Some(format!("Source '{source}' failed with HTTP status {}", error.status)),
            RestProblem::Redirected { status, .. } => Some(format!(
                "Source '{source}' answered with HTTP status {status}: redirects of such calls are not followed"
            )),
            RestProblem::ConfigurationChanged => {
                Some(format!("The configuration changed before source '{source}' had finished the call"))
            }
            _ => None,
        };
        let failure = self.problem.into_failure(source);
        let problem = problem.as_deref().unwrap_or(failure.message());
        let message = format!("{problem}. It is unknown whether the call was executed. Check before repeating it");
        failure.with_message(message).with_unknown_outcome()
    }
}

/// Maps a status to a failure, following the error codes of the specification.
fn status_failure(source: &str, error: StatusError) -> Failure {
    let status = error.status;
    let status_reason = format!("source '{source}' answered with HTTP status {status}");
    let mut failure = match status {
        401 => {
            let reason = format_args!("source '{source}' does not accept the credentials");
            Failure::explained(Code::PermissionDenied, "Permission denied", reason)
        }
        403 | 407 => {
            let reason = format_args!("source '{source}' refuses the request");
            Failure::explained(Code::PermissionDenied, "Permission denied", reason)
        }
        404 | 410 => Failure::explained(Code::NotFoundResource, "Resource not found", status_reason),
        408 => source_failure(Code::TransportTimeout, source, "did not answer in time"),
        409 => {
            Failure::explained(Code::ConflictAlreadyExists, "Resource already exists or is in conflict", status_reason)
        }
        412 => {
            Failure::explained(Code::ConflictVersionMismatch, "Resource has changed since it was read", status_reason)
        }
        413 => Failure::explained(Code::ValidationPayloadTooLarge, "Payload is too large", status_reason),
        429 => {
            let reason = format_args!("source '{source}' limits the rate of requests");
            Failure::explained(Code::RateLimitExceeded, "Rate limit exceeded", reason)
        }
        500.. => Failure::explained(Code::InternalError, "Internal error", status_reason),
        400 | 422 => {
            let reason = format_args!("source '{source}' refuses the parameters (HTTP status {status})");
            Failure::explained(Code::ValidationInvalidType, "Invalid parameters", reason)
        }
        _ => Failure::explained(Code::ValidationInvalidType, "Invalid request", status_reason),
    };
    failure = failure.detail("source", source).detail("http_status", status);
    if let Some(wait) = error.wait {
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        failure = failure.detail("retry_after_seconds", seconds);
    }
    if status == 429 {
        failure = error.rate_limit.add_to(failure);
    }
    if let Some(scope) = error.scope.filter(|_| matches!(status, 401 | 403)) {
        failure = failure.detail("required_scope", scope);
    }
    if let Some(problem) = error.problem {
        failure = failure.detail("problem", problem);
    }
    let text = if error.text.is_empty() { format!("HTTP status {status}") } else { error.text };
    failure.with_reason(FailureReason::SourceError(text.into()))
}

fn credential_missing(source: &str, variables: &[String]) -> Failure {
    let names: Vec<String> = variables.iter().map(|name| format!("'{name}'")).collect();
    let noun = if names.len() == 1 { "variable" } else { "variables" };
    let reason = format_args!("the operator has to set the environment {noun} {}", names.join(" and "));
    Failure::explained(Code::AuthCredentialMissing, format_args!("Source '{source}' has no credential"), reason)
        .detail("source", source)
        .detail("variables", variables.to_vec())
}

fn cannot_authenticate(source: &str, reason: &str) -> Failure {
    Failure::explained(Code::AuthConfigInvalid, format_args!("Source '{source}' cannot authenticate"), reason)
        .detail("source", source)
}

fn unavailable(source: &str, reason: &str) -> Failure {
    Failure::explained(Code::TransportNetworkError, format_args!("Source '{source}' is unavailable"), reason)
        .detail("source", source)
}

fn source_failure(code: Code, source: &str, problem: &str) -> Failure {
    Failure::new(code, format!("Source '{source}' {problem}")).detail("source", source)
}

fn forbidden(source: &str, reason: &str) -> Failure {
    let explanation = format_args!("nothing is sent to source '{source}': {reason}");
    Failure::explained(Code::PermissionDenied, "Permission denied", explanation).detail("source", source)
}

fn refused(source: &str, text: String) -> Failure {
    Failure::new(Code::UpstreamError, format!("Source '{source}' refused the call"))
        .detail("source", source)
        .with_reason(FailureReason::SourceError(text.into()))
}
