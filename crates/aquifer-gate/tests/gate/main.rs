//! The guarantees of the gate, mostly as tables. Test names cite the requirement they cover.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]
#![allow(
    clippy::print_stdout,
    reason = "child processes of tests talk to their parents, and faults say what stood for them"
)]

mod audit;
mod confirm;
mod destinations;
mod dry_run;
#[cfg(unix)]
mod faults;
mod folder;
mod gate;
mod harness;
mod needed;
mod origins;
mod policy;
mod quota;
mod reloaded;
mod renamed;
mod stores;
mod time;
