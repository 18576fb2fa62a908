//! Collects all problems of one request into one failure.

use serde_json::{Map, Value, json};

use super::wording::quotable;
use super::{Code, Failure};
use crate::suggest;

/// One problem of a request.
#[derive(Debug, Clone)]
pub struct Problem {
    code: Code,
    path: String,
    message: String,
    valid: Option<(&'static str, Vec<Value>)>,
    details: Map<String, Value>,
}

/// The maximum number of problems in a failure. Further ones are dropped.
const MAX_LISTED: usize = 100;

impl Problem {
    /// A problem with the value at this path of the parameters.
    pub fn new(code: Code, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code, path: path.into(), message: message.into(), valid: None, details: Map::new() }
    }

    /// Parameters of paging that cannot be combined, or that lack one. The specification demands this code and these
    /// details for them (R-COL-7).
    pub fn paging(names: &[&str], problem: impl std::fmt::Display) -> Self {
        let first = names.first().copied().unwrap_or_default();
        Self::new(Code::ValidationInvalidType, first, about(names, problem))
            .detail("param_name", first)
            .detail("expected_type", "parameters of one page")
            .detail("actual_type", "conflicting parameters")
            .detail("provided", names.to_vec())
    }

    /// Adds the valid names. They appear once: under `key` in the details if those are sent, otherwise after the
    /// message.
    #[must_use]
    pub fn valid<S: AsRef<str>>(self, key: &'static str, names: &[S]) -> Self {
        self.valid_values(key, names.iter().map(|name| name.as_ref().into()).collect())
    }

    /// Like [`valid`](Self::valid), for values of any type.
    #[must_use]
    pub fn valid_values(mut self, key: &'static str, values: Vec<Value>) -> Self {
        self.valid = Some((key, values));
        self
    }

    /// Adds a machine-readable detail. Only the details of the first problem are sent.
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

    /// Combines all problems into one failure. The first problem determines the code and the details. If there are
    /// several, `details.errors` lists all of them. In failures without details, the message contains everything
    /// (R-REQ-4a). `None` if there are no problems.
    pub fn collect(problems: Vec<Problem>, all_in_message: bool) -> Option<Failure> {
        let is_alone = problems.len() == 1;
        let others = problems.iter().skip(1).map(|problem| problem.entry(problem.full_message()));
        let entries = problems.iter().take(1).map(|problem| problem.entry(problem.message.clone()));
        let errors: Vec<Value> = entries.chain(others).take(MAX_LISTED).collect();
        if all_in_message {
            let messages: Vec<String> = problems.iter().take(MAX_LISTED + 1).map(Problem::full_message).collect();
            let first = problems.into_iter().next()?;
            return Some(first.into_failure(messages.join(". ")));
        }
        let more = problems.len().saturating_sub(1);
        let mut first = problems.into_iter().next()?;
        let mut message = std::mem::take(&mut first.message);
        if more > 0 {
            // No blank before it: a message may end in a name such as created_at.
            message.push_str(&format!("; {more} more in details.errors"));
        }
        let failure = first.into_failure(message);
        Some(if is_alone { failure } else { failure.detail("errors", errors) })
    }

    fn into_failure(self, message: String) -> Failure {
        let valid = self.valid.map(|(key, names)| (key.to_owned(), Value::from(names)));
        // The details already name the parameter.
        let is_named =
            self.path.is_empty() || ["param_name", "unknown_params"].iter().any(|key| self.details.contains_key(*key));
        let name = (!is_named).then(|| ("param_name".to_owned(), Value::from(self.path)));
        let details = self.details.into_iter().chain(name).chain(valid);
        details.fold(Failure::new(self.code, message), |failure, (key, value)| failure.detail(&key, value))
    }

    /// The message followed by the valid names.
    fn full_message(&self) -> String {
        let Some((_, names)) = &self.valid else { return self.message.clone() };
        let stop = if self.message.ends_with(['.', '?']) { "" } else { "." };
        let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let names: Vec<String> = names.iter().map(plain).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        format!("{}{stop} Valid: {names}", self.message)
    }

    fn entry(&self, message: String) -> Value {
        let mut entry = json!({ "code": self.code.as_str(), "message": message });
        if let (Some(entry), false) = (entry.as_object_mut(), self.path.is_empty()) {
            entry.insert("path".to_owned(), self.path.as_str().into());
        }
        entry
    }
}

/// The failure of a single problem.
impl From<Problem> for Failure {
    fn from(mut problem: Problem) -> Self {
        let message = std::mem::take(&mut problem.message);
        problem.into_failure(message)
    }
}

/// A message about one or several parameters.
pub fn about(names: &[&str], problem: impl std::fmt::Display) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    let noun = if names.len() == 1 { "Parameter" } else { "Parameters" };
    format!("{noun} {} {problem}", quoted.join(", "))
}

/// The unknown names for a message, the probably intended names, and both as details.
pub fn explain_unknown<S: AsRef<str>>(unknown: &[S], valid: &[&str]) -> (String, String, Map<String, Value>) {
    let listed = || unknown.iter().map(AsRef::as_ref).take(MAX_LISTED);
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
