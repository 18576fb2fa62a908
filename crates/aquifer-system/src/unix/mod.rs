//! Linux and macOS.

pub(crate) mod files;
pub(crate) mod processes;
pub(crate) mod signals;
