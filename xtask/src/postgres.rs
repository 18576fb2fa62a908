//! A real PostgreSQL for the tests, run by `postgres.sh`.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::disposable_server::{self, DisposableServer, Service, free_ports, password};
use crate::install::{Requirement, ensure, is_root};
use crate::step::{announce, output};

const VARIABLE: &str = "AQUIFER_TEST_POSTGRES";

const SCRIPT: &str = include_str!("postgres.sh");
const PROGRAMS: [&str; 3] = ["initdb", "pg_ctl", "postgres"];
/// Locations of servers outside PATH: folders with this name followed by a major version.
const PLACES: [(&str, &str); 5] = [
    ("/usr/lib/postgresql", ""),
    ("/usr", "pgsql-"),
    ("/opt/homebrew/opt", "postgresql@"),
    ("/usr/local/opt", "postgresql@"),
    ("/home/linuxbrew/.linuxbrew/opt", "postgresql@"),
];

const REQUIREMENTS: [Requirement; 1] = [Requirement {
    name: "the PostgreSQL server (initdb, pg_ctl and postgres)",
    is_met: || programs().is_some(),
    packages: &["postgresql"],
    hint: "postgresql.org, or your system's packages; or set AQUIFER_TEST_POSTGRES to the URL of a server that \
                the tests may fill and empty",
}];

/// `cargo xtask postgres`.
pub(crate) fn run() -> Result<()> {
    disposable_server::run(VARIABLE, start)
}

pub(crate) fn provide() -> Result<Service> {
    Service::provide(VARIABLE, start)
}

/// Starts a server of its own, whatever the environment says, and gives the URL of its superuser.
pub(crate) fn start() -> Result<(String, DisposableServer)> {
    announce("start PostgreSQL");
    ensure(&REQUIREMENTS)?;
    let programs = programs().context("the PostgreSQL server was not found after installing it")?;
    let password = password()?;
    let mut command = DisposableServer::command(SCRIPT);
    command.arg(&programs).args(free_ports()?);
    if is_root() {
        let (user, group) = unprivileged()?;
        command.uid(user).gid(group);
    }
    let server = DisposableServer::start("PostgreSQL", command, &password)?;
    let [port, lc_ctype] = server.ready_words.as_slice() else { bail!("PostgreSQL did not print its port") };
    let version = output(programs.join("postgres"), &["--version"]).unwrap_or_default();
    announce(&format!("{version} listens on 127.0.0.1:{port}, LC_CTYPE={lc_ctype}"));
    Ok((format!("postgres://aquifer_test:{password}@127.0.0.1:{port}/postgres"), server))
}

/// The folder with the server's programs: the one in PATH, or else the newest.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if let Some(folder) = std::env::split_paths(&path).find(|folder| holds_programs(folder)) {
        return Some(folder);
    }
    let installed = PLACES.iter().flat_map(|(place, name)| versions(Path::new(place), name));
    installed.filter(|(_, folder)| holds_programs(folder)).max().map(|(_, folder)| folder)
}

/// The versions installed in one location, as major version and program folder.
fn versions(place: &Path, name: &str) -> Vec<(u32, PathBuf)> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let version = |folder: PathBuf| {
        let major = folder.file_name()?.to_str()?.strip_prefix(name)?.parse().ok()?;
        Some((major, folder.join("bin")))
    };
    entries.filter_map(|entry| version(entry.path())).collect()
}

fn holds_programs(folder: &Path) -> bool {
    // A relative path would be wrong for the script, which runs in another folder.
    folder.is_absolute() && PROGRAMS.iter().all(|program| folder.join(program).is_file())
}

/// User and group for the server, which refuses to run as root.
fn unprivileged() -> Result<(u32, u32)> {
    let number = |option, user| output("id", &[option, user])?.parse().ok();
    let ids = |user| Some((number("-u", user)?, number("-g", user)?));
    ids("postgres").or_else(|| ids("nobody")).context(
        "PostgreSQL refuses to run as root, and there is neither a user 'postgres' nor 'nobody' to run it as. \
         Start this task as another user.",
    )
}
