//! Round trips, processor time, memory and start-up.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::others::{ARGUMENTS, COMPRESSOR, Described, FASTMCP, MCP_PROXY};
use super::{Gateways, TEN, asked, short};
use crate::bench::programs::{Figures, Programs, figures};
use crate::bench::table::{Aim, Row, Table};
use crate::bench::trips::ECHO;
use crate::step::announce;

/// A call of the echo server's tool through us.
const OURS: &str = r#"{"operation":"echo","params":{"text":"Water the plants"}}"#;

/// What a model asks first of ten servers.
const SEARCH: &str = r#"{"operation":"introspect","params":{"query":"operations","search":"open a pull request"}}"#;

pub(super) fn all(gateways: &Gateways, programs: &Programs, table: &mut Table) -> Result<()> {
    let bench = Bench { gateways, programs };
    bench.stdio(table)?;
    bench.http(table)?;
    bench.ten(table)
}

struct Bench<'a> {
    gateways: &'a Gateways,
    programs: &'a Programs,
}

/// A figure of a pair of servers: its name, how it is shown, and what it should be beside the bare upstream.
struct Shown {
    what: &'static str,
    name: &'static str,
    ratio: &'static str,
    unit: fn(f64) -> String,
    aim: fn(f64, Option<f64>) -> Aim,
}

fn no_aim(_: f64, _: Option<f64>) -> Aim {
    Aim::None
}

impl Bench<'_> {
    fn stdio(&self, table: &mut Table) -> Result<()> {
        let echo = self.echo(&["--stdio"]);
        let file = self.gateways.servers_file("echo", &[("echo".to_owned(), echo.clone())])?;
        let upstream = Upstream::start(self.programs)?;
        let ours = words("mcp_aql", OURS, self.gateways.ours(self.programs, &[&file, "--mode", "single"]));
        let bare = Described { name: ECHO, words: words("echo", ARGUMENTS, echo) };
        let trips = [
            Shown {
                what: "gateway, stdio: round trip, p50",
                name: "p50_us",
                ratio: "ratio.1",
                unit: microseconds,
                aim: |_, _| Aim::Ratio(2.2),
            },
            Shown {
                what: "gateway, stdio: round trip, p99",
                name: "p99_us",
                ratio: "",
                unit: microseconds,
                aim: no_aim,
            },
        ];
        let busy = [Shown {
            what: "gateway, stdio, 16 in flight: CPU of a call",
            name: "cpu_us",
            ratio: "ratio.1",
            unit: microseconds,
            aim: |ours, _| Aim::at_most("0.08 ms", ours <= 80.0),
        }];
        let few = ["--runs", "3", "--blocks", "6", "--calls", "100"];
        self.beside(table, "round-trip", "stdio", &["--runs", "10"], &ours, &bare, &trips, true)?;
        for other in self.gateways.on_stdio(&file, &upstream.url) {
            self.beside(table, "round-trip", "stdio", &few, &ours, &other, &trips, false)?;
        }
        let blocks = ["--runs", "5", "--blocks", "6", "--calls", "2000"];
        self.beside(table, "in-flight", "stdio", &blocks, &ours, &bare, &busy, true)?;
        let few = ["--runs", "2", "--blocks", "4", "--calls", "500"];
        for other in self.gateways.on_stdio(&file, &upstream.url) {
            self.beside(table, "in-flight", "stdio", &few, &ours, &other, &busy, false)?;
        }
        Ok(())
    }

    fn http(&self, table: &mut Table) -> Result<()> {
        let echo = self.echo(&["--stdio"]);
        let file = self.gateways.servers_file("echo", &[("echo".to_owned(), echo.clone())])?;
        let serve = self.gateways.ours(self.programs, &[&file, "--mode", "single", "--http", "127.0.0.1:0"]);
        let ours = words("mcp_aql", OURS, serve);
        let bare = Described { name: ECHO, words: words("echo", ARGUMENTS, self.echo(&["--http", "127.0.0.1:0"])) };
        let trips = [
            Shown {
                what: "gateway, HTTP: round trip, p50",
                name: "p50_us",
                ratio: "ratio.1",
                unit: microseconds,
                aim: |ours, _| Aim::at_most("0.35 ms", ours <= 350.0),
            },
            Shown {
                what: "gateway, HTTP: round trip, p99",
                name: "p99_us",
                ratio: "",
                unit: microseconds,
                aim: no_aim,
            },
        ];
        self.beside(table, "round-trip", "http", &["--runs", "10"], &ours, &bare, &trips, true)?;
        let few = ["--runs", "3", "--blocks", "6", "--calls", "50"];
        let program = echo.first().context("no echo server")?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        for other in self.gateways.over_http(&file, program, port) {
            self.beside(table, "round-trip", "http", &few, &ours, &other, &trips, false)?;
        }
        Ok(())
    }

    /// Ten upstreams whose catalogues are cached. The others have no cache and start all ten.
    fn ten(&self, table: &mut Table) -> Result<()> {
        let file = self.gateways.ten(self.programs)?;
        let command = self.gateways.ours(self.programs, &[&file, "--mode", "single"]);
        let ours = words("mcp_aql", SEARCH, command.clone());
        self.fill_cache(&file)?;
        let memory = [Shown {
            what: "gateway, ten upstreams: idle memory",
            name: "resident_kb",
            ratio: "ratio.resident",
            unit: |kilobytes| format!("{:.1} MB", kilobytes / 1024.0),
            aim: |ours, _| Aim::at_most("25 MB", ours / 1024.0 <= 25.0),
        }];
        let start = [Shown {
            what: "gateway, ten upstreams: start to first answer",
            name: "start_ms",
            ratio: "ratio.start",
            unit: |milliseconds| format!("{milliseconds:.0} ms"),
            aim: |ours, _| Aim::at_most("50 ms", ours <= 50.0),
        }];
        for (what, runs, shown) in [("memory", "5", &memory), ("first-call", "5", &start)] {
            for (index, other) in self.gateways.with_ten(&file).iter().enumerate() {
                self.beside(table, what, "stdio", &["--runs", runs], &ours, other, shown, index == 0)?;
            }
        }
        table.push(Row {
            what: "gateway, ten upstreams".to_owned(),
            ours: String::new(),
            compared: format!("{MCP_PROXY}: not measured, it offers no ten servers on stdio, nor at one address"),
            ratio: None,
            aim: Aim::None,
        });
        Ok(())
    }

    /// Has the catalogues of all ten kept. The gateway writes one when it has heard from a server.
    fn fill_cache(&self, file: &str) -> Result<()> {
        announce("fill the cache of catalogues");
        let command = self.gateways.program(self.programs);
        let (program, arguments) = command.split_first().context("no command")?;
        let output = Command::new(program).args(arguments).args(["introspect", "--source", file]).output()?;
        ensure!(
            output.status.success(),
            "ours does not introspect the ten: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let shown = String::from_utf8_lossy(&output.stdout);
        for name in TEN {
            let prefix = format!("{}_", short(name));
            ensure!(shown.lines().any(|line| line.starts_with(&prefix)), "ours does not know '{name}'");
        }
        Ok(())
    }

    /// Rows for a pair of servers. Another gateway that cannot be measured gets a row that says so.
    #[expect(clippy::too_many_arguments, reason = "it is one line of the table in words")]
    fn beside(
        &self,
        table: &mut Table,
        what: &str,
        transport: &str,
        options: &[&str],
        ours: &[String],
        other: &Described,
        shown: &[Shown],
        with_aim: bool,
    ) -> Result<()> {
        announce(&format!("{what} over {transport}, beside {}", other.name));
        let head: Vec<&str> = [what, transport].into_iter().chain(options.iter().copied()).collect();
        let told = asked(self.programs, "bench-client", &head, &[ours.to_vec(), other.words.clone()]);
        let told = match told.and_then(|text| figures(&text)) {
            Ok(told) => told,
            Err(problem) if other.name == ECHO => return Err(problem),
            Err(problem) => {
                eprintln!("{} cannot be measured: {problem:#}", other.name);
                for shown in shown {
                    table.push(unmeasured(shown.what, other.name));
                }
                return Ok(());
            }
        };
        for shown in shown {
            table.push(row(&told, shown, other.name, with_aim)?);
        }
        Ok(())
    }

    fn echo(&self, arguments: &[&str]) -> Vec<String> {
        let program = self.programs.program("bench-echo").display().to_string();
        std::iter::once(program).chain(arguments.iter().map(|word| (*word).to_owned())).collect()
    }
}

fn row(told: &Figures, shown: &Shown, other: &str, with_aim: bool) -> Result<Row> {
    let ours = told.get(&format!("0.{}", shown.name))?;
    let theirs = told.get(&format!("1.{}", shown.name))?;
    let ratio = if shown.ratio.is_empty() { ours / theirs } else { told.get(shown.ratio)? };
    Ok(Row {
        what: shown.what.to_owned(),
        ours: (shown.unit)(ours),
        compared: format!("{other}: {}", (shown.unit)(theirs)),
        ratio: Some(ratio),
        aim: if with_aim { (shown.aim)(ours, Some(ratio)) } else { Aim::None },
    })
}

pub(super) fn unmeasured(what: &str, other: &str) -> Row {
    Row {
        what: what.to_owned(),
        ours: String::new(),
        compared: format!("{other}: could not be measured"),
        ratio: None,
        aim: Aim::None,
    }
}

fn words(tool: &str, call: &str, command: Vec<String>) -> Vec<String> {
    [tool.to_owned(), "--call".to_owned(), call.to_owned()].into_iter().chain(command).collect()
}

fn microseconds(value: f64) -> String {
    match value {
        short if short < 1_000.0 => format!("{short:.1} µs"),
        long => format!("{:.2} ms", long / 1_000.0),
    }
}

/// The echo server over HTTP, for the one that can stand only in front of such.
struct Upstream {
    process: Child,
    url: String,
}

impl Upstream {
    fn start(programs: &Programs) -> Result<Self> {
        let mut process = Command::new(programs.program("bench-echo"))
            .args(["--http", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start the echo server")?;
        let mut line = String::new();
        let told = process.stderr.take().context("no stderr")?;
        BufReader::new(told).read_line(&mut line)?;
        let url = line.split_whitespace().find(|word| word.starts_with("http://")).context("no URL")?.to_owned();
        Ok(Self { process, url })
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        // It may have ended by itself already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Gateways {
    /// The others in front of ten servers, asked for what finds a tool.
    fn with_ten(&self, file: &str) -> Vec<Described> {
        vec![
            Described {
                name: COMPRESSOR,
                words: words(
                    "github_get_tool_schema",
                    r#"{"tool_name":"create_pull_request"}"#,
                    self.compressor(&["--config", file]),
                ),
            },
            Described {
                name: FASTMCP,
                words: words("search_tools", r#"{"query":"open a pull request"}"#, self.fastmcp(&[file, "--search"])),
            },
        ]
    }
}
