//! Media types: which one is used for a body, and which ones are accepted.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::route::BodyEncoding;

/// The maximum length of a media type.
const MAX_LEN: usize = 200;

/// The maximum number of media types in `Accept`.
const MAX_ACCEPTED: usize = 4;

/// The media type without its parameters, in lower case.
fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Whether the media type is JSON.
pub(super) fn is_json(media_type: &str) -> bool {
    let essence = essence(media_type);
    matches!(essence.as_str(), "application/json" | "text/json" | "*/*" | "application/*") || essence.ends_with("+json")
}

/// Whether the media type is a form.
pub(super) fn is_form(media_type: &str) -> bool {
    essence(media_type) == "application/x-www-form-urlencoded"
}

/// Whether the text can be sent in a header.
fn is_valid(media_type: &str) -> bool {
    media_type.len() <= MAX_LEN
        && media_type.contains('/')
        && media_type.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ')
}

/// The encoding of a body of this media type, and its rank: lower is better.
fn rank(media_type: &str) -> (u8, BodyEncoding) {
    let essence = essence(media_type);
    match essence.as_str() {
        "application/json" => (0, BodyEncoding::Json),
        "*/*" | "application/*" => (3, BodyEncoding::Json),
        "application/json-patch+json" => (2, BodyEncoding::Json),
        "application/x-www-form-urlencoded" => (4, BodyEncoding::Form),
        "multipart/form-data" => (5, BodyEncoding::Multipart),
        _ if is_json(media_type) => (1, BodyEncoding::Json),
        other if other.starts_with("multipart/") => (6, BodyEncoding::Multipart),
        other if other.starts_with("text/") => (7, BodyEncoding::Text),
        other if other.ends_with("/xml") || other.ends_with("+xml") || other.ends_with("yaml") => {
            (8, BodyEncoding::Text)
        }
        "application/x-ndjson" | "application/graphql" | "application/sql" => (8, BodyEncoding::Text),
        _ => (9, BodyEncoding::Binary),
    }
}

/// Chooses the media type of a body among those that an operation accepts.
pub(super) fn choose(content: &Map<String, Value>) -> Option<(Arc<str>, BodyEncoding, &Value)> {
    let usable = content.iter().filter(|(media_type, _)| is_valid(media_type));
    let Some((media_type, value)) = usable.min_by_key(|(media_type, _)| rank(media_type).0) else {
        // A misspelled JSON media type still means JSON.
        let (_, value) = content.iter().find(|(media_type, _)| media_type.to_ascii_lowercase().contains("json"))?;
        return Some(("application/json".into(), BodyEncoding::Json, value));
    };
    let (_, encoding) = rank(media_type);
    let sent = match (media_type.contains('*'), encoding) {
        (false, _) => media_type.trim(),
        (true, BodyEncoding::Json) => "application/json",
        (true, BodyEncoding::Text) => "text/plain",
        (true, BodyEncoding::Multipart | BodyEncoding::Form) => "multipart/form-data",
        (true, BodyEncoding::Binary) => "application/octet-stream",
    };
    Some((sent.into(), encoding, value))
}

/// Chooses the best of several media types for writing a body or reading a response.
pub(super) fn best(media_types: &[String]) -> Option<&String> {
    media_types.iter().min_by_key(|media_type| rank(media_type).0)
}

/// The media types of a response for `Accept`. If they include JSON, nothing else is accepted. Empty if there is only
/// plain JSON.
pub(super) fn accept(content: &Map<String, Value>) -> Arc<str> {
    let mut types: Vec<&str> = content.keys().map(|one| one.trim()).filter(|one| is_valid(one)).collect();
    if types.iter().any(|one| is_json(one)) {
        types.retain(|one| is_json(one));
    }
    types.sort_by_key(|media_type| rank(media_type).0);
    types.truncate(MAX_ACCEPTED);
    match types.as_slice() {
        [only] if matches!(essence(only).as_str(), "application/json" | "*/*") => "".into(),
        all => all.join(", ").into(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn content(types: &[&str]) -> Map<String, Value> {
        types.iter().map(|one| ((*one).to_owned(), json!({}))).collect()
    }

    #[test]
    fn json_comes_first() {
        for (types, sent, encoding) in [
            (["text/plain", "application/json"].as_slice(), "application/json", BodyEncoding::Json),
            (
                &["multipart/form-data", "application/x-www-form-urlencoded"],
                "application/x-www-form-urlencoded",
                BodyEncoding::Form,
            ),
            (&["application/xml", "application/vnd.api+json"], "application/vnd.api+json", BodyEncoding::Json),
            (&["application/json; charset=utf-8"], "application/json; charset=utf-8", BodyEncoding::Json),
            (&["*/*"], "application/json", BodyEncoding::Json),
            (&["applicationjson;version=1"], "application/json", BodyEncoding::Json),
            (&["image/*"], "application/octet-stream", BodyEncoding::Binary),
            (&["text/*"], "text/plain", BodyEncoding::Text),
            (&["application/zip", "application/xml"], "application/xml", BodyEncoding::Text),
        ] {
            let content = content(types);
            let (media_type, chosen, _) = choose(&content).unwrap();
            assert_eq!((&*media_type, chosen), (sent, encoding), "{types:?}");
        }
        assert!(choose(&content(&["no media type", "a/b\r\nx: y"])).is_none());
    }

    #[test]
    fn accept_lists_json_first() {
        for (types, expected) in [
            (["application/json"].as_slice(), ""),
            (&["text/csv", "application/json"], ""),
            (&["text/csv", "application/zip"], "text/csv, application/zip"),
            (&["application/vnd.x+json", "application/json"], "application/json, application/vnd.x+json"),
            (&["application/vnd.github+json"], "application/vnd.github+json"),
            (&[], ""),
        ] {
            assert_eq!(&*accept(&content(types)), expected);
        }
    }
}
