//! The outcomes of checks: individually, by category, and in total.

use serde::{Deserialize, Serialize};

use super::{Category, Verdict};
use crate::record::Exchange;

/// One problem.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Finding {
    /// The operation, `operation.parameter` or type that has the problem.
    pub subject: String,
    /// What is wrong and what was expected instead.
    pub problem: String,
    /// The exchange that shows it.
    #[serde(rename = "seen", default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Exchange>,
}

/// The outcome of a check.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// The stable name of the check, for scripts: `parameters.missing`. Empty in reports of other runners.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// What the check verifies, as shown to people.
    pub name: String,
    /// The verdict.
    pub result: Verdict,
    /// One sentence: what was examined, what was wrong, or why nothing could be examined.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// Whether the server has nothing that the check could apply to. Such a SKIP affects no level.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_applicable: bool,
    /// The number of examined subjects. 0 in reports of other runners, which do not count them.
    #[serde(rename = "lookedAt", default)]
    pub examined: usize,
    /// The problems.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

impl Outcome {
    /// Whether it blocks its level.
    #[must_use]
    pub fn blocks(&self) -> bool {
        self.result.blocks() && !self.not_applicable
    }

    /// Turns a verdict that is based on nothing into a SKIP.
    pub(super) fn skip_if_vacuous(mut self) -> Self {
        if self.examined == 0 && matches!(self.result, Verdict::Pass | Verdict::Warn) {
            self.result = Verdict::Skip;
            self.detail = match self.detail.as_str() {
                "" => "There was nothing to check.".to_owned(),
                detail => format!("There was nothing to check. {detail}"),
            };
        }
        self
    }
}

/// The checks of one category.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Section {
    /// The category.
    pub name: Category,
    /// Whether level 1 requires it.
    pub required: bool,
    /// The worst verdict of its checks; a SKIP is worse than a WARN. As the specification requires, a failure in a
    /// category that level 1 does not require is a warning.
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

/// The verdict of a category: SKIP if it has no checks.
pub(super) fn section_result(category: Category, tests: &[Outcome]) -> Verdict {
    let has = |verdict| tests.iter().any(|test| test.result == verdict);
    if has(Verdict::Fail) {
        return if category.is_required() { Verdict::Fail } else { Verdict::Warn };
    }
    // A category in which nothing applies is a SKIP, too.
    let skipped = tests.iter().any(|test| test.result == Verdict::Skip && !test.not_applicable);
    if skipped || tests.iter().all(|test| test.not_applicable) {
        return Verdict::Skip;
    }
    if has(Verdict::Warn) { Verdict::Warn } else { Verdict::Pass }
}

/// The number of checks by verdict.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Summary {
    /// All checks.
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
    /// Counts outcomes by verdict.
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
