//! Any rows, any request: everybody agrees.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use serde_json::{Value, json};

use crate::engines::Bench;
use crate::grains;

/// Holds a law against many cases; against more with a PROPTEST_CASES beyond 256. The rows are made anew for each, the
/// databases are not.
pub(crate) fn hold<S: Strategy>(cases: u32, strategy: &S, law: impl AsyncFn(&Bench, S::Value) -> Result<(), String>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let bench = runtime.block_on(grains::bench());
    let cases = cases * Config::default().cases / 256;
    let config = Config { cases, max_shrink_iters: 300, failure_persistence: None, ..Config::default() };
    let outcome =
        TestRunner::new(config).run(strategy, |case| runtime.block_on(law(&bench, case)).map_err(TestCaseError::fail));
    // The databases go while there is something that they can go on.
    runtime.block_on(async { drop(bench) });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(told, _)) => panic!("{told}"),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn r_col_3_to_r_col_7_any_request_has_one_answer() {
    let cases = (grains::grains(30), prop::collection::vec(grains::request(), 8));
    hold(40, &cases, async |bench, (rows, requests)| {
        bench.fill("grains", &rows).await;
        for request in requests {
            bench.agreed("list_grains", &request).await.map_err(|told| with_rows(&told, &rows))?;
        }
        Ok(())
    });
}

#[test]
fn r_col_2_any_text_is_looked_for_alike() {
    let cases = (grains::grains(20), prop::collection::vec((grains::query(), grains::filter()), 8));
    hold(20, &cases, async |bench, (rows, queries)| {
        bench.fill("grains", &rows).await;
        for (query, filter) in queries {
            let request = json!({ "query": query, "filter": filter, "total": true });
            bench.agreed("search_grains", &request).await.map_err(|told| with_rows(&told, &rows))?;
            let request = json!({ "query": query, "sort": "n", "order": "desc" });
            bench.agreed("search_grains", &request).await.map_err(|told| with_rows(&told, &rows))?;
        }
        Ok(())
    });
}

pub(crate) fn with_rows(told: &str, rows: &[Value]) -> String {
    let rows: Vec<String> = rows.iter().map(Value::to_string).collect();
    format!("{told}rows:\n{}\n", rows.join("\n"))
}
