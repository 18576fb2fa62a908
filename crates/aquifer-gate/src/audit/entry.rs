//! Audit entries: one per event. Secrets are removed when the entry is built.

use std::sync::Arc;

use aquifer_engine::{Caller, Context};
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::Types;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};

use super::fields::ChangedFields;
use super::handle::EntryHandle;
use crate::confirm::Confirmer;
use crate::confirm::approvals::{Approval, PausedCaller};
use crate::destination::KnownDestination;
use crate::fingerprint::{session_fingerprint, token_fingerprint};
use crate::redact::{redact, redact_text, truncate};

/// Maximum size of an entry's JSON text.
const MAX_ENTRY_BYTES: usize = 16 * 1024;
/// Maximum number of characters kept of a reason.
const MAX_REASON_CHARS: usize = 500;
/// Maximum number of characters kept of a name.
const MAX_NAME_CHARS: usize = 200;

/// The kind of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Policy, trust or danger denied the call.
    Denied,
    /// The call needs confirmation; a token was issued.
    ConfirmationRequired,
    /// The call was confirmed and its token consumed.
    Confirmed,
    /// A token was refused; the error code says why.
    TokenRejected,
    /// A person approved the call with the command line.
    Approved,
    /// A person declined the call, either with the command line or when asked.
    Declined,
    /// Policy allowed a destructive or more dangerous call without confirmation.
    Allowed,
    /// The operation is about to run. If it is destructive or was confirmed, this entry is on disk before it runs.
    Intent,
    /// The operation has run, failed, or its outcome is unknown.
    Outcome(OperationOutcome),
    /// A quota has reached its warning threshold.
    QuotaWarned,
    /// A quota has paused calls until a caller continues with a token.
    QuotaPaused,
    /// A caller continued after a quota's pause.
    QuotaContinued,
    /// A quota or rate limit is exhausted.
    QuotaStopped,
    /// The number of refusals that were counted instead of being written individually.
    Counted,
    /// An upstream tool is quarantined until its definition is accepted.
    DefinitionQuarantined,
    /// The definition of an upstream tool was accepted.
    DefinitionAccepted,
    /// The definition of an upstream tool was rejected; it stays in quarantine.
    DefinitionRejected,
    /// A person decided the category or danger level of an upstream tool.
    ToolClassified,
    /// A person changed the rules in the configuration.
    RulesChanged,
    /// A person ended the pause of a caller whose requests were refused.
    ChangesResumed,
    /// A person forgot a destination that was known.
    DestinationForgotten,
}

/// The outcome of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationOutcome {
    /// It succeeded.
    Done,
    /// It failed; the error code says how.
    Failed,
    /// The outcome is unknown: the call was cancelled, timed out, lost its connection, or got an unreadable answer.
    Unknown,
}

impl Event {
    /// The event's name in the audit file.
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
            Event::DefinitionRejected => "DEFINITION_REJECTED",
            Event::ToolClassified => "TOOL_CLASSIFIED",
            Event::RulesChanged => "RULES_CHANGED",
            Event::ChangesResumed => "CHANGES_RESUMED",
            Event::DestinationForgotten => "DESTINATION_FORGOTTEN",
        }
    }

    /// The value of `result` in the audit file.
    pub const fn result(self) -> &'static str {
        match self {
            Event::Denied | Event::TokenRejected | Event::Declined | Event::QuotaStopped | Event::Counted => "denied",
            Event::ConfirmationRequired | Event::QuotaPaused => "confirmation_required",
            Event::DefinitionQuarantined | Event::DefinitionRejected => "quarantined",
            Event::ToolClassified | Event::RulesChanged | Event::ChangesResumed | Event::DestinationForgotten => {
                "changed"
            }
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

/// The position of a written entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryPosition {
    /// The chain. Empty if there is no audit.
    pub chain: Arc<str>,
    /// The entry's number in the chain.
    pub sequence: u64,
}

/// One audit entry. Parameters are redacted and tokens replaced by fingerprints as they are added, so an entry never
/// holds a secret, not even in its `Debug` output.
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
    /// Added by the writer, which knows the position of the intent.
    #[serde(skip)]
    intent: Option<EntryHandle>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approval_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed_by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quota: Option<Quota>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<ChangedFields>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    original_parameters: Option<Value>,
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
    /// Creates an entry that is not tied to an operation.
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
            client_name: None,
            approval_id: None,
            confirmed_by: None,
            decided_by: None,
            token_id: None,
            quota: None,
            fields: None,
            parameters: None,
            original_parameters: None,
            gate_time: None,
        }
    }

    /// Creates an entry for this operation.
    pub fn for_operation(event: Event, operation: &Operation) -> Self {
        Self {
            endpoint: Some(operation.category.as_str()),
            danger: Some(operation.safety.danger.as_str()),
            danger_level: Some(operation.safety.danger as u8),
            adapter_trust: Some(operation.origin.trust.as_str()),
            ..Self::new(event).operation(&operation.origin.source, &operation.name)
        }
    }

    /// Sets the source and the name of something that is not an operation of a catalog, such as a resource or a prompt.
    #[must_use]
    pub fn operation(mut self, source: &str, operation: &str) -> Self {
        self.adapter_name = Some(truncate(source, MAX_NAME_CHARS));
        self.operation = Some(truncate(operation, MAX_NAME_CHARS));
        self
    }

    /// Sets the caller, what its client calls itself, and the request id of this context.
    #[must_use]
    pub fn context(self, context: &Context) -> Self {
        self.caller(&context.caller).client(context.client_name.as_deref()).request(&context.request_id)
    }

    /// Creates the entry of a person's decision about an approval. It names the caller and the request that asked, so
    /// that it can be found from both.
    pub fn for_decision(event: Event, decided: &Approval) -> Self {
        let mut entry = Self::new(event).operation(&decided.source, &decided.operation).user(decided.caller.as_deref());
        entry.session_id.clone_from(&decided.session_id);
        entry.request_id.clone_from(&decided.request_id);
        entry.decided_by = decided.decided_by.as_deref().map(|by| truncate(by, MAX_NAME_CHARS));
        let by = decided.decided_by.as_deref().unwrap_or_default();
        let reason = match &decided.decision_reason {
            Some(reason) => format!("approval {}, by {by}: {reason}", decided.id),
            None => format!("approval {}, by {by}", decided.id),
        };
        entry.client(decided.client_name.as_deref()).approval(Some(&decided.id)).reason(&reason)
    }

    /// An entry for a person who ended the pause of a caller's changes.
    pub fn for_resumption(paused: &PausedCaller, by: &str) -> Self {
        let mut entry = Self::new(Event::ChangesResumed).user(paused.caller.as_deref());
        entry.decided_by = Some(truncate(by, MAX_NAME_CHARS));
        entry.reason(&format!("by {by}"))
    }

    /// An entry for a person who forgot a known destination.
    pub fn for_forgotten_destination(known: &KnownDestination, by: &str) -> Self {
        let mut entry = Self::new(Event::DestinationForgotten)
            .operation(&known.source, &known.operation)
            .user(known.caller.as_deref());
        entry.decided_by = Some(truncate(by, MAX_NAME_CHARS));
        entry.reason(&format!("{} was known until now", known.destination))
    }

    /// Sets the caller. Only a fingerprint of the session is kept, because its id may be the client's only credential.
    #[must_use]
    pub fn caller(mut self, caller: &Caller) -> Self {
        self.user_id = caller.principal.as_deref().map(|principal| truncate(principal, MAX_NAME_CHARS));
        self.session_id = caller.session.as_deref().map(session_fingerprint);
        self
    }

    /// Sets what the client calls itself. It is kept where no principal is known, and it is not verified.
    #[must_use]
    pub fn client(mut self, name: Option<&str>) -> Self {
        self.client_name = name.filter(|_| self.user_id.is_none()).map(|name| redact_text(name, MAX_NAME_CHARS));
        self
    }

    /// Sets the approval that the entry is about.
    #[must_use]
    pub fn approval(mut self, id: Option<&str>) -> Self {
        self.approval_id = id.map(|id| truncate(id, MAX_NAME_CHARS));
        self
    }

    /// Sets who or what confirmed the call, with the approval and the person that decided about it.
    #[must_use]
    pub(crate) fn confirmed_by(mut self, confirmer: &Confirmer) -> Self {
        self.confirmed_by = Some(confirmer.as_str());
        match confirmer {
            Confirmer::Caller | Confirmer::Person | Confirmer::Elicitation => self,
            Confirmer::Approval { id, by } => {
                self.decided_by = by.as_deref().map(|by| truncate(by, MAX_NAME_CHARS));
                self.approval(Some(id))
            }
        }
    }

    /// Sets the principal.
    pub(super) fn user(mut self, principal: Option<&str>) -> Self {
        self.user_id = principal.map(|principal| truncate(principal, MAX_NAME_CHARS));
        self
    }

    /// The event and principal of an entry that records a refusal, which a caller can provoke any number of times.
    /// `None` for other entries.
    pub(super) fn refusal(&self) -> Option<(&'static str, Option<&str>)> {
        let kinds = [Event::Denied, Event::TokenRejected, Event::QuotaStopped].map(Event::as_str);
        kinds.contains(&self.event).then_some((self.event, self.user_id.as_deref()))
    }

    /// Sets the request id, which is also in the log.
    #[must_use]
    pub fn request(mut self, id: &str) -> Self {
        self.request_id = Some(truncate(id, MAX_NAME_CHARS));
        self
    }

    /// Sets the parameters, redacted. `types` is the catalog's type registry, needed to find sensitive fields inside
    /// named types.
    #[must_use]
    pub fn parameters(mut self, operation: &Operation, types: Option<&Types>, params: &Map<String, Value>) -> Self {
        self.parameters = Some(redact(operation, types, params));
        self
    }

    /// Sets the parameters before a person edited them, redacted.
    #[must_use]
    pub fn original_parameters(
        mut self,
        operation: &Operation,
        types: Option<&Types>,
        params: &Map<String, Value>,
    ) -> Self {
        self.original_parameters = Some(redact(operation, types, params));
        self
    }

    /// Sets the fields that a write sets and clears.
    #[must_use]
    pub fn fields(mut self, operation: &Operation, params: &Map<String, Value>) -> Self {
        self.fields = ChangedFields::from_call(operation, params);
        self
    }

    /// Sets the token. Only a fingerprint is kept.
    #[must_use]
    pub fn token(mut self, token: &str) -> Self {
        self.token_id = Some(token_fingerprint(token));
        self
    }

    /// Sets the error code of the response.
    #[must_use]
    pub fn code(mut self, code: &str) -> Self {
        self.code = Some(truncate(code, MAX_NAME_CHARS));
        self
    }

    /// Sets the reason.
    #[must_use]
    pub fn reason(mut self, reason: &str) -> Self {
        self.reason = Some(redact_text(reason, MAX_REASON_CHARS));
        self
    }

    /// Sets the intent that this outcome belongs to. The writer adds its position.
    #[must_use]
    pub fn intent(mut self, intent: &EntryHandle) -> Self {
        self.intent = Some(intent.clone());
        self
    }

    /// Takes the intent that this outcome belongs to.
    pub(super) fn take_intent(&mut self) -> Option<EntryHandle> {
        self.intent.take()
    }

    /// Sets the quota or rate limit.
    #[must_use]
    pub fn quota(mut self, name: &str, used: u64, limit: u64) -> Self {
        self.quota = Some(Quota { name: truncate(name, MAX_NAME_CHARS), used, limit });
        self
    }

    /// Sets the gate clock's time. Used when it differs from the wall clock.
    #[must_use]
    pub(super) fn gate_time(mut self, time: Timestamp) -> Self {
        self.gate_time = Some(time);
        self
    }

    /// The members of the entry's JSON object.
    pub(super) fn members(mut self) -> String {
        let text = json_members(&self);
        if text.len() <= MAX_ENTRY_BYTES {
            return text;
        }
        // Escaping can inflate the parameters. Every other field has its own limit.
        self.parameters = Some("[too long]".into());
        self.original_parameters = self.original_parameters.map(|_| "[too long]".into());
        json_members(&self)
    }
}

/// The members of a struct's JSON object, without the braces.
pub(super) fn json_members(object: &impl Serialize) -> String {
    let text = serde_json::to_string(object).unwrap_or_default();
    text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(r#""event":"UNWRITABLE""#).to_owned()
}
