//! Classifies errors that occur while a request is sent or its response is read.

use std::error::Error;
use std::io;

use aquifer_net::{ResolveError, causes};

use super::secrets::Secrets;
use crate::error::RestProblem;

/// An error that occurred while a request was sent or its response was read.
pub(super) struct ExchangeError {
    pub(super) problem: RestProblem,
    /// Whether the connection was never established, so nothing was sent.
    pub(super) is_unsent: bool,
}

/// Classifies an error. The text is only logged, and omits the URL, which may contain a credential.
pub(super) fn classify(error: reqwest::Error, secrets: &Secrets) -> ExchangeError {
    let error = error.without_url();
    let cause = secrets.presentable(&chain(&error));
    let is_unsent = error.is_connect() || error.is_builder();
    let resolve_error = ResolveError::find_in(&error);
    let io_kind = innermost_io_kind(&error);
    let problem = match (resolve_error, io_kind) {
        (Some(ResolveError::NotAllowed), _) => RestProblem::ForbiddenAddress,
        (Some(ResolveError::NotFound), _) => RestProblem::Dns { cause },
        _ if error.is_builder() => RestProblem::InvalidRequest("the request cannot be sent".to_owned()),
        _ if error.is_dns() => RestProblem::Dns { cause },
        _ if error.is_timeout() => RestProblem::TimedOut,
        (_, Some(io::ErrorKind::ConnectionRefused)) => RestProblem::ConnectionRefused { cause },
        // The TLS library reports its errors as invalid data.
        (_, Some(io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof)) if is_unsent => RestProblem::Tls { cause },
        _ => RestProblem::Network { cause },
    };
    ExchangeError { problem, is_unsent }
}

fn chain(error: &(dyn Error + 'static)) -> String {
    const MAX_SOURCES: usize = 10;
    let mut texts: Vec<String> = causes(error).take(MAX_SOURCES).map(ToString::to_string).collect();
    texts.dedup();
    texts.join(": ")
}

fn innermost_io_kind(error: &(dyn Error + 'static)) -> Option<io::ErrorKind> {
    causes(error).filter_map(|error| error.downcast_ref::<io::Error>().map(io::Error::kind)).last()
}
