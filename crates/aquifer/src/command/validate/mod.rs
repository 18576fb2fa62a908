//! `aquifer validate`: reports errors in files that people write, with their position and a suggestion.

mod rules;

use std::path::Path;

use aquifer_discovery::adapter::Sidecar;
use aquifer_discovery::{Adapter, Bundle, FileProblem, Overrides, Servers};
use aquifer_protocol::error::Code;
use serde_json::{Value, json};

use crate::CommandOutcome;
use crate::cli::ValidateArgs;
use crate::safety::Safety;
use crate::setup::{offline_rule_problems, read_configuration};
use crate::sources::sidecar_of;
use crate::terminal;

use super::json;
use super::table::count;

pub(crate) use rules::ReachableSources;

const CONFIGURATION: &str = "configuration";

/// The report about one file.
struct FileReport {
    /// The kind of file.
    kind: &'static str,
    /// A short summary of its contents.
    summary: String,
    problems: Vec<FileProblem>,
    /// Warnings that do not make the file invalid.
    warnings: Vec<String>,
}

pub(crate) async fn run(arguments: ValidateArgs) -> anyhow::Result<CommandOutcome> {
    let (mut wrong, mut unreadable) = (false, false);
    for path in &arguments.files {
        let shown = path.display();
        let text = match crate::files::read(path) {
            Ok(text) => text,
            Err(error) => {
                note!("aquifer: cannot read {shown}: {error}");
                unreadable = true;
                continue;
            }
        };
        let mut report = check_file(path, &text);
        if report.kind == CONFIGURATION && report.problems.is_empty() {
            match arguments.offline {
                true => report.problems.extend(offline_rule_problems(&text)),
                false => rules::check(path, &text, &mut report).await,
            }
        }
        wrong |= !report.problems.is_empty();
        if arguments.json {
            json::print(&report.to_json(path).to_string())?;
            continue;
        }
        for warning in &report.warnings {
            note!("{shown}: warning: {warning}");
        }
        for problem in &report.problems {
            let place = if problem.path.is_empty() { String::new() } else { format!(" [{}]", problem.path) };
            terminal::print_line(&format!("{shown}:{problem}{place}"))?;
        }
        if report.problems.is_empty() {
            terminal::print_line(&format!("{shown}: valid {}, {}", report.kind, report.summary))?;
        }
    }
    match (unreadable, wrong) {
        (true, _) => anyhow::bail!("some files could not be read"),
        (false, true) => Ok(CommandOutcome::Failure),
        (false, false) => Ok(CommandOutcome::Done),
    }
}

impl FileReport {
    fn to_json(&self, path: &Path) -> Value {
        let problems: Vec<Value> = self
            .problems
            .iter()
            .map(|problem| {
                json!({
                    "code": problem.code.as_str(), "path": problem.path, "line": problem.line,
                    "column": problem.column, "message": problem.message, "suggestion": problem.suggestion,
                })
            })
            .collect();
        json!({
            "file": path.display().to_string(), "kind": self.kind, "valid": self.problems.is_empty(),
            "problems": problems, "warnings": self.warnings,
        })
    }

    fn new<T>(
        kind: &'static str,
        read: Result<T, Vec<FileProblem>>,
        tell: impl Fn(&T) -> (String, Vec<String>),
    ) -> Self {
        match read {
            Ok(read) => {
                let (summary, warnings) = tell(&read);
                Self { kind, summary, problems: Vec::new(), warnings }
            }
            Err(problems) => Self { kind, summary: String::new(), problems, warnings: Vec::new() },
        }
    }
}

fn check_file(path: &Path, text: &str) -> FileReport {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    match ending.as_str() {
        "md" => adapter(path, text),
        _ if path.to_string_lossy().ends_with(".provenance.json") => sidecar(text),
        "toml" => configuration(text),
        "yaml" | "yml" => FileReport::new("overrides", Overrides::read(text), |read| {
            (count(read.tools.len(), "decision"), Vec::new())
        }),
        _ if is_bundle(text) => FileReport::new("discovery bundle", Bundle::check(text), |read| {
            let warnings = read.normalized_bundle.warnings.iter().map(|one| format!("{}: {}", one.code, one.message));
            (count(read.normalized_bundle.operations.len(), "operation"), warnings.collect())
        }),
        _ => servers(text),
    }
}

fn is_bundle(text: &str) -> bool {
    ["\"raw_capture\"", "\"normalized_bundle\""].iter().any(|word| text.contains(word)) && !Servers::has_servers(text)
}

fn adapter(path: &Path, text: &str) -> FileReport {
    let sidecar = crate::files::read(&sidecar_of(path)).ok();
    FileReport::new("adapter", Adapter::read(text, sidecar.as_deref()), |read| {
        (count(read.operations.len(), "operation"), read.warnings.clone())
    })
}

fn sidecar(text: &str) -> FileReport {
    let read = serde_json::from_str::<Sidecar>(text).map_err(|error| {
        let (line, column) = (error.line() as u64, error.column() as u64);
        let message = "Cannot read the sidecar".to_owned();
        let suggestion = Some("Rebuild it with aquifer build".to_owned());
        let code = Code::SchemaInvalidType;
        vec![FileProblem { code, path: String::new(), line, column, message, suggestion }]
    });
    FileReport::new("sidecar", read, |read| (count(read.operations.len(), "operation"), Vec::new()))
}

fn servers(text: &str) -> FileReport {
    match Servers::read(text) {
        Ok(file) => FileReport {
            kind: "client configuration",
            summary: count(file.servers.len(), "server"),
            problems: file.invalid.into_iter().flat_map(|broken| broken.problems).collect(),
            warnings: file.warnings.iter().map(ToString::to_string).collect(),
        },
        Err(problems) => {
            FileReport { kind: "client configuration", summary: String::new(), problems, warnings: Vec::new() }
        }
    }
}

fn configuration(text: &str) -> FileReport {
    FileReport::new(CONFIGURATION, read_configuration(text), |config| {
        (count(config.source.len(), "source"), Safety::notices(config, true))
    })
}
