//! One login: discovery, consent in a browser, code redemption, storage.

use std::time::Duration;

use reqwest::Url;
use tokio::sync::mpsc;

use super::callback::{self, AuthorizationResponse, Callback, CallbackRequest};
use super::client::Client;
use super::error::{LoginError, sanitized};
use super::grant::request_token;
use super::pkce;
use super::store::{self, LoginDetails, LoginStore, StoredLogin};
use crate::oauth::discovery::discover::{Discovery, discover};
use crate::oauth::network::http::OAuthHttp;
use crate::oauth::network::urls;
use crate::settings::{Settings, Transport};

/// How long another process may hold the lock of the same login.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// A login in progress. A person has to open its URL in a browser.
pub struct LoginAttempt {
    web: OAuthHttp,
    callback: Callback,
    found: Discovery,
    client: Client,
    server: Url,
    store: LoginStore,
    state: String,
    verifier: String,
    scopes: Vec<String>,
    url: Url,
}

/// A completed login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginSummary {
    /// The authorization server.
    pub issuer: String,
    /// The granted scopes, as far as they are known.
    pub scopes: Vec<String>,
    /// Whether the login can be renewed without a person.
    pub renews: bool,
}

impl std::fmt::Debug for LoginAttempt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attempt").field("issuer", &self.found.server.issuer).finish_non_exhaustive()
    }
}

impl LoginAttempt {
    /// Discovers how to log in to a server. Requests `scopes`; if empty, the configured scopes; otherwise those that
    /// the server asks for together with those of the previous login.
    pub async fn start(settings: &Settings, scopes: &[String]) -> Result<Self, LoginError> {
        let Transport::Http { url, headers, bearer } = &settings.transport else {
            return Err(LoginError::new(
                "a server that is started by a command has no login; configure its environment instead",
            ));
        };
        if bearer.is_some() || headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
            return Err(LoginError::new(
                "the server already has a token or an authorization header in its configuration",
            ));
        }
        let Some(login) = &settings.login else {
            return Err(LoginError::new("there is no folder to store the login: set HOME, or 'dir' under [state]"));
        };
        let server = Url::parse(url).map_err(|_| LoginError::new("the server's URL is invalid"))?;
        let web = OAuthHttp::for_server(&server).await?;
        let found = discover(&web, &server, headers).await?;
        let callback = Callback::open(login.port).await?;
        let client = Client::choose(&web, &found.server, login, callback.redirect()).await?;
        let store = LoginStore::new(&login.folder, &server);
        let granted = store.read().filter(|stored| urls::is_same_issuer(&stored.issuer, &found.server.issuer));
        let granted = granted.map(|stored| stored.scopes).unwrap_or_default();
        let scopes = scopes_to_request(scopes, &login.scopes, &found, granted);
        let (state, verifier) = (pkce::random_token()?, pkce::random_token()?);
        let url = authorization_url(&found, &client, callback.redirect(), &state, &verifier, &scopes);
        Ok(Self { web, callback, found, client, server, store, state, verifier, scopes, url })
    }

    /// The URL to open in a browser.
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// The authorization server, sanitized.
    pub fn issuer(&self) -> String {
        sanitized(&self.found.server.issuer, &[])
    }

    /// Waits for the browser's redirect, redeems the code and stores the login. A browser on another machine cannot
    /// reach this one; `pasted` then receives the URL at which it ended up.
    pub async fn finish(
        self,
        timeout: Duration,
        mut pasted: mpsc::Receiver<String>,
    ) -> Result<LoginSummary, LoginError> {
        let (callback, state) = (&self.callback, self.state.as_str());
        let by_hand = async {
            while let Some(line) = pasted.recv().await {
                if let Ok(url) = Url::parse(line.trim())
                    && let CallbackRequest::Answer(response) = callback::read(&url, callback.redirect(), state)
                {
                    return response;
                }
            }
            std::future::pending().await
        };
        let visit = async {
            tokio::select! {
                response = callback.wait(state) => response,
                response = by_hand => response,
            }
        };
        let response = tokio::time::timeout(timeout, visit).await;
        let response = response.map_err(|_| LoginError::new("the login was not completed in the browser in time"))?;
        self.redeem(response).await
    }

    async fn redeem(self, response: AuthorizationResponse) -> Result<LoginSummary, LoginError> {
        let server = &self.found.server;
        match &response.issuer {
            Some(issuer) if *issuer != server.issuer => {
                return Err(LoginError::new("the response comes from another authorization server and is not used"));
            }
            None if server.authorization_response_iss_parameter_supported => {
                return Err(LoginError::new("the response does not name its authorization server and is not used"));
            }
            _ => {}
        }
        let code = response.code?;
        let grant = [
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", self.callback.redirect()),
            ("code_verifier", &self.verifier),
            ("resource", &self.found.resource),
        ];
        let granted = request_token(&self.web, &server.token_endpoint, &self.client, &grant).await;
        let granted = granted.map_err(super::grant::GrantError::into_failure)?;
        let about = LoginDetails {
            server: &self.server,
            issuer: &server.issuer,
            resource: &self.found.resource,
            token_endpoint: &server.token_endpoint,
            revocation_endpoint: server.revocation_endpoint.as_ref(),
            client: &self.client,
            scopes: &self.scopes,
        };
        let stored = StoredLogin::new(&about, granted, store::now());
        let not_stored = |error| LoginError::new(format!("the login cannot be stored: {error}"));
        let _lock = self.store.lock(LOCK_TIMEOUT).await.map_err(not_stored)?;
        self.store.write(&stored).map_err(not_stored)?;
        let scopes = stored.scopes.iter().map(|scope| sanitized(scope, &[])).collect();
        Ok(LoginSummary { issuer: sanitized(&stored.issuer, &[]), scopes, renews: stored.refresh_token.is_some() })
    }
}

/// The result of a logout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogoutOutcome {
    /// There was no login.
    NotLoggedIn,
    /// The login was deleted locally. Its tokens may stay valid until they expire.
    Removed,
    /// The login was deleted locally and revoked by the authorization server.
    Revoked,
}

/// Deletes the login of a server and revokes it where possible (RFC 7009).
pub async fn logout(settings: &Settings) -> Result<LogoutOutcome, LoginError> {
    let (Transport::Http { url, .. }, Some(login)) = (&settings.transport, &settings.login) else {
        return Ok(LogoutOutcome::NotLoggedIn);
    };
    let server = Url::parse(url).map_err(|_| LoginError::new("the server's URL is invalid"))?;
    let store = LoginStore::new(&login.folder, &server);
    let failed = |error| LoginError::new(format!("the login cannot be removed: {error}"));
    let stored = {
        let _lock = store.lock(LOCK_TIMEOUT).await.map_err(failed)?;
        let stored = store.read();
        if !store.remove().map_err(failed)? {
            return Ok(LogoutOutcome::NotLoggedIn);
        }
        stored
    };
    let Some((stored, endpoint)) = stored.and_then(|stored| Some((stored.clone(), stored.revocation_endpoint?))) else {
        return Ok(LogoutOutcome::Removed);
    };
    let client = stored.client.with_own_secret(login.client_secret.as_deref());
    let (Ok(web), Ok(client)) = (OAuthHttp::for_server(&server).await, client) else {
        return Ok(LogoutOutcome::Removed);
    };
    // Most servers revoke the access tokens together with a refresh token, but not the other way round.
    let mut revoked = true;
    let tokens =
        [("refresh_token", stored.refresh_token.as_deref()), ("access_token", Some(stored.access_token.as_str()))];
    for (kind, token) in tokens.into_iter().filter_map(|(kind, token)| Some((kind, token?))) {
        let form = [&[("token", token), ("token_type_hint", kind)][..], &client.fields()].concat();
        let answer = web.post_form(&endpoint, &form, client.header()).await;
        revoked &= answer.is_ok_and(|answer| answer.status.is_success());
    }
    Ok(if revoked { LogoutOutcome::Revoked } else { LogoutOutcome::Removed })
}

/// The scopes to request, including those of the previous login: a server names the scopes that every call needs, not
/// the additional ones that some calls needed. Without them, those calls would be refused again.
fn scopes_to_request(
    requested: &[String],
    configured: &[String],
    found: &Discovery,
    granted: Vec<String>,
) -> Vec<String> {
    let chosen = if !requested.is_empty() { requested } else { configured };
    if !chosen.is_empty() {
        return chosen.to_vec();
    }
    // Without this scope, some servers issue tokens that cannot be renewed.
    let offline = "offline_access";
    let offers_offline = found.server.scopes_supported.iter().any(|scope| scope == offline);
    let mut scopes = found.scopes.clone();
    for scope in granted.into_iter().chain(offers_offline.then(|| offline.to_owned())) {
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    scopes
}

fn authorization_url(
    found: &Discovery,
    client: &Client,
    redirect: &str,
    state: &str,
    verifier: &str,
    scopes: &[String],
) -> Url {
    let mut url = found.server.authorization_endpoint.clone();
    url.set_fragment(None);
    let mut query = url.query_pairs_mut();
    query
        .append_pair("response_type", "code")
        .append_pair("client_id", &client.id)
        .append_pair("redirect_uri", redirect)
        .append_pair("code_challenge", &pkce::challenge(verifier))
        .append_pair("code_challenge_method", "S256")
        .append_pair("state", state)
        .append_pair("resource", &found.resource);
    if !scopes.is_empty() {
        query.append_pair("scope", &scopes.join(" "));
    }
    drop(query);
    url
}
