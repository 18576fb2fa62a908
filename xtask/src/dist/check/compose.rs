//! What the compose file starts, without containers: its secrets, database and configuration with a real PostgreSQL and a
//! real Redis.

use std::fs::{self, File};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::Subject;
use super::process::{Environment, bounded, run, word};
use crate::disposable_server::free_ports;
use crate::install::{Requirement, ensure as ensure_installed};
use crate::step::output;
use crate::{postgres, redis};

const PSQL: Requirement = Requirement {
    name: "psql, the client of PostgreSQL",
    is_met: || output("psql", &["--version"]).is_some(),
    packages: &["postgresql-client"],
    hint: "postgresql.org, or your system's packages",
};
const START_TIMEOUT: Duration = Duration::from_secs(20);

pub(super) fn check(subject: &Subject) -> Result<()> {
    ensure_installed(&[PSQL])?;
    let environment = Environment::new(subject.work("compose"))?;
    let folder = environment.path("home");
    for file in ["secrets.sh", "shop.toml", "shop.sql"] {
        fs::copy(subject.folder.join("container").join(file), folder.join(file))?;
    }
    run(bounded("sh", &environment).arg(folder.join("secrets.sh")))?;
    let secrets = word(&folder.join("secrets"));

    let (url, _postgres) = postgres::start()?;
    let server = url.strip_suffix("/postgres").context("the URL of PostgreSQL has another form")?;
    let psql = |database: &str| {
        let mut psql = bounded("psql", &environment);
        psql.args(["--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", &format!("{server}/{database}")]);
        psql
    };
    run(psql("postgres").arg("--command=CREATE DATABASE shop"))?;
    replace(&folder.join("shop.sql"), &[("/run/secrets", &secrets)])?;
    run(psql("shop").arg("--file").arg(folder.join("shop.sql")))?;

    let redis = Redis::start(&folder.join("secrets/redis.conf"), &environment)?;
    let (_, postgres_address) = server.rsplit_once('@').context("the URL of PostgreSQL has no address")?;
    let replacements = [
        ("/run/secrets", secrets.as_str()),
        ("/var/lib/aquifer", &word(&environment.path("state"))),
        ("@redis:6379", &format!("@127.0.0.1:{}", redis.port)),
        ("@postgres/", &format!("@{postgres_address}/")),
    ];
    replace(&folder.join("shop.toml"), &replacements)?;
    let binary = subject.folder.join("container").join(subject.parts.platform.debian()).join("aquifer");
    let aquifer = |arguments: &[&str]| run(bounded(&binary, &environment).args(arguments));
    aquifer(&["validate", "shop.toml"])?;
    let answer = aquifer(&["call", "shop.toml", "list_orders", r#"{"fields": ["product.name"]}"#])?;
    ensure!(answer.contains("stove"), "the shop answers: {answer}");
    Ok(())
}

/// Replaces what is only right in containers.
fn replace(path: &Path, replacements: &[(&str, &str)]) -> Result<()> {
    let mut text = fs::read_to_string(path)?;
    for (from, to) in replacements {
        ensure!(text.contains(from), "{} does not contain {from}", path.display());
        text = text.replace(from, to);
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// A Redis with the configuration of the compose file.
struct Redis {
    server: Child,
    port: String,
}

impl Redis {
    fn start(configuration: &Path, environment: &Environment) -> Result<Self> {
        redis::require()?;
        let port = free_ports()?.into_iter().next().context("there is no free port")?;
        let log = File::create(environment.path("tmp/redis.log"))?;
        let mut command = Command::new("redis-server");
        command.arg(configuration).args(["--port", &port, "--bind", "127.0.0.1", "--dir"]).arg(environment.path("tmp"));
        let server = command.stdin(Stdio::null()).stdout(log).spawn().context("redis-server does not start")?;
        let redis = Self { server, port };
        let deadline = Instant::now() + START_TIMEOUT;
        while TcpStream::connect(format!("127.0.0.1:{}", redis.port)).is_err() {
            ensure!(Instant::now() < deadline, "Redis does not start with the configuration of the compose file");
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(redis)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        // Fails if it has ended.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
