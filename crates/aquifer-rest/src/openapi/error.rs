//! Errors of descriptions as a whole.

/// Why a description cannot be served at all. Problems of individual operations are never errors: those operations are
/// omitted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DescriptionError {
    /// The text exceeds the maximum size.
    #[error("the description has {size} bytes, more than the {max} that are read")]
    TooLarge {
        /// The size of the text in bytes.
        size: usize,
        /// The maximum size in bytes.
        max: usize,
    },
    /// The text is neither JSON nor YAML.
    #[error("line {line}, column {column}: invalid {format}: {message}")]
    Syntax {
        /// `JSON` or `YAML`.
        format: &'static str,
        /// The line, from 1.
        line: u64,
        /// The column, from 1.
        column: u64,
        /// The message of the parser.
        message: String,
    },
    /// The document is not an API description.
    #[error("this is no OpenAPI description: {0}")]
    NoDescription(String),
    /// A setting of the reader is invalid.
    #[error("{0}")]
    Setting(String),
    /// An overlay cannot be applied.
    #[error("the overlay cannot be applied: {0}")]
    Overlay(String),
}
