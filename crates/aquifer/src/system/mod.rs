//! What differs between operating systems: permissions and their checks, standard directories, signals, the terminal,
//! free space, and how programs are found. The rest of the program is the same everywhere.

mod browser;
#[cfg_attr(unix, path = "unix/mod.rs")]
#[cfg_attr(not(unix), path = "windows/mod.rs")]
mod platform;
mod shell_word;

use std::path::{Path, PathBuf};

pub(crate) use aquifer_system::{StopSignals, create_private_directory, restrict_directory};
pub(crate) use browser::{has_browser, open_browser};
pub(crate) use platform::directories::{client_config_directories, home, state_base, variable};
pub(crate) use platform::directory::{close_to_others, create_new_private_directory, examine_directory};
pub(crate) use platform::files::{
    can_keep_owner, check_access, create_new, create_private, distrusted_file_advice, find_obstacle, free_bytes,
    is_block_device, is_open_to_others, keep_owner, open_private, private_file_advice, suspicion,
};
pub(crate) use platform::processes::{Hangup, raise_descriptor_limit};
pub(crate) use platform::stamp::FileChange;
pub(crate) use platform::terminal::{EchoGuard, discard_input, read_byte, terminal_size};
pub(crate) use shell_word::{quoted, quoted_path};

/// What to do with the state directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(unix), allow(dead_code, reason = "permissions are neither read nor changed there"))]
pub(crate) enum DirectoryVerdict {
    /// Nobody else can read or change its contents.
    Private,
    /// It is ours, but its permissions are too wide.
    Repair,
    /// It is used, with a warning for the operator.
    Warn(&'static str),
    /// It is not used.
    Refuse(&'static str),
}

/// What a program wants to do with a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccessKind {
    Read,
    ReadAndWrite,
    /// Create files in a directory.
    CreateFiles,
}

/// What denies this user access to a file or directory.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(unix), allow(dead_code, reason = "permissions are not read there"))]
pub(crate) enum Obstacle {
    /// The permissions of a file or directory that belongs to this user.
    Permissions { path: PathBuf, is_directory: bool },
    /// A file or directory that belongs to somebody else.
    OtherOwner { path: PathBuf, owner: String },
    /// Something else, such as an access control list.
    Unknown,
}

/// A directory named by an environment variable.
fn directory_from(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The program that a command starts, as the system would find it.
pub(crate) fn find_program(command: &str) -> Option<PathBuf> {
    let path = Path::new(command);
    if path.components().count() > 1 {
        return platform::files::is_program(path).then(|| path.to_owned());
    }
    programs_on_path(command).into_iter().next()
}

/// All programs of this name on the PATH, in the order in which the system finds them.
pub(crate) fn programs_on_path(name: &str) -> Vec<PathBuf> {
    let Some(path) = std::env::var_os("PATH") else { return Vec::new() };
    let named = platform::files::program_file_name(name);
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in std::env::split_paths(&path).filter(|folder| folder.is_absolute()) {
        let program = folder.join(&named);
        if platform::files::is_program(&program) && !found.contains(&program) {
            found.push(program);
        }
    }
    found
}
