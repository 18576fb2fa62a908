//! Every flaw is found by its check, and by no other checks except those that depend on it.

use aquifer_conformance::checks;
use aquifer_conformance::report::Verdict;

use crate::adapter::{Flaw, Library};
use crate::{describe_problems, ids_with, run_with_writes};

/// Each flaw and the check that fails.
const FAILS: &[(Flaw, &str)] = &[
    (Flaw::AlwaysMore, "pages.info"),
    (Flaw::AnyCase, "robust.malformed"),
    (Flaw::AnyCursor, "pages.cursor"),
    (Flaw::AnyToken, "confirm.token"),
    (Flaw::AverageWrong, "aggregate.numbers"),
    (Flaw::BadQueryAnswered, "introspection.bad_query"),
    (Flaw::BatchGoesOn, "batch.halts"),
    (Flaw::BatchIndexes, "batch.results"),
    (Flaw::BatchStops, "batch.failure"),
    (Flaw::BatchSummary, "batch.results"),
    (Flaw::BatchUnrouted, "batch.foreign"),
    (Flaw::BrokenExample, "details.examples"),
    (Flaw::CamelParameter, "parameters.snake_case"),
    (Flaw::CapabilityUntrue, "features.capabilities"),
    (Flaw::CategoryDiffers, "details.agreement"),
    (Flaw::CategoryInvented, "introspection.operations"),
    (Flaw::ClosedSchema, "details.tool_schemas"),
    (Flaw::ComputedMissing, "fields.computed"),
    (Flaw::ConformanceInvented, "introspection.protocol"),
    (Flaw::CountWrong, "aggregate.count"),
    (Flaw::CreateChangesField, "roundtrip.create"),
    (Flaw::CreateDropsField, "roundtrip.create"),
    (Flaw::CursorRepeats, "pages.walk"),
    (Flaw::CursorSkips, "pages.walk"),
    (Flaw::DataOnFailure, "answers.envelope"),
    (Flaw::DeepAccepted, "robust.oversized"),
    (Flaw::DeleteKeeps, "roundtrip.delete"),
    (Flaw::DeleteNotDestructive, "details.permissions"),
    (Flaw::DescendingWrong, "sort.order"),
    (Flaw::DetailsExtra, "details.shape"),
    (Flaw::DiesOfGarbage, "robust.garbage"),
    (Flaw::DryRunCreates, "dry_run.nothing"),
    (Flaw::DryRunDeletes, "dry_run.nothing"),
    (Flaw::DryRunRefusesExample, "examples.dry_run"),
    (Flaw::DryRunUpdates, "dry_run.nothing"),
    (Flaw::DuplicateAccepted, "roundtrip.duplicate"),
    (Flaw::EmptyBatch, "batch.malformed"),
    (Flaw::EndpointDiffers, "details.agreement"),
    (Flaw::EnumNotEnforced, "constraints.enforced"),
    (Flaw::ExampleOfMissingRow, "details.examples"),
    (Flaw::FieldsAddId, "fields.subset"),
    (Flaw::FieldsIgnored, "requests.effect"),
    (Flaw::FilterIgnored, "requests.effect"),
    (Flaw::FilterLosesRow, "filter.equal"),
    (Flaw::FunctionInvented, "details.shape"),
    (Flaw::GroupsLoseOne, "aggregate.groups"),
    (Flaw::HiddenParameter, "requests.undocumented"),
    (Flaw::IdentifierAccepted, "constraints.identifiers"),
    (Flaw::IntrospectNotListed, "introspection.itself"),
    (Flaw::IntrospectionWarns, "introspection.published"),
    (Flaw::LeakedDriver, "errors.leaks"),
    (Flaw::LeakedPath, "errors.leaks"),
    (Flaw::LeakedTrace, "errors.leaks"),
    (Flaw::ListExtra, "introspection.operations"),
    (Flaw::LowercaseCodes, "errors.codes"),
    (Flaw::MinimumNotEnforced, "constraints.enforced"),
    (Flaw::MismatchAccepted, "routing.mismatch"),
    (Flaw::MismatchRuns, "routing.not_run"),
    (Flaw::MissingUnnamed, "parameters.required_named"),
    (Flaw::NameTwice, "introspection.operations"),
    (Flaw::NoConfirmation, "confirm.asked"),
    (Flaw::NoProtocol, "introspection.protocol"),
    (Flaw::NotFoundIsNull, "errors.not_found"),
    (Flaw::NullIgnored, "roundtrip.null"),
    (Flaw::OffsetOverlaps, "pages.offset"),
    (Flaw::OneModeOnly, "modes.both"),
    (Flaw::PatternNotEnforced, "constraints.enforced"),
    (Flaw::PermissionsMissing, "details.shape"),
    (Flaw::PresetRefused, "fields.presets"),
    (Flaw::PresetShrinks, "fields.presets"),
    (Flaw::RangeInclusive, "filter.range"),
    (Flaw::RequiredIgnored, "parameters.required"),
    (Flaw::RpcErrors, "errors.tool_results"),
    (Flaw::SilentClamp, "pages.size"),
    (Flaw::SingleModeDiffers, "modes.same"),
    (Flaw::StringErrors, "answers.envelope"),
    (Flaw::TextDiffers, "answers.texts"),
    (Flaw::ToolNotThere, "details.tools"),
    (Flaw::TopLevelWins, "parameters.precedence"),
    (Flaw::TotalIgnored, "requests.effect"),
    (Flaw::TotalWrong, "pages.total"),
    (Flaw::TypeFieldBare, "introspection.type_details"),
    (Flaw::TypesBare, "introspection.types"),
    (Flaw::UnknownFieldSilent, "fields.unknown"),
    (Flaw::UnknownFilterSilent, "filter.unknown"),
    (Flaw::UnknownInputSilent, "constraints.input_fields"),
    (Flaw::UnknownNameFails, "introspection.unknown_names"),
    (Flaw::UnknownOperationUnnamed, "errors.unknown_operation"),
    (Flaw::UnknownSilent, "parameters.unknown"),
    (Flaw::UnlistedType, "introspection.type_references"),
    (Flaw::Unstable, "introspection.stable"),
    (Flaw::UpdateDoesNothing, "roundtrip.update"),
    (Flaw::UpdateResetsOthers, "roundtrip.preserved"),
    (Flaw::UpdateWithoutInput, "updates.input"),
    (Flaw::ValidRefused, "requests.accuracy"),
    (Flaw::WrongDefault, "parameters.defaults"),
    (Flaw::WrongTypeAccepted, "parameters.types"),
];

const WARNS: &[(Flaw, &str)] = &[
    (Flaw::CursorUnbound, "pages.cursor"),
    (Flaw::DocumentedNotAccepted, "requests.accepted"),
    (Flaw::IdentifierListed, "constraints.identifiers"),
    (Flaw::NoAliases, "parameters.aliases"),
    (Flaw::OtherCode, "errors.registry"),
    (Flaw::TypeNotTold, "errors.actionable"),
];

/// The flaws whose run differs from the table, with details.
async fn surprises(table: &[(Flaw, &str)], verdict: Verdict) -> Vec<String> {
    let mut surprises = Vec::new();
    for (flaw, expected) in table {
        let report = run_with_writes(&Library { flaw: Some(*flaw), ..Library::default() }).await.report;
        let found = ids_with(&report, verdict).contains(&(*expected).to_owned());
        let rests_on = |id: &String| {
            let check = checks::all().into_iter().find(|check| check.id == id.as_str()).unwrap();
            id == expected || check.depends_on.contains(expected)
        };
        let (failed, warned) = (ids_with(&report, Verdict::Fail), ids_with(&report, Verdict::Warn));
        let others: Vec<&String> = failed.iter().chain(&warned).filter(|id| !rests_on(id)).collect();
        let granted = report.conformance_level == 2;
        if !found || !others.is_empty() || granted != (verdict == Verdict::Warn) {
            surprises.push(format!("{flaw:?}: expected {expected}, also {others:?}\n{}", describe_problems(&report)));
        }
    }
    surprises
}

#[tokio::test]
async fn r_con_1_every_flaw_fails_its_check_and_no_other() {
    let surprises = surprises(FAILS, Verdict::Fail).await;
    assert!(surprises.is_empty(), "{} of {}:\n{}", surprises.len(), FAILS.len(), surprises.join("\n\n"));
}

#[tokio::test]
async fn warnings_do_not_affect_the_level() {
    let surprises = surprises(WARNS, Verdict::Warn).await;
    assert!(surprises.is_empty(), "{} of {}:\n{}", surprises.len(), WARNS.len(), surprises.join("\n\n"));
}

#[test]
fn every_check_has_a_mutant_and_depends_on_existing_checks() {
    let all = checks::all();
    let ids: Vec<&str> = all.iter().map(|check| check.id).collect();
    for check in &all {
        let mutants = FAILS.iter().chain(WARNS).filter(|(_, id)| *id == check.id).count();
        assert!(mutants > 0, "{} has no mutant", check.id);
        assert!(check.depends_on.iter().all(|need| ids.contains(need)), "{} needs {:?}", check.id, check.depends_on);
        assert_eq!(ids.iter().filter(|id| **id == check.id).count(), 1, "{}", check.id);
    }
    for (flaw, id) in FAILS.iter().chain(WARNS) {
        assert!(ids.contains(id), "{flaw:?} names {id}, which is no check");
    }
}
