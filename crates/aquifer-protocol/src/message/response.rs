//! The response envelope: either a success or a failure (R-RES-1).

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::batch::BatchAnswer;
use crate::error::Failure;
use crate::exact_number;
use crate::limits::{LimitKind, Limits};
use crate::warning::{Warning, arrange};

pub use crate::error::too_large;

/// The result of an operation.
#[derive(Debug, Clone)]
pub enum Data {
    /// As a value.
    Value(Value),
    /// JSON text that is already assembled and is not parsed again.
    Text(JsonText),
}

/// JSON text whose creator guarantees that it is valid and contains only numbers that JSON parsers can represent.
#[derive(Debug, Clone)]
pub struct JsonText(Arc<String>);

impl JsonText {
    /// Text that is known to be valid JSON. It is sent unchanged; only tests check it.
    pub fn vouched(text: String) -> Self {
        debug_assert!(serde_json::from_str::<Value>(&text).is_ok(), "not JSON: {text}");
        Self(Arc::new(text))
    }

    /// Text from elsewhere, if it is valid JSON, and not nested so deeply that parsers refuse it.
    pub fn checked(text: String) -> Option<Self> {
        let is_fine = if is_nested_deeply(text.as_bytes()) {
            false
        } else if may_hold_huge_number(text.as_bytes()) {
            serde_json::from_str::<Value>(&text).is_ok()
        } else {
            serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok()
        };
        is_fine.then(|| Self(Arc::new(text)))
    }

    /// The text.
    pub fn get(&self) -> &str {
        &self.0
    }
}

impl From<&Value> for JsonText {
    fn from(value: &Value) -> Self {
        Self(Arc::new(value.to_string()))
    }
}

impl From<Value> for Data {
    fn from(value: Value) -> Self {
        Data::Value(value)
    }
}

/// Content of an answer that is sent beside the JSON text: images, audio, files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attachment {
    /// An image.
    Image {
        /// Its media type.
        media_type: String,
        /// Its bytes in base64.
        base64: String,
    },
    /// Audio.
    Audio {
        /// Its media type.
        media_type: String,
        /// Its bytes in base64.
        base64: String,
    },
    /// A link to a resource.
    Link {
        /// Its URI.
        uri: String,
        /// Its name.
        name: String,
    },
    /// A content block of an upstream, as JSON text. It is passed on unchanged.
    Verbatim(String),
}

impl Attachment {
    /// Its size in bytes.
    pub fn size(&self) -> usize {
        match self {
            Attachment::Image { base64, .. } | Attachment::Audio { base64, .. } => base64.len(),
            Attachment::Link { uri, name } => uri.len() + name.len(),
            Attachment::Verbatim(json) => json.len(),
        }
    }
}

/// The approximate size of a value as text, in bytes.
pub(crate) fn size_of(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(elements) => 2 + elements.iter().map(|element| size_of(element) + 1).sum::<usize>(),
        Value::Object(fields) => 2 + fields.iter().map(|(name, field)| name.len() + 4 + size_of(field)).sum::<usize>(),
    }
}

/// Metadata of an answer, sent if configured.
#[derive(Debug, Clone, Serialize)]
pub struct Meta {
    /// The id of the request in the log.
    pub request_id: String,
    /// How long it took.
    pub duration_ms: f64,
}

/// A successful answer.
#[derive(Debug, Clone)]
pub struct Success {
    /// The result.
    pub data: Data,
    /// Warnings.
    pub warnings: Vec<Warning>,
    /// Attachments, which `data` refers to by index.
    pub attachments: Vec<Attachment>,
    /// Metadata, only if configured, because it costs tokens.
    pub meta: Option<Meta>,
}

impl Success {
    /// A success with data only.
    pub fn new(data: impl Into<Data>) -> Self {
        Self { data: data.into(), warnings: Vec::new(), attachments: Vec::new(), meta: None }
    }
}

/// The answer to a request.
#[derive(Debug, Clone)]
pub enum Response {
    /// A success.
    Success(Success),
    /// A refusal or an error.
    Failure(Failure),
    /// The answer to a batch.
    Batch(BatchAnswer),
}

/// A response in the form that is sent over MCP.
#[derive(Debug)]
pub struct RenderedResponse {
    /// Compact JSON.
    pub text: String,
    /// Attachments.
    pub attachments: Vec<Attachment>,
    /// Whether the failure is outside the caller's control (R-RES-3a).
    pub is_error: bool,
    value: Option<Value>,
}

impl RenderedResponse {
    /// The same JSON as a value. Parsed from the text if there is no value yet.
    pub fn value(&mut self) -> Value {
        self.value.take().unwrap_or_else(|| serde_json::from_str(&self.text).unwrap_or_default())
    }
}

impl Response {
    /// The failure, if it is one.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Response::Failure(failure) => Some(failure),
            _ => None,
        }
    }

    /// Renders the envelope within the limit on responses (R-REQ-7).
    pub fn render(self, limits: &Limits) -> RenderedResponse {
        match self {
            Response::Success(Success { data: Data::Text(data), warnings, attachments, meta })
                if !has_long_number(data.get()) =>
            {
                let attached: usize = attachments.iter().map(Attachment::size).sum();
                let text = spliced(data.get(), warnings, meta.as_ref());
                let size = text.len() + attached;
                if size > limits.max_response_size {
                    return too_large_response(limits.max_response_size, size, false);
                }
                RenderedResponse { text, attachments, is_error: false, value: None }
            }
            other => other.render_value(limits),
        }
    }

    fn render_value(self, limits: &Limits) -> RenderedResponse {
        let with_parsed_data = self.with_parsed_data();
        let is_batch = matches!(with_parsed_data, Response::Batch(_));
        let is_error = with_parsed_data.failure().is_some_and(|failure| failure.code().is_beyond_caller());
        let (value, attachments) = with_parsed_data.into_value();
        let attached: usize = attachments.iter().map(Attachment::size).sum();
        let mut text = BoundedText { bytes: Vec::with_capacity(256), limit: limits.max_response_size, size: attached };
        match serde_json::to_writer(&mut text, &value) {
            Ok(()) if text.size <= text.limit => {
                // serde_json writes UTF-8 only.
                let text = String::from_utf8(text.bytes).unwrap_or_default();
                RenderedResponse { text, attachments, is_error, value: Some(value) }
            }
            _ => too_large_response(text.limit, text.size, is_batch),
        }
    }

    /// The same response with its data as a value. Detects invalid text from a source before the answer counts as a
    /// success.
    pub(crate) fn with_parsed_data(self) -> Self {
        match self {
            Response::Success(Success { data: Data::Text(text), warnings, attachments, meta }) => {
                match exact_number::parse(text.get()) {
                    Ok(value) => Response::Success(Success { data: value.into(), warnings, attachments, meta }),
                    Err(cause) => Response::Failure(Failure::internal(format!("a source's text is not JSON: {cause}"))),
                }
            }
            other => other,
        }
    }

    /// The envelope as a value, and the attachments.
    pub fn into_value(self) -> (Value, Vec<Attachment>) {
        match self.with_parsed_data() {
            Response::Success(success) => success_value(success),
            Response::Failure(failure) => (failure_value(&failure), Vec::new()),
            Response::Batch(batch) => batch.into_value(),
        }
    }
}

fn success_value(success: Success) -> (Value, Vec<Attachment>) {
    let mut data = match success.data {
        Data::Value(value) => value,
        // `with_parsed_data` has turned text into a value.
        Data::Text(_) => Value::Null,
    };
    protect_numbers(&mut data);
    let mut envelope = Map::with_capacity(4);
    envelope.insert("success".to_owned(), Value::Bool(true));
    let warnings = arrange(success.warnings);
    if warnings.iter().any(Warning::is_before_data) {
        envelope.insert("warnings".to_owned(), json!(warnings));
    }
    envelope.insert("data".to_owned(), data);
    if !warnings.is_empty() && !envelope.contains_key("warnings") {
        envelope.insert("warnings".to_owned(), json!(warnings));
    }
    if let Some(meta) = success.meta {
        envelope.insert("_meta".to_owned(), json!(meta));
    }
    (Value::Object(envelope), success.attachments)
}

fn failure_value(failure: &Failure) -> Value {
    json!({ "success": false, "error": failure })
}

/// Converts numbers that JavaScript would round to strings: integers (R-RES-5), and numbers with more digits than a
/// double has.
fn protect_numbers(value: &mut Value) {
    const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;
    match value {
        Value::Number(number) => {
            let unsafe_integer = number.as_u64().is_some_and(|n| n > MAX_SAFE_INTEGER)
                || number.as_i64().is_some_and(|n| n.unsigned_abs() > MAX_SAFE_INTEGER);
            if unsafe_integer {
                *value = Value::String(number.to_string());
            }
        }
        Value::String(text) => {
            if let Some(number) = exact_number::held_number(text) {
                *text = number.to_owned();
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(protect_numbers),
        Value::Object(fields) => fields.values_mut().for_each(protect_numbers),
        _ => {}
    }
}

/// Whether a JSON text may contain an integer that has to be converted: sixteen consecutive digits. Every sixteenth
/// byte is checked first, which is nearly always sufficient.
fn has_long_number(text: &str) -> bool {
    const LONG_NUMBER_DIGITS: usize = 16;
    let bytes = text.as_bytes();
    let mut start = LONG_NUMBER_DIGITS - 1;
    while let Some(byte) = bytes.get(start) {
        if byte.is_ascii_digit() {
            let before = bytes.iter().take(start).rev().take_while(|byte| byte.is_ascii_digit()).count();
            let after = bytes.iter().skip(start).take_while(|byte| byte.is_ascii_digit()).count();
            if before + after >= LONG_NUMBER_DIGITS {
                return true;
            }
            start += after.max(1) + LONG_NUMBER_DIGITS - 1;
        } else {
            start += LONG_NUMBER_DIGITS;
        }
    }
    false
}

/// Whether the text may contain a number outside the range of a double: one with an exponent, or with hundreds of
/// digits.
pub fn may_hold_huge_number(text: &[u8]) -> bool {
    const MAX_SAFE_DIGITS: usize = 300;
    let mut run = 0;
    text.iter().any(|byte| {
        let exponent = run > 0 && matches!(byte, b'e' | b'E');
        run = if byte.is_ascii_digit() { run + 1 } else { 0 };
        exponent || run > MAX_SAFE_DIGITS
    })
}

/// Whether a JSON text has more levels than common parsers accept.
fn is_nested_deeply(text: &[u8]) -> bool {
    const MAX_DEPTH: usize = 127;
    let is_opening = |byte: &&u8| matches!(**byte, b'[' | b'{');
    if text.iter().filter(is_opening).count() <= MAX_DEPTH {
        return false;
    }
    let (mut depth, mut is_string, mut is_escaped) = (0_usize, false, false);
    text.iter().any(|byte| {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_string,
            b'"' => is_string = !is_string,
            b'[' | b'{' if !is_string => depth += 1,
            b']' | b'}' if !is_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > MAX_DEPTH
    })
}

/// Writes the envelope around existing text, which is copied without being serialized again.
fn spliced(data: &str, warnings: Vec<Warning>, meta: Option<&Meta>) -> String {
    const BEGIN: &str = "{\"success\":true";
    const DATA: &str = ",\"data\":";
    let mut text = String::with_capacity(BEGIN.len() + DATA.len() + data.len() + 1);
    let warnings = arrange(warnings);
    let is_first = warnings.iter().any(Warning::is_before_data);
    let write_warnings = |text: &mut String| {
        text.push_str(",\"warnings\":");
        text.push_str(&json!(warnings).to_string());
    };
    text.push_str(BEGIN);
    if is_first {
        write_warnings(&mut text);
    }
    text.push_str(DATA);
    text.push_str(data);
    if !warnings.is_empty() && !is_first {
        write_warnings(&mut text);
    }
    if let Some(meta) = meta {
        text.push_str(",\"_meta\":");
        text.push_str(&json!(meta).to_string());
    }
    text.push('}');
    text
}

/// The failure that replaces an answer that exceeds the limit.
fn too_large_response(limit: usize, size: usize, is_batch: bool) -> RenderedResponse {
    let failure = too_large(LimitKind::ResponseSize, limit, size);
    let failure = if is_batch { failure.without_details() } else { failure };
    Response::Failure(failure).render_value(&Limits::default())
}

/// Discards bytes beyond the limit but continues to count them, to report the actual size.
struct BoundedText {
    bytes: Vec<u8>,
    limit: usize,
    size: usize,
}

impl std::io::Write for BoundedText {
    fn write(&mut self, chunk: &[u8]) -> std::io::Result<usize> {
        self.size += chunk.len();
        if self.size <= self.limit {
            self.bytes.extend_from_slice(chunk);
        }
        Ok(chunk.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
