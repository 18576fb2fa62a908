//! `aquifer conformance`: tests a server and reports the level it reaches.

mod command_line;
mod progress;
mod validation;

use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use aquifer_conformance::evidence;
use aquifer_conformance::options::Options;
use aquifer_conformance::published::{self, SpecSchemas};
use aquifer_conformance::render::{self, Format};
use aquifer_conformance::report::Report;
use aquifer_conformance::run::Run;
use aquifer_conformance::{Target, run as drive};

use crate::CommandOutcome;
use crate::cli::{
    BAD_USAGE, ConformanceArgs, ConformanceCommand, ConformanceReportArgs, ConformanceRunArgs, ReportFormat,
    ReportOutput,
};
use crate::files::write;
use crate::terminal;
use progress::ProgressDisplay;

/// Errors that prevent a run or a report have the exit code of invalid usage.
pub(crate) async fn run(arguments: ConformanceArgs) -> CommandOutcome {
    let outcome = match arguments.report {
        Some(ConformanceCommand::Report(arguments)) => render_again(&arguments),
        None => check(&arguments.run).await,
    };
    outcome.unwrap_or_else(|problem| {
        note!("aquifer: {problem:#}");
        CommandOutcome::Code(BAD_USAGE)
    })
}

/// Renders an existing report.
fn render_again(arguments: &ConformanceReportArgs) -> anyhow::Result<CommandOutcome> {
    let shown = arguments.file.display();
    let text = crate::files::read(&arguments.file).with_context(|| format!("cannot read {shown}"))?;
    let report = render::json::parse(&text).map_err(|problem| anyhow::anyhow!("{shown} is {problem}"))?;
    write_report(&report, &arguments.output)?;
    Ok(CommandOutcome::Done)
}

async fn check(arguments: &ConformanceRunArgs) -> anyhow::Result<CommandOutcome> {
    let target = target(arguments)?;
    let options = Options {
        level: arguments.level,
        allow_writes: arguments.allow_writes,
        deadline: arguments.timeout,
        spec: arguments.spec.as_deref().map(published_schemas).transpose()?,
        only: arguments.checks.clone(),
        ..Options::default()
    };
    let mut shown = ProgressDisplay::new();
    let driven = drive::run(&target, &options, |progress| shown.step(&progress)).await;
    shown.end();
    let Run { mut report, record } =
        driven.with_context(|| format!("cannot check {}", command_line::server(arguments)))?;
    report.command = command_line::command(arguments);
    write_report(&report, &arguments.output)?;
    if !arguments.allow_writes && report.conformance_level == 0 {
        note!("Checks that write were skipped, so no level is granted. Use --allow-writes to run them");
    }
    if let (Target::Command { argv, .. }, true) = (&target, arguments.allow_writes) {
        match validation::record_validation(argv, &report).await {
            Ok(recorded) => recorded.iter().for_each(|sentence| note!("{sentence}")),
            Err(problem) => note!("aquifer: the run is not recorded as a validation: {problem:#}"),
        }
    }
    let mut code = report.exit_code();
    if let Some(path) = &arguments.evidence {
        match evidence::bundle(&record, arguments.level) {
            Ok(bundle) => {
                if let Some(reason) = evidence::missing_defaults(&record) {
                    note!("{reason}");
                }
                write_file(path, &format!("{}\n", serde_json::to_string_pretty(&bundle)?))?;
            }
            Err(empty) => {
                note!("aquifer: {} was not written: {empty}", path.display());
                // The requested evidence was not written.
                code = if code == 0 { BAD_USAGE } else { code };
            }
        }
    }
    Ok(CommandOutcome::Code(code))
}

/// Reads the schemas of a checkout of the specification. Says where they differ from what this runner restates.
fn published_schemas(checkout: &Path) -> anyhow::Result<Arc<SpecSchemas>> {
    let schemas = SpecSchemas::read(checkout).context("the schemas of the specification cannot be used")?;
    for difference in published::compare(&schemas) {
        note!("the specification differs from what this runner knows of it: {difference}");
    }
    Ok(Arc::new(schemas))
}

fn target(arguments: &ConformanceRunArgs) -> anyhow::Result<Target> {
    let Some(url) = &arguments.url else {
        if arguments.command.is_empty() {
            bail!("name a server: its URL, or the command that starts it after --");
        }
        return Ok(Target::Command { argv: arguments.command.clone(), env: Vec::new() });
    };
    if !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)) {
        let program = std::env::current_exe().context("cannot find the path of this program")?;
        let argv = vec![program.to_string_lossy().into_owned(), "serve".to_owned(), url.clone()];
        return Ok(Target::Command { argv, env: Vec::new() });
    }
    let mut headers = Vec::new();
    for (name, value) in &arguments.headers {
        let value = crate::config::Variables::default()
            .expand(value)
            .with_context(|| format!("the header '{name}' cannot be sent"))?;
        headers.push((name.clone(), value));
    }
    Ok(Target::Url { url: url.clone(), second: arguments.single_url.clone(), headers })
}

/// Writes a report to the requested output.
fn write_report(report: &Report, output: &ReportOutput) -> anyhow::Result<()> {
    let format = match output.format {
        ReportFormat::Text => Format::Text,
        ReportFormat::Json => Format::Json,
        ReportFormat::Markdown => Format::Markdown,
        ReportFormat::Junit => Format::Junit,
    };
    let colour = output.output.is_none() && format == Format::Text && has_colours();
    let text = render::render(report, format, colour);
    match output.output.as_ref().filter(|path| !write::is_stdout(path)) {
        Some(path) => write_file(path, &text),
        None if format != Format::Text => terminal::print_exact(text.trim_end()),
        None if colour => terminal::print_colored(text.trim_end()),
        None => terminal::print_line(text.trim_end()),
    }
}

fn write_file(path: &Path, text: &str) -> anyhow::Result<()> {
    write::file(path, text, true)?;
    note!("wrote {}", path.display());
    Ok(())
}

fn has_colours() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !refused && std::io::stdout().is_terminal()
}
