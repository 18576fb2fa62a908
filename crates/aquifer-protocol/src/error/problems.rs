//! Everything that is wrong with one request, put into one failure.

use serde_json::{Map, Value, json};

use super::wording::quotable;
use super::{Code, Failure};
use crate::suggest;

/// One thing that is wrong.
#[derive(Debug, Clone)]
pub struct Problem {
    code: Code,
    path: String,
    message: String,
    details: Map<String, Value>,
}

/// More problems than this help nobody.
const MOST_LISTED: usize = 100;

impl Problem {
    /// A problem with what stands under this path of the parameters.
    pub fn new(code: Code, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code, path: path.into(), message: message.into(), details: Map::new() }
    }

    /// Adds one detail for programs. Only those of the first problem are told.
    #[must_use]
    pub fn detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// Adds several details.
    #[must_use]
    pub fn details(mut self, more: Map<String, Value>) -> Self {
        self.details.extend(more);
        self
    }

    /// One failure for all problems: the first decides the code, `details.errors` lists them. Where there is no room
    /// for details, the message holds everything (R-REQ-4a). None if nothing is wrong.
    pub fn collect(problems: Vec<Problem>, all_in_message: bool) -> Option<Failure> {
        let errors: Vec<Value> = problems.iter().take(MOST_LISTED).map(Problem::entry).collect();
        let mut problems = problems.into_iter();
        let first = problems.next()?;
        let more = problems.len();
        let mut message = first.message;
        if all_in_message {
            for problem in problems.take(MOST_LISTED) {
                message.push_str(". ");
                message.push_str(&problem.message);
            }
        } else if more > 0 {
            // No blank before it: a message may end in a name such as created_at.
            message.push_str(&format!("; {more} more in details.errors"));
        }
        let failure = first
            .details
            .into_iter()
            .fold(Failure::new(first.code, message), |failure, (key, value)| failure.detail(&key, value));
        Some(failure.detail("errors", errors))
    }

    fn entry(&self) -> Value {
        let mut entry = json!({ "code": self.code.as_str(), "message": self.message });
        if let (Some(entry), false) = (entry.as_object_mut(), self.path.is_empty()) {
            entry.insert("path".to_owned(), self.path.as_str().into());
        }
        entry
    }
}

/// The unknown names for a message, what was probably meant, and the same for programs.
pub fn explain_unknown<S: AsRef<str>>(unknown: &[S], valid: &[&str]) -> (String, String, Map<String, Value>) {
    let listed = || unknown.iter().map(AsRef::as_ref).take(MOST_LISTED);
    let shown: Vec<String> = listed().map(quotable).collect();
    let meant: Vec<(&str, &str)> =
        listed().filter_map(|name| Some((name, suggest::nearest(name, valid.iter().copied())?))).collect();
    let mut names: Vec<String> = meant.iter().map(|(_, name)| format!("'{name}'")).collect();
    names.dedup();
    let hint = if names.is_empty() { String::new() } else { format!(" Did you mean {}?", names.join(", ")) };
    let mut details = Map::new();
    if !meant.is_empty() {
        let suggestions: Map<String, Value> =
            meant.iter().map(|(wrong, right)| (wrong.chars().take(128).collect(), Value::from(*right))).collect();
        details.insert("suggestions".to_owned(), Value::Object(suggestions));
    }
    (shown.join(", "), hint, details)
}

/// Names for a message.
pub fn listed(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
