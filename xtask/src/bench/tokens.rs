//! `docs/tokens.md`: what a model pays for real servers, counted by `aquifer tokens` itself.
//!
//! Everything is recomputed without a network: stubs list what the servers listed when they were captured, and the
//! sample shop is inside of the program. What others take was measured before and is quoted (`quoted`). Tokens are the
//! same in every build, so this one need not be for release.

mod quoted;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::table::thousands;
use crate::step::{announce, cargo, root, run, target};

/// The captures, by the names of their files, and how they are called.
const CAPTURES: [(&str, &str); 10] = [
    ("time", "Time"),
    ("sqlite", "SQLite"),
    ("everything", "Everything"),
    ("git", "Git"),
    ("filesystem", "Filesystem"),
    ("memory", "Memory"),
    ("github", "GitHub"),
    ("playwright", "Playwright"),
    ("kubernetes-containers", "Kubernetes"),
    ("sentry", "Sentry"),
];

/// Measures everything; the text of the block in the documentation.
pub(super) fn measure() -> Result<String> {
    announce("build what measures tokens");
    let mut build = cargo(&[
        "build",
        "--package",
        "aquifer",
        "--package",
        "aquifer-bench",
        "--bin",
        "aquifer",
        "--bin",
        "bench-stub",
    ]);
    run(&mut build, "The build must succeed before anything can be measured.")?;
    let bench = Bench::new()?;
    let mut text = String::new();
    bench.servers(&mut text)?;
    bench.github(&mut text)?;
    bench.demo(&mut text)?;
    quoted::all(&mut text)?;
    Ok(text)
}

struct Bench {
    programs: PathBuf,
    home: PathBuf,
}

impl Bench {
    fn new() -> Result<Self> {
        let home = target().join("bench-tokens");
        std::fs::create_dir_all(&home).with_context(|| format!("cannot make {}", home.display()))?;
        Ok(Self { programs: target().join("debug"), home })
    }

    /// What `aquifer tokens` reports.
    fn report(&self, what: &str, arguments: &[String]) -> Result<Report> {
        announce(&format!("tokens: {what}"));
        let mut command = Command::new(self.programs.join("aquifer"));
        command.args(["tokens", "--json"]).args(arguments).env("XDG_STATE_HOME", self.home.join("state"));
        for variable in ["MCP_AQL_ENDPOINT_MODE", "MCP_AQL_ENDPOINT_PROFILE", "MCP_AQL_TOOL_PREFIX"] {
            command.env_remove(variable);
        }
        let output = command.output().context("aquifer cannot be started")?;
        if !output.status.success() {
            bail!("aquifer tokens {what} ended with {}:\n{}", output.status, String::from_utf8_lossy(&output.stderr));
        }
        Ok(Report(serde_json::from_slice(&output.stdout).context("not a report")?))
    }

    fn capture(name: &str) -> PathBuf {
        root().join(format!("crates/aquifer-discovery/tests/discovery/captures/{name}.json"))
    }

    fn stub(&self, name: &str) -> [String; 2] {
        [shown(&self.programs.join("bench-stub")), shown(&Self::capture(name))]
    }

    /// A file of tasks of this package.
    fn tasks(name: &str) -> String {
        shown(&root().join(format!("bench/tokens/{name}.toml")))
    }

    /// Every captured server, and all of them together.
    fn servers(&self, out: &mut String) -> Result<()> {
        writeln!(out, "### Real servers, their own tools and the same behind Aquifer\n")?;
        writeln!(
            out,
            "| server | tools | direct | semantic | single | one search | one look | single, until a call |"
        )?;
        writeln!(out, "|---|---:|---:|---:|---:|---:|---:|---:|")?;
        for (name, title) in CAPTURES {
            let mut arguments = vec!["--no-calls".to_owned(), "--".to_owned()];
            arguments.extend(self.stub(name));
            self.report(title, &arguments)?.line(title, out)?;
        }
        let entry = |name: &str| -> (String, Value) {
            let [command, capture] = self.stub(name);
            let short = name.split('-').next().unwrap_or(name);
            (short.to_owned(), serde_json::json!({ "command": command, "args": [capture] }))
        };
        let servers: serde_json::Map<String, Value> = CAPTURES.iter().map(|(name, _)| entry(name)).collect();
        let file = self.home.join("ten.json");
        std::fs::write(&file, serde_json::json!({ "mcpServers": servers }).to_string())?;
        self.report("all ten", &["--no-calls".to_owned(), shown(&file)])?.line("all ten together", out)?;
        writeln!(out)?;
        Ok(())
    }

    /// Whole tasks on one of them.
    fn github(&self, out: &mut String) -> Result<()> {
        // What writes would have to be confirmed; the way to the call is what is counted, as for everybody else.
        let unguarded = self.home.join("unguarded.toml");
        std::fs::write(&unguarded, "[[gate.rule]]\noperation = \"*\"\neffect = \"allow\"\nloosen = true\n")?;
        let mut arguments: Vec<String> = ["--allow-writes", "--tasks"].map(str::to_owned).to_vec();
        arguments.extend([Self::tasks("github"), "--config".to_owned(), shown(&unguarded), "--".to_owned()]);
        arguments.extend(self.stub("github"));
        let report = self.report("tasks for GitHub", &arguments)?;
        writeln!(out, "### From connect to the answer: GitHub, 26 tools, six tasks\n")?;
        writeln!(out, "| task | direct | semantic | single |")?;
        writeln!(out, "|---|---:|---:|---:|")?;
        let mut totals: [Vec<u64>; 3] = Default::default();
        for task in report.tasks() {
            let mut cells = Vec::new();
            for (surface, totals) in ["direct", "semantic", "single"].into_iter().zip(&mut totals) {
                let way = way(task, surface, false)?;
                totals.push(number(way, "/total/o200k_base")?);
                cells.push(both(way, "/total")?);
            }
            writeln!(out, "| {} | {} |", called(task)?, cells.join(" | "))?;
        }
        // Of an even number the upper of the two in the middle, as everywhere here.
        let medians = totals.map(|mut all| {
            all.sort_unstable();
            all.get(all.len() / 2).copied().unwrap_or_default() as f64
        });
        let medians = medians.map(|median| format!("**{}**", thousands(median)));
        writeln!(out, "| median, o200k_base | {} |\n", medians.join(" | "))?;
        Ok(())
    }

    /// Tasks whose answers have a shape.
    fn demo(&self, out: &mut String) -> Result<()> {
        let report =
            self.report("the sample shop", &["demo:".to_owned(), "--tasks".to_owned(), Self::tasks("demo")])?;
        writeln!(out, "### Answers and their shape: the sample shop (`demo:`, no tools of its own)\n")?;
        writeln!(
            out,
            "| task | whole, semantic | whole, single | whole, single, shaped | answer as it comes | answer shaped |"
        )?;
        writeln!(out, "|---|---:|---:|---:|---:|---:|")?;
        for task in report.tasks() {
            let wholes = [("semantic", false), ("single", false), ("single", true)];
            let mut cells = Vec::new();
            for (surface, shaped) in wholes {
                cells.push(both(way(task, surface, shaped)?, "/total")?);
            }
            cells.push(both(task, "/answers/0/read")?);
            cells.push(both(task, "/answers/1/read")?);
            writeln!(out, "| {} | {} |", called(task)?, cells.join(" | "))?;
        }
        writeln!(out)?;
        Ok(())
    }
}

/// What was reported.
struct Report(Value);

impl Report {
    fn tasks(&self) -> &[Value] {
        self.0.get("tasks").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    fn surface(&self, name: &str) -> Result<&Value> {
        let surfaces = self.0.get("surfaces").and_then(Value::as_array);
        let mut named =
            surfaces.into_iter().flatten().filter(|one| one.get("surface").and_then(Value::as_str) == Some(name));
        named.next().with_context(|| format!("{name} was not measured"))
    }

    /// One line of the table of servers.
    fn line(&self, title: &str, out: &mut String) -> Result<()> {
        let (direct, single) = (self.surface("direct")?, self.surface("single")?);
        let mut cells = vec![title.to_owned(), number(direct, "/tools")?.to_string()];
        for surface in [direct, self.surface("semantic")?, single] {
            cells.push(both(surface, "/connect")?);
        }
        for place in ["/introspection/search/median", "/introspection/detail/median"] {
            cells.push(both(&self.0, place)?);
        }
        let mut ready = Vec::new();
        for encoding in ["o200k_base", "cl100k_base"] {
            let looked =
                ["search", "detail"].map(|part| number(&self.0, &format!("/introspection/{part}/median/{encoding}")));
            let [search, detail] = looked;
            ready.push(thousands((number(single, &format!("/connect/{encoding}"))? + search? + detail?) as f64));
        }
        cells.push(format!("**{}**", ready.join(" / ")));
        writeln!(out, "| {} |", cells.join(" | "))?;
        Ok(())
    }
}

/// A way that a task was done.
fn way<'a>(task: &'a Value, surface: &str, shaped: bool) -> Result<&'a Value> {
    let ways = task.get("ways").and_then(Value::as_array);
    let is_meant = |way: &&Value| {
        way.get("surface").and_then(Value::as_str) == Some(surface) && way.get("shaped") == Some(&Value::Bool(shaped))
    };
    let way = ways.into_iter().flatten().find(is_meant).with_context(|| format!("not done with {surface}"))?;
    if way.get("outcome").and_then(Value::as_str) != Some("answered") {
        bail!("{} was not done: {way}", word(task, "name")?);
    }
    Ok(way)
}

/// A task's name, and whether its words missed the operation: then the way would have been longer.
fn called(task: &Value) -> Result<String> {
    let missed = way(task, "single", false)?.get("found") == Some(&Value::Bool(false));
    Ok(format!("{}{}", word(task, "name")?, if missed { " (missed by its words)" } else { "" }))
}

fn word<'a>(value: &'a Value, name: &str) -> Result<&'a str> {
    value.get(name).and_then(Value::as_str).with_context(|| format!("no {name}"))
}

fn number(value: &Value, place: &str) -> Result<u64> {
    value.pointer(place).and_then(Value::as_u64).with_context(|| format!("no number at {place}"))
}

/// Tokens in both encodings.
fn both(value: &Value, place: &str) -> Result<String> {
    let count = |encoding: &str| number(value, &format!("{place}/{encoding}")).map(|count| thousands(count as f64));
    Ok(format!("{} / {}", count("o200k_base")?, count("cl100k_base")?))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
