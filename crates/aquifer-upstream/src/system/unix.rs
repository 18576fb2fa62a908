//! Linux and macOS.

use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io::Result;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::net::unix::pipe;
pub(crate) use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// Environment variables that every child inherits, to find programs, its home and its language. All others must be
/// configured.
pub(crate) const INHERITED_VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
];

/// The process group of a child: the child and all processes that it starts.
pub(crate) struct ProcessGroup(Option<Pid>);

impl ProcessGroup {
    /// Makes the program start in a group of its own.
    pub(crate) fn prepare(program: &mut Command) {
        program.process_group(0);
    }

    /// The group of a child that was started with [`prepare`](Self::prepare).
    pub(crate) fn new(child: &Child) -> Self {
        Self(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)))
    }

    /// Kills the whole group, the first time.
    pub(crate) fn kill(&mut self, _: &mut Child) {
        if let Some(group) = self.0.take() {
            // Fails only if no process is left.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Our ends of a child's pipes, which are written to and read from without an intermediate task.
pub(crate) fn pipes(input: ChildStdin, output: ChildStdout) -> Result<(Sender, Receiver)> {
    let (input, output) = (input.into_owned_fd()?, output.into_owned_fd()?);
    Ok((pipe::Sender::from_owned_fd(input)?, pipe::Receiver::from_owned_fd(output)?))
}

/// Creates a directory and its missing parents, accessible to the owner only.
pub(crate) fn create_private_directory(path: &Path) -> Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Removes the access of other users to a directory.
pub(crate) fn restrict_directory(path: &Path) -> Result<()> {
    std::fs::set_permissions(path, Permissions::from_mode(0o700))
}

/// Makes files that are created with these options accessible to the owner only.
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}
