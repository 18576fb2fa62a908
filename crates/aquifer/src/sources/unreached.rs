//! What a person is told of a source that is not there.

use aquifer_protocol::error::Failure;
use aquifer_upstream::describe_failure;

/// An MCP server that is not there, though nothing is wrong with what was written.
#[derive(Debug)]
pub(crate) struct Unreached(String);

impl Unreached {
    pub(crate) fn new(failure: Failure) -> Self {
        Self(told(failure).to_string())
    }

    /// The same of a server that was there and did not answer.
    pub(crate) fn in_words(words: String) -> Self {
        Self(words)
    }
}

impl std::fmt::Display for Unreached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreached {}

/// What a person is told who started the command: with the cause, which a caller would not see.
pub(super) fn told(failure: Failure) -> anyhow::Error {
    anyhow::anyhow!("{}", describe_failure(&failure))
}
