//! `aquifer tokens`: measures what a source costs a model.
//!
//! The source's own servers are queried as any client would query them. For the source behind MCP-AQL, this program
//! starts itself with `serve` on pipes, once in each mode. Only transmitted messages are counted.

use std::io::IsTerminal as _;
use std::path::Path;

use anyhow::{Context, bail};
use aquifer_discovery::redact;
use aquifer_protocol::case::snake_identifier;
use aquifer_protocol::error::Failure;
use aquifer_tokens::compare::Comparison;
use aquifer_tokens::render::chart::Chart;
use aquifer_tokens::render::text::Canvas;
use aquifer_tokens::render::{svg, text};
use aquifer_tokens::report::{FORMAT, Outcome, SurfaceKind};
use aquifer_tokens::{Options, Report, Server, ServerError, Subject, measure, task};
use aquifer_upstream::{ClientCapabilities, PlainClient, Settings, Transport};
use serde_json::Value;

use super::{capture, json};
use crate::CommandOutcome;
use crate::cli::{TokensArgs, choose_config};
use crate::config::Config;
use crate::files::write;
use crate::setup::{self, SourceSelection};
use crate::sources::{INSPECT_ONLY, OnUnreachable, UnreachableError};
use crate::terminal;

pub(crate) async fn run(mut arguments: TokensArgs) -> anyhow::Result<CommandOutcome> {
    if let Some([before, now]) = arguments.compare.as_deref() {
        return compare(before, now, arguments.budget, arguments.json);
    }
    if arguments.url.is_none() {
        let starts_command = !arguments.upstream.command.is_empty();
        choose_config(&mut arguments.sources, &mut arguments.config, starts_command)?;
    }
    let options = options(&arguments)?;
    let config = Config::read(arguments.config.as_deref())?;
    let mut remarks = Vec::new();
    let (direct, served) = match &arguments.url {
        Some(url) => {
            if !arguments.upstream.command.is_empty() {
                bail!("--url names a running server, so it cannot be combined with a command");
            }
            let settings = capture::server(Some(url), None, &arguments.upstream, &Config::default())?;
            (Vec::new(), vec![open(settings, ClientCapabilities::None, None).await?])
        }
        None => (connect_upstreams(&arguments, &config, &mut remarks).await?, start_gateways(&arguments).await?),
    };
    let subject = Subject { name: subject(&arguments), direct: &direct, served: &served };
    let measured = measure(&subject, &options).await;
    let mut report = measured.map_err(|ServerError(words)| UnreachableError::new(words))?;
    report.remarks.extend(remarks);
    let chart = Chart::from_report(&report);
    if let Some(path) = &arguments.svg {
        write::file(path, &svg::draw(&chart), true)?;
        note!("{}: written", path.display());
    }
    if arguments.json {
        json::print(&serde_json::to_string(&report)?)?;
    } else {
        terminal::print_line(text::draw(&chart, canvas()).trim_end())?;
    }
    Ok(if options.tasks.is_some() && report_failed_tasks(&report) {
        CommandOutcome::Failure
    } else {
        CommandOutcome::Done
    })
}

/// Converts the arguments to options.
fn options(arguments: &TokensArgs) -> anyhow::Result<Options> {
    let tasks = match &arguments.tasks {
        Some(path) => {
            let shown = path.display();
            let text = crate::files::read(path).with_context(|| format!("cannot read {shown}"))?;
            Some(task::parse(&text).map_err(|why| anyhow::anyhow!("{shown}: {why}"))?)
        }
        None => None,
    };
    Ok(Options { tasks, allow_writes: arguments.allow_writes, no_calls: arguments.no_calls })
}

/// Reports the tasks that could not be run and returns whether there are any.
fn report_failed_tasks(report: &Report) -> bool {
    let mut any = report.introspection.is_none();
    if any {
        note!("aquifer: cannot run any task: the server does not speak MCP-AQL");
    }
    for task in &report.tasks {
        let undone =
            task.runs.iter().find(|way| way.surface != SurfaceKind::Direct && way.outcome != Outcome::Answered);
        if let Some(way) = undone {
            any = true;
            note!("aquifer: cannot run task '{}': {}", task.name, way.reason.as_deref().unwrap_or("no answer"));
        }
    }
    any
}

/// Connects to the MCP servers behind the sources. If some of several are unreachable, the report notes that.
async fn connect_upstreams(
    arguments: &TokensArgs,
    config: &Config,
    remarks: &mut Vec<String>,
) -> anyhow::Result<Vec<MeasuredServer>> {
    let wanted = SourceSelection { targets: &arguments.sources, upstream: &arguments.upstream, config };
    let plans = wanted.plan()?;
    let mut upstreams: Vec<(Settings, Option<String>)> = Vec::new();
    for plan in &plans.plans {
        match plan.upstream() {
            Some(settings) => upstreams.push((settings.clone(), plan.prefix.clone())),
            None => remarks.push(format!("'{}' has no tools of its own to compare with", plan.name)),
        }
    }
    if upstreams.is_empty() {
        plans.report();
        return Ok(Vec::new());
    }
    // Waits for the current catalogs, because the gateway would otherwise show cached ones.
    let opened = wanted.open_without_waiting(OnUnreachable::Fail).await?;
    let asked = setup::check_ready(&opened, |_| true).await;
    let missing = asked.names();
    asked.report()?;
    drop(opened);
    let mut servers = Vec::new();
    let mut failed = None;
    for (settings, prefix) in upstreams {
        if missing.contains(&settings.name) {
            remarks.push(format!("skipped: '{}' cannot be reached", settings.name));
            continue;
        }
        // Announces the same capabilities as the gateway, so that the same tools are compared.
        match open(settings, ClientCapabilities::AsUpstream, prefix).await {
            Ok(server) => servers.push(server),
            Err(error) => {
                remarks.push(format!("skipped: {error}"));
                failed = Some(error);
            }
        }
    }
    match failed {
        Some(error) if servers.is_empty() => Err(error),
        _ => Ok(servers),
    }
}

/// Starts this program as a gateway for the same sources, once in each mode.
async fn start_gateways(arguments: &TokensArgs) -> anyhow::Result<Vec<MeasuredServer>> {
    let mut servers = Vec::new();
    for mode in ["semantic", "single"] {
        let program = std::env::current_exe().context("cannot find the path of this program")?;
        let mut settings = Settings::new(
            &format!("aquifer serve --mode {mode}"),
            Transport::Stdio {
                command: program.to_string_lossy().into_owned(),
                args: serve(arguments, mode),
                env: environment().into_iter().chain([(INSPECT_ONLY.to_owned(), "1".to_owned())]).collect(),
                cwd: None,
            },
        );
        // The gateway has to wait for its own servers.
        settings.start_timeout *= 2;
        // Nobody can answer questions, so calls that need confirmation are answered with a token.
        servers.push(open(settings, ClientCapabilities::None, None).await?);
    }
    Ok(servers)
}

/// The environment for our own process: all variables that are valid text.
fn environment() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// The command line that serves what is measured.
fn serve(arguments: &TokensArgs, mode: &str) -> Vec<String> {
    let TokensArgs { sources, config, profile, prefix, upstream, tasks, .. } = arguments;
    let mut words: Vec<String> = ["serve", "--mode", mode].map(str::to_owned).to_vec();
    if tasks.is_some() {
        // Tasks say themselves which calls are confirmed.
        words.push("--model-confirms".to_owned());
    }
    let mut option = |name: &str, value: Option<String>| {
        words.extend(value.map(|value| format!("--{name}={value}")));
    };
    option("config", config.as_ref().map(|path| path.to_string_lossy().into_owned()));
    option("profile", profile.clone());
    option("prefix", prefix.clone());
    option("bearer-env", upstream.bearer_env.clone());
    option("trust", upstream.trust.map(|trust| trust.to_string()));
    for (name, values) in [("env", &upstream.env), ("header", &upstream.headers), ("server", &upstream.servers)] {
        for value in values {
            option(name, Some(value.clone()));
        }
    }
    words.extend(upstream.read_only.then(|| "--read-only".to_owned()));
    words.extend(sources.iter().cloned());
    if !upstream.command.is_empty() {
        words.push("--".to_owned());
        words.extend(upstream.command.iter().cloned());
    }
    words
}

/// The measured sources as given, without secrets, because reports are shared.
fn subject(arguments: &TokensArgs) -> String {
    let written = |source: &String| match source.as_str() {
        web if web.starts_with("http://") || web.starts_with("https://") => redact::url(web),
        other => aquifer_sql::Target::without_secrets(other),
    };
    let command = redact::arguments(&arguments.upstream.command);
    let command = (!command.is_empty()).then(|| command.join(" "));
    let mut named: Vec<String> = arguments.sources.iter().chain(&arguments.url).map(written).chain(command).collect();
    if named.is_empty() {
        named.extend(arguments.config.as_ref().map(|path| path.display().to_string()));
    }
    named.join(", ")
}

/// A connected server.
struct MeasuredServer {
    connection: PlainClient,
    /// The prefix of its operations.
    prefix: String,
}

async fn open(
    settings: Settings,
    capabilities: ClientCapabilities,
    prefix: Option<String>,
) -> anyhow::Result<MeasuredServer> {
    let connection = PlainClient::open(settings, capabilities).await.map_err(UnreachableError::from_failure)?;
    Ok(MeasuredServer { connection, prefix: prefix.unwrap_or_default() })
}

impl Server for MeasuredServer {
    fn instructions(&self) -> Option<&str> {
        self.connection.instructions()
    }

    async fn tools(&self) -> Result<Vec<Value>, ServerError> {
        self.connection.tools().await.map_err(unanswered)
    }

    async fn call(&self, tool: &str, arguments: &Value) -> Result<Value, ServerError> {
        self.connection.call(tool, arguments).await.map_err(unanswered)
    }

    fn operation(&self, tool: &str) -> String {
        format!("{}{}", self.prefix, snake_identifier(tool))
    }
}

fn unanswered(failure: Failure) -> ServerError {
    ServerError(UnreachableError::from_failure(failure).to_string())
}

/// The width of the terminal and whether it has colors.
fn canvas() -> Canvas {
    let dumb = std::env::var("TERM").is_ok_and(|terminal| terminal == "dumb");
    if !std::io::stdout().is_terminal() || dumb {
        return Canvas::PLAIN;
    }
    let width = crate::system::terminal_size().map(|(_, columns)| usize::from(columns)).filter(|width| *width > 0);
    Canvas { width: width.unwrap_or(Canvas::PLAIN.width), blocks: true }
}

fn compare(before: &Path, now: &Path, budget: f64, is_json: bool) -> anyhow::Result<CommandOutcome> {
    let (old, new) = (read(before)?, read(now)?);
    let comparison = Comparison::between(&old, &new, budget)
        .with_context(|| format!("{} and {} have no figures in common", before.display(), now.display()))?;
    match is_json {
        true => json::print(&serde_json::to_string(&comparison)?)?,
        false => terminal::print_line(&comparison.to_string())?,
    }
    Ok(if comparison.exceeded > 0 { CommandOutcome::Failure } else { CommandOutcome::Done })
}

fn read(path: &Path) -> anyhow::Result<Report> {
    let shown = path.display();
    let text = crate::files::read(path).with_context(|| format!("cannot read {shown}"))?;
    let report: Report =
        serde_json::from_str(&text).with_context(|| format!("{shown} was not written by aquifer tokens --json"))?;
    if report.format != FORMAT {
        bail!("{shown} has format {}, but this version reads format {FORMAT}. Measure again", report.format);
    }
    Ok(report)
}
