//! The scanner in front of both transports: it checks bytes before serde_json or the MCP SDK
//! sees them.
//!
//! The SDK drops what it cannot parse without an answer, merges repeated keys and rounds large
//! integers. So [`scan`] is strict where they are lenient: what it accepts, they read in one way
//! only, and what it refuses comes back as a [`Problem`] that can be told to the caller.
//! [`Salvage`] finds the id to answer under.
//!
//! One pass, no recursion, no tree: the memory is the stack of open containers (never deeper than
//! the limit) and the keys of the objects still open. It never changes, copies or interprets a
//! message; a NUL inside a string, for one, is left to the parameter it belongs to (R-REQ-8).
//!
//! When a message has several problems, the first in byte order is reported. A limit is broken at
//! the first byte beyond it, a repeated key where it stands the second time. Invalid UTF-8 goes
//! before everything: without it there is no text.

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

/// What surrounds the MCP-AQL request in the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// Nothing: the bytes are the request.
    Bare,
    /// A JSON-RPC message of MCP: the request is the value at `params.arguments`.
    Mcp,
}

impl Frame {
    /// Levels of nesting around the request, which the caller's limit does not count.
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
    /// Not JSON as RFC 8259 has it.
    Syntax {
        /// The byte that does not fit, or the length of the message where it ends too early.
        offset: usize,
        /// What would have fitted there.
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
        /// What it is set to.
        limit_value: usize,
        /// What the message has. Beyond the first byte that exceeds the limit the message is only
        /// measured, not judged.
        actual_value: usize,
    },
    /// An object names a key twice; readers disagree on which of the two values counts.
    DuplicateKey {
        /// The opening quote of the second one.
        offset: usize,
        /// The key, decoded, cut to 64 characters.
        key: String,
    },
    /// A number that would silently change its value: an integer beyond 64 bits, or one that
    /// overflows to infinity.
    NumberOutOfRange {
        /// Its first byte.
        offset: usize,
    },
}

/// The two ways in which a message fails to be Unicode text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Bytes that are no UTF-8.
    InvalidUtf8,
    /// A `\uD800`-style escape without its other half.
    LoneSurrogate,
}

/// Judges one whole message; see the module's header for what is refused and in which order.
///
/// With [`Frame::Mcp`] the request size counts the value at `params.arguments` alone, so bounding
/// the message around it is the transport's business; strings, arrays and nesting are bounded
/// everywhere.
///
/// The limits are taken as they are: only those that pass [`Limits::check`] keep the nesting below
/// the 128 levels at which serde_json gives up.
pub fn scan(bytes: &[u8], frame: Frame, limits: &Limits) -> Result<(), Problem> {
    match std::str::from_utf8(bytes) {
        Ok(text) => grammar::Scanner::new(text, frame, limits).judge(),
        Err(error) => Err(Problem::Encoding { offset: error.valid_up_to(), kind: Encoding::InvalidUtf8 }),
    }
}

/// A problem and the byte at which it becomes one, by which problems are ordered.
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
