//! `cargo xtask mcp-conformance`: runs the MCP project's own conformance suite from npm, with Aquifer as the server and
//! as the client: its stable release, and its pre-release for the newest revision of MCP. Expected failures are listed in
//! an `expected-failures.yml` for each of them and checked both ways.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::install;
use crate::step::{self, Running, announce, aquifer, output, root, target};

pub(crate) const USAGE: &str = "\
Usage: cargo xtask mcp-conformance

Runs the MCP project's own conformance suite on the built binary: every scenario for servers on a gateway with a small server
behind it, every scenario for clients on 'aquifer interrogate', 'call' and 'login'. Then the same with the suite's pre-release,
with the scenarios that it requires for revision 2026-07-28.";

/// A release of the suite.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edition {
    /// The stable release, with every scenario it has.
    Stable,
    /// The pre-release, with the scenarios of [`REVISION`].
    Next,
}

/// The revision of MCP that the pre-release is run for.
const REVISION: &str = "2026-07-28";

/// The suites of client scenarios. Each suite runs its scenarios concurrently. `core` and `all` would include
/// `sse-retry`, which measures times.
const CLIENT_SUITES: [&str; 4] = ["auth", "backcompat", "draft", "extensions"];
const CLIENT_SCENARIOS: [&str; 4] = ["initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry"];

/// Maximum number of attempts for a scenario that allows a client 200 ms, because a busy machine takes longer.
const MAX_ATTEMPTS: u32 = 3;

/// Scenarios in which Aquifer has to give up, so its command fails.
const REFUSALS: [&str; 2] = ["auth/resource-mismatch", "auth/scope-retry-limit"];
/// More of them in the pre-release: the authorization server is not the one that it should be.
const NEXT_REFUSALS: [&str; 5] = [
    "auth/iss-normalized",
    "auth/iss-supported-missing",
    "auth/iss-unexpected",
    "auth/iss-wrong-issuer",
    "auth/metadata-issuer-mismatch",
];

/// The timeout for a client, in milliseconds.
const CLIENT_TIMEOUT: &str = "120000";

/// Number of lines of the suite's output that are shown after an unexpected result.
const SHOWN_LINES: usize = 30;

const START_TIMEOUT: Duration = Duration::from_secs(60);

const REMEDY: &str = "Fix it, or add it to the expected-failures.yml of the suite with the reason.";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let Some(unknown) = arguments.first() {
        bail!("unknown argument '{unknown}'\n\n{USAGE}");
    }
    let suites = [Suite::install(Edition::Stable)?, Suite::install(Edition::Next)?];
    step::build_aquifer()?;
    for suite in suites {
        let started = Instant::now();
        suite.check_names()?;
        suite.as_server()?;
        suite.as_client()?;
        let name = suite.edition.name();
        announce(&format!("{name} went as expected, in {} s", started.elapsed().as_secs()));
    }
    Ok(())
}

/// Installs both editions.
pub(crate) fn install() -> Result<()> {
    for edition in [Edition::Stable, Edition::Next] {
        install::npm(&edition.pins(), &edition.packages())?;
    }
    install::node().map(drop)
}

impl Edition {
    fn name(self) -> &'static str {
        match self {
            Edition::Stable => "the MCP conformance suite",
            Edition::Next => "the pre-release of the MCP conformance suite",
        }
    }

    /// The folder under `target`.
    fn folder(self) -> &'static str {
        match self {
            Edition::Stable => "mcp-conformance",
            Edition::Next => "mcp-conformance-next",
        }
    }

    /// The folder with its installed packages.
    fn packages(self) -> PathBuf {
        target().join(self.folder()).join("npm")
    }

    /// The folder with its pinned version and its list of expected failures.
    fn pins(self) -> PathBuf {
        match self {
            Edition::Stable => scripts(),
            Edition::Next => scripts().join("next"),
        }
    }

    fn refusals(self) -> Vec<&'static str> {
        let more: &[&str] = if self == Edition::Next { &NEXT_REFUSALS } else { &[] };
        REFUSALS.iter().chain(more).copied().collect()
    }
}

/// The installed suite.
struct Suite {
    edition: Edition,
    node: PathBuf,
    packages: PathBuf,
    /// The folder for logs, state and the output of the client script.
    work: PathBuf,
    expected: Expected,
}

impl Suite {
    fn install(edition: Edition) -> Result<Self> {
        announce(edition.name());
        install::check_interpreters()?;
        let (packages, work) = (edition.packages(), target().join(edition.folder()).join("work"));
        install::npm(&edition.pins(), &packages)?;
        let node = install::node()?;
        if work.exists() {
            fs::remove_dir_all(&work).with_context(|| format!("cannot clear {}", work.display()))?;
        }
        fs::create_dir_all(&work).with_context(|| format!("cannot create {}", work.display()))?;
        let list = edition.pins().join("expected-failures.yml");
        let expected = fs::read_to_string(&list).with_context(|| format!("cannot read {}", list.display()))?;
        Ok(Self { edition, node, packages, work, expected: Expected::parse(&expected)? })
    }

    fn program(&self) -> PathBuf {
        self.packages.join("node_modules/@modelcontextprotocol/conformance/dist/index.js")
    }

    /// Fails if a listed name is unknown to the suite, because the suite would not notice.
    fn check_names(&self) -> Result<()> {
        let program = self.program();
        let listed = output(&self.node, &[&program.to_string_lossy(), "list"]).context("the suite does not start")?;
        let known: BTreeSet<&str> =
            listed.lines().filter_map(|line| line.trim().strip_prefix("- ")?.split(' ').next()).collect();
        let Expected { server, client } = &self.expected;
        let run =
            server.iter().chain(client).map(String::as_str).chain(CLIENT_SCENARIOS).chain(self.edition.refusals());
        let unknown: Vec<&str> = run.filter(|name| !known.contains(name)).collect();
        if !unknown.is_empty() {
            bail!("the suite has no such scenario: {}", unknown.join(", "));
        }
        Ok(())
    }

    /// Runs every server scenario against a gateway.
    fn as_server(&self) -> Result<()> {
        announce("Aquifer as a server");
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let mut serve = Command::new(aquifer());
        serve.args(["serve", "--http", &address.to_string()]);
        // Requests from web pages are refused unless their origin is allowed; the suite sends the origin of our own
        // address.
        serve.args(["--allow-origin", &format!("http://{address}"), "--env", "PACKAGES", "--"]);
        serve.arg(&self.node).arg(scripts().join("server.mjs"));
        serve.env("PACKAGES", &self.packages).env("XDG_STATE_HOME", self.work.join("state"));
        let log = File::create(self.work.join("serve.log"))?;
        serve.current_dir(&self.work).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let mut server = Running(serve.spawn().context("aquifer does not start")?);
        let deadline = Instant::now() + START_TIMEOUT;
        while TcpStream::connect(address).is_err() {
            if server.0.try_wait()?.is_some() || Instant::now() > deadline {
                bail!("aquifer does not serve: see {}", self.work.join("serve.log").display());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let url = format!("http://{address}/mcp");
        let chosen = match self.edition {
            Edition::Stable => ["--suite", "all"],
            Edition::Next => ["--requirements", REVISION],
        };
        self.conformance("server", &[&["server", "--url", &url][..], &chosen].concat())
    }

    /// Runs every client scenario.
    fn as_client(&self) -> Result<()> {
        announce("Aquifer as a client");
        // The suite passes the command to a shell.
        let command = format!("'{}' '{}'", self.node.display(), scripts().join("client.mjs").display());
        let words = ["client", "--command", &command, "--timeout", CLIENT_TIMEOUT];
        if self.edition == Edition::Next {
            let outcome = self.conformance("client", &[&words[..], &["--requirements", REVISION]].concat());
            // All scenarios run concurrently, which a busy machine takes badly. Alone, each has to succeed.
            let log = fs::read_to_string(self.work.join("client.log")).unwrap_or_default();
            let (_, listed) = log.split_once("Unexpected failures (not in baseline)").unwrap_or_default();
            let listed = listed.lines().filter_map(|line| line.strip_prefix("  ✗ ")).map(str::to_owned);
            let again: BTreeSet<String> = self.unexpected_failures()?.into_iter().chain(listed).collect();
            if again.is_empty() || log.contains("Stale baseline entries") {
                outcome?;
            }
            for name in again {
                self.conformance(&name, &[&words[..], &["--spec-version", REVISION, "--scenario", &name]].concat())?;
            }
            return self.check_refusals();
        }
        for name in CLIENT_SUITES {
            self.conformance(name, &[&words[..], &["--suite", name]].concat())?;
        }
        for name in CLIENT_SCENARIOS {
            let tried = || self.conformance(name, &[&words[..], &["--scenario", name]].concat());
            let mut outcome = tried();
            for _ in 1..MAX_ATTEMPTS {
                if outcome.is_err() && name == "sse-retry" {
                    outcome = tried();
                }
            }
            outcome?;
        }
        self.check_refusals()
    }

    /// Fails unless Aquifer's commands failed in exactly the expected scenarios, because the suite checks only the
    /// messages on the wire.
    fn check_refusals(&self) -> Result<()> {
        let unexpected = self.unexpected_failures()?;
        if !unexpected.is_empty() {
            bail!("aquifer's commands failed: {}. See {}", unexpected.join(", "), self.work.display());
        }
        let failed = self.failed_scenarios()?;
        if let Some(name) = self.edition.refusals().into_iter().find(|name| !failed.contains(*name)) {
            bail!("aquifer's commands should have failed in {name}");
        }
        Ok(())
    }

    /// The scenarios in which Aquifer's commands failed.
    fn failed_scenarios(&self) -> Result<BTreeSet<String>> {
        let mut failed = BTreeSet::new();
        for entry in fs::read_dir(&self.work)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            failed.extend(name.strip_suffix(".failed").map(|scenario| scenario.replace("--", "/")));
        }
        Ok(failed)
    }

    /// Those in which they should have succeeded.
    fn unexpected_failures(&self) -> Result<Vec<String>> {
        let refusals = self.edition.refusals();
        let may_fail = |name: &str| refusals.contains(&name) || self.expected.client.contains(name);
        Ok(self.failed_scenarios()?.into_iter().filter(|name| !may_fail(name)).collect())
    }

    /// Runs the suite, keeps its output, and shows the result of each scenario.
    fn conformance(&self, name: &str, words: &[&str]) -> Result<()> {
        let log = self.work.join(format!("{}.log", name.replace('/', "--")));
        let mut command = Command::new(&self.node);
        command.arg("--require").arg(scripts().join("loopback.cjs")).arg(self.program()).args(words);
        command.arg("--expected-failures").arg(self.edition.pins().join("expected-failures.yml"));
        command.env("AQUIFER", aquifer()).env("AQUIFER_CONFORMANCE_WORK", &self.work);
        let kept = File::create(&log).with_context(|| format!("cannot create {}", log.display()))?;
        command.current_dir(&self.work).stdin(Stdio::null()).stdout(kept.try_clone()?).stderr(kept);
        let status = command.status().context("the suite does not start")?;
        let text = fs::read_to_string(&log).unwrap_or_default();
        for line in text.lines().filter(|line| line.starts_with(['✓', '✗'])) {
            let scenario = line.split([' ', ':']).nth(1).unwrap_or_default();
            let note = if self.expected.contains(scenario) { " (expected)" } else { "" };
            println!("    {line}{note}");
        }
        if !status.success() || text.contains("Client timed out") {
            let lines: Vec<&str> = text.lines().collect();
            println!("{}", lines.get(lines.len().saturating_sub(SHOWN_LINES)..).unwrap_or_default().join("\n"));
            bail!("the MCP conformance suite did not go as expected in '{name}': see {}\n{REMEDY}", log.display());
        }
        // For a single scenario, the suite prints several lines instead.
        if words.contains(&"--scenario") {
            println!("    {} {name}", if self.expected.contains(name) { "✗ (expected)" } else { "✓" });
        }
        Ok(())
    }
}

/// The scenarios that are expected to fail.
#[derive(Debug, Default, PartialEq, Eq)]
struct Expected {
    server: BTreeSet<String>,
    client: BTreeSet<String>,
}

impl Expected {
    /// Parses the list: two keys with a list each, one entry per line.
    fn parse(text: &str) -> Result<Self> {
        let mut expected = Self::default();
        let mut list = None;
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default().trim();
            match (line, line.strip_prefix("- ")) {
                ("", _) => {}
                ("server:", _) => list = Some(&mut expected.server),
                ("client:", _) => list = Some(&mut expected.client),
                (_, Some(name)) if list.as_mut().is_some_and(|list| list.insert(name.trim().to_owned())) => {}
                _ => bail!("expected-failures.yml cannot be read: '{line}' is a duplicate or not an entry"),
            }
        }
        Ok(expected)
    }

    fn contains(&self, name: &str) -> bool {
        self.server.contains(name) || self.client.contains(name)
    }
}

fn scripts() -> PathBuf {
    root().join(Path::new("tests/mcp-conformance"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn the_expected_failures_are_parsed() {
        let text = "# why\n\nserver:\n  - a-b # because\n  - c\nclient:\n  - auth/d\n";
        let expected = Expected { server: names(&["a-b", "c"]), client: names(&["auth/d"]) };
        assert_eq!(Expected::parse(text).ok(), Some(expected));
        for text in ["  - a\n", "server:\n  - a\n  - a\n", "server:\n  a\n", "other:\n", "server: [a]\n"] {
            assert!(Expected::parse(text).is_err(), "{text}");
        }
    }
}
