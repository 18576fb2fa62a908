//! What is wrong with a query, collected.

use aquifer_protocol::error::problems::explain_unknown;
use aquifer_protocol::error::{Code, Failure, Problem};

/// A query with more problems than this is beyond help.
const MAX_COUNT: usize = 100;

/// No more of a caller's name than this is sent back.
const MAX_NAME: usize = 128;

/// Problems met so far. The first decides the code.
#[derive(Default)]
pub(super) struct Problems(Vec<Problem>);

impl Problems {
    fn push(&mut self, problem: Problem) {
        if self.0.len() < MAX_COUNT {
            self.0.push(problem);
        }
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// A value that cannot stand where it stands.
    pub(super) fn invalid(&mut self, path: &str, problem: impl std::fmt::Display) {
        let message = format!("Parameter '{}' {problem}", shown(path));
        self.push(Problem::new(Code::ValidationInvalidValue, path, message).detail("param_name", path));
    }

    /// Parameters that cannot stand beside each other. The first of them is the one that programs are told.
    pub(super) fn contradict(&mut self, names: &[&str], problem: impl std::fmt::Display) {
        let Some(first) = names.first() else { return };
        let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
        let message = format!("Parameters {} {problem}", quoted.join(", "));
        let problem = Problem::new(Code::ValidationInvalidValue, *first, message);
        self.push(problem.detail("param_name", *first).detail("param_names", names.to_vec()));
    }

    /// A value that cannot stand where it stands, and what can.
    pub(super) fn unsuitable<S: AsRef<str>>(&mut self, path: &str, problem: impl std::fmt::Display, valid: &[S]) {
        let message = format!("Parameter '{}' {problem}", shown(path));
        let problem = Problem::new(Code::ValidationInvalidValue, path, message);
        self.push(problem.detail("param_name", path).valid("valid", valid));
    }

    /// A value of the wrong type.
    pub(super) fn wrong_type(&mut self, path: &str, expected: &str) {
        let message = format!("Parameter '{}' expected {expected}", shown(path));
        self.push(Problem::new(Code::ValidationInvalidType, path, message).detail("param_name", path));
    }

    /// A field nobody knows.
    pub(super) fn unknown_field<S: AsRef<str>>(&mut self, path: &str, name: &str, valid: &[S]) {
        let valid: Vec<&str> = valid.iter().map(AsRef::as_ref).collect();
        let computed = valid.iter().find(|known| known.strip_prefix("_computed.") == Some(name));
        self.unknown_field_meaning(path, name, &valid, computed.copied());
    }

    /// The same where it is known what is meant.
    pub(super) fn unknown_field_meaning(&mut self, path: &str, name: &str, valid: &[&str], meant: Option<&str>) {
        // Only what is meant is near to itself.
        let candidates = meant.map_or(valid, |_| &[]);
        let (shown, mut hint, mut suggestions) = explain_unknown(&[name], candidates);
        if let Some(meant) = meant {
            hint = format!(" Did you mean '{meant}'?");
            let name: String = name.chars().take(MAX_NAME).collect();
            suggestions.insert("suggestions".to_owned(), serde_json::json!({ name: meant }));
        }
        let place = self::shown(path);
        let message = format!("Unknown field '{shown}' in '{place}'.{hint}");
        let problem = Problem::new(Code::ValidationUnknownField, path, message)
            .detail("param_name", path)
            .detail("unknown_fields", vec![name.chars().take(MAX_NAME).collect::<String>()])
            .valid("valid_fields", valid)
            .details(suggestions);
        self.push(problem);
    }

    pub(super) fn into_result<T>(self, value: T) -> Result<T, Failure> {
        match Problem::collect(self.0, false) {
            None => Ok(value),
            Some(failure) => Err(failure),
        }
    }
}

/// A path as it may stand in a message. Names in it may be the caller's own, and those are not echoed freely.
pub(super) fn shown(path: &str) -> String {
    let mut shown = String::new();
    for letter in path.chars().take(MAX_NAME) {
        if letter.is_alphanumeric() || "_.[]-".contains(letter) {
            shown.push(letter);
        } else if !shown.ends_with('…') {
            shown.push('…');
        }
    }
    shown
}
