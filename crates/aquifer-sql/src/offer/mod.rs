//! Derives an offer from a reflected model: collections, operations, relationships, and the action of each operation.

mod action;
mod collection;
mod column_description;
mod column_schema;
mod concealed;
mod database_offer;
pub(crate) mod examples;
pub(crate) mod generic;
mod needs;
mod operations;
mod overview;
mod path_references;
mod query_sql;
mod references;
mod relationship_root;
mod resolve;
mod table_models;

pub(crate) use action::{Action, Verb};
pub(crate) use concealed::ConcealedTables;
pub(crate) use database_offer::Offer;
pub(crate) use operations::ANY_REFERENCE;
pub(crate) use overview::DEFAULTS;
pub(crate) use query_sql::{QUERY_SQL, QUERY_SQL_NOTE};
