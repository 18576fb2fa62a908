//! What a run found: the checks by category, the level that is granted, and why it is not.
//!
//! A level is granted over checks that looked at something. [`Report::assemble`] holds that: a verdict that rests on
//! nothing becomes a SKIP there, whatever the check says, and a category without a check blocks its level.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::exchange::Exchange;

/// How a check, or a category of them, came out.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// The server does what is asked.
    Pass,
    /// It does so in part, and no level is lost by that.
    Warn,
    /// It does not.
    Fail,
    /// There was nothing to check, or it was not allowed to check it. No level is granted over it.
    Skip,
}

impl Verdict {
    /// The word in reports.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Warn => "WARN",
            Self::Fail => "FAIL",
            Self::Skip => "SKIP",
        }
    }

    /// Whether a level is withheld over it.
    #[must_use]
    pub const fn blocks(self) -> bool {
        matches!(self, Self::Fail | Self::Skip)
    }
}

/// The published categories of checks.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub enum Category {
    /// What introspection says is what is accepted.
    #[serde(rename = "Introspection Fidelity")]
    IntrospectionFidelity,
    /// Required, unknown and defaulted parameters.
    #[serde(rename = "Parameter Handling")]
    ParameterHandling,
    /// Failures that can be acted upon and leak nothing.
    #[serde(rename = "Error Quality")]
    ErrorQuality,
    /// What was written is read back.
    #[serde(rename = "Round-Trip Integrity")]
    RoundTripIntegrity,
    /// Both modes, field selection, batches, collection queries.
    #[serde(rename = "Level 2 Features")]
    LevelTwoFeatures,
    /// Constraints are enforced and told.
    #[serde(rename = "Constraint Documentation")]
    ConstraintDocumentation,
    /// Whether a model understands; a run without a model leaves it out.
    #[serde(rename = "Semantic Evaluation")]
    SemanticEvaluation,
}

impl Category {
    /// All of them, in the order of a report.
    pub const ALL: [Self; 7] = [
        Self::IntrospectionFidelity,
        Self::ParameterHandling,
        Self::ErrorQuality,
        Self::RoundTripIntegrity,
        Self::LevelTwoFeatures,
        Self::ConstraintDocumentation,
        Self::SemanticEvaluation,
    ];

    /// Its published name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::IntrospectionFidelity => "Introspection Fidelity",
            Self::ParameterHandling => "Parameter Handling",
            Self::ErrorQuality => "Error Quality",
            Self::RoundTripIntegrity => "Round-Trip Integrity",
            Self::LevelTwoFeatures => "Level 2 Features",
            Self::ConstraintDocumentation => "Constraint Documentation",
            Self::SemanticEvaluation => "Semantic Evaluation",
        }
    }

    /// Whether a level 1 server must pass it.
    #[must_use]
    pub const fn required(self) -> bool {
        self.level() == 1
    }

    /// The level whose report shows it.
    #[must_use]
    pub const fn level(self) -> u8 {
        match self {
            Self::IntrospectionFidelity | Self::ParameterHandling | Self::ErrorQuality | Self::RoundTripIntegrity => 1,
            Self::LevelTwoFeatures | Self::ConstraintDocumentation | Self::SemanticEvaluation => 2,
        }
    }

    /// Whether its level is withheld over it. Only a run with a model could pass the one that blocks nothing.
    #[must_use]
    pub const fn blocks(self) -> bool {
        !matches!(self, Self::SemanticEvaluation)
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Finding {
    /// The operation, `operation.parameter` or type it is about.
    pub subject: String,
    /// What is wrong and what was expected instead.
    pub problem: String,
    /// Where it was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Exchange>,
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
    #[serde(default)]
    pub looked_at: usize,
    /// What is wrong, one by one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

impl Outcome {
    /// A check that passes over nothing is one that could not be made.
    fn without_vacuity(mut self) -> Self {
        if self.looked_at == 0 && matches!(self.result, Verdict::Pass | Verdict::Warn) {
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
    fn new(name: Category, tests: Vec<Outcome>) -> Self {
        let result = section_result(name, &tests);
        Self { name, required: name.required(), result, tests }
    }
}

/// How a category came out: SKIP without any check.
fn section_result(category: Category, tests: &[Outcome]) -> Verdict {
    let has = |verdict| tests.iter().any(|test| test.result == verdict);
    if has(Verdict::Fail) {
        return if category.required() { Verdict::Fail } else { Verdict::Warn };
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
    pub fn of<'a>(tests: impl IntoIterator<Item = &'a Outcome>) -> Self {
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

/// What a report says besides its checks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// The server's name, as it says it.
    pub implementation: String,
    /// The server's version, as it says it.
    pub version: String,
    /// The revision of the specification that the server says it speaks.
    pub spec_version: String,
    /// The level that was asked for: 1 or 2.
    pub requested_level: u8,
    /// The level that the server claims of itself, as it says it: `level-2`.
    pub claimed: Option<String>,
    /// The surfaces that were driven: `semantic over stdio`, `single over stdio`.
    pub surfaces: Vec<String>,
    /// How many calls were made.
    pub calls: usize,
}

/// A whole run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The server's name, as it says it.
    #[serde(default)]
    pub implementation: String,
    /// The server's version, as it says it.
    #[serde(default)]
    pub version: String,
    /// The revision of the specification that the server says it speaks.
    #[serde(default)]
    pub spec_version: String,
    /// The level that was asked for.
    pub requested_level: u8,
    /// The level that is granted.
    pub conformance_level: u8,
    /// The level that the server claims of itself in `_protocol.conformance`, where it claims one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_conformance: Option<String>,
    /// The command that made the report.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// The surfaces that were driven: `semantic over stdio`, `single over stdio`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub surfaces: Vec<String>,
    /// How many calls were made. Nothing in reports of other runners, which make none.
    #[serde(default)]
    pub calls: usize,
    /// How many checks came out how.
    pub summary: Summary,
    /// The checks, by category.
    pub categories: Vec<Section>,
}

/// Why a level is withheld: one check, or a category without any.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blocker<'a> {
    /// The category it belongs to.
    pub category: Category,
    /// The check; without it nothing of the category was checked.
    pub test: Option<&'a Outcome>,
}

impl Report {
    /// Makes a report of what the checks say. Categories beyond the requested level are left out, those without a
    /// check are shown empty, and Semantic Evaluation says why it is not made unless there is an outcome for it.
    #[must_use]
    pub fn assemble(header: Header, outcomes: Vec<(Category, Outcome)>) -> Self {
        let Header { implementation, version, spec_version, requested_level, claimed, surfaces, calls } = header;
        let mut by_category: BTreeMap<Category, Vec<Outcome>> = BTreeMap::new();
        for (category, outcome) in outcomes {
            by_category.entry(category).or_default().push(outcome.without_vacuity());
        }
        by_category.entry(Category::SemanticEvaluation).or_insert_with(|| vec![without_a_model()]);
        let shown = Category::ALL.into_iter().filter(|category| category.level() <= requested_level);
        let categories: Vec<Section> =
            shown.map(|category| Section::new(category, by_category.remove(&category).unwrap_or_default())).collect();
        let summary = Summary::of(categories.iter().flat_map(|section| &section.tests));
        let mut report = Self {
            implementation,
            version,
            spec_version,
            requested_level,
            conformance_level: 0,
            claimed_conformance: claimed,
            command: String::new(),
            surfaces,
            calls,
            summary,
            categories,
        };
        report.conformance_level = report.granted();
        report
    }

    /// What stands between this run and a level; nothing when it is granted. Level 2 needs level 1.
    #[must_use]
    pub fn blocked_by(&self, level: u8) -> Vec<Blocker<'_>> {
        let needed = Category::ALL.into_iter().filter(|category| category.blocks() && category.level() <= level);
        needed.flat_map(|category| self.blockers_of(category)).collect()
    }

    fn blockers_of(&self, category: Category) -> Vec<Blocker<'_>> {
        let sections = self.categories.iter().filter(|section| section.name == category);
        let tests: Vec<&Outcome> = sections.flat_map(|section| &section.tests).collect();
        if tests.is_empty() {
            return vec![Blocker { category, test: None }];
        }
        let blocking = tests.into_iter().filter(|test| test.result.blocks());
        blocking.map(|test| Blocker { category, test: Some(test) }).collect()
    }

    /// The highest level up to the requested one that nothing stands before.
    fn granted(&self) -> u8 {
        (1..=self.requested_level).take_while(|level| self.blocked_by(*level).is_empty()).last().unwrap_or(0)
    }

    /// What a run ends with: 0 the requested level is granted without a warning, 1 level 1 is withheld, 2 level 1 is
    /// granted but something of level 2 is not, or something warned.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        if !self.blocked_by(1).is_empty() {
            return 1;
        }
        let warned = self.categories.iter().flat_map(|section| &section.tests).any(|test| test.result == Verdict::Warn);
        u8::from(warned || !self.blocked_by(self.requested_level).is_empty()) * 2
    }
}

fn without_a_model() -> Outcome {
    Outcome {
        id: "semantic.evaluation".to_owned(),
        name: "A model understands what the server offers".to_owned(),
        result: Verdict::Skip,
        detail: "Needs a model, and this run has none. No level is withheld over it.".to_owned(),
        looked_at: 0,
        findings: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
