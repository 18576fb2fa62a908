//! `aquifer validate`: reports errors in files that people write, with their position and a suggestion.

mod rules;

use std::path::Path;

use aquifer_discovery::adapter::Sidecar;
use aquifer_discovery::{Adapter, Bundle, FileProblem, Overrides, Servers};
use aquifer_protocol::error::Code;
use serde_json::{Value, json};

use crate::CommandOutcome;
use crate::cli::ValidateArgs;
use crate::config::{ApprovalsProblem, Config, SourceConfig};
use crate::safety::Safety;
use crate::sources::{given_name, name_problem, repeated_name, sidecar_of};
use crate::terminal;

use super::json;
use super::table::count;

pub(crate) use rules::ReachableSources;
pub(crate) use rules::problem as unused_rule_problem;

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
                true => rules::check_offline(&text, &mut report),
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
    let read = Config::parse(text).map_err(|problem| vec![problem]);
    let read = read.and_then(|config| {
        let problems = find_inconsistencies(&config, text);
        if problems.is_empty() { Ok(config) } else { Err(problems) }
    });
    FileReport::new(CONFIGURATION, read, |config| (count(config.source.len(), "source"), Vec::new()))
}

/// The problems of a configuration that can be found without its sources.
pub(crate) fn configuration_problems(text: &str) -> Vec<FileProblem> {
    let mut found = configuration(text);
    if found.problems.is_empty() {
        rules::check_offline(text, &mut found);
    }
    found.problems
}

/// Finds settings that parse but are inconsistent.
fn find_inconsistencies(config: &Config, text: &str) -> Vec<FileProblem> {
    let headings = text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with("[[source]]"));
    let lines: Vec<u64> = headings.map(|(index, _)| index as u64 + 1).collect();
    let mut problems = Vec::new();
    for (index, source) in config.source.iter().enumerate() {
        let line = lines.get(index).copied().unwrap_or(1);
        let mut wrong = |code, path: String, line, message: &str| {
            let message = message.to_owned();
            problems.push(FileProblem { code, path, line, column: 1, message, suggestion: None });
        };
        let kinds = [source.target.is_some(), source.command.is_some(), source.url.is_some()];
        let path = format!("source[{index}]");
        match kinds {
            [false, false, false] if source.adapter.is_none() && source.openapi.is_none() => {
                let message = "A source needs a target, a command, a url or an OpenAPI description in 'openapi'";
                wrong(Code::SchemaMissingField, path, line, message);
            }
            [_, true, true] => {
                wrong(Code::SchemaInvalidType, path, line, "A source must have either a command or a url");
            }
            _ => {}
        }
        if let Some((key, message)) = source.unused_patterns().filter(|_| source.is_mcp()) {
            wrong(Code::SchemaInvalidName, format!("source[{index}].{key}"), find_line(text, line, key), message);
        }
        for (name, overrides) in &source.operations {
            let path = format!("source[{index}].operations.{name}");
            let line = find_line(text, line, name);
            if let Some(problem) = overrides.problem() {
                wrong(Code::SchemaInvalidType, format!("{path}.rows"), line, problem);
            }
            if !source.may_be_mcp() {
                let message = "'operations' applies to MCP servers; use 'tables' for databases";
                wrong(Code::SchemaInvalidName, path, line, message);
            }
        }
    }
    for (index, source) in config.source.iter().enumerate() {
        if let Some(problem) = given_name(source).and_then(name_problem) {
            problems.push(FileProblem {
                code: Code::SchemaInvalidName,
                path: format!("source[{index}].name"),
                line: find_line(text, lines.get(index).copied().unwrap_or(1), "name"),
                column: 1,
                message: problem,
                suggestion: Some("Give it another name".to_owned()),
            });
        }
    }
    if let Some(name) = repeated_name(&config.source) {
        let is_named = |source: &&SourceConfig| !source.disabled && source.name.as_deref() == Some(name);
        let named = config.source.iter().zip(0_usize..).filter(|(source, _)| is_named(source));
        let index = named.map(|(_, index)| index).nth(1).unwrap_or_default();
        problems.push(FileProblem {
            code: Code::SchemaInvalidName,
            path: format!("source[{index}].name"),
            line: find_line(text, lines.get(index).copied().unwrap_or(1), "name"),
            column: 1,
            message: format!("Another source also has the name '{name}'"),
            suggestion: Some("Give each source a different name".to_owned()),
        });
    }
    let heading =
        text.lines().position(|line| line.trim_start().starts_with("[gate") || line.trim_start().starts_with("[[gate"));
    for message in Safety::problems(config) {
        let line = heading.map_or(1, |index| index as u64 + 1);
        let (code, path) = (Code::SchemaInvalidType, "gate".to_owned());
        problems.push(FileProblem { code, path, line, column: 1, message, suggestion: None });
    }
    let heading = text.lines().position(|line| line.trim() == "[approvals]");
    for ApprovalsProblem { setting, message } in config.approvals.problems() {
        problems.push(FileProblem {
            code: Code::SchemaInvalidType,
            path: format!("approvals.{setting}"),
            line: find_line(text, heading.map_or(1, |index| index as u64 + 1), setting),
            column: 1,
            message,
            suggestion: None,
        });
    }
    for (section, wrong) in [("limits", config.limits.limits().check()), ("results", config.results.check())] {
        let heading = text.lines().position(|line| line.trim() == format!("[{section}]"));
        for wrong in wrong {
            let message =
                format!("'{}' is {}; it must be from {} to {}", wrong.name, wrong.value, wrong.min, wrong.max);
            problems.push(FileProblem {
                code: Code::SchemaInvalidType,
                path: format!("{section}.{}", wrong.name),
                line: find_line(text, heading.map_or(1, |index| index as u64 + 1), wrong.name),
                column: 1,
                message,
                suggestion: None,
            });
        }
    }
    problems
}

/// The first line at or after `from` that sets a name, or `from` if there is none.
fn find_line(text: &str, from: u64, name: &str) -> u64 {
    let rest = text.lines().zip(1_u64..).skip_while(|(_, line)| *line < from);
    let is_about = |line: &str| {
        let (line, heading) = (line.trim_start(), format!(".{name}]"));
        line.strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with(['=', '.'])) || line.contains(&heading)
    };
    rest.filter(|(line, _)| is_about(line)).map(|(_, line)| line).next().unwrap_or(from)
}
