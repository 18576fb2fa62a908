//! Both sides in turns, and first of all whether they answer the same.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{bail, ensure};
use aquifer_bench::statistics::{median, percentile, ratio};
use serde_json::{Map, Value};

use crate::by_hand::{ByHand, PAGE, Question, Target, TimeColumn};
use crate::ours::{self, Ours};
use crate::rows;

/// Pages before the deep one.
const BEFORE: usize = 999;

/// An order to ask for.
const ID: i64 = 654_321;

type Figures = Vec<(String, f64)>;

/// How many blocks of how many calls for each side.
#[derive(Clone, Copy)]
struct Extent {
    blocks: usize,
    calls: usize,
}

const QUICK: Extent = Extent { blocks: 50, calls: 60 };
/// Every row is looked at, which takes its time.
const SLOW: Extent = Extent { blocks: 25, calls: 1 };

/// For each of `list`, `page_1000`, `group`, `get`, `get_bare`: `NAME.0.p50_us` and `NAME.0.p99_us` of ours, `NAME.1.…` by hand,
/// `NAME.ratio` of the p50, taken side by side. `deep` is our page 1,000 beside our page 1. `latest_COLUMN` and
/// `before_COLUMN` are visits sorted by a column of times, each in another format, without and with a bound.
pub(crate) async fn compare(target: &str) -> anyhow::Result<Figures> {
    let ours = Ours::open(target).await?;
    let by_hand = ByHand::open(target).await?;

    let (mut cursor, mut place) = (None, None);
    for _ in 0..BEFORE {
        let page = ours.answer(&ours::list(cursor.as_deref())).await?;
        let same = serde_json::from_str(&by_hand.ask(&Question::List(place)).await?)?;
        ensure!(rows::ids(&page).len() == PAGE && rows::ids(&page) == rows::ids(&same), "not alike: {page} and {same}");
        cursor = Some(rows::end_cursor(&page)?);
        place = Some(rows::end(&same)?);
    }
    let engine = |arguments| Call::Engine(&ours, arguments);
    let hand = |question| Call::ByHand(&by_hand, question);
    let page_1 = || engine(ours::list(None));
    let page_1000 = || engine(ours::list(cursor.as_deref()));
    let all = [
        ("list", QUICK, page_1(), hand(Question::List(None))),
        ("page_1000", QUICK, page_1000(), hand(Question::List(place))),
        ("deep", QUICK, page_1000(), page_1()),
        ("group", SLOW, engine(ours::count_by_status()), hand(Question::CountByStatus)),
        ("get", QUICK, engine(ours::get(ID)), hand(Question::Get(ID))),
        ("get_bare", QUICK, engine(ours::get(ID)), hand(Question::GetBare(ID))),
    ];
    let (row, same): (Value, Value) =
        (ours.answer(&ours::get(ID)).await?, serde_json::from_str(&by_hand.ask(&Question::Get(ID)).await?)?);
    for name in ["id", "customer_id", "note"].into_iter().chain(same.get("_etag").map(|_| "_etag")) {
        let found = row.pointer(&format!("/data/{name}"));
        ensure!(found.is_some() && found == same.get(name), "not alike: {row} and {same}");
    }
    let mut measured = Figures::new();
    for (name, extent, first, second) in all {
        measured.extend(figures(name, &turns(extent, &first, &second).await?));
    }
    for column in Target::read(target)?.time_columns() {
        for (kind, is_bounded) in [("latest", false), ("before", true)] {
            let (arguments, question) = (ours::latest(*column, is_bounded), Question::Latest(*column, is_bounded));
            let page = ours.answer(&arguments).await?;
            let same = serde_json::from_str(&by_hand.ask(&question).await?)?;
            let is_same = rows::ids(&page).len() == PAGE && rows::ids(&page) == rows::ids(&same);
            ensure!(is_same, "not alike by {}: {page} and {same}", column.name);
            let sides = turns(QUICK, &engine(arguments), &hand(question)).await?;
            measured.extend(figures(&format!("{kind}_{}", column.name), &sides));
        }
    }
    Ok(measured)
}

/// Asks the same of one side again and again, and nothing else, for who counts from outside.
pub(crate) async fn calls(target: &str, side: &str, name: &str, count: usize) -> anyhow::Result<()> {
    let (arguments, question) = match name {
        "list" => (ours::list(None), Question::List(None)),
        "group" => (ours::count_by_status(), Question::CountByStatus),
        "get" => (ours::get(ID), Question::Get(ID)),
        other => {
            let target = Target::read(target)?;
            let named = |column: &&TimeColumn| other.strip_prefix("before_") == Some(column.name);
            let Some(column) = target.time_columns().iter().find(named) else {
                bail!("'{other}' is none of list, group, get and before_COLUMN");
            };
            (ours::latest(*column, true), Question::Latest(*column, true))
        }
    };
    let (ours, by_hand) = (Ours::open(target).await?, ByHand::open(target).await?);
    let call = match side {
        "ours" => Call::Engine(&ours, arguments),
        "by-hand" => Call::ByHand(&by_hand, question),
        other => bail!("'{other}' is neither ours nor by-hand"),
    };
    Side::default().block(count, &call).await
}

/// Something to be asked again and again.
enum Call<'a> {
    Engine(&'a Ours, Map<String, Value>),
    ByHand(&'a ByHand, Question),
}

impl Call<'_> {
    async fn make(&self) -> anyhow::Result<(String, f64)> {
        match self {
            Call::Engine(ours, arguments) => {
                // The engine keeps its arguments, as it keeps those that came with a request.
                let arguments = arguments.clone();
                timed(ours.ask(arguments)).await
            }
            Call::ByHand(by_hand, question) => timed(by_hand.ask(question)).await,
        }
    }
}

/// An answer, and how many microseconds it took.
async fn timed(asking: impl Future<Output = anyhow::Result<String>>) -> anyhow::Result<(String, f64)> {
    let asked = Instant::now();
    let answer = asking.await?;
    Ok((answer, asked.elapsed().as_secs_f64() * 1e6))
}

/// What was measured of one side, in microseconds.
#[derive(Default)]
struct Side {
    times: Vec<f64>,
    block_medians: Vec<f64>,
}

impl Side {
    async fn block(&mut self, calls: usize, call: &Call<'_>) -> anyhow::Result<()> {
        let mut times = Vec::with_capacity(calls);
        for _ in 0..calls {
            times.push(black_box(call.make().await?).1);
        }
        self.block_medians.push(median(&times));
        self.times.extend(times);
        Ok(())
    }
}

/// Both sides in blocks, in changing order.
async fn turns(extent: Extent, first: &Call<'_>, second: &Call<'_>) -> anyhow::Result<[Side; 2]> {
    let (mut one, mut other) = (Side::default(), Side::default());
    for turn in 0..=extent.blocks {
        if turn % 2 == 0 {
            one.block(extent.calls, first).await?;
            other.block(extent.calls, second).await?;
        } else {
            other.block(extent.calls, second).await?;
            one.block(extent.calls, first).await?;
        }
        if turn == 0 {
            // What is made on first use is made before anything is measured.
            (one, other) = (Side::default(), Side::default());
        }
    }
    Ok([one, other])
}

fn figures(name: &str, [one, other]: &[Side; 2]) -> Figures {
    let mut figures = vec![(format!("{name}.ratio"), ratio(&one.block_medians, &other.block_medians))];
    for (index, side) in [one, other].into_iter().enumerate() {
        figures.push((format!("{name}.{index}.p50_us"), percentile(&side.times, 0.5)));
        figures.push((format!("{name}.{index}.p99_us"), percentile(&side.times, 0.99)));
    }
    figures
}
