//! The record: that nothing can be taken out of it unseen, that it is there before anything happens, and that no secret
//! is in it (R-SAF-5).
#![allow(clippy::print_stdout, reason = "processes started by a test tell it what they did")]

mod events;
mod faults;
mod harness;
mod memory;
mod outcomes;
mod processes;
mod redaction;
mod secrets;
mod strict;
pub(crate) mod support;
mod tampering;
mod writes;
mod writing;
