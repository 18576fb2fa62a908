//! A real PostgreSQL for the tests: a throw-away server with a data directory, a port and a password of its own. It
//! has nothing to do with any server the machine runs already, and it does not outlive the task that started it.
//!
//! The server is in the hands of a small shell script, `postgres.sh`, which stops it and deletes its files when the
//! pipe from here closes. That happens on every way out, Ctrl-C and SIGKILL included. A handler for signals would not
//! see the latter, and asking the kernel to kill the server along with us would leave the files.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::step::{announce, output};
use crate::system::{Need, ensure, is_root};

/// Where the tests find the server. A developer who sets it has the tests use that server instead.
const VARIABLE: &str = "AQUIFER_TEST_POSTGRES";

const SCRIPT: &str = include_str!("postgres.sh");
const PROGRAMS: [&str; 3] = ["initdb", "pg_ctl", "postgres"];
/// Where servers are installed outside of PATH: folders whose name is this, followed by a major version.
const PLACES: [(&str, &str); 5] = [
    ("/usr/lib/postgresql", ""),
    ("/usr", "pgsql-"),
    ("/opt/homebrew/opt", "postgresql@"),
    ("/usr/local/opt", "postgresql@"),
    ("/home/linuxbrew/.linuxbrew/opt", "postgresql@"),
];
/// Nobody holds a port between asking for a free one and the server's start, so there are some to fall back on.
const PORTS: usize = 3;

const NEEDS: [Need; 1] = [Need {
    name: "the PostgreSQL server (initdb, pg_ctl and postgres)",
    met: || programs().is_some(),
    packages: &["postgresql"],
    elsewhere: "postgresql.org, or your system's packages; or set AQUIFER_TEST_POSTGRES to the URL of a server that \
                the tests may fill and empty",
}];

/// `cargo xtask postgres`: a server to try things with, or to run one test again and again against.
pub(crate) fn run() -> Result<()> {
    let mut server = Server::start()?;
    println!("{VARIABLE}={}", server.url);
    announce("Ctrl-C stops the server and deletes its files");
    server.wait()
}

/// The server that the tests use. One that was started for them stops when this is dropped.
pub(crate) enum Postgres {
    /// The developer's, as told by the environment.
    Given,
    Started(Server),
}

impl Postgres {
    pub(crate) fn provide() -> Result<Self> {
        if std::env::var_os(VARIABLE).is_some_and(|url| !url.is_empty()) {
            announce(&format!("take the PostgreSQL of {VARIABLE}"));
            return Ok(Self::Given);
        }
        Server::start().map(Self::Started)
    }

    /// What the environment of the tests must have in addition to ours.
    pub(crate) fn environment(&self) -> Option<(&'static str, &str)> {
        match self {
            Self::Given => None,
            Self::Started(server) => Some((VARIABLE, &server.url)),
        }
    }
}

/// A server of our own.
pub(crate) struct Server {
    url: String,
    /// The script. Its standard input is what keeps the server running.
    keeper: Child,
}

impl Server {
    fn start() -> Result<Self> {
        announce("start PostgreSQL");
        ensure(&NEEDS)?;
        let programs = programs().context("the PostgreSQL server is gone again")?;
        let password = password().context("cannot make a password from /dev/urandom")?;
        let mut command = Command::new("sh");
        // The text rather than the file: the user we become may not be able to read the workspace, nor to stand in it.
        command.args(["-c", SCRIPT, "keeper"]).arg(&programs).args(free_ports()?).current_dir("/");
        // A Ctrl-C, or a kill of the whole group, is for us; the script must live on to clean up.
        command.process_group(0);
        // Programs that fail do so in English, and on macOS the server does not start under every locale.
        command.env("LC_ALL", "C");
        if is_root() {
            let (user, group) = unprivileged()?;
            command.uid(user).gid(group);
        }
        let keeper = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("cannot start 'sh'")?;
        // From here on the script is ended whatever fails.
        let mut server = Self { url: String::new(), keeper };
        let (port, letters) = server.answer(&password)?;
        server.url = format!("postgres://aquifer_test:{password}@127.0.0.1:{port}/postgres");
        let version = output(programs.join("postgres"), &["--version"]).unwrap_or_default();
        announce(&format!("{version} listens on 127.0.0.1:{port}, LC_CTYPE={letters}"));
        Ok(server)
    }

    /// The port and the LC_CTYPE of the server, once it accepts connections.
    fn answer(&mut self, password: &str) -> Result<(u16, String)> {
        let pipes = (self.keeper.stdin.as_mut(), self.keeper.stdout.as_mut());
        let (Some(input), Some(output)) = pipes else { bail!("the script that keeps PostgreSQL has no pipes") };
        writeln!(input, "{password}").context("the script that keeps PostgreSQL does not listen")?;
        let mut output = BufReader::new(output);
        let mut said = String::new();
        output.read_line(&mut said)?;
        if let ["ready", port, letters] = said.split_whitespace().collect::<Vec<_>>().as_slice() {
            return Ok((port.parse()?, (*letters).to_owned()));
        }
        output.read_to_string(&mut said)?;
        bail!("PostgreSQL does not start. The end of its log:\n{}", said.trim_end());
    }

    /// Keeps the server until something else ends it, or us.
    fn wait(&mut self) -> Result<()> {
        // Waiting closes the input, unless it is held elsewhere.
        let _held = self.keeper.stdin.take();
        let status = self.keeper.wait()?;
        bail!("something has stopped PostgreSQL: its script ended with {status}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Closes the script's input first, which tells it to end.
        if let Err(problem) = self.keeper.wait() {
            eprintln!("PostgreSQL may still be running: {problem}");
        }
    }
}

/// The folder with the server's programs: the one in PATH, else the newest.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if let Some(folder) = std::env::split_paths(&path).find(|folder| holds_programs(folder)) {
        return Some(folder);
    }
    let installed = PLACES.iter().flat_map(|(place, name)| versions(Path::new(place), name));
    installed.filter(|(_, folder)| holds_programs(folder)).max().map(|(_, folder)| folder)
}

/// The installed versions in one place, as major version and folder of programs.
fn versions(place: &Path, name: &str) -> Vec<(u32, PathBuf)> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let version = |folder: PathBuf| {
        let major = folder.file_name()?.to_str()?.strip_prefix(name)?.parse().ok()?;
        Some((major, folder.join("bin")))
    };
    entries.filter_map(|entry| version(entry.path())).collect()
}

fn holds_programs(folder: &Path) -> bool {
    // Relative ones mean something else to the script, which runs in another folder.
    folder.is_absolute() && PROGRAMS.iter().all(|program| folder.join(program).is_file())
}

/// Ports that nobody uses, all different because all are held until the last is found.
fn free_ports() -> Result<Vec<String>> {
    let bind = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let held = (0..PORTS).map(|_| bind()).collect::<Result<Vec<_>, _>>().context("127.0.0.1 has no free port")?;
    held.iter().map(|listener| Ok(listener.local_addr()?.port().to_string())).collect()
}

fn password() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    // Hexadecimal, so that it stands in a URL as it is.
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
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
