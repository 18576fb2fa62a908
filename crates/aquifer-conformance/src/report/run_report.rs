//! What a run found: the checks by category, the level that is granted, and why it is not.
//!
//! A level is granted over checks that looked at something. [`Report::assemble`] holds that: a verdict that rests on
//! nothing becomes a SKIP there, whatever the check says, and a category without a check blocks its level.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Category, Outcome, Section, Summary, Verdict};

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

    /// What stands between this run and a level; nothing when it is granted. Level 2 needs level 1.
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
        let blocking = tests.into_iter().filter(|test| test.result.blocks());
        blocking.map(|test| Blocker { category, test: Some(test) }).collect()
    }

    /// The highest level up to the requested one that nothing stands before.
    fn granted_level(&self) -> u8 {
        (1..=self.requested_level).take_while(|level| self.blockers(*level).is_empty()).last().unwrap_or(0)
    }

    /// What a run ends with: 0 the requested level is granted without a warning, 1 level 1 is withheld, 2 level 1 is
    /// granted but something of level 2 is not, or something warned.
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
        detail: "Needs a model, and this run has none. No level is withheld over it.".to_owned(),
        examined: 0,
        findings: Vec::new(),
    }
}
