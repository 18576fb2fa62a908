//! Collects the problems of a query.

use aquifer_protocol::error::problems::{about, explain_unknown};
use aquifer_protocol::error::{Code, Failure, Problem};

use super::path::UnknownPath;

/// Further problems are not reported.
const MAX_PROBLEMS: usize = 100;

/// Names from the caller are truncated to this length before they are sent back.
const MAX_NAME_CHARS: usize = 128;

/// The problems so far. The first determines the error code.
#[derive(Default)]
pub(super) struct Problems(Vec<Problem>);

impl Problems {
    fn push(&mut self, problem: Problem) {
        if self.0.len() < MAX_PROBLEMS {
            self.0.push(problem);
        }
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// An invalid value.
    pub(super) fn invalid(&mut self, path: &str, problem: impl std::fmt::Display) {
        let message = format!("Parameter '{}' {problem}", sanitize_path(path));
        self.push(Problem::new(Code::ValidationInvalidValue, path, message).detail("param_name", path));
    }

    /// Parameters that cannot be combined. The first one is reported as `param_name`.
    pub(super) fn conflict(&mut self, names: &[&str], problem: impl std::fmt::Display) {
        let Some(first) = names.first() else { return };
        let problem = Problem::new(Code::ValidationInvalidValue, *first, about(names, problem));
        self.push(problem.detail("param_name", *first).detail("param_names", names.to_vec()));
    }

    /// Parameters of paging that cannot be combined, or that lack one.
    pub(super) fn paging(&mut self, names: &[&str], problem: impl std::fmt::Display) {
        self.push(Problem::paging(names, problem));
    }

    /// An invalid value, with the valid ones.
    pub(super) fn unsuitable<S: AsRef<str>>(&mut self, path: &str, problem: impl std::fmt::Display, valid: &[S]) {
        let message = format!("Parameter '{}' {problem}", sanitize_path(path));
        let problem = Problem::new(Code::ValidationInvalidValue, path, message);
        self.push(problem.detail("param_name", path).valid("valid", valid));
    }

    /// A value of the wrong type.
    pub(super) fn wrong_type(&mut self, path: &str, expected: &str) {
        let message = format!("Parameter '{}' expected {expected}", sanitize_path(path));
        let problem = Problem::new(Code::ValidationInvalidType, path, message).detail("param_name", path);
        self.push(problem.detail("expected_type", expected));
    }

    /// An unknown field.
    pub(super) fn unknown_field(&mut self, path: &str, name: &str, known: &(impl KnownFields + ?Sized)) {
        let valid = known.names();
        let computed = valid.iter().find(|field| field.strip_prefix("_computed.") == Some(name));
        match known.advice() {
            Some(advice) => self.unknown_field_with_advice(path, name, &valid, advice),
            None => self.unknown_field_with_hint(path, name, &valid, known.meant().or(computed.copied())),
        }
    }

    fn unknown_field_with_advice(&mut self, path: &str, name: &str, valid: &[&str], advice: &str) {
        let (shown, _, _) = explain_unknown(&[name], &[]);
        let message = format!("Unknown field '{shown}' in '{}'. {advice}", sanitize_path(path));
        let problem = Problem::new(Code::ValidationUnknownField, path, message)
            .detail("param_name", path)
            .detail("unknown_fields", vec![name.chars().take(MAX_NAME_CHARS).collect::<String>()])
            .valid("valid_fields", valid);
        self.push(problem);
    }

    /// An unknown field, with the field that is probably meant.
    pub(super) fn unknown_field_with_hint(&mut self, path: &str, name: &str, valid: &[&str], meant: Option<&str>) {
        // If the meaning is known, similar names are not needed.
        let candidates = meant.map_or(valid, |_| &[]);
        let (shown, mut hint, mut suggestions) = explain_unknown(&[name], candidates);
        if let Some(meant) = meant {
            hint = format!(" Did you mean '{meant}'?");
            let name: String = name.chars().take(MAX_NAME_CHARS).collect();
            suggestions.insert("suggestions".to_owned(), serde_json::json!({ name: meant }));
        }
        let place = sanitize_path(path);
        let message = format!("Unknown field '{shown}' in '{place}'.{hint}");
        let problem = Problem::new(Code::ValidationUnknownField, path, message)
            .detail("param_name", path)
            .detail("unknown_fields", vec![name.chars().take(MAX_NAME_CHARS).collect::<String>()])
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

/// The names that are valid instead of an unknown one.
pub(super) trait KnownFields {
    /// All of them.
    fn names(&self) -> Vec<&str>;

    /// The name that is probably meant, if there is better evidence than similarity.
    fn meant(&self) -> Option<&str> {
        None
    }

    /// What to write instead, as sentences.
    fn advice(&self) -> Option<&str> {
        None
    }
}

impl<S: AsRef<str>> KnownFields for [S] {
    fn names(&self) -> Vec<&str> {
        self.iter().map(AsRef::as_ref).collect()
    }
}

impl<S: AsRef<str>> KnownFields for Vec<S> {
    fn names(&self) -> Vec<&str> {
        self.as_slice().names()
    }
}

impl KnownFields for UnknownPath {
    fn names(&self) -> Vec<&str> {
        self.valid.names()
    }

    fn meant(&self) -> Option<&str> {
        self.meant.as_deref()
    }

    fn advice(&self) -> Option<&str> {
        self.advice.as_deref()
    }
}

/// A path for a message. Names from the caller are filtered before they are echoed.
pub(super) fn sanitize_path(path: &str) -> String {
    let mut shown = String::new();
    for c in path.chars().take(MAX_NAME_CHARS) {
        if c.is_alphanumeric() || "_.[]-".contains(c) {
            shown.push(c);
        } else if !shown.ends_with('…') {
            shown.push('…');
        }
    }
    shown
}
