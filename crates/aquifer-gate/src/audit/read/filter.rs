//! Which entries are wanted.

use jiff::Timestamp;
use serde_json::Value;

/// Conditions that an entry has to meet. Texts have to be equal to the entry's.
#[derive(Debug, Clone, Default)]
pub struct EntryFilter {
    /// Written at this time or later.
    pub from: Option<Timestamp>,
    /// Written at this time or earlier.
    pub to: Option<Timestamp>,
    /// The caller.
    pub caller: Option<String>,
    /// The source.
    pub source: Option<String>,
    /// The operation.
    pub operation: Option<String>,
    /// The event, such as `OPERATION_DENIED`.
    pub event: Option<String>,
    /// What came of it, such as `denied` or `done`.
    pub result: Option<String>,
    /// The request.
    pub request_id: Option<String>,
    /// The approval.
    pub approval_id: Option<String>,
}

impl EntryFilter {
    /// The wanted texts with the names of their members in an entry.
    fn texts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let texts = [
            ("user_id", &self.caller),
            ("adapter_name", &self.source),
            ("operation", &self.operation),
            ("event", &self.event),
            ("result", &self.result),
            ("request_id", &self.request_id),
            ("approval_id", &self.approval_id),
        ];
        texts.into_iter().filter_map(|(name, text)| Some((name, text.as_deref()?)))
    }

    /// Prepares the texts for comparison.
    pub(super) fn matcher(&self) -> LineMatcher {
        let texts = self.texts().map(|(name, text)| {
            let quoted = Value::from(text).to_string();
            (name, text.to_owned(), quoted)
        });
        LineMatcher { texts: texts.collect() }
    }
}

/// Compares lines with the texts of a filter.
pub(super) struct LineMatcher {
    /// Name, text, and the text as JSON.
    texts: Vec<(&'static str, String, String)>,
}

impl LineMatcher {
    /// Whether a line is an entry with these texts.
    pub(super) fn matches(&self, line: &str) -> bool {
        // Most lines are ruled out without parsing them. A line that contains the text may contain it elsewhere.
        if !self.texts.iter().all(|(_, _, quoted)| line.contains(quoted)) {
            return false;
        }
        let Ok(entry) = serde_json::from_str::<Value>(line) else { return false };
        self.texts.iter().all(|(name, text, _)| entry.get(name).and_then(Value::as_str) == Some(text))
    }
}
