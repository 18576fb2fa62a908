//! How groups and rows are written in an answer.

pub mod groups;
pub mod table;
