//! `cargo xtask check-dependencies`: licences, sources, bans and known vulnerabilities of all dependencies, with
//! cargo-deny. Building that takes minutes, so every push checks what crates declare against the lists in `deny.toml`, and
//! the long run lets cargo-deny read their files.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::Value;

use crate::install::cargo_tool;
use crate::step::{self, announce, cargo, root};

/// How long fetching the advisory database may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(120);

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The part of `deny.toml` that is checked on every push.
#[derive(Deserialize)]
struct Lists {
    licenses: Licenses,
    bans: Bans,
}

#[derive(Deserialize)]
struct Licenses {
    allow: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<Ban>,
}

#[derive(Deserialize)]
struct Ban {
    name: String,
    reason: String,
}

/// Checks what all dependencies declare against `deny.toml`.
pub(crate) fn check_declared() -> Result<()> {
    announce("dependencies: declared licences, sources, bans");
    let lists = fs::read_to_string(root().join("deny.toml")).context("cannot read deny.toml")?;
    let lists: Lists = toml::from_str(&lists).context("deny.toml")?;
    let output = cargo(&["metadata", "--format-version", "1", "--locked"]).stderr(Stdio::inherit()).output()?;
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
    let packages = metadata.get("packages").and_then(Value::as_array).context("cargo metadata lists no packages")?;
    let problems: Vec<String> = packages.iter().filter_map(|package| problem(package, &lists)).collect();
    if !problems.is_empty() {
        bail!("{}\ndeny.toml lists what is allowed and why.", problems.join("\n"));
    }
    Ok(())
}

/// Why a package may not be used, if so. Our own packages have no source.
fn problem(package: &Value, lists: &Lists) -> Option<String> {
    let text = |key: &str| package.get(key).and_then(Value::as_str);
    let (name, source) = (text("name").unwrap_or_default(), text("source")?);
    if source != CRATES_IO {
        return Some(format!("{name} comes from {source}"));
    }
    if let Some(ban) = lists.bans.deny.iter().find(|ban| ban.name == name) {
        return Some(format!("{name} is banned: {}", ban.reason));
    }
    let license = text("license").unwrap_or("an unknown licence");
    let is_allowed = |name: &str| lists.licenses.allow.contains(name);
    (!satisfies(license, &is_allowed)).then(|| format!("{name} is under {license}"))
}

/// Whether a licence expression can be satisfied with allowed licences. `/` is the old spelling of `OR`.
fn satisfies(expression: &str, is_allowed: &dyn Fn(&str) -> bool) -> bool {
    let expression = expression.replace('/', " OR ");
    let mut words = expression.replace('(', " ( ").replace(')', " ) ");
    words.push_str(" )");
    any_of(&mut words.split_whitespace().peekable(), is_allowed)
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

/// Reads alternatives up to the closing parenthesis. `AND` binds closer than `OR`.
fn any_of(words: &mut Words<'_>, is_allowed: &dyn Fn(&str) -> bool) -> bool {
    let (mut any, mut all) = (false, true);
    while let Some(word) = words.next().filter(|word| *word != ")") {
        match word {
            "OR" => {
                any |= all;
                all = true;
            }
            "AND" => {}
            "(" => all &= any_of(words, is_allowed),
            license => {
                let mut license = license.to_owned();
                if words.next_if_eq(&"WITH").is_some() {
                    license = format!("{license} WITH {}", words.next().unwrap_or_default());
                }
                all &= is_allowed(&license);
            }
        }
    }
    any | all
}

pub(crate) fn run(_: &[String]) -> Result<()> {
    let program = cargo_tool("cargo-deny", "0.20.2")?;
    let deny = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.args(arguments).current_dir(root());
        command
    };
    announce("dependencies: bans, licences, sources");
    let remedy = "deny.toml lists what is allowed and why.";
    step::run(&mut deny(&["check", "--hide-inclusion-graph", "bans", "licenses", "sources"]), remedy)?;

    announce("dependencies: known vulnerabilities");
    if !fetched(&mut deny(&["fetch", "db"]))? {
        announce("NOT CHECKED: the advisory database cannot be reached from here");
        return Ok(());
    }
    let remedy = "Update the crate, or list the advisory in deny.toml with the reason why it does not affect us.";
    step::run(&mut deny(&["check", "--disable-fetch", "advisories"]), remedy)
}

/// Whether the command succeeded in time. It is killed on timeout.
fn fetched(fetch: &mut Command) -> Result<bool> {
    let mut child = fetch.stdout(Stdio::null()).stderr(Stdio::null()).spawn().context("cargo-deny does not start")?;
    let deadline = Instant::now() + FETCH_TIMEOUT;
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    child.kill()?;
    child.wait()?;
    Ok(false)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn licence_expressions_are_satisfied_by_allowed_licences() {
        let cases = [
            ("MIT", true),
            ("GPL-3.0", false),
            ("GPL-3.0 OR MIT", true),
            ("MIT AND GPL-3.0", false),
            ("GPL-3.0 AND MIT OR MIT", true),
            ("MIT AND (GPL-3.0 OR ISC)", true),
            ("(GPL-3.0 OR ISC) AND GPL-2.0", false),
            ("Apache-2.0 WITH LLVM-exception OR GPL-3.0", true),
            ("GPL-3.0 WITH LLVM-exception", false),
            ("GPL-3.0/MIT", true),
            ("an unknown licence", false),
        ];
        let is_allowed = |name: &str| ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"].contains(&name);
        for (expression, expected) in cases {
            assert_eq!(satisfies(expression, &is_allowed), expected, "{expression}");
        }
    }

    #[test]
    fn forbidden_packages_are_reported() {
        let lists: Lists = toml::from_str(
            "[licenses]\nallow = ['MIT']\n[bans]\ndeny = [{ name = 'openssl', reason = 'TLS is rustls' }]",
        )
        .unwrap();
        let package = |name: &str, source: &str, license: &str| {
            problem(&json!({ "name": name, "source": source, "license": license }), &lists)
        };
        assert_eq!(package("itoa", CRATES_IO, "MIT"), None);
        assert_eq!(
            package("itoa", "git+https://example.org", "MIT").unwrap(),
            "itoa comes from git+https://example.org"
        );
        assert_eq!(package("openssl", CRATES_IO, "MIT").unwrap(), "openssl is banned: TLS is rustls");
        assert_eq!(package("itoa", CRATES_IO, "GPL-3.0").unwrap(), "itoa is under GPL-3.0");
        assert_eq!(problem(&json!({ "name": "ours", "source": null, "license": null }), &lists), None);
    }
}
