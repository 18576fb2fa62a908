//! Who or what confirmed a call, for the audit.

use super::token::Purpose;

/// Who or what confirmed a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Confirmer {
    /// The caller itself: it sent the token that it was given. No person was involved as far as we know.
    Caller,
    /// The caller itself, which is a person.
    Person,
    /// The person behind the client, as the client says.
    Elicitation,
    /// A person outside the client, in the explorer or with the command line.
    Approval {
        id: String,
        /// The person. `None` in records of earlier versions.
        by: Option<String>,
    },
}

impl Confirmer {
    /// Derives it from the record of the redeemed token.
    pub(super) fn new(purpose: Purpose, approval: Option<String>, by: Option<String>) -> Self {
        match (purpose, approval) {
            (_, Some(id)) => Confirmer::Approval { id, by },
            (Purpose::Question, None) => Confirmer::Elicitation,
            (Purpose::Confirmation | Purpose::Quota, None) => Confirmer::Caller,
        }
    }

    /// Whether a person confirmed it, as far as we know.
    pub(crate) const fn is_person(&self) -> bool {
        match self {
            Confirmer::Caller => false,
            Confirmer::Person | Confirmer::Elicitation | Confirmer::Approval { .. } => true,
        }
    }

    /// The name of the person, if it is known.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Confirmer::Approval { by, .. } => by.as_deref(),
            Confirmer::Caller | Confirmer::Person | Confirmer::Elicitation => None,
        }
    }

    /// The value of `confirmed_by` in the audit.
    pub(crate) const fn as_str(&self) -> &'static str {
        match self {
            Confirmer::Caller => "caller",
            Confirmer::Person => "person",
            Confirmer::Elicitation => "elicitation",
            Confirmer::Approval { .. } => "approval",
        }
    }
}
