//! What is written down: one entry per event, already free of secrets when it is made.

use std::sync::Arc;

use aquifer_engine::{Caller, Context};
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::Types;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};

use super::fields::ChangedFields;
use super::handle::EntryHandle;
use super::line::fingerprint;
use crate::redact::{redact, redact_text, truncate};

/// An entry's text is never longer, whatever it is made of.
const MAX_ENTRY_BYTES: usize = 16 * 1024;
/// Characters kept of a reason.
const MAX_REASON_CHARS: usize = 500;
/// Characters kept of any name.
const MAX_NAME_CHARS: usize = 200;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Policy, trust or danger stopped it.
    Denied,
    /// Somebody has to say yes first; a token was issued.
    ConfirmationRequired,
    /// Somebody said yes, and the token was spent.
    Confirmed,
    /// A token was refused; the reason is its error code.
    TokenRejected,
    /// A person approved it outside.
    Approved,
    /// A person said no: outside, or when asked.
    Declined,
    /// Policy lets something destructive or worse run without a question.
    Allowed,
    /// It is about to run. If it is destructive or was confirmed, this is on disk before it does.
    Intent,
    /// It has run, or failed, or nobody knows.
    Outcome(OperationOutcome),
    /// A quota is nearly used up.
    QuotaWarned,
    /// A quota is used up until somebody says to go on.
    QuotaPaused,
    /// Somebody said to go on.
    QuotaContinued,
    /// A quota or rate limit is used up.
    QuotaStopped,
    /// Refusals that came in a flood, counted.
    Counted,
    /// An upstream's tool cannot be called until somebody accepts its definition.
    DefinitionQuarantined,
    /// Somebody accepted the definition of an upstream's tool.
    DefinitionAccepted,
}

/// How an operation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationOutcome {
    /// It was done.
    Done,
    /// The source said that it failed; the code says how.
    Failed,
    /// Nobody knows: cancelled, timed out, gone while it ran, or answered with something that cannot be read.
    Unknown,
}

impl Event {
    /// The event as it stands in the file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Event::Denied => "OPERATION_DENIED",
            Event::ConfirmationRequired => "CONFIRMATION_REQUIRED",
            Event::Confirmed => "CONFIRMATION_GRANTED",
            Event::TokenRejected => "TOKEN_REJECTED",
            Event::Approved => "APPROVAL_GRANTED",
            Event::Declined => "APPROVAL_DECLINED",
            Event::Allowed => "OPERATION_ALLOWED",
            Event::Intent => "OPERATION_INTENT",
            Event::Outcome(_) => "OPERATION_OUTCOME",
            Event::QuotaWarned => "QUOTA_WARNED",
            Event::QuotaPaused => "QUOTA_PAUSED",
            Event::QuotaContinued => "QUOTA_CONTINUED",
            Event::QuotaStopped => "QUOTA_STOPPED",
            Event::Counted => "REFUSALS_COUNTED",
            Event::DefinitionQuarantined => "DEFINITION_QUARANTINED",
            Event::DefinitionAccepted => "DEFINITION_ACCEPTED",
        }
    }

    /// What came of it, in a word.
    pub const fn result(self) -> &'static str {
        match self {
            Event::Denied | Event::TokenRejected | Event::Declined | Event::QuotaStopped | Event::Counted => "denied",
            Event::ConfirmationRequired | Event::QuotaPaused => "confirmation_required",
            Event::DefinitionQuarantined => "quarantined",
            Event::Confirmed | Event::QuotaContinued => "confirmed",
            Event::Approved | Event::DefinitionAccepted => "approved",
            Event::Allowed | Event::QuotaWarned => "allowed",
            Event::Intent => "intended",
            Event::Outcome(OperationOutcome::Done) => "done",
            Event::Outcome(OperationOutcome::Failed) => "failed",
            Event::Outcome(OperationOutcome::Unknown) => "unknown",
        }
    }
}

/// Where an entry stands once it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryPosition {
    /// Its chain. Empty where no audit is kept.
    pub chain: Arc<str>,
    /// Its number in the chain.
    pub sequence: u64,
}

/// One event. Parameters are redacted and tokens replaced by fingerprints when they are given, so an entry never holds
/// a secret. Not even for a moment, not even in its `Debug` output.
#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    event: &'static str,
    result: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    adapter_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    endpoint: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    danger: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    danger_level: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    adapter_trust: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Written by the writer, which knows where the intent stands.
    #[serde(skip)]
    intent: Option<EntryHandle>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quota: Option<Quota>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<ChangedFields>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gate_time: Option<Timestamp>,
}

#[derive(Debug, Clone, Serialize)]
struct Quota {
    name: String,
    used: u64,
    #[serde(rename = "most")]
    limit: u64,
}

impl Entry {
    /// An event that says nothing about an operation yet.
    pub fn new(event: Event) -> Self {
        Self {
            event: event.as_str(),
            result: event.result(),
            adapter_name: None,
            operation: None,
            endpoint: None,
            danger: None,
            danger_level: None,
            adapter_trust: None,
            code: None,
            reason: None,
            intent: None,
            request_id: None,
            user_id: None,
            session_id: None,
            token_id: None,
            quota: None,
            fields: None,
            parameters: None,
            gate_time: None,
        }
    }

    /// An event of this operation.
    pub fn for_operation(event: Event, operation: &Operation) -> Self {
        Self {
            endpoint: Some(operation.category.as_str()),
            danger: Some(operation.danger.as_str()),
            danger_level: Some(operation.danger as u8),
            adapter_trust: Some(operation.trust.as_str()),
            ..Self::new(event).operation(&operation.source, &operation.name)
        }
    }

    /// Names what is no operation of a catalog: a document, a prompt, something that was asked for under a name.
    #[must_use]
    pub fn operation(mut self, source: &str, operation: &str) -> Self {
        self.adapter_name = Some(truncate(source, MAX_NAME_CHARS));
        self.operation = Some(truncate(operation, MAX_NAME_CHARS));
        self
    }

    /// Whose request it was, and under which id the log knows it.
    #[must_use]
    pub fn context(self, context: &Context) -> Self {
        self.caller(&context.caller).request(&context.request_id)
    }

    /// Who asked. Of a session only a fingerprint is kept, because its id may be all that a client has to show.
    #[must_use]
    pub fn caller(mut self, caller: &Caller) -> Self {
        self.user_id = caller.principal.as_deref().map(|principal| truncate(principal, MAX_NAME_CHARS));
        self.session_id = caller.session.as_deref().map(|session| fingerprint("session_", session));
        self
    }

    /// Who, by name.
    pub(super) fn user(mut self, principal: Option<&str>) -> Self {
        self.user_id = principal.map(|principal| truncate(principal, MAX_NAME_CHARS));
        self
    }

    /// What kind of refusal it is, and whose, if it is one that a caller can bring about as often as it likes.
    pub(super) fn refusal(&self) -> Option<(&'static str, Option<&str>)> {
        let kinds = [Event::Denied, Event::TokenRejected, Event::QuotaStopped].map(Event::as_str);
        kinds.contains(&self.event).then_some((self.event, self.user_id.as_deref()))
    }

    /// Under which id the log knows the request.
    #[must_use]
    pub fn request(mut self, id: &str) -> Self {
        self.request_id = Some(truncate(id, MAX_NAME_CHARS));
        self
    }

    /// The parameters, redacted here and now. `types` are those of the catalog, where sensitive fields can be found
    /// inside named types.
    #[must_use]
    pub fn parameters(mut self, operation: &Operation, types: Option<&Types>, params: &Map<String, Value>) -> Self {
        self.parameters = Some(redact(operation, types, params));
        self
    }

    /// Which fields a write sets and which it clears.
    #[must_use]
    pub fn fields(mut self, operation: &Operation, params: &Map<String, Value>) -> Self {
        self.fields = ChangedFields::from_call(operation, params);
        self
    }

    /// The token it is about; only a fingerprint is kept.
    #[must_use]
    pub fn token(mut self, token: &str) -> Self {
        self.token_id = Some(fingerprint("token_", token));
        self
    }

    /// The code of the error it was answered with.
    #[must_use]
    pub fn code(mut self, code: &str) -> Self {
        self.code = Some(truncate(code, MAX_NAME_CHARS));
        self
    }

    /// Why, in words.
    #[must_use]
    pub fn reason(mut self, reason: &str) -> Self {
        self.reason = Some(redact_text(reason, MAX_REASON_CHARS));
        self
    }

    /// The intent whose outcome this is. The writer adds where it stands.
    #[must_use]
    pub fn intent(mut self, intent: &EntryHandle) -> Self {
        self.intent = Some(intent.clone());
        self
    }

    /// The intent whose outcome this is.
    pub(super) fn take_intent(&mut self) -> Option<EntryHandle> {
        self.intent.take()
    }

    /// The quota it is about.
    #[must_use]
    pub fn quota(mut self, name: &str, used: u64, limit: u64) -> Self {
        self.quota = Some(Quota { name: truncate(name, MAX_NAME_CHARS), used, limit });
        self
    }

    /// The time by which the gate counted, where that is another than the wall clock's.
    #[must_use]
    pub(super) fn gate_time(mut self, time: Timestamp) -> Self {
        self.gate_time = Some(time);
        self
    }

    /// The members of its JSON object.
    pub(super) fn members(mut self) -> String {
        let text = json_members(&self);
        if text.len() <= MAX_ENTRY_BYTES {
            return text;
        }
        // Escapes can make much of little. Without the parameters every part has its own bound.
        self.parameters = Some("[too long]".into());
        json_members(&self)
    }
}

/// The members of a struct's JSON object, without the braces.
pub(super) fn json_members(object: &impl Serialize) -> String {
    let text = serde_json::to_string(object).unwrap_or_default();
    text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(r#""event":"UNWRITABLE""#).to_owned()
}
