//! An HTTP API through the engine and with the bare HTTP client, call by call in turns, so that the machine's noise hits both;
//! and descriptions, read one at a time.
//!
//! Usage: bench-rest compare [--quick]
//!        bench-rest calls ours|bare get|list COUNT
//!        bench-rest api
//!        bench-rest find FOLDER
//!        bench-rest read FILE
//!
//! `compare` prints figures as JSON, `calls` only asks, to be profiled or counted from outside. `api` serves an API, whose
//! URL it prints first, until it is ended. `find` lists files that may be descriptions, as JSON. `read` reads a description and prints what was read as JSON.

mod api;
mod calls;
mod read;

use std::hint::black_box;
use std::net::TcpListener;
use std::path::Path;

use anyhow::{Context, bail};
use aquifer_bench::turns::take_turns;
use aquifer_report::Figure;

use calls::{Bare, Ours, Question, ensure_alike};

/// As in the server.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BARE: &str = "bare HTTP client";
/// What the source may add to a request, over a network that takes no time.
const MAX_RATIO: f64 = 1.2;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Runtime::new()?;
    match words.as_slice() {
        ["compare", quick @ ..] => {
            let is_quick = quick == ["--quick"];
            // On a worker, as a server's requests are.
            let compared = runtime.block_on(runtime.spawn(compare(is_quick)))??;
            print(&serde_json::to_string(&compared)?);
            Ok(())
        }
        ["calls", side, question, count] => {
            let is_ours = match *side {
                "ours" => true,
                "bare" => false,
                other => bail!("'{other}' is neither ours nor bare"),
            };
            let (question, count) = (Question::read(question)?, count.parse().context("COUNT is not a number")?);
            runtime.block_on(runtime.spawn(ask(is_ours, question, count)))?
        }
        ["api"] => {
            let listener = TcpListener::bind("127.0.0.1:0")?;
            print(&format!("http://{}", listener.local_addr()?));
            runtime.block_on(api::serve(listener))
        }
        ["find", folder] => {
            print(&serde_json::to_string(&read::find(Path::new(folder)))?);
            Ok(())
        }
        ["read", file] => {
            print(&read::read(Path::new(file))?.to_string());
            Ok(())
        }
        _ => {
            bail!("usage: bench-rest compare [--quick], calls ours|bare get|list COUNT, api, find FOLDER, or read FILE")
        }
    }
}

/// Everything that is compared.
async fn compare(is_quick: bool) -> anyhow::Result<Vec<Figure>> {
    let url = api::start()?;
    let (ours, bare) = (Ours::open(&url)?, Bare::open(&url)?);
    let mut figures = Vec::new();
    for (what, question, extent) in
        [("get one", Question::Get, (60, 200)), ("list 100 rows, three fields of each", Question::List, (60, 60))]
    {
        ensure_alike(&ours, &bare, question).await?;
        let arguments = question.arguments();
        let extent = if is_quick { (2, 5) } else { extent };
        let by_hand = || async {
            black_box(bare.ask(question).await?);
            Ok(String::new())
        };
        let sides = take_turns(extent, || ours.ask(arguments.clone()), by_hand).await?;
        let p50 = sides.p50(format!("HTTP API: {what}, p50"), BARE);
        figures.push(if question == Question::Get { p50.max_ratio(MAX_RATIO) } else { p50 });
        figures.push(sides.p99(format!("HTTP API: {what}, p99"), BARE));
    }
    Ok(figures)
}

/// Asks one side again and again, and nothing else.
async fn ask(is_ours: bool, question: Question, count: usize) -> anyhow::Result<()> {
    let url = api::start()?;
    let (ours, bare) = (Ours::open(&url)?, Bare::open(&url)?);
    for _ in 0..count {
        if is_ours {
            black_box(ours.ask(question.arguments()).await?);
        } else {
            black_box(bare.ask(question).await?);
        }
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "what was measured is the result of this program")]
fn print(text: &str) {
    println!("{text}");
}
