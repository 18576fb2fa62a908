//! Child processes, which are killed without the processes they started, and their pipes.

use std::io::{Error, ErrorKind, Result};

use tokio::io::AsyncWriteExt as _;
pub use tokio::process::ChildStdout as Receiver;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

/// Environment variables that every child inherits, to find programs, its home and its language, and without which
/// most programs do not start. All others must be configured.
pub const INHERITED_VARIABLES: &[&str] = &[
    "PATH",
    "PATHEXT",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "COMSPEC",
    "USERPROFILE",
    "HOMEDRIVE",
    "HOMEPATH",
    "USERNAME",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "TEMP",
    "TMP",
    "LANG",
    "TZ",
];

/// A child. Processes that it starts are not part of it and may outlive it.
#[derive(Debug)]
pub struct ProcessGroup;

impl ProcessGroup {
    /// Nothing to do.
    pub fn prepare(_: &mut Command) {}

    /// The child.
    pub fn new(_: &Child) -> Self {
        Self
    }

    /// Kills the child.
    pub fn kill(&mut self, child: &mut Child) {
        // Fails only if it has exited.
        let _ = child.start_kill();
    }
}

/// A child's standard input. Writing to it blocks, so a task writes one line after another.
#[derive(Debug)]
pub struct Sender(mpsc::Sender<Vec<u8>>);

impl Sender {
    /// Accepts bytes if the earlier ones are being written.
    ///
    /// # Errors
    ///
    /// If they are not, or the child has closed its end.
    pub fn try_write(&self, bytes: &[u8]) -> Result<usize> {
        match self.0.try_send(bytes.to_vec()) {
            Ok(()) => Ok(bytes.len()),
            Err(TrySendError::Full(_)) => Err(ErrorKind::WouldBlock.into()),
            Err(TrySendError::Closed(_)) => Err(closed()),
        }
    }

    /// Waits until bytes are accepted.
    ///
    /// # Errors
    ///
    /// If the child has closed its end.
    pub async fn writable(&self) -> Result<()> {
        self.0.reserve().await.map(drop).map_err(|_| closed())
    }
}

fn closed() -> Error {
    ErrorKind::BrokenPipe.into()
}

/// Our ends of a child's pipes. The task that writes ends with the sender, or when the child closes its end.
///
/// # Errors
///
/// Never.
pub fn pipes(mut input: ChildStdin, output: ChildStdout) -> Result<(Sender, Receiver)> {
    let (sender, mut lines) = mpsc::channel::<Vec<u8>>(1);
    tokio::spawn(async move {
        while let Some(line) = lines.recv().await {
            if input.write_all(&line).await.is_err() || input.flush().await.is_err() {
                return;
            }
        }
    });
    Ok((Sender(sender), output))
}
