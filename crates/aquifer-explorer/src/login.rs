//! Login: a one-time link, then a session.
//!
//! The server prints a link, or a command prints one after asking for the admin secret. Opening it exchanges its token
//! for the secret of a session, once. Only hashes are stored, in the state store, so that sessions survive a restart and
//! are valid for all servers with one store. Another way to authenticate a person, such as an OpenID provider, would call
//! [`begin_session`] after it.
//!
//! The secret is not a cookie: browsers send cookies to every port of a host, so every other program there would get it,
//! and could set one of its own. The page keeps it in the storage of its origin, which includes the port, and sends it in
//! the header [`SESSION_HEADER`].

use std::time::Duration;

use aquifer_engine::clock::Clock;
use aquifer_engine::store::{Record, StateStore, StoreError};
use aquifer_protocol::hex::hex;
use axum::http::HeaderMap;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::Explorer;
use crate::error::ApiError;

/// How long a link can be opened.
pub const LINK_TTL: Duration = Duration::from_secs(15 * 60);

/// How long a session lasts.
pub const SESSION_TTL: Duration = Duration::from_secs(12 * 60 * 60);

const LINK_PREFIX: &str = "explorer/link/";
/// Not `explorer/session/`: the secrets of these sessions were cookies.
const SESSION_PREFIX: &str = "explorer/page-session/";

/// The header in which the page sends the secret of its session.
pub const SESSION_HEADER: &str = "x-aquifer-session";

/// How long a record is kept after it has expired, so that clocks may differ.
const KEPT_AFTER_EXPIRY: Duration = Duration::from_secs(300);

/// Who is logged in.
#[derive(Debug, Clone, Serialize)]
pub struct Session {
    /// The person, as recorded in the audit log.
    pub person: String,
    /// When the session ends.
    pub expires_at: Timestamp,
    /// The key of its record.
    #[serde(skip)]
    key: String,
}

impl Session {
    /// An identifier of the session that reveals nothing of its secret.
    pub(crate) fn id(&self) -> &str {
        self.key.strip_prefix(SESSION_PREFIX).and_then(|hash| hash.get(..16)).unwrap_or_default()
    }
}

/// A link or a session as stored.
#[derive(Serialize, Deserialize)]
struct LoginRecord {
    person: String,
    expires_at: Timestamp,
    /// Whether the link was opened, or the session was ended.
    is_over: bool,
}

/// Creates the token of a one-time link. The page takes it from the part of the address after `#`, which browsers do
/// not send.
pub async fn create_link(store: &dyn StateStore, clock: &dyn Clock, person: &str) -> Result<String, StoreError> {
    create(store, clock, LINK_PREFIX, person, LINK_TTL).await.map(|(token, _)| token)
}

/// Starts a session for a person who was authenticated. Returns its secret.
pub async fn begin_session(store: &dyn StateStore, clock: &dyn Clock, person: &str) -> Result<String, StoreError> {
    create(store, clock, SESSION_PREFIX, person, SESSION_TTL).await.map(|(secret, _)| secret)
}

async fn create(
    store: &dyn StateStore,
    clock: &dyn Clock,
    prefix: &str,
    person: &str,
    ttl: Duration,
) -> Result<(String, String), StoreError> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| StoreError(format!("no random numbers are available: {error}")))?;
    let secret = hex(&bytes);
    let record = LoginRecord { person: person.to_owned(), expires_at: add(clock.now(), ttl), is_over: false };
    let key = key(prefix, secret.as_bytes());
    match store.compare_and_set(&key, None, to_bytes(&record)?, ttl + KEPT_AFTER_EXPIRY).await? {
        true => Ok((secret, key)),
        false => Err(StoreError("a new login already exists".to_owned())),
    }
}

/// Exchanges the token of a link for a session, once. Returns its secret.
pub(crate) async fn redeem_link(explorer: &Explorer, token: &str) -> Result<String, ApiError> {
    let (store, clock) = (&*explorer.store, &*explorer.clock);
    let key = key(LINK_PREFIX, token.as_bytes());
    let (record, version) = load(store, &key).await?.ok_or(ApiError::LoginRequired)?;
    if record.is_over || clock.now() > record.expires_at {
        return Err(ApiError::LoginRequired);
    }
    let used = LoginRecord { is_over: true, ..record };
    if !store.compare_and_set(&key, Some(version), to_bytes(&used)?, KEPT_AFTER_EXPIRY).await? {
        return Err(ApiError::LoginRequired);
    }
    Ok(begin_session(store, clock, &used.person).await?)
}

/// The session of a request.
pub(crate) async fn find_session(explorer: &Explorer, headers: &HeaderMap) -> Result<Session, ApiError> {
    let secret = headers.get(SESSION_HEADER).ok_or(ApiError::LoginRequired)?;
    let key = key(SESSION_PREFIX, secret.as_bytes());
    let (record, _) = load(&*explorer.store, &key).await?.ok_or(ApiError::LoginRequired)?;
    if record.is_over || explorer.clock.now() > record.expires_at {
        return Err(ApiError::LoginRequired);
    }
    Ok(Session { person: record.person, expires_at: record.expires_at, key })
}

/// Whether a session has ended or expired. While the store fails, nobody knows.
pub(crate) async fn is_over(explorer: &Explorer, session: &Session) -> bool {
    match load(&*explorer.store, &session.key).await {
        Ok(Some((record, _))) => record.is_over || explorer.clock.now() > record.expires_at,
        Ok(None) => true,
        Err(_) => explorer.clock.now() > session.expires_at,
    }
}

/// Ends a session.
pub(crate) async fn end_session(explorer: &Explorer, session: &Session) -> Result<(), ApiError> {
    if let Some((record, version)) = load(&*explorer.store, &session.key).await? {
        let over = to_bytes(&LoginRecord { is_over: true, ..record })?;
        explorer.store.compare_and_set(&session.key, Some(version), over, KEPT_AFTER_EXPIRY).await?;
    }
    Ok(())
}

fn key(prefix: &str, secret: &[u8]) -> String {
    format!("{prefix}{}", hex(&Sha256::digest(secret)))
}

fn to_bytes(record: &LoginRecord) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(record).map_err(|error| StoreError(error.to_string()))
}

async fn load(store: &dyn StateStore, key: &str) -> Result<Option<(LoginRecord, u64)>, StoreError> {
    let Some(Record { value, version }) = store.get(key).await? else { return Ok(None) };
    Ok(serde_json::from_slice(&value).ok().map(|record| (record, version)))
}

fn add(time: Timestamp, duration: Duration) -> Timestamp {
    time.checked_add(duration).unwrap_or(Timestamp::MAX)
}
