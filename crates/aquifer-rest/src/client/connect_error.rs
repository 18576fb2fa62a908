//! What went wrong when a request was sent or its answer read.

use std::error::Error;
use std::io;

use super::resolver::ResolveError;
use super::secrets::Secrets;
use crate::error::RestProblem;

/// A failed exchange.
pub(super) struct ExchangeError {
    pub(super) problem: RestProblem,
    /// Whether the connection was never established, so that nothing was sent.
    pub(super) is_unsent: bool,
}

/// Classifies an error. Its text goes to the log only, without the URL, which may contain a credential.
pub(super) fn classify(error: reqwest::Error, secrets: &Secrets) -> ExchangeError {
    let error = error.without_url();
    let cause = secrets.presentable(&chain(&error));
    let is_unsent = error.is_connect() || error.is_builder();
    let resolve_error = find::<ResolveError>(&error);
    let io_kind = innermost_io_kind(&error);
    let problem = match (resolve_error, io_kind) {
        (Some(ResolveError::NotAllowed), _) => RestProblem::ForbiddenAddress,
        (Some(ResolveError::NotFound), _) => RestProblem::Dns { cause },
        _ if error.is_dns() => RestProblem::Dns { cause },
        _ if error.is_timeout() => RestProblem::TimedOut,
        (_, Some(io::ErrorKind::ConnectionRefused)) => RestProblem::ConnectionRefused { cause },
        // The TLS library reports its errors as invalid data.
        (_, Some(io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof)) if is_unsent => RestProblem::Tls { cause },
        _ => RestProblem::Network { cause },
    };
    ExchangeError { problem, is_unsent }
}

fn chain(error: &dyn Error) -> String {
    const MAX_SOURCES: usize = 10;
    let mut text = error.to_string();
    let mut next = error.source();
    for _ in 0..MAX_SOURCES {
        let Some(source) = next else { break };
        text.push_str(": ");
        text.push_str(&source.to_string());
        next = source.source();
    }
    text
}

/// The first error of a type in the chain, also inside I/O errors, whose `source` skips what they wrap.
fn find<T: Error + Copy + 'static>(error: &(dyn Error + 'static)) -> Option<T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<T>() {
            return Some(*found);
        }
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if let Some(found) = wrapped.and_then(|wrapped| wrapped.downcast_ref::<T>()) {
            return Some(*found);
        }
        next = error.source();
    }
    None
}

fn innermost_io_kind(error: &(dyn Error + 'static)) -> Option<io::ErrorKind> {
    let mut kind = None;
    let mut next = Some(error);
    while let Some(error) = next {
        let io_error = error.downcast_ref::<io::Error>();
        kind = io_error.map(io::Error::kind).or(kind);
        // An I/O error's `source` skips what it wraps.
        let wrapped = io_error.and_then(io::Error::get_ref);
        next = wrapped.map(|wrapped| wrapped as &(dyn Error + 'static)).or_else(|| error.source());
    }
    kind
}
