//! Requests what a server offers, without calling any tool (R-DIS-1), except `introspect` of an MCP-AQL server.

use std::collections::HashSet;
use std::sync::Arc;

use aquifer_discovery::bundle::{RawCapture, ServerIdentity};
use aquifer_discovery::warning::{self, BundleWarning};
use aquifer_discovery::{Bundle, OmittedTools, normalize};
use aquifer_protocol::error::Failure;
use jiff::Timestamp;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::aql;
use super::connection::{Connection, ProtocolMode};
use super::message::Json;
use super::pending_calls::CallOrigin;
use crate::error::UpstreamError;
use crate::sanitize::Sanitizer;
use crate::settings::Settings;

/// Maximum number of pages of one list. Longer lists are truncated.
const MAX_PAGES: usize = 1_000;

/// What a server reports about itself.
#[derive(Debug, Clone)]
pub struct Interrogation {
    /// Its tools, byte for byte.
    pub capture: RawCapture,
    /// Its name and version.
    pub server: ServerIdentity,
    /// The MCP revision it speaks.
    pub protocol: String,
    /// Its usage instructions, sanitized.
    pub instructions: Option<String>,
    /// Its capabilities as MCP defines them.
    pub capabilities: Value,
    /// Tools that were left out because they exceed a limit.
    pub left_out: OmittedTools,
}

impl Interrogation {
    /// The discovery bundle.
    pub fn bundle(&self, settings: &Settings, captured_at: Timestamp) -> Bundle {
        let source = settings.source(captured_at, Some(self.server.clone()));
        let mut bundle = normalize(source, self.capture.clone());
        if let Some(message) = self.left_out.message(&settings.limits) {
            bundle.normalized_bundle.warnings.push(BundleWarning::new(warning::TOOLS_LEFT_OUT, format!("{message}.")));
        }
        bundle
    }

    /// A digest over all fields.
    pub(crate) fn digest(&self) -> [u8; 32] {
        let Self { capture, server, protocol, instructions, capabilities, left_out } = self;
        // What was parsed can be serialized.
        let text = serde_json::to_vec(&(capture, server, protocol, instructions, capabilities, left_out));
        Sha256::digest(text.unwrap_or_default()).into()
    }

    pub(crate) fn from_connection(connection: &Connection, capture: RawCapture, left_out: OmittedTools) -> Self {
        let handshake = &connection.handshake;
        Self {
            capture,
            server: handshake.server.clone(),
            protocol: handshake.protocol.clone(),
            instructions: handshake.instructions.clone(),
            capabilities: handshake.capabilities.clone(),
            left_out,
        }
    }
}

/// Asks a server for its identity and its tools, then disconnects. No tool is called.
pub async fn interrogate(settings: &Settings) -> Result<Interrogation, Failure> {
    let sanitizer = Sanitizer::new(settings);
    let to_failure = |error: UpstreamError| error.into_start_failure(settings, &sanitizer);
    let request = async {
        let connection = Connection::open(settings, &sanitizer, ProtocolMode::default()).await?;
        let tool_list = list_tools(&connection, settings).await?;
        Ok(Interrogation::from_connection(&connection, tool_list.capture, tool_list.left_out))
    };
    // Boxed to keep the callers' futures small.
    match tokio::time::timeout(settings.max_start_time(), Box::pin(request)).await {
        Ok(request) => request.map_err(to_failure),
        Err(_) => Err(to_failure(UpstreamError::TimedOut)),
    }
}

/// The tools that a server listed.
pub(crate) struct ToolList {
    pub(crate) capture: RawCapture,
    pub(crate) left_out: OmittedTools,
    /// How many tool changes the server had announced when the list was requested.
    pub(crate) changes: u64,
}

/// Requests all pages of the tool list and leaves out tools that exceed a limit. Endpoints of an MCP-AQL server are
/// replaced by its operations. The connection is stale from here on
/// until [`Connection::mark_fresh`] reports that the list is served.
pub(crate) async fn list_tools(connection: &Connection, settings: &Settings) -> Result<ToolList, UpstreamError> {
    let changes = *connection.shared.tools_changed.borrow();
    let (pages, is_cut) =
        match list_pages_bounded(connection, settings, "tools/list", Some(settings.limits.max_tools)).await {
            // Servers without tools may not implement the method.
            Err(UpstreamError::Refused(error))
                if error.code == -32601 && connection.handshake.capabilities.get("tools").is_none() =>
            {
                (Vec::new(), false)
            }
            pages => pages?,
        };
    let operations = aql::expand(connection, settings, &pages).await?;
    connection.mark_stale();
    let mut texts: Vec<&str> = match &operations {
        Some(operations) => vec![operations],
        None => pages.iter().map(Json::text).collect(),
    };
    if texts.is_empty() {
        texts.push("{\"tools\":[]}");
    }
    let capture = RawCapture::from_pages(&texts).map_err(|cause| UpstreamError::InvalidResponse(cause.to_string()))?;
    let (capture, left_out) = capture.within(&settings.limits);
    Ok(ToolList { capture, left_out: OmittedTools { is_cut, ..left_out }, changes })
}

/// Requests all pages of a list. All pages together must not exceed the maximum size of one response.
pub(crate) async fn list_pages(
    connection: &Connection,
    settings: &Settings,
    method: &str,
) -> Result<Vec<Json>, UpstreamError> {
    list_pages_bounded(connection, settings, method, None).await.map(|(pages, _)| pages)
}

/// Requests the pages of a list. If the list is too long, returns the pages read so far and that it was truncated.
async fn list_pages_bounded(
    connection: &Connection,
    settings: &Settings,
    method: &str,
    max_tools: Option<usize>,
) -> Result<(Vec<Json>, bool), UpstreamError> {
    #[derive(Serialize)]
    struct Params<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        cursor: Option<&'a str>,
        #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<Value>,
    }
    #[derive(Deserialize)]
    struct Page {
        #[serde(rename = "nextCursor", default)]
        next: Option<String>,
        /// Only the number of tools is used.
        #[serde(default)]
        tools: Vec<IgnoredAny>,
    }
    let (mut pages, mut bytes, mut tools): (Vec<Json>, usize, usize) = (Vec::new(), 0, 0);
    let (mut cursor, mut seen): (Option<String>, HashSet<String>) = (None, HashSet::new());
    loop {
        let origin = Arc::new(CallOrigin::internal());
        let params = |_| Params { cursor: cursor.as_deref(), meta: connection.meta(None) };
        let page = connection.request(method, None, origin, settings.start_timeout, params).await?;
        bytes += page.text().len();
        if bytes > settings.max_answer_bytes {
            return if pages.is_empty() { Err(UpstreamError::TooLarge { size: bytes }) } else { Ok((pages, true)) };
        }
        let parsed = serde_json::from_str::<Page>(page.text()).ok();
        tools += parsed.as_ref().map_or(0, |page| page.tools.len());
        pages.push(page);
        let is_full = max_tools.is_some_and(|max_tools| tools > max_tools);
        match parsed.and_then(|page| page.next).filter(|next| !next.is_empty()) {
            None => return Ok((pages, false)),
            Some(next) if pages.len() < MAX_PAGES && !is_full && seen.insert(next.clone()) => cursor = Some(next),
            Some(_) => {
                tracing::warn!(source = &*connection.shared.name, method, "the list is too long; the rest is left out");
                return Ok((pages, true));
            }
        }
    }
}
