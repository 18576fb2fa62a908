//! The schema of a database: tables as reflected, their names, and the tables as callers see them.

pub(crate) mod column_defaults;
pub(crate) mod column_rules;
pub(crate) mod exposed_table;
pub(crate) mod exposure;
pub(crate) mod field_names;
pub(crate) mod model;
pub(crate) mod name_book;
pub(crate) mod name_store;
pub(crate) mod names;
pub(crate) mod relationship;
pub(crate) mod row_name;
pub(crate) mod sql_definitions;
mod sql_tokens;
pub(crate) mod style_finder;
pub(crate) mod table_sample;
pub(crate) mod time_style;
pub(crate) mod view_condition;
pub(crate) mod view_references;
