//! Property tests: all engines agree on any rows and any request.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use serde_json::{Value, json};

use crate::engines::EngineSet;
use crate::grains;

/// Checks a property with many cases; with more if PROPTEST_CASES is above 256. The rows are replaced for each case,
/// the databases are not.
pub(crate) fn check_law<S: Strategy>(
    cases: u32,
    strategy: &S,
    law: impl AsyncFn(&EngineSet, S::Value) -> Result<(), String>,
) {
    check_law_with(cases, grains::engines(), strategy, law);
}

/// Like `check_law`, with other tables.
pub(crate) fn check_law_with<S: Strategy>(
    cases: u32,
    engines: impl Future<Output = EngineSet>,
    strategy: &S,
    law: impl AsyncFn(&EngineSet, S::Value) -> Result<(), String>,
) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let engines = runtime.block_on(engines);
    let cases = cases * Config::default().cases / 256;
    let config = Config { cases, max_shrink_iters: 300, failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config)
        .run(strategy, |case| runtime.block_on(law(&engines, case)).map_err(TestCaseError::fail));
    // The databases are dropped while the runtime still exists.
    runtime.block_on(async { drop(engines) });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(report, _)) => panic!("{report}"),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn r_col_3_to_r_col_7_all_engines_give_the_same_answer() {
    let cases = (grains::grains(30), prop::collection::vec(grains::request(), 8));
    check_law(40, &cases, async |engines, (rows, requests)| {
        engines.fill("grains", &rows).await;
        for request in requests {
            engines.agreed_answer("list_grains", &request).await.map_err(|report| with_rows(&report, &rows))?;
        }
        Ok(())
    });
}

#[test]
fn r_col_2_all_engines_find_the_same_text() {
    let cases = (grains::grains(20), prop::collection::vec((grains::query(), grains::filter()), 8));
    check_law(20, &cases, async |engines, (rows, queries)| {
        engines.fill("grains", &rows).await;
        for (query, filter) in queries {
            let request = json!({ "query": query, "filter": filter, "total": true });
            engines.agreed_answer("search_grains", &request).await.map_err(|report| with_rows(&report, &rows))?;
            let request = json!({ "query": query, "sort": "n", "order": "desc" });
            engines.agreed_answer("search_grains", &request).await.map_err(|report| with_rows(&report, &rows))?;
        }
        Ok(())
    });
}

pub(crate) fn with_rows(report: &str, rows: &[Value]) -> String {
    let rows: Vec<String> = rows.iter().map(Value::to_string).collect();
    format!("{report}rows:\n{}\n", rows.join("\n"))
}
