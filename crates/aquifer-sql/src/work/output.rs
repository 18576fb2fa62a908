//! The result of an operation.

use std::borrow::Cow;

use aquifer_engine::source::Answer;
use aquifer_protocol::response::{Data, JsonText};
use aquifer_protocol::warning::Warning;

use crate::error::SqlError;

/// The result of an operation, usually as JSON text.
#[derive(Debug)]
pub(crate) struct OperationOutput {
    pub(crate) data: Data,
    pub(crate) warnings: Vec<Warning>,
    /// Whether it consists of pages or groups that end within the budget of the call.
    pub(crate) keeps_budget: bool,
}

impl OperationOutput {
    /// A result without pages or groups.
    pub(crate) fn new(data: impl Into<Data>, warnings: Vec<Warning>) -> Self {
        Self { data: data.into(), warnings, keeps_budget: false }
    }

    /// The data as JSON text.
    pub(crate) fn data_text(&self) -> Cow<'_, str> {
        match &self.data {
            Data::Text(text) => Cow::Borrowed(text.get()),
            Data::Value(value) => Cow::Owned(value.to_string()),
        }
    }

    /// Pages or groups that end within the budget of the call.
    pub(crate) fn within_budget(self) -> Self {
        Self { keeps_budget: true, ..self }
    }

    /// Takes JSON text that was written here, from values that the database guarantees to be valid.
    pub(crate) fn from_json_text(text: Vec<u8>, warnings: Vec<Warning>) -> Result<Self, SqlError> {
        let text = String::from_utf8(text).map_err(|error| SqlError::Rejected {
            message: None,
            cause: format!("an answer that is not UTF-8: {error}"),
        })?;
        Ok(Self::new(Data::Text(JsonText::vouched(text)), warnings))
    }
}

impl From<OperationOutput> for Answer {
    fn from(output: OperationOutput) -> Self {
        let OperationOutput { data, warnings, keeps_budget } = output;
        Self { warnings, keeps_budget, ..Self::new(data) }
    }
}
