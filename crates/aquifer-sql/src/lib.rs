//! SQLite and PostgreSQL as sources.
//!
//! A database is looked into ([`Database::reflect`]), which gives a model of its tables; the model becomes operations; a call
//! becomes a plan of the query language, the plan becomes SQL, and its rows become JSON text that nobody reads again.
//! What it never knows: MCP, and who calls.

mod database;
mod error;
mod exposure;
mod offer;
mod postgres;
mod rows;
mod schema;
mod settings;
mod sql;
mod sqlite;
mod statement;
mod work;

pub use database::Database;
pub use settings::AUTO_STYLE_MAX_TABLES;
pub use settings::ComputedSettings;
pub use settings::Settings;
pub use settings::Style;
pub use settings::TableSettings;
pub use settings::Target;
pub use settings::TargetError;
pub use settings::memory_name;
