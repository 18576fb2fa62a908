//! What can be wrong with a request, collected and put into one failure.

use serde_json::{Map, Value, json};

use crate::error::wording::quotable;
use crate::error::{Code, Failure};
use crate::operation::Operation;
use crate::suggest;

/// When a problem is looked for. The earliest stage decides the code of the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    Missing,
    Type,
    Unknown,
    Constraint,
}

/// One thing that is wrong.
#[derive(Debug)]
pub(super) struct Problem {
    stage: Stage,
    code: Code,
    path: String,
    message: String,
    details: Map<String, Value>,
}

impl Problem {
    pub(super) fn new(stage: Stage, code: Code, path: &str, message: String) -> Self {
        Self { stage, code, path: path.to_owned(), message, details: Map::new() }
    }

    pub(super) fn detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    pub(super) fn details(mut self, more: Map<String, Value>) -> Self {
        self.details.extend(more);
        self
    }
}

/// More problems than this help nobody.
const MOST_LISTED: usize = 100;

/// One failure for all problems. `introspect` has no room for details, so its message holds everything (R-REQ-4a).
pub(super) fn failure(operation: &Operation, mut problems: Vec<Problem>) -> Failure {
    problems.sort_by_key(|problem| problem.stage);
    let errors: Vec<Value> = problems
        .iter()
        .take(MOST_LISTED)
        .map(|problem| {
            let mut error = json!({ "code": problem.code.as_str(), "message": problem.message });
            if let (Some(object), false) = (error.as_object_mut(), problem.path.is_empty()) {
                object.insert("path".to_owned(), problem.path.clone().into());
            }
            error
        })
        .collect();
    let all_in_message = &*operation.name == "introspect";
    let more = problems.len() - 1;
    let mut problems = problems.into_iter();
    let Some(first) = problems.next() else { return Failure::internal("a failure without a problem") };
    let mut message = first.message;
    if all_in_message {
        for problem in problems.take(MOST_LISTED) {
            message.push_str(". ");
            message.push_str(&problem.message);
        }
    } else if more > 0 {
        message.push_str(&format!(" ({more} more in details.errors)"));
    }
    let mut failure = Failure::new(first.code, message);
    for (key, value) in first.details {
        failure = failure.detail(&key, value);
    }
    failure.detail("errors", errors)
}

/// The unknown names for a message, what was probably meant, and the same for programs.
pub(super) fn explain_unknown(unknown: &[String], valid: &[&str]) -> (String, String, Map<String, Value>) {
    let shown: Vec<String> = unknown.iter().take(MOST_LISTED).map(|name| quotable(name)).collect();
    let meant: Vec<(&str, &str)> = unknown
        .iter()
        .take(MOST_LISTED)
        .filter_map(|name| Some((name.as_str(), suggest::nearest(name, valid.iter().copied())?)))
        .collect();
    let hint = match meant.as_slice() {
        [] => String::new(),
        several => {
            let mut names: Vec<&str> = several.iter().map(|(_, name)| *name).collect();
            names.dedup();
            format!(" Did you mean {}?", listed_quoted(&names))
        }
    };
    let mut details = Map::new();
    if !meant.is_empty() {
        let suggestions: Map<String, Value> =
            meant.iter().map(|(wrong, right)| ((*wrong).chars().take(128).collect(), Value::from(*right))).collect();
        details.insert("suggestions".to_owned(), Value::Object(suggestions));
    }
    (shown.join(", "), hint, details)
}

/// Names for a message.
pub(super) fn listed(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn listed_quoted(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    quoted.join(", ")
}
