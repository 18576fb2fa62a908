//! Signals, limits and other programs.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The limit of open files to request, because the default is often too low for many connections.
const DESCRIPTORS: u64 = 8_192;

/// SIGHUP, which asks to read the configuration again.
pub(crate) struct Hangup(Signal);

impl Hangup {
    pub(crate) fn new() -> std::io::Result<Self> {
        signal(SignalKind::hangup()).map(Self)
    }

    /// Waits for the next signal. `None` if there will be none.
    pub(crate) async fn recv(&mut self) -> Option<()> {
        self.0.recv().await
    }
}

/// Raises the limit of open files as far as it is wanted and allowed.
pub(crate) fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(DESCRIPTORS, |most| most.min(DESCRIPTORS));
    if limit.current.is_some_and(|current| current < wanted) {
        let more = Rlimit { current: Some(wanted), maximum: limit.maximum };
        if let Err(cause) = setrlimit(Resource::Nofile, more) {
            tracing::warn!(%cause, "cannot raise the limit of open files: fewer connections than configured may be possible");
        }
    }
}

/// The command that opens a URL in a browser, if there is one.
pub(crate) fn browser() -> Option<&'static [&'static str]> {
    let is_set = |name: &str| std::env::var(name).is_ok_and(|value| !value.is_empty());
    if cfg!(target_os = "macos") {
        return Some(&["open"]);
    }
    (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")).then_some(&["xdg-open"])
}
