//! Parses YAML with source positions, and writes YAML that parses to the same value.

mod node;
mod write;

pub(crate) use node::Entry;
pub(crate) use node::Node;
pub(crate) use node::Position;
pub(crate) use node::Shape;
pub(crate) use node::YamlError;
pub(crate) use node::read;
pub use write::write;
