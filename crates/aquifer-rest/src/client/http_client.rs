//! The client of one target: retries, redirects, and responses of bounded size.

use std::collections::BTreeSet;
use std::time::Duration;

use aquifer_engine::trace::Trace;
use bytes::{Bytes, BytesMut};
use reqwest::header::{HeaderMap, LOCATION};
use reqwest::{Method, Response, Url};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::address::AddressPolicy;
use super::answer::{HttpAnswer, is_encoded, is_event_stream};
use super::auth::{Authenticator, Credentials};
use super::clients::Clients;
use super::connect_error::classify;
use super::delivery::{Delivery, SendRules};
use super::prepared::{Prepared, apply, operator_headers, remove_query_parameter};
use super::retry::{MAX_RETRIES, backoff};
use super::settings::{BaseUrlOrigin, ClientSettings};
use super::status::status_error;
use super::wire_log;
use crate::api::CredentialPlace;
use crate::error::{RestError, RestProblem};
use crate::route::{HttpRequest, Security, check_base_url, is_same_origin};

const MAX_REDIRECTS: usize = 5;

/// The maximum number of bytes that are read from the body of an error response.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// A client for one target.
pub struct HttpClient {
    clients: Clients,
    policy: AddressPolicy,
    /// URLs whose origins receive requests with credentials.
    trusted_targets: Vec<Url>,
    /// URLs whose origins receive requests without credentials.
    other_targets: Vec<Url>,
    /// The operator's headers.
    headers: HeaderMap,
    authenticator: Authenticator,
    permits: Semaphore,
    timeout: Duration,
    max_answer_bytes: usize,
    max_retry_wait: Duration,
    retry_delay: Duration,
}

impl std::fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpClient").field("authenticator", &self.authenticator).finish_non_exhaustive()
    }
}

impl HttpClient {
    /// Creates a client with these settings. Sends nothing.
    ///
    /// # Errors
    ///
    /// If a URL of the settings is invalid or not allowed.
    pub fn new(settings: &ClientSettings, authenticator: Authenticator) -> Result<Self, RestError> {
        Self::build(settings, authenticator).map_err(|problem| RestError::new(problem, false))
    }

    fn build(settings: &ClientSettings, authenticator: Authenticator) -> Result<Self, RestProblem> {
        let mut trusted_targets = Vec::new();
        let mut policy = AddressPolicy::new(settings.allow_private_addresses);
        for base_url in std::iter::once(&settings.base_url).chain(&settings.trusted_base_urls) {
            let url = check_base_url(base_url).map_err(|problem| RestProblem::InvalidRequest(problem.to_owned()))?;
            if settings.base_url_origin == BaseUrlOrigin::Operator || !trusted_targets.is_empty() {
                policy.trust(&url);
            }
            trusted_targets.push(url);
        }
        authenticator.token_urls().for_each(|url| policy.trust_if_both_local(url));
        for url in trusted_targets.iter().chain(authenticator.token_urls()) {
            policy.check(url).map_err(RestProblem::ForbiddenTarget)?;
        }
        let untrusted_policy = AddressPolicy::new(settings.allow_private_addresses);
        let other_urls = settings.other_base_urls.iter().filter_map(|base_url| check_base_url(base_url).ok());
        let other_targets: Vec<Url> = other_urls.filter(|url| untrusted_policy.check(url).is_ok()).collect();
        let urls = trusted_targets.iter().chain(&other_targets).chain(authenticator.token_urls());
        let clients = Clients::new(settings, &policy, urls)?;
        settings.secrets.iter().for_each(|secret| authenticator.secrets().add(secret));
        Ok(Self {
            clients,
            policy,
            trusted_targets,
            other_targets,
            headers: operator_headers(&settings.headers, &authenticator)?,
            authenticator,
            permits: Semaphore::new(settings.max_concurrent.clamp(1, Semaphore::MAX_PERMITS)),
            timeout: settings.timeout,
            max_answer_bytes: settings.max_answer_bytes,
            max_retry_wait: settings.max_retry_wait,
            retry_delay: settings.retry_delay,
        })
    }

    /// The environment variables that must be set before requests that need these credentials can be sent.
    pub fn missing_variables(&self, security: &Security) -> Vec<String> {
        self.authenticator.missing_variables(security)
    }

    /// The environment variables whose values may be sent.
    pub(crate) fn used_variables(&self) -> &BTreeSet<String> {
        self.authenticator.used_variables()
    }

    /// Removes the credentials of the target from a text.
    pub fn without_credentials(&self, text: &str) -> String {
        self.authenticator.secrets().remove(text.to_owned())
    }

    /// Removes the credentials from a response, because some targets repeat them.
    pub fn without_credentials_in(&self, response: HttpAnswer) -> HttpAnswer {
        let body = self.authenticator.secrets().remove_from_body(response.body);
        HttpAnswer { body, ..response }
    }

    /// Removes the credentials from a JSON text.
    pub(crate) fn without_credentials_in_text(&self, json: String) -> String {
        let redacted = self.authenticator.secrets().remove_from_body(json.into());
        String::from_utf8_lossy(&redacted).into_owned()
    }

    /// Prepares a text of the target for display: removes credentials and invisible characters, and truncates it.
    pub fn presentable(&self, text: &str) -> String {
        self.authenticator.secrets().presentable(text)
    }

    /// Sends a request and returns the response if its status is a success.
    ///
    /// # Errors
    ///
    /// If no attempt results in a successful response.
    pub async fn send(
        &self,
        request: HttpRequest,
        rules: &SendRules,
        cancelled: &CancellationToken,
    ) -> Result<HttpAnswer, RestError> {
        let mut delivery = Delivery::new(rules);
        let prepared = Prepared::new(request, rules).and_then(|prepared| {
            self.check(&prepared.url)?;
            Ok(prepared)
        });
        let prepared = prepared.map_err(|problem| RestError::new(problem, false))?;
        let deadline = Instant::now() + self.timeout;
        let result = tokio::select! {
            biased;
            () = cancelled.cancelled() => Err(RestProblem::Cancelled),
            () = tokio::time::sleep_until(deadline) => Err(RestProblem::TimedOut),
            result = self.send_with_retries(&prepared, &rules.security, &mut delivery, deadline) => result,
        };
        let is_in_doubt = delivery.is_in_doubt();
        match result {
            Ok(response) => Ok(HttpAnswer { is_in_doubt, ..response }),
            Err(problem) => Err(RestError::new(problem, is_in_doubt)),
        }
    }

    async fn send_with_retries(
        &self,
        request: &Prepared,
        security: &Security,
        delivery: &mut Delivery,
        deadline: Instant,
    ) -> Result<HttpAnswer, RestProblem> {
        let _permit = self.permits.acquire().await;
        let mut attempt = 1;
        loop {
            let problem = match self.send_authenticated(request, security, delivery, deadline).await {
                Ok(response) => return Ok(response),
                Err(problem) => problem,
            };
            let Some(pause) = self.pause_before_retry(&problem, delivery, attempt) else { return Err(problem) };
            if Instant::now() + pause >= deadline {
                return Err(problem);
            }
            tokio::time::sleep(pause).await;
            attempt += 1;
        }
    }

    /// How long to wait before a retry, or `None` if there must be no retry.
    fn pause_before_retry(&self, problem: &RestProblem, delivery: &Delivery, attempt: u32) -> Option<Duration> {
        if attempt > MAX_RETRIES || !problem.is_transient() || !delivery.may_send() {
            return None;
        }
        let requested = match problem {
            RestProblem::Status(error) => error.wait,
            _ => None,
        };
        let pause = backoff(self.retry_delay, attempt).max(requested.unwrap_or_default());
        (pause <= self.max_retry_wait).then_some(pause)
    }

    /// Sends the request, and sends it again with a new token if the target refuses the token.
    async fn send_authenticated(
        &self,
        request: &Prepared,
        security: &Security,
        delivery: &mut Delivery,
        deadline: Instant,
    ) -> Result<HttpAnswer, RestProblem> {
        let credentials = if self.is_trusted(&request.url) {
            self.authenticator.credentials(security, &self.clients).await?
        } else {
            Credentials::new()
        };
        let mut response = self.send_with_redirects(request, &credentials, delivery, deadline).await?;
        if response.status == 401
            && let Some(renewed) = self.authenticator.renew(&self.clients, &credentials).await?
        {
            if !delivery.may_send() {
                return Err(RestProblem::TokenRenewed);
            }
            response = self.send_with_redirects(request, &renewed, delivery, deadline).await?;
        }
        if is_done_elsewhere(response.status, request, delivery) || (200..300).contains(&response.status) {
            return Ok(response);
        }
        Err(RestProblem::Status(Box::new(status_error(&response, self.authenticator.secrets()))))
    }

    async fn send_with_redirects(
        &self,
        request: &Prepared,
        credentials: &Credentials,
        delivery: &mut Delivery,
        deadline: Instant,
    ) -> Result<HttpAnswer, RestProblem> {
        let mut url = request.url.clone();
        let mut redirects = 0;
        loop {
            let response = self.send_copy(request, &url, credentials, delivery).await?;
            let status = response.status().as_u16();
            let location = response.headers().get(LOCATION);
            let Some(location) = location.filter(|_| matches!(status, 301 | 302 | 303 | 307 | 308)) else {
                return self.read(response, url, credentials, &request.trace, deadline).await;
            };
            let refuse = |reason| Err(RestProblem::Redirected { status, reason });
            if is_done_elsewhere(status, request, delivery) {
                // The body is a note for people.
                let answer = self.read(response, url, credentials, &request.trace, deadline).await?;
                return Ok(HttpAnswer { body: Bytes::new(), ..answer });
            }
            let is_followed = matches!(request.method, Method::GET | Method::HEAD)
                || (matches!(status, 307 | 308) && delivery.is_repeatable());
            if !is_followed {
                return refuse("redirects are not followed for calls with side effects");
            }
            let next = location.to_str().ok().and_then(|location| url.join(location).ok());
            match next {
                Some(next) if !is_same_origin(&next, &url) => {
                    return refuse("it redirects to another host, port or scheme, which is not followed");
                }
                Some(next) if next.username().is_empty() && next.password().is_none() => {
                    self.check(&next)?;
                    if request.links.as_ref().is_some_and(|links| !links.allows(&request.method, &next)) {
                        return Err(RestProblem::ForbiddenLink);
                    }
                    url = next;
                }
                _ => return refuse("it redirects to an invalid URL"),
            }
            redirects += 1;
            if redirects > MAX_REDIRECTS {
                return refuse("it redirects too often");
            }
        }
    }

    /// Sends the request once to a checked URL, and records whether any of it may have been sent.
    async fn send_copy(
        &self,
        request: &Prepared,
        url: &Url,
        credentials: &Credentials,
        delivery: &mut Delivery,
    ) -> Result<Response, RestProblem> {
        let (mut url, mut headers) = (url.clone(), request.headers.clone());
        url.set_fragment(None);
        if self.is_trusted(&url) {
            headers.extend(self.headers.clone());
            credentials.iter().try_for_each(|(_, credential)| apply(credential, &mut url, &mut headers))?;
        }
        wire_log::record_request(request, &url, &headers, self.authenticator.secrets());
        let mut builder = self.clients.get(&url)?.request(request.method.clone(), url).headers(headers);
        if let Some(body) = &request.body {
            builder = builder.body(body.clone());
        }
        delivery.begin_attempt()?;
        builder.send().await.map_err(|error| {
            let error = classify(error, self.authenticator.secrets());
            wire_log::record_error(&request.trace, &error.problem);
            if error.is_unsent {
                delivery.mark_unsent();
            }
            error.problem
        })
    }

    /// Reads a response up to the limit. An error response is truncated at its limit and may be incomplete.
    async fn read(
        &self,
        mut response: Response,
        mut url: Url,
        credentials: &Credentials,
        trace: &Trace,
        deadline: Instant,
    ) -> Result<HttpAnswer, RestProblem> {
        let is_success = response.status().is_success();
        let is_stream = is_success && is_event_stream(response.headers());
        // A stream may never end. What arrived is returned before the call as a whole times out.
        let stream_deadline = deadline - self.timeout / 20;
        let max_bytes = if is_success { self.max_answer_bytes } else { self.max_answer_bytes.min(MAX_ERROR_BYTES) };
        let too_large = |size| RestProblem::TooLarge { max_bytes, size };
        let announced = response.content_length().and_then(|size| usize::try_from(size).ok()).unwrap_or_default();
        if is_success && announced > max_bytes {
            return Err(too_large(announced));
        }
        if is_success && is_encoded(response.headers()) {
            let (problem, cause) = ("compressed in another way than gzip".to_owned(), String::new());
            return Err(RestProblem::InvalidResponse { problem, cause });
        }
        let mut body = BytesMut::new();
        let mut is_partial = false;
        loop {
            let received = match is_stream {
                true => tokio::time::timeout_at(stream_deadline, response.chunk()).await.ok(),
                false => Some(response.chunk().await),
            };
            let chunk = match received {
                Some(Ok(Some(chunk))) => chunk,
                Some(Ok(None)) => break,
                Some(Err(_)) if !is_success => break,
                Some(Err(_)) if is_stream && !body.is_empty() => {
                    is_partial = true;
                    break;
                }
                Some(Err(error)) => return Err(classify(error, self.authenticator.secrets()).problem),
                None if body.is_empty() => return Err(RestProblem::TimedOut),
                None => {
                    is_partial = true;
                    break;
                }
            };
            let size = body.len() + chunk.len();
            if size > max_bytes && is_success && !is_stream {
                return Err(too_large(size));
            }
            is_partial = is_stream && size > max_bytes;
            let room = max_bytes.saturating_sub(body.len()).min(chunk.len());
            body.extend_from_slice(chunk.get(..room).unwrap_or_default());
            if size > max_bytes {
                break;
            }
        }
        for (_, credential) in credentials {
            if let CredentialPlace::Query(name) = &credential.place {
                remove_query_parameter(&mut url, name);
            }
        }
        let status = response.status().as_u16();
        let headers = std::mem::take(response.headers_mut());
        let answer = HttpAnswer { is_partial, ..HttpAnswer::new(status, headers, body.freeze(), url.into()) };
        wire_log::record_answer(trace, &answer, self.authenticator.secrets());
        Ok(answer)
    }

    /// Whether the origin of a URL receives credentials.
    fn is_trusted(&self, url: &Url) -> bool {
        self.trusted_targets.iter().any(|target| is_same_origin(target, url))
    }

    /// Refuses URLs outside the configured origins.
    fn check(&self, url: &Url) -> Result<(), RestProblem> {
        if !self.is_trusted(url) && !self.other_targets.iter().any(|target| is_same_origin(target, url)) {
            return Err(RestProblem::ForbiddenTarget("the URL is not on a configured host"));
        }
        self.policy.check(url).map_err(RestProblem::ForbiddenTarget)
    }
}

/// Whether the target has done what it was asked, and says where to look at the outcome (303 See Other).
fn is_done_elsewhere(status: u16, request: &Prepared, delivery: &Delivery) -> bool {
    status == 303 && !matches!(request.method, Method::GET | Method::HEAD) && delivery.may_change()
}
