//! Measures the token cost of a source for a model: at connect, for introspection and for whole tasks.
//!
//! Only what a model sees (`model_view`) is counted, with real tokenizers (`count`). A measurement (`measure`) is a
//! plain client behind the [`Server`] trait: it sees only what the server lists and answers, starts no servers, and
//! calls nothing that may write unless allowed. A [`Report`] becomes a chart, drawn as text or SVG (`render`);
//! `compare` compares two reports.

mod aql;
mod catalog;
pub mod compare;
mod count;
mod definition_cost;
mod measure;
pub mod model_view;
pub mod render;
pub mod report;
mod server;
pub mod task;
mod task_runner;

pub use count::TokenCounts;
pub use definition_cost::DefinitionCost;
pub use measure::Options;
pub use measure::Subject;
pub use measure::measure;
pub use report::Report;
pub use server::Server;
pub use server::ServerError;
