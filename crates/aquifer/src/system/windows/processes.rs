//! Signals, limits and other programs.

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
