//! One module for each command. If a build excludes the feature of a command, a stub reports that.

pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod call;
pub(crate) mod completions;
#[cfg_attr(not(feature = "conformance"), path = "no_conformance.rs")]
pub(crate) mod conformance;
pub(crate) mod demo;
pub(crate) mod doctor;
mod explain;
pub(crate) mod explorer;
pub(crate) mod health;
pub(crate) mod introspect;
mod json;
pub(crate) mod policy;
pub(crate) mod serve;
mod sources;
mod table;
#[cfg_attr(not(feature = "tokens"), path = "no_tokens.rs")]
pub(crate) mod tokens;
pub(crate) mod trust;
pub(crate) mod validate;
pub(crate) mod welcome;

#[cfg(feature = "gateway")]
pub(crate) mod build;
#[cfg(feature = "gateway")]
mod capture;
#[cfg(feature = "gateway")]
pub(crate) mod init;
#[cfg(feature = "gateway")]
pub(crate) mod interrogate;
#[cfg(feature = "gateway")]
pub(crate) mod login;
#[cfg(not(feature = "gateway"))]
mod no_gateway;
#[cfg(feature = "gateway")]
pub(crate) mod review;

#[cfg(not(feature = "gateway"))]
pub(crate) use no_gateway::{build, init, interrogate, login, review};
