//! What differs between operating systems: permissions of files, child processes and their pipes.

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(not(unix), path = "windows.rs")]
mod platform;

pub(crate) use platform::{
    INHERITED_VARIABLES, ProcessGroup, Receiver, Sender, create_private_directory, pipes, private, restrict_directory,
};
