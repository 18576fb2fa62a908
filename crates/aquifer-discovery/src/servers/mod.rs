//! Reads the MCP servers of a client's configuration file.
//!
//! Clients differ in where they keep them: Claude, Cursor, Windsurf, Cline and Gemini under `mcpServers`, VS Code under
//! `servers`, Zed under `context_servers`, others under `mcp`. An entry is a command with arguments and an environment, or
//! a URL with headers. Invalid entries are reported with their position and skipped.

mod edit;
mod entry;
mod expand;
mod placeholder;

use std::collections::BTreeSet;
use std::time::Duration;

use aquifer_protocol::error::Code;

use crate::problem::{FileProblem, Findings, join, shown};
use crate::text::json;
use crate::text::yaml::{Entry, Node, Position};

pub use edit::EditError;
pub use edit::WrittenServer;
pub use edit::replace_servers;
pub use edit::restore_servers;
pub use edit::written_servers;
pub use expand::Environment;
pub use expand::InvalidEnvLine;
pub use expand::UnresolvedReference;
pub use expand::env_file;
pub use expand::env_line;
pub use expand::expand;
pub use expand::invalid_env_lines;
pub use placeholder::is_placeholder;

/// Where Claude Code keeps the settings of single folders.
pub const FOLDERS: &str = "projects";

/// The section of Zed.
const ZED: &str = "context_servers";

/// The MCP servers of a client's configuration.
#[derive(Debug, Clone, Default)]
pub struct Servers {
    /// The valid servers, disabled ones included, in the order of the file.
    pub servers: Vec<Server>,
    /// The invalid entries.
    pub invalid: Vec<InvalidServer>,
    /// Values that the client asks a person for. Servers refer to them as `${input:ID}`.
    pub inputs: Vec<Input>,
    /// The names of entries that only hold settings of an extension of Zed. The extension starts its server itself.
    pub extensions: Vec<String>,
    /// Problems that do not prevent a server from being used.
    pub warnings: Vec<FileProblem>,
}

/// A value that VS Code asks a person for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// The id that servers refer to.
    pub id: String,
    /// The description shown to the person.
    pub description: Option<String>,
    /// The default value.
    pub default: Option<String>,
}

/// A server of a client's configuration, with `${VAR}` references not yet replaced.
#[derive(Clone, PartialEq, Eq)]
pub struct Server {
    /// Its name in the file.
    pub name: String,
    /// Its line in the file.
    pub line: u64,
    /// Whether it is disabled in the client.
    pub disabled: bool,
    /// How it is reached.
    pub transport: ServerTransport,
    /// How long a call may take.
    pub timeout: Option<Duration>,
    /// Tools that the client hides.
    pub hidden_tools: Vec<String>,
}

/// How a server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum ServerTransport {
    /// A child process that speaks over stdin and stdout.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Its environment.
        env: Vec<(String, String)>,
        /// A file with more of its environment.
        env_file: Option<String>,
        /// The folder it runs in.
        cwd: Option<String>,
    },
    /// Over HTTP.
    Http {
        /// The URL of the endpoint.
        url: String,
        /// Headers for every request.
        headers: Vec<(String, String)>,
    },
}

/// An entry that is not a valid server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidServer {
    /// Its name in the file.
    pub name: String,
    /// What is wrong with it.
    pub problems: Vec<FileProblem>,
}

/// Shows only names, because values may be secret.
impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("name", &self.name)
            .field("disabled", &self.disabled)
            .field("transport", &self.transport)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for ServerTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = match self {
            ServerTransport::Stdio { command, args, env, .. } => {
                crate::redact::configuration(Some((command, args)), env, None, &[])
            }
            ServerTransport::Http { url, headers } => crate::redact::configuration(None, &[], Some(url), headers),
        };
        f.debug_map().entries(shown).finish()
    }
}

impl Servers {
    /// Reads a client's configuration. Fails only if the file as a whole is unusable.
    pub fn read(text: &str) -> Result<Self, Vec<FileProblem>> {
        Self::read_within(text, &[])
    }

    /// Reads the part of a client's configuration at this path of keys.
    pub fn read_within(text: &str, keys: &[&str]) -> Result<Self, Vec<FileProblem>> {
        let mut findings = Findings::default();
        let node = match json::read(text) {
            Ok(node) => node,
            Err(error) => {
                findings.add(Code::SchemaInvalidType, "", error.at, format!("Not readable as JSON: {}", error.message));
                return Err(findings.problems);
            }
        };
        let part = within(&node, keys);
        let sections = part.map(sections).unwrap_or_default();
        if sections.is_empty() {
            let message = "No MCP servers are named here: there is no 'mcpServers' (Claude, Cursor, Windsurf, Gemini), \
                           'servers' (VS Code) or 'context_servers' (Zed)";
            findings.add(Code::SchemaMissingField, "mcpServers", node.at, message.to_owned());
            return Err(findings.problems);
        }
        let mut servers = Self::default();
        for (path, section) in sections {
            match section.entries() {
                Some(_) => servers.add(section, &path),
                None => findings.wrong_type(section, &path, "object"),
            }
        }
        servers.inputs = part.map(inputs).unwrap_or_default();
        if findings.problems.is_empty() { Ok(servers) } else { Err(findings.problems) }
    }

    /// The parts of a configuration of Claude Code that are for single folders, if they have servers: the folder, and its
    /// servers.
    pub fn read_folders(text: &str) -> Vec<(String, Self)> {
        let Ok(node) = json::read(text) else { return Vec::new() };
        let mut found = Vec::new();
        for entry in node.get(FOLDERS).and_then(Node::entries).unwrap_or_default() {
            let mut servers = Self::default();
            let sections = sections(&entry.value);
            sections.iter().for_each(|(path, section)| servers.add(section, path));
            if !servers.servers.is_empty() {
                found.push((entry.key.clone(), servers));
            }
        }
        found
    }

    fn add(&mut self, section: &Node, path: &str) {
        let is_zed = path == ZED;
        for entry in section.entries().unwrap_or_default() {
            if is_zed && is_extension(&entry.value) {
                self.extensions.push(entry.key.clone());
                continue;
            }
            let path = join(path, &shown(&entry.key));
            let mut findings = Findings::default();
            let is_known = |server: &Server| server.name == entry.key;
            if self.servers.iter().any(is_known) {
                let message = format!("Two servers are called '{}'", shown(&entry.key));
                findings.add(Code::SchemaDuplicateName, &path, entry.key_at, message);
            }
            let mut warnings = Vec::new();
            let server = entry::server(entry, &path, &mut findings, &mut warnings);
            match server {
                Some(server) if findings.problems.is_empty() => {
                    self.servers.push(server);
                    self.warnings.append(&mut warnings);
                }
                _ => self.invalid.push(InvalidServer { name: entry.key.clone(), problems: findings.problems }),
            }
        }
    }

    /// A key that is repeated in an object: one of these keys, or in the part that they lead to, a section of servers, a
    /// server, or a setting of one. JSON does not say which of the two counts.
    pub fn repeated_key(text: &str, keys: &[&str]) -> Option<FileProblem> {
        let root = json::read(text).ok()?;
        let mut found = None;
        let mut node = &root;
        for key in keys {
            found = found.or_else(|| repeated_entries(node).into_iter().find(|entry| entry.key == *key));
            node = node.get(key)?;
        }
        let is_section = |key: &str| sections(node).iter().any(|(path, _)| path.split('.').next() == Some(key));
        found = found.or_else(|| repeated_entries(node).into_iter().find(|entry| is_section(&entry.key)));
        let in_mcp = || repeated_entries(node.get("mcp")?).into_iter().find(|entry| entry.key == "servers");
        found = found.or_else(in_mcp);
        let mut nodes: Vec<&Node> = sections(node).into_iter().map(|(_, section)| section).collect();
        while let (None, Some(node)) = (found, nodes.pop()) {
            found = repeated_entries(node).first().copied();
            nodes.extend(node.entries().unwrap_or_default().iter().map(|entry| &entry.value));
        }
        let entry = found?;
        let mut findings = Findings::default();
        let message = format!("'{}' appears twice here, and only one of the two can count", shown(&entry.key));
        findings.add(Code::SchemaDuplicateName, "", entry.key_at, message);
        findings.problems.pop()
    }

    /// Whether the text has a section of MCP servers.
    pub fn has_servers(text: &str) -> bool {
        json::read(text).is_ok_and(|node| !sections(&node).is_empty())
    }
}

/// The part of a document at this path of keys.
fn within<'n>(node: &'n Node, keys: &[&str]) -> Option<&'n Node> {
    keys.iter().try_fold(node, |node, key| node.get(key))
}

/// The sections that hold servers, with their paths.
fn sections(node: &Node) -> Vec<(String, &Node)> {
    let mut found = Vec::new();
    for key in ["mcpServers", "servers", ZED, "mcp_servers"] {
        if let Some(section) = node.get(key) {
            found.push((key.to_owned(), section));
        }
    }
    if let Some(mcp) = node.get("mcp") {
        match mcp.get("servers") {
            Some(servers) => found.push(("mcp.servers".to_owned(), servers)),
            None if mcp
                .entries()
                .is_some_and(|entries| entries.iter().all(|entry| looks_like_server(&entry.value))) =>
            {
                found.push(("mcp".to_owned(), mcp));
            }
            None => {}
        }
    }
    found
}

/// The entries of an object whose key appeared before.
fn repeated_entries(node: &Node) -> Vec<&Entry> {
    let mut keys = BTreeSet::new();
    node.entries().unwrap_or_default().iter().filter(|entry| !keys.insert(entry.key.as_str())).collect()
}

/// The inputs beside the section of servers. An input without an id is skipped, because nothing can refer to it.
fn inputs(node: &Node) -> Vec<Input> {
    let listed = [Some(node), node.get("mcp")].into_iter().flatten().filter_map(|node| node.get("inputs")?.items());
    let text = |node: &Node, key: &str| node.get(key).and_then(Node::as_str).map(str::to_owned);
    let input = |node: &Node| {
        let is_hidden = node.get("password").is_some_and(|flag| flag.to_json() == true);
        let default = text(node, "default").filter(|default| !is_hidden && !default.is_empty());
        Some(Input { id: text(node, "id")?, description: text(node, "description"), default })
    };
    listed.flatten().filter_map(input).collect()
}

/// Whether an entry of Zed is about an extension: it says so, or has settings and nothing that starts a server.
fn is_extension(node: &Node) -> bool {
    let source = node.get("source").and_then(Node::as_str);
    source == Some("extension") || (source.is_none() && node.get("settings").is_some() && !looks_like_server(node))
}

fn looks_like_server(node: &Node) -> bool {
    ["command", "url"].iter().any(|key| node.get(key).is_some())
}

/// Adds a warning.
pub(super) fn warn(warnings: &mut Vec<FileProblem>, path: &str, at: Position, message: String) {
    let mut findings = Findings::default();
    findings.add(Code::SchemaInvalidName, path, at, message);
    warnings.append(&mut findings.problems);
}
