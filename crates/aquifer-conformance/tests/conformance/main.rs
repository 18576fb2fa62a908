//! Runs against a small server in this process, without flaws or with one.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, clippy::string_slice, clippy::expect_used)]

mod adapter;
mod failing;
mod good;
mod mutants;
mod mutations;
mod spec_checkout;
mod transports;
mod unusual;

use aquifer_conformance::Connector;
use aquifer_conformance::options::Options;
use aquifer_conformance::report::{Report, Verdict};
use aquifer_conformance::run::{Run, run};

/// Runs all checks, with writes.
async fn run_with_writes(target: &dyn Connector) -> Run {
    run(target, &Options { allow_writes: true, ..Options::default() }, |_| {}).await.unwrap()
}

/// The checks with this verdict, without the one that needs a model.
fn ids_with(report: &Report, verdict: Verdict) -> Vec<String> {
    let tests = report.categories.iter().flat_map(|section| &section.tests);
    let those = tests.filter(|test| test.result == verdict && test.id != "semantic.evaluation");
    those.map(|test| test.id.clone()).collect()
}

/// The details of the checks that did not pass.
fn describe_problems(report: &Report) -> String {
    let tests = report.categories.iter().flat_map(|section| &section.tests);
    let problems = tests
        .filter(|test| test.result != Verdict::Pass)
        .map(|test| format!("{:?} {}: {}", test.result, test.id, test.detail));
    problems.collect::<Vec<_>>().join("\n")
}
