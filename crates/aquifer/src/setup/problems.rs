//! The problems of a configuration that can be found without its sources.

use aquifer_discovery::FileProblem;
use aquifer_gate::policy::{Policy, RuleKind, UnusedRule};
use aquifer_protocol::error::Code;

use crate::config::{ApprovalsProblem, Config, SourceConfig};
use crate::safety::{Safety, SourceFacts};
use crate::sources::{given_name, name_problem, repeated_name};

/// All problems that can be found without the sources.
pub(crate) fn configuration_problems(text: &str) -> Vec<FileProblem> {
    match read_configuration(text) {
        Ok(_) => offline_rule_problems(text),
        Err(problems) => problems,
    }
}

/// Reads a configuration whose settings are consistent. Its rules are not checked.
pub(crate) fn read_configuration(text: &str) -> Result<Config, Vec<FileProblem>> {
    let config = Config::parse(text).map_err(|problem| vec![problem])?;
    let problems = find_inconsistencies(&config, text);
    if problems.is_empty() { Ok(config) } else { Err(problems) }
}

/// The problems of rules that do not depend on the sources.
pub(crate) fn offline_rule_problems(text: &str) -> Vec<FileProblem> {
    let Ok(config) = Config::parse(text) else { return Vec::new() };
    let has_several = config.source.iter().filter(|source| !source.disabled).count() > 1;
    let facts = SourceFacts { has_several, ..SourceFacts::default() };
    match Policy::new(&facts.gate_settings(&config.gate).policy) {
        Ok(policy) => policy.rules_without_source().iter().map(|rule| unused_rule_problem(rule, text)).collect(),
        Err(_) => Vec::new(),
    }
}

/// A rule without effect as a problem of the file.
pub(crate) fn unused_rule_problem(unused: &UnusedRule, text: &str) -> FileProblem {
    let key = match unused.kind {
        RuleKind::Rule => "rule",
        RuleKind::RateLimit => "rate_limit",
        RuleKind::Quota => "quota",
        RuleKind::Cost => "cost",
    };
    let heading = format!("[[gate.{key}]]");
    let headings = text.lines().zip(1_u64..).filter(|(line, _)| line.trim_start().starts_with(&heading));
    let line = headings.map(|(_, line)| line).nth(unused.number.saturating_sub(1)).unwrap_or(1);
    FileProblem {
        code: Code::SchemaUnresolvedRef,
        path: format!("gate.{key}[{}]", unused.number.saturating_sub(1)),
        line,
        column: 1,
        message: unused.to_string(),
        suggestion: None,
    }
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
