//! The level that each combination of verdicts grants.

use super::outcome::section_result;
use super::*;

use Category::{
    ConstraintDocumentation, ErrorQuality, IntrospectionFidelity, LevelTwoFeatures, ParameterHandling,
    RoundTripIntegrity, SemanticEvaluation,
};
use Verdict::{Fail, Pass, Skip, Warn};

fn outcome(result: Verdict, examined: usize) -> Outcome {
    let (id, name, detail) = ("a.check".to_owned(), "A check".to_owned(), "What it saw.".to_owned());
    Outcome { id, name, result, detail, not_applicable: false, examined, findings: Vec::new() }
}

/// A run in which everything passes except the given flaws.
fn run(requested_level: u8, flaws: &[(Category, Verdict)]) -> Report {
    let blocking = Category::ALL.into_iter().filter(|category| category.blocks());
    let mut outcomes: Vec<(Category, Outcome)> = blocking.map(|category| (category, outcome(Pass, 3))).collect();
    outcomes.extend(flaws.iter().map(|(category, verdict)| (*category, outcome(*verdict, 3))));
    Report::assemble(Header { requested_level, ..Header::default() }, outcomes)
}

/// The granted level and the exit code.
type Granted = (u8, u8);
type Flaws = &'static [(Category, Verdict)];

#[test]
fn r_con_1_verdicts_determine_level_and_exit_code() {
    // Flaws, result at level 1, result at level 2.
    let table: &[(Flaws, Granted, Granted)] = &[
        (&[], (1, 0), (2, 0)),
        (&[(IntrospectionFidelity, Fail)], (0, 1), (0, 1)),
        (&[(ParameterHandling, Fail)], (0, 1), (0, 1)),
        (&[(ErrorQuality, Fail)], (0, 1), (0, 1)),
        (&[(RoundTripIntegrity, Fail)], (0, 1), (0, 1)),
        (&[(RoundTripIntegrity, Skip)], (0, 1), (0, 1)),
        (&[(IntrospectionFidelity, Warn)], (1, 2), (2, 2)),
        (&[(LevelTwoFeatures, Fail)], (1, 0), (1, 2)),
        (&[(LevelTwoFeatures, Skip)], (1, 0), (1, 2)),
        (&[(LevelTwoFeatures, Warn)], (1, 0), (2, 2)),
        (&[(ConstraintDocumentation, Fail)], (1, 0), (1, 2)),
        (&[(ConstraintDocumentation, Skip)], (1, 0), (1, 2)),
        (&[(ConstraintDocumentation, Warn)], (1, 0), (2, 2)),
        (&[(SemanticEvaluation, Skip)], (1, 0), (2, 0)),
        (&[(LevelTwoFeatures, Fail), (ErrorQuality, Fail)], (0, 1), (0, 1)),
    ];
    for (flaws, at_one, at_two) in table {
        for (level, expected) in [(1, at_one), (2, at_two)] {
            let report = run(level, flaws);
            assert_eq!((report.conformance_level, report.exit_code()), *expected, "level {level}: {flaws:?}");
        }
    }
}

#[test]
fn r_con_1_an_empty_or_vacuous_run_gets_no_level() {
    let header = || Header { requested_level: 2, ..Header::default() };
    let empty = Report::assemble(header(), Vec::new());
    assert_eq!((empty.conformance_level, empty.exit_code()), (0, 1));
    assert_eq!(empty.blockers(2).len(), 6, "every category that blocks is named");
    assert!(empty.blockers(2).iter().all(|blocker| blocker.test.is_none()));

    for verdict in [Pass, Warn, Skip] {
        let vacuous = Category::ALL.into_iter().map(|category| (category, outcome(verdict, 0))).collect();
        let vacuous = Report::assemble(header(), vacuous);
        assert_eq!((vacuous.conformance_level, vacuous.exit_code()), (0, 1), "{verdict:?}");
        assert_eq!(vacuous.summary, Summary { total: 7, skipped: 7, ..Summary::default() });
    }
}

#[test]
fn a_verdict_based_on_nothing_becomes_a_skip() {
    let outcome_with =
        |result, detail: &str| Outcome { detail: detail.to_owned(), ..outcome(result, 0) }.skip_if_vacuous();
    assert_eq!(outcome_with(Pass, "").detail, "There was nothing to check.");
    assert_eq!(outcome_with(Warn, "No list pages.").detail, "There was nothing to check. No list pages.");
    assert_eq!(outcome_with(Skip, "Writes are not allowed.").detail, "Writes are not allowed.");
    assert_eq!(outcome_with(Fail, "It is gone.").result, Fail);
}

#[test]
fn a_category_is_as_bad_as_its_worst_check() {
    let table = [
        (ErrorQuality, &[][..], Skip),
        (ErrorQuality, &[Pass, Pass], Pass),
        (ErrorQuality, &[Pass, Warn], Warn),
        (ErrorQuality, &[Warn, Skip], Skip),
        (ErrorQuality, &[Skip, Fail], Fail),
        (LevelTwoFeatures, &[Pass, Fail], Warn),
        (LevelTwoFeatures, &[Pass, Skip], Skip),
    ];
    for (category, verdicts, expected) in table {
        let tests: Vec<Outcome> = verdicts.iter().map(|verdict| outcome(*verdict, 1)).collect();
        assert_eq!(section_result(category, &tests), expected, "{category:?} {verdicts:?}");
    }
}

#[test]
fn level_one_shows_only_the_required_categories() {
    let report = run(1, &[(LevelTwoFeatures, Fail)]);
    let shown: Vec<Category> = report.categories.iter().map(|section| section.name).collect();
    assert_eq!(shown, [IntrospectionFidelity, ParameterHandling, ErrorQuality, RoundTripIntegrity]);
    assert_eq!(report.summary.total, 4);
}

#[test]
fn blockers_name_their_checks() {
    let report = run(2, &[(LevelTwoFeatures, Fail), (ErrorQuality, Warn), (ConstraintDocumentation, Skip)]);
    let found = report.blockers(2);
    let blockers: Vec<(Category, Option<Verdict>)> =
        found.iter().map(|blocker| (blocker.category, blocker.test.map(|test| test.result))).collect();
    assert_eq!(blockers, [(LevelTwoFeatures, Some(Fail)), (ConstraintDocumentation, Some(Skip))]);
    assert!(report.blockers(1).is_empty());
}
