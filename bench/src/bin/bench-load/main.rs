//! Many clients at once against servers that answer JSON over HTTP, turn by turn, so that the machine's noise hits all.
//!
//! Usage: bench-load throughput|memory [OPTION VALUE]… -- SERVER… [-- SERVER…]…
//!
//! A SERVER is started here, says its URL, and is asked in its own way:
//! `mcp TOOL ARGUMENTS COMMAND…`, `post BODY COMMAND…` or `get PATH COMMAND…`.
//! Options: --clients (how many at once), --seconds (of a turn), --turns, --requests (of each client, for memory),
//! --rows (how many an answer must hold). Results are lines of a name, a tab and a number.

mod answer;
mod memory;
mod target;
mod throughput;

use anyhow::{Context, bail};

use target::Target;

/// Named numbers; names begin with the server's place on the command line.
type Figures = Vec<(String, f64)>;

/// How much of what.
struct Plan {
    clients: usize,
    seconds: f64,
    turns: usize,
    requests: usize,
    rows: Option<usize>,
}

const USAGE: &str = "usage: bench-load throughput|memory [OPTION VALUE]… -- SERVER… [-- SERVER…]…";

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut groups = arguments.split(|argument| argument == "--");
    let Some([what, options @ ..]) = groups.next() else { bail!(USAGE) };
    let plan = plan(options)?;
    let targets = groups.map(Target::read).collect::<anyhow::Result<Vec<_>>>()?;
    if targets.is_empty() {
        bail!(USAGE);
    }
    let figures = match what.as_str() {
        "throughput" => throughput::measure(&targets, &plan)?,
        "memory" => memory::measure(&targets, &plan)?,
        other => bail!("unknown measurement '{other}': throughput or memory"),
    };
    print(&figures);
    Ok(())
}

fn plan(options: &[String]) -> anyhow::Result<Plan> {
    let mut plan = Plan { clients: 16, seconds: 3.0, turns: 3, requests: 50, rows: None };
    for option in options.chunks(2) {
        let [name, value] = option else { bail!("an option lacks its value: {}", option.join(" ")) };
        let count = || value.parse().with_context(|| format!("{name} is not a number: {value}"));
        match name.as_str() {
            "--clients" => plan.clients = count()?,
            "--turns" => plan.turns = count()?,
            "--requests" => plan.requests = count()?,
            "--rows" => plan.rows = Some(count()?),
            "--seconds" => plan.seconds = value.parse().context("--seconds is not a number")?,
            _ => bail!("unknown option '{name}'"),
        }
    }
    Ok(plan)
}

#[expect(clippy::print_stdout, reason = "the figures are the result of this program")]
fn print(figures: &Figures) {
    for (name, value) in figures {
        println!("{name}\t{value:.3}");
    }
}
