//! A server without flaws: all checks pass, and created rows are deleted.

use aquifer_conformance::checks;
use aquifer_conformance::options::Options;
use aquifer_conformance::record::{Mode, Purpose};
use aquifer_conformance::report::Verdict;
use aquifer_conformance::run::run;

use crate::adapter::Library;
use crate::{describe_problems, ids_with, run_with_writes};

#[tokio::test]
async fn r_con_1_a_good_server_passes_every_check_at_level_2() {
    let completed = run_with_writes(&Library::default()).await;
    let passed = ids_with(&completed.report, Verdict::Pass);
    assert_eq!(passed.len(), checks::all().len(), "{}", describe_problems(&completed.report));
    assert_eq!(completed.report.conformance_level, 2);
    assert_eq!(completed.report.surfaces, ["semantic over memory", "single over memory"]);
    let tests = completed.report.categories.iter().flat_map(|section| &section.tests);
    assert!(tests.filter(|test| test.result == Verdict::Pass).all(|test| test.examined > 0));
}

#[tokio::test]
async fn a_good_server_passes_in_single_mode_and_with_both_modes_at_once() {
    for mode in [Mode::Single, Mode::All] {
        let completed = run_with_writes(&Library { mode: Some(mode), ..Library::default() }).await;
        assert_eq!(completed.report.conformance_level, 2, "{mode:?}: {}", describe_problems(&completed.report));
    }
}

#[tokio::test]
async fn without_permission_to_write_no_level_is_granted() {
    let completed = run(&Library::default(), &Options::default(), |_| {}).await.unwrap();
    assert_eq!(completed.report.conformance_level, 0);
    let skipped = ids_with(&completed.report, Verdict::Skip);
    let writing: Vec<&str> = checks::all().iter().filter(|check| check.writes).map(|check| check.id).collect();
    assert_eq!(skipped.len(), writing.len(), "{}", describe_problems(&completed.report));
    assert!(ids_with(&completed.report, Verdict::Fail).is_empty(), "{}", describe_problems(&completed.report));
    let wrote = |seen: &aquifer_conformance::record::RecordedExchange| {
        let operation = seen.exchange.arguments["operation"].as_str().unwrap_or_default().to_owned();
        ["create_", "update_", "delete_", "recount_"].iter().any(|verb| operation.starts_with(verb))
    };
    assert!(!completed.record.exchanges.iter().any(wrote));
}

#[tokio::test]
async fn r_con_1_checks_that_do_not_apply_withhold_no_level() {
    for options in [Options::default(), Options { allow_writes: true, ..Options::default() }] {
        let completed = run(&Library { read_only: true, ..Library::default() }, &options, |_| {}).await.unwrap();
        assert_eq!(completed.report.conformance_level, 2, "{}", describe_problems(&completed.report));
        let skipped = ids_with(&completed.report, Verdict::Skip);
        let expected = [
            "roundtrip.create",
            "roundtrip.preserved",
            "roundtrip.update",
            "roundtrip.delete",
            "constraints.identifiers",
            "constraints.input_fields",
            "updates.input",
        ];
        assert_eq!(skipped, expected, "{}", describe_problems(&completed.report));
        let evidence = aquifer_conformance::evidence::bundle(&completed.record, 2).unwrap();
        assert!(evidence.get("round_trip_tests").is_none());
        assert!(!evidence["constraint_tests"].as_array().unwrap().is_empty());
    }
}

#[tokio::test]
async fn chosen_checks_run_alone_and_grant_nothing() {
    let only = vec!["introspection.".to_owned(), "details.shape".to_owned()];
    let options = Options { only, ..Options::default() };
    let completed = run(&Library::default(), &options, |_| {}).await.unwrap();
    let passed = ids_with(&completed.report, Verdict::Pass);
    assert!(passed.contains(&"details.shape".to_owned()) && passed.contains(&"introspection.published".to_owned()));
    assert!(passed.iter().all(|id| id.starts_with("introspection.") || id == "details.shape"), "{passed:?}");
    assert_eq!(completed.report.conformance_level, 0);
}

#[tokio::test]
async fn level_1_leaves_out_the_checks_of_level_2() {
    let options = Options { level: 1, allow_writes: true, ..Options::default() };
    let completed = run(&Library::default(), &options, |_| {}).await.unwrap();
    assert_eq!(completed.report.conformance_level, 1);
    assert_eq!(completed.report.categories.len(), 4);
}

#[tokio::test]
async fn r_con_1_the_exchanges_for_the_evidence_are_recorded() {
    let record = run_with_writes(&Library::default()).await.record;
    let count = |matches: fn(&Purpose) -> bool| record.exchanges.iter().filter(|seen| matches(&seen.purpose)).count();
    let required = record.operation_details.iter().flat_map(|details| details["parameters"].as_array().unwrap());
    let required = required.filter(|parameter| parameter["required"] == true).count();
    assert_eq!(count(|purpose| matches!(purpose, Purpose::MissingParameter { .. })), required);
    assert!(count(|purpose| matches!(purpose, Purpose::UnknownParameter { .. })) > 5);
    assert!(count(|purpose| matches!(purpose, Purpose::Default { .. })) > 0);
    assert!(count(|purpose| matches!(purpose, Purpose::Error { .. })) > 5);
    assert_eq!(count(|purpose| matches!(purpose, Purpose::RoundTrip { .. })), 2);
    assert_eq!(count(|purpose| matches!(purpose, Purpose::UpdatePreservation { .. })), 2);
    assert!(count(|purpose| matches!(purpose, Purpose::Constraint { documented: true, .. })) > 1);
    assert_eq!(count(|purpose| matches!(purpose, Purpose::Batch)), 1);
    assert_eq!(record.surfaces.len(), 2);
    assert_eq!(record.operations_list["data"]["operations"].as_array().unwrap().len(), record.operation_details.len());
}
