//! Measures lists, a deep page, aggregates, a single row and paths through references, queried through the engine and
//! by hand on the same driver, in turns, so that noise affects both.
//!
//! Usage: bench-sql fill|drop TARGET
//!        bench-sql compare TARGET [--quick]
//!        bench-sql calls TARGET ours|by-hand QUERY COUNT
//!        bench-sql paths TARGET
//!
//! A TARGET is sqlite:PATH or postgres://…/DATABASE. `fill` creates the database, `compare` prints figures as JSON,
//! `paths` prints only those of paths, `calls` only runs queries, to be profiled or counted from outside, and `drop`
//! drops a PostgreSQL database. A QUERY is list, group, get, path-list, path-sort, path-group, months, embedded or
//! some.

mod by_hand;
mod compare;
mod engine_queries;
mod fill;
mod paths;

use anyhow::{Context, bail};

/// The same allocator as in the server.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Runtime::new()?;
    match words.as_slice() {
        ["fill", target] => runtime.block_on(fill::fill(target)),
        ["drop", target] => runtime.block_on(fill::drop_database(target)),
        ["compare", target, quick @ ..] => {
            let (target, is_quick) = ((*target).to_owned(), quick == ["--quick"]);
            // On a worker thread, like the requests of a server.
            let compared = runtime.spawn(async move { compare::compare(&target, is_quick).await });
            print(&serde_json::to_string(&runtime.block_on(compared)??)?);
            Ok(())
        }
        ["paths", target] => {
            let target = (*target).to_owned();
            let compared = runtime.spawn(async move { compare::paths(&target).await });
            print(&serde_json::to_string(&runtime.block_on(compared)??)?);
            Ok(())
        }
        ["calls", target, side, name, count] => {
            let count = count.parse().context("COUNT is not a number")?;
            let [target, side, name] = [*target, *side, *name].map(str::to_owned);
            // On a worker thread as well.
            runtime.block_on(runtime.spawn(async move { compare::calls(&target, &side, &name, count).await }))?
        }
        _ => bail!(
            "usage: bench-sql fill|drop TARGET, compare TARGET [--quick], paths TARGET, \
             or calls TARGET ours|by-hand QUERY COUNT"
        ),
    }
}

#[expect(clippy::print_stdout, reason = "the figures are the result of this program")]
fn print(figures: &str) {
    println!("{figures}");
}
