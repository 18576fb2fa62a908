//! What to do about a source that cannot be used.

use std::io::ErrorKind;
use std::path::Path;

use aquifer_discovery::redact;
use aquifer_protocol::error::{Code, Failure};
use aquifer_sql::Target;

use super::access::{self, Role, is_denied};
use crate::config::SourceConfig;
use crate::system::{AccessKind, find_program};
use crate::system::{quoted, quoted_path};

/// The variable by which a server recognizes that it would start itself.
const ANCESTRY: &str = "AQUIFER_ANCESTRY";
/// How a database whose tables do not match its settings is refused.
const MISMATCH: &str = "its configuration does not match its tables";
/// The maximum length of a command line in an advice.
const MAX_COMMAND_LEN: usize = 300;

/// What to do about settings of tables that do not match the tables.
pub(super) const CORRECT_TABLES: &str = "Correct it in the configuration, under [source.tables]. Names of tables and \
    columns are those of the database; aquifer introspect shows the tables";

/// What to do about an MCP server that failed in this way, if the failure says it.
pub(super) fn for_failure(name: &str, failure: &Failure) -> Option<String> {
    let needs_login = failure.code() == Code::AuthCredentialMissing;
    needs_login.then(|| format!("Run: aquifer login {}", quoted(name)))
}

/// What to do about a source, by its kind. `why` is what is wrong with it.
pub(super) fn for_source(source: &SourceConfig, why: &str) -> String {
    let unset = source.unset_variables();
    if !unset.is_empty() {
        let names = unset.join(", ");
        return format!("Set {names} in the environment or in the file named as env_file");
    }
    if why.contains("without '}'") {
        return "Close the reference, as in ${NAME}, or write $${ for the two characters".to_owned();
    }
    if why.contains(MISMATCH) {
        return CORRECT_TABLES.to_owned();
    }
    if why.contains("sslrootcert cannot be read") {
        return "Correct sslrootcert in the URL: it names a PEM file with the certificates of authorities".to_owned();
    }
    if why.contains("certificate") && is_remote(source) {
        return for_certificate(source);
    }
    match source {
        SourceConfig { openapi: Some(_), .. } => {
            "Check the path or URL of the description. Relative paths start at the configuration's directory".to_owned()
        }
        SourceConfig { url: Some(_), .. } => {
            "Check the url, and that the server is running and can be reached from here".to_owned()
        }
        SourceConfig { command: Some(command), .. } => for_command(source, command, why),
        SourceConfig { target: Some(target), .. } if target.starts_with("postgres") => {
            "Start PostgreSQL, and check the host, the port, the user and the password in the URL".to_owned()
        }
        SourceConfig { target: Some(target), .. } => {
            match source.variables.expand(target).map(|target| Target::parse(&target)) {
                Ok(Some(Target::Sqlite(path))) => for_file(&path, why),
                _ => "Check the target. Relative paths start at the configuration's directory".to_owned(),
            }
        }
        _ => "Check its settings in the configuration".to_owned(),
    }
}

/// Whether a server is asked over a network, which may use a certificate.
fn is_remote(source: &SourceConfig) -> bool {
    let is_postgres = source.target.as_deref().is_some_and(|target| target.starts_with("postgres"));
    source.url.is_some() || source.openapi.is_some() || is_postgres
}

/// A server whose certificate is not accepted.
fn for_certificate(source: &SourceConfig) -> String {
    let setting = match &source.target {
        Some(target) if target.starts_with("postgres") => "name the file of the authority with sslrootcert in the URL",
        _ => "add the authority to the certificates that this machine trusts",
    };
    format!(
        "Check that the certificate is valid and for this host. If an authority of your own has issued it, {setting}"
    )
}

/// An SQLite file that cannot be used.
fn for_file(path: &Path, why: &str) -> String {
    const RELATIVE: &str = "Relative paths start at the configuration's directory";
    let shown = path.display();
    match path.metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => format!("Check the path {shown}. {RELATIVE}"),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => access::for_error(&error, path, Role::Database),
        Err(_) => format!("Check the path {shown}. {RELATIVE}"),
        Ok(found) if found.is_dir() => format!("{shown} is a directory. Name the database file in it"),
        Ok(_) if is_denied(path, AccessKind::Read) => access::for_denied(&[path.to_owned()], Role::Database),
        Ok(_) if why.contains("locked") => {
            "Close the program that is writing to it, or wait until it has finished".to_owned()
        }
        Ok(_) if why.contains("not a SQLite database") => {
            format!("Check the path {shown}: the file is something else, or is encrypted")
        }
        Ok(_) if why.contains("damaged") => {
            "Restore the file from a backup, or recover it with: sqlite3 FILE .recover".to_owned()
        }
        Ok(_) => format!("Check that this user may read and write {shown} and its directory"),
    }
}

/// A program that cannot be started, or that is not an MCP server.
fn for_command(source: &SourceConfig, command: &str, why: &str) -> String {
    if command.trim().is_empty() {
        return "Name a program as the command".to_owned();
    }
    if why.contains(ANCESTRY) {
        let advice =
            "If it is a loop, remove the source. To check it from a shell that the server has started, run: env -u";
        return format!("{advice} {ANCESTRY} aquifer doctor");
    }
    if let Some(folder) = source.cwd.as_deref().filter(|folder| !folder.is_dir()) {
        return format!("Create the directory {}, or correct cwd", folder.display());
    }
    // As the server is started: a relative path starts at its directory.
    let is_path = command.contains(std::path::is_separator);
    let path = source.cwd.as_deref().map_or_else(|| command.into(), |folder| folder.join(command));
    let mut words = command.split_whitespace();
    match words.next() {
        Some(program) if words.next().is_some() && !path.exists() && find_program(program).is_some() => {
            let rest: Vec<&str> = command.split_whitespace().skip(1).collect();
            let rest: Vec<String> = redact::arguments(&rest).iter().map(|word| format!("{word:?}")).collect();
            return format!("Write command = {program:?} and put the rest into args = [{}]", rest.join(", "));
        }
        _ => {}
    }
    match path.metadata() {
        Ok(found) if is_path && found.is_dir() => {
            return format!("{} is a directory. Name the program in it", path.display());
        }
        Ok(_) if is_path && find_program(&path.to_string_lossy()).is_none() => {
            return format!("It is not executable. Run: chmod +x {}", quoted_path(&path));
        }
        Ok(_) if is_path && why.contains("interpreter does not exist") => {
            return "Install the interpreter that the first line of the file names, or correct that line".to_owned();
        }
        Ok(_) if is_path => {}
        Err(_) if is_path => return install(command),
        _ if find_program(command).is_none() => return install(command),
        _ => {}
    }
    let words = std::iter::once(redact::command(command)).chain(redact::arguments(&source.args));
    let words: Vec<String> = words.map(|word| quoted(&word)).collect();
    let line: String = words.join(" ").chars().take(MAX_COMMAND_LEN).collect();
    format!("Run it by hand to see what it prints: {line}. With --log debug, doctor shows it, too")
}

/// Where to get a program that MCP servers are commonly started with.
fn install(command: &str) -> String {
    let program = redact::command(command);
    let name = Path::new(&program).file_name().map_or_else(|| program.as_str().into(), |name| name.to_string_lossy());
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
