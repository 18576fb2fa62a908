//! What to paste into each client.

use std::path::Path;

use anyhow::Context;
use serde_json::{Map, Value, json};

use super::clients::{Client, Dialect};
use super::configuration::Made;

/// One snippet for each client, with its file above it.
pub(super) fn all(clients: &[Client], configuration: &Path, made: &Made) -> anyhow::Result<String> {
    let program = std::env::current_exe().context("this program does not know where it is")?;
    let program = program.display().to_string();
    let args = ["serve".to_owned(), "--config".to_owned(), configuration.display().to_string()];
    let env: Map<String, Value> = made
        .secrets
        .iter()
        .map(|secret| (secret.variable.clone(), format!("<{} of {}>", secret.place, secret.server).into()))
        .collect();
    let mut text = String::new();
    for client in clients.iter().filter(|client| !client.servers.is_empty()) {
        let snippet = match client.dialect {
            Dialect::Codex => codex(&program, &args, &env),
            dialect => serde_json::to_string_pretty(&json(dialect, &program, &args, &env))?,
        };
        text.push_str(&format!("# {}: {}\n{snippet}\n\n", client.name, client.path.display()));
    }
    Ok(text)
}

fn json(dialect: Dialect, program: &str, args: &[String], env: &Map<String, Value>) -> Value {
    let mut entry = match dialect {
        Dialect::VsCode => json!({ "type": "stdio", "command": program, "args": args }),
        Dialect::Zed => json!({ "source": "custom", "command": program, "args": args }),
        Dialect::OpenCode => {
            let words: Vec<&str> = std::iter::once(program).chain(args.iter().map(String::as_str)).collect();
            json!({ "type": "local", "command": words, "enabled": true })
        }
        Dialect::McpServers | Dialect::Codex => json!({ "command": program, "args": args }),
    };
    if let (Some(entry), false) = (entry.as_object_mut(), env.is_empty()) {
        let key = if dialect == Dialect::OpenCode { "environment" } else { "env" };
        entry.insert(key.to_owned(), Value::Object(env.clone()));
    }
    let section = match dialect {
        Dialect::VsCode => "servers",
        Dialect::Zed => "context_servers",
        Dialect::OpenCode => "mcp",
        Dialect::McpServers | Dialect::Codex => "mcpServers",
    };
    json!({ section: { "aquifer": entry } })
}

fn codex(program: &str, args: &[String], env: &Map<String, Value>) -> String {
    let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let args: Vec<String> = args.iter().map(|word| quoted(word)).collect();
    let mut text = format!("[mcp_servers.aquifer]\ncommand = {}\nargs = [{}]", quoted(program), args.join(", "));
    if !env.is_empty() {
        text.push_str("\n[mcp_servers.aquifer.env]");
        for (name, value) in env {
            text.push_str(&format!("\n{name} = {}", quoted(value.as_str().unwrap_or_default())));
        }
    }
    text
}
