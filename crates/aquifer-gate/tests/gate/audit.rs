//! The record: that nothing can be taken out of it unseen, that it is there before anything happens, and that no secret
//! is in it (R-SAF-5).

mod faults;
mod memory;
mod processes;
mod redaction;
mod support;
mod tampering;
mod writing;
