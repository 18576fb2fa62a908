//! What is done for each kind of operation, in one transaction, written once for every database.

mod cascade;
pub(crate) mod change;
mod explain;
mod merge;
pub(crate) mod probe;
pub(crate) mod read;
pub(crate) mod relationships;

use aquifer_protocol::response::Data;
use aquifer_protocol::warning::Warning;
use serde_json::value::RawValue;

use crate::trouble::Trouble;

/// An answer whose text is already JSON.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) data: Data,
    pub(crate) warnings: Vec<Warning>,
}

impl Done {
    /// Takes text that was assembled here. It is not read, only looked over once: a broken answer would be ours.
    pub(crate) fn assembled(text: Vec<u8>, warnings: Vec<Warning>) -> Result<Self, Trouble> {
        let broken = |cause: String| Trouble::Refused { words: None, cause };
        let text = String::from_utf8(text).map_err(|error| broken(error.to_string()))?;
        let raw = RawValue::from_string(text).map_err(|error| broken(error.to_string()))?;
        Ok(Self { data: Data::Raw(raw.into()), warnings })
    }
}
