//! The sources of the configuration: whether they are there, answer, and accept the login.

use std::path::Path;

use aquifer_protocol::error::{Code, Failure, FailureReason};
use aquifer_query::CursorKey;

use super::Finding;
use crate::cli::UpstreamArgs;
use crate::config::{Config, SourceConfig};
use crate::setup::{self, SourceSelection};
use crate::sources::OnUnreachable;
use crate::system::find_program;

pub(super) async fn check(config: &Config) -> Vec<Finding> {
    let selection = SourceSelection { targets: &[], upstream: &UpstreamArgs::default(), config };
    let plans = match selection.plan() {
        Ok(plans) => plans,
        Err(error) => {
            let advice = "Give each source a name of its own, and check its settings";
            return vec![Finding::problem("sources", format!("{error:#}"), advice)];
        }
    };
    let mut findings: Vec<Finding> = plans
        .broken
        .iter()
        .map(|broken| Finding::problem(subject(&broken.name), &broken.why, advice(config, &broken.name)))
        .collect();
    // No data is read, so this key never encrypts a cursor.
    let key = CursorKey::new([0; 32]);
    let mut opened = Vec::new();
    for plan in plans.plans {
        let name = plan.name.clone();
        match plan.open(&key, OnUnreachable::Fail).await {
            Ok(source) => opened.push(source),
            Err(error) => findings.push(Finding::problem(subject(&name), format!("{error:#}"), advice(config, &name))),
        }
    }
    let asked = setup::check_ready(&opened, |_| true).await;
    for source in &opened {
        let name = source.source.name();
        findings.push(match asked.missing_reason(name) {
            Some((why, failure)) => {
                let advice = failure.and_then(|failure| advice_for_failure(name, failure));
                Finding::problem(subject(name), why, advice.unwrap_or_else(|| self::advice(config, name)))
            }
            None => Finding::ok(subject(name), format!("answers ({})", source.place)),
        });
    }
    findings
}

fn subject(name: &str) -> String {
    format!("source '{name}'")
}

/// What to do about an MCP server that failed in this way.
fn advice_for_failure(name: &str, failure: &Failure) -> Option<String> {
    if let Some(FailureReason::CommandNotFound { .. }) = failure.reason() {
        let program = failure.cause().and_then(|cause| cause.split(':').next()).unwrap_or(name);
        return Some(install_advice(program.trim()));
    }
    let needs_login = failure.code() == Code::AuthCredentialMissing;
    needs_login.then(|| format!("Run: aquifer login {name}"))
}

/// What to do about a source that cannot be used, by its kind.
fn advice(config: &Config, name: &str) -> String {
    let mut configured = config.source.iter();
    let words = match configured.find(|source| source.name.as_deref() == Some(name)) {
        Some(source) if source.has_unset_variable() => {
            "Set the variable in the environment or in the file named as env_file"
        }
        Some(SourceConfig { openapi: Some(_), .. }) => {
            "Check the path or URL of the description. Relative paths start at the configuration's directory"
        }
        Some(SourceConfig { url: Some(_), .. }) => {
            "Check the url, and that the server is running and can be reached from here"
        }
        Some(SourceConfig { command: Some(command), .. }) if find_program(command).is_none() => {
            return install_advice(command);
        }
        Some(SourceConfig { command: Some(command), .. }) => {
            return format!("Run it by hand to see what it prints: {command}. Here it is logged with --log info");
        }
        Some(SourceConfig { target: Some(target), .. }) if target.starts_with("postgres") => {
            "Start PostgreSQL, and check the host, the port, the user and the password in the URL"
        }
        Some(SourceConfig { target: Some(_), .. }) => {
            "Check the path, and that this user may read the file. Relative paths start at the configuration's directory"
        }
        _ => "Check its settings in the configuration",
    };
    words.to_owned()
}

/// Where to get a program that MCP servers are commonly started with.
fn install_advice(program: &str) -> String {
    let name = Path::new(program).file_name().map_or_else(|| program.into(), |name| name.to_string_lossy());
    match &*name {
        "npx" | "npm" | "node" => "Install Node.js, which includes npx".to_owned(),
        "uvx" | "uv" => "Install uv (pip install uv), which includes uvx".to_owned(),
        "python" | "python3" | "pipx" => format!("Install Python, and make sure that {name} is on the PATH"),
        "docker" | "podman" => format!("Install {name}, and make sure that this user may start containers"),
        "bunx" | "bun" => "Install Bun, which includes bunx".to_owned(),
        "deno" => "Install Deno".to_owned(),
        _ => format!("Install {name}, or write its full path as the command"),
    }
}
