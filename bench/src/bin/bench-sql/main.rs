//! Lists, a deep page, sums, a single row and paths through references, asked through the engine and by hand over the same
//! driver, call by call in turns, so that the machine's noise hits both.
//!
//! Usage: bench-sql fill|drop TARGET
//!        bench-sql compare TARGET [--quick]
//!        bench-sql calls TARGET ours|by-hand QUESTION COUNT
//!        bench-sql paths TARGET
//!
//! A TARGET is sqlite:PATH or postgres://…/DATABASE. `fill` makes the database, `compare` prints figures as
//! JSON, `paths` only those of paths, `calls` only asks, to be profiled or counted from outside, `drop` drops a PostgreSQL
//! database. A QUESTION is list, group, get, path-list, path-sort, path-group, months, embedded or some.

mod by_hand;
mod compare;
mod fill;
mod ours;
mod paths;

use anyhow::{Context, bail};

/// As in the server.
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
            // On a worker, as a server's requests are.
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
            // On a worker, too.
            runtime.block_on(runtime.spawn(async move { compare::calls(&target, &side, &name, count).await }))?
        }
        _ => bail!(
            "usage: bench-sql fill|drop TARGET, compare TARGET [--quick], paths TARGET, \
             or calls TARGET ours|by-hand QUESTION COUNT"
        ),
    }
}

#[expect(clippy::print_stdout, reason = "the figures are the result of this program")]
fn print(figures: &str) {
    println!("{figures}");
}
