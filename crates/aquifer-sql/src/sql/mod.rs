//! Generates SQL from plans. Pure: nothing here accesses a database.

pub(crate) mod aggregate;
mod calculation;
mod cursor_values;
mod embed;
pub(crate) mod filter;
pub(crate) mod joins;
pub(crate) mod json;
pub(crate) mod keyset;
pub(crate) mod operand;
pub(crate) mod scope;
pub(crate) mod select;
pub(crate) mod selection;
pub(crate) mod text;
pub(crate) mod time_checks;
pub(crate) mod write;
