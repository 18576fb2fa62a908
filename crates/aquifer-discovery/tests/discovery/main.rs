//! What discovery promises, as tables. Test names cite the requirement they hold.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]

mod adapters;
mod arguments;
mod captures;
mod classification;
mod evidence;
mod fixture;
mod generated;
#[cfg(target_os = "linux")]
mod growth;
mod laws;
mod mutations;
mod names;
mod overrides;
mod rate_limits;
mod read_only;
mod redaction;
mod results;
mod sanitized;
mod schemas;
mod servers;
mod spec_checkout;
mod trust;
mod yaml;
