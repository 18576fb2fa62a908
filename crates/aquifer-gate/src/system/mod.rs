//! What differs between operating systems: the permissions and the identity of files.

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(not(unix), path = "windows.rs")]
mod platform;

use std::fs::Metadata;
use std::path::Path;

pub(crate) use platform::{copy_mode, create_private_directory, owner_only, restrict_to_owner, sync_directory};

/// Identifies the file behind a path. While it is open, its inode number is not reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    number: u64,
}

impl Identity {
    pub(crate) fn new(metadata: &Metadata) -> Self {
        let (device, number) = platform::device_and_number(metadata);
        Self { device, number }
    }

    pub(crate) fn read(path: &Path) -> std::io::Result<Self> {
        Ok(Self::new(&std::fs::metadata(path)?))
    }
}
