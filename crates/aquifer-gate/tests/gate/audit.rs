//! The audit: nothing can be removed unnoticed, intents are written before anything runs, and it contains no secret
//! (R-SAF-5).
#![allow(clippy::print_stdout, reason = "processes started by a test tell it what they did")]

mod approvals;
mod events;
mod faults;
mod harness;
mod memory;
mod outcomes;
mod processes;
mod reading;
mod redaction;
mod secrets;
mod strict;
pub(crate) mod support;
mod tampering;
mod writes;
mod writing;
