//! The report of a run: the checks by category, the granted level, and its blockers.
//!
//! Only checks that examined something count for a level. [`Report::assemble`] ensures this: a verdict based on nothing
//! becomes a SKIP, and a category without checks blocks its level.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Category, Outcome, Section, Summary, Verdict};

/// The metadata of a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// The server's name.
    pub implementation: String,
    /// The server's version.
    pub version: String,
    /// The revision of the specification that the server claims to implement.
    pub spec_version: String,
    /// The requested level: 1 or 2.
    pub requested_level: u8,
    /// The level that the server claims: `level-2`.
    pub claimed: Option<String>,
    /// The checked surfaces: `semantic over stdio`, `single over stdio`.
    pub surfaces: Vec<String>,
    /// The number of calls made.
    pub calls: usize,
}

/// The report of a run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The server's name.
    #[serde(default)]
    pub implementation: String,
    /// The server's version.
    #[serde(default)]
    pub version: String,
    /// The revision of the specification that the server claims to implement.
    #[serde(default)]
    pub spec_version: String,
    /// The requested level.
    pub requested_level: u8,
    /// The granted level.
    pub conformance_level: u8,
    /// The level that the server claims in `_protocol.conformance`, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_conformance: Option<String>,
    /// The command that produced the report.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// The checked surfaces: `semantic over stdio`, `single over stdio`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub surfaces: Vec<String>,
    /// The number of calls made. 0 in reports of other runners, which make none.
    #[serde(default)]
    pub calls: usize,
    /// The number of checks by verdict.
    pub summary: Summary,
    /// The checks, by category.
    pub categories: Vec<Section>,
}

/// A check, or a category without checks, that blocks a level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blocker<'a> {
    /// The category it belongs to.
    pub category: Category,
    /// The check; `None` if the category has no checks.
    pub test: Option<&'a Outcome>,
}

impl Report {
    /// Builds a report from the outcomes. Categories beyond the requested level are omitted, and those without a check
    /// are shown empty. Semantic Evaluation is a SKIP with a reason unless there is an outcome for it.
    #[must_use]
    pub fn assemble(header: Header, outcomes: Vec<(Category, Outcome)>) -> Self {
        let Header { implementation, version, spec_version, requested_level, claimed, surfaces, calls } = header;
        let mut by_category: BTreeMap<Category, Vec<Outcome>> = BTreeMap::new();
        for (category, outcome) in outcomes {
            by_category.entry(category).or_default().push(outcome.skip_if_vacuous());
        }
        by_category.entry(Category::SemanticEvaluation).or_insert_with(|| vec![skipped_semantic_evaluation()]);
        let shown = Category::ALL.into_iter().filter(|category| category.level() <= requested_level);
        let categories: Vec<Section> =
            shown.map(|category| Section::new(category, by_category.remove(&category).unwrap_or_default())).collect();
        let summary = Summary::from_outcomes(categories.iter().flat_map(|section| &section.tests));
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
        report.conformance_level = report.granted_level();
        report
    }

    /// The blockers of a level; empty if it is granted. Level 2 requires level 1.
    #[must_use]
    pub fn blockers(&self, level: u8) -> Vec<Blocker<'_>> {
        let needed = Category::ALL.into_iter().filter(|category| category.blocks() && category.level() <= level);
        needed.flat_map(|category| self.category_blockers(category)).collect()
    }

    fn category_blockers(&self, category: Category) -> Vec<Blocker<'_>> {
        let sections = self.categories.iter().filter(|section| section.name == category);
        let tests: Vec<&Outcome> = sections.flat_map(|section| &section.tests).collect();
        if tests.is_empty() {
            return vec![Blocker { category, test: None }];
        }
        let blocking = tests.into_iter().filter(|test| test.blocks());
        blocking.map(|test| Blocker { category, test: Some(test) }).collect()
    }

    /// The highest level, up to the requested one, that nothing blocks.
    fn granted_level(&self) -> u8 {
        (1..=self.requested_level).take_while(|level| self.blockers(*level).is_empty()).last().unwrap_or(0)
    }

    /// The exit code: 0 if the requested level is granted without warnings; 1 if level 1 is withheld; 2 if level 1 is
    /// granted but level 2 is withheld, or there are warnings.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        if !self.blockers(1).is_empty() {
            return 1;
        }
        let warned = self.categories.iter().flat_map(|section| &section.tests).any(|test| test.result == Verdict::Warn);
        u8::from(warned || !self.blockers(self.requested_level).is_empty()) * 2
    }
}

fn skipped_semantic_evaluation() -> Outcome {
    Outcome {
        id: "semantic.evaluation".to_owned(),
        name: "A model understands what the server offers".to_owned(),
        result: Verdict::Skip,
        detail: "It needs a model, and this run has none. It does not affect the level.".to_owned(),
        not_applicable: false,
        examined: 0,
        findings: Vec::new(),
    }
}
