//! Child processes and their pipes.

use std::io::Result;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::net::unix::pipe;
pub use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// Environment variables that every child inherits, to find programs, its home and its language. All others must be
/// configured.
pub const INHERITED_VARIABLES: &[&str] = &[
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
#[derive(Debug)]
pub struct ProcessGroup(Option<Pid>);

impl ProcessGroup {
    /// Makes the program start in a group of its own.
    pub fn prepare(program: &mut Command) {
        program.process_group(0);
    }

    /// The group of a child that was started with [`prepare`](Self::prepare).
    pub fn new(child: &Child) -> Self {
        Self(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)))
    }

    /// Kills the whole group, the first time.
    pub fn kill(&mut self, _: &mut Child) {
        if let Some(group) = self.0.take() {
            // Fails only if no process is left.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Our ends of a child's pipes, which are written to and read from without an intermediate task.
///
/// # Errors
///
/// If the event loop cannot watch them.
pub fn pipes(input: ChildStdin, output: ChildStdout) -> Result<(Sender, Receiver)> {
    let (input, output) = (input.into_owned_fd()?, output.into_owned_fd()?);
    Ok((pipe::Sender::from_owned_fd(input)?, pipe::Receiver::from_owned_fd(output)?))
}
