//! The MCP clients on this machine: whether their files can be read, and whether the Aquifer that they start exists.

use std::path::{Path, PathBuf};

use aquifer_discovery::servers::ServerTransport;

use super::Finding;
use crate::command::init::clients::{Client, find};
use crate::system::find_program;

pub(super) fn check() -> Vec<Finding> {
    find().iter().flat_map(check_client).collect()
}

fn check_client(client: &Client) -> Vec<Finding> {
    let subject = format!("{} ({})", client.name, client.path.display());
    if !client.problems.is_empty() {
        let advice = "Correct the file. A backup of each change by 'aquifer init --apply' is beside it";
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
    let config = args.iter().skip_while(|word| *word != "--config").nth(1).map(PathBuf::from);
    let missing = config.filter(|path| path.is_absolute() && !path.exists())?;
    let advice = "Move the configuration back, or correct the path in the file";
    Some(Finding::problem(subject, format!("it uses {}, which does not exist", shown(&missing)), advice))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
