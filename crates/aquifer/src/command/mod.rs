//! One module for each command.

pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod build;
pub(crate) mod call;
mod capture;
pub(crate) mod completions;
pub(crate) mod conformance;
pub(crate) mod demo;
mod explain;
pub(crate) mod init;
pub(crate) mod interrogate;
pub(crate) mod introspect;
mod json;
pub(crate) mod login;
pub(crate) mod policy;
pub(crate) mod review;
pub(crate) mod serve;
mod sources;
mod table;
pub(crate) mod tokens;
pub(crate) mod trust;
pub(crate) mod validate;
mod write;
