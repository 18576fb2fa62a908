//! Logins on disk: one private file for each server, written atomically.
//!
//! The file is shared by all processes. Refresh tokens are often valid for one use only, so a process that renews a
//! login takes its lock and reads the file again first: another process may have renewed it already.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use aquifer_net::IssuedToken;
use aquifer_protocol::hex::hex_prefix;
use aquifer_system::{create_private_directory, make_private, restrict_directory};
use reqwest::Url;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::client::Client;
use super::url_serde;
use crate::oauth::network::urls;

const FORMAT_VERSION: u32 = 1;

/// Larger files are ignored.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Tokens are renewed a quarter of their lifetime before they expire, but no more than this many seconds before.
const MAX_EXPIRY_SKEW_SECONDS: i64 = 60;

/// A login with everything needed to renew it.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct StoredLogin {
    version: u32,
    /// The server that the login is for.
    server: String,
    pub(crate) issuer: String,
    pub(crate) resource: String,
    #[serde(with = "url_serde")]
    pub(crate) token_endpoint: Url,
    #[serde(default, with = "url_serde::optional")]
    pub(crate) revocation_endpoint: Option<Url>,
    pub(crate) client: Client,
    pub(crate) access_token: String,
    pub(crate) refresh_token: Option<String>,
    obtained_at: i64,
    expires_at: Option<i64>,
    pub(crate) scopes: Vec<String>,
}

impl std::fmt::Debug for StoredLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

/// The parts of a login besides its tokens.
pub(crate) struct LoginDetails<'a> {
    pub(crate) server: &'a Url,
    pub(crate) issuer: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) token_endpoint: &'a Url,
    pub(crate) revocation_endpoint: Option<&'a Url>,
    pub(crate) client: &'a Client,
    pub(crate) scopes: &'a [String],
}

impl StoredLogin {
    pub(crate) fn new(about: &LoginDetails<'_>, granted: IssuedToken, now: i64) -> Self {
        let stored = Self {
            version: FORMAT_VERSION,
            server: urls::resource(about.server),
            issuer: about.issuer.to_owned(),
            resource: about.resource.to_owned(),
            token_endpoint: about.token_endpoint.clone(),
            revocation_endpoint: about.revocation_endpoint.cloned(),
            client: about.client.without_own_secret(),
            access_token: String::new(),
            refresh_token: None,
            obtained_at: now,
            expires_at: None,
            scopes: about.scopes.to_vec(),
        };
        stored.renewed(granted, now)
    }

    /// The login with new tokens. The refresh token may have changed.
    pub(crate) fn renewed(&self, granted: IssuedToken, now: i64) -> Self {
        let expires_at = granted.lifetime.map(|lifetime| now.saturating_add_unsigned(lifetime.as_secs()));
        let scopes = granted
            .scope
            .as_deref()
            .map(crate::oauth::discovery::challenge::split_scopes)
            .filter(|scopes| !scopes.is_empty());
        Self {
            access_token: granted.access_token,
            refresh_token: granted.refresh_token.or_else(|| self.refresh_token.clone()),
            obtained_at: now,
            expires_at,
            scopes: scopes.unwrap_or_else(|| self.scopes.clone()),
            ..self.clone()
        }
    }

    /// Whether the token will still be valid when it reaches the server.
    pub(crate) fn is_fresh(&self, now: i64) -> bool {
        let Some(end) = self.expires_at else { return true };
        let skew = (end.saturating_sub(self.obtained_at) / 4).clamp(0, MAX_EXPIRY_SKEW_SECONDS);
        now.saturating_add(skew) < end
    }

    /// All secrets of the login.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        let secrets = [Some(&self.access_token), self.refresh_token.as_ref(), self.client.secret.as_ref()];
        secrets.into_iter().flatten().map(String::as_str)
    }
}

/// The file of one server's login.
pub(crate) struct LoginStore {
    path: PathBuf,
    server: String,
}

/// Held while a login is changed.
pub(crate) struct LockGuard {
    _file: File,
}

impl LoginStore {
    pub(crate) fn new(folder: &Path, server: &Url) -> Self {
        let mut whole = server.clone();
        whole.set_fragment(None);
        let digest = Sha256::digest(whole.as_str().as_bytes());
        let name = hex_prefix(&digest, 16);
        Self { path: folder.join(format!("{name}.json")), server: urls::resource(server) }
    }

    /// The login, if there is a valid one.
    pub(crate) fn read(&self) -> Option<StoredLogin> {
        let file = File::open(&self.path).ok()?;
        let mut text = String::new();
        file.take(MAX_FILE_BYTES).read_to_string(&mut text).ok()?;
        let stored: StoredLogin = serde_json::from_str(&text).ok()?;
        (stored.version == FORMAT_VERSION && stored.server == self.server).then_some(stored)
    }

    pub(crate) fn write(&self, stored: &StoredLogin) -> io::Result<()> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        self.make_folder()?;
        let draft = format!("{}-{}.new", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let draft = self.path.with_extension(draft);
        let text = serde_json::to_vec(stored)?;
        let written =
            make_private(OpenOptions::new().write(true).create_new(true)).open(&draft).and_then(|mut file| {
                file.write_all(&text)?;
                file.sync_all()
            });
        let replaced = written.and_then(|()| fs::rename(&draft, &self.path));
        if replaced.is_err() {
            let _ = fs::remove_file(&draft);
        }
        replaced
    }

    /// Deletes the login. Returns whether there was one.
    pub(crate) fn remove(&self) -> io::Result<bool> {
        match fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Waits for the lock of the login, up to the timeout.
    pub(crate) async fn lock(&self, timeout: Duration) -> io::Result<LockGuard> {
        self.make_folder()?;
        let path = self.path.with_extension("lock");
        let file = make_private(OpenOptions::new().write(true).create(true).truncate(false)).open(path)?;
        let deadline = tokio::time::Instant::now() + timeout;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(LockGuard { _file: file }),
                Err(TryLockError::WouldBlock) if tokio::time::Instant::now() < deadline => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::TimedOut.into()),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    fn make_folder(&self) -> io::Result<()> {
        let Some(folder) = self.path.parent() else { return Ok(()) };
        create_private_directory(folder)?;
        // The folder may have been created earlier with another mode.
        restrict_directory(folder)
    }
}

/// The current Unix time in seconds.
pub(crate) fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::test_folder::TestFolder;

    fn stored(lifetime: Option<i64>) -> StoredLogin {
        let server = Url::parse("https://a.example/mcp?key=hidden").unwrap();
        let endpoint = Url::parse("https://as.example/token").unwrap();
        let client: Client = serde_json::from_str(r#"{"id": "c"}"#).unwrap();
        let granted = granted(r#"{"access_token": "one", "token_type": "Bearer", "refresh_token": "two"}"#);
        let about = LoginDetails {
            server: &server,
            issuer: "https://as.example",
            resource: "https://a.example/mcp",
            token_endpoint: &endpoint,
            revocation_endpoint: None,
            client: &client,
            scopes: &["read".to_owned()],
        };
        let mut stored = StoredLogin::new(&about, granted, 1_000);
        stored.expires_at = lifetime.map(|lifetime| 1_000 + lifetime);
        stored
    }

    fn granted(text: &str) -> IssuedToken {
        IssuedToken::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn tokens_are_renewed_before_they_expire() {
        assert!(stored(None).is_fresh(i64::MAX));
        assert!(stored(Some(3_600)).is_fresh(1_000 + 3_539));
        assert!(!stored(Some(3_600)).is_fresh(1_000 + 3_540));
        // A token that lives for eight seconds is not expired immediately.
        assert!(stored(Some(8)).is_fresh(1_000) && !stored(Some(8)).is_fresh(1_006));
        assert!(!stored(Some(0)).is_fresh(1_000));
    }

    #[test]
    fn a_refresh_token_is_kept_until_it_is_replaced() {
        let same =
            stored(None).renewed(granted(r#"{"access_token": "x", "token_type": "bearer", "expires_in": 9}"#), 2_000);
        assert_eq!((same.refresh_token.as_deref(), same.expires_at), (Some("two"), Some(2_009)));
        assert_eq!(same.scopes, ["read"]);
        let other = r#"{"access_token": "x", "token_type": "bearer", "refresh_token": "three", "scope": "read write"}"#;
        let other = same.renewed(granted(other), 2_000);
        assert_eq!((other.refresh_token.as_deref(), other.scopes.len()), (Some("three"), 2));
        assert!(!format!("{other:?}").contains("three"));
    }

    #[tokio::test]
    async fn files_are_private_atomic_and_locked() {
        use std::os::unix::fs::PermissionsExt;
        let guard = TestFolder::new("logins");
        let folder = guard.0.clone();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        let server = Url::parse("https://a.example/mcp?key=hidden").unwrap();
        let store = LoginStore::new(&folder, &server);
        assert!(store.read().is_none());
        store.write(&stored(None)).unwrap();
        assert_eq!(store.read().unwrap().access_token, "one");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&store.path)), (0o700, 0o600));
        assert!(!fs::read_to_string(&store.path).unwrap().contains("hidden"));
        // The login of another server is not used.
        let other = LoginStore::new(&folder, &Url::parse("https://b.example/mcp").unwrap());
        fs::copy(&store.path, &other.path).unwrap();
        assert!(other.read().is_none());
        let held_lock = store.lock(Duration::from_secs(1)).await.unwrap();
        assert!(store.lock(Duration::from_millis(50)).await.is_err());
        drop(held_lock);
        assert!(store.lock(Duration::from_secs(1)).await.is_ok());
        fs::write(&store.path, "{\"version\": 1").unwrap();
        assert!(store.read().is_none());
        assert!(store.remove().unwrap() && !store.remove().unwrap());
    }
}
