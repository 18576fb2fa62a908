//! One server of a client's configuration.

use std::time::Duration;

use aquifer_protocol::error::Code;
use serde_json::Value;

use super::{Server, ServerTransport, warn};
use crate::problem::{FileProblem, Findings, join, shown, suggestion_for};
use crate::text::yaml::{Entry, Node};

/// The supported keys. Clients have many others.
const KNOWN: &[&str] = &[
    "type",
    "transport",
    "command",
    "args",
    "env",
    "environment",
    "envFile",
    "cwd",
    "url",
    "serverUrl",
    "httpUrl",
    "headers",
    "http_headers",
    "env_http_headers",
    "bearer_token_env_var",
    "disabled",
    "enabled",
    "timeout",
    "disabledTools",
    "excludeTools",
];

pub(super) fn server(
    entry: &Entry,
    path: &str,
    findings: &mut Findings,
    warnings: &mut Vec<FileProblem>,
) -> Option<Server> {
    let node = &entry.value;
    let Some(entries) = node.entries() else {
        findings.wrong_type(node, path, "object");
        return None;
    };
    if entry.key.trim().is_empty() {
        findings.add(Code::SchemaInvalidName, path, entry.key_at, "A server needs a name".to_owned());
    }
    // A misspelled key gets a warning; an unrelated key is ignored.
    for own in entries.iter().filter(|own| !KNOWN.contains(&own.key.as_str())) {
        if let Some(suggestion) = suggestion_for(&own.key, KNOWN) {
            let message = format!("Unknown field '{}'. {suggestion}", shown(&own.key));
            warn(warnings, &join(path, &shown(&own.key)), own.key_at, message);
        }
    }
    let disabled =
        flag(node, "disabled", path, findings) == Some(true) || flag(node, "enabled", path, findings) == Some(false);
    let transport = transport(entry, path, findings, warnings);
    let hidden_tools = ["disabledTools", "excludeTools"]
        .into_iter()
        .filter_map(|key| Some(texts(node.get(key)?, &join(path, key), findings)))
        .flatten()
        .collect();
    Some(Server {
        name: entry.key.clone(),
        line: entry.key_at.line,
        disabled,
        transport: transport?,
        timeout: timeout(node),
        hidden_tools,
    })
}

fn transport(
    entry: &Entry,
    path: &str,
    findings: &mut Findings,
    warnings: &mut Vec<FileProblem>,
) -> Option<ServerTransport> {
    let node = &entry.value;
    let kind = ["type", "transport"].iter().find_map(|key| node.get(key)).and_then(Node::as_str);
    let url = ["url", "serverUrl", "httpUrl"].into_iter().find_map(|key| Some((key, node.get(key)?)));
    let wants_url = kind.map(|kind| kind.to_ascii_lowercase().replace(['-', '_'], ""));
    let wants_url = match wants_url.as_deref() {
        Some("stdio" | "local") => Some(false),
        Some("http" | "streamablehttp" | "sse" | "remote") => Some(true),
        _ => None,
    };
    if kind == Some("sse") {
        let message = format!(
            "Server '{}' is configured for SSE, which MCP has deprecated; Streamable HTTP is used instead",
            shown(&entry.key)
        );
        warn(warnings, &join(path, "type"), node.get("type").map_or(node.at, |found| found.at), message);
    }
    match (node.get("command"), url, wants_url) {
        (Some(command), _, Some(false) | None) => stdio(node, command, path, findings),
        (_, Some((key, url)), Some(true) | None) => {
            let url_path = join(path, key);
            let text = findings.text(url, &url_path)?;
            if !is_url(&text) {
                let message = format!("Field '{url_path}' is not a URL of the web");
                let suggestion = Some("It begins with https:// or http://".to_owned());
                findings.add_with(Code::SchemaInvalidType, &url_path, url.at, message, suggestion);
            }
            Some(ServerTransport::Http { url: text, headers: headers(node, path, findings) })
        }
        (_, _, wanted) => {
            let missing = if wanted == Some(true) { "url" } else { "command" };
            let message = match wanted {
                None => format!("Server '{}' has neither 'command' nor 'url'", shown(&entry.key)),
                Some(_) => format!("Server '{}' has no '{missing}'", shown(&entry.key)),
            };
            let near = node.entries().into_iter().flatten().find_map(|own| {
                let suggestion = suggestion_for(&own.key, &["command", "url"])?;
                (!KNOWN.contains(&own.key.as_str())).then_some(suggestion)
            });
            findings.add_with(Code::SchemaMissingField, &join(path, missing), entry.key_at, message, near);
            None
        }
    }
}

/// The headers, including those for which the entry names environment variables instead of values.
fn headers(node: &Node, path: &str, findings: &mut Findings) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for key in ["headers", "http_headers"] {
        if let Some(found) = node.get(key) {
            all.extend(pairs(found, &join(path, key), findings));
        }
    }
    if let Some(found) = node.get("env_http_headers") {
        let named = pairs(found, &join(path, "env_http_headers"), findings);
        all.extend(named.into_iter().map(|(name, variable)| (name, format!("${{{variable}}}"))));
    }
    if let Some(variable) = findings.optional_text(node, "bearer_token_env_var", path) {
        all.push(("Authorization".to_owned(), format!("Bearer ${{{variable}}}")));
    }
    all
}

fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    // References are checked when they are expanded.
    rest.is_some_and(|rest| !rest.is_empty()) || text.starts_with("${") || text.starts_with('$')
}

/// A command with separate arguments, a list with both, or an object (older files of Zed).
fn stdio(node: &Node, command: &Node, path: &str, findings: &mut Findings) -> Option<ServerTransport> {
    let command_path = join(path, "command");
    let (from, mut program) = match (command.items(), command.entries()) {
        (Some(_), _) => (node, texts(command, &command_path, findings)),
        (_, Some(_)) => {
            let name = command.get("path").or_else(|| command.get("command"));
            let Some(name) = name else {
                findings.missing(&join(&command_path, "path"), command.at);
                return None;
            };
            (command, findings.text(name, &join(&command_path, "path")).into_iter().collect())
        }
        _ => (node, findings.text(command, &command_path).into_iter().collect()),
    };
    if program.first().is_none_or(|name| name.trim().is_empty()) {
        if findings.problems.is_empty() {
            let message = format!("Field '{command_path}' names no program");
            findings.add(Code::SchemaInvalidType, &command_path, command.at, message);
        }
        return None;
    }
    let rest = program.split_off(1);
    let args = from.get("args").map(|args| texts(args, &join(path, "args"), findings)).unwrap_or_default();
    let env = ["env", "environment"].into_iter().find_map(|key| Some((key, from.get(key)?)));
    let env = env.map(|(key, env)| pairs(env, &join(path, key), findings)).unwrap_or_default();
    Some(ServerTransport::Stdio {
        command: program.pop()?,
        args: [rest, args].concat(),
        env,
        env_file: findings.optional_text(node, "envFile", path),
        cwd: findings.optional_text(node, "cwd", path),
    })
}

/// Reads a timeout. Some clients use seconds, others milliseconds. Values from 1,000 are milliseconds, because a
/// timeout of a thousand seconds is unlikely.
fn timeout(node: &Node) -> Option<Duration> {
    let number = node.get("timeout")?.to_json().as_f64().filter(|number| *number > 0.0)?;
    let seconds = if number >= 1_000.0 { number / 1_000.0 } else { number };
    Duration::try_from_secs_f64(seconds.clamp(1.0, 86_400.0)).ok()
}

fn flag(node: &Node, key: &str, path: &str, findings: &mut Findings) -> Option<bool> {
    findings.flag(node, key, path)
}

fn texts(node: &Node, path: &str, findings: &mut Findings) -> Vec<String> {
    let Some(items) = node.items() else {
        findings.wrong_type(node, path, "array");
        return Vec::new();
    };
    let mut texts = Vec::new();
    for (index, item) in items.iter().enumerate() {
        texts.extend(word(item, &format!("{path}[{index}]"), findings));
    }
    texts
}

fn pairs(node: &Node, path: &str, findings: &mut Findings) -> Vec<(String, String)> {
    let Some(entries) = node.entries() else {
        findings.wrong_type(node, path, "object");
        return Vec::new();
    };
    let mut pairs = Vec::new();
    for entry in entries {
        // Some clients write null for "not set".
        if matches!(entry.value.to_json(), Value::Null) {
            continue;
        }
        if let Some(value) = word(&entry.value, &join(path, &shown(&entry.key)), findings) {
            pairs.push((entry.key.clone(), value));
        }
    }
    pairs
}

/// Reads text, or a number or boolean without quotes, which clients accept as well.
fn word(node: &Node, path: &str, findings: &mut Findings) -> Option<String> {
    match node.to_json() {
        Value::String(text) => Some(text),
        plain @ (Value::Number(_) | Value::Bool(_)) => Some(plain.to_string()),
        _ => {
            findings.wrong_type(node, path, "string");
            None
        }
    }
}
