//! Caches the catalog of an upstream, so that callers do not wait for it to start. Contains the raw capture and no
//! secrets.

use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use aquifer_discovery::OmittedTools;
use aquifer_discovery::bundle::{RawCapture, ServerIdentity};
use aquifer_system::{create_private_directory, make_private};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::client::connection::ProtocolMode;
use crate::client::interrogation::Interrogation;
use crate::settings::Settings;

/// Larger files are ignored.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

const FORMAT_VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
pub(crate) struct CachedCatalog {
    version: u32,
    #[serde(rename = "era")]
    pub(crate) mode: ProtocolMode,
    pub(crate) captured_at: String,
    protocol: String,
    server: ServerIdentity,
    instructions: Option<String>,
    #[serde(default)]
    capabilities: Value,
    raw_capture: RawCapture,
    /// The tools that were left out of the capture.
    #[serde(default)]
    left_out: OmittedTools,
}

impl CachedCatalog {
    pub(crate) fn new(interrogation: &Interrogation, mode: ProtocolMode, captured_at: String) -> Self {
        Self {
            version: FORMAT_VERSION,
            mode,
            captured_at,
            protocol: interrogation.protocol.clone(),
            server: interrogation.server.clone(),
            instructions: interrogation.instructions.clone(),
            capabilities: interrogation.capabilities.clone(),
            raw_capture: interrogation.capture.clone(),
            left_out: interrogation.left_out,
        }
    }

    /// The interrogation within the current limits, which may be lower than at capture time. The file may also have
    /// been edited.
    pub(crate) fn into_interrogation(self, settings: &Settings) -> Interrogation {
        let (capture, left_out) = self.raw_capture.within(&settings.limits);
        Interrogation {
            capture,
            server: self.server,
            protocol: self.protocol,
            instructions: self.instructions,
            capabilities: self.capabilities,
            left_out: left_out.merge(self.left_out),
        }
    }

    /// Reads the cached catalog. An unreadable file is ignored and replaced later.
    pub(crate) fn read(settings: &Settings) -> Option<Self> {
        let text = read_bounded(&catalog_path(settings, "json")?)?;
        let cached: Self = serde_json::from_str(&text)
            .inspect_err(|cause| tracing::debug!(source = settings.name, %cause, "the cached catalog is unreadable"))
            .ok()?;
        (cached.version == FORMAT_VERSION).then_some(cached)
    }

    /// Writes the file atomically. An existing file is kept if the server lists no tools, because it may still be
    /// starting.
    pub(crate) fn write(&self, settings: &Settings) {
        let Some(path) = catalog_path(settings, "json") else { return };
        if self.raw_capture.tools().is_empty() && path.exists() {
            return;
        }
        if let Err(cause) = serde_json::to_vec(self).map_err(Into::into).and_then(|text| write_atomically(&path, &text))
        {
            tracing::debug!(source = settings.name, %cause, "the catalog cannot be cached");
        }
    }
}

/// Reads a regular file of limited size.
pub(crate) fn read_bounded(path: &Path) -> Option<String> {
    // Opening a named pipe would block, so the file type is checked first.
    let is_readable = |facts: std::fs::Metadata| facts.is_file() && facts.len() <= MAX_FILE_BYTES;
    if !is_readable(std::fs::metadata(path).ok()?) {
        return None;
    }
    let opened = std::fs::File::open(path).ok()?;
    if !is_readable(opened.metadata().ok()?) {
        return None;
    }
    let mut text = String::new();
    opened.take(MAX_FILE_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Writes a file that only its owner can read. A catalog may reveal much about its user.
pub(crate) fn write_atomically(path: &Path, text: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        create_private_directory(folder)?;
    }
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let draft = path.with_extension(format!("{}-{}.new", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    // A killed process may have left a file with another mode.
    let _ = std::fs::remove_file(&draft);
    make_private(OpenOptions::new().write(true).create_new(true)).open(&draft)?.write_all(text)?;
    std::fs::rename(&draft, path)
}

/// A file of an upstream in the cache folder, named after its settings.
pub(crate) fn catalog_path(settings: &Settings, ending: &str) -> Option<PathBuf> {
    let folder = settings.cache_dir.as_ref()?;
    let name: String = settings.name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(32).collect();
    Some(folder.join(format!("{name}-{}.{ending}", settings.fingerprint())))
}

/// A file of an upstream that keeps its name when the settings change.
pub(crate) fn identity_path(settings: &Settings, ending: &str) -> Option<PathBuf> {
    let folder = settings.cache_dir.as_ref()?;
    let name: String =
        settings.pin_name().chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(32).collect();
    Some(folder.join(format!("{name}-{}.{ending}", settings.identity())))
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::test_folder::TestFolder;

    /// Reading a named pipe without a writer or an endless device would never return.
    #[test]
    fn only_regular_files_are_read() {
        let folder = TestFolder::new("cache");
        let file = |name: &str| folder.0.join(name);
        std::fs::write(file("plain"), "text").unwrap();
        let made = std::process::Command::new("mkfifo").arg(file("pipe")).status().unwrap();
        assert!(made.success());
        for (link, target) in [("zero", Path::new("/dev/zero")), ("linked", &file("plain")), ("to_pipe", &file("pipe"))]
        {
            std::os::unix::fs::symlink(target, file(link)).unwrap();
        }
        let names = ["plain", "linked", "pipe", "to_pipe", "zero", "."].map(file);
        let (done, finished) = std::sync::mpsc::channel();
        std::thread::spawn(move || done.send(names.map(|path| read_bounded(&path))).unwrap());
        let read = finished.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
        let text = Some("text".to_owned());
        assert_eq!(read, [text.clone(), text, None, None, None, None]);
    }
}
