//! What differs between operating systems: the identity of files.

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(not(unix), path = "windows.rs")]
mod platform;

pub(crate) use platform::device_and_number;
