//! A request that is ready to be sent: validated, and with an idempotency key. Credentials are added to each copy.

use std::sync::Arc;

use aquifer_engine::trace::Trace;
use aquifer_protocol::secrets::may_name_secret;
use bytes::Bytes;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};

use super::auth::{Authenticator, Credential};
use super::delivery::{LinkCheck, SendRules};
use crate::api::CredentialPlace;
use crate::error::RestProblem;
use crate::route::{HttpRequest, is_reserved_header};

/// The maximum length of a URL that the HTTP library accepts.
const MAX_URL_BYTES: usize = 60 * 1024;

/// The parts of a request that all its copies share.
pub(super) struct Prepared {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Bytes>,
    pub(super) trace: Trace,
    pub(super) links: Option<Arc<dyn LinkCheck>>,
}

impl Prepared {
    pub(super) fn new(request: HttpRequest, rules: &SendRules) -> Result<Self, RestProblem> {
        let invalid = |part: &str| RestProblem::InvalidRequest(format!("the request has an invalid {part}"));
        let url = request.url;
        if url.as_str().len() > MAX_URL_BYTES {
            return Err(invalid("URL: it is too long"));
        }
        let method = Method::from_bytes(request.method.as_str().as_bytes()).map_err(|_| invalid("method"))?;
        let mut headers = HeaderMap::new();
        for (name, value) in &request.headers {
            let name = HeaderName::try_from(name).map_err(|_| invalid("header"))?;
            headers.append(name, HeaderValue::try_from(value).map_err(|_| invalid("header"))?);
        }
        if let Some(body) = &request.body {
            let media_type = HeaderValue::try_from(&body.media_type).map_err(|_| invalid("media type"))?;
            headers.insert(CONTENT_TYPE, media_type);
        } else if matches!(method, Method::POST | Method::PUT | Method::PATCH) {
            // Some servers refuse these methods without a content length.
            headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
        }
        if let Some(name) = rules.idempotency_header.as_deref().filter(|_| !request.method.is_safe()) {
            let name = HeaderName::try_from(name).map_err(|_| invalid("header"))?;
            if !headers.contains_key(&name) {
                headers.insert(name, random_key()?);
            }
        }
        let (body, trace) = (request.body.map(|body| body.bytes), rules.trace.clone());
        Ok(Self { method, url, headers, body, trace, links: rules.links.clone() })
    }
}

/// Whether the value of a header is a credential. Other values, such as an account or a version, may occur in any
/// response.
pub(super) fn is_secret_header(name: &str) -> bool {
    ["authorization", "cookie", "proxy-authorization"].iter().any(|known| name.eq_ignore_ascii_case(known))
        || may_name_secret(name)
}

/// The parts of a header value that may be credentials, without prefixes such as `Bearer` or `key=`.
fn secret_parts(value: &str) -> impl Iterator<Item = &str> {
    const MIN_CHARS: usize = 8;
    let is_separator = |c: char| c.is_whitespace() || matches!(c, ';' | ',' | '"');
    let parts = value.split(is_separator).flat_map(|part| {
        // A trailing `=` is base64 padding, not the separator between a name and its value.
        let assigned = part.trim_end_matches('=').split_once('=').map(|(_, value)| value);
        [Some(part), assigned]
    });
    let long_parts = parts.flatten().filter(|part| part.chars().count() >= MIN_CHARS);
    // The last word is included even if it is short, because it may be the whole credential.
    long_parts.chain(value.split_whitespace().last())
}

/// Validates the operator's headers, and registers the credentials in them for redaction.
pub(super) fn operator_headers(
    headers: &[(String, String)],
    authenticator: &Authenticator,
) -> Result<HeaderMap, RestProblem> {
    let mut checked = HeaderMap::new();
    for (name, value) in headers {
        let invalid = || RestProblem::InvalidRequest(format!("the header '{name}' cannot be sent"));
        if is_reserved_header(name) && !name.eq_ignore_ascii_case("authorization") {
            return Err(invalid());
        }
        if is_secret_header(name) {
            secret_parts(value).for_each(|secret| authenticator.secrets().add(secret));
        } else {
            authenticator.secrets().add_doubtful(value);
        }
        let name = HeaderName::try_from(name).map_err(|_| invalid())?;
        let mut value = HeaderValue::try_from(value).map_err(|_| invalid())?;
        value.set_sensitive(true);
        checked.append(name, value);
    }
    Ok(checked)
}

/// Adds a credential to one copy of a request.
pub(super) fn apply(credential: &Credential, url: &mut Url, headers: &mut HeaderMap) -> Result<(), RestProblem> {
    let invalid = || RestProblem::CredentialInvalid { reason: "it contains invalid characters".to_owned() };
    let sensitive = |text: &str| {
        let mut value = HeaderValue::try_from(text).map_err(|_| invalid())?;
        value.set_sensitive(true);
        Ok(value)
    };
    match &credential.place {
        CredentialPlace::Header(name) => {
            let name = HeaderName::try_from(name).map_err(|_| invalid())?;
            headers.insert(name, sensitive(&credential.value)?);
        }
        CredentialPlace::Query(name) => {
            remove_query_parameter(url, name);
            url.query_pairs_mut().append_pair(name, &credential.value);
        }
        CredentialPlace::Cookie(name) => {
            // Servers use the first of several cookies with the same name, so the caller's cookie is removed.
            let sent = headers.get_all(COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
            let others = sent
                .flat_map(|cookies| cookies.split(';'))
                .map(str::trim)
                .filter(|pair| !pair.is_empty() && pair.split('=').next().map(str::trim) != Some(name.as_str()));
            let own_cookie = format!("{name}={}", credential.value);
            let all = others.map(str::to_owned).chain([own_cookie]).collect::<Vec<_>>().join("; ");
            headers.insert(COOKIE, sensitive(&all)?);
        }
    }
    Ok(())
}

/// Removes a query parameter and leaves the others exactly as they are written.
pub(super) fn remove_query_parameter(url: &mut Url, name: &str) {
    let Some(query) = url.query() else { return };
    let is_other = |pair: &&str| {
        let mut probe = url.clone();
        probe.set_query(Some(pair));
        probe.query_pairs().all(|(other, _)| other != name)
    };
    let others: Vec<&str> = query.split('&').filter(is_other).collect();
    let others = others.join("&");
    url.set_query(Some(others.as_str()).filter(|others| !others.is_empty()));
}

/// A random key in the form of a UUID.
fn random_key() -> Result<HeaderValue, RestProblem> {
    let unavailable = |_| RestProblem::InvalidRequest("no random numbers are available".to_owned());
    let (high, low) = (getrandom::u64().map_err(unavailable)?, getrandom::u64().map_err(unavailable)?);
    let text = format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xfff,
        low >> 48 & 0x3fff | 0x8000,
        low & 0xffff_ffff_ffff
    );
    HeaderValue::try_from(text).map_err(|_| RestProblem::InvalidRequest("the key is invalid".to_owned()))
}
