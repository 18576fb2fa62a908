//! Discovery: converts the tool list of an MCP server into operations and adapter files.
//!
//! Pure: no network, no files, no clock. A capture (the bytes of `tools/list`) is [`normalize`]d into a [`Bundle`],
//! reviewed with [`Overrides`], built into an adapter file ([`adapter::build`]) and read back ([`Adapter::read`]). An
//! [`Offer`] converts either into operations. Text from an upstream is untrusted: it is kept byte for byte as evidence,
//! and cleaned before it is shown.

pub mod adapter;
pub mod bundle;
pub mod classify;
pub mod offer;
mod problem;
mod review;
mod schema;
pub mod servers;
pub mod text;
pub mod tool;

pub use adapter::Adapter;
pub use bundle::Bundle;
pub use bundle::normalize::{Listing, normalize, normalize_with_names};
pub use offer::Call;
pub use offer::Offer;
pub use problem::FileProblem;
pub use review::overrides::Overrides;
pub use review::pins::PinBook;
pub use review::{overrides, pins};
pub use servers::Servers;
pub use text::escape::{escape_invisible, escape_name, escape_name as visible_name};
pub use text::redact;
pub use text::yaml::write as write_yaml;
pub use tool::limits::{DefinitionLimits, OmittedTools};
pub use tool::{digest, limits, name, warning};
