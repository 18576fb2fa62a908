//! The token that goes with every request to a server somebody has logged in to.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderValue};
use tokio::sync::Mutex;

use super::Login;
use super::challenge::Challenge;
use super::grant::{Granted, Ungranted};
use super::places;
use super::store::{self, Kept, Store};
use super::web::Web;
use crate::error::{Gone, UpstreamError};
use crate::sanitize::Sanitizer;

/// How long another process may take to renew the same login.
const LOCKED: Duration = Duration::from_secs(30);

/// The token of one connection. The file is the truth; this is what was read there last.
pub(crate) struct Tokens {
    server: Url,
    store: Store,
    login: Login,
    sanitizer: Sanitizer,
    held: ArcSwapOption<Kept>,
    renewing: Mutex<()>,
}

impl Tokens {
    /// The tokens for a server, unless they could be read on the way to it.
    pub(crate) fn new(server: &Url, login: &Login, sanitizer: &Sanitizer) -> Option<Arc<Self>> {
        if !places::is_secure(server) {
            return None;
        }
        let tokens = Self {
            server: server.clone(),
            store: Store::of(&login.folder, server),
            login: login.clone(),
            sanitizer: sanitizer.clone(),
            held: ArcSwapOption::empty(),
            renewing: Mutex::new(()),
        };
        if let Some(kept) = tokens.store.read() {
            tokens.hold(kept);
        }
        Some(Arc::new(tokens))
    }

    fn hold(&self, kept: Kept) -> Arc<Kept> {
        // Whatever the server says, it does not repeat these.
        kept.secrets().for_each(|secret| self.sanitizer.learn(secret));
        let kept = Arc::new(kept);
        self.held.store(Some(kept.clone()));
        kept
    }

    /// The token to send now, renewed if it is about to end.
    pub(crate) async fn current(self: &Arc<Self>) -> Option<Arc<Kept>> {
        let held = self.held.load_full()?;
        if held.is_fresh(store::now()) {
            return Some(held);
        }
        // One that cannot be renewed is sent as it is: the server decides.
        Some(self.renew(Some(held.clone())).await.unwrap_or(held))
    }

    /// The token that was held last, for a word of farewell.
    pub(crate) fn last(&self) -> Option<Arc<Kept>> {
        self.held.load_full()
    }

    /// Another token after the server refused this one, if there is another.
    pub(crate) async fn instead_of(self: &Arc<Self>, refused: Option<Arc<Kept>>) -> Result<Arc<Kept>, Gone> {
        self.renew(refused).await
    }

    /// The token of a login that was made since this one, if there is one.
    pub(crate) fn newer_than(&self, used: Option<&Kept>) -> Option<Arc<Kept>> {
        let kept = self.store.read()?;
        let is_other = used.is_none_or(|used| used.access_token != kept.access_token);
        (is_other && kept.is_fresh(store::now())).then(|| self.hold(kept))
    }

    /// Renews in a task of its own: a caller who gives up must not lose a refresh token that was given meanwhile.
    async fn renew(self: &Arc<Self>, used: Option<Arc<Kept>>) -> Result<Arc<Kept>, Gone> {
        let tokens = self.clone();
        let renewing = tokio::spawn(async move { tokens.renew_now(used).await });
        renewing.await.unwrap_or_else(|cause| Err(Gone::new("its login cannot be renewed now", cause)))
    }

    async fn renew_now(&self, used: Option<Arc<Kept>>) -> Result<Arc<Kept>, Gone> {
        let unrenewed = |cause: String| Gone::new("its login cannot be renewed now", cause);
        let _turn = self.renewing.lock().await;
        let Some(mut kept) = self.store.read() else {
            self.held.store(None);
            return Err(self.wanted("it wants a login"));
        };
        let is_used = |kept: &Kept| used.as_ref().is_some_and(|used| used.access_token == kept.access_token);
        // Somebody logged in or renewed meanwhile.
        if !is_used(&kept) && kept.is_fresh(store::now()) {
            return Ok(self.hold(kept));
        }
        let _locked = self.store.lock(LOCKED).await.map_err(|cause| unrenewed(format!("its lock: {cause}")))?;
        // Perhaps while we waited.
        match self.store.read() {
            Some(now) => kept = now,
            None => return Err(self.wanted("it wants a login")),
        }
        if !is_used(&kept) && kept.is_fresh(store::now()) {
            return Ok(self.hold(kept));
        }
        let Some(refresh_token) = &kept.refresh_token else {
            return Err(self.wanted("its login has ended"));
        };
        let web = Web::around(&self.server).await.map_err(|failure| unrenewed(failure.to_string()))?;
        let client = kept.client.completed(self.login.client_secret.as_deref());
        let client = client.map_err(|failure| unrenewed(failure.to_string()))?;
        let shown = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh_token.as_str()),
            ("resource", kept.resource.as_str()),
        ];
        match Granted::ask(&web, &kept.token_endpoint, &client, &shown).await {
            Ok(granted) => {
                let renewed = kept.renewed(granted, store::now());
                if let Err(cause) = self.store.write(&renewed) {
                    tracing::warn!(%cause, "a renewed login cannot be kept");
                }
                Ok(self.hold(renewed))
            }
            Err(Ungranted::Refused(failure)) => {
                let _ = self.store.remove();
                self.held.store(None);
                Err(self.wanted("its login is no longer accepted").because(&failure))
            }
            Err(Ungranted::Failed(failure)) => Err(unrenewed(failure.to_string())),
        }
    }

    /// That a person must log in, and how. The log is told where the files are; callers are not.
    pub(crate) fn wanted(&self, why: &str) -> Gone {
        let Login { command, command_in_full, .. } = &self.login;
        let cause = if command == command_in_full { "no token that it takes" } else { command_in_full };
        Gone::new(format!("{why}; a person runs `{command}`"), cause)
    }

    /// Whether the token was refused for what it does not allow: then renewing it changes nothing, whatever the status.
    pub(crate) fn is_insufficient(&self, headers: &HeaderMap) -> bool {
        self.held.load().is_some()
            && Challenge::read(headers).is_some_and(|challenge| challenge.is_insufficient_scope())
    }

    /// What a refusal means that another token of the same login would not change, if the server says so.
    pub(crate) fn forbidden(&self, headers: &HeaderMap) -> Option<UpstreamError> {
        let challenge = Challenge::read(headers).filter(Challenge::is_insufficient_scope)?;
        let mut scopes = self.held.load().as_ref().map(|kept| kept.scopes.clone()).unwrap_or_default();
        scopes.extend(challenge.scopes.iter().filter(|scope| !scopes.contains(scope)).cloned().collect::<Vec<_>>());
        let asked: String =
            scopes.iter().filter(|scope| is_plain(scope)).map(|scope| format!(" --scope {scope}")).collect();
        let reason = format!("its login does not allow this; a person runs `{}{asked}`", self.login.command);
        Some(UpstreamError::Forbidden {
            reason,
            scopes: challenge.scopes.into_iter().filter(|scope| is_plain(scope)).collect(),
        })
    }
}

impl Kept {
    /// The header that it goes into.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", self.access_token)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// Whether a scope may stand in a command that a person is asked to run.
fn is_plain(scope: &str) -> bool {
    !scope.starts_with('-')
        && scope.chars().count() <= 200
        && scope.chars().all(|char| char.is_ascii_alphanumeric() || "_.:/@+,=-".contains(char))
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn commands_hold_no_scope_that_a_shell_would_read() {
        for scope in ["files:read", "https://www.example.com/auth/drive.readonly", "user@example.com", "a+b"] {
            assert!(is_plain(scope), "{scope}");
        }
        for scope in ["$(reboot)", "a;b", "`a`", "'", "-rf", "a\u{1b}b", "a|b", "*"] {
            assert!(!is_plain(scope), "{scope}");
        }
    }
}
