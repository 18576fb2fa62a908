//! What differs between operating systems: the identity of files, and access to them.

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(not(unix), path = "windows.rs")]
mod platform;

pub(crate) use platform::{device_and_number, may_create_files, may_write};
