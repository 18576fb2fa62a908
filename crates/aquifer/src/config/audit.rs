//! The configuration section `[audit]`.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

const MIB: u64 = 1024 * 1024;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// `[audit]`: where decisions and outcomes are recorded.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AuditConfig {
    /// The sinks for all entries. An empty list turns the audit log off.
    pub(crate) to: Option<Vec<AuditSink>>,
    /// The directory of the files. Default: in the state directory.
    pub(crate) dir: Option<PathBuf>,
    /// The maximum size of a file, after which a new one is started.
    pub(crate) max_file_bytes: u64,
    /// How many files are kept.
    pub(crate) max_files: u32,
    /// How long the state store keeps entries.
    store_ttl_days: u32,
    /// Whether operations that change something are refused while the audit log cannot be written.
    pub(crate) required: bool,
}

impl Default for AuditConfig {
    fn default() -> Self {
        Self { to: None, dir: None, max_file_bytes: 16 * MIB, max_files: 16, store_ttl_days: 30, required: true }
    }
}

impl AuditConfig {
    /// How long the state store keeps entries.
    pub(crate) fn kept_in_store(&self) -> Duration {
        DAY * self.store_ttl_days.max(1)
    }
}

/// A sink of the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AuditSink {
    File,
    Stderr,
    Store,
}
