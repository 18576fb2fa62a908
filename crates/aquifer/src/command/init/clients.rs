//! MCP clients, and the files in which they configure servers.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use aquifer_discovery::servers::{FOLDERS, Input, Server, WrittenServer, written_servers};
use aquifer_discovery::{FileProblem, Servers};
use aquifer_protocol::error::Code;

use super::backup;
use super::target::is_inside;
use crate::sources::is_aquifer;

/// The file format of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    McpServers,
    VsCode,
    Zed,
    OpenCode,
    Codex,
}

/// Who the settings of a client belong to, and so where their servers may be started.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::command) enum Scope {
    /// The user, everywhere.
    User,
    /// The user, in this folder alone.
    Local(PathBuf),
    /// The project in this folder. They come with its repository.
    Project(PathBuf),
}

/// Which settings of single folders are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Folders {
    /// Those for the current directory or one above it.
    Current,
    /// Those in which Aquifer is started.
    WithAquifer,
}

/// Where a client keeps servers.
#[derive(Clone)]
pub(super) struct Place {
    name: &'static str,
    dialect: Dialect,
    path: PathBuf,
    /// The folder of the project that the settings belong to.
    workspace: Option<PathBuf>,
    /// The key of this folder, if the file has settings of many folders.
    folder_key: Option<String>,
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
    /// The key of this folder, if the file has settings of many folders.
    pub(super) folder_key: Option<String>,
    /// The servers in the file, without Aquifer itself.
    pub(in crate::command) servers: Vec<Server>,
    /// The entries that start Aquifer.
    pub(in crate::command) own_entries: Vec<Server>,
    /// Entries that extensions of the client use. They stay as they are.
    pub(super) extensions: Vec<String>,
    /// Values that the client asks a person for.
    pub(super) inputs: Vec<Input>,
    pub(in crate::command) problems: Vec<FileProblem>,
    /// Whether the file as a whole cannot be used, because of these problems.
    pub(super) is_unusable: bool,
}

impl Client {
    fn empty(place: Place, text: String) -> Self {
        let Place { name, dialect, path, workspace, folder_key } = place;
        let (servers, own_entries, extensions, inputs, problems) = Default::default();
        Self {
            name,
            path,
            dialect,
            text,
            workspace,
            folder_key,
            servers,
            own_entries,
            extensions,
            inputs,
            problems,
            is_unusable: false,
        }
    }

    /// The keys that lead to its part of the file.
    pub(super) fn keys(&self) -> Vec<&str> {
        self.folder_key.iter().flat_map(|key| [FOLDERS, key.as_str()]).collect()
    }

    /// Who the settings belong to. What is in the home directory is the user's own.
    pub(super) fn scope(&self) -> Scope {
        let is_home = |folder: &Path| crate::system::home().is_some_and(|home| is_same_file(&home, folder));
        match &self.workspace {
            Some(folder) if self.folder_key.is_some() => Scope::Local(folder.clone()),
            Some(folder) if !is_home(folder) => Scope::Project(folder.clone()),
            _ => Scope::User,
        }
    }

    /// This client with another text in its file.
    pub(super) fn with_text(&self, text: String) -> Option<Self> {
        let place = Place {
            name: self.name,
            dialect: self.dialect,
            path: self.path.clone(),
            workspace: self.workspace.clone(),
            folder_key: self.folder_key.clone(),
        };
        parse(place, text).filter(|client| !client.is_unusable)
    }

    /// The servers as they are written in the file.
    pub(super) fn written(&self) -> Vec<WrittenServer> {
        self.json().map(|json| written_servers(&json, &self.keys())).unwrap_or_default()
    }

    /// The text of the file as JSON.
    fn json(&self) -> Result<String, FileProblem> {
        let not_toml = |error: String| file_problem(format!("Not readable as TOML: {}", error.trim()));
        match self.dialect {
            Dialect::Codex => {
                let read = toml::from_str::<serde_json::Value>(&self.text);
                let read = read.map_err(|error| not_toml(error.message().to_owned()))?;
                serde_json::to_string(&read).map_err(|error| not_toml(error.to_string()))
            }
            _ => Ok(self.text.clone()),
        }
    }

    /// Whether `--apply` changed the file and left a backup of it.
    pub(in crate::command) fn has_backup(&self) -> bool {
        self.path.canonicalize().is_ok_and(|path| !backup::existing(&path, backup::BEFORE).is_empty())
    }

    pub(super) fn summary(&self) -> String {
        let names: Vec<&str> = self.servers.iter().map(|server| server.name.as_str()).collect();
        match (names.is_empty(), self.is_unusable, self.own_entries.is_empty()) {
            (false, _, _) => names.join(", "),
            (true, true, _) => "left out".to_owned(),
            (true, false, false) => "already uses Aquifer".to_owned(),
            (true, false, true) => "no servers".to_owned(),
        }
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

/// The client that has settings of the user for single folders.
const CLAUDE_CODE: &str = "Claude Code";

#[rustfmt::skip]
const PLACES: &[ConfigLocation] = &[
    ConfigLocation("Claude Desktop", Dialect::McpServers, Base::Config, "Claude/claude_desktop_config.json"),
    ConfigLocation(CLAUDE_CODE, Dialect::McpServers, Base::Home, ".claude.json"),
    ConfigLocation("Cursor", Dialect::McpServers, Base::Home, ".cursor/mcp.json"),
    ConfigLocation("VS Code", Dialect::VsCode, Base::Config, "Code/User/mcp.json"),
    ConfigLocation("VS Code (settings)", Dialect::VsCode, Base::Config, "Code/User/settings.json"),
    ConfigLocation("Cline", Dialect::McpServers, Base::Config, "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"),
    ConfigLocation("Windsurf", Dialect::McpServers, Base::Home, ".codeium/windsurf/mcp_config.json"),
    ConfigLocation("Zed", Dialect::Zed, Base::Config, "zed/settings.json"),
    ConfigLocation("Gemini CLI", Dialect::McpServers, Base::Home, ".gemini/settings.json"),
    ConfigLocation("Codex", Dialect::Codex, Base::Home, ".codex/config.toml"),
    ConfigLocation("LM Studio", Dialect::McpServers, Base::Home, ".lmstudio/mcp.json"),
    ConfigLocation("Amazon Q", Dialect::McpServers, Base::Home, ".aws/amazonq/mcp.json"),
    ConfigLocation("opencode", Dialect::OpenCode, Base::Config, "opencode/opencode.json"),
    // Last: a link to one of the files above is not a file of the project.
    ConfigLocation("Claude Code (project)", Dialect::McpServers, Base::Here, ".mcp.json"),
    ConfigLocation("Cursor (project)", Dialect::McpServers, Base::Here, ".cursor/mcp.json"),
    ConfigLocation("VS Code (project)", Dialect::VsCode, Base::Here, ".vscode/mcp.json"),
];

/// Finds every client on this machine that has servers or a file for them.
pub(in crate::command) fn find() -> Vec<Client> {
    find_with(Folders::Current)
}

/// The same, with these settings of single folders.
pub(super) fn find_with(folders_read: Folders) -> Vec<Client> {
    let mut clients: Vec<Client> = Vec::new();
    for ConfigLocation(name, dialect, base, relative) in PLACES {
        for folder in folders(*base) {
            let path = folder.join(relative);
            if clients.iter().any(|client| is_same_file(&client.path, &path)) {
                continue;
            }
            let workspace = matches!(base, Base::Here).then(|| folder.clone());
            let place = Place { name, dialect: *dialect, path, workspace, folder_key: None };
            let found = read(&place).map(without_foreign_file);
            clients.extend(found);
            if *name == CLAUDE_CODE {
                clients.extend(local_clients(&place.path, folders_read));
            }
        }
    }
    clients
}

/// The settings of Claude Code that the user has for single folders, which are in the file of the user's own settings.
fn local_clients(path: &Path, folders_read: Folders) -> Vec<Client> {
    let Ok(text) = crate::files::read(path) else { return Vec::new() };
    let here = std::env::current_dir().and_then(|here| here.canonicalize()).unwrap_or_default();
    let is_read = |(key, servers): &(String, Servers)| match folders_read {
        Folders::Current => Path::new(key).canonicalize().is_ok_and(|folder| here.starts_with(folder)),
        Folders::WithAquifer => servers.servers.iter().any(is_aquifer),
    };
    let found = Servers::read_folders(&text).into_iter().filter(is_read);
    let clients = found.filter_map(|(key, _)| {
        let (path, workspace) = (path.to_owned(), Some(PathBuf::from(&key)));
        let place =
            Place { name: "Claude Code (local)", dialect: Dialect::McpServers, path, workspace, folder_key: Some(key) };
        parse(place, text.clone())
    });
    clients.collect()
}

/// A client whose file is not used if a project links to it from its folder: it is not a file of the project.
fn without_foreign_file(client: Client) -> Client {
    match client.scope() {
        Scope::Project(folder) if !is_inside(&client.path, &folder) => {
            let problems = vec![file_problem("it is a link to a file outside of the project".to_owned())];
            let (servers, own_entries) = Default::default();
            Client { problems, servers, own_entries, is_unusable: true, ..client }
        }
        _ => client,
    }
}

pub(super) fn is_same_file(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().ok().zip(other.canonicalize().ok()).is_some_and(|(one, other)| one == other)
}

fn folders(base: Base) -> Vec<PathBuf> {
    match base {
        Base::Home => crate::system::home().into_iter().collect(),
        Base::Here => std::env::current_dir().into_iter().collect(),
        Base::Config => crate::system::client_config_directories(),
    }
}

/// Reads a client's file. `None` if it does not exist or has nothing to do with servers.
fn read(place: &Place) -> Option<Client> {
    let missing = [ErrorKind::NotFound, ErrorKind::NotADirectory];
    match crate::files::read(&place.path) {
        Ok(text) => parse(place.clone(), text),
        Err(error) if missing.contains(&error.kind()) => None,
        Err(error) => {
            let problems = vec![file_problem(format!("cannot be read: {error}"))];
            Some(Client { problems, is_unusable: true, ..Client::empty(place.clone(), String::new()) })
        }
    }
}

fn parse(place: Place, text: String) -> Option<Client> {
    // A client that has not written its file yet has no servers.
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        return None;
    }
    let empty = Client::empty(place, text);
    let json = match empty.json() {
        Ok(json) => json,
        Err(problem) => return Some(Client { problems: vec![problem], is_unusable: true, ..empty }),
    };
    match Servers::read_within(&json, &empty.keys()) {
        Ok(file) => {
            let mut problems: Vec<FileProblem> = file.invalid.into_iter().flat_map(|broken| broken.problems).collect();
            let in_use = file.servers.into_iter().filter(|server| !server.disabled);
            let (own_entries, mut servers): (Vec<Server>, Vec<Server>) = in_use.partition(is_aquifer);
            let repeated = Servers::repeated_key(&json, &empty.keys());
            let is_unusable = repeated.is_some();
            if let Some(problem) = repeated {
                // Programs differ in which of the two they use, so neither is touched.
                problems = vec![problem];
                servers.clear();
            }
            let (extensions, inputs) = (file.extensions, file.inputs);
            Some(Client { servers, own_entries, extensions, inputs, problems, is_unusable, ..empty })
        }
        // A file without servers is valid; an unreadable one is reported.
        Err(problems) if problems.iter().any(|problem| problem.path.is_empty()) => {
            Some(Client { problems, is_unusable: true, ..empty })
        }
        Err(_) => None,
    }
}

/// A problem of a file as a whole.
fn file_problem(message: String) -> FileProblem {
    FileProblem { code: Code::SchemaInvalidType, path: String::new(), line: 1, column: 1, message, suggestion: None }
}
