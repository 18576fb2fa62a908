//! SQLite and PostgreSQL as sources.
//!
//! A database is looked into ([`Database::reflect`]), which gives a model of its tables; the model becomes operations; a call
//! becomes a plan of the query language, the plan becomes SQL, and its rows become JSON text that nobody reads again.
//! What it never knows: MCP, and who calls.

mod cell;
mod checks;
mod column_defaults;
mod column_rules;
mod database;
mod error;
mod exposed_table;
mod exposure;
mod field_names;
mod inflect;
mod media_type;
mod model;
mod name_book;
mod name_store;
mod names;
mod offer;
mod percent;
mod postgres;
mod reflection;
mod rows;
mod secret_names;
mod session;
mod settings;
mod sql;
mod sql_tokens;
mod sqlite;
mod statement;
mod table_filter;
mod time;
mod time_style;
mod work;

pub use database::Database;
pub use settings::ComputedSettings;
pub use settings::AUTO_STYLE_MAX_TABLES;
pub use settings::TargetError;
pub use settings::Settings;
pub use settings::Style;
pub use settings::TableSettings;
pub use settings::Target;
pub use settings::memory_name;
