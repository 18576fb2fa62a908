//! The gateway with an upstream behind it, beside the bare upstream and beside other gateways with the same one.

use std::net::TcpListener;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use aquifer_bench::process::Server;
use aquifer_bench::session::Session;
use aquifer_bench::words;
use aquifer_report::{Figure, root};
use serde_json::json;

use crate::captures::{CAPTURES, capture, short};
use crate::client::{self, Plan, first_call_ms, resident_kb, starts};
use crate::connection::{Target, Transport};
use crate::tasks::{self, Cost, Walk};
use crate::trips::ECHO;
use crate::{Bench, printed};

const COMPRESSOR: &str = "mcp-compressor";
const FASTMCP: &str = "fastmcp";
const MCP_PROXY: &str = "mcp-proxy";

/// What the upstream is sent: directly, through us, and through mcp-compressor.
const DIRECT: &str = r#"{"text":"Water the plants"}"#;
const OURS: &str = r#"{"operation":"echo","params":{"text":"Water the plants"}}"#;
const COMPRESSED: &str = r#"{"tool_name":"echo","tool_input":{"text":"Water the plants"}}"#;

/// What a model asks first of ten servers.
const SEARCH: &str = r#"{"operation":"introspect","params":{"query":"operations","search":"open a pull request"}}"#;

/// mcp-compressor's own levels. The one that takes the fewest tokens is the one it is compared by.
const LEVELS: [&str; 4] = ["low", "medium", "high", "max"];

/// Servers from npm whose tools are captured, how they are started, and the most tokens that connecting, finding and calling
/// may take. GitHub's capture is part of the tests.
const CAPTURED: [(&str, &str, &str, f64); 4] = [
    ("github", "GitHub, 26 tools", "", 360.0),
    ("notion", "Notion, 24 tools", "NOTION_TOKEN=none @notionhq/notion-mcp-server/bin/cli.mjs", 320.0),
    (
        "gitlab",
        "GitLab, 201 tools",
        "GITLAB_PERSONAL_ACCESS_TOKEN=none USE_PIPELINE=true USE_MILESTONE=true USE_GITLAB_WIKI=true \
         @zereight/mcp-gitlab/build/index.js",
        450.0,
    ),
    (
        "azure",
        "Azure, 235 tools",
        "AZURE_MCP_COLLECT_TELEMETRY=false @azure/mcp/index.js server start --mode all",
        550.0,
    ),
];

pub(crate) fn compare(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let gateways = Gateways { bench, unguarded: bench.unguarded()?, file: echo_file(bench)? };
    Ok([gateways.stdio()?, gateways.http()?, gateways.ten()?, gateways.tokens()?].concat())
}

fn echo_file(bench: &Bench) -> anyhow::Result<String> {
    bench.servers_file("echo", &[("echo", bench.echo(Transport::Stdio))])
}

struct Gateways<'a> {
    bench: &'a Bench,
    unguarded: String,
    /// An `mcpServers` file with the echo server.
    file: String,
}

impl Gateways<'_> {
    /// With a state directory of its own, where catalogs are cached.
    fn aquifer(&self, arguments: &[&str]) -> Vec<String> {
        let state = format!("XDG_STATE_HOME={}", self.bench.home.join("bench-gateway/state").display());
        [words(&["env", &state, &self.bench.program("aquifer")]), words(arguments)].concat()
    }

    fn serve(&self, mode: &str, arguments: &[&str]) -> Vec<String> {
        [self.aquifer(&["serve", "--config", &self.unguarded, "--mode", mode]), words(arguments)].concat()
    }

    fn compressor(&self, arguments: &[&str]) -> Vec<String> {
        [words(&[&self.bench.python("-compressor"), "-m", "mcp_compressor.cli"]), words(arguments)].concat()
    }

    fn fastmcp(&self, arguments: &[&str]) -> Vec<String> {
        let script = root().join("bench/peers/fastmcp_proxy.py").display().to_string();
        [words(&[&self.bench.python("-fastmcp"), &script]), words(arguments)].concat()
    }

    fn mcp_proxy(&self, arguments: &[&str]) -> Vec<String> {
        [words(&[&self.bench.python("-mcp-proxy"), "-m", "mcp_proxy"]), words(arguments)].concat()
    }

    fn stdio(&self) -> anyhow::Result<Vec<Figure>> {
        let target = |name, tool, call, command| Target::new(name, Transport::Stdio, tool, call, command);
        // One of them can only stand in front of a server over HTTP.
        let (_upstream, url) = Server::on_http(&self.bench.echo(Transport::Http))?;
        let ours = target("ours", "mcp_aql", OURS, self.serve("single", &[&self.file]));
        let bare = target(ECHO, "echo", DIRECT, self.bench.echo(Transport::Stdio));
        let others = [
            target(COMPRESSOR, "invoke_tool", COMPRESSED, self.compressor(&["--config", &self.file])),
            target(FASTMCP, "echo", DIRECT, self.fastmcp(&[&self.file])),
            target(MCP_PROXY, "echo", DIRECT, self.mcp_proxy(&["--transport", "streamablehttp", &url])),
        ];
        let mut figures = self.round_trips("stdio", &ours, &bare, &others, self.bench.plan(3, 6, 100))?;
        if let Some(first) = figures.first_mut() {
            *first = first.clone().max_ratio(2.2);
        }
        let name = "gateway, stdio, 16 in flight: CPU of a call";
        let measure = |other: &Target, plan: Plan| Ok(vec![client::in_flight(&ours, other, plan)?.cpu(name)]);
        figures.extend(measure(&bare, self.bench.plan(5, 6, 2000))?.into_iter().map(|figure| figure.max(80.0)));
        for other in &others {
            figures.extend(or_unmeasured(other.name, &[name], measure(other, self.bench.plan(2, 4, 500))));
        }
        Ok(figures)
    }

    fn http(&self) -> anyhow::Result<Vec<Figure>> {
        let target = |name, tool, call, command| Target::new(name, Transport::Http, tool, call, command);
        let ours = target("ours", "mcp_aql", OURS, self.serve("single", &[&self.file, "--http", "127.0.0.1:0"]));
        let bare = target(ECHO, "echo", DIRECT, self.bench.echo(Transport::Http));
        // One prints port 0 if it is told to choose, so a free one is chosen for it.
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port().to_string();
        let echo = self.bench.echo(Transport::Stdio).join(" ");
        let compressor = self.compressor(&["--config", &self.file, "--transport", "streamable-http", "--port", "0"]);
        let others = [
            (target(COMPRESSOR, "invoke_tool", COMPRESSED, compressor), "/mcp"),
            (target(FASTMCP, "echo", DIRECT, self.fastmcp(&[&self.file, "--http", "0"])), "/mcp"),
            (
                target(MCP_PROXY, "echo", DIRECT, self.mcp_proxy(&["--port", &port, "--named-server", "echo", &echo])),
                "/servers/echo/mcp",
            ),
        ];
        let others = others.map(|(target, path)| Target { session_path: Some(path), ..target });
        let mut figures = self.round_trips("HTTP", &ours, &bare, &others, self.bench.plan(3, 6, 50))?;
        if let Some(first) = figures.first_mut() {
            *first = first.clone().max(350.0);
        }
        Ok(figures)
    }

    fn round_trips(
        &self,
        transport: &str,
        ours: &Target,
        bare: &Target,
        others: &[Target],
        plan: Plan,
    ) -> anyhow::Result<Vec<Figure>> {
        let [p50, p99] = ["p50", "p99"].map(|share| format!("gateway, {transport}: round trip, {share}"));
        let measure = |other: &Target, plan: Plan| {
            eprintln!("==> round trips over {transport}, beside {}", other.name);
            let pair = client::round_trips(ours, other, plan)?;
            Ok(vec![pair.p50(p50.as_str()), pair.p99(p99.as_str())])
        };
        let mut figures = measure(bare, self.bench.plan(10, 10, 300))?;
        for other in others {
            figures.extend(or_unmeasured(other.name, &[&p50, &p99], measure(other, plan)));
        }
        Ok(figures)
    }

    /// Ten upstreams whose catalogs are cached. The others have no cache and start all ten.
    fn ten(&self) -> anyhow::Result<Vec<Figure>> {
        let file = self.bench.ten()?;
        eprintln!("==> fill the cache of catalogs");
        let listed = printed(&self.aquifer(&["introspect", "--source", &file]))?;
        for (name, _) in CAPTURES {
            let prefix = format!("{}_", short(name));
            ensure!(listed.lines().any(|line| line.starts_with(&prefix)), "ours does not know '{name}'");
        }
        let target = |name, tool, call, command| Target::new(name, Transport::Stdio, tool, call, command);
        let ours = target("ours", "mcp_aql", SEARCH, self.serve("single", &[&file]));
        let schema = r#"{"tool_name":"create_pull_request"}"#;
        let search = r#"{"query":"open a pull request"}"#;
        let others = [
            target(COMPRESSOR, "github_get_tool_schema", schema, self.compressor(&["--config", &file])),
            target(FASTMCP, "search_tools", search, self.fastmcp(&[&file, "--search"])),
        ];
        let mut figures = Vec::new();
        for (name, unit, limit, measure) in [
            ("gateway, ten upstreams: idle memory", "kB", 25.0 * 1024.0, resident_kb as fn(&Target) -> _),
            ("gateway, ten upstreams: start to first answer", "ms", 50.0, first_call_ms),
        ] {
            for (index, other) in others.iter().enumerate() {
                let figure = starts(name, unit, [&ours, other], self.bench.runs(5), measure);
                let figure = figure.map(|figure| vec![if index == 0 { figure.max(limit) } else { figure }]);
                figures.extend(or_unmeasured(other.name, &[name], figure));
            }
        }
        Ok(figures)
    }

    /// What is shown at connect, and what it takes to connect, find an operation by words, and call it.
    fn tokens(&self) -> anyhow::Result<Vec<Figure>> {
        let (mut whole, mut connect) = (Vec::new(), Vec::new());
        for (name, title, file, max_tokens) in self.captured()? {
            eprintln!("==> tokens: {title}");
            let stub = self.bench.stub(&file);
            let ours = |mode: &str| [self.serve(mode, &["--"]), stub.clone()].concat();
            let own = tasks::play(name, tasks::aquifer, &ours("single"))?;
            let five = tasks::connect(&mut Session::open(&ours("semantic"))?)?.1;
            let every = tasks::connect(&mut Session::open(&stub)?)?.1;
            let at_connect = format!("{title}: tokens at connect");
            let shown = |name: &str, tokens: usize, other: &str, others: usize| {
                Figure::new(name, tokens as f64, "tokens").beside(other, others as f64)
            };
            let all = "every tool, as mcp-proxy passes them on";
            connect.push(shown(&at_connect, own.connect, all, every).max(170.0));
            connect.push(shown(&format!("{at_connect}, five tools"), five, all, every).max(700.0));

            let fastmcp = self.bench.servers_file("stub", &[("stub", stub.clone())])?;
            let fastmcp = vec![(FASTMCP.to_owned(), self.fastmcp(&[&fastmcp, "--search"]))];
            let levels = LEVELS.map(|level| {
                (format!("{COMPRESSOR} ({level})"), [self.compressor(&["-c", level, "--"]), stub.clone()].concat())
            });
            let task = format!("{title}: tokens to connect, find and call");
            let published = tasks::play(name, tasks::published, &ours("single"))?;
            let figure = Figure::new(&task, own.total, "tokens").beside("published introspection", published.total);
            whole.push(figure.notes(own.found(), published.found()).max(max_tokens));
            for (peer, walk, variants) in
                [(COMPRESSOR, tasks::compressor as Walk, levels.to_vec()), (FASTMCP, tasks::fastmcp, fastmcp)]
            {
                let figures = cheapest(name, walk, variants).map(|(peer, cost)| {
                    let figure = Figure::new(&task, own.total, "tokens").beside(&peer, cost.total);
                    let figure = figure.notes(own.found(), cost.found()).max_ratio(1.0);
                    vec![figure, shown(&at_connect, own.connect, &peer, cost.connect).max_ratio(1.0)]
                });
                let mut figures = or_unmeasured(peer, &[&task, &at_connect], figures).into_iter();
                whole.extend(figures.next());
                connect.extend(figures);
            }
        }
        Ok([whole, connect].concat())
    }

    /// The captures: those of the tests, and those made here of the pinned servers.
    fn captured(&self) -> anyhow::Result<Vec<(&'static str, &'static str, PathBuf, f64)>> {
        let folder = self.bench.folder("bench-gateway/captures")?;
        let lock = std::fs::read_to_string(root().join("bench/peers/captured/package-lock.json"))?;
        let record = folder.join("made-from");
        let is_made = std::fs::read_to_string(&record).is_ok_and(|made| made == lock);
        let packages = self.bench.home.join("bench-peers/captured/node_modules");
        let mut captured = Vec::new();
        for (name, title, started, max_tokens) in CAPTURED {
            let file = if started.is_empty() { capture(name) } else { folder.join(format!("{name}.json")) };
            if !is_made && !started.is_empty() {
                let (environment, program): (Vec<&str>, Vec<&str>) =
                    started.split(' ').partition(|word| word.contains('='));
                let (program, arguments) = program.split_first().context("no program")?;
                let program = packages.join(program).display().to_string();
                let command = [&["env"], &environment[..], &[&self.bench.node, &program], arguments].concat();
                let tools = Session::open(&words(&command))?.tools()?;
                std::fs::write(&file, json!({ "tools": tools }).to_string())?;
            }
            captured.push((name, title, file, max_tokens));
        }
        std::fs::write(record, lock)?;
        Ok(captured)
    }
}

/// The variant that takes the fewest tokens for a whole task.
fn cheapest(name: &str, walk: Walk, variants: Vec<(String, Vec<String>)>) -> anyhow::Result<(String, Cost)> {
    let costs = variants.into_iter().map(|(peer, command)| Ok((peer, tasks::play(name, walk, &command)?)));
    let costs = costs.collect::<anyhow::Result<Vec<_>>>()?;
    costs.into_iter().min_by(|(_, one), (_, other)| one.total.total_cmp(&other.total)).context("no variant")
}

/// A peer that cannot be measured gets rows that say so.
pub(crate) fn or_unmeasured(other: &str, names: &[&str], measured: anyhow::Result<Vec<Figure>>) -> Vec<Figure> {
    measured.unwrap_or_else(|problem| {
        eprintln!("{other} cannot be measured: {problem:#}");
        names.iter().map(|name| Figure::unmeasured(name, other)).collect()
    })
}
