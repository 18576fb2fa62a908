//! Discovery: turns the tool list of an MCP server into operations and adapter files.
//!
//! Pure: no network, no files, no clock. A capture (the bytes of `tools/list`) is [`normalize`]d into a [`Bundle`],
//! reviewed with [`Overrides`], built into an adapter file ([`adapter::build`]) and read back ([`Adapter::read`]); an
//! [`Offer`] turns either into operations. Text from an upstream is untrusted: it is kept byte for byte where it is
//! evidence and cleaned where it is shown.

pub mod adapter;
pub mod bundle;
pub mod classify;
pub mod digest;
mod json;
pub mod limits;
pub mod name;
mod normalize;
pub mod offer;
pub mod overrides;
pub mod pins;
mod problem;
pub mod redact;
mod schema;
pub mod servers;
pub mod text;
pub mod tool;
mod visible;
pub mod warning;
mod yaml;

pub use adapter::Adapter;
pub use bundle::Bundle;
pub use limits::DefinitionLimits;
pub use limits::OmittedTools;
pub use normalize::Listing;
pub use normalize::normalize;
pub use normalize::normalize_beside;
pub use offer::Call;
pub use offer::Offer;
pub use overrides::Overrides;
pub use pins::PinBook;
pub use problem::FileProblem;
pub use servers::Servers;
pub use visible::{visible, visible_name};
pub use yaml::write as write_yaml;
