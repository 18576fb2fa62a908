//! A real Redis for the tests, run by `redis.sh`.

use anyhow::{Context, Result};

use crate::disposable_server::{self, DisposableServer, Service, free_ports, password};
use crate::install::{Requirement, ensure};
use crate::step::{announce, output};

const VARIABLE: &str = "AQUIFER_TEST_REDIS";

const SCRIPT: &str = include_str!("redis.sh");

/// Also needed with the developer's own server: some tests start, kill and restart a Redis of their own, with their own
/// certificates.
const REQUIREMENTS: [Requirement; 2] = [
    Requirement {
        name: "the Redis server (redis-server)",
        is_met: || output("redis-server", &["--version"]).is_some(),
        packages: &["redis-server"],
        hint: "redis.io, or your system's packages",
    },
    Requirement {
        name: "openssl, to create certificates for a Redis with TLS",
        is_met: || output("openssl", &["version"]).is_some(),
        packages: &["openssl"],
        hint: "your system's packages",
    },
];

/// `cargo xtask redis`.
pub(crate) fn run() -> Result<()> {
    disposable_server::run(VARIABLE, start)
}

pub(crate) fn provide() -> Result<Service> {
    require()?;
    Service::provide(VARIABLE, start)
}

/// Checks the requirements of tests that start their own Redis.
pub(crate) fn require() -> Result<()> {
    ensure(&REQUIREMENTS)
}

fn start() -> Result<(String, DisposableServer)> {
    require()?;
    announce("start Redis");
    let password = password()?;
    let mut command = DisposableServer::command(SCRIPT);
    command.args(free_ports()?);
    let server = DisposableServer::start("Redis", command, &password)?;
    let port = server.ready_words.first().context("Redis did not print its port")?;
    let url = format!("redis://:{password}@127.0.0.1:{port}");
    let version = output("redis-server", &["--version"]).unwrap_or_default();
    announce(&format!("{version} listens on 127.0.0.1:{port}"));
    Ok((url, server))
}
