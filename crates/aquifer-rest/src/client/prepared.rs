//! A request as it is sent: checked, with an idempotency key, and with a credential in each copy.

use bytes::Bytes;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};

use super::auth::{Authenticator, Credential};
use super::delivery::SendRules;
use crate::api::CredentialPlace;
use crate::error::RestProblem;
use crate::route::{HttpRequest, is_reserved_header};

/// The HTTP library accepts no longer URLs.
const MAX_URL_BYTES: usize = 60 * 1024;

/// A request with everything that its copies have in common.
pub(super) struct Prepared {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Bytes>,
}

impl Prepared {
    pub(super) fn new(request: HttpRequest, rules: &SendRules) -> Result<Self, RestProblem> {
        let invalid = |what: &str| RestProblem::InvalidRequest(format!("the request has an invalid {what}"));
        let url = Url::parse(&request.url).map_err(|_| invalid("URL"))?;
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
            // Some servers refuse such a request if its length is missing.
            headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
        }
        if let Some(name) = rules.idempotency_header.as_deref().filter(|_| !request.method.is_safe()) {
            let name = HeaderName::try_from(name).map_err(|_| invalid("header"))?;
            if !headers.contains_key(&name) {
                headers.insert(name, random_key()?);
            }
        }
        Ok(Self { method, url, headers, body: request.body.map(|body| body.bytes) })
    }
}

/// Checks the operator's headers, and keeps their values out of every text.
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
        // The word before a credential, such as "Bearer", is no secret.
        let is_credential = {
            let name = name.to_ascii_lowercase();
            ["auth", "key", "token", "secret", "password", "signature"].iter().any(|word| name.contains(word))
        };
        if let Some(secret) = value.split_whitespace().next_back() {
            match is_credential {
                true => authenticator.secrets().add(secret),
                false => authenticator.secrets().add_doubtful(secret),
            }
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
            let own = format!("{name}={}", credential.value);
            let all = match headers.get(COOKIE).and_then(|cookies| cookies.to_str().ok()) {
                Some(others) => format!("{others}; {own}"),
                None => own,
            };
            headers.insert(COOKIE, sensitive(&all)?);
        }
    }
    Ok(())
}

/// Removes a parameter and leaves the others exactly as they are written.
pub(super) fn remove_query_parameter(url: &mut Url, name: &str) {
    let Some(query) = url.query() else { return };
    let is_other = |pair: &&str| {
        let mut probe = url.clone();
        probe.set_query(Some(pair));
        probe.query_pairs().all(|(found, _)| found != name)
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
