//! One module for each command.

pub(crate) mod call;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod introspect;
pub(crate) mod serve;
