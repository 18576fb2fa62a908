//! Compares both sides in turns, after checking that they give the same answers.

use std::hint::black_box;

use anyhow::{Context, bail, ensure};
use aquifer_bench::turns::take_turns;
use aquifer_report::Figure;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value};

use crate::by_hand::paths::PathQuery;
use crate::by_hand::{HandWrittenQueries, PAGE, PageStart, Query, Target};
use crate::engine_queries::{self, EngineQueries};
use crate::paths;

/// Number of pages before the deep page.
const PAGES_BEFORE: usize = 999;
/// The id of the order to get.
const ID: i64 = 654_321;
pub(crate) const BY_HAND: &str = "SQL by hand";
/// Maximum ratio for a list by an indexed time column, in any format.
const MAX_TIMES_RATIO: f64 = 2.0;

/// Number of blocks, and of calls per block, for each side.
const CHEAP: (usize, usize) = (50, 60);
/// For queries that scan every row and take longer.
pub(crate) const COSTLY: (usize, usize) = (25, 1);

/// Runs all comparisons.
pub(crate) async fn compare(target: &str, is_quick: bool) -> anyhow::Result<Vec<Figure>> {
    let (ours, by_hand) = (EngineQueries::open(target).await?, HandWrittenQueries::open(target).await?);
    let target = Target::read(target)?;
    let mut deep = None;
    for _ in 0..PAGES_BEFORE {
        let query = Query::List(deep);
        let (page, same) = both(&ours, &by_hand, &query).await?;
        deep = Some(end(&page, &same, "/created_at")?);
    }
    let (row, same) = both_values(&ours, &by_hand, &Query::Get(ID)).await?;
    for name in ["id", "customer_id", "note"].into_iter().chain(same.get("_etag").map(|_| "_etag")) {
        let found = row.pointer(&format!("/data/{name}"));
        ensure!(found.is_some() && found == same.get(name), "the answers differ: {row} and {same}");
    }

    let engine = |query: &Query| Call::Engine(&ours, engine_queries::arguments(query));
    let hand = |query: Query| (engine(&query), Call::HandWrittenQueries(&by_hand, query));
    let first = Query::List(None);
    let deep = Query::List(deep);
    let mut figures = Vec::new();
    for (what, reference, limit, extent, (one, other)) in [
        ("list 25 of 1,000,000", BY_HAND, Some(1.25), CHEAP, hand(first.clone())),
        ("page 1,000", BY_HAND, None, CHEAP, hand(deep.clone())),
        ("page 1,000", "page 1", Some(1.2), CHEAP, (engine(&deep), engine(&first))),
        ("count by group", BY_HAND, Some(1.1), COSTLY, hand(Query::CountByStatus)),
        ("get by key", BY_HAND, Some(1.25), CHEAP, hand(Query::Get(ID))),
        ("get by key", "without an etag", None, CHEAP, hand(Query::GetBare(ID))),
    ] {
        let sides = take_turns(if is_quick { COSTLY } else { extent }, || one.run(), || other.run()).await?;
        let p50 = sides.p50(format!("{}: {what}, p50", target.title()), reference);
        figures.push(limit.map_or(p50.clone(), |limit| p50.max_ratio(limit)));
        figures.push(sides.p99(format!("{}: {what}, p99", target.title()), reference));
    }
    for column in target.time_columns() {
        for (what, is_bounded) in [("latest 25 of 1,000,000", false), ("25 before a time", true)] {
            let query = Query::Latest(*column, is_bounded);
            both(&ours, &by_hand, &query).await?;
            let (one, other) = hand(query);
            let sides = take_turns(if is_quick { COSTLY } else { CHEAP }, || one.run(), || other.run()).await?;
            let name = format!("{}: {what}, {}, p50", target.title(), column.title);
            figures.push(sides.p50(name, BY_HAND).max_ratio(MAX_TIMES_RATIO));
        }
    }
    figures.extend(paths::compare(&ours, &by_hand, target.title(), is_quick).await?);
    Ok(figures)
}

/// Runs only the queries that follow references.
pub(crate) async fn paths(target: &str) -> anyhow::Result<Vec<Figure>> {
    let (ours, by_hand) = (EngineQueries::open(target).await?, HandWrittenQueries::open(target).await?);
    paths::compare(&ours, &by_hand, Target::read(target)?.title(), false).await
}

/// Repeats one query on one side and does nothing else, to be counted from outside.
pub(crate) async fn calls(target: &str, side: &str, name: &str, count: usize) -> anyhow::Result<()> {
    let query = match name {
        "list" => Query::List(None),
        "group" => Query::CountByStatus,
        "get" => Query::Get(ID),
        "path-list" => Query::Path(PathQuery::LatestOfCity(None)),
        "path-sort" => Query::Path(PathQuery::ByCity(None)),
        "path-group" => Query::Path(PathQuery::CountryGroups),
        "months" => Query::Path(PathQuery::MonthGroups),
        "embedded" => Query::Path(PathQuery::Embedded),
        "some" => Query::Path(PathQuery::Some),
        other => bail!("'{other}' is not a query"),
    };
    let (ours, by_hand) = (EngineQueries::open(target).await?, HandWrittenQueries::open(target).await?);
    let call = match side {
        "ours" => Call::Engine(&ours, engine_queries::arguments(&query)),
        "by-hand" => Call::HandWrittenQueries(&by_hand, query),
        other => bail!("'{other}' is neither ours nor by-hand"),
    };
    for _ in 0..count {
        black_box(call.run().await?);
    }
    Ok(())
}

/// Both answers to a query, which must contain the same full page.
async fn both(ours: &EngineQueries, by_hand: &HandWrittenQueries, query: &Query) -> anyhow::Result<(Value, Value)> {
    let (page, same) = both_values(ours, by_hand, query).await?;
    let ids = |answer| rows(answer).iter().filter_map(|row| row.get("id")?.as_i64()).collect::<Vec<_>>();
    ensure!(ids(&page).len() == PAGE && ids(&page) == ids(&same), "the answers differ: {page} and {same}");
    Ok((page, same))
}

pub(crate) async fn both_values(
    ours: &EngineQueries,
    by_hand: &HandWrittenQueries,
    query: &Query,
) -> anyhow::Result<(Value, Value)> {
    let page = serde_json::from_str(&ours.run(engine_queries::arguments(query)).await?)?;
    Ok((page, serde_json::from_str(&by_hand.run(query).await?)?))
}

/// The first list of objects in an answer.
pub(crate) fn rows(answer: &Value) -> &[Value] {
    match answer {
        Value::Array(items) if items.iter().all(Value::is_object) => items,
        Value::Array(items) => items.iter().map(rows).find(|rows| !rows.is_empty()).unwrap_or_default(),
        Value::Object(members) => members.values().map(rows).find(|rows| !rows.is_empty()).unwrap_or_default(),
        _ => &[],
    }
}

/// The position after the last row. `value` points to its sort value.
pub(crate) fn end(page: &Value, same: &Value, value: &str) -> anyhow::Result<PageStart> {
    let last = rows(same).last().context("no rows")?;
    Ok(PageStart {
        value: last.pointer(value).and_then(Value::as_str).context("no sorted value")?.to_owned(),
        id: last.get("id").and_then(Value::as_i64).context("no id")?,
        cursor: page.pointer("/data/pageInfo/endCursor").and_then(Value::as_str).context("no cursor")?.to_owned(),
    })
}

/// A query that is repeated.
pub(crate) enum Call<'a> {
    Engine(&'a EngineQueries, Map<String, Value>),
    HandWrittenQueries(&'a HandWrittenQueries, Query),
}

impl Call<'_> {
    pub(crate) fn run(&self) -> BoxFuture<'_, anyhow::Result<String>> {
        match self {
            // The engine takes ownership of its arguments, as it does with those of a request.
            Call::Engine(ours, arguments) => ours.run(arguments.clone()).boxed(),
            Call::HandWrittenQueries(by_hand, query) => by_hand.run(query).boxed(),
        }
    }
}
