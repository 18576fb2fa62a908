//! The explorer: what a browser loads, how soon it paints, and what it costs a server that serves it.

use anyhow::{Context, ensure};
use aquifer_bench::process::Server;
use aquifer_bench::statistics::median;
use aquifer_bench::words;
use aquifer_report::{Figure, root};
use serde::Deserialize;

use crate::client::{resident_kb, starts};
use crate::connection::{Target, Transport};
use crate::count::{call, instructions};
use crate::round_trips::servers;
use crate::{Bench, output_of};

/// The reference: the same server without the explorer.
const WITHOUT: &str = "with --no-explorer";

/// A call that needs no data.
const LIST: &str = r#"{"operation":"list_tasks"}"#;

/// What the browser measured.
#[derive(Deserialize)]
struct Measured {
    /// Milliseconds until the first content of each page load, with an empty cache.
    first_paint: Vec<f64>,
    /// The same when the page is loaded again.
    again: Vec<f64>,
    /// Bytes of all files that the pages consist of, as they were sent.
    sent: f64,
    /// The same, decompressed.
    size: f64,
    /// How many files these are.
    files: f64,
}

pub(crate) fn compare(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let (measured, before, after) = browse(bench)?;
    let kilobytes = |bytes: f64| bytes / 1000.0;
    let mut figures = vec![
        Figure::new("explorer: all files, as sent", kilobytes(measured.sent), "kB").max(200.0),
        Figure::new("explorer: all files, decompressed", kilobytes(measured.size), "kB"),
        Figure::new("explorer: all files", measured.files, "files"),
        Figure::new("explorer: first paint, empty cache", median(&measured.first_paint), "ms").max(100.0),
        Figure::new("explorer: first paint, page loaded again", median(&measured.again), "ms").max(100.0),
        Figure::new("explorer: memory of the demo, all pages visited", after, "kB").compared_with("before", before),
    ];
    let [with, without] = &[&[] as &[&str], &["--no-explorer"]].map(|options| server(bench, options));
    let idle = [with, without].map(|target| Target { call: LIST.to_owned(), prepare: None, ..target.clone() });
    let [idle_with, idle_without] = &idle;
    let name = "explorer: idle memory, one call done";
    figures.push(starts(name, "kB", [idle_with, idle_without], bench.runs(9), resident_kb)?);
    let [with, without] = [call(bench, with)?, call(bench, without)?];
    let count = instructions("explorer: a call of an agent in the server", with);
    figures.push(count.compared_with(WITHOUT, without).max_ratio(1.01));
    Ok(figures)
}

/// Our server over HTTP with these options.
fn server(bench: &Bench, options: &[&str]) -> Target {
    let [ours, _] = servers(bench, Transport::Http);
    let name = if options.is_empty() { "ours" } else { WITHOUT };
    Target { name, command: [ours.command.clone(), words(options)].concat(), ..ours }
}

/// Visits all pages of the demo in a browser. Also returns the server's memory before and after, in kilobytes.
fn browse(bench: &Bench) -> anyhow::Result<(Measured, f64, f64)> {
    let demo = words(&[&bench.program("aquifer"), "demo", "--http", "127.0.0.1:0"]);
    let (demo, link) = Server::start_until_url(&demo, |url| url.contains("/login#"))?;
    let script = root().join("tests/browser/measure.mjs").display().to_string();
    let before = demo.resident_kb()?;
    let runs = bench.runs(15).to_string();
    let printed = output_of(&words(&[&bench.node, &script, &link, &runs]))?;
    let line =
        printed.lines().find_map(|line| line.strip_prefix("measured ")).context("the browser measured nothing")?;
    let measured: Measured = serde_json::from_str(line)?;
    ensure!(measured.files > 10.0 && !measured.first_paint.is_empty(), "the pages were not loaded: {line}");
    Ok((measured, before, demo.resident_kb()?))
}
