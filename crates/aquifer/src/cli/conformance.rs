//! Arguments of `aquifer conformance`. It uses the exit codes that the specification publishes for conformance runners.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, CommandFactory as _, Subcommand};

use super::Cli;

/// The exit code of invalid usage. Other commands use 2, which has another meaning here.
pub(crate) const BAD_USAGE: u8 = 3;

pub(super) const HELP: &str = "\
Examples:
  aquifer conformance demo: --allow-writes       a source, served in both modes
  aquifer conformance --allow-writes -- aquifer demo --stdio
                                                 a server started from a command, in both modes
  aquifer conformance http://127.0.0.1:3910/mcp --level 1
                                                 a running server
  aquifer conformance http://127.0.0.1:3910/mcp --single-url http://127.0.0.1:3911/mcp
                                                 a server that runs once for each mode
  aquifer conformance https://mcp.example.com/mcp --header 'Authorization=Bearer ${TOKEN}'
  aquifer conformance --allow-writes --format markdown -o CONFORMANCE.md -- my-adapter --stdio
  aquifer conformance --allow-writes --evidence evidence.json -- my-adapter --stdio
  aquifer conformance demo: --check introspection. --check details.
                                                 some of the checks
  aquifer conformance report result.json --format junit -o junit.xml

A command is started once for each mode, with MCP_AQL_ENDPOINT_MODE=semantic or single in its environment.

Without --allow-writes, the run changes nothing: checks that write are skipped, and a skipped check withholds its level \
unless the server has nothing that could be written. \
With --allow-writes, the run creates, changes and deletes data, so use a server with test data. A level that is granted to a \
source is recorded: the source is trusted as 'validated' until its operations change.

Exit codes: 0 the level is granted, 1 level 1 is not granted, because a check that it needs failed or was skipped, \
2 level 1 is granted, but level 2 is not, or there are warnings, 3 invalid usage, or the server cannot be reached.

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
    /// Render a JSON report of this command or of the specification's runner in another format.
    #[command(after_help = "\
Examples:
  aquifer conformance report result.json
  aquifer conformance report result.json --format markdown -o CONFORMANCE.md

Exit codes: 0 success, 3 the file is not a report.")]
    Report(ConformanceReportArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ConformanceRunArgs {
    /// The Streamable HTTP address of a server, or a source as for 'aquifer serve', which is served for the run.
    #[arg(value_name = "URL|SOURCE", conflicts_with = "command")]
    pub(crate) url: Option<String>,

    /// The address of the same server in its other mode. Level 2 needs both modes.
    #[arg(long, value_name = "URL", requires = "url", conflicts_with = "command")]
    pub(crate) single_url: Option<String>,

    /// The level to test for: 1 or 2.
    #[arg(short, long, value_name = "LEVEL", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=2))]
    pub(crate) level: u8,

    /// Let the run create, change and delete data.
    #[arg(long)]
    pub(crate) allow_writes: bool,

    #[command(flatten)]
    pub(crate) output: ReportOutput,

    /// Write the evidence bundle of the specification here, from the messages exchanged in the run.
    #[arg(long, value_name = "FILE")]
    pub(crate) evidence: Option<PathBuf>,

    /// Also validate answers against the schemas of a checkout of the specification (MCPAQL/spec).
    #[arg(long, value_name = "DIR", env = "MCPAQL_SPEC_DIR")]
    pub(crate) spec: Option<PathBuf>,

    /// Run only the checks whose names begin with this. Can be repeated; no level is granted then.
    #[arg(long = "check", value_name = "NAME")]
    pub(crate) checks: Vec<String>,

    /// Send this header with every request; ${VAR} is read from the environment. Can be repeated.
    #[arg(long = "header", value_name = "NAME=VALUE", requires = "url", conflicts_with = "command", value_parser = header)]
    pub(crate) headers: Vec<(String, String)>,

    /// How many seconds to wait for each answer.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) timeout: Duration,

    /// The command that starts a server, with its arguments.
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

/// The format of a report and where it goes.
#[derive(Debug, Args)]
pub(crate) struct ReportOutput {
    /// The format of the report: text, json, markdown or junit.
    #[arg(short, long, value_name = "FORMAT", default_value = "text", value_parser = format)]
    pub(crate) format: ReportFormat,

    /// Write the report here instead of to stdout.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// The format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReportFormat {
    Text,
    Json,
    Markdown,
    Junit,
}

fn format(text: &str) -> Result<ReportFormat, String> {
    match text {
        "text" => Ok(ReportFormat::Text),
        "json" => Ok(ReportFormat::Json),
        "markdown" => Ok(ReportFormat::Markdown),
        "junit" => Ok(ReportFormat::Junit),
        _ => Err("use text, json, markdown or junit".to_owned()),
    }
}

/// Parses `NAME=VALUE`, or `NAME: VALUE` as headers are written elsewhere. Errors do not repeat the value: it may be a
/// secret.
fn header(text: &str) -> Result<(String, String), &'static str> {
    let split = text.split_once(['=', ':']).map(|(name, value)| (name.trim(), value.trim()));
    let (name, value) = split.filter(|(name, _)| !name.is_empty()).ok_or("write it as NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.1..=3_600.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "use a number of seconds from 0.1 to 3600".to_owned())
}

/// Whether the command line names this command, even if the rest of it is invalid.
pub(super) fn is_selected() -> bool {
    let matches = Cli::command().ignore_errors(true).try_get_matches();
    matches.is_ok_and(|matches| matches.subcommand_name() == Some("conformance"))
}
