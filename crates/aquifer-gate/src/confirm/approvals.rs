//! Approvals: what waits for a person, in words, and that person's yes or no, given where no model can give it.
//!
//! Beside the record of the token there is one for people, under a name short enough to type. What the person says goes
//! into the token's record by one atomic step; the token itself is known to the caller alone.

use std::time::Duration;

use aquifer_engine::Caller;
use aquifer_engine::clock::Clock;
use aquifer_engine::store::{Record, StateStore, StoreError};
use aquifer_protocol::operation::Operation;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::message::Asked;
use super::record::{Held, State, later};
use crate::patience::within;

const PREFIX: &str = "gate/approval/";

/// More than this nobody reads; callers are limited in how many they open, and none stays for long.
const MOST: usize = 10_000;

/// How long an approval is still listed when it is over.
const LISTED: Duration = Duration::from_secs(10 * 60);

/// Letters and digits that nobody mistakes for each other.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// Somebody else may decide at the same moment; nobody does so for ever.
const ATTEMPTS: usize = 8;

/// Something that waits, or waited, for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// How to refer to it.
    pub id: String,
    /// The source that would do it.
    pub source: String,
    /// Which database or server that is.
    #[serde(default)]
    pub place: String,
    /// The operation.
    pub operation: String,
    /// How dangerous that is.
    pub danger: String,
    /// Who asks, as far as that is known.
    pub caller: Option<String>,
    /// What is asked.
    pub message: String,
    /// Why it is asked.
    pub reasons: Vec<String>,
    /// Everything that would be sent, each parameter a line; what is sensitive is left out.
    #[serde(default)]
    pub params: Vec<String>,
    /// Since when it waits.
    pub asked_at: Timestamp,
    /// Until when it can be used.
    pub expires_at: Timestamp,
    /// What has become of it.
    #[serde(skip)]
    pub status: Status,
}

/// What has become of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Status {
    /// Nobody has said anything.
    #[default]
    Pending,
    /// A person said yes, and the call has not come yet.
    Approved,
    /// A person said no.
    Denied,
    /// The call has come.
    Used,
    /// It is too late.
    Expired,
}

impl Status {
    /// The status in one word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Approved => "approved",
            Status::Denied => "denied",
            Status::Used => "used",
            Status::Expired => "expired",
        }
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why nothing was decided.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ApprovalError {
    /// No approval has this id.
    #[error("there is no approval '{0}': 'aquifer approvals list' shows those that wait")]
    Unknown(String),
    /// It is over, one way or another.
    #[error("approval '{id}' is no longer open: it is {status}")]
    Over {
        /// Which.
        id: String,
        /// What has become of it.
        status: Status,
    },
    /// The store does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// An approval as it is kept.
#[derive(Serialize, Deserialize)]
struct Announced {
    approval: Approval,
    /// The key of the token's record: no token.
    token: String,
}

impl Approval {
    /// What is to be approved, without a name yet.
    pub(super) fn of(
        operation: &Operation,
        caller: &Caller,
        asked: &Asked,
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Self {
        Self {
            id: String::new(),
            source: operation.source.to_string(),
            place: operation.place.to_string(),
            operation: operation.name.to_string(),
            danger: operation.danger.as_str().to_owned(),
            caller: caller.principal.as_deref().map(str::to_owned),
            message: asked.message.clone(),
            reasons: asked.reasons.clone(),
            params: asked.params.clone(),
            asked_at: now,
            expires_at,
            status: Status::Pending,
        }
    }
}

/// Puts an approval where people find it, and tells its name.
pub(super) async fn announce(
    store: &dyn StateStore,
    mut approval: Approval,
    token: &str,
) -> Result<String, StoreError> {
    let open = approval.expires_at.duration_since(approval.asked_at);
    let keep = Duration::try_from(open).unwrap_or_default() + LISTED;
    for _ in 0..ATTEMPTS {
        let id = new_id()?;
        approval.id.clone_from(&id);
        let announced = Announced { approval: approval.clone(), token: token.to_owned() };
        let value = serde_json::to_vec(&announced).map_err(|error| StoreError(error.to_string()))?;
        if within(store.compare_and_set(&format!("{PREFIX}{id}"), None, value, keep)).await? {
            return Ok(id);
        }
    }
    Err(StoreError("no name is free for an approval".to_owned()))
}

/// 40 bits: no secret, only a name that another approval does not have.
fn new_id() -> Result<String, StoreError> {
    let mut bits = [0_u8; 8];
    getrandom::fill(&mut bits).map_err(|error| StoreError(format!("no randomness: {error}")))?;
    let letters = bits.iter().filter_map(|byte| ALPHABET.get(usize::from(byte % 32)));
    Ok(letters.map(|letter| char::from(*letter)).collect())
}

/// What waits for a person and what was decided lately, oldest first.
pub async fn list(store: &dyn StateStore, clock: &dyn Clock) -> Result<Vec<Approval>, StoreError> {
    let mut approvals = Vec::new();
    for (_, record) in within(store.list(PREFIX, MOST)).await? {
        let Ok(Announced { mut approval, token }) = serde_json::from_slice(&record.value) else { continue };
        let Some((held, _)) = held(store, &token).await? else { continue };
        approval.status = status(&held, clock.now());
        approvals.push(approval);
    }
    approvals.sort_by_key(|approval| approval.asked_at);
    Ok(approvals)
}

/// A person says yes: the token works now, once.
pub async fn approve(store: &dyn StateStore, id: &str, clock: &dyn Clock) -> Result<Approval, ApprovalError> {
    decide(store, id, clock, State::Ready).await
}

/// A person says no: the token never works. What was approved can still be denied, until it is used.
pub async fn deny(store: &dyn StateStore, id: &str, clock: &dyn Clock) -> Result<Approval, ApprovalError> {
    decide(store, id, clock, State::Denied).await
}

/// One of them, by the name that a person typed.
pub async fn get(store: &dyn StateStore, id: &str, clock: &dyn Clock) -> Result<Approval, ApprovalError> {
    let Announced { mut approval, token } = announced(store, id).await?;
    let (held, _) = held(store, &token).await?.ok_or_else(|| ApprovalError::Unknown(typed(id)))?;
    approval.status = status(&held, clock.now());
    Ok(approval)
}

async fn announced(store: &dyn StateStore, id: &str) -> Result<Announced, ApprovalError> {
    let id = typed(id);
    let record = within(store.get(&format!("{PREFIX}{id}"))).await?;
    record.and_then(|record| serde_json::from_slice(&record.value).ok()).ok_or(ApprovalError::Unknown(id))
}

async fn decide(store: &dyn StateStore, id: &str, clock: &dyn Clock, state: State) -> Result<Approval, ApprovalError> {
    let Announced { mut approval, token } = announced(store, id).await?;
    let id = typed(id);
    let unknown = || ApprovalError::Unknown(id.clone());
    for _ in 0..ATTEMPTS {
        let (mut held, version) = held(store, &token).await?.ok_or_else(unknown)?;
        // Only now, because the clock has learned the time from the store.
        let now = clock.now();
        let status = status(&held, now);
        let open = status == Status::Pending || (status == Status::Approved && state == State::Denied);
        if !open {
            return Err(ApprovalError::Over { id, status });
        }
        held.state = state;
        // The caller's clock may be behind, and what is over must still be told from what never was.
        let keep = held.keep(now, later_by());
        if within(store.compare_and_set(&token, Some(version), held.to_bytes(), keep)).await? {
            approval.status = if state == State::Denied { Status::Denied } else { Status::Approved };
            return Ok(approval);
        }
    }
    Err(ApprovalError::Store(StoreError("a record changes all the time".to_owned())))
}

/// The most that clocks may be apart.
const fn later_by() -> Duration {
    Duration::from_secs(300)
}

/// An id as people type it: in either case, with blanks or hyphens.
fn typed(id: &str) -> String {
    id.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).take(32).collect()
}

async fn held(store: &dyn StateStore, key: &str) -> Result<Option<(Held, u64)>, StoreError> {
    let Some(Record { value, version }) = within(store.get(key)).await? else { return Ok(None) };
    Ok(Held::read(&value).map(|held| (held, version)))
}

fn status(held: &Held, now: Timestamp) -> Status {
    match held.state {
        State::Used => Status::Used,
        State::Denied => Status::Denied,
        _ if now > later(held.expires_at, Duration::ZERO) => Status::Expired,
        State::Pending => Status::Pending,
        State::Ready => Status::Approved,
    }
}
