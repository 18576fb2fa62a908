//! What goes wrong between us and an upstream, and what a caller is told of it.

use std::borrow::Cow;
use std::time::Duration;

use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::limits::LimitKind;
use aquifer_protocol::response::too_large;

use crate::message::RpcError;
use crate::words::Words;

/// What went wrong.
#[derive(Debug, Clone)]
pub(crate) enum Trouble {
    /// It is not there, or was gone before it answered.
    Gone(Gone),
    /// It was gone before anything was sent: asking again is safe.
    Unsent(Gone),
    /// The connection broke off: whether anything was done is not known.
    Broke(Gone),
    /// It no longer knows our session; what was asked was not done.
    SessionLost,
    /// It did not answer in time.
    TimedOut,
    /// It answered with an error.
    Refused(RpcError),
    /// Its answer is too large.
    TooLarge {
        /// How many bytes it has, as far as they were counted.
        size: usize,
    },
    /// It knows us, and we may not do this.
    Forbidden {
        /// Why, and what can be done about it.
        reason: String,
        /// What a login would have to allow.
        scopes: Vec<String>,
    },
    /// It wants to be asked less often. What was asked was not done.
    TooOften {
        /// How long it is left alone.
        wait: Duration,
    },
    /// Its answer is none.
    Unintelligible(String),
}

/// Why an upstream is not there.
#[derive(Debug, Clone)]
pub(crate) struct Gone {
    /// For the caller: a few words without names or paths.
    pub(crate) reason: Cow<'static, str>,
    /// For the log.
    pub(crate) cause: String,
}

impl Gone {
    pub(crate) fn new(reason: impl Into<Cow<'static, str>>, cause: impl std::fmt::Display) -> Self {
        Self { reason: reason.into(), cause: cause.to_string() }
    }

    /// The same, with something more for the log.
    pub(crate) fn because(mut self, cause: &dyn std::fmt::Display) -> Self {
        self.cause = format!("{}: {cause}", self.cause);
        self
    }

    pub(crate) fn into_failure(self, source: &str) -> Failure {
        unavailable(source, &self.reason).because(self.cause)
    }
}

impl From<Gone> for Trouble {
    fn from(gone: Gone) -> Self {
        Trouble::Gone(gone)
    }
}

impl Trouble {
    pub(crate) fn gone(reason: &'static str, cause: impl std::fmt::Display) -> Self {
        Trouble::Gone(Gone::new(reason, cause))
    }

    /// What the caller is told.
    pub(crate) fn into_failure(self, source: &str, words: &Words, largest: usize) -> Failure {
        match self {
            Trouble::Gone(gone) | Trouble::Unsent(gone) | Trouble::Broke(gone) => gone.into_failure(source),
            Trouble::SessionLost => unavailable(source, "it lost our session"),
            Trouble::TimedOut => {
                Failure::new(Code::UpstreamTimeout, format!("Source '{source}' did not answer in time"))
                    .detail("source", source)
            }
            Trouble::Refused(error) => {
                let mut failure = refused(source, words.for_caller(&error.message));
                if error.code != 0 {
                    failure = failure.detail("upstream_code", error.code);
                }
                failure
            }
            Trouble::Forbidden { reason, scopes } => {
                Failure::new(Code::PermissionDenied, format!("Permission denied: source '{source}' refuses: {reason}"))
                    .detail("source", source)
                    .detail("required_scopes", scopes)
            }
            Trouble::TooOften { wait } => {
                let message = format!("Rate limit exceeded: source '{source}' wants to be asked less often");
                let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
                Failure::new(Code::RateLimitExceeded, message)
                    .detail("source", source)
                    .detail("retry_after_seconds", seconds)
            }
            Trouble::TooLarge { size } => too_large(LimitKind::ResponseSize, largest, size).detail("source", source),
            Trouble::Unintelligible(cause) => {
                refused(source, "The answer was not what MCP allows".to_owned()).because(words.for_log(&cause))
            }
        }
    }
}

/// The upstream refused, in its own words.
pub(crate) fn refused(source: &str, words: String) -> Failure {
    let failure = Failure::new(Code::UpstreamError, format!("Source '{source}' refused the call"));
    failure.detail("source", source).detail("upstream_error", words)
}

/// The upstream is not there.
pub(crate) fn unavailable(source: &str, reason: &str) -> Failure {
    Failure::new(Code::UpstreamUnavailable, format!("Source '{source}' is unavailable: {reason}"))
        .detail("source", source)
}
