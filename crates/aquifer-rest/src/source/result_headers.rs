//! Headers of a response that belong to the result: where something new is, its entity tag, when to ask again, and those
//! that the description lists.

use aquifer_engine::source::Answer;
use aquifer_protocol::exact_number;
use aquifer_protocol::response::{Data, JsonText};
use reqwest::header::{ETAG, HeaderName, LOCATION, RETRY_AFTER};
use serde_json::{Map, Value, json};

use super::{Endpoint, RestSource};
use crate::client::HttpAnswer;
use crate::route::{Place, Route};

/// The member of a result that contains headers.
const HEADERS: &str = "_headers";

/// The maximum length of a value.
const MAX_VALUE_CHARS: usize = 2_000;

/// The headers that belong to the result of an operation. Nearly every response to a GET has an entity tag, which
/// matters only if it can be sent back.
pub(super) fn select(route: &Route, is_read: bool, takes_entity_tag: bool) -> Vec<HeaderName> {
    let mut names: Vec<HeaderName> =
        route.result_headers.iter().filter_map(|name| HeaderName::try_from(&**name).ok()).collect();
    if !is_read {
        names.extend([LOCATION, RETRY_AFTER]);
    }
    names.retain(|name| *name != ETAG);
    names.extend((!is_read || takes_entity_tag).then_some(ETAG));
    let mut unique = Vec::new();
    names.into_iter().for_each(|name| {
        if !unique.contains(&name) {
            unique.push(name)
        }
    });
    unique
}

/// Whether a request can be made conditional by an entity tag.
pub(super) fn takes_entity_tag(route: &Route) -> bool {
    let is_condition = |name: &str| ["if-match", "if-none-match"].iter().any(|known| name.eq_ignore_ascii_case(known));
    route.parameters.iter().any(|one| matches!(one.place, Place::Header(_)) && is_condition(&one.original_name))
}

impl RestSource {
    /// The headers of a response that belong to its result, without credentials.
    pub(super) fn result_headers(&self, endpoint: &Endpoint, answer: &HttpAnswer) -> ResultHeaders {
        let mut headers = Map::new();
        for name in &endpoint.result_headers {
            let values: Vec<&str> =
                answer.headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect();
            if !values.is_empty() {
                let text: String = values.join(", ").chars().take(MAX_VALUE_CHARS).collect();
                headers.insert(name.as_str().to_owned(), self.client.without_credentials(&text).into());
            }
        }
        ResultHeaders { headers, status: answer.status, is_read: endpoint.is_read, is_empty: answer.body.is_empty() }
    }
}

/// The headers that belong to a result.
#[derive(Debug)]
pub(super) struct ResultHeaders {
    headers: Map<String, Value>,
    status: u16,
    is_read: bool,
    /// Whether the response has no body.
    is_empty: bool,
}

/// Adds headers to an answer: as a member of an object. Other results of an operation that reads stay as they are,
/// because they are selected and paged; those of other operations are wrapped.
pub(super) fn add(answer: Answer, found: ResultHeaders) -> Answer {
    let ResultHeaders { headers, status, is_read, is_empty } = found;
    if headers.is_empty() || (is_read && !answer.attachments.is_empty()) {
        return answer;
    }
    let headers = Value::Object(headers);
    let data = match answer.data {
        Data::Value(Value::Object(mut fields)) if is_empty || !fields.contains_key(HEADERS) => {
            fields.insert(HEADERS.to_owned(), headers);
            Data::Value(Value::Object(fields))
        }
        Data::Value(value) if !is_read => Data::Value(json!({ "status": status, "body": value, HEADERS: headers })),
        Data::Text(text) => match exact_number::parse(text.get()) {
            Ok(Value::Object(mut fields)) if !fields.contains_key(HEADERS) => {
                fields.insert(HEADERS.to_owned(), headers);
                Data::Text(JsonText::vouched(exact_number::to_text(&Value::Object(fields))))
            }
            Ok(value) if !is_read => {
                let wrapped = json!({ "status": status, "body": value, HEADERS: headers });
                Data::Text(JsonText::vouched(exact_number::to_text(&wrapped)))
            }
            _ => Data::Text(text),
        },
        unchanged @ Data::Value(_) => unchanged,
    };
    Answer { data, ..answer }
}
