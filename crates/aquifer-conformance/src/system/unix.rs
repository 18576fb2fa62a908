//! Linux and macOS.

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

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
            // An error means that the group has already ended.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
