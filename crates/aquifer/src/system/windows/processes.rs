//! Signals, limits and other programs.

use tokio::signal::windows::{
    CtrlBreak, CtrlC, CtrlClose, CtrlShutdown, ctrl_break, ctrl_c, ctrl_close, ctrl_shutdown,
};

/// Ctrl-C, Ctrl-Break, and the end of the console or of the system.
pub(crate) struct ShutdownSignals {
    interrupt: CtrlC,
    stop: CtrlBreak,
    close: CtrlClose,
    shutdown: CtrlShutdown,
}

impl ShutdownSignals {
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self { interrupt: ctrl_c()?, stop: ctrl_break()?, close: ctrl_close()?, shutdown: ctrl_shutdown()? })
    }

    /// Waits for the next signal.
    pub(crate) async fn recv(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.stop.recv() => {}
            _ = self.close.recv() => {}
            _ = self.shutdown.recv() => {}
        }
    }
}

/// There is no signal that asks to read the configuration again.
pub(crate) struct Hangup;

impl Hangup {
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    /// Waits forever.
    pub(crate) async fn recv(&mut self) -> Option<()> {
        std::future::pending().await
    }
}

/// Nothing to do: the limit is high enough.
pub(crate) fn raise_descriptor_limit() {}

/// The command that opens a URL in a browser. Unlike `start`, it does not interpret the URL as a command line.
pub(crate) fn browser() -> Option<&'static [&'static str]> {
    Some(&["rundll32", "url.dll,FileProtocolHandler"])
}
