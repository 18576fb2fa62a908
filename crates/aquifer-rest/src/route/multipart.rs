//! Multipart data (RFC 7578).
//!
//! The boundary is a digest of the content, so that an author of the content cannot predict it. It is still checked
//! against the content.

use std::borrow::Cow;

use aquifer_protocol::error::Failure;
use aquifer_protocol::hex::hex_prefix;
use bytes::Bytes;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::body::{Field, decode, is_json, media_type_or, wrong_type};
use super::encoding::Escape;
use super::header::is_media_type;
use super::request::RequestBody;
use super::{FieldEncoding, notation};

/// The number of digest bytes in a boundary.
const BOUNDARY_BYTES: usize = 16;

struct Part<'a> {
    name: Cow<'a, str>,
    filename: Option<String>,
    media_type: Option<String>,
    content: Bytes,
}

/// Encodes fields as multipart data. The boundary is added to the media type.
pub(super) fn body(media_type: &str, fields: &[Field<'_>]) -> Result<RequestBody, Failure> {
    let mut parts = Vec::with_capacity(fields.len());
    for field in fields {
        push_parts(&mut parts, field)?;
    }
    let boundary = boundary(&parts);
    let mut bytes = Vec::new();
    for part in &parts {
        bytes.extend_from_slice(format!("--{boundary}\r\n{}\r\n", part.headers()).as_bytes());
        bytes.extend_from_slice(&part.content);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    let essence = media_type.split(';').next().unwrap_or_default();
    let media_type = format!("{}; boundary={boundary}", media_type_or(essence, "multipart/form-data"));
    Ok(RequestBody { media_type, bytes: bytes.into() })
}

/// Appends the parts of a field: one, or one for each item of an array.
fn push_parts<'a>(parts: &mut Vec<Part<'a>>, field: &Field<'a>) -> Result<(), Failure> {
    match (field.encoding, field.value) {
        (_, Value::Null) => {}
        (Some(FieldEncoding::Notation(notation)), value) => {
            for (name, text) in notation::pairs(field.name, value, *notation, Escape::Nothing) {
                parts.push(Part { name: name.into(), filename: None, media_type: None, content: text.into() });
            }
        }
        (Some(FieldEncoding::MediaType(media_type)), value) if is_json(media_type) => {
            parts.push(json_part(field.name, media_type, value));
        }
        (_, Value::Array(items)) => {
            for item in items.iter().filter(|item| !item.is_null()) {
                parts.push(part(field, item)?);
            }
        }
        (_, value) => parts.push(part(field, value)?),
    }
    Ok(())
}

fn part<'a>(field: &Field<'a>, value: &Value) -> Result<Part<'a>, Failure> {
    let media_type = match field.encoding {
        Some(FieldEncoding::File) => return file_part(field, value),
        Some(FieldEncoding::MediaType(media_type)) => Some(checked_media_type(field.parameter, media_type)?),
        _ if value.is_object() || value.is_array() => return Ok(json_part(field.name, "application/json", value)),
        _ => None,
    };
    let content = notation::scalar(value).unwrap_or_default().into();
    Ok(Part { name: field.name.into(), filename: None, media_type, content })
}

fn json_part<'a>(name: &'a str, media_type: &str, value: &Value) -> Part<'a> {
    Part {
        name: name.into(),
        filename: None,
        media_type: Some(media_type.to_owned()),
        content: value.to_string().into(),
    }
}

/// A file: base64, or an object with `content`, `filename` and `media_type`.
fn file_part<'a>(field: &Field<'a>, value: &Value) -> Result<Part<'a>, Failure> {
    let parameter = field.parameter;
    let (content, filename, media_type) = match value {
        Value::String(text) => (text.as_str(), None, None),
        Value::Object(file) => {
            let text = |name: &str| match file.get(name) {
                None | Some(Value::Null) => Ok(None),
                Some(Value::String(text)) => Ok(Some(text.as_str())),
                Some(other) => Err(wrong_type(&format!("{parameter}.{name}"), "string", other)),
            };
            let content = text("content")?.ok_or_else(|| Failure::invalid_value(parameter, "has no 'content'"))?;
            (content, text("filename")?, text("media_type")?)
        }
        other => return Err(wrong_type(parameter, "string", other)),
    };
    Ok(Part {
        name: field.name.into(),
        filename: Some(filename.filter(|name| !name.is_empty()).unwrap_or(field.name).to_owned()),
        media_type: Some(checked_media_type(parameter, media_type.unwrap_or("application/octet-stream"))?),
        content: decode(parameter, content)?,
    })
}

fn checked_media_type(parameter: &str, media_type: &str) -> Result<String, Failure> {
    let media_type = media_type_or(media_type, "application/octet-stream");
    if is_media_type(&media_type) {
        return Ok(media_type);
    }
    Err(Failure::invalid_value(parameter, "has an invalid media type"))
}

impl Part<'_> {
    fn headers(&self) -> String {
        let mut text = format!("Content-Disposition: form-data; name=\"{}\"", quoted(&self.name));
        if let Some(filename) = &self.filename {
            text.push_str(&format!("; filename=\"{}\"", quoted(filename)));
        }
        text.push_str("\r\n");
        if let Some(media_type) = &self.media_type {
            text.push_str(&format!("Content-Type: {media_type}\r\n"));
        }
        text
    }

    fn contains(&self, needle: &[u8]) -> bool {
        let headers = self.headers();
        [&*self.content, headers.as_bytes()]
            .iter()
            .any(|text| text.windows(needle.len()).any(|window| window == needle))
    }
}

/// Escapes a text for quotation marks as browsers do, and all control characters as well.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '"' || c.is_control() {
            Escape::Unreserved.push(&mut out, c.encode_utf8(&mut [0; 4]));
        } else {
            out.push(c);
        }
    }
    out
}

fn boundary(parts: &[Part<'_>]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part.headers());
        digest.update(&part.content);
    }
    loop {
        let boundary = format!("aquifer-{}", hex_prefix(&digest.clone().finalize(), BOUNDARY_BYTES));
        if !parts.iter().any(|part| part.contains(boundary.as_bytes())) {
            return boundary;
        }
        digest.update(b"again");
    }
}
