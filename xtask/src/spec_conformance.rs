//! `cargo xtask spec-conformance`: lets the specification's own runner judge our servers. For each of them, the evidence of
//! a live run goes to that runner, every answer of introspection is validated against the published schema, and the level
//! that the server declares must be the one that both runners grant.
//!
//! The runner and the schemas belong to the specification and are not kept here: `MCPAQL_SPEC_DIR` names a checkout.

#![allow(clippy::indexing_slicing, reason = "a member that an answer lacks is null")]

mod introspection;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::applications;
use crate::install;
use crate::postgres;
use crate::step::{self, Running, announce, aquifer, root, target};

pub(crate) const USAGE: &str = "\
Usage: cargo xtask spec-conformance [NAME...]

Runs the specification's own conformance runner on evidence of our servers, and validates their answers of introspection against the
published schemas. MCPAQL_SPEC_DIR names a checkout of MCPAQL/spec.

Names: demo, mlflow, wagtail, postgres, memory, filesystem, everything, todo; all of them by default.";

/// Names the checkout of the specification.
pub(crate) const VARIABLE: &str = "MCPAQL_SPEC_DIR";

/// How many subjects are judged at the same time: each keeps one core busy.
const JUDGES: usize = 2;

const REMEDY: &str = "Either the server or the runner is wrong. The reports are in target/spec-conformance/work.";

/// A server, and the level that it declares and must be granted.
struct Subject {
    name: &'static str,
    level: u8,
    /// The arguments of `aquifer serve`.
    serve: fn(&Environment) -> Result<Vec<String>>,
}

const SUBJECTS: [Subject; 8] = [
    Subject { name: "demo", level: 2, serve: |_| Ok(vec!["demo:".to_owned()]) },
    Subject { name: "mlflow", level: 2, serve: |_| Ok(vec![applications::sqlite("mlflow")?]) },
    Subject { name: "wagtail", level: 2, serve: |_| Ok(vec![applications::sqlite("wagtail")?]) },
    Subject {
        name: "postgres",
        level: 2,
        serve: |environment| {
            // The URL contains a password, so it goes to a file.
            let url = applications::postgres("wagtail", &environment.postgres()?)?;
            let file = environment.work.join("postgres.toml");
            fs::write(&file, format!("[[source]]\nname = \"wagtail\"\ntarget = \"{url}\"\n"))?;
            Ok(vec!["--config".to_owned(), file.to_string_lossy().into_owned()])
        },
    },
    Subject { name: "memory", level: 2, serve: |environment| environment.mcp_server("memory") },
    Subject { name: "filesystem", level: 1, serve: |environment| environment.mcp_server("filesystem") },
    Subject { name: "everything", level: 1, serve: |environment| environment.mcp_server("everything") },
    Subject { name: "todo", level: 1, serve: |environment| environment.todo_api() },
];

/// The checkout of the specification, if one is named.
pub(crate) fn checkout() -> Result<Option<PathBuf>> {
    let Some(named) = std::env::var_os(VARIABLE).filter(|named| !named.is_empty()) else { return Ok(None) };
    let path = fs::canonicalize(&named).with_context(|| format!("{VARIABLE} names {}", Path::new(&named).display()))?;
    Ok(Some(path))
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let Some(unknown) = arguments.iter().find(|name| !SUBJECTS.iter().any(|subject| subject.name == **name)) {
        bail!("unknown argument '{unknown}'\n\n{USAGE}");
    }
    let Some(checkout) = checkout()? else {
        announce(&format!("NOT CHECKED: {VARIABLE} names no checkout of the specification, so its runner did not run"));
        return Ok(());
    };
    let started = Instant::now();
    step::build_aquifer()?;
    let environment = Environment::prepare(&checkout)?;
    let chosen = SUBJECTS.iter().filter(|own| arguments.is_empty() || arguments.iter().any(|name| own.name == name));
    let failed = environment.judge_all(chosen)?;
    if !failed.is_empty() {
        bail!("these servers do not have their level: {}\n{REMEDY}", failed.join(", "));
    }
    announce(&format!("the specification's runner grants every level, in {} s", started.elapsed().as_secs()));
    Ok(())
}

/// Installs the runner's packages and the applications whose databases are served, if there is a checkout.
pub(crate) fn install() -> Result<()> {
    if checkout()?.is_some() {
        install::npm(&root().join("tests/spec-conformance"), &packages())?;
        applications::install(&["mlflow", "wagtail"])?;
    }
    Ok(())
}

fn home() -> PathBuf {
    target().join("spec-conformance")
}

/// The folder with the packages that the runner needs.
fn packages() -> PathBuf {
    home().join("npm")
}

/// What the subjects and the specification's runner need.
struct Environment {
    /// The checkout, with the packages that the runner needs.
    spec: PathBuf,
    checkout: PathBuf,
    packages: PathBuf,
    work: PathBuf,
    postgres: std::sync::OnceLock<crate::disposable_server::Service>,
    /// The HTTP API, while it runs.
    todo: std::sync::OnceLock<Running>,
}

impl Environment {
    fn prepare(checkout: &Path) -> Result<Self> {
        announce("the specification's runner");
        install::check_interpreters()?;
        let (spec, work, packages) = (home().join("spec"), home().join("work"), packages());
        for folder in [&spec, &work] {
            if folder.exists() {
                fs::remove_dir_all(folder).with_context(|| format!("cannot clear {}", folder.display()))?;
            }
            fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        install::npm(&root().join("tests/spec-conformance"), &packages)?;
        // The runner finds its schemas beside it, and its packages above it.
        for folder in ["scripts", "schemas"] {
            copy(&checkout.join(folder), &spec.join(folder))?;
        }
        let modules = packages.join("node_modules");
        std::os::unix::fs::symlink(&modules, spec.join("node_modules")).context("cannot link the packages")?;
        Ok(Self {
            spec,
            checkout: checkout.to_owned(),
            packages,
            work,
            postgres: std::sync::OnceLock::new(),
            todo: std::sync::OnceLock::new(),
        })
    }

    /// Judges every subject, and returns the names of those that failed. The next ones are prepared meanwhile.
    fn judge_all<'s>(&self, subjects: impl Iterator<Item = &'s Subject>) -> Result<Vec<&'static str>> {
        let (prepared, receiver) = mpsc::channel::<(&Subject, Vec<String>)>();
        let (receiver, failed) = (Mutex::new(receiver), Mutex::new(Vec::new()));
        let judge_prepared = || {
            loop {
                let next = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok((subject, serve)) = next else { return };
                let text = match self.judge(subject, &serve) {
                    Ok(summary) => format!("    {}: level {}, {summary}", subject.name, subject.level),
                    Err(problem) => {
                        failed.lock().unwrap_or_else(PoisonError::into_inner).push(subject.name);
                        format!("{problem:#}")
                    }
                };
                println!("{text}");
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..JUDGES {
                scope.spawn(judge_prepared);
            }
            let result: Result<()> = subjects.into_iter().try_for_each(|subject| {
                announce(&format!("{}: level {}", subject.name, subject.level));
                let _ = prepared.send((subject, (subject.serve)(self)?));
                Ok(())
            });
            drop(prepared);
            result
        })?;
        Ok(failed.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Fails unless a subject declares its level, and both runners grant it. Returns the summary of the specification's.
    fn judge(&self, Subject { name, level, .. }: &Subject, serve: &[String]) -> Result<String> {
        let evidence = self.work.join(format!("{name}.evidence.json"));
        let report = self.work.join(format!("{name}.json"));
        // Before the run, which writes.
        let answers = introspection::answers(self.aquifer().arg("serve").args(["--mode", "single"]).args(serve))?;
        self.validate(name, &answers)?;

        let mut run = self.aquifer();
        run.args([
            "conformance",
            "--level",
            &level.to_string(),
            "--allow-writes",
            "--timeout",
            "60",
            "--format",
            "json",
        ]);
        run.arg("-o").arg(&report).arg("--evidence").arg(&evidence).arg("--spec").arg(&self.checkout);
        run.arg("--").arg(aquifer()).arg("serve").args(serve).stderr(Stdio::null());
        run.status().context("aquifer does not start")?;
        let own = read(&report).with_context(|| format!("{name}: there is no report"))?;
        let (granted, claimed) = (&own["conformanceLevel"], own["claimedConformance"].as_str().unwrap_or("nothing"));
        if *granted != u64::from(*level) {
            bail!("{name}: our own runner grants level {granted}: {}", problems(&own));
        }
        if claimed != format!("level-{level}") {
            bail!("{name}: it declares {claimed} and is granted level {level}");
        }
        self.ask_their_runner(name, *level, &evidence)
    }

    fn ask_their_runner(&self, name: &str, level: u8, evidence: &Path) -> Result<String> {
        let report = self.work.join(format!("{name}.theirs.json"));
        let mut run = Command::new("node");
        run.arg("scripts/run-conformance-tests.mjs").arg("test").arg(evidence);
        run.args(["--level", &level.to_string(), "--tier", "both", "--format", "json", "-o"]).arg(&report);
        run.current_dir(&self.spec).stdout(Stdio::null());
        let status = run.status().context("the specification's runner does not start")?;
        let theirs = read(&report).with_context(|| format!("{name}: the specification's runner wrote no report"))?;
        let summary = &theirs["summary"];
        if !status.success() || theirs["conformanceLevel"] != u64::from(level) {
            bail!("{name}: the specification's runner does not grant level {level}: {}", problems(&theirs));
        }
        Ok(format!("the specification's runner: {summary}"))
    }

    fn validate(&self, name: &str, answers: &[Value]) -> Result<()> {
        let lines: String = answers.iter().map(|answer| format!("{answer}\n")).collect();
        let file = self.work.join(format!("{name}.answers.jsonl"));
        fs::write(&file, lines)?;
        let mut validate = Command::new("node");
        validate.arg(root().join("tests/spec-conformance/validate.mjs"));
        validate.arg(self.spec.join("schemas/introspection-response.schema.json"));
        validate.env("PACKAGES", &self.packages).stdin(fs::File::open(&file)?);
        step::run(&mut validate, "An answer of introspection has something that is not published.")
    }

    fn aquifer(&self) -> Command {
        let mut command = Command::new(aquifer());
        command.env("XDG_STATE_HOME", self.work.join("state")).stdin(Stdio::null());
        command
    }

    fn postgres(&self) -> Result<String> {
        if self.postgres.get().is_none() {
            let _ = self.postgres.set(postgres::provide()?);
        }
        self.postgres.get().context("PostgreSQL is not there")?.url()
    }

    /// One of the reference servers from npm.
    fn mcp_server(&self, name: &str) -> Result<Vec<String>> {
        let packages = install::packages("servers")?;
        let program = packages.join(format!("node_modules/@modelcontextprotocol/server-{name}/dist/index.js"));
        let mut words = vec!["--".to_owned(), "node".to_owned(), program.to_string_lossy().into_owned()];
        if name == "filesystem" {
            let folder = self.work.join("files");
            fs::create_dir_all(&folder)?;
            fs::write(folder.join("notes.txt"), "one\ntwo\nthree\n")?;
            words.push(folder.to_string_lossy().into_owned());
        }
        Ok(words)
    }

    /// An HTTP API from npm, with the description that it serves itself.
    fn todo_api(&self) -> Result<Vec<String>> {
        let mut start = Command::new("node");
        start.arg(root().join("tests/spec-conformance/todo_api.cjs")).env("PACKAGES", &self.packages);
        start.current_dir(&self.work).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = start.spawn().context("the HTTP API does not start")?;
        let out = child.stdout.take().context("the HTTP API has no output")?;
        let _ = self.todo.set(Running(child));
        let mut url = String::new();
        BufReader::new(out).read_line(&mut url)?;
        let url = url.trim();
        if url.is_empty() {
            bail!("the HTTP API ended before it was ready");
        }
        Ok(vec![format!("openapi:{url}/openapi.json"), "--base-url".to_owned(), url.to_owned()])
    }
}

fn read(path: &Path) -> Result<Value> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))
}

/// The checks of a report, ours or theirs, that did not pass.
fn problems(report: &Value) -> String {
    let list = |value: &Value, name: &str| value[name].as_array().cloned().unwrap_or_default();
    let tests = list(report, "categories").into_iter().flat_map(|category| list(&category, "tests"));
    let problems = tests.filter(|test| test["result"] != "PASS" && test["notApplicable"] != true);
    let lines = problems.map(|test| {
        let detail: String = test["detail"].as_str().unwrap_or_default().chars().take(500).collect();
        format!(
            "\n  {} {}: {detail}",
            test["result"].as_str().unwrap_or_default(),
            test["name"].as_str().unwrap_or_default()
        )
    });
    lines.collect()
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let path = entry?.path();
        if let Some(name) = path.file_name().filter(|_| path.is_file()) {
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}
