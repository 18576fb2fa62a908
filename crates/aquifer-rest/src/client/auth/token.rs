//! OAuth 2 access tokens: client credentials and refresh tokens (RFC 6749).
//!
//! A token is used until shortly before it expires. Only one renewal runs at a time, and other requests wait for it. It
//! runs in its own task with a timeout: if it were cancelled with the call that needs the token, a refresh token that
//! the server has just replaced would be lost.

use std::sync::Arc;
use std::time::Duration;

use aquifer_net::{BodyError, IssuedToken, OAuthError, UnusableToken, basic_credentials, form_encoded, read_body};
use bytes::Bytes;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use reqwest::{Client, Response, Url};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::Instant;

use super::Credential;
use crate::api::CredentialPlace;
use crate::client::connect_error::classify;
use crate::client::secrets::Secrets;
use crate::error::RestProblem;

const TIMEOUT: Duration = Duration::from_secs(20);
const MAX_RESPONSE_BYTES: usize = 256 * 1024;

/// A token is renewed this long before it expires.
const EXPIRY_MARGIN: Duration = Duration::from_secs(30);

/// Within this time, waiting calls get the same error instead of repeating the failed request one after the other.
const FAILURE_TTL: Duration = Duration::from_secs(1);

/// How tokens are obtained.
pub(super) enum Grant {
    ClientCredentials { scopes: Vec<String> },
    RefreshToken { token: String },
}

/// Obtains and caches access tokens.
pub(super) struct TokenSource {
    url: Url,
    client_id: String,
    client_secret: Option<String>,
    scopes: Option<String>,
    state: Arc<Mutex<TokenState>>,
}

#[derive(Default)]
struct TokenState {
    token: Option<Token>,
    refresh_token: Option<String>,
    generation: u64,
    failure: Option<(Instant, RestProblem)>,
}

struct Token {
    value: String,
    /// `None` if the server does not state it. The token is then used until the target refuses it.
    expires_at: Option<Instant>,
}

/// How the client authenticates at the token endpoint.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ClientAuth {
    Header,
    Form,
}

impl TokenSource {
    pub(super) fn new(url: Url, (client_id, client_secret): (String, Option<String>), grant: Grant) -> Arc<Self> {
        let (scopes, refresh_token) = match grant {
            Grant::ClientCredentials { scopes } => (Some(scopes.join(" ")).filter(|text| !text.is_empty()), None),
            Grant::RefreshToken { token } => (None, Some(token)),
        };
        let state = Arc::new(Mutex::new(TokenState { refresh_token, ..TokenState::default() }));
        Arc::new(Self { url, client_id, client_secret, scopes, state })
    }

    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    /// Returns the token to send, and renews it first if necessary.
    pub(super) async fn current(
        self: &Arc<Self>,
        client: &Client,
        secrets: &Secrets,
    ) -> Result<Credential, RestProblem> {
        let state = Arc::clone(&self.state).lock_owned().await;
        if let Some(credential) = state.credential() {
            return Ok(credential);
        }
        if let Some((failed_at, problem)) = &state.failure
            && failed_at.elapsed() < FAILURE_TTL
        {
            return Err(problem.clone());
        }
        let (source, client, secrets) = (Arc::clone(self), client.clone(), secrets.clone());
        let renewal = tokio::spawn(async move { source.renew(state, &client, &secrets).await });
        renewal.await.unwrap_or_else(|cause| Err(RestProblem::TokenUnavailable { cause: cause.to_string() }))
    }

    /// Discards a token that the target refused, unless it has been replaced since.
    pub(super) async fn discard(&self, generation: u64) {
        let mut state = self.state.lock().await;
        if state.generation == generation {
            state.token = None;
        }
    }

    async fn renew(
        &self,
        mut state: OwnedMutexGuard<TokenState>,
        client: &Client,
        secrets: &Secrets,
    ) -> Result<Credential, RestProblem> {
        let request = self.request(client, state.refresh_token.as_deref(), secrets);
        let result =
            tokio::time::timeout(TIMEOUT, request).await.unwrap_or_else(|_| Err(unavailable("no response in time")));
        let result = result.and_then(|response| state.accept(&response, secrets));
        state.failure = result.as_ref().err().map(|problem| (Instant::now(), problem.clone()));
        result
    }

    /// Requests a token. Servers differ in where they accept the client credentials, so a refused header is followed by
    /// the form.
    async fn request(
        &self,
        client: &Client,
        refresh_token: Option<&str>,
        secrets: &Secrets,
    ) -> Result<Bytes, RestProblem> {
        let first = if self.client_secret.is_some() { ClientAuth::Header } else { ClientAuth::Form };
        let (status, body) = self.post(client, first, refresh_token, secrets).await?;
        let is_rejected = matches!(status, 400 | 401) && OAuthError::parse(&body).error == "invalid_client";
        let (status, body) = if is_rejected && first == ClientAuth::Header {
            self.post(client, ClientAuth::Form, refresh_token, secrets).await?
        } else {
            (status, body)
        };
        let text = || {
            let OAuthError { error, error_description } = OAuthError::parse(&body);
            let text = if error_description.is_empty() { error } else { error_description };
            secrets.presentable(&format!("HTTP status {status} {text}"))
        };
        match status {
            200..300 => Ok(body),
            400..500 if status != 429 => Err(RestProblem::TokenRefused { text: text() }),
            _ => Err(unavailable(&text())),
        }
    }

    async fn post(
        &self,
        client: &Client,
        auth: ClientAuth,
        refresh_token: Option<&str>,
        secrets: &Secrets,
    ) -> Result<(u16, Bytes), RestProblem> {
        let mut form = Vec::new();
        match refresh_token {
            Some(token) => form.extend([("grant_type", "refresh_token"), ("refresh_token", token)]),
            None => form.push(("grant_type", "client_credentials")),
        }
        form.extend(self.scopes.as_deref().map(|scopes| ("scope", scopes)));
        let mut request = client.post(self.url.clone()).header(ACCEPT, "application/json");
        match auth {
            ClientAuth::Header => request = request.header(AUTHORIZATION, self.basic(secrets)),
            ClientAuth::Form => {
                form.push(("client_id", &self.client_id));
                form.extend(self.client_secret.as_deref().map(|secret| ("client_secret", secret)));
            }
        }
        let request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(form_encoded(&form));
        let response = request.send().await.map_err(|error| classify(error, secrets).problem).map_err(during_login)?;
        let status = response.status().as_u16();
        Ok((status, read(response, secrets).await?))
    }

    /// The client credentials as a header.
    fn basic(&self, secrets: &Secrets) -> String {
        let credentials = basic_credentials(&self.client_id, self.client_secret.as_deref().unwrap_or_default());
        secrets.add(&credentials);
        format!("Basic {credentials}")
    }
}

impl TokenState {
    fn credential(&self) -> Option<Credential> {
        let token = self.token.as_ref()?;
        if token.expires_at.is_some_and(|expires_at| expires_at <= Instant::now()) {
            return None;
        }
        let place = CredentialPlace::Header("Authorization".to_owned());
        Some(Credential { place, value: format!("Bearer {}", token.value), generation: Some(self.generation) })
    }

    /// Stores the token of a response and returns it, even if it is about to expire.
    fn accept(&mut self, response: &[u8], secrets: &Secrets) -> Result<Credential, RestProblem> {
        let IssuedToken { access_token, refresh_token, lifetime, .. } =
            IssuedToken::parse(response).map_err(|reason| match reason {
                UnusableToken::UnsupportedType => unavailable("its tokens are of an unsupported type"),
                UnusableToken::Invalid | UnusableToken::InvalidCharacters => {
                    unavailable("its response contains no usable access token")
                }
            })?;
        secrets.add(&access_token);
        if let Some(refresh_token) = refresh_token.filter(|_| self.refresh_token.is_some()) {
            secrets.add(&refresh_token);
            self.refresh_token = Some(refresh_token);
        }
        self.generation += 1;
        self.token = Some(Token { value: access_token, expires_at: None });
        let credential = self.credential().ok_or_else(|| unavailable("its token is unusable"))?;
        if let (Some(token), Some(lifetime)) = (&mut self.token, lifetime) {
            token.expires_at = Some(Instant::now() + lifetime.saturating_sub(EXPIRY_MARGIN));
        }
        Ok(credential)
    }
}

async fn read(response: Response, secrets: &Secrets) -> Result<Bytes, RestProblem> {
    read_body(response, MAX_RESPONSE_BYTES).await.map_err(|error| match error {
        BodyError::TooLarge { .. } => unavailable("its response is too large"),
        BodyError::Interrupted(error) => during_login(classify(error, secrets).problem),
    })
}

/// Errors in reaching the token endpoint concern authentication, not the request.
fn during_login(problem: RestProblem) -> RestProblem {
    match problem {
        RestProblem::Dns { cause }
        | RestProblem::ConnectionRefused { cause }
        | RestProblem::Tls { cause }
        | RestProblem::Network { cause } => RestProblem::TokenUnavailable { cause },
        RestProblem::TimedOut => unavailable("no response in time"),
        other => other,
    }
}

fn unavailable(cause: &str) -> RestProblem {
    RestProblem::TokenUnavailable { cause: cause.to_owned() }
}
