//! A list, a deep page, a sum and a single row, asked through the engine and by hand over the same driver, call by
//! call in turns, so that the machine's noise hits both.
//!
//! Usage: bench-sql fill|compare|drop sqlite:PATH|postgres://…/DATABASE
//!
//! `fill` makes the database, `compare` prints lines of a name, a tab and a number, `drop` drops a PostgreSQL database.

mod by_hand;
mod compare;
mod fill;
mod ours;
mod rows;

use anyhow::bail;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, target] = arguments.as_slice() else {
        bail!("usage: bench-sql fill|compare sqlite:PATH|postgres://…")
    };
    let runtime = tokio::runtime::Runtime::new()?;
    match what.as_str() {
        "fill" => runtime.block_on(fill::fill(target)),
        "drop" => runtime.block_on(fill::drop_database(target)),
        "compare" => {
            let target = target.clone();
            // On a worker, as a server's requests are.
            let compared = runtime.spawn(async move { compare::compare(&target).await });
            print(&runtime.block_on(compared)??);
            Ok(())
        }
        other => bail!("'{other}' is none of fill, compare and drop"),
    }
}

#[expect(clippy::print_stdout, reason = "the figures are the result of this program")]
fn print(figures: &[(String, f64)]) {
    for (name, value) in figures {
        println!("{name}\t{value:.3}");
    }
}
