//! Both sides in turns, and first of all whether they answer the same.

use std::hint::black_box;

use anyhow::{Context, bail, ensure};
use aquifer_bench::turns::take_turns;
use aquifer_report::Figure;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value};

use crate::by_hand::paths::PathQuestion;
use crate::by_hand::{ByHand, PAGE, Place, Question, Target};
use crate::ours::{self, Ours};
use crate::paths;

/// Pages before the deep one.
const PAGES_BEFORE: usize = 999;
/// An order to ask for.
const ID: i64 = 654_321;
pub(crate) const BY_HAND: &str = "SQL by hand";
/// A list by an indexed column of times, whatever their format, beside the same SQL.
const MAX_TIMES_RATIO: f64 = 2.0;

/// Blocks, and calls in a block, for each side.
const CHEAP: (usize, usize) = (50, 60);
/// Every row is looked at, which takes its time.
pub(crate) const COSTLY: (usize, usize) = (25, 1);

/// Everything that is compared.
pub(crate) async fn compare(target: &str, is_quick: bool) -> anyhow::Result<Vec<Figure>> {
    let (ours, by_hand) = (Ours::open(target).await?, ByHand::open(target).await?);
    let target = Target::read(target)?;
    let mut deep = None;
    for _ in 0..PAGES_BEFORE {
        let question = Question::List(deep);
        let (page, same) = both(&ours, &by_hand, &question).await?;
        deep = Some(end(&page, &same, "/created_at")?);
    }
    let (row, same) = both_values(&ours, &by_hand, &Question::Get(ID)).await?;
    for name in ["id", "customer_id", "note"].into_iter().chain(same.get("_etag").map(|_| "_etag")) {
        let found = row.pointer(&format!("/data/{name}"));
        ensure!(found.is_some() && found == same.get(name), "not alike: {row} and {same}");
    }

    let engine = |question: &Question| Call::Engine(&ours, ours::arguments(question));
    let hand = |question: Question| (engine(&question), Call::ByHand(&by_hand, question));
    let first = Question::List(None);
    let deep = Question::List(deep);
    let mut figures = Vec::new();
    for (what, reference, limit, extent, (one, other)) in [
        ("list 25 of 1,000,000", BY_HAND, Some(1.25), CHEAP, hand(first.clone())),
        ("page 1,000", BY_HAND, None, CHEAP, hand(deep.clone())),
        ("page 1,000", "page 1", Some(1.2), CHEAP, (engine(&deep), engine(&first))),
        ("count by group", BY_HAND, Some(1.1), COSTLY, hand(Question::CountByStatus)),
        ("get by key", BY_HAND, Some(1.25), CHEAP, hand(Question::Get(ID))),
        ("get by key", "without an etag", None, CHEAP, hand(Question::GetBare(ID))),
    ] {
        let sides = take_turns(if is_quick { COSTLY } else { extent }, || one.ask(), || other.ask()).await?;
        let p50 = sides.p50(format!("{}: {what}, p50", target.title()), reference);
        figures.push(limit.map_or(p50.clone(), |limit| p50.max_ratio(limit)));
        figures.push(sides.p99(format!("{}: {what}, p99", target.title()), reference));
    }
    for column in target.time_columns() {
        for (what, is_bounded) in [("latest 25 of 1,000,000", false), ("25 before a time", true)] {
            let question = Question::Latest(*column, is_bounded);
            both(&ours, &by_hand, &question).await?;
            let (one, other) = hand(question);
            let sides = take_turns(if is_quick { COSTLY } else { CHEAP }, || one.ask(), || other.ask()).await?;
            let name = format!("{}: {what}, {}, p50", target.title(), column.title);
            figures.push(sides.p50(name, BY_HAND).max_ratio(MAX_TIMES_RATIO));
        }
    }
    figures.extend(paths::compare(&ours, &by_hand, target.title(), is_quick).await?);
    Ok(figures)
}

/// Only what leads through references.
pub(crate) async fn paths(target: &str) -> anyhow::Result<Vec<Figure>> {
    let (ours, by_hand) = (Ours::open(target).await?, ByHand::open(target).await?);
    paths::compare(&ours, &by_hand, Target::read(target)?.title(), false).await
}

/// Asks the same of one side again and again, and nothing else, to be counted from outside.
pub(crate) async fn calls(target: &str, side: &str, name: &str, count: usize) -> anyhow::Result<()> {
    let question = match name {
        "list" => Question::List(None),
        "group" => Question::CountByStatus,
        "get" => Question::Get(ID),
        "path-list" => Question::Path(PathQuestion::LatestOfCity(None)),
        "path-sort" => Question::Path(PathQuestion::ByCity(None)),
        "path-group" => Question::Path(PathQuestion::CountryGroups),
        "months" => Question::Path(PathQuestion::MonthGroups),
        "embedded" => Question::Path(PathQuestion::Embedded),
        "some" => Question::Path(PathQuestion::Some),
        other => bail!("'{other}' is not a question"),
    };
    let (ours, by_hand) = (Ours::open(target).await?, ByHand::open(target).await?);
    let call = match side {
        "ours" => Call::Engine(&ours, ours::arguments(&question)),
        "by-hand" => Call::ByHand(&by_hand, question),
        other => bail!("'{other}' is neither ours nor by-hand"),
    };
    for _ in 0..count {
        black_box(call.ask().await?);
    }
    Ok(())
}

/// Both answers to a question, which have to hold the same full page.
async fn both(ours: &Ours, by_hand: &ByHand, question: &Question) -> anyhow::Result<(Value, Value)> {
    let (page, same) = both_values(ours, by_hand, question).await?;
    let ids = |answer| rows(answer).iter().filter_map(|row| row.get("id")?.as_i64()).collect::<Vec<_>>();
    ensure!(ids(&page).len() == PAGE && ids(&page) == ids(&same), "not alike: {page} and {same}");
    Ok((page, same))
}

pub(crate) async fn both_values(ours: &Ours, by_hand: &ByHand, question: &Question) -> anyhow::Result<(Value, Value)> {
    let page = serde_json::from_str(&ours.ask(ours::arguments(question)).await?)?;
    Ok((page, serde_json::from_str(&by_hand.ask(question).await?)?))
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

/// The place after the last row, whose sorted value is here.
pub(crate) fn end(page: &Value, same: &Value, value: &str) -> anyhow::Result<Place> {
    let last = rows(same).last().context("no rows")?;
    Ok(Place {
        value: last.pointer(value).and_then(Value::as_str).context("no sorted value")?.to_owned(),
        id: last.get("id").and_then(Value::as_i64).context("no id")?,
        cursor: page.pointer("/data/pageInfo/endCursor").and_then(Value::as_str).context("no cursor")?.to_owned(),
    })
}

/// Something to be asked again and again.
pub(crate) enum Call<'a> {
    Engine(&'a Ours, Map<String, Value>),
    ByHand(&'a ByHand, Question),
}

impl Call<'_> {
    pub(crate) fn ask(&self) -> BoxFuture<'_, anyhow::Result<String>> {
        match self {
            // The engine keeps its arguments, as it keeps those that came with a request.
            Call::Engine(ours, arguments) => ours.ask(arguments.clone()).boxed(),
            Call::ByHand(by_hand, question) => by_hand.ask(question).boxed(),
        }
    }
}
