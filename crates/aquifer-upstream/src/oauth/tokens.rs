//! The token for requests to a server that requires a login.

use std::sync::Arc;
use std::time::Duration;

use aquifer_net::is_secure;
use arc_swap::ArcSwapOption;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderValue};
use tokio::sync::Mutex;

use super::grant::{GrantError, request_token};
use super::store::{self, LoginStore, StoredLogin};
use crate::error::{Outage, UpstreamError};
use crate::oauth::discovery::challenge::Challenge;
use crate::oauth::network::http::OAuthHttp;
use crate::sanitize::Sanitizer;
use crate::settings::LoginSettings;

/// How long another process may hold the lock of the same login.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// The token of one connection, as last read from the file.
pub(crate) struct LoginTokens {
    server: Url,
    store: LoginStore,
    login: LoginSettings,
    sanitizer: Sanitizer,
    current_login: ArcSwapOption<StoredLogin>,
    renewing: Mutex<()>,
}

impl LoginTokens {
    /// The tokens for a server. `None` if the connection is not encrypted.
    pub(crate) fn new(server: &Url, login: &LoginSettings, sanitizer: &Sanitizer) -> Option<Arc<Self>> {
        if !is_secure(server) {
            return None;
        }
        let tokens = Self {
            server: server.clone(),
            store: LoginStore::new(&login.folder, server),
            login: login.clone(),
            sanitizer: sanitizer.clone(),
            current_login: ArcSwapOption::empty(),
            renewing: Mutex::new(()),
        };
        if let Some(stored) = tokens.store.read() {
            tokens.set_current(stored);
        }
        Some(Arc::new(tokens))
    }

    fn set_current(&self, stored: StoredLogin) -> Arc<StoredLogin> {
        // Registered as secrets, so that they are removed from the server's texts.
        stored.secrets().for_each(|secret| self.sanitizer.add_secret(secret));
        let stored = Arc::new(stored);
        self.current_login.store(Some(stored.clone()));
        stored
    }

    /// The token to send now, renewed if it is about to expire.
    pub(crate) async fn current(self: &Arc<Self>) -> Option<Arc<StoredLogin>> {
        let current_login = self.current_login.load_full()?;
        if current_login.is_fresh(store::now()) {
            return Some(current_login);
        }
        // If renewal fails, the old token is sent anyway, and the server decides.
        Some(self.renew(Some(current_login.clone())).await.unwrap_or(current_login))
    }

    /// The last known token, used to end a session.
    pub(crate) fn last(&self) -> Option<Arc<StoredLogin>> {
        self.current_login.load_full()
    }

    /// Another token, after the server refused this one.
    pub(crate) async fn replacement_for(
        self: &Arc<Self>,
        refused: Option<Arc<StoredLogin>>,
    ) -> Result<Arc<StoredLogin>, Outage> {
        self.renew(refused).await
    }

    /// The token of a login that is newer than this one, if there is one.
    pub(crate) fn newer_than(&self, used: Option<&StoredLogin>) -> Option<Arc<StoredLogin>> {
        let stored = self.store.read()?;
        let is_other = used.is_none_or(|used| used.access_token != stored.access_token);
        (is_other && stored.is_fresh(store::now())).then(|| self.set_current(stored))
    }

    /// Renews in a separate task, so that a cancelled caller does not lose a new refresh token.
    async fn renew(self: &Arc<Self>, used: Option<Arc<StoredLogin>>) -> Result<Arc<StoredLogin>, Outage> {
        let tokens = self.clone();
        let renewing = tokio::spawn(async move { tokens.renew_now(used).await });
        renewing.await.unwrap_or_else(|cause| Err(Outage::new("its login cannot be renewed now", cause)))
    }

    async fn renew_now(&self, used: Option<Arc<StoredLogin>>) -> Result<Arc<StoredLogin>, Outage> {
        let unrenewed = |cause: String| Outage::new("its login cannot be renewed now", cause);
        let _turn = self.renewing.lock().await;
        let Some(mut stored) = self.store.read() else {
            self.current_login.store(None);
            return Err(self.login_required("it requires a login"));
        };
        let is_used = |stored: &StoredLogin| used.as_ref().is_some_and(|used| used.access_token == stored.access_token);
        // Another login or renewal has happened in the meantime.
        if !is_used(&stored) && stored.is_fresh(store::now()) {
            return Ok(self.set_current(stored));
        }
        let _lock = self.store.lock(LOCK_TIMEOUT).await.map_err(|cause| unrenewed(format!("its lock: {cause}")))?;
        // The login may have changed while we waited for the lock.
        match self.store.read() {
            Some(now) => stored = now,
            None => return Err(self.login_required("it requires a login")),
        }
        if !is_used(&stored) && stored.is_fresh(store::now()) {
            return Ok(self.set_current(stored));
        }
        let Some(refresh_token) = &stored.refresh_token else {
            return Err(self.login_required("its login has expired"));
        };
        let web = OAuthHttp::for_server(&self.server).await.map_err(|failure| unrenewed(failure.to_string()))?;
        let client = stored.client.with_own_secret(self.login.client_secret.as_deref());
        let client = client.map_err(|failure| unrenewed(failure.to_string()))?;
        let grant = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh_token.as_str()),
            ("resource", stored.resource.as_str()),
        ];
        match request_token(&web, &stored.token_endpoint, &client, &grant).await {
            Ok(granted) => {
                let renewed = stored.renewed(granted, store::now());
                if let Err(cause) = self.store.write(&renewed) {
                    tracing::warn!(%cause, "a renewed login cannot be stored");
                }
                Ok(self.set_current(renewed))
            }
            Err(GrantError::Refused(failure)) => {
                let _ = self.store.remove();
                self.current_login.store(None);
                Err(self.login_required("its login is no longer accepted").with_cause(&failure))
            }
            Err(GrantError::Failed(failure)) => Err(unrenewed(failure.to_string())),
        }
    }

    /// The outage for a login that a person has to repeat. Callers see the command; the log also has the full paths.
    pub(crate) fn login_required(&self, why: &str) -> Outage {
        let LoginSettings { command, command_in_full, .. } = &self.login;
        let cause = if command == command_in_full { "no valid token" } else { command_in_full };
        Outage::new(format!("{why}; a person has to run `{command}`"), cause)
    }

    /// Whether the token was refused for missing scopes. Renewing it would not help, whatever the status.
    pub(crate) fn is_insufficient(&self, headers: &HeaderMap) -> bool {
        self.current_login.load().is_some()
            && Challenge::read(headers).is_some_and(|challenge| challenge.is_insufficient_scope())
    }

    /// The error for missing scopes, if the server reports them.
    pub(crate) fn forbidden_error(&self, headers: &HeaderMap) -> Option<UpstreamError> {
        let challenge = Challenge::read(headers).filter(Challenge::is_insufficient_scope)?;
        let mut scopes = self.current_login.load().as_ref().map(|stored| stored.scopes.clone()).unwrap_or_default();
        scopes.extend(challenge.scopes.iter().filter(|scope| !scopes.contains(scope)).cloned().collect::<Vec<_>>());
        let scope_flags: String =
            scopes.iter().filter(|scope| is_plain(scope)).map(|scope| format!(" --scope {scope}")).collect();
        let reason =
            format!("its login does not allow this; a person has to run `{}{scope_flags}`", self.login.command);
        Some(UpstreamError::Forbidden {
            reason,
            scopes: challenge.scopes.into_iter().filter(|scope| is_plain(scope)).collect(),
        })
    }
}

impl StoredLogin {
    /// The `Authorization` header.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", self.access_token)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// Whether a scope can safely be part of a command line shown to a person.
fn is_plain(scope: &str) -> bool {
    !scope.starts_with('-')
        && scope.chars().count() <= 200
        && scope.chars().all(|char| char.is_ascii_alphanumeric() || "_.:/@+,=-".contains(char))
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn commands_contain_no_scope_with_shell_syntax() {
        for scope in ["files:read", "https://www.example.com/auth/drive.readonly", "user@example.com", "a+b"] {
            assert!(is_plain(scope), "{scope}");
        }
        for scope in ["$(reboot)", "a;b", "`a`", "'", "-rf", "a\u{1b}b", "a|b", "*"] {
            assert!(!is_plain(scope), "{scope}");
        }
    }
}
