//! One login: found out, asked for in a browser, redeemed and kept.

use std::time::Duration;

use reqwest::Url;
use tokio::sync::mpsc;

use super::callback::{self, Callback, Returned, Visit};
use super::client::Client;
use super::discover::{Discovered, discover};
use super::failure::{LoginFailure, harmless};
use super::grant::Granted;
use super::places;
use super::proof;
use super::store::{self, About, Kept, Store};
use super::web::Web;
use crate::settings::{Settings, Transport};

/// How long another process may take to change the same login.
const LOCKED: Duration = Duration::from_secs(30);

/// A login under way. Somebody must open its URL in a browser.
pub struct Attempt {
    web: Web,
    callback: Callback,
    found: Discovered,
    client: Client,
    server: Url,
    store: Store,
    state: String,
    verifier: String,
    scopes: Vec<String>,
    url: Url,
}

/// What came of a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedIn {
    /// Who gave it.
    pub issuer: String,
    /// What it allows, as far as that is said.
    pub scopes: Vec<String>,
    /// Whether it renews itself.
    pub renews: bool,
}

impl std::fmt::Debug for Attempt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attempt").field("issuer", &self.found.server.issuer).finish_non_exhaustive()
    }
}

impl Attempt {
    /// Finds out how one logs in to a server. `scopes` are what to ask for; else what is configured, else what the server
    /// wants and what the login before allows.
    pub async fn begin(settings: &Settings, scopes: &[String]) -> Result<Self, LoginFailure> {
        let Transport::Http { url, headers, bearer } = &settings.transport else {
            return Err(LoginFailure::new(
                "a server that is started by a command has no login; it reads its environment",
            ));
        };
        if bearer.is_some() || headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
            return Err(LoginFailure::new("the server has a token or a header for authorization in its configuration"));
        }
        let Some(login) = &settings.login else {
            return Err(LoginFailure::new("there is nowhere to keep a login: no home, and no 'dir' under [state]"));
        };
        let server = Url::parse(url).map_err(|_| LoginFailure::new("the server's URL cannot be read"))?;
        let web = Web::around(&server).await?;
        let found = discover(&web, &server, headers).await?;
        let callback = Callback::open(login.port).await?;
        let client = Client::choose(&web, &found.server, login, callback.redirect()).await?;
        let store = Store::of(&login.folder, &server);
        let granted = store.read().filter(|kept| places::same_issuer(&kept.issuer, &found.server.issuer));
        let granted = granted.map(|kept| kept.scopes).unwrap_or_default();
        let scopes = asked_for(scopes, &login.scopes, &found, granted);
        let (state, verifier) = (proof::unguessable()?, proof::unguessable()?);
        let url = authorization_url(&found, &client, callback.redirect(), &state, &verifier, &scopes);
        Ok(Self { web, callback, found, client, server, store, state, verifier, scopes, url })
    }

    /// What to open in a browser.
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// The authorization server that asks, fit to be shown.
    pub fn issuer(&self) -> String {
        harmless(&self.found.server.issuer, &[])
    }

    /// Waits for the browser to come back, redeems what it brings and keeps the login. A browser on another machine cannot
    /// come back: `pasted` takes the URL that it ended at.
    pub async fn finish(self, within: Duration, mut pasted: mpsc::Receiver<String>) -> Result<LoggedIn, LoginFailure> {
        let (callback, state) = (&self.callback, self.state.as_str());
        let by_hand = async {
            while let Some(line) = pasted.recv().await {
                if let Ok(url) = Url::parse(line.trim())
                    && let Visit::Ours(returned) = callback::read(&url, callback.redirect(), state)
                {
                    return returned;
                }
            }
            std::future::pending().await
        };
        let came = async {
            tokio::select! {
                returned = callback.wait(state) => returned,
                returned = by_hand => returned,
            }
        };
        let returned = tokio::time::timeout(within, came).await;
        let returned = returned.map_err(|_| LoginFailure::new("nobody came back from the browser in time"))?;
        self.redeem(returned).await
    }

    async fn redeem(self, returned: Returned) -> Result<LoggedIn, LoginFailure> {
        let server = &self.found.server;
        match &returned.issuer {
            Some(issuer) if *issuer != server.issuer => {
                return Err(LoginFailure::new("the answer comes from another authorization server; it is not used"));
            }
            None if server.authorization_response_iss_parameter_supported => {
                return Err(LoginFailure::new(
                    "the answer does not say which authorization server it comes from; it is not used",
                ));
            }
            _ => {}
        }
        let code = returned.code?;
        let shown = [
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", self.callback.redirect()),
            ("code_verifier", &self.verifier),
            ("resource", &self.found.resource),
        ];
        let granted = Granted::ask(&self.web, &server.token_endpoint, &self.client, &shown).await;
        let granted = granted.map_err(super::grant::Ungranted::into_failure)?;
        let about = About {
            server: &self.server,
            issuer: &server.issuer,
            resource: &self.found.resource,
            token_endpoint: &server.token_endpoint,
            revocation_endpoint: server.revocation_endpoint.as_ref(),
            client: &self.client,
            scopes: &self.scopes,
        };
        let kept = Kept::new(&about, granted, store::now());
        let unkept = |error| LoginFailure::new(format!("the login cannot be kept: {error}"));
        let _locked = self.store.lock(LOCKED).await.map_err(unkept)?;
        self.store.write(&kept).map_err(unkept)?;
        let scopes = kept.scopes.iter().map(|scope| harmless(scope, &[])).collect();
        Ok(LoggedIn { issuer: harmless(&kept.issuer, &[]), scopes, renews: kept.refresh_token.is_some() })
    }
}

/// What came of a logout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoggedOut {
    /// There was no login.
    Nothing,
    /// It is forgotten here. Tokens may hold elsewhere until they end.
    Forgotten,
    /// It is forgotten here, and the authorization server takes it back.
    Revoked,
}

/// Forgets the login of a server, and has it revoked where that is possible (RFC 7009).
pub async fn logout(settings: &Settings) -> Result<LoggedOut, LoginFailure> {
    let (Transport::Http { url, .. }, Some(login)) = (&settings.transport, &settings.login) else {
        return Ok(LoggedOut::Nothing);
    };
    let server = Url::parse(url).map_err(|_| LoginFailure::new("the server's URL cannot be read"))?;
    let store = Store::of(&login.folder, &server);
    let failed = |error| LoginFailure::new(format!("the login cannot be removed: {error}"));
    let kept = {
        let _locked = store.lock(LOCKED).await.map_err(failed)?;
        let kept = store.read();
        if !store.remove().map_err(failed)? {
            return Ok(LoggedOut::Nothing);
        }
        kept
    };
    let Some((kept, endpoint)) = kept.and_then(|kept| Some((kept.clone(), kept.revocation_endpoint?))) else {
        return Ok(LoggedOut::Forgotten);
    };
    let client = kept.client.completed(login.client_secret.as_deref());
    let (Ok(web), Ok(client)) = (Web::around(&server).await, client) else { return Ok(LoggedOut::Forgotten) };
    // With a refresh token the access tokens end, too, with most servers; the other way round with none.
    let mut revoked = true;
    let tokens = [("refresh_token", kept.refresh_token.as_deref()), ("access_token", Some(kept.access_token.as_str()))];
    for (kind, token) in tokens.into_iter().filter_map(|(kind, token)| Some((kind, token?))) {
        let form = [&[("token", token), ("token_type_hint", kind)][..], &client.fields()].concat();
        let answer = web.post_form(&endpoint, &form, client.header()).await;
        revoked &= answer.is_ok_and(|answer| answer.status.is_success());
    }
    Ok(if revoked { LoggedOut::Revoked } else { LoggedOut::Forgotten })
}

/// What a person is asked to agree to. What the login before was granted is asked for again: a server says what it wants of
/// everybody, not what single calls needed beside that, and those would be refused once more.
fn asked_for(said: &[String], configured: &[String], found: &Discovered, granted: Vec<String>) -> Vec<String> {
    let chosen = if !said.is_empty() { said } else { configured };
    if !chosen.is_empty() {
        return chosen.to_vec();
    }
    // Without it some servers give tokens that cannot be renewed.
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
    found: &Discovered,
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
        .append_pair("code_challenge", &proof::challenge(verifier))
        .append_pair("code_challenge_method", "S256")
        .append_pair("state", state)
        .append_pair("resource", &found.resource);
    if !scopes.is_empty() {
        query.append_pair("scope", &scopes.join(" "));
    }
    drop(query);
    url
}
