//! Windows, where a child is killed without the processes it started.

use tokio::process::{Child, Command};

/// A child. Processes that it starts are not part of it and may outlive it.
pub(crate) struct ProcessGroup;

impl ProcessGroup {
    pub(crate) fn prepare(_: &mut Command) {}

    pub(crate) fn new(_: &Child) -> Self {
        Self
    }

    /// Kills the child.
    pub(crate) fn kill(&mut self, child: &mut Child) {
        // An error means that it has already ended.
        let _ = child.start_kill();
    }
}
