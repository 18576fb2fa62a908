//! How checks came out: one by one, by category, and in numbers.

use serde::{Deserialize, Serialize};

use super::{Category, Verdict};
use crate::record::Exchange;

/// One thing that is wrong.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Finding {
    /// The operation, `operation.parameter` or type it is about.
    pub subject: String,
    /// What is wrong and what was expected instead.
    pub problem: String,
    /// Where it was seen.
    #[serde(rename = "seen", default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Exchange>,
}

/// How one check came out.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// The check's stable name for scripts: `parameters.missing`. Empty in reports of other runners.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// What it holds, for people.
    pub name: String,
    /// How it came out.
    pub result: Verdict,
    /// One sentence: what was looked at, what was wrong, or why nothing could be.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// On how many things the verdict rests. Nothing in reports of other runners, which do not say.
    #[serde(rename = "lookedAt", default)]
    pub examined: usize,
    /// What is wrong, one by one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

impl Outcome {
    /// A check that passes over nothing is one that could not be made.
    pub(super) fn skip_if_vacuous(mut self) -> Self {
        if self.examined == 0 && matches!(self.result, Verdict::Pass | Verdict::Warn) {
            self.result = Verdict::Skip;
            self.detail = match self.detail.as_str() {
                "" => "Nothing to check was found.".to_owned(),
                said => format!("Nothing to check was found. {said}"),
            };
        }
        self
    }
}

/// The checks of one category.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Section {
    /// Which category.
    pub name: Category,
    /// Whether level 1 must pass it.
    pub required: bool,
    /// The worst of its checks, a SKIP being worse than a WARN; a failure in a category that is not required is a
    /// warning, as published.
    pub result: Verdict,
    /// The checks.
    pub tests: Vec<Outcome>,
}

impl Section {
    pub(super) fn new(name: Category, tests: Vec<Outcome>) -> Self {
        let result = section_result(name, &tests);
        Self { name, required: name.is_required(), result, tests }
    }
}

/// How a category came out: SKIP without any check.
pub(super) fn section_result(category: Category, tests: &[Outcome]) -> Verdict {
    let has = |verdict| tests.iter().any(|test| test.result == verdict);
    if has(Verdict::Fail) {
        return if category.is_required() { Verdict::Fail } else { Verdict::Warn };
    }
    if tests.is_empty() || has(Verdict::Skip) {
        return Verdict::Skip;
    }
    if has(Verdict::Warn) { Verdict::Warn } else { Verdict::Pass }
}

/// How many checks came out how.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Summary {
    /// All of them.
    pub total: usize,
    /// Passed.
    pub passed: usize,
    /// Warned.
    pub warned: usize,
    /// Failed.
    pub failed: usize,
    /// Skipped.
    pub skipped: usize,
}

impl Summary {
    /// Counts.
    pub fn from_outcomes<'a>(tests: impl IntoIterator<Item = &'a Outcome>) -> Self {
        tests.into_iter().fold(Self::default(), |mut summary, test| {
            summary.total += 1;
            match test.result {
                Verdict::Pass => summary.passed += 1,
                Verdict::Warn => summary.warned += 1,
                Verdict::Fail => summary.failed += 1,
                Verdict::Skip => summary.skipped += 1,
            }
            summary
        })
    }
}
