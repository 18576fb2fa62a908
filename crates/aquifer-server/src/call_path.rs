//! The paths of tool calls through the server, and how many calls took each of them.

use std::sync::atomic::{AtomicU64, Ordering};

/// The path of a tool call to the handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallPath {
    /// Over pipes, around the SDK.
    StdioFast,
    /// Over pipes, through the SDK.
    StdioSdk,
    /// Over HTTP without a session, around the SDK.
    HttpFast,
    /// Over HTTP without a session, through the SDK.
    HttpSdk,
    /// Over HTTP in a session, or with a session header, through the SDK.
    HttpSession,
}

/// Counts tool calls by their path. Tests that compare two paths use it to verify that both were taken.
#[derive(Debug, Default)]
pub struct CallCounts {
    stdio_fast: AtomicU64,
    stdio_sdk: AtomicU64,
    http_fast: AtomicU64,
    http_sdk: AtomicU64,
    http_session: AtomicU64,
}

impl CallCounts {
    /// The number of calls that took a path so far.
    pub fn get(&self, path: CallPath) -> u64 {
        self.counter(path).load(Ordering::Relaxed)
    }

    pub(crate) fn count(&self, path: CallPath) {
        self.counter(path).fetch_add(1, Ordering::Relaxed);
    }

    fn counter(&self, path: CallPath) -> &AtomicU64 {
        match path {
            CallPath::StdioFast => &self.stdio_fast,
            CallPath::StdioSdk => &self.stdio_sdk,
            CallPath::HttpFast => &self.http_fast,
            CallPath::HttpSdk => &self.http_sdk,
            CallPath::HttpSession => &self.http_session,
        }
    }
}
