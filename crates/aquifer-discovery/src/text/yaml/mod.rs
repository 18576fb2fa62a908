//! YAML, read with positions and written so that it is read back equal.

mod node;
mod write;

pub(crate) use node::Entry;
pub(crate) use node::Node;
pub(crate) use node::Position;
pub(crate) use node::Shape;
pub(crate) use node::YamlError;
pub(crate) use node::read;
pub use write::write;
