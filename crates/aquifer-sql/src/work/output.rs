//! The result of an operation.

use aquifer_protocol::response::{Data, JsonText};
use aquifer_protocol::warning::Warning;

use crate::error::SqlError;

/// The result of an operation, usually as JSON text.
#[derive(Debug)]
pub(crate) struct OperationOutput {
    pub(crate) data: Data,
    pub(crate) warnings: Vec<Warning>,
}

impl OperationOutput {
    /// Takes JSON text that was written here, from values that the database guarantees to be valid.
    pub(crate) fn from_json_text(text: Vec<u8>, warnings: Vec<Warning>) -> Result<Self, SqlError> {
        let text = String::from_utf8(text).map_err(|error| SqlError::Rejected {
            message: None,
            cause: format!("an answer that is not UTF-8: {error}"),
        })?;
        Ok(Self { data: Data::Text(JsonText::vouched(text)), warnings })
    }
}
