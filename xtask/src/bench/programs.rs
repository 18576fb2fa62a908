//! The programs that are measured and that measure, and how they are started.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::step::{announce, cargo, run, target};

/// A way to reach a server, and how ours and the echo server are told to offer it.
pub(super) struct Transport {
    /// Its name in the table.
    pub(super) title: &'static str,
    /// Its name for the client.
    name: &'static str,
    ours: &'static [&'static str],
    echo: &'static [&'static str],
}

pub(super) const STDIO: Transport =
    Transport { title: "stdio", name: "stdio", ours: &["serve", "tasks:", "--mode", "single"], echo: &["--stdio"] };

pub(super) const HTTP: Transport = Transport {
    title: "HTTP",
    name: "http",
    ours: &["serve", "tasks:", "--http", "127.0.0.1:0", "--mode", "single"],
    echo: &["--http", "127.0.0.1:0"],
};

/// Which server.
#[derive(Debug, Clone, Copy)]
pub(super) enum Server {
    Ours,
    Echo,
}

/// Release builds, all from one run of cargo and so from the same versions and features.
pub(super) struct Programs {
    folder: PathBuf,
}

/// Named numbers that a program printed.
pub(super) struct Figures(HashMap<String, f64>);

impl Figures {
    pub(super) fn get(&self, name: &str) -> Result<f64> {
        self.0.get(name).copied().with_context(|| format!("the client did not measure '{name}'"))
    }
}

impl Programs {
    pub(super) fn build() -> Result<Self> {
        announce("build everything with the dist profile");
        let mut build = cargo(&["build", "--profile", "dist", "--package", "aquifer", "--package", "aquifer-bench"]);
        run(&mut build, "The build must succeed before anything can be measured.")?;
        Ok(Self { folder: target().join("dist") })
    }

    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Has the client measure both servers, ours first.
    pub(super) fn client(&self, what: &str, transport: &Transport, options: &[&str]) -> Result<Figures> {
        let mut client = Command::new(self.program("bench-client"));
        client.arg(what).arg(transport.name).args(options);
        for server in [Server::Ours, Server::Echo] {
            self.add_server(&mut client, server, transport, &[]);
        }
        figures(&printed(&mut client)?)
    }

    /// Has the client call one server that runs under `wrapper`, and nothing more.
    pub(super) fn calls(
        &self,
        server: Server,
        transport: &Transport,
        options: &[&str],
        wrapper: &[String],
    ) -> Result<()> {
        let mut client = Command::new(self.program("bench-client"));
        client.arg("calls").arg(transport.name).args(options);
        self.add_server(&mut client, server, transport, wrapper);
        printed(&mut client).map(drop)
    }

    /// Has servers asked by many clients at once. A server is described in words, as `bench-load` takes them.
    pub(super) fn load(&self, what: &str, options: &[&str], servers: &[Vec<String>]) -> Result<Figures> {
        let mut load = Command::new(self.program("bench-load"));
        load.arg(what).args(options);
        for server in servers {
            load.arg("--").args(server);
        }
        figures(&printed(&mut load)?)
    }

    /// Our server with a source, asked over MCP to read something.
    pub(super) fn mcp(&self, arguments: &str, source: &str) -> Vec<String> {
        let program = self.program("aquifer").display().to_string();
        let words = ["mcp", "mcp_aql_read", arguments, &program, "serve", source, "--http", "127.0.0.1:0"];
        words.map(str::to_owned).to_vec()
    }

    fn add_server(&self, client: &mut Command, server: Server, transport: &Transport, wrapper: &[String]) {
        let (tool, program, arguments) = match server {
            Server::Ours => ("mcp_aql", "aquifer", transport.ours),
            Server::Echo => ("echo", "bench-echo", transport.echo),
        };
        client.args(["--", tool]).args(wrapper).arg(self.program(program)).args(arguments);
    }
}

/// Runs a program and returns what it printed.
pub(super) fn printed(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot start {name}"))?;
    if !output.status.success() {
        bail!("{name} ended with {}:\n{}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The figures in what a program printed.
pub(super) fn figures(text: &str) -> Result<Figures> {
    let figure = |line: &str| {
        let (name, value) = line.split_once('\t')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    let read = |line| figure(line).with_context(|| format!("not a figure: {line}"));
    text.lines().map(read).collect::<Result<_>>().map(Figures)
}
