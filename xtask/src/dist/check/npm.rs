//! npm: installs from a registry that has only our packages, globally and through npx.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::agent::Agent;
use super::listing::Listing;
use super::process::{Environment, bounded, measured, run, run_for_code, word};
use super::{Measurement, Subject};
use crate::dist::package::Kind;
use crate::dist::release::PACKAGE;

pub(super) fn check(subject: &Subject, agent: &Agent) -> Result<Measurement> {
    let environment = Environment::new(subject.work("npm"))?;
    let registry = Registry::start(subject, agent)?;
    let cache = Environment::new(subject.work("npm-cache"))?;
    let npm = |arguments: &[&str]| {
        let mut npm = bounded("npm", &environment);
        npm.args(arguments).arg("--registry").arg(&registry.url).arg("--cache").arg(&cache.folder);
        npm.args(["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]);
        npm
    };
    let prefix = environment.path("prefix");
    let into = format!("--prefix={}", prefix.display());
    let before = Listing::read(&environment.folder, &[])?;
    let (_, install) = measured(|| run(&mut npm(&["install", "--global", PACKAGE, &into])))?;
    let program = prefix.join("bin/aquifer");
    let database = environment.path("shop.db");
    let answer = agent.query(&[word(&program)], &environment, &database, &word(&database))?;

    // With a new Node.js, the script is replaced by the binary; with an old one, it stays and passes signals on.
    let script = word(&program.canonicalize().context("npm has not linked the program")?);
    agent.use_demo(&[word(&agent.node), script.clone()], &environment, &subject.parts.release)?;
    let without_replacing = format!("delete process.execve; process.argv.splice(1, 0, ''); require('{script}')");
    let starts_child = [word(&agent.node), "-e".to_owned(), without_replacing, "--".to_owned()];
    agent.use_demo(&starts_child, &environment, &subject.parts.release)?;
    explains_unsupported_platforms(agent, &environment, &script)?;

    run(&mut npm(&["uninstall", "--global", PACKAGE, &into]))?;
    subject.remove_state(&environment)?;
    // npm creates these folders in an empty prefix and does not remove them.
    for folder in ["bin", "lib/node_modules", "lib", ""] {
        std::fs::remove_dir(prefix.join(folder)).with_context(|| format!("{folder} in the prefix is not empty"))?;
    }
    before.expect_same(&Listing::read(&environment.folder, &[])?)?;

    let version = run(npm(&["exec", "--yes"]).arg(PACKAGE).args(["--", "-V"]))?;
    ensure!(version.contains(&subject.parts.release.version), "npx prints '{version}'");
    Ok(Measurement { kind: Kind::NpmPlatform, install, answer })
}

/// Pretends to be on a platform without a package.
fn explains_unsupported_platforms(agent: &Agent, environment: &Environment, script: &str) -> Result<()> {
    let pretend = format!("Object.defineProperty(process, 'platform', {{ value: 'sunos' }}); require('{script}')");
    let (code, text) = run_for_code(bounded(&agent.node, environment).arg("-e").arg(pretend))?;
    ensure!(code == Some(1) && text.contains("there is no package for sunos"), "unsupported platform: {text}");
    ensure!(text.contains("cargo install"), "the message gives no advice: {text}");
    Ok(())
}

/// A registry with our packages.
struct Registry {
    server: Child,
    url: String,
}

impl Registry {
    fn start(subject: &Subject, agent: &Agent) -> Result<Self> {
        let files = subject.packages.iter().filter(|package| matches!(package.kind, Kind::NpmMain | Kind::NpmPlatform));
        let mut command = Command::new(&agent.node);
        command.arg(Agent::script("registry.mjs")).args(files.map(|package| subject.folder.join(&package.file)));
        let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("no registry")?;
        let mut url = String::new();
        let out = server.stdout.take().context("the registry has no output")?;
        BufReader::new(out).read_line(&mut url)?;
        ensure!(url.starts_with("http://"), "the registry does not start");
        Ok(Self { server, url: url.trim().to_owned() })
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        // It ends by itself when its input closes; this only makes sure.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
