//! The entry for Aquifer in each client's file.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Map, Value, json};

use super::clients::{Client, Dialect};
use super::values::{Variable, VariableValue};

/// The name of Aquifer in clients.
pub(super) const NAME: &str = "aquifer";

/// The command that starts Aquifer with the new configuration.
pub(super) struct ServeCommand {
    /// The configuration.
    pub(super) path: PathBuf,
    program: String,
    args: [String; 3],
}

impl ServeCommand {
    pub(super) fn new(configuration: &Path) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("cannot find the path of this program")?;
        let args = ["serve".to_owned(), "--config".to_owned(), configuration.display().to_string()];
        Ok(Self { path: configuration.to_owned(), program: program.display().to_string(), args })
    }

    /// The entry for a client. Inputs of the client are passed on.
    pub(super) fn entry(&self, client: &Client, variables: &[Variable]) -> Value {
        let (program, args) = (&self.program, &self.args);
        let mut entry = match client.dialect {
            Dialect::VsCode => json!({ "type": "stdio", "command": program, "args": args }),
            Dialect::Zed => json!({ "source": "custom", "command": program, "args": args }),
            Dialect::OpenCode => {
                let words: Vec<&str> = std::iter::once(program).chain(args).map(String::as_str).collect();
                json!({ "type": "local", "command": words, "enabled": true })
            }
            Dialect::McpServers | Dialect::Codex => json!({ "command": program, "args": args }),
        };
        pass_inputs_on(&mut entry, client, variables);
        entry
    }
}

/// Adds the inputs of a client that the configuration refers to, as environment variables.
pub(super) fn pass_inputs_on(entry: &mut Value, client: &Client, variables: &[Variable]) {
    let passed_on = variables.iter().filter(|variable| variable.is_used_in(&client.path));
    let inputs = passed_on.filter_map(|variable| match &variable.value {
        VariableValue::Input { id, .. } => Some((variable.name.clone(), Value::from(format!("${{input:{id}}}")))),
        _ => None,
    });
    let inputs: Map<String, Value> = inputs.collect();
    let Some(entry) = entry.as_object_mut().filter(|_| !inputs.is_empty()) else { return };
    let env = entry.entry("env").or_insert_with(|| Value::Object(Map::new()));
    if let Some(env) = env.as_object_mut() {
        env.extend(inputs);
    }
}

/// The entries to paste, one for each client, preceded by the path of its file.
pub(super) fn all(clients: &[&Client], start: &ServeCommand, variables: &[Variable]) -> anyhow::Result<String> {
    let mut text = String::new();
    for client in clients.iter().filter(|client| !client.servers.is_empty()) {
        let entry = start.entry(client, variables);
        let snippet = match client.dialect {
            Dialect::Codex => codex(NAME, &entry),
            dialect => {
                let section = json!({ section(dialect): { NAME: entry } });
                let nested = client.keys().into_iter().rev().fold(section, |inner, key| json!({ key: inner }));
                serde_json::to_string_pretty(&nested)?
            }
        };
        text.push_str(&format!("# {}: {}\n{snippet}\n\n", client.name, client.path.display()));
    }
    Ok(text)
}

fn section(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::VsCode => "servers",
        Dialect::Zed => "context_servers",
        Dialect::OpenCode => "mcp",
        Dialect::McpServers | Dialect::Codex => "mcpServers",
    }
}

/// The entry in Codex's format.
pub(super) fn codex(name: &str, entry: &Value) -> String {
    let quoted = |text: &Value| toml::Value::from(text.as_str().unwrap_or_default()).to_string();
    let args: Vec<String> = entry["args"].as_array().into_iter().flatten().map(quoted).collect();
    format!("[mcp_servers.{name}]\ncommand = {}\nargs = [{}]", quoted(&entry["command"]), args.join(", "))
}
