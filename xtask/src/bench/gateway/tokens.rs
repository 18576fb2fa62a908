//! Tokens: what is shown at connect, and what it takes to connect, find an operation by words, and call it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::others::{COMPRESSOR, FASTMCP};
use super::times::unmeasured;
use super::{Gateways, asked, shown, stub};
use crate::bench::programs::{Figures, Programs, figures, printed};
use crate::bench::table::{Aim, Row, Table, thousands};
use crate::install::once;
use crate::step::{announce, root};

/// The compressor's own levels. The one that takes the fewest tokens is the one it is compared by.
const LEVELS: [&str; 4] = ["low", "medium", "high", "max"];

struct Captured {
    name: &'static str,
    title: &'static str,
    /// How it is started; none where the tests have the capture.
    program: Option<Started>,
}

/// A program of the captured packages.
struct Started {
    path: &'static str,
    arguments: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
}

const CAPTURED: [Captured; 4] = [
    Captured { name: "github", title: "GitHub, 26 tools", program: None },
    Captured {
        name: "notion",
        title: "Notion, 24 tools",
        program: Some(Started {
            path: "@notionhq/notion-mcp-server/bin/cli.mjs",
            arguments: &[],
            environment: &[("NOTION_TOKEN", "none")],
        }),
    },
    Captured {
        name: "gitlab",
        title: "GitLab, 201 tools",
        program: Some(Started {
            path: "@zereight/mcp-gitlab/build/index.js",
            arguments: &[],
            environment: &[
                ("GITLAB_PERSONAL_ACCESS_TOKEN", "none"),
                ("USE_PIPELINE", "true"),
                ("USE_MILESTONE", "true"),
                ("USE_GITLAB_WIKI", "true"),
            ],
        }),
    },
    Captured {
        name: "azure",
        title: "Azure, 235 tools",
        program: Some(Started {
            path: "@azure/mcp/index.js",
            arguments: &["server", "start", "--mode", "all"],
            environment: &[("AZURE_MCP_COLLECT_TELEMETRY", "false")],
        }),
    },
];

pub(super) fn all(gateways: &Gateways, programs: &Programs, table: &mut Table) -> Result<()> {
    let captures = gateways.capture(programs)?;
    let mut connect = Table::default();
    for (captured, file) in CAPTURED.iter().zip(&captures) {
        announce(&format!("tokens: {}", captured.title));
        let bench = Bench { gateways, programs, captured, server: stub(programs, file) };
        bench.measure(&mut connect, table)?;
    }
    table.append(connect);
    Ok(())
}

struct Bench<'a> {
    gateways: &'a Gateways,
    programs: &'a Programs,
    captured: &'a Captured,
    server: Vec<String>,
}

impl Bench<'_> {
    fn measure(&self, connect: &mut Table, table: &mut Table) -> Result<()> {
        let title = self.captured.title;
        let ours = self.tasks("aquifer", self.ours("single"))?;
        let semantic = self.connect(self.ours("semantic"))?;
        let bare = self.connect(self.server.clone())?;
        let single = ours.get("connect")?;
        let (limit, reached) = ("170", single <= 170.0);
        let what = format!("{title}: tokens at connect");
        let row = |what: &str, ours: f64, other: &str, theirs: f64, aim: Aim| Row {
            what: what.to_owned(),
            ours: thousands(ours),
            compared: format!("{other}: {}", thousands(theirs)),
            ratio: Some(ours / theirs),
            aim,
        };
        let every = "every tool, as mcp-proxy passes them on";
        connect.push(row(&what, single, every, bare, Aim::at_most(limit, reached)));
        let five = format!("{what}, five tools");
        connect.push(row(&five, semantic, every, bare, Aim::at_most("700", semantic <= 700.0)));

        let task = format!("{title}: tokens to connect, find and call");
        for (name, theirs) in [(COMPRESSOR, self.compressor()), (FASTMCP, self.fastmcp())] {
            let (name, theirs) = match theirs {
                Ok((level, theirs)) => (format!("{name}{level}"), theirs),
                Err(problem) => {
                    eprintln!("{name} cannot be measured: {problem:#}");
                    connect.push(unmeasured(&what, name));
                    table.push(unmeasured(&task, name));
                    continue;
                }
            };
            connect.push(row(&what, single, &name, theirs.get("connect")?, Aim::Ratio(1.0)));
            table.push(Row {
                what: task.clone(),
                ours: whole(&ours)?,
                compared: format!("{name}: {}", whole(&theirs)?),
                ratio: Some(ours.get("total")? / theirs.get("total")?),
                aim: Aim::Ratio(1.0),
            });
        }
        Ok(())
    }

    fn ours(&self, mode: &str) -> Vec<String> {
        let mut command = self.gateways.ours(self.programs, &["--mode", mode, "--"]);
        command.extend(self.server.iter().cloned());
        command
    }

    /// The level that takes the fewest tokens for a whole task.
    fn compressor(&self) -> Result<(String, Figures)> {
        let mut best: Option<(String, Figures, f64)> = None;
        for level in LEVELS {
            let mut command = self.gateways.compressor(&["-c", level, "--"]);
            command.extend(self.server.iter().cloned());
            let told = self.tasks("compressor", command)?;
            let total = told.get("total")?;
            if best.as_ref().is_none_or(|(_, _, least)| total < *least) {
                best = Some((format!(" ({level})"), told, total));
            }
        }
        best.map(|(level, told, _)| (level, told)).context("no level")
    }

    fn fastmcp(&self) -> Result<(String, Figures)> {
        let file = self.gateways.servers_file("stub", &[("stub".to_owned(), self.server.clone())])?;
        Ok((String::new(), self.tasks("fastmcp", self.gateways.fastmcp(&[&file, "--search"]))?))
    }

    fn tasks(&self, peer: &str, command: Vec<String>) -> Result<Figures> {
        let tasks = shown(&root().join("bench/peers/tasks.json"));
        figures(&asked(self.programs, "bench-tokens", &["tasks", peer, &tasks, self.captured.name], &[command])?)
    }

    fn connect(&self, command: Vec<String>) -> Result<f64> {
        figures(&asked(self.programs, "bench-tokens", &["connect"], &[command])?)?.get("connect")
    }
}

/// The median of the tasks whose operation was found, and how many those are.
fn whole(told: &Figures) -> Result<String> {
    let [total, found, tasks] = ["total", "found", "tasks"].map(|name| told.get(name));
    Ok(format!("{} ({} of {} found)", thousands(total?), found?, tasks?))
}

impl Gateways {
    /// The captures, those of the tests and those made here of the pinned servers.
    fn capture(&self, programs: &Programs) -> Result<Vec<PathBuf>> {
        let home = self.home.join("captures");
        let lock = fs::read_to_string(root().join("bench/peers/captured/package-lock.json"))?;
        once(&home, &lock, || {
            for Captured { name, program, .. } in &CAPTURED {
                let Some(Started { path, arguments, environment }) = program else { continue };
                let file = home.join(format!("{name}.json"));
                let mut command = Command::new(programs.program("bench-tokens"));
                command.arg("capture").arg(file).arg("--").arg(&self.node);
                command.arg(self.captured.join("node_modules").join(path)).args(*arguments);
                printed(command.envs(environment.iter().copied()))?;
            }
            Ok(())
        })?;
        let github = root().join("crates/aquifer-discovery/tests/discovery/captures/github.json");
        Ok(CAPTURED
            .iter()
            .map(|captured| match &captured.program {
                None => github.clone(),
                Some(_) => home.join(format!("{}.json", captured.name)),
            })
            .collect())
    }
}
