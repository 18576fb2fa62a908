//! The settings of a database source.

mod database_settings;
mod table_filter;
mod target;

pub use database_settings::{AUTO_STYLE_MAX_TABLES, ComputedSettings, Settings, Style, TableSettings};
pub(crate) use table_filter::TableFilter;
pub use target::{Target, TargetError, memory_name};
