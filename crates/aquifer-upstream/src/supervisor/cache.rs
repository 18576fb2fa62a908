//! Caches the catalog of an upstream, so that callers do not wait for it to start. Contains the raw capture and no
//! secrets.

use aquifer_discovery::OmittedTools;
use aquifer_discovery::bundle::{RawCapture, ServerIdentity};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::client::connection::ProtocolMode;
use crate::client::interrogation::Interrogation;
use crate::settings::Settings;
use crate::state_file::{catalog_path, read_bounded, write_atomically};

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
