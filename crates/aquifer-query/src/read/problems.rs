//! What is wrong with a query, collected.

use aquifer_protocol::error::problems::{explain_unknown, listed};
use aquifer_protocol::error::{Code, Failure, Problem};

/// A query with more problems than this is beyond help.
const MOST: usize = 100;

/// Problems met so far. The first decides the code.
#[derive(Default)]
pub(super) struct Problems(Vec<Problem>);

impl Problems {
    fn push(&mut self, problem: Problem) {
        if self.0.len() < MOST {
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

    /// A value of the wrong type.
    pub(super) fn wrong_type(&mut self, path: &str, expected: &str) {
        let message = format!("Parameter '{}' expected {expected}", shown(path));
        self.push(Problem::new(Code::ValidationInvalidType, path, message).detail("param_name", path));
    }

    /// A field nobody knows.
    pub(super) fn unknown_field(&mut self, path: &str, name: &str, valid: &[&str]) {
        let (shown, hint, suggestions) = explain_unknown(&[name], valid);
        let place = self::shown(path);
        let message = format!("Unknown field '{shown}' in '{place}'.{hint} Valid: {}", listed(valid));
        let problem = Problem::new(Code::ValidationUnknownField, path, message)
            .detail("param_name", path)
            .detail("unknown_fields", vec![name.chars().take(128).collect::<String>()])
            .detail("valid_fields", valid.to_vec())
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
fn shown(path: &str) -> String {
    const MOST: usize = 128;
    let mut shown = String::new();
    for letter in path.chars().take(MOST) {
        if letter.is_alphanumeric() || "_.[]-".contains(letter) {
            shown.push(letter);
        } else if !shown.ends_with('…') {
            shown.push('…');
        }
    }
    shown
}
