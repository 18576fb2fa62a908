//! Error responses of a target: the status, and the message without credentials.

use jiff::Timestamp;
use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};
use serde_json::{Map, Value};

use super::answer::HttpAnswer;
use super::retry::requested_wait;
use super::secrets::Secrets;
use crate::error::{RateLimit, StatusError};

/// Members of an error object that explain the error, the most specific one first (RFC 9457 and common practice).
const MESSAGE_MEMBERS: &[&str] =
    &["detail", "message", "error_description", "error", "errors", "title", "msg", "description", "reason", "fault"];

/// Members of an error object that list the invalid parameters of a request.
const LIST_MEMBERS: &[&str] = &["errors", "violations", "validation", "invalid-params", "invalid_params"];

/// Members of problem details (RFC 9457).
const PROBLEM_MEMBERS: &[&str] = &["type", "title", "status", "detail", "instance"];

/// The maximum depth at which an error object is searched for a message.
const MAX_DEPTH: usize = 4;

/// Reads a response whose status is not a success.
pub(super) fn status_error(response: &HttpAnswer, secrets: &Secrets) -> StatusError {
    let json: Option<Value> = serde_json::from_slice(&response.body).ok();
    let is_problem = response.media_type.as_deref() == Some("application/problem+json");
    let problem = json.as_ref().filter(|_| is_problem).and_then(|json| problem_details(json, secrets));
    StatusError {
        status: response.status,
        text: secrets.presentable(&text(response, json.as_ref())),
        problem,
        wait: requested_wait(response.status, &response.headers, Timestamp::now()),
        rate_limit: RateLimit::from_headers(&response.headers, Timestamp::now()),
        scope: required_scope(&response.headers).map(|scope| secrets.presentable(&scope)),
    }
}

fn text(response: &HttpAnswer, json: Option<&Value>) -> String {
    if let Some(json) = json {
        return message(json, 0).unwrap_or_else(|| json.to_string());
    }
    match response.media_type.as_deref() {
        // HTML pages are written for browsers.
        Some("text/html" | "application/xhtml+xml") => String::new(),
        Some(media_type) if media_type.starts_with("text/") || media_type.ends_with("xml") => {
            String::from_utf8_lossy(&response.body).into_owned()
        }
        None => std::str::from_utf8(&response.body).unwrap_or_default().to_owned(),
        Some(_) => String::new(),
    }
}

/// The message of an error object. Lists of errors are appended as JSON, because they name the wrong fields.
fn message(value: &Value, depth: usize) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Array(items) if depth > 0 && !items.is_empty() => match items.as_slice() {
            [Value::String(only)] => Some(only.clone()),
            _ => Some(value.to_string()),
        },
        Value::Object(members) if depth < MAX_DEPTH => {
            let candidates = MESSAGE_MEMBERS.iter().filter_map(|name| members.get(*name));
            let text = candidates.clone().find_map(|member| message(member, depth + 1))?;
            let mut lists = candidates.chain(LIST_MEMBERS.iter().filter_map(|name| members.get(*name)));
            let is_list = |member: &&Value| member.as_array().is_some_and(|items| !items.is_empty());
            let list = lists.find(is_list).map(Value::to_string);
            match list {
                Some(list) if list != text && !list.contains(&text) => Some(format!("{text}: {list}")),
                _ => Some(text),
            }
        }
        _ => None,
    }
}

fn problem_details(json: &Value, secrets: &Secrets) -> Option<Map<String, Value>> {
    let members = json.as_object()?;
    let clean = |name: &&str| {
        let value = match members.get(*name)? {
            Value::String(text) => secrets.presentable(text).into(),
            Value::Number(number) => Value::Number(number.clone()),
            _ => return None,
        };
        Some(((*name).to_owned(), value))
    };
    Some(PROBLEM_MEMBERS.iter().filter_map(clean).collect())
}

/// The scope of a challenge (RFC 6750), such as `Bearer error="insufficient_scope", scope="repo"`.
fn required_scope(headers: &HeaderMap) -> Option<String> {
    let challenge = headers.get(WWW_AUTHENTICATE)?.to_str().ok()?;
    let (_, rest) = challenge.split_once("scope=\"")?;
    let (scope, _) = rest.split_once('"')?;
    Some(scope.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_are_found_in_common_shapes() {
        for (body, expected) in [
            (json!({"message": "no"}), "no"),
            (json!({"error": "no"}), "no"),
            (json!({"error": {"message": "no", "code": 7}}), "no"),
            (json!({"error": "invalid_grant", "error_description": "expired"}), "expired"),
            (json!({"type": "about:blank", "title": "Bad", "detail": "worse"}), "worse"),
            (json!({"errors": ["no"]}), "no"),
            (json!({"message": "Failed", "errors": [{"field": "a"}]}), "Failed: [{\"field\":\"a\"}]"),
            (
                json!({"detail": [{"loc": ["body", "a"], "msg": "required"}]}),
                "[{\"loc\":[\"body\",\"a\"],\"msg\":\"required\"}]",
            ),
            (
                json!({"title": "Invalid", "validation": [{"location": ["body", "a"]}]}),
                "Invalid: [{\"location\":[\"body\",\"a\"]}]",
            ),
            (
                json!({"title": "Invalid", "errors": [], "invalid-params": [{"name": "a"}]}),
                "Invalid: [{\"name\":\"a\"}]",
            ),
            (json!("no"), "no"),
        ] {
            assert_eq!(message(&body, 0).as_deref(), Some(expected), "{body}");
        }
        for body in [json!({}), json!([]), json!({"code": 1}), json!({"message": " "}), json!(null)] {
            assert_eq!(message(&body, 0), None, "{body}");
        }
    }
}
