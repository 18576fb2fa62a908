//! HTTP APIs: a call beside the bare HTTP client, and GitHub's description beside what else serves it over MCP.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};
use aquifer_bench::process::Server;
use aquifer_bench::session::Session;
use aquifer_bench::words;
use aquifer_report::{Figure, root};

use crate::client::{first_list_cpu_ms, first_list_ms, peak_kb, starts};
use crate::connection::{Target, Transport};
use crate::gateway::or_unmeasured;
use crate::tasks::{self, Strategy};
use crate::{Bench, output_of};

const FASTMCP: &str = "fastmcp";
const FASTMCP_SEARCH: &str = "fastmcp, with its search";
const GENERATOR: &str = "openapi-mcp-generator";

/// The tasks of `bench/peers/tasks.json`.
const TASKS: &str = "github-api";
const TITLE: &str = "GitHub's description";
const START: &str = "start to list of tools";
/// A second, in the unit of the figure.
const MAX_START_MS: f64 = 1000.0;

pub(crate) fn compare(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let quick = if bench.is_quick { words(&["--quick"]) } else { Vec::new() };
    let command = [words(&[&bench.program("bench-rest"), "compare"]), quick].concat();
    let mut figures: Vec<Figure> = serde_json::from_str(&output_of(&command)?)?;
    // It answers every request of theirs with a short JSON object.
    let (_api, url) = Server::start_http(&words(&[&bench.program("bench-rest"), "api"]))?;
    let github = Github { bench, url, generated: generate(bench) };
    figures.extend(github.starts()?);
    figures.extend(github.tokens()?);
    Ok(figures)
}

/// The description, installed from npm.
pub(crate) fn description(bench: &Bench) -> PathBuf {
    bench.home.join("bench-peers/descriptions/node_modules/@octokit/openapi/generated/api.github.com.json")
}

/// A generated server, and what its compiler said.
struct Generated {
    program: String,
    complaint: Option<String>,
}

/// Has openapi-mcp-generator generate a server, and compiles that.
fn generate(bench: &Bench) -> anyhow::Result<Generated> {
    eprintln!("==> generate a server with {GENERATOR}");
    let home = bench.home.join("bench-peers/generator");
    let module = |path: &str| home.join("node_modules").join(path).display().to_string();
    let folder = home.join("server").display().to_string();
    let description = description(bench).display().to_string();
    let generator = module("openapi-mcp-generator/bin/openapi-mcp-generator.js");
    // Where the API is comes from the environment when the server is started.
    let base_url = "http://127.0.0.1:9";
    let arguments = ["--input", &description, "--output", &folder, "--base-url", base_url, "--force"];
    output_of(&[words(&[&bench.node, &generator]), words(&arguments)].concat())?;
    let compiler = module("typescript/bin/tsc");
    let compiled = Command::new(&bench.node).args([&compiler, "-p", &folder]).output()?;
    let program = home.join("server/build/index.js");
    let said = String::from_utf8_lossy(&compiled.stdout).trim().to_owned();
    ensure!(program.exists(), "the generated server cannot be compiled: {said}");
    // JavaScript is written despite type errors, although the build of the generated project stops there.
    let complaint = (!compiled.status.success()).then_some(said);
    if let Some(complaint) = &complaint {
        eprintln!("{GENERATOR}: the generated server does not compile without errors: {complaint}");
    }
    Ok(Generated { program: program.display().to_string(), complaint })
}

struct Github<'a> {
    bench: &'a Bench,
    /// Where the API is.
    url: String,
    generated: anyhow::Result<Generated>,
}

impl Github<'_> {
    fn aquifer(&self, mode: &str) -> Vec<String> {
        let state = format!("XDG_STATE_HOME={}", self.bench.home.join("bench-gateway/state").display());
        let source = format!("openapi:{}", description(self.bench).display());
        let program = self.bench.program("aquifer");
        let arguments = ["--mode", mode, "--base-url", &self.url];
        [words(&["env", &state, &program, "serve", &source]), words(&arguments)].concat()
    }

    fn fastmcp(&self, arguments: &[&str]) -> Vec<String> {
        let script = root().join("bench/peers/fastmcp_openapi.py").display().to_string();
        let file = description(self.bench).display().to_string();
        [words(&[&self.bench.python("-fastmcp"), &script, &file, &self.url]), words(arguments)].concat()
    }

    fn generated(&self) -> anyhow::Result<Vec<String>> {
        let generated = self.generated.as_ref().map_err(|problem| anyhow::anyhow!("{problem:#}"))?;
        Ok(words(&["env", &format!("API_BASE_URL={}", self.url), &self.bench.node, &generated.program]))
    }

    /// What the table says about the generated server.
    fn remark(&self) -> String {
        match &self.generated {
            Ok(Generated { complaint: Some(_), .. }) => "generated before; compiles with a type error".to_owned(),
            _ => "generated and compiled before".to_owned(),
        }
    }

    /// Time and memory until the tools are listed.
    fn starts(&self) -> anyhow::Result<Vec<Figure>> {
        let target = |name, command| Target::new(name, Transport::Stdio, "", "", command);
        let ours = target("ours", self.aquifer("single"));
        let mut figures = Vec::new();
        for (what, unit, runs, measure) in [
            (START, "ms", 5, first_list_ms as fn(&Target) -> _),
            ("processor time until then", "ms", 3, first_list_cpu_ms),
            ("peak memory until then", "kB", 3, peak_kb),
        ] {
            let name = format!("{TITLE}: {what}");
            for (peer, command, note) in
                [(FASTMCP, Ok(self.fastmcp(&[])), String::new()), (GENERATOR, self.generated(), self.remark())]
            {
                eprintln!("==> {name}, beside {peer}");
                let figure = command.and_then(|command| {
                    let figure = starts(&name, unit, [&ours, &target(peer, command)], self.bench.runs(runs), measure)?;
                    let figure = if what == START { figure.max(MAX_START_MS) } else { figure };
                    Ok(vec![figure.notes(String::new(), note)])
                });
                figures.extend(or_unmeasured(peer, &[&name], figure));
            }
        }
        Ok(figures)
    }

    /// What is shown at connect, and what it takes to connect, find an operation by words, and call it.
    fn tokens(&self) -> anyhow::Result<Vec<Figure>> {
        eprintln!("==> tokens: {TITLE}");
        let own = tasks::run_all(TASKS, tasks::aquifer, &self.aquifer("single")).context("aquifer")?;
        let five = tasks::connect(&mut Session::open(&self.aquifer("semantic"))?)?.1;
        let (at_connect, task) =
            (format!("{TITLE}: tokens at connect"), format!("{TITLE}: tokens to connect, find and call"));
        let (mut connect, mut whole) = (Vec::new(), Vec::new());
        let every = tasks::connect(&mut Session::open(&self.fastmcp(&[]))?).map(|(_, tokens)| {
            let shown =
                |name: &str, own: usize| Figure::new(name, own as f64, "tokens").compared_with(FASTMCP, tokens as f64);
            vec![shown(&at_connect, own.connect), shown(&format!("{at_connect}, five tools"), five)]
        });
        connect.extend(or_unmeasured(FASTMCP, &[&at_connect], every));
        for (peer, walk, command) in [
            (FASTMCP_SEARCH, tasks::fastmcp as Strategy, Ok(self.fastmcp(&["--search"]))),
            (GENERATOR, tasks::generated, self.generated()),
        ] {
            let figures = command.and_then(|command| tasks::run_all(TASKS, walk, &command)).map(|cost| {
                let total = Figure::new(&task, own.total, "tokens").compared_with(peer, cost.total);
                let shown =
                    Figure::new(&at_connect, own.connect as f64, "tokens").compared_with(peer, cost.connect as f64);
                vec![total.notes(own.found(), cost.found()).max_ratio(1.0), shown]
            });
            let mut figures = or_unmeasured(peer, &[&task, &at_connect], figures).into_iter();
            whole.extend(figures.next());
            connect.extend(figures);
        }
        Ok([whole, connect].concat())
    }
}
