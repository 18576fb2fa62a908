//! The scanner in front of both transports: it checks bytes before serde_json or the MCP SDK sees them.
//!
//! The SDK drops messages that it cannot parse without an answer, merges duplicate keys and rounds large integers.
//! [`scan`] is stricter: a message that it accepts has only one interpretation, and one that it refuses is reported to
//! the caller as a [`Problem`]. [`Salvage`] finds the id for the answer.
//!
//! The scanner makes one pass, without recursion and without building a tree. Its memory is the stack of open
//! containers (limited by the nesting limit) and the keys of the objects still open. It never changes, copies or
//! interprets a message; for example, whether a string may contain NUL is up to its parameter (R-REQ-8).
//!
//! If a message has several problems, the first in byte order is reported. A limit is exceeded at the first byte beyond
//! it; a duplicate key counts at its second occurrence. Invalid UTF-8 takes precedence over everything else, because
//! such a message is not text.

mod extent;
mod grammar;
mod keys;
mod salvage;
#[cfg(test)]
mod tests;
mod token;

use crate::limits::{LimitKind, Limits};

pub use salvage::Salvage;
pub use salvage::SalvagedMessage;

/// The message format that contains the MCP-AQL request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// The bytes are the request itself.
    Bare,
    /// A JSON-RPC message of MCP: the request is the value at `params.arguments`.
    Mcp,
}

impl Frame {
    /// The number of nesting levels around the request, which the limit does not count.
    const fn levels_around(self) -> usize {
        match self {
            Self::Bare => 0,
            Self::Mcp => 2,
        }
    }
}

/// Why a message is refused. Offsets count bytes from the start of the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// Not JSON according to RFC 8259.
    Syntax {
        /// The unexpected byte, or the length of the message if it ends too early.
        offset: usize,
        /// What was expected there.
        expected: &'static str,
    },
    /// Not Unicode text.
    Encoding {
        /// The first byte of the sequence or escape.
        offset: usize,
        /// What is wrong with it.
        kind: Encoding,
    },
    /// A limit is exceeded.
    TooLarge {
        /// Which one.
        limit: LimitKind,
        /// Its value.
        limit_value: usize,
        /// The actual value. After the first byte that exceeds the limit, the message is only
        /// measured, not checked.
        actual_value: usize,
    },
    /// An object contains a key twice. Parsers disagree on which of the two values counts.
    DuplicateKey {
        /// The opening quote of the second one.
        offset: usize,
        /// The decoded key, truncated to 64 characters.
        key: String,
    },
    /// A number whose value would silently change: an integer beyond 64 bits, one that overflows to infinity, or one with
    /// more digits than a double keeps.
    NumberOutOfRange {
        /// Its first byte.
        offset: usize,
    },
}

/// The two ways in which a message fails to be Unicode text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Bytes that are not UTF-8.
    InvalidUtf8,
    /// A `\uD800`-style escape without its other half.
    LoneSurrogate,
}

/// Checks one complete message. The module documentation describes what is refused and in which order.
///
/// With [`Frame::Mcp`], the request size counts only the value at `params.arguments`, so the transport has to limit the
/// size of the whole message. Strings, arrays and nesting are limited everywhere.
///
/// The limits themselves are not checked here. Only limits that pass [`Limits::check`] keep the nesting below the 128
/// levels that serde_json supports.
pub fn scan(bytes: &[u8], frame: Frame, limits: &Limits) -> Result<(), Problem> {
    match std::str::from_utf8(bytes) {
        Ok(text) => grammar::Scanner::new(text, frame, limits).run(),
        Err(error) => Err(Problem::Encoding { offset: error.valid_up_to(), kind: Encoding::InvalidUtf8 }),
    }
}

/// A problem and the offset at which it occurs, by which problems are ordered.
#[derive(Debug)]
struct Stop {
    at: usize,
    problem: Problem,
}

impl Stop {
    const fn syntax(at: usize, expected: &'static str) -> Self {
        Self { at, problem: Problem::Syntax { offset: at, expected } }
    }

    const fn lone_surrogate(at: usize) -> Self {
        Self { at, problem: Problem::Encoding { offset: at, kind: Encoding::LoneSurrogate } }
    }

    const fn too_large(at: usize, limit: LimitKind, limits: &Limits, actual_value: usize) -> Self {
        Self { at, problem: Problem::TooLarge { limit, limit_value: limits.get(limit), actual_value } }
    }
}
