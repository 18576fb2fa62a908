//! Drives MCP servers and measures them in one run, turn by turn, so that the machine's noise hits all.
//!
//! Usage: bench-client round-trip|in-flight|calls|start|first-call|memory stdio|http [OPTION VALUE]… -- TOOL SERVER… [-- TOOL SERVER…]…
//!
//! A SERVER is a command with its arguments, or (for HTTP) a URL. An HTTP server started here says its URL on stderr.
//! Options: --calls, --blocks, --runs (how many), --prepare JSON (arguments of one call before all others),
//! --call JSON (arguments of the calls measured). A SERVER may begin with options of its own: --call JSON, --session
//! (HTTP as before revision 2026-07-28), --path PATH (HTTP, where the URL it says is not the one to ask). Results are lines of a name, a tab and a number.
//!
//! The client is as small as can be (blocking, no JSON parser): what it costs itself is equal for all servers.

mod connection;
mod http;
mod measure;
mod stdio;

use anyhow::{Context, bail};

use connection::{Target, Transport};
use measure::Plan;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut groups = arguments.split(|argument| argument == "--");
    let head = groups.next().unwrap_or_default();
    let [what, transport, options @ ..] = head else {
        bail!(
            "usage: bench-client round-trip|in-flight|calls|start|first-call|memory stdio|http [OPTION VALUE]… -- TOOL SERVER… [-- TOOL SERVER…]"
        );
    };
    let transport = match transport.as_str() {
        "stdio" => Transport::Stdio,
        "http" => Transport::Http,
        other => bail!("unknown transport '{other}': stdio or http"),
    };
    let plan = plan(options)?;
    let targets = groups.map(|group| Target::read(transport, group)).collect::<anyhow::Result<Vec<_>>>()?;
    if targets.is_empty() {
        bail!("no server: name one as -- TOOL SERVER…");
    }
    let figures = match what.as_str() {
        "round-trip" => measure::round_trip(&targets, &plan)?,
        "calls" => measure::calls(&targets, &plan)?,
        "in-flight" => measure::in_flight(&targets, &plan)?,
        "start" => measure::start(&targets, &plan)?,
        "first-call" => measure::first_call(&targets, &plan)?,
        "memory" => measure::memory(&targets, &plan)?,
        other => bail!("unknown measurement '{other}': round-trip, in-flight, calls, start, first-call or memory"),
    };
    print(&figures);
    Ok(())
}

fn plan(options: &[String]) -> anyhow::Result<Plan> {
    let mut plan = Plan::default();
    for option in options.chunks(2) {
        let [name, value] = option else { bail!("an option lacks its value: {}", option.join(" ")) };
        let count = || value.parse().with_context(|| format!("{name} is not a number: {value}"));
        match name.as_str() {
            "--calls" => plan.calls = count()?,
            "--blocks" => plan.blocks = count()?,
            "--runs" => plan.runs = count()?,
            "--prepare" => plan.prepare = Some(value.clone()),
            "--call" => plan.call = value.clone(),
            _ => bail!("unknown option '{name}'"),
        }
    }
    Ok(plan)
}

#[expect(clippy::print_stdout, reason = "the figures are the result of this program")]
fn print(figures: &[(String, f64)]) {
    for (name, value) in figures {
        println!("{name}\t{value:.3}");
    }
}
