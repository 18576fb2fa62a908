//! One module for each command.

pub(crate) mod build;
pub(crate) mod call;
mod capture;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod init;
pub(crate) mod interrogate;
pub(crate) mod introspect;
pub(crate) mod login;
pub(crate) mod review;
pub(crate) mod serve;
mod table;
pub(crate) mod validate;
mod write;
