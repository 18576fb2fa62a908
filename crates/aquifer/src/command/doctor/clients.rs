//! The MCP clients on this machine: whether their files can be read, and whether the Aquifer that they start exists.

use std::path::{Path, PathBuf};

use aquifer_discovery::servers::ServerTransport;
use aquifer_sql::Target;
use clap::Parser as _;

use super::Finding;
use crate::cli::{Cli, Command};
use crate::command::init::clients::{Client, find};
use crate::config::target::is_config;
use crate::system::find_program;

const MOVE_OR_CORRECT: &str = "Move the file back, or correct the path in the client's file";

pub(super) fn check() -> Vec<Finding> {
    find().iter().flat_map(check_client).collect()
}

fn check_client(client: &Client) -> Vec<Finding> {
    let subject = format!("{} ({})", client.name, client.path.display());
    if !client.problems.is_empty() {
        let advice = match client.has_backup() {
            true => "Correct the file. A backup of each change by 'aquifer init --apply' is beside it",
            false => "Correct the file",
        };
        return client.problems.iter().map(|problem| Finding::problem(&subject, problem.to_string(), advice)).collect();
    }
    let mut findings: Vec<Finding> = client
        .own_entries
        .iter()
        .filter_map(|entry| match &entry.transport {
            ServerTransport::Stdio { command, args, .. } => check_entry(&subject, command, args),
            ServerTransport::Http { .. } => None,
        })
        .collect();
    if findings.is_empty() {
        let uses = if client.own_entries.is_empty() { "does not use Aquifer" } else { "uses Aquifer" };
        findings.push(Finding::ok(subject, uses));
    }
    findings
}

/// The entry of a client that starts Aquifer.
fn check_entry(subject: &str, command: &str, args: &[String]) -> Option<Finding> {
    if find_program(command).is_none() {
        let advice = "Run: aquifer init --apply, or write the path of this program into the file";
        return Some(Finding::problem(subject, format!("it starts {command}, which does not exist"), advice));
    }
    let is_aquifer = Path::new(command).file_stem().is_some_and(|name| name == "aquifer");
    // Another program, such as a container runtime, passes the arguments on in its own way.
    let problem = match is_aquifer {
        true => check_arguments(args),
        false => missing_config(args.iter().skip_while(|word| *word != "--config").nth(1).map(PathBuf::from)),
    };
    problem.map(|(message, advice)| Finding::problem(subject, message, advice))
}

/// What is wrong with the arguments of Aquifer, and what to do about it.
fn check_arguments(args: &[String]) -> Option<(String, &'static str)> {
    let advice = "Run: aquifer init --apply, or correct the arguments in the file";
    let words = std::iter::once("aquifer").chain(args.iter().map(String::as_str));
    let parsed = match Cli::try_parse_from(words) {
        Ok(parsed) => parsed,
        Err(error) => {
            let message = error.render().to_string();
            let line = message.lines().next().unwrap_or_default().trim_start_matches("error: ");
            return Some((format!("it starts Aquifer with invalid arguments: {line}"), advice));
        }
    };
    match parsed.command {
        Some(Command::Serve(serve)) => {
            let mut files = serve.sources.iter().filter_map(|source| match Target::parse(source) {
                _ if is_config(source) => Some(PathBuf::from(source)),
                Some(Target::Sqlite(path)) => Some(path),
                _ => None,
            });
            let missing = files.find(|path| path.is_absolute() && !path.exists());
            let missing =
                missing.map(|path| (format!("it serves {}, which does not exist", shown(&path)), MOVE_OR_CORRECT));
            missing.or_else(|| missing_config(serve.config))
        }
        Some(Command::Demo(_)) => None,
        _ => Some(("it starts Aquifer, but not as a server".to_owned(), advice)),
    }
}

/// A configuration that does not exist. Relative paths start at a directory that the client chooses.
fn missing_config(config: Option<PathBuf>) -> Option<(String, &'static str)> {
    let missing = config.filter(|path| path.is_absolute() && !path.exists())?;
    Some((format!("it uses {}, which does not exist", shown(&missing)), MOVE_OR_CORRECT))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
