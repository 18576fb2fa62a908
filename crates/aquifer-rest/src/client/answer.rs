//! Responses of a target.

use aquifer_protocol::exact_number;
use bytes::Bytes;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};
use serde_json::Value;

use crate::error::{RestError, RestProblem};

/// A response with its body. Outside the client, only successful ones are visible.
#[derive(Clone)]
pub struct HttpAnswer {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The media type without parameters, in lower case, if the target states one.
    pub media_type: Option<String>,
    /// The body, decompressed.
    pub body: Bytes,
    /// The URL that responded, without credentials.
    pub url: String,
    /// Whether the target was still sending when a limit was reached. Only streams of events are cut.
    pub is_partial: bool,
    /// Whether the request may have changed something.
    pub(super) is_in_doubt: bool,
}

impl HttpAnswer {
    pub(super) fn new(status: u16, headers: HeaderMap, body: Bytes, url: String) -> Self {
        let media_type = media_type(&headers);
        Self { status, headers, media_type, body, url, is_partial: false, is_in_doubt: false }
    }

    /// Whether the body is JSON by its media type.
    pub fn is_json(&self) -> bool {
        self.media_type.as_deref().is_some_and(|media_type| {
            media_type == "application/json" || media_type == "text/json" || media_type.ends_with("+json")
        })
    }

    /// The body as JSON, or null if it is empty. Numbers with more digits than a double has are held as text
    /// ([`exact_number`]). The media type is ignored, because many targets state a wrong one.
    ///
    /// # Errors
    ///
    /// If the body is not JSON.
    pub fn json(&self) -> Result<Value, RestError> {
        self.parse(exact_number::parse)
    }

    /// The same with all numbers as the target writes them, to send them back.
    ///
    /// # Errors
    ///
    /// If the body is not JSON.
    pub fn json_as_written(&self) -> Result<Value, RestError> {
        self.parse(exact_number::parse_as_written)
    }

    fn parse(&self, parse: fn(&str) -> serde_json::Result<Value>) -> Result<Value, RestError> {
        const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
        let text = self.body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&self.body);
        if text.trim_ascii().is_empty() {
            return Ok(Value::Null);
        }
        let parsed = match std::str::from_utf8(text) {
            Ok(text) => parse(text),
            Err(_) => serde_json::from_slice(text),
        };
        parsed.map_err(|cause| {
            let media_type = self.media_type.as_deref().unwrap_or("no media type");
            let media_type = if media_type.len() > 100 { "another media type" } else { media_type };
            let cause = cause.to_string();
            let problem = if cause.starts_with("recursion limit") { "nested too deeply" } else { "not JSON" };
            let problem = format!("{problem} ({media_type})");
            RestError::new(RestProblem::InvalidResponse { problem, cause }, self.is_in_doubt)
        })
    }
}

/// Omits the body, which may be long and may contain secrets.
impl std::fmt::Debug for HttpAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpAnswer")
            .field("status", &self.status)
            .field("media_type", &self.media_type)
            .field("body_bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// Whether a response consists of separate events, so that its beginning is useful without its end.
pub(super) fn is_event_stream(headers: &HeaderMap) -> bool {
    const STREAMS: &[&str] = &[
        "text/event-stream",
        "application/x-ndjson",
        "application/jsonl",
        "application/stream+json",
        "application/json-seq",
    ];
    media_type(headers).is_some_and(|media_type| STREAMS.contains(&media_type.as_str()))
}

/// Whether the body is still encoded: the client decodes what it asked for, and then removes the header.
pub(super) fn is_encoded(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_ENCODING).is_some_and(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

fn media_type(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let essence = text.split(';').next()?.trim().to_ascii_lowercase();
    essence.split_once('/').is_some_and(|(main, subtype)| !main.is_empty() && !subtype.is_empty()).then_some(essence)
}
