//! Paths through references beside the same joins by hand.

use anyhow::{Context, ensure};
use aquifer_bench::turns::take_turns;
use aquifer_report::Figure;
use serde_json::Value;

use crate::by_hand::paths::{PATH_PAGE, PathQuestion};
use crate::by_hand::{ByHand, Place, Question};
use crate::compare::{BY_HAND, COSTLY, Call, both_values, end, rows};
use crate::ours::{self, Ours};

/// Pages before the further one.
const PAGES_BEFORE: usize = 9;
/// Blocks, and calls in a block: hundreds of rows are sorted for a page.
const MODERATE: (usize, usize) = (50, 10);
/// A million rows are joined.
const JOINED: (usize, usize) = (15, 1);

const MAX_LIST_RATIO: f64 = 1.25;
const MAX_GROUP_RATIO: f64 = 1.1;

/// Everything that is compared. First of all both sides have to answer the same.
pub(crate) async fn compare(ours: &Ours, by_hand: &ByHand, title: &str, is_quick: bool) -> anyhow::Result<Vec<Figure>> {
    let latest = walk(ours, by_hand, PathQuestion::LatestOfCity, "/sent_at").await?;
    let by_city = walk(ours, by_hand, PathQuestion::ByCity, "/customer/city/name").await?;
    let mut figures = Vec::new();
    for (what, question, extent, limit) in [
        ("path in a filter, 50 by an own column", PathQuestion::LatestOfCity(None), MODERATE, MAX_LIST_RATIO),
        ("the same, page 10", PathQuestion::LatestOfCity(Some(latest)), MODERATE, MAX_LIST_RATIO),
        ("path in a filter, 50 by a path", PathQuestion::ByCity(None), MODERATE, MAX_LIST_RATIO),
        ("the same by a path, page 10", PathQuestion::ByCity(Some(by_city)), MODERATE, MAX_LIST_RATIO),
        ("50 rows with five related rows each", PathQuestion::Embedded, MODERATE, MAX_LIST_RATIO),
        ("50 rows with some related row", PathQuestion::Some, MODERATE, MAX_LIST_RATIO),
        ("count and sum by a path", PathQuestion::CountryGroups, JOINED, MAX_GROUP_RATIO),
        ("count and sum by month", PathQuestion::MonthGroups, JOINED, MAX_GROUP_RATIO),
    ] {
        let question = Question::Path(question);
        ensure_alike(ours, by_hand, &question).await?;
        let one = Call::Engine(ours, ours::arguments(&question));
        let other = Call::ByHand(by_hand, question);
        let sides = take_turns(if is_quick { COSTLY } else { extent }, || one.ask(), || other.ask()).await?;
        figures.push(sides.p50(format!("{title}: {what}, p50"), BY_HAND).max_ratio(limit));
    }
    Ok(figures)
}

/// Where the further page begins.
async fn walk(
    ours: &Ours,
    by_hand: &ByHand,
    question: fn(Option<Place>) -> PathQuestion,
    value: &str,
) -> anyhow::Result<Place> {
    let mut place = None;
    for _ in 0..PAGES_BEFORE {
        let question = Question::Path(question(place));
        let (page, same) = ensure_alike(ours, by_hand, &question).await?;
        place = Some(end(&page, &same, value)?);
    }
    place.context("no page was read")
}

/// Both answers, which have to be the same apart from how times are written.
async fn ensure_alike(ours: &Ours, by_hand: &ByHand, question: &Question) -> anyhow::Result<(Value, Value)> {
    let (page, same) = both_values(ours, by_hand, question).await?;
    let is_alike = match page.pointer("/data/aggregations/groups") {
        Some(groups) => groups.as_object().is_some_and(|groups| groups.len() > 1) && *groups == same,
        None => rows(&page).len() == PATH_PAGE && without_times(&page) == without_times(&same),
    };
    ensure!(is_alike, "not alike: {page} and {same}");
    Ok((page, same))
}

fn without_times(answer: &Value) -> Vec<Value> {
    let mut rows = rows(answer).to_vec();
    for row in rows.iter_mut().filter_map(Value::as_object_mut) {
        row.remove("sent_at");
    }
    rows
}
