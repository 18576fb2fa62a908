//! What can be wrong with the definition of an adapter.

use std::fmt::{Display, Formatter};

/// A problem with the definition of an adapter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdapterError {
    /// The operation has no description.
    #[error("parameter type '{0}' needs a doc comment: it is the description of the operation")]
    NoDescription(String),
    /// The parameters are not a struct with named fields.
    #[error("parameter type '{0}' must be a struct with named fields")]
    NotAStruct(String),
    /// Two different types have the same name.
    #[error("two different types are named '{0}': rename one with #[schemars(rename = \"…\")]")]
    DuplicateType(String),
    /// An operation has the same parameter twice.
    #[error("operation '{operation}' has two parameters named '{parameter}'")]
    DuplicateParameter {
        /// The operation.
        operation: String,
        /// The parameter.
        parameter: String,
    },
    /// Two operations have the same name.
    #[error("two operations are named '{0}'")]
    DuplicateOperation(String),
    /// The system provides no random bytes for the cursor key.
    #[error("cannot make a key for cursors: {0}")]
    NoRandomness(String),
    /// The message of a confirmation has a placeholder that is not a parameter.
    #[error(
        "the confirmation of '{operation}' has the placeholder '{placeholder}', which is not one of its parameters"
    )]
    UnknownPlaceholder {
        /// The operation.
        operation: String,
        /// The placeholder.
        placeholder: String,
    },
    /// An example has a member that is not a parameter.
    #[error("an example of '{operation}' has '{member}', which is not one of its parameters")]
    UnknownInExample {
        /// The operation.
        operation: String,
        /// The member.
        member: String,
    },
    /// The parameters of an example are not an object.
    #[error("the parameters of an example of '{0}' must be an object")]
    ExampleNotAnObject(String),
    /// `example` or a similar method was called before an operation was added.
    #[error("'{0}' must follow an operation")]
    NothingToDescribe(&'static str),
}

/// All problems with the definition of an adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdapterErrors(pub(crate) Vec<AdapterError>);

impl AdapterErrors {
    /// The problems, at least one.
    pub fn problems(&self) -> &[AdapterError] {
        &self.0
    }
}

impl Display for AdapterErrors {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for AdapterErrors {}
