//! Approvals: calls that wait until a person approves or denies them through a channel that no model can use.
//!
//! Each approval has a record under an id short enough to type, in addition to the token's record. The call itself is
//! stored separately in several records, because it may exceed the size of one. A decision updates the token's record
//! atomically; only the caller knows the token. A call can be approved only after it was read back in full.

use std::time::Duration;

use aquifer_engine::clock::Clock;
use aquifer_engine::store::{Record, StateStore, StoreError};
use aquifer_engine::{Caller, Context};
use aquifer_protocol::operation::Operation;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::call::{self, FullCall};
use super::edit::EditedCall;
use super::message::{BatchSubject, ConfirmationPrompt};
use super::record::{RecordedDecision, TokenRecord};
use super::status::status;
use crate::destination::Remember;
use crate::fingerprint::session_fingerprint;
use crate::timeout::with_timeout;

pub use super::call::MAX_CALL_BYTES;
pub use super::decide::MAX_REASON_CHARS;
pub use super::decide::approve;
pub use super::decide::approve_denied;
pub use super::decide::approve_edited;
pub use super::decide::deny;
pub use super::declined::PausedCaller;
pub use super::declined::paused;
pub use super::declined::resume;
pub use super::render::escape;
pub use super::render::wrap_text;
pub use super::status::ApprovalError;
pub use super::status::Status;

const PREFIX: &str = "gate/approval/";

/// Calls are stored in parts, under the key of their token.
const CALL_PREFIX: &str = "gate/call/";

/// Size of one part of a call. Smaller than the largest record.
const PART_BYTES: usize = 512 * 1024;

/// Maximum number of approvals listed. Each caller can open only a limited number, and they expire.
const MAX_APPROVALS: usize = 10_000;

/// How long a decided or expired approval stays listed.
const LISTED_AFTER_END: Duration = Duration::from_secs(10 * 60);

/// Letters and digits that are not easily confused with each other.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// Maximum number of attempts to find a free id.
const MAX_ATTEMPTS: usize = 8;

/// A call that waits, or waited, for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// Its id.
    pub id: String,
    /// The source.
    pub source: String,
    /// The database or server behind the source.
    #[serde(default)]
    pub place: String,
    /// The operation.
    pub operation: String,
    /// The operation's danger level.
    pub danger: String,
    /// The caller, if known.
    pub caller: Option<String>,
    /// What the client calls itself, if the caller is not known. Nobody has verified it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_name: Option<String>,
    /// The fingerprint of the caller's session, as in the audit log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The request that asked. Records of earlier versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// What would run, in plain words. [`get`] returns the parameters.
    pub message: String,
    /// Why it needs approval.
    pub reasons: Vec<String>,
    /// Number of parameters.
    pub parameter_count: usize,
    /// Size of its parameters as JSON.
    pub call_bytes: usize,
    /// When the caller requested it.
    pub asked_at: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
    /// Whether a person may change its parameters before approving it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_editable: bool,
    /// Whether approving it makes its destinations known, unless the person chooses otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub offers_memory: bool,
    /// Its status.
    #[serde(default)]
    pub status: Status,
    /// Who approved or denied it. Records of earlier versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// Why it was denied, if the person said so. Typed text: [`escape`] it before showing it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision_reason: Option<String>,
}

/// What a rehearsal found the call would change, when it was requested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalPreview {
    /// The change in plain words; one line for each call of a batch. Values in it are escaped.
    pub text: String,
    /// Whether [`Approval::message`] already says all of it.
    pub is_in_message: bool,
}

/// An approval with the full call, as a person has to see it before approving. Only [`get`] creates one.
#[derive(Debug, Clone)]
pub struct ReviewedApproval {
    approval: Approval,
    call: FullCall,
    preview: Option<ApprovalPreview>,
    edited: Option<EditedCall>,
    /// The digest of the call that was read.
    digest: String,
    remember: Remember,
}

impl ReviewedApproval {
    /// The approval.
    pub fn approval(&self) -> &Approval {
        &self.approval
    }

    /// The full call.
    pub fn call(&self) -> &FullCall {
        &self.call
    }

    /// What it would change, if it could be rehearsed.
    pub fn preview(&self) -> Option<&ApprovalPreview> {
        self.preview.as_ref()
    }

    /// The call that runs instead, if the person who approved it changed it.
    pub fn edited(&self) -> Option<&EditedCall> {
        self.edited.as_ref()
    }

    /// What is remembered about its destinations, if it is approved.
    pub fn remember(&self) -> Remember {
        self.remember
    }

    /// The same, with what the person wants to be remembered about its destinations.
    #[must_use]
    pub fn remembering(self, remember: Remember) -> Self {
        let remember = if self.approval.offers_memory { remember } else { Remember::Nothing };
        Self { remember, ..self }
    }

    /// The context of the caller that asked, as far as it is known: its session is not.
    pub fn asking_context(&self) -> Context {
        let principal = self.approval.caller.as_deref().map(Into::into);
        Context::new(Caller { principal, session: None }, self.approval.request_id.as_deref().unwrap_or_default())
    }

    /// The digest of the call. Whoever shows the call elsewhere can check with it that it is still the same.
    pub fn digest(&self) -> &str {
        &self.digest
    }
}

/// An approval as stored.
#[derive(Serialize, Deserialize)]
pub(super) struct ApprovalRecord {
    pub(super) approval: Approval,
    /// The key of the token's record. This is not the token.
    pub(super) token: String,
    /// Number of parts of the call.
    parts: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    preview: Option<ApprovalPreview>,
}

/// A call as stored.
pub(super) struct StoredCall {
    bytes: Vec<u8>,
    parameter_count: usize,
    /// The size of what would be sent.
    parameter_bytes: usize,
}

impl StoredCall {
    pub(super) fn new(call: &FullCall) -> Self {
        let parameter_bytes = serde_json::to_vec(&call.params).map_or(0, |bytes| bytes.len());
        Self { bytes: call.to_bytes(), parameter_count: call.params.len(), parameter_bytes }
    }

    /// Its size in bytes.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn digest(&self) -> String {
        call::digest(&self.bytes)
    }
}

impl Approval {
    /// Creates an approval without an id.
    pub(super) fn new(
        operation: &Operation,
        context: &Context,
        prompt: &ConfirmationPrompt,
        call: &StoredCall,
        (now, expires_at): (Timestamp, Timestamp),
    ) -> Self {
        let (batch, caller) = (prompt.batch.as_ref(), &context.caller);
        let of = |own: &str, of_batch: fn(&BatchSubject) -> &str| batch.map_or(own, of_batch).to_owned();
        Self {
            id: String::new(),
            source: of(&operation.origin.source, |batch| &batch.source),
            place: of(&operation.origin.place, |batch| &batch.place),
            operation: of(&operation.name, |batch| &batch.operations),
            danger: operation.safety.danger.as_str().to_owned(),
            caller: caller.principal.as_deref().map(str::to_owned),
            client_name: context.client_name.as_deref().filter(|_| caller.principal.is_none()).map(str::to_owned),
            session_id: caller.session.as_deref().map(session_fingerprint),
            request_id: Some(context.request_id.to_string()),
            message: prompt.headline.clone(),
            reasons: prompt.reasons.clone(),
            parameter_count: call.parameter_count,
            call_bytes: call.parameter_bytes,
            asked_at: now,
            expires_at,
            is_editable: false,
            offers_memory: prompt.offers_memory,
            status: Status::Pending,
            decided_by: None,
            decision_reason: None,
        }
    }

    /// Adds what the token's record says about the decision.
    pub(super) fn with_decision(mut self, token_record: &TokenRecord, now: Timestamp) -> Self {
        self.status = status(token_record, now);
        if let Some(RecordedDecision { by, reason, .. }) = &token_record.decision {
            (self.decided_by, self.decision_reason) = (Some(by.clone()), reason.clone());
        }
        self
    }
}

/// Stores an approval and its call. Returns the approval with its id.
pub(super) async fn publish(
    store: &dyn StateStore,
    mut approval: Approval,
    call: &StoredCall,
    preview: Option<&ApprovalPreview>,
    token: &str,
) -> Result<Approval, StoreError> {
    let open = approval.expires_at.duration_since(approval.asked_at);
    let keep = Duration::try_from(open).unwrap_or_default() + LISTED_AFTER_END;
    // The call comes first, so that every listed approval can be shown.
    let parts = call.bytes.chunks(PART_BYTES);
    let part_count = parts.len();
    for (part, bytes) in parts.enumerate() {
        if !with_timeout(store.compare_and_set(&part_key(token, part), None, bytes.to_vec(), keep)).await? {
            return Err(StoreError("the call of a new token already exists".to_owned()));
        }
    }
    for _ in 0..MAX_ATTEMPTS {
        let id = new_id()?;
        approval.id.clone_from(&id);
        let record = ApprovalRecord {
            approval: approval.clone(),
            token: token.to_owned(),
            parts: part_count,
            preview: preview.cloned(),
        };
        let value = serde_json::to_vec(&record).map_err(|error| StoreError(error.to_string()))?;
        if with_timeout(store.compare_and_set(&format!("{PREFIX}{id}"), None, value, keep)).await? {
            return Ok(approval);
        }
    }
    Err(StoreError("no free approval id was found".to_owned()))
}

/// The key of one part of the call that belongs to this token key.
fn part_key(token: &str, part: usize) -> String {
    format!("{CALL_PREFIX}{}/{part}", token.rsplit('/').next().unwrap_or(token))
}

/// 40 random bits. An id is not a secret; it only has to be unique.
fn new_id() -> Result<String, StoreError> {
    let mut bits = [0_u8; 8];
    getrandom::fill(&mut bits).map_err(|error| StoreError(format!("no random numbers are available: {error}")))?;
    let characters = bits.iter().filter_map(|byte| ALPHABET.get(usize::from(byte % 32)));
    Ok(characters.map(|c| char::from(*c)).collect())
}

/// Pending and recently decided approvals, oldest first.
pub async fn list(store: &dyn StateStore, clock: &dyn Clock) -> Result<Vec<Approval>, StoreError> {
    let mut approvals = Vec::new();
    for (_, record) in with_timeout(store.list(PREFIX, MAX_APPROVALS)).await? {
        let Ok(ApprovalRecord { approval, token, .. }) = serde_json::from_slice(&record.value) else { continue };
        let Some((token_record, _)) = load_token_record(store, &token).await? else { continue };
        approvals.push(approval.with_decision(&token_record, clock.now()));
    }
    approvals.sort_by_key(|approval| approval.asked_at);
    Ok(approvals)
}

/// Finds an approval by its id, without the call.
pub async fn find(store: &dyn StateStore, id: &str, clock: &dyn Clock) -> Result<Approval, ApprovalError> {
    let ApprovalRecord { approval, token, .. } = load_approval(store, id).await?;
    let (token_record, _) =
        load_token_record(store, &token).await?.ok_or_else(|| ApprovalError::Unknown(normalize_id(id)))?;
    Ok(approval.with_decision(&token_record, clock.now()))
}

/// Finds an approval by its id, with the full call.
pub async fn get(store: &dyn StateStore, id: &str, clock: &dyn Clock) -> Result<ReviewedApproval, ApprovalError> {
    let ApprovalRecord { approval, token, parts, preview } = load_approval(store, id).await?;
    let (token_record, _) =
        load_token_record(store, &token).await?.ok_or_else(|| ApprovalError::Unknown(normalize_id(id)))?;
    let approval = approval.with_decision(&token_record, clock.now());
    let incomplete = || ApprovalError::Incomplete(approval.id.clone());
    let mut bytes = Vec::new();
    for part in 0..parts.min(MAX_CALL_BYTES.div_ceil(PART_BYTES)) {
        let record = with_timeout(store.get(&part_key(&token, part))).await?.ok_or_else(incomplete)?;
        bytes.extend(record.value);
    }
    let digest = call::digest(&bytes);
    let call =
        FullCall::from_bytes(&bytes).filter(|_| token_record.call.as_ref() == Some(&digest)).ok_or_else(incomplete)?;
    let edited = token_record.edit.map(|edit| edit.edited);
    let remember = if approval.offers_memory { Remember::Destinations } else { Remember::Nothing };
    Ok(ReviewedApproval { approval, call, preview, edited, digest, remember })
}

pub(super) async fn load_approval(store: &dyn StateStore, id: &str) -> Result<ApprovalRecord, ApprovalError> {
    let id = normalize_id(id);
    let record = with_timeout(store.get(&format!("{PREFIX}{id}"))).await?;
    record.and_then(|record| serde_json::from_slice(&record.value).ok()).ok_or(ApprovalError::Unknown(id))
}

/// Normalizes an id by ignoring case, blanks and hyphens.
pub(super) fn normalize_id(id: &str) -> String {
    id.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).take(32).collect()
}

pub(super) async fn load_token_record(
    store: &dyn StateStore,
    key: &str,
) -> Result<Option<(TokenRecord, u64)>, StoreError> {
    let Some(Record { value, version }) = with_timeout(store.get(key)).await? else { return Ok(None) };
    Ok(TokenRecord::from_bytes(&value).map(|token_record| (token_record, version)))
}
