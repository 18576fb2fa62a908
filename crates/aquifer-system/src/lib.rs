//! What differs between operating systems: the identity and the permissions of files, child processes and their pipes, and
//! the signals that tell a process to stop.

#[cfg_attr(unix, path = "unix/mod.rs")]
#[cfg_attr(not(unix), path = "windows/mod.rs")]
mod platform;

use std::fs::Metadata;
use std::io::Result;
use std::path::Path;

pub use platform::files::{
    create_private_directory, make_private, may_create_files, may_write, restrict_directory, restrict_file, share_mode,
    sync_directory,
};
pub use platform::processes::{INHERITED_VARIABLES, ProcessGroup, Receiver, Sender, pipes};
pub use platform::signals::StopSignals;

/// Identifies the file behind a path: another one may take its place. While a file is open, its number is not reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileId {
    /// The device that the file is on.
    pub device: u64,
    /// The number of the file on that device.
    pub number: u64,
}

impl FileId {
    /// The file that has these properties.
    pub fn new(metadata: &Metadata) -> Self {
        let (device, number) = platform::files::device_and_number(metadata);
        Self { device, number }
    }

    /// The file that currently has this path.
    ///
    /// # Errors
    ///
    /// If there is none, or its properties cannot be read.
    pub fn read(path: &Path) -> Result<Self> {
        Ok(Self::new(&std::fs::metadata(path)?))
    }
}
