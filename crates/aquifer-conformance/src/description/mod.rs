//! The description of a server, from introspection.

mod binding;
mod parameter;
pub(crate) mod resources;
mod server_description;

pub(crate) use binding::Binding;
pub(crate) use parameter::{Parameter, ValueKind};
pub(crate) use server_description::{Operation, ServerDescription, Type};
