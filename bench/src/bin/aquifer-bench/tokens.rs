//! Token costs of real servers, counted by `aquifer tokens` itself. Needs no network: stubs list the captured tools,
//! and the sample shop is part of the program.

use anyhow::{Context, ensure};
use aquifer_bench::words;
use aquifer_report::{Table, root};
use serde_json::{Value, json};

use crate::captures::{CAPTURES, capture};
use crate::{Bench, output_of};

const ENCODINGS: [&str; 2] = ["o200k_base", "cl100k_base"];

/// The tables, by the names of their data files.
pub(crate) fn count(bench: &Bench) -> anyhow::Result<[(&'static str, Table); 3]> {
    Ok([
        ("token-servers", Table::rows(servers(bench)?)),
        ("token-tasks", Table::rows(github(bench)?)),
        ("token-answers", Table::rows(demo(bench)?)),
    ])
}

/// Runs `aquifer tokens` and returns its report.
fn report(bench: &Bench, arguments: &[&str], server: &[String]) -> anyhow::Result<Value> {
    eprintln!("==> tokens: {} {}", arguments.join(" "), server.join(" "));
    let state = format!("XDG_STATE_HOME={}", bench.folder("bench-tokens")?.display());
    let unset = ["MCP_AQL_ENDPOINT_MODE", "MCP_AQL_ENDPOINT_PROFILE", "MCP_AQL_TOOL_PREFIX"];
    let mut command = words(&["env"]);
    unset.iter().for_each(|variable| command.extend(words(&["-u", variable])));
    command.extend(words(&[&state, &bench.program("aquifer"), "tokens", "--json"]));
    command.extend([words(arguments), server.to_vec()].concat());
    serde_json::from_str(&output_of(&command)?).context("not a report")
}

fn header(titles: &[&str]) -> Vec<Value> {
    titles.iter().map(|title| json!(title)).collect()
}

/// One row per captured server, and one for all of them together.
fn servers(bench: &Bench) -> anyhow::Result<Vec<Vec<Value>>> {
    let titles = ["server", "tools", "direct", "semantic", "single", "one search", "one look", "single, until a call"];
    let mut rows = vec![header(&titles)];
    for (name, title) in CAPTURES {
        let report = report(bench, &["--no-calls", "--"], &bench.stub(&capture(name)))?;
        rows.push(row(title, &report)?);
    }
    let report = report(bench, &["--no-calls", &bench.all_captures_file()?], &[])?;
    rows.push(row("all ten together", &report)?);
    Ok(rows)
}

fn row(title: &str, report: &Value) -> anyhow::Result<Vec<Value>> {
    let surface = |name: &str| find(report, "surfaces", |surface| surface["surface"] == name).context(name.to_owned());
    let (direct, single) = (surface("direct")?, surface("single")?);
    let connect = pair(single, "/connect")?;
    let (search, look) = (pair(report, "/introspection/search/median")?, pair(report, "/introspection/detail/median")?);
    let together: Vec<u64> =
        connect.iter().zip(&search).zip(&look).map(|((one, two), three)| one + two + three).collect();
    let [direct_connect, semantic] = [direct, surface("semantic")?].map(|surface| pair(surface, "/connect"));
    Ok(vec![
        json!(title),
        direct.get("tools").context("no tools")?.clone(),
        json!(direct_connect?),
        json!(semantic?),
        json!(connect),
        json!(search),
        json!(look),
        json!(together),
    ])
}

/// Complete tasks on the GitHub server.
fn github(bench: &Bench) -> anyhow::Result<Vec<Vec<Value>>> {
    // Some need confirmation, which costs a question and a second call.
    let tasks = tasks_file("github");
    let arguments = ["--allow-writes", "--tasks", &tasks, "--"];
    let report = report(bench, &arguments, &bench.stub(&capture("github")))?;
    let mut rows = vec![header(&["task", "direct", "semantic", "single"])];
    let mut totals: [Vec<u64>; 3] = Default::default();
    for task in list(&report, "tasks") {
        let mut cells = vec![title(task)?];
        for (surface, totals) in ["direct", "semantic", "single"].into_iter().zip(&mut totals) {
            let way = way(task, surface, false)?;
            ensure!(way.get("outcome") == Some(&json!("answered")), "{surface} did not do a task: {way}");
            let total = pair(way, "/total")?;
            totals.extend(total.first());
            cells.push(json!(total));
        }
        rows.push(cells);
    }
    // For an even count, the upper of the two middle values, as everywhere here.
    let medians = totals.map(|mut all| {
        all.sort_unstable();
        json!(all.get(all.len() / 2))
    });
    rows.push([vec![json!("median, o200k_base")], medians.to_vec()].concat());
    Ok(rows)
}

/// Tasks with shaped answers.
fn demo(bench: &Bench) -> anyhow::Result<Vec<Vec<Value>>> {
    let report = report(bench, &["demo:", "--tasks", &tasks_file("demo")], &[])?;
    let titles =
        ["task", "whole, semantic", "whole, single", "whole, single, shaped", "answer as it comes", "answer shaped"];
    let mut rows = vec![header(&titles)];
    for task in list(&report, "tasks") {
        rows.push(vec![
            title(task)?,
            json!(pair(way(task, "semantic", false)?, "/total")?),
            json!(pair(way(task, "single", false)?, "/total")?),
            json!(pair(way(task, "single", true)?, "/total")?),
            json!(pair(task, "/answers/0/read")?),
            json!(pair(task, "/answers/1/read")?),
        ]);
    }
    Ok(rows)
}

fn tasks_file(name: &str) -> String {
    root().join(format!("bench/tokens/{name}.toml")).display().to_string()
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn find<'a>(value: &'a Value, name: &str, is_wanted: impl Fn(&Value) -> bool) -> Option<&'a Value> {
    list(value, name).iter().find(|item| is_wanted(item))
}

/// The run of a task with these tools.
fn way<'a>(task: &'a Value, surface: &str, shaped: bool) -> anyhow::Result<&'a Value> {
    let way = find(task, "ways", |way| way["surface"] == surface && way["shaped"] == shaped);
    let way = way.with_context(|| format!("not done with {surface}"))?;
    ensure!(way["outcome"] == "answered", "{} was not done: {way}", task["name"]);
    Ok(way)
}

/// The name of a task, with a remark if its search did not find the operation, which would make the run longer.
fn title(task: &Value) -> anyhow::Result<Value> {
    let name = task.get("name").and_then(Value::as_str).context("no name")?;
    let missed = way(task, "single", false)?["found"] == false;
    Ok(json!(if missed { format!("{name} (missed by its words)") } else { name.to_owned() }))
}

/// The token counts in both encodings.
fn pair(value: &Value, place: &str) -> anyhow::Result<Vec<u64>> {
    let count = |encoding| value.pointer(&format!("{place}/{encoding}")).and_then(Value::as_u64);
    let counts = ENCODINGS.map(|encoding| count(encoding).with_context(|| format!("no number at {place}")));
    counts.into_iter().collect()
}
