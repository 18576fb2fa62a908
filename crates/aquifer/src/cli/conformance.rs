//! `aquifer conformance`, which has exit codes of its own: those that are published for conformance runners.

use std::path::PathBuf;
use std::time::Duration;

use aquifer_conformance::render::Format;
use clap::{Args, CommandFactory as _, Subcommand};

use super::Cli;

/// What bad usage of this command ends with; of all others it is 2, which means something else here.
pub(crate) const BAD_USAGE: u8 = 3;

pub(super) const HELP: &str = "\
Examples:
  aquifer conformance demo: --allow-writes       a source, served in both modes
  aquifer conformance --allow-writes -- aquifer demo --stdio
                                                 a server that is started, in both its modes
  aquifer conformance http://127.0.0.1:3910/mcp --level 1
                                                 one that runs
  aquifer conformance http://127.0.0.1:3910/mcp --single-url http://127.0.0.1:3911/mcp
                                                 one that runs twice, once for each mode
  aquifer conformance https://mcp.example.com/mcp --header 'Authorization=Bearer ${TOKEN}'
  aquifer conformance --allow-writes --format markdown -o CONFORMANCE.md -- my-adapter --stdio
  aquifer conformance --allow-writes --evidence evidence.json -- my-adapter --stdio
  aquifer conformance report result.json --format junit -o junit.xml

A command is started again for its other mode, with MCP_AQL_ENDPOINT_MODE=semantic or single in its environment.

Nothing is written unless --allow-writes is given. With it things are created, changed and deleted: use a server whose data
may be. Without it those checks are skipped, and no level is granted over a check that was skipped.

Exit codes: 0 the level is granted, 1 level 1 is not: something that it needs failed or was skipped, 2 level 1 is, but
something of level 2 is not, or something warned, 3 bad usage, or the server cannot be reached.
Results go to stdout, progress to stderr.";

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ConformanceArgs {
    #[command(subcommand)]
    pub(crate) report: Option<ConformanceCommand>,

    #[command(flatten)]
    pub(crate) run: ConformanceRunArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConformanceCommand {
    /// Render a JSON report again, ours or one of the specification's runner.
    #[command(after_help = "\
Examples:
  aquifer conformance report result.json
  aquifer conformance report result.json --format markdown -o CONFORMANCE.md

Exit codes: 0 done, 3 the file is no report.")]
    Report(ConformanceReportArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ConformanceRunArgs {
    /// The server's Streamable HTTP address, or a source as serve takes it, which is served for the run.
    #[arg(value_name = "URL|SOURCE", conflicts_with = "command")]
    pub(crate) url: Option<String>,

    /// The address of the same server in its other mode. Level 2 needs both.
    #[arg(long, value_name = "URL", requires = "url", conflicts_with = "command")]
    pub(crate) single_url: Option<String>,

    /// The level to ask for: 1 or 2.
    #[arg(short, long, value_name = "LEVEL", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=2))]
    pub(crate) level: u8,

    /// Let the run create, change and delete things.
    #[arg(long)]
    pub(crate) allow_writes: bool,

    #[command(flatten)]
    pub(crate) output: ReportOutput,

    /// Write the specification's evidence bundle here, from what was really exchanged.
    #[arg(long, value_name = "FILE")]
    pub(crate) evidence: Option<PathBuf>,

    /// A header for every request; ${VAR} is read from the environment. Can be repeated.
    #[arg(long = "header", value_name = "NAME=VALUE", requires = "url", conflicts_with = "command", value_parser = header)]
    pub(crate) headers: Vec<(String, String)>,

    /// How many seconds one answer may take.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) timeout: Duration,

    /// A server to start, with its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ConformanceReportArgs {
    /// The JSON report.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) output: ReportOutput,
}

/// How a report is written, and where.
#[derive(Debug, Args)]
pub(crate) struct ReportOutput {
    /// How to write the report: text, json, markdown or junit.
    #[arg(short, long, value_name = "FORMAT", default_value = "text", value_parser = format)]
    pub(crate) format: Format,

    /// Write the report here instead of to stdout.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

fn format(text: &str) -> Result<Format, String> {
    let found = Format::ALL.into_iter().find(|(name, _)| *name == text);
    found.map(|(_, format)| format).ok_or_else(|| "use text, json, markdown or junit".to_owned())
}

/// `NAME=VALUE`, or `NAME: VALUE` as headers are written elsewhere. What is wrong is not repeated: it may be a secret.
fn header(text: &str) -> Result<(String, String), &'static str> {
    let split = text.split_once(['=', ':']).map(|(name, value)| (name.trim(), value.trim()));
    let (name, value) = split.filter(|(name, _)| !name.is_empty()).ok_or("write it as NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.1..=3_600.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "use a number of seconds from 0.1 to 3600".to_owned())
}

/// Whether the command line means this command, however wrong the rest of it is.
pub(super) fn is_meant() -> bool {
    let matches = Cli::command().ignore_errors(true).try_get_matches();
    matches.is_ok_and(|matches| matches.subcommand_name() == Some("conformance"))
}
