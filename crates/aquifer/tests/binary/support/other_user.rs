//! Somebody other than root, because root may do everything.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output, Stdio};

use super::{Folder, aquifer_at};

/// The user `nobody`, who owns nothing.
pub(crate) const NOBODY: u32 = 65_534;

/// A user with a home directory and a copy of the program, in a folder that everybody can reach. It is `nobody` if root
/// runs the tests, and otherwise whoever runs them.
pub(crate) struct OtherUser {
    pub(crate) folder: Folder,
    pub(crate) is_root: bool,
}

impl OtherUser {
    pub(crate) fn new() -> Self {
        let folder = Folder::reachable();
        let (program, home) = (folder.path("aquifer"), folder.path("home"));
        // A link is fast, and not possible on another file system.
        std::fs::hard_link(env!("CARGO_BIN_EXE_aquifer"), &program)
            .or_else(|_| std::fs::copy(env!("CARGO_BIN_EXE_aquifer"), &program).map(drop))
            .unwrap();
        std::fs::create_dir(&home).unwrap();
        let is_root = std::fs::metadata(&home).unwrap().uid() == 0;
        if is_root {
            chown(&home, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let user = Self { folder, is_root };
        user.set_mode("", 0o755);
        user
    }

    pub(crate) fn set_mode(&self, name: &str, mode: u32) {
        std::fs::set_permissions(self.folder.path(name), Permissions::from_mode(mode)).unwrap();
    }

    /// Runs the program at home.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        let mut command: Command = aquifer_at(self.folder.path("aquifer").as_ref());
        command.args(arguments).current_dir(self.folder.path("home")).stdin(Stdio::null());
        command.env("HOME", self.folder.path("home")).env_remove("XDG_STATE_HOME").env_remove("XDG_CONFIG_HOME");
        if self.is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.output().unwrap()
    }
}
