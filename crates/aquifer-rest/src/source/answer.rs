//! Converts responses of a target into answers: JSON as JSON, text as text, everything else as an attachment with its
//! media type.

use aquifer_engine::source::Answer;
use aquifer_protocol::exact_number;
use aquifer_protocol::response::{Attachment, Data, JsonText};
use aquifer_protocol::warning::Warning;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::list::exact_data;
use crate::client::HttpAnswer;
use crate::error::RestError;
use crate::pagination::at_path;

/// Converts a response into an answer. `unwrap` is the path of the result in the body.
pub(super) fn read(answer: &HttpAnswer, unwrap: Option<&str>) -> Result<Answer, RestError> {
    let read = read_body(answer, unwrap)?;
    let warnings = if answer.is_partial { vec![stream_warning()] } else { Vec::new() };
    Ok(Answer { warnings, ..read })
}

/// The warning for a stream that had not ended when it was read.
fn stream_warning() -> Warning {
    let message = "The API was still sending when the time or size limit of the call was reached. This is what arrived";
    Warning::new("RESULT_INCOMPLETE", message).before_data()
}

fn read_body(answer: &HttpAnswer, unwrap: Option<&str>) -> Result<Answer, RestError> {
    if answer.body.is_empty() {
        return Ok(Answer::new(json!({ "status": answer.status })));
    }
    if answer.is_json() {
        // JSON that need not be inspected is passed on unparsed.
        let text = unwrap.is_none().then(|| std::str::from_utf8(&answer.body).ok()).flatten();
        if let Some(json) = text.and_then(|text| JsonText::checked(text.trim().to_owned())) {
            return Ok(Answer::new(Data::Text(json)));
        }
        return Ok(Answer::new(exact_data(unwrapped(answer.json()?, unwrap), answer)));
    }
    let media_type = answer.media_type.as_deref().unwrap_or("application/octet-stream");
    match std::str::from_utf8(&answer.body) {
        Ok(text) if is_text(media_type) => {
            // Many targets state no media type, or a wrong one.
            let parsed = exact_number::parse(text).ok().filter(|value| value.is_object() || value.is_array());
            Ok(Answer::new(match parsed {
                Some(value) => exact_data(unwrapped(value, unwrap), answer),
                None => Data::Value(Value::String(text.to_owned())),
            }))
        }
        _ => Ok(binary(media_type, &answer.body)),
    }
}

/// The value at a path, or the whole body if there is none.
pub(super) fn unwrapped(mut body: Value, path: Option<&str>) -> Value {
    let Some(path) = path.filter(|path| at_path(&body, path).is_some()) else { return body };
    let pointer: String = path
        .split('.')
        .filter(|step| !step.is_empty() && *step != "$")
        .map(|step| format!("/{}", step.replace('~', "~0").replace('/', "~1")))
        .collect();
    body.pointer_mut(&pointer).map(Value::take).unwrap_or(body)
}

/// Whether a media type is shown as text: JSON under another name, XML, CSV and similar types.
fn is_text(media_type: &str) -> bool {
    const TEXTS: &[&str] = &[
        "application/xml",
        "application/yaml",
        "application/x-yaml",
        "application/javascript",
        "application/x-ndjson",
        "application/csv",
        "application/graphql",
        "application/octet-stream",
    ];
    media_type.starts_with("text/") || media_type.ends_with("+xml") || TEXTS.contains(&media_type)
}

fn binary(media_type: &str, body: &[u8]) -> Answer {
    let base64 = STANDARD.encode(body);
    let owned = media_type.to_owned();
    let attachment = match media_type.split('/').next() {
        Some("image") => Attachment::Image { media_type: owned, base64 },
        Some("audio") => Attachment::Audio { media_type: owned, base64 },
        _ => {
            let resource = json!({ "uri": "data:", "mimeType": media_type, "blob": base64 });
            Attachment::Verbatim(json!({ "type": "resource", "resource": resource }).to_string())
        }
    };
    let data = json!({ "media_type": media_type, "bytes": body.len(), "attachment": 0 });
    Answer { attachments: vec![attachment], ..Answer::new(data) }
}
