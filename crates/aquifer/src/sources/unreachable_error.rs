//! Errors about sources that cannot be reached.

use aquifer_protocol::error::Failure;

use super::gateway::describe_failure;

/// An MCP server cannot be reached, although its configuration is valid.
#[derive(Debug)]
pub(crate) struct UnreachableError(String);

impl UnreachableError {
    pub(crate) fn from_failure(failure: Failure) -> Self {
        Self(into_error(failure).to_string())
    }

    pub(crate) fn new(message: String) -> Self {
        Self(message)
    }
}

impl std::fmt::Display for UnreachableError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UnreachableError {}

/// Converts a failure to an error for the person who started the command. It includes the cause, which callers do not
/// see.
pub(super) fn into_error(failure: Failure) -> anyhow::Error {
    anyhow::anyhow!("{}", describe_failure(&failure))
}
