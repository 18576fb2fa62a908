//! Records requests and responses without their credentials, for a person who follows a call.

use std::borrow::Cow;

use aquifer_engine::trace::{Channel, Step, Trace};
use aquifer_protocol::secrets::REDACTED;
use bytes::Bytes;
use reqwest::Url;
use reqwest::header::HeaderMap;

use super::answer::HttpAnswer;
use super::prepared::{Prepared, is_secret_header};
use super::secrets::Secrets;
use crate::error::RestProblem;

/// Records a copy of a request as it is sent.
pub(super) fn record_request(request: &Prepared, url: &Url, headers: &HeaderMap, secrets: &Secrets) {
    request.trace.record(Step::Sent, Channel::Http, || {
        let head = format!("{} {url}\n{}", request.method, header_lines(headers));
        let body = request.body.clone().map(|body| text_of(body, secrets)).unwrap_or_default();
        (secrets.remove(head), Cow::Owned(body))
    });
}

/// Records a response.
pub(super) fn record_answer(trace: &Trace, answer: &HttpAnswer, secrets: &Secrets) {
    trace.record(Step::Returned, Channel::Http, || {
        let head = format!("{}\n{}", answer.status, header_lines(&answer.headers));
        (secrets.remove(head), Cow::Owned(text_of(answer.body.clone(), secrets)))
    });
}

/// Records that there is no response.
pub(super) fn record_error(trace: &Trace, problem: &RestProblem) {
    trace.record(Step::Returned, Channel::Http, || ("no response".to_owned(), Cow::Owned(format!("{problem:?}"))));
}

/// Our credentials are marked as sensitive. Others are recognized by their names.
fn header_lines(headers: &HeaderMap) -> String {
    let lines = headers.iter().map(|(name, value)| {
        let is_secret = value.is_sensitive() || is_secret_header(name.as_str());
        let value = if is_secret { Cow::Borrowed(REDACTED) } else { String::from_utf8_lossy(value.as_bytes()) };
        format!("{name}: {value}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn text_of(body: Bytes, secrets: &Secrets) -> String {
    match String::from_utf8(secrets.remove_from_body(body).into()) {
        Ok(text) => text,
        Err(error) => format!("{} bytes that are not text", error.as_bytes().len()),
    }
}
