//! `aquifer` without a command: at a terminal, says in a few lines what can be done next here.

use std::io::IsTerminal as _;
use std::path::Path;

use clap::CommandFactory as _;

use crate::CommandOutcome;
use crate::cli::Cli;
use crate::system::quoted;
use crate::terminal;

/// The maximum number of databases and descriptions that are named.
const MAX_FILES: usize = 3;
/// The maximum number of files in the directory that are looked at.
const MAX_ENTRIES: usize = 1_000;
/// Where the explanations begin.
const COLUMN: usize = 38;

/// The first bytes of every SQLite database.
const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";

pub(crate) fn run() -> anyhow::Result<CommandOutcome> {
    if !std::io::stdout().is_terminal() {
        terminal::print_note(&Cli::command().render_help().to_string());
        return Ok(CommandOutcome::Code(2));
    }
    terminal::print_line(&text(Path::new("."), &clients()))?;
    Ok(CommandOutcome::Done)
}

/// The text: at most ten lines.
fn text(directory: &Path, clients: &[String]) -> String {
    let mut lines = vec!["Aquifer puts MCP servers, databases and HTTP APIs behind one to five tools.".to_owned()];
    let mut offer = |command: &str, purpose: &str| {
        lines.push(format!("  {command:<COLUMN$}  {purpose}"));
    };
    offer("aquifer demo", "try it with a sample shop");
    match clients {
        _ if directory.join("aquifer.toml").exists() => offer("aquifer serve", "serve the sources in ./aquifer.toml"),
        [] => offer("aquifer serve -- COMMAND", "serve an MCP server"),
        found => offer("aquifer init", &format!("serve the MCP servers of {}", found.join(", "))),
    }
    for (target, kind) in find_files(directory) {
        offer(&format!("aquifer serve {}", quoted(&target)), &format!("serve this {kind}"));
    }
    offer("aquifer doctor", "check the configuration and this machine");
    offer("aquifer --help", "all commands");
    lines.join("\n")
}

/// The databases and API descriptions in a directory, as targets.
fn find_files(directory: &Path) -> Vec<(String, &'static str)> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut files: Vec<_> = entries.take(MAX_ENTRIES).flatten().map(|entry| entry.file_name()).collect();
    files.sort();
    let targets = files.iter().filter_map(|name| {
        let path = directory.join(name);
        let name = name.to_str()?;
        if is_database(&path) {
            return Some((format!("sqlite:{name}"), "database"));
        }
        let stem = path.file_stem()?.to_str()?.to_ascii_lowercase();
        let is_description =
            ["json", "yaml", "yml"].iter().any(|ending| path.extension().is_some_and(|own| own == *ending));
        (is_description && matches!(stem.as_str(), "openapi" | "swagger"))
            .then(|| (format!("openapi:{name}"), "HTTP API"))
    });
    targets.take(MAX_FILES).collect()
}

fn is_database(path: &Path) -> bool {
    use std::io::Read as _;
    let is_named_so =
        ["db", "sqlite", "sqlite3"].iter().any(|ending| path.extension().is_some_and(|own| own == *ending));
    if !is_named_so || !path.is_file() {
        return false;
    }
    let mut first = [0; SQLITE_MAGIC.len()];
    std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok() && first == SQLITE_MAGIC
}

/// The clients on this machine that have servers.
#[cfg(feature = "gateway")]
fn clients() -> Vec<String> {
    let clients = super::init::clients::find();
    let mut names: Vec<String> =
        clients.iter().filter(|client| !client.servers.is_empty()).map(|client| client.name.to_owned()).collect();
    names.truncate(2);
    names
}

#[cfg(not(feature = "gateway"))]
fn clients() -> Vec<String> {
    Vec::new()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn ten_lines_say_what_is_here() {
        let directory = std::env::temp_dir().join(format!("aquifer-welcome-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        for number in 0..9 {
            std::fs::write(directory.join(format!("my shop {number}.db")), b"SQLite format 3\0rest").unwrap();
        }
        std::fs::write(directory.join("a.db"), b"no database").unwrap();
        std::fs::write(directory.join("openapi.yaml"), b"openapi: 3.1.0").unwrap();
        let shown = text(&directory, &["Cursor".to_owned(), "Zed".to_owned()]);
        std::fs::remove_dir_all(&directory).unwrap();
        assert!(shown.lines().count() <= 10, "{shown}");
        assert!(shown.contains("aquifer init") && shown.contains("Cursor, Zed"), "{shown}");
        assert!(shown.contains("'sqlite:my shop 0.db'") && !shown.contains("a.db "), "{shown}");
    }
}
