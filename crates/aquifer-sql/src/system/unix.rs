//! Linux and macOS.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;

/// The numbers of the device and of the file, by which a file is recognized that has taken the place of another.
pub(crate) fn device_and_number(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}
