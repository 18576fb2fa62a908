//! What differs between operating systems: permissions, free space, and how programs are found.

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(not(unix), path = "other.rs")]
mod platform;

use std::path::{Path, PathBuf};

pub(crate) use platform::{create_new, free_bytes, open_private};

/// The program that a command starts, as the system would find it.
pub(crate) fn find_program(command: &str) -> Option<PathBuf> {
    let path = Path::new(command);
    if path.components().count() > 1 {
        return platform::is_program(path).then(|| path.to_owned());
    }
    programs_on_path(command).into_iter().next()
}

/// All programs of this name on the PATH, in the order in which the system finds them.
pub(crate) fn programs_on_path(name: &str) -> Vec<PathBuf> {
    let Some(path) = std::env::var_os("PATH") else { return Vec::new() };
    let named = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in std::env::split_paths(&path).filter(|folder| folder.is_absolute()) {
        let program = folder.join(&named);
        if platform::is_program(&program) && !found.contains(&program) {
            found.push(program);
        }
    }
    found
}
