//! Errors that callers need not understand, and how they become failures.

use std::error::Error;

use super::{Code, Failure};

/// An error that callers need not understand: `?` turns it into a [`Failure`] with [`Failure::from_error`].
///
/// Not every error is one, because most errors of a domain have something to say to callers: for these, implement
/// `From<YourError> for Failure`. Implement this trait for an error of your own that has not.
#[diagnostic::on_unimplemented(
    message = "`?` cannot turn `{Self}` into a `Failure`: its meaning for callers is not known",
    label = "callers would read INTERNAL_ERROR, whichever error it is",
    note = "if callers should understand it: `impl From<{Self}> for Failure`, or `.map_err(|error| Failure::new(code, message))?`",
    note = "if they need not: `.map_err(Failure::from_error)?`, or `impl UnexpectedError for {Self} {{}}`"
)]
pub trait UnexpectedError: Error + Send + Sync + 'static {}

macro_rules! unexpected {
    ($($error:ty),* $(,)?) => { $(impl UnexpectedError for $error {})* };
}

unexpected![
    std::io::Error,
    std::fmt::Error,
    std::str::Utf8Error,
    std::string::FromUtf8Error,
    std::num::ParseIntError,
    std::num::ParseFloatError,
    std::num::TryFromIntError,
    std::str::ParseBoolError,
    std::char::ParseCharError,
    std::array::TryFromSliceError,
    std::env::VarError,
    std::time::SystemTimeError,
    std::path::StripPrefixError,
    std::sync::mpsc::RecvError,
    serde_json::Error,
];

impl<E: UnexpectedError> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::from_error(error)
    }
}

impl Failure {
    /// An internal error, or `UPSTREAM_UNAVAILABLE` or `UPSTREAM_TIMEOUT` for the I/O errors that mean that. The text of
    /// the error is written to the log and never sent to the caller.
    pub fn from_error(error: impl Error + Send + Sync + 'static) -> Self {
        let mut cause = error.to_string();
        let mut code = Code::InternalError;
        let mut next: Option<&(dyn Error + 'static)> = Some(&error);
        let mut is_first = true;
        while let Some(error) = next {
            if !is_first {
                cause.push_str(": ");
                cause.push_str(&error.to_string());
            }
            if let Some(error) = error.downcast_ref::<std::io::Error>() {
                code = code_of_io_error(error.kind());
            }
            is_first = false;
            next = error.source();
        }
        let message = match code {
            Code::UpstreamTimeout => "A service that this operation needs did not answer in time",
            Code::UpstreamUnavailable => "A service that this operation needs could not be reached",
            _ => return Self::internal(cause),
        };
        Self::new(code, message).because(cause)
    }
}

fn code_of_io_error(kind: std::io::ErrorKind) -> Code {
    use std::io::ErrorKind as Kind;
    match kind {
        Kind::TimedOut => Code::UpstreamTimeout,
        Kind::ConnectionRefused
        | Kind::ConnectionReset
        | Kind::ConnectionAborted
        | Kind::NotConnected
        | Kind::HostUnreachable
        | Kind::NetworkUnreachable
        | Kind::NetworkDown
        | Kind::BrokenPipe => Code::UpstreamUnavailable,
        _ => Code::InternalError,
    }
}
