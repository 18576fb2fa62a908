//! A mounted source, and what its trust is based on.

use std::sync::Arc;

use aquifer_protocol::trust::Trust;
use serde_json::{Map, Value};

use super::Snapshot;
use crate::source::{Offering, Source};

/// Knows which operations of a source were tested. Called when a catalog is built, so that a source whose operations
/// changed is no longer `validated`.
pub trait Evidence: Send + Sync {
    /// The report of the tests that exactly these operations passed, in the form of the specification's trust document:
    /// `validated_at`, `validated_by`, `validation_report`.
    fn validation(&self, offering: &Offering) -> Option<Map<String, Value>>;
}

/// A mounted source.
#[derive(Clone)]
pub struct Mount {
    /// The source.
    pub source: Arc<dyn Source>,
    /// The prefix of its operations. By default the name of the source, unless it is the only source.
    pub prefix: Option<String>,
    /// The operator's trust level. By default the trust level of its operations.
    pub trust: Option<Trust>,
    /// The database or server behind the source's name, without secrets. A confirmation for one place does not apply to
    /// another with the same source name.
    pub place: Arc<str>,
    /// What is known about tests of the source.
    pub evidence: Option<Arc<dyn Evidence>>,
}

impl Mount {
    /// Mounts a source under its own name, with the trust level of its operations.
    pub fn new(source: Arc<dyn Source>) -> Self {
        Self { source, prefix: None, trust: None, place: "".into(), evidence: None }
    }

    /// The prefix of its operations and prompts among `count` mounts.
    pub(crate) fn prefix_among(&self, count: usize) -> String {
        match (&self.prefix, count) {
            (Some(prefix), _) => prefix.clone(),
            (None, 1) => String::new(),
            (None, _) => format!("{}_", self.source.name()),
        }
    }

    /// The trust level of the source: by default the lowest of its operations.
    pub fn trust(&self, snapshot: &Snapshot) -> Trust {
        let of_operations = || {
            let all = snapshot.catalog.operations().iter().chain(snapshot.unlisted.operations());
            let own = all.filter(|operation| &*operation.origin.source == self.source.name());
            own.map(|operation| operation.origin.trust).min()
        };
        let is_validated = snapshot.validation(self.source.name()).is_some();
        self.trust_with(is_validated).or_else(of_operations).unwrap_or(Trust::Accepted)
    }

    /// The report of the tests that these operations passed. A source that nobody accepted has none: whether it works is
    /// another question than whether it may be used.
    pub(super) fn validation(&self, offering: &Offering) -> Option<Map<String, Value>> {
        let evidence = self.evidence.as_ref().filter(|_| self.trust.is_some_and(|trust| trust >= Trust::Accepted));
        evidence?.validation(offering)
    }

    /// The operator's trust level, raised to `validated` by tests.
    pub(super) fn trust_with(&self, is_validated: bool) -> Option<Trust> {
        if is_validated { self.trust.map(|trust| trust.max(Trust::Validated)) } else { self.trust }
    }
}
