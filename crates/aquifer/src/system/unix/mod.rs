//! Linux and macOS.

pub(super) mod directories;
pub(super) mod directory;
pub(super) mod files;
pub(super) mod processes;
pub(super) mod stamp;
pub(super) mod terminal;
