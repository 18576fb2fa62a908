//! The collection language of MCP-AQL: what a caller may ask of a list of things.
//!
//! Parameters are read against a described [`Collection`] into a typed [`Plan`], with every problem reported at once.
//! A plan is then carried out by whoever has the things: a database translates it, [`evaluate`] runs it over JSON
//! values in memory. Both must agree; what they agree on is written in `docs/query-language.md`.

pub mod collection;
pub mod cursor;
pub mod evaluate;
mod order;
pub mod parameters;
pub mod plan;
mod read;
pub mod selection;
pub mod shape;
pub mod value;

pub use collection::Collection;
pub use collection::Field;
pub use collection::FieldType;
pub use cursor::CursorKey;
pub use plan::Plan;
pub use read::Family;
pub use read::Read;
pub use read::read;
pub use read::read_fields;
