//! Request headers and cookies, and the headers that no parameter may set.

use aquifer_protocol::error::Failure;
use serde_json::Value;

use super::encoding::Escape;
use super::notation::{self, Pair};
use super::{Notation, RouteParameter};

/// Headers that determine the host, the credentials and the message framing. Only the client sets them.
const RESERVED: &[&str] = &[
    "accept-encoding",
    "authorization",
    "connection",
    "content-encoding",
    "content-length",
    "cookie",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Names of headers, query parameters and body fields with which servers override the method or the path of a request.
const OVERRIDES: &[&str] = &[
    "-method",
    "-http-method",
    "-httpmethod",
    "$httpmethod",
    "%24httpmethod",
    "x-http-method",
    "x-http-method-override",
    "x-method",
    "x-method-override",
    "x-original-method",
    "x-original-url",
    "x-rewrite-url",
];

/// Whether only the client may set a header. Many servers treat `_` and `-` alike.
pub fn is_reserved_header(name: &str) -> bool {
    let normalized = name.to_ascii_lowercase().replace('_', "-");
    RESERVED.contains(&normalized.as_str()) || normalized.starts_with("proxy-") || is_override(name)
}

/// Whether a parameter of this name turns the request into another one than was classified: `_method=DELETE`.
pub(crate) fn is_override(name: &str) -> bool {
    OVERRIDES.contains(&name.to_ascii_lowercase().replace('_', "-").as_str())
}

/// Refuses a name that turns the request into another one than was classified.
pub(super) fn refuse_override(parameter: &str, name: &str) -> Result<(), Failure> {
    match is_override(name) {
        true => {
            Err(Failure::invalid_value(parameter, format_args!("cannot contain '{name}', which changes the method")))
        }
        false => Ok(()),
    }
}

/// Writes a parameter as a header. `None` if the value is omitted.
pub(super) fn header(
    parameter: &RouteParameter,
    value: &Value,
    notation: Notation,
) -> Result<Option<(String, String)>, Failure> {
    let (name, original) = (&parameter.name, &parameter.original_name);
    // OpenAPI ignores parameters of these names. The route sets both headers.
    let is_set_by_route = ["accept", "content-type"].iter().any(|known| original.eq_ignore_ascii_case(known));
    if is_reserved_header(original) || is_set_by_route || !is_token(original) {
        return Err(Failure::invalid_value(name, format_args!("cannot be sent as the header '{original}'")));
    }
    let Some(text) = notation::text(original, value, notation, Escape::Nothing) else { return Ok(None) };
    let text = if notation == Notation::Json { with_ascii_only(&text) } else { text };
    if !is_field_value(&text) {
        return Err(Failure::invalid_value(name, "contains a character that a header cannot contain"));
    }
    Ok(Some((original.to_string(), text.trim().to_owned())))
}

/// The cookies of a parameter.
pub(super) fn cookies(parameter: &RouteParameter, value: &Value, notation: Notation) -> Result<Vec<Pair>, Failure> {
    let (name, original) = (&parameter.name, &parameter.original_name);
    let pairs = notation::pairs(original, value, notation, Escape::Cookie);
    let has_control = |text: &str| text.chars().any(char::is_control);
    if holds_text(value, &has_control) {
        return Err(Failure::invalid_value(name, "contains a control character, which a cookie cannot contain"));
    }
    Ok(pairs)
}

/// Whether a header name is valid (RFC 9110, section 5.6.2).
pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// Whether a header value is valid. Servers interpret bytes outside ASCII differently.
pub(super) fn is_field_value(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'))
}

/// Whether a text is a media type, with or without parameters.
pub(super) fn is_media_type(text: &str) -> bool {
    let (essence, _) = text.split_once(';').unwrap_or((text, ""));
    let is_pair = essence.trim().split_once('/').is_some_and(|(main, subtype)| is_token(main) && is_token(subtype));
    is_pair && is_field_value(text)
}

/// Whether any string in a value, including member names, meets a condition.
pub(super) fn holds_text(value: &Value, condition: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => condition(text),
        Value::Array(items) => items.iter().any(|item| holds_text(item, condition)),
        Value::Object(members) => members.iter().any(|(name, member)| condition(name) || holds_text(member, condition)),
        _ => false,
    }
}

/// Replaces all other characters of a JSON text by `\u` escapes.
fn with_ascii_only(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() && c != '\u{7f}' {
            out.push(c);
        } else {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        }
    }
    out
}
