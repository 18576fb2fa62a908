//! What a server says of itself through introspection.

mod binding;
mod parameter;
pub(crate) mod resources;
mod server_description;

pub(crate) use binding::Binding;
pub(crate) use parameter::{Kind, Parameter};
pub(crate) use server_description::{CATEGORIES, Described, Operation, Type};
