//! A real Redis for the tests, kept by `redis.sh`.

use anyhow::{Context, Result};

use crate::install::{Need, ensure};
use crate::keeper::{self, Keeper, Service, free_ports, password};
use crate::step::{announce, output};

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

/// `cargo xtask redis`.
pub(crate) fn run() -> Result<()> {
    keeper::run(VARIABLE, start)
}

pub(crate) fn provide() -> Result<Service> {
    require()?;
    Service::provide(VARIABLE, start)
}

/// What a test needs that starts a Redis of its own.
pub(crate) fn require() -> Result<()> {
    ensure(&NEEDS)
}

fn start() -> Result<(String, Keeper)> {
    require()?;
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
