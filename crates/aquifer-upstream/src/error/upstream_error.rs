//! The errors of requests to an upstream, and the failures that callers see.

use std::borrow::Cow;
use std::time::Duration;

use aquifer_engine::configuration_changed;
use aquifer_protocol::error::{Code, Failure, FailureReason};
use aquifer_protocol::limits::LimitKind;
use aquifer_protocol::response::too_large;

use super::{OperationError, RpcError};
use crate::sanitize::Sanitizer;
use crate::settings::Settings;

/// An error of a request to an upstream.
#[derive(Debug, Clone)]
pub(crate) enum UpstreamError {
    /// The upstream is unavailable, or was lost before it answered.
    Unavailable(Outage),
    /// The upstream was unavailable before anything was sent.
    Unsent(Outage),
    /// The connection broke before the answer arrived.
    Disconnected(Outage),
    /// The upstream no longer knows our session.
    SessionLost,
    /// The upstream did not answer in time.
    TimedOut,
    /// The upstream answered with an error.
    Refused(RpcError),
    /// An operation of an MCP-AQL server failed.
    Operation(Box<OperationError>),
    /// The upstream or a proxy failed with an HTTP status that leaves open whether the request was handled.
    ServerError {
        status: u16,
        /// The error in the body, if it is not the answer to our request.
        error: Option<RpcError>,
    },
    /// The upstream redirected a once-only call.
    Redirected { status: u16 },
    /// The answer is too large.
    TooLarge {
        /// Its size in bytes, as far as it was read.
        size: usize,
    },
    /// The upstream requires a login or does not accept ours. According to RFC 9110, the request was not handled.
    Unauthorized(Outage),
    /// The upstream refused the login, which has since been renewed. The call is once-only and not repeated.
    LoginRenewed,
    /// The upstream accepts the login but does not allow the request.
    Forbidden {
        /// Why, and what to do about it.
        reason: String,
        /// The scopes that a login would need.
        scopes: Vec<String>,
    },
    /// The upstream refused the request because of a rate limit. Nothing was executed.
    RateLimited {
        /// How long to wait.
        wait: Duration,
    },
    /// The answer is invalid.
    InvalidResponse(String),
    /// The upstream requested input that it did not get, so the call was not completed.
    MissingInput(&'static str),
    /// The once-only request was already sent.
    AlreadySent,
    /// The configuration has changed since the request was authorized, so nothing more is sent.
    ConfigurationChanged,
}

/// Why an upstream is unavailable.
#[derive(Debug, Clone)]
pub(crate) struct Outage {
    /// For the caller: a short text without names or paths.
    pub(crate) reason: Cow<'static, str>,
    /// For the log.
    pub(crate) cause: String,
    kind: OutageKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutageKind {
    /// Its program is not installed.
    CommandNotFound,
    Other,
}

impl Outage {
    pub(crate) fn new(reason: impl Into<Cow<'static, str>>, cause: impl std::fmt::Display) -> Self {
        Self { reason: reason.into(), cause: cause.to_string(), kind: OutageKind::Other }
    }

    /// The program of the upstream is not installed.
    pub(crate) fn command_not_found(reason: &'static str, command: &str) -> Self {
        let cause = format!("{command}: command not found");
        Self { reason: reason.into(), cause, kind: OutageKind::CommandNotFound }
    }

    /// Adds detail for the log.
    pub(crate) fn with_cause(mut self, cause: &dyn std::fmt::Display) -> Self {
        self.cause = format!("{}: {cause}", self.cause);
        self
    }

    pub(crate) fn into_failure(self, source: &str) -> Failure {
        let failure = unavailable_failure(source, &self.reason).because(self.cause);
        match self.kind {
            OutageKind::CommandNotFound => {
                failure.with_reason(FailureReason::CommandNotFound { source: source.into() })
            }
            OutageKind::Other => failure,
        }
    }
}

impl From<Outage> for UpstreamError {
    fn from(outage: Outage) -> Self {
        UpstreamError::Unavailable(outage)
    }
}

impl UpstreamError {
    pub(crate) fn unavailable(reason: &'static str, cause: impl std::fmt::Display) -> Self {
        UpstreamError::Unavailable(Outage::new(reason, cause))
    }

    /// Whether the upstream itself reported that it did not execute the request. After any other error, a sent request
    /// may have been executed.
    fn is_refusal(&self) -> bool {
        match self {
            UpstreamError::Refused(error) => error.is_refusal(),
            UpstreamError::Operation(error) => error.is_refusal(),
            UpstreamError::Unauthorized(_)
            | UpstreamError::LoginRenewed
            | UpstreamError::Forbidden { .. }
            | UpstreamError::RateLimited { .. } => true,
            UpstreamError::Unavailable(_)
            | UpstreamError::Unsent(_)
            | UpstreamError::Disconnected(_)
            | UpstreamError::SessionLost
            | UpstreamError::TimedOut
            | UpstreamError::ServerError { .. }
            | UpstreamError::Redirected { .. }
            | UpstreamError::TooLarge { .. }
            | UpstreamError::InvalidResponse(_)
            | UpstreamError::MissingInput(_)
            | UpstreamError::AlreadySent
            | UpstreamError::ConfigurationChanged => false,
        }
    }

    /// The upstream's error, if it may mean that the tool does not exist.
    pub(crate) fn as_unknown_tool(&self) -> Option<&RpcError> {
        match self {
            UpstreamError::Refused(error) if error.may_be_unknown_tool() => Some(error),
            _ => None,
        }
    }

    /// Whether another attempt may succeed. Whether it is allowed depends on what was sent.
    pub(crate) fn is_transient(&self) -> bool {
        matches!(self, UpstreamError::Unsent(_) | UpstreamError::SessionLost | UpstreamError::Disconnected(_))
    }

    /// The failure for the caller of an operation. `is_in_doubt` means that the upstream may have changed something
    /// unless it reports a refusal. Only this function decides whether the outcome is unknown.
    pub(crate) fn into_call_failure(
        self,
        is_in_doubt: bool,
        source: &str,
        sanitizer: &Sanitizer,
        max_bytes: usize,
    ) -> Failure {
        let is_unknown = is_in_doubt && !self.is_refusal();
        if !is_unknown {
            return self.into_failure(source, sanitizer, max_bytes);
        }
        let problem = match &self {
            UpstreamError::TooLarge { .. } => {
                Some(format!("The answer of source '{source}' exceeds {max_bytes} bytes"))
            }
            UpstreamError::InvalidResponse(_) => Some(format!("The answer of source '{source}' is invalid")),
            UpstreamError::ServerError { status, .. } => {
                Some(format!("Source '{source}' failed with HTTP status {status}"))
            }
            UpstreamError::Redirected { status } => Some(format!(
                "Source '{source}' answered with HTTP status {status}: redirects of such calls are not followed"
            )),
            UpstreamError::MissingInput(_) => Some(format!("Source '{source}' did not finish the call")),
            UpstreamError::Refused(_) | UpstreamError::Operation(_) => {
                Some(format!("Source '{source}' answered the call with an error"))
            }
            UpstreamError::ConfigurationChanged => {
                Some(format!("The configuration changed before source '{source}' had finished the call"))
            }
            _ => None,
        };
        with_unknown_outcome(problem, self.into_failure(source, sanitizer, max_bytes))
    }

    /// The failure for a server that could not be started, reached or interrogated. No operation was called.
    pub(crate) fn into_start_failure(self, settings: &Settings, sanitizer: &Sanitizer) -> Failure {
        let source = &settings.name;
        match self {
            UpstreamError::TimedOut => {
                let seconds = settings.start_timeout.as_secs();
                unavailable_failure(source, "it did not finish starting in time")
                    .because(format!("no answer in {seconds} s"))
            }
            UpstreamError::Refused(error) | UpstreamError::ServerError { error: Some(error), .. } => {
                unavailable_failure(source, "it refuses to start")
                    .with_reason(FailureReason::SourceError(sanitizer.for_caller(&error.message).into()))
                    .because(sanitizer.for_log(&error.message))
            }
            other => other.into_failure(source, sanitizer, settings.max_answer_bytes),
        }
    }

    /// The failure for a request that changes nothing.
    pub(crate) fn into_failure(self, source: &str, sanitizer: &Sanitizer, max_bytes: usize) -> Failure {
        match self {
            UpstreamError::Unavailable(outage)
            | UpstreamError::Unsent(outage)
            | UpstreamError::Disconnected(outage)
            | UpstreamError::Unauthorized(outage) => outage.into_failure(source),
            UpstreamError::SessionLost => unavailable_failure(source, "it lost our session"),
            UpstreamError::AlreadySent => {
                unavailable_failure(source, "it did not answer, and the call is not sent again")
            }
            UpstreamError::TimedOut => {
                Failure::new(Code::UpstreamTimeout, format!("Source '{source}' did not answer in time"))
                    .detail("source", source)
            }
            UpstreamError::Refused(error) | UpstreamError::ServerError { error: Some(error), .. } => {
                let text = sanitizer.for_caller(&error.message);
                let mut failure = match error.is_resource_not_found() {
                    true => not_found_failure(source, text),
                    false => refused_failure(source, text),
                };
                if error.code != 0 {
                    failure = failure.detail("upstream_code", error.code);
                }
                failure
            }
            UpstreamError::Operation(error) => error.into_failure(source, sanitizer),
            UpstreamError::ServerError { status, error: None } => {
                Outage::new("it answers with server errors", format!("HTTP status {status}")).into_failure(source)
            }
            UpstreamError::Redirected { status } => {
                let text = format!("HTTP status {status}: redirects are not followed for calls with side effects");
                refused_failure(source, text).detail("upstream_code", status)
            }
            UpstreamError::LoginRenewed => {
                let message = format!(
                    "Source '{source}' did not accept the login, which has been renewed. The call was not executed and \
                     can be repeated"
                );
                Failure::new(Code::UpstreamUnavailable, message).detail("source", source)
            }
            UpstreamError::Forbidden { reason, scopes } => {
                let why = format_args!("source '{source}' refuses: {reason}");
                Failure::explained(Code::PermissionDenied, "Permission denied", why)
                    .detail("source", source)
                    .detail("required_scopes", scopes)
            }
            UpstreamError::RateLimited { wait } => {
                let why = format_args!("source '{source}' limits the rate of requests");
                let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
                Failure::explained(Code::RateLimitExceeded, "Rate limit exceeded", why)
                    .detail("source", source)
                    .detail("retry_after_seconds", seconds)
            }
            UpstreamError::TooLarge { size } => {
                too_large(LimitKind::ResponseSize, max_bytes, size).detail("source", source)
            }
            UpstreamError::InvalidResponse(cause) => {
                refused_failure(source, "The answer is not valid MCP".to_owned()).because(sanitizer.for_log(&cause))
            }
            UpstreamError::MissingInput(problem) => refused_failure(source, problem.to_owned()),
            UpstreamError::ConfigurationChanged => configuration_changed(),
        }
    }
}

/// Describes a failure to the operator, with the cause and the upstream's own text. Neither is part of the message for
/// callers.
pub fn describe_failure(failure: &Failure) -> String {
    match (failure.cause(), failure.reason()) {
        (Some(cause), Some(FailureReason::CommandNotFound { source })) => format!("{cause}; used by source '{source}'"),
        (Some(cause), _) => format!("{} ({})", failure.message(), cause.trim()),
        (None, Some(FailureReason::SourceError(text))) if !text.is_empty() => format!("{}: {text}", failure.message()),
        (None, _) => failure.message().to_owned(),
    }
}

/// The same failure with an unknown outcome.
fn with_unknown_outcome(problem: Option<String>, failure: Failure) -> Failure {
    let problem = problem.as_deref().unwrap_or(failure.message());
    let message = format!("{problem}. It is unknown whether the call was executed. Check before repeating it");
    failure.with_message(message).with_unknown_outcome()
}

/// The failure for something that the upstream does not have, as its error code says. Its text is never examined: a
/// sentence about something missing may mean anything.
fn not_found_failure(source: &str, text: String) -> Failure {
    let why = format_args!("source '{source}' does not have it");
    Failure::explained(Code::NotFoundResource, "Resource not found", why)
        .detail("source", source)
        .with_reason(FailureReason::SourceError(text.into()))
}

/// The failure for a call that the upstream refused, with the upstream's own text.
fn refused_failure(source: &str, text: String) -> Failure {
    let failure = Failure::new(Code::UpstreamError, format!("Source '{source}' refused the call"));
    failure.detail("source", source).with_reason(FailureReason::SourceError(text.into()))
}

/// The failure for an unavailable upstream.
pub(crate) fn unavailable_failure(source: &str, reason: &str) -> Failure {
    Failure::explained(Code::UpstreamUnavailable, format_args!("Source '{source}' is unavailable"), reason)
        .detail("source", source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::RpcError;
    use crate::settings::Transport;

    #[test]
    fn r_res_4_only_a_code_says_that_something_does_not_exist() {
        let transport = Transport::Http { url: "http://127.0.0.1:1/".to_owned(), headers: Vec::new(), bearer: None };
        let sanitizer = Sanitizer::new(&Settings::new("notes", transport));
        for (error, code) in [
            (RpcError::new(-32002, "Resource not found"), Code::NotFoundResource),
            (RpcError::new(-32000, "Resource not found"), Code::UpstreamError),
            (RpcError::from_tool("There is no note 7: not found"), Code::UpstreamError),
        ] {
            let failure = UpstreamError::Refused(error).into_failure("notes", &sanitizer, 1_000);
            assert_eq!(failure.code(), code, "{failure:?}");
        }
    }
}
