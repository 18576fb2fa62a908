//! The response of an operation: its type, its media types, and whether it has a `Link` header.

use std::sync::Arc;

use aquifer_protocol::operation::Returns;
use aquifer_protocol::schema::Schema;
use serde_json::Value;

use super::document::Document;
use super::media;
use super::schemas::Schemas;
use super::text;
use crate::route::{BodyEncoding, is_header_name};

/// The maximum length of a response description.
const MAX_DESCRIPTION_CHARS: usize = 200;

/// Descriptions without information.
const EMPTY_WORDS: &[&str] = &[
    "",
    "ok",
    "success",
    "successful",
    "response",
    "default response",
    "no content",
    "created",
    "accepted",
    "successful operation",
    "successful response",
];

/// The response of an operation.
pub(super) struct Answer {
    pub(super) returns: Returns,
    pub(super) accept: Arc<str>,
    /// The schema of the response, if it is JSON.
    pub(super) schema: Option<Schema>,
    pub(super) has_link_header: bool,
    /// The headers that belong to the result.
    pub(super) headers: Vec<Arc<str>>,
}

/// The maximum number of headers of a response that belong to the result.
const MAX_HEADERS: usize = 10;

/// Whether a header that a description lists is about the exchange and not about the result. Some would be secrets.
fn is_about_exchange(name: &str) -> bool {
    const NAMES: &[&str] = &["link", "date", "age", "server", "vary", "connection", "set-cookie", "cache-control"];
    const PARTS: &[&str] =
        &["ratelimit", "rate-limit", "request-id", "correlation", "content-", "authenticate", "trace"];
    let name = name.to_ascii_lowercase();
    let is_secret = name.starts_with("access-control") || aquifer_protocol::secrets::may_name_secret(&name);
    NAMES.contains(&name.as_str()) || PARTS.iter().any(|part| name.contains(part)) || is_secret
}

impl Answer {
    /// A response about which nothing is known.
    pub(super) fn unknown() -> Self {
        let returns = Returns::undeclared("The result");
        Self { returns, accept: "".into(), schema: None, has_link_header: false, headers: Vec::new() }
    }
}

/// Reads a response. `type_name` is the name for its type, if it needs one.
pub(super) fn read(document: &Document<'_>, schemas: &mut Schemas<'_>, response: &Value, type_name: &str) -> Answer {
    let mut answer = Answer::unknown();
    let described = response.get("description").and_then(Value::as_str).unwrap_or_default();
    let described = text::line(described, MAX_DESCRIPTION_CHARS);
    let is_telling = !EMPTY_WORDS.contains(&described.trim_end_matches('.').to_lowercase().as_str());
    if is_telling {
        answer.returns.description = described.into();
    }
    let headers = response.get("headers").and_then(Value::as_object);
    let names = || headers.into_iter().flatten().map(|(name, _)| name.as_str());
    answer.has_link_header = names().any(|name| name.eq_ignore_ascii_case("link"));
    let of_result = names().filter(|name| is_header_name(name) && !is_about_exchange(name));
    answer.headers = of_result.take(MAX_HEADERS).map(Into::into).collect();
    let Some(content) = response.get("content").and_then(Value::as_object) else {
        return answer;
    };
    answer.accept = media::accept(content);
    let best = media::choose(content).filter(|(_, encoding, _)| *encoding == BodyEncoding::Json);
    let json = best.and_then(|(_, _, one)| document.resolve(one).ok()?.get("schema"));
    if let Some(json) = json {
        let schema = schemas.read(json);
        if let Some(name) = schemas.name_result(schema.clone(), type_name) {
            answer.returns.type_name = name;
        }
        answer.schema = Some(schema);
    }
    answer
}

/// The response with the lowest successful status that has content, or the default one. A change that leads elsewhere (303)
/// is done, too.
pub(super) fn successful<'d>(document: &'d Document<'_>, json: Option<&'d Value>) -> Option<&'d Value> {
    let responses = json?.as_object()?;
    let mut successes: Vec<(&str, &Value)> = responses
        .iter()
        .filter(|(status, _)| *status == "303" || (status.len() == 3 && status.starts_with('2')))
        .filter_map(|(status, response)| Some((status.as_str(), document.resolve(response).ok()?)))
        .collect();
    let has_content =
        |response: &Value| response.get("content").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
    successes.sort_by_key(|(status, response)| (!has_content(response), *status));
    let default = || document.resolve(responses.get("default")?).ok();
    successes.first().map(|(_, response)| *response).or_else(default)
}
