//! Compares paths through references with the same joins by hand.

use anyhow::{Context, ensure};
use aquifer_bench::turns::take_turns;
use aquifer_report::Figure;
use serde_json::Value;

use crate::by_hand::paths::{PATH_PAGE, PathQuery};
use crate::by_hand::{HandWrittenQueries, PageStart, Query};
use crate::compare::{BY_HAND, COSTLY, Call, both_values, end, rows};
use crate::engine_queries::{self, EngineQueries};

/// Number of pages before the measured one.
const PAGES_BEFORE: usize = 9;
/// Number of blocks, and of calls per block, for queries that sort hundreds of rows per page.
const MODERATE: (usize, usize) = (50, 10);
/// For queries that join a million rows.
const JOINED: (usize, usize) = (15, 1);

const MAX_LIST_RATIO: f64 = 1.25;
const MAX_GROUP_RATIO: f64 = 1.1;

/// Runs all comparisons, after checking that both sides give the same answers.
pub(crate) async fn compare(
    ours: &EngineQueries,
    by_hand: &HandWrittenQueries,
    title: &str,
    is_quick: bool,
) -> anyhow::Result<Vec<Figure>> {
    let latest = walk(ours, by_hand, PathQuery::LatestOfCity, "/sent_at").await?;
    let by_city = walk(ours, by_hand, PathQuery::ByCity, "/customer/city/name").await?;
    let mut figures = Vec::new();
    for (what, query, extent, limit) in [
        ("path in a filter, 50 by an own column", PathQuery::LatestOfCity(None), MODERATE, MAX_LIST_RATIO),
        ("the same, page 10", PathQuery::LatestOfCity(Some(latest)), MODERATE, MAX_LIST_RATIO),
        ("path in a filter, 50 by a path", PathQuery::ByCity(None), MODERATE, MAX_LIST_RATIO),
        ("the same by a path, page 10", PathQuery::ByCity(Some(by_city)), MODERATE, MAX_LIST_RATIO),
        ("50 rows with five related rows each", PathQuery::Embedded, MODERATE, MAX_LIST_RATIO),
        ("50 rows with some related row", PathQuery::Some, MODERATE, MAX_LIST_RATIO),
        ("count and sum by a path", PathQuery::CountryGroups, JOINED, MAX_GROUP_RATIO),
        ("count and sum by month", PathQuery::MonthGroups, JOINED, MAX_GROUP_RATIO),
    ] {
        let query = Query::Path(query);
        ensure_same(ours, by_hand, &query).await?;
        let one = Call::Engine(ours, engine_queries::arguments(&query));
        let other = Call::HandWrittenQueries(by_hand, query);
        let sides = take_turns(if is_quick { COSTLY } else { extent }, || one.run(), || other.run()).await?;
        figures.push(sides.p50(format!("{title}: {what}, p50"), BY_HAND).max_ratio(limit));
    }
    Ok(figures)
}

/// Walks to the start of the measured page.
async fn walk(
    ours: &EngineQueries,
    by_hand: &HandWrittenQueries,
    query: fn(Option<PageStart>) -> PathQuery,
    value: &str,
) -> anyhow::Result<PageStart> {
    let mut place = None;
    for _ in 0..PAGES_BEFORE {
        let query = Query::Path(query(place));
        let (page, same) = ensure_same(ours, by_hand, &query).await?;
        place = Some(end(&page, &same, value)?);
    }
    place.context("no page was read")
}

/// Both answers, which must be equal apart from the format of times.
async fn ensure_same(
    ours: &EngineQueries,
    by_hand: &HandWrittenQueries,
    query: &Query,
) -> anyhow::Result<(Value, Value)> {
    let (page, same) = both_values(ours, by_hand, query).await?;
    let is_alike = match page.pointer("/data/aggregations/groups") {
        Some(groups) => groups.as_object().is_some_and(|groups| groups.len() > 1) && *groups == same,
        None => rows(&page).len() == PATH_PAGE && without_times(&page) == without_times(&same),
    };
    ensure!(is_alike, "the answers differ: {page} and {same}");
    Ok((page, same))
}

fn without_times(answer: &Value) -> Vec<Value> {
    let mut rows = rows(answer).to_vec();
    for row in rows.iter_mut().filter_map(Value::as_object_mut) {
        row.remove("sent_at");
    }
    rows
}
