//! What every installed Aquifer has to do: run the demo, and serve a SQLite file to the official TypeScript client.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::process::{Cost, Environment, RunningServer, bounded, measured, run, run_for_code, word, words};
use crate::dist::release::Release;
use crate::install;
use crate::step::{output, root, target};

/// The programs that use Aquifer.
#[derive(Debug, Clone)]
pub(crate) struct Agent {
    /// A Node.js for the client, new enough for the SDK.
    pub(crate) node: PathBuf,
    /// Where the SDK is installed.
    sdk: PathBuf,
    /// Python itself. A version manager's `python3` depends on the home directory.
    pub(crate) python: PathBuf,
}

impl Agent {
    pub(crate) fn install() -> Result<Self> {
        install::check_interpreters()?;
        let sdk = target().join("clients/npm");
        install::npm(&root().join("tests/clients"), &sdk)?;
        let node = install::node()?;
        let node = output(&node, &["-p", "process.execPath"]).context("Node.js does not run")?;
        let python = output("python3", &["-c", "import sys; print(sys.executable)"]).context("python3 does not run")?;
        Ok(Self { node: node.into(), sdk, python: python.into() })
    }

    /// A script of `packaging/check`.
    pub(crate) fn script(name: &str) -> PathBuf {
        root().join("packaging/check").join(name)
    }

    /// Checks the version and exit codes, and runs the demo: start, one request, stop. `aquifer` are the words that
    /// start the program.
    pub(crate) fn use_demo(&self, aquifer: &[String], environment: &Environment, release: &Release) -> Result<()> {
        let words = |rest: &[&str]| words(aquifer, rest.iter().copied());
        let version = run(&mut command(&words(&["-V"]), environment)?)?;
        ensure!(version.trim() == format!("aquifer {}", release.version), "the version is '{}'", version.trim());
        let (code, _) = run_for_code(&mut command(&words(&["fly"]), environment)?)?;
        ensure!(code == Some(2), "the exit code of invalid usage is {code:?}, not 2");
        let mut server = RunningServer::start(&words(&["demo", "--http", "127.0.0.1:0"]), environment)?;
        let url = server.url()?;
        self.run(&["demo", "http", &url], environment)?;
        server.stop()
    }

    /// Creates a database and lets the client query it. `path` is the path of the database as the program sees it.
    /// Returns the time from the start of the client to its end.
    pub(crate) fn query(
        &self,
        aquifer: &[String],
        environment: &Environment,
        database: &Path,
        path: &str,
    ) -> Result<Cost> {
        run(bounded(&self.python, environment).arg(Self::script("database.py")).arg(database))?;
        let serve = words(aquifer, ["serve", &format!("sqlite:{path}")]);
        let arguments: Vec<&str> = ["shop", "stdio"].into_iter().chain(serve.iter().map(String::as_str)).collect();
        let ((), cost) = measured(|| self.run(&arguments, environment))?;
        for file in ["", "-wal", "-shm"] {
            let file = PathBuf::from(format!("{}{file}", word(database)));
            if file.exists() {
                std::fs::remove_file(file)?;
            }
        }
        Ok(cost)
    }

    /// The words that start the client with these arguments.
    pub(crate) fn command(&self, arguments: &[&str]) -> Vec<String> {
        words(&[word(&self.node), word(&Self::script("agent.mjs"))], arguments.iter().copied())
    }

    /// Tells a command where the SDK of the client is.
    pub(crate) fn provide_sdk<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env("AQUIFER_TEST_CLIENTS_DIR", &self.sdk)
    }

    fn run(&self, arguments: &[&str], environment: &Environment) -> Result<()> {
        run(self.provide_sdk(&mut command(&self.command(arguments), environment)?)).map(drop)
    }
}

fn command(words: &[String], environment: &Environment) -> Result<Command> {
    let (program, arguments) = words.split_first().context("no program")?;
    let mut command = bounded(program, environment);
    command.args(arguments);
    Ok(command)
}
