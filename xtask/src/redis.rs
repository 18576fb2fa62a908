//! A real Redis for the tests, kept by `redis.sh`.

use anyhow::{Context, Result};

use crate::keeper::{Keeper, free_ports, password};
use crate::step::{announce, output};
use crate::system::{Need, ensure};

/// Where the tests find the server. A developer who sets it has the tests use that server instead.
const VARIABLE: &str = "AQUIFER_TEST_REDIS";

const SCRIPT: &str = include_str!("redis.sh");

/// Needed beside a given server, too: some tests kill and restart one of their own, with certificates of their own.
const NEEDS: [Need; 2] = [
    Need {
        name: "the Redis server (redis-server)",
        met: || output("redis-server", &["--version"]).is_some(),
        packages: &["redis-server"],
        elsewhere: "redis.io, or your system's packages",
    },
    Need {
        name: "openssl, to make certificates for a Redis with TLS",
        met: || output("openssl", &["version"]).is_some(),
        packages: &["openssl"],
        elsewhere: "your system's packages",
    },
];

/// `cargo xtask redis`: a server to try things with, or to run one test again and again against.
pub(crate) fn run() -> Result<()> {
    ensure(&NEEDS)?;
    let (url, mut keeper) = start()?;
    println!("{VARIABLE}={url}");
    announce("Ctrl-C stops the server and deletes its files");
    keeper.wait()
}

/// What a test needs that starts a Redis of its own.
pub(crate) fn require() -> Result<()> {
    ensure(&NEEDS)
}

/// The server that the tests use. One that was started for them stops when this is dropped.
pub(crate) struct Redis(Option<(String, Keeper)>);

impl Redis {
    pub(crate) fn provide() -> Result<Self> {
        ensure(&NEEDS)?;
        if std::env::var_os(VARIABLE).is_some_and(|url| !url.is_empty()) {
            announce(&format!("take the Redis of {VARIABLE}"));
            return Ok(Self(None));
        }
        start().map(|started| Self(Some(started)))
    }

    /// What the environment of the tests must have in addition to ours.
    pub(crate) fn environment(&self) -> Option<(&'static str, &str)> {
        self.0.as_ref().map(|(url, _)| (VARIABLE, url.as_str()))
    }
}

fn start() -> Result<(String, Keeper)> {
    announce("start Redis");
    let password = password()?;
    let mut command = Keeper::command(SCRIPT);
    command.args(free_ports()?);
    let keeper = Keeper::start("Redis", command, &password)?;
    let port = keeper.answer.first().context("Redis does not say where it listens")?;
    let url = format!("redis://:{password}@127.0.0.1:{port}");
    let version = output("redis-server", &["--version"]).unwrap_or_default();
    announce(&format!("{version} listens on 127.0.0.1:{port}"));
    Ok((url, keeper))
}
