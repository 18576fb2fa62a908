//! The collection language of MCP-AQL: filters, sorting, fields, aggregates and pages over a list of items.
//!
//! [`parse_query`] turns parameters into a typed [`Plan`] for a described [`Collection`], and reports every problem at
//! once. A database translates the plan to SQL; [`evaluate`] runs it over JSON values in memory. Both must give the same
//! answer. `docs/query-language.md` specifies it.

pub mod answer;
pub mod budget;
pub mod collection;
pub mod cursor;
pub mod evaluate;
pub mod grammar;
pub mod parameters;
mod parse;
pub mod plan;
pub mod shape;
pub mod value;
mod work;

pub use collection::Collection;
pub use collection::Field;
pub use collection::FieldType;
pub use cursor::CursorKey;
pub use parse::ParsedQuery;
pub use parse::QueryKind;
pub use parse::parse_fields;
pub use parse::parse_query;
pub use parse::parse_unpaged;
pub use plan::Plan;
pub use value::selection;
pub use work::Work;
pub use work::WorkLimits;
