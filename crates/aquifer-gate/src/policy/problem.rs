//! Problems of an operator's settings.

use std::fmt;

use aquifer_protocol::suggest;

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsProblem {
    /// The location: `rule 2 'no deletes'`, `matrix`, `trust_policy`.
    pub place: String,
    /// A description.
    pub message: String,
}

impl fmt::Display for SettingsProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// Invalid policy settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct SettingsError {
    /// All problems.
    pub problems: Vec<SettingsProblem>,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let between = if index == 0 { "" } else { "\n" };
            write!(f, "{between}{problem}")?;
        }
        Ok(())
    }
}

/// Collects the problems found in one location.
pub(super) struct ProblemCollector<'a> {
    pub(super) place: &'a str,
    pub(super) problems: &'a mut Vec<SettingsProblem>,
}

impl ProblemCollector<'_> {
    pub(super) fn add(&mut self, message: impl Into<String>) {
        self.problems.push(SettingsProblem { place: self.place.to_owned(), message: message.into() });
    }

    /// Adds a problem about an unknown word, with a suggestion.
    pub(super) fn unknown(&mut self, what: &str, word: &str, valid: &[&str]) {
        // Categories may be written in either case.
        let lower: Vec<String> = valid.iter().map(|name| name.to_ascii_lowercase()).collect();
        let near = suggest::nearest(&word.to_ascii_lowercase(), lower.iter().map(String::as_str));
        let near = valid.iter().find(|name| near.is_some_and(|near| name.eq_ignore_ascii_case(near)));
        let meant = match near {
            Some(near) => format!("Did you mean '{near}'?"),
            None => format!("Known are {}", valid.join(", ")),
        };
        self.add(format!("unknown {what} '{word}'. {meant}"));
    }
}
