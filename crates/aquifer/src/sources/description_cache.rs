//! The last good description of an API that is named by its URL, so that a start without network can serve it.

use std::path::{Path, PathBuf};

use aquifer_protocol::hex::hex_prefix;
use aquifer_rest::openapi;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::config::StateAccess;
use crate::state::write_private;
use crate::system::create_private_directory;

/// The file with the last good description of one URL.
#[derive(Debug, Clone)]
pub(super) struct DescriptionCache {
    file: PathBuf,
    access: StateAccess,
}

impl DescriptionCache {
    /// The file for this URL. Its name does not show the URL, which may contain a key.
    pub(super) fn new(folder: &Path, url: &str, access: StateAccess) -> Self {
        Self { file: folder.join(format!("{}.json", hex_prefix(&Sha256::digest(url), 16))), access }
    }

    /// Remembers a description, unless the state is only inspected. Failures cost nothing but a start without network.
    pub(super) fn store(&self, description: &Value) {
        if self.access == StateAccess::Inspect {
            return;
        }
        let written = self.file.parent().map_or(Ok(()), create_private_directory);
        let bytes = serde_json::to_vec(description).unwrap_or_default();
        // A file that has this content already is not written again.
        if std::fs::read(&self.file).is_ok_and(|known| known == bytes) {
            return;
        }
        if let Err(error) = written.and_then(|()| write_private(&self.file, &bytes)) {
            tracing::debug!("a description cannot be kept for later: {error}");
        }
    }

    /// The last good description.
    pub(super) fn load(&self) -> Option<Value> {
        let text = crate::files::read(&self.file).ok()?;
        openapi::parse(&text).ok()
    }
}
