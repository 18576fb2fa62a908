//! What is done for each kind of operation, in one transaction, written once for every database.

mod cascade;
pub(crate) mod change;
mod explain;
mod merge;
pub(crate) mod probe;
pub(crate) mod read;
pub(crate) mod relationships;
mod undrawn;

use aquifer_protocol::response::{Data, JsonText};
use aquifer_protocol::warning::Warning;

use crate::error::SqlError;

/// An answer whose text is already JSON.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) data: Data,
    pub(crate) warnings: Vec<Warning>,
}

impl Done {
    /// Takes text that was assembled here, from what the database vouches for and what we have written ourselves.
    pub(crate) fn assembled(text: Vec<u8>, warnings: Vec<Warning>) -> Result<Self, SqlError> {
        let text = String::from_utf8(text)
            .map_err(|error| SqlError::Refused { words: None, cause: format!("an answer that is no text: {error}") })?;
        Ok(Self { data: Data::Text(JsonText::vouched(text)), warnings })
    }
}
