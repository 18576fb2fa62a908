//! MCP clients, and the files in which they configure servers.

use std::path::{Path, PathBuf};

use aquifer_discovery::servers::{Input, Server};
use aquifer_discovery::{FileProblem, Servers};

use crate::sources::is_ourselves;

/// The file format of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    McpServers,
    VsCode,
    Zed,
    OpenCode,
    Codex,
}

/// A client's file with servers in it.
pub(in crate::command) struct Client {
    pub(in crate::command) name: &'static str,
    pub(in crate::command) path: PathBuf,
    pub(super) dialect: Dialect,
    /// The text of the file.
    pub(super) text: String,
    /// The folder of the project that the settings belong to.
    pub(super) workspace: Option<PathBuf>,
    /// The servers in the file, without Aquifer itself.
    pub(in crate::command) servers: Vec<Server>,
    /// The entries that start Aquifer.
    pub(in crate::command) own_entries: Vec<Server>,
    /// Values that the client asks a person for.
    pub(super) inputs: Vec<Input>,
    pub(in crate::command) problems: Vec<FileProblem>,
}

impl Client {
    pub(super) fn summary(&self) -> String {
        let names: Vec<&str> = self.servers.iter().map(|server| server.name.as_str()).collect();
        if names.is_empty() { "no servers".to_owned() } else { names.join(", ") }
    }
}

/// A file in which a client may configure servers, relative to one of the directories below.
struct ConfigLocation(&'static str, Dialect, Base, &'static str);

#[derive(Clone, Copy)]
enum Base {
    Home,
    /// `$XDG_CONFIG_HOME`, or its equivalent on other systems, such as `%APPDATA%`.
    Config,
    /// The current directory, for settings of a project.
    Here,
}

#[rustfmt::skip]
const PLACES: &[ConfigLocation] = &[
    ConfigLocation("Claude Desktop", Dialect::McpServers, Base::Config, "Claude/claude_desktop_config.json"),
    ConfigLocation("Claude Code", Dialect::McpServers, Base::Home, ".claude.json"),
    ConfigLocation("Claude Code (project)", Dialect::McpServers, Base::Here, ".mcp.json"),
    ConfigLocation("Cursor", Dialect::McpServers, Base::Home, ".cursor/mcp.json"),
    ConfigLocation("Cursor (project)", Dialect::McpServers, Base::Here, ".cursor/mcp.json"),
    ConfigLocation("VS Code", Dialect::VsCode, Base::Config, "Code/User/mcp.json"),
    ConfigLocation("VS Code (settings)", Dialect::VsCode, Base::Config, "Code/User/settings.json"),
    ConfigLocation("VS Code (project)", Dialect::VsCode, Base::Here, ".vscode/mcp.json"),
    ConfigLocation("Cline", Dialect::McpServers, Base::Config, "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"),
    ConfigLocation("Windsurf", Dialect::McpServers, Base::Home, ".codeium/windsurf/mcp_config.json"),
    ConfigLocation("Zed", Dialect::Zed, Base::Config, "zed/settings.json"),
    ConfigLocation("Gemini CLI", Dialect::McpServers, Base::Home, ".gemini/settings.json"),
    ConfigLocation("Codex", Dialect::Codex, Base::Home, ".codex/config.toml"),
    ConfigLocation("LM Studio", Dialect::McpServers, Base::Home, ".lmstudio/mcp.json"),
    ConfigLocation("Amazon Q", Dialect::McpServers, Base::Home, ".aws/amazonq/mcp.json"),
    ConfigLocation("opencode", Dialect::OpenCode, Base::Config, "opencode/opencode.json"),
];

/// Finds every client on this machine that has servers or a file for them.
pub(in crate::command) fn find() -> Vec<Client> {
    let mut clients: Vec<Client> = Vec::new();
    for ConfigLocation(name, dialect, base, relative) in PLACES {
        for folder in folders(*base) {
            let path = folder.join(relative);
            let is_known = |client: &Client| same(&client.path, &path);
            let workspace = matches!(base, Base::Here).then(|| folder.clone());
            if !clients.iter().any(is_known)
                && let Some(client) = read(name, *dialect, path, workspace)
            {
                clients.push(client);
            }
        }
    }
    clients
}

fn same(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().ok().zip(other.canonicalize().ok()).is_some_and(|(one, other)| one == other)
}

fn folders(base: Base) -> Vec<PathBuf> {
    match base {
        Base::Home => crate::system::home().into_iter().collect(),
        Base::Here => std::env::current_dir().into_iter().collect(),
        Base::Config => crate::system::client_config_directories(),
    }
}

fn read(name: &'static str, dialect: Dialect, path: PathBuf, workspace: Option<PathBuf>) -> Option<Client> {
    let text = crate::files::read(&path).ok()?;
    let json = match dialect {
        Dialect::Codex => serde_json::to_string(&toml::from_str::<serde_json::Value>(&text).ok()?).ok()?,
        _ => text.clone(),
    };
    let (servers, own_entries, inputs, problems) = match Servers::read(&json) {
        Ok(file) => {
            let problems = file.invalid.into_iter().flat_map(|broken| broken.problems).collect();
            let in_use = file.servers.into_iter().filter(|server| !server.disabled);
            let (own_entries, servers) = in_use.partition(is_ourselves);
            (servers, own_entries, file.inputs, problems)
        }
        // A file without servers is valid; an unreadable one is reported.
        Err(problems) if problems.iter().any(|problem| problem.path.is_empty()) => {
            (Vec::new(), Vec::new(), Vec::new(), problems)
        }
        Err(_) => return None,
    };
    Some(Client { name, path, dialect, text, workspace, servers, own_entries, inputs, problems })
}
