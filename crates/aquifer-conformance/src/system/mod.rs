//! What differs between operating systems: how a process and its children are killed.

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(not(unix), path = "windows.rs")]
mod platform;

pub(crate) use platform::ProcessGroup;
