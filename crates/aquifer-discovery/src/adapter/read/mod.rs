//! Reads an adapter file, reports every problem with its position, and accepts what the specification's documents use
//! beyond its schema.

mod danger;
mod operations;
mod pagination;
mod parameters;
mod rate_limits;
mod sidecar;
mod target;

use std::ops::Range;

use aquifer_protocol::error::Code;
use aquifer_protocol::trust::Trust;

use super::{Adapter, Target};
use crate::bundle::SCHEMA_VERSION;
use crate::problem::{FileProblem, Findings, join};
use crate::redact;
use crate::text::yaml::{self, Node, Position, Shape};

/// The fields of the published schema, then those that the specification's documents use.
#[rustfmt::skip]
const FIELDS: &[&str] = &[
    "name", "type", "version", "description", "target", "operations", "auth", "trust", "rate_limits",
    "shared_parameters", "schema_version", "author", "tags", "triggers", "created", "modified", "license", "danger",
    "metadata",
];

pub(super) fn read(text: &str, sidecar: Option<&str>) -> Result<Adapter, Vec<FileProblem>> {
    let mut findings = Findings::default();
    let adapter = parse(text, &mut findings).and_then(|(front, body)| {
        let mut adapter = read_front_matter(&front, body, &mut findings)?;
        match sidecar {
            Some(sidecar) => sidecar::complete(&mut adapter, sidecar, &front, &mut findings),
            None if !matches!(adapter.target, Target::Rest { .. }) => adapter
                .warnings
                .push("There is no sidecar: tools get their parameters under the names in this file".to_owned()),
            None => {}
        }
        Some(adapter)
    });
    match adapter {
        Some(adapter) if findings.problems.is_empty() => Ok(adapter),
        _ => {
            findings.problems.sort_by_key(|problem| (problem.line, problem.column));
            Err(findings.problems)
        }
    }
}

/// The position of the front matter in a file, and where the body starts.
pub(super) struct Parts {
    pub(super) front: Range<usize>,
    pub(super) body: usize,
}

/// Finds the front matter, or returns the problem.
pub(super) fn split(text: &str) -> Result<Parts, &'static str> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if first.strip_prefix('\u{feff}').unwrap_or(first).trim_end() != "---" {
        return Err("Missing field 'front matter': the file must begin with a line '---'");
    }
    let mut end = first.len();
    for line in lines {
        if matches!(line.trim_end(), "---" | "...") && !line.starts_with([' ', '\t']) {
            return Ok(Parts { front: first.len()..end, body: end + line.len() });
        }
        end += line.len();
    }
    Err("The front matter never ends: add a line '---'")
}

/// The front matter as a tree, and what follows it.
pub(super) fn parse<'a>(text: &'a str, findings: &mut Findings) -> Option<(Node, &'a str)> {
    let parts = match split(text) {
        Ok(parts) => parts,
        Err(problem) => {
            findings.add(Code::SchemaMissingField, "", Position { line: 1, column: 1 }, problem.to_owned());
            return None;
        }
    };
    match yaml::read(text.get(parts.front)?, 2) {
        Ok(node) => Some((node, text.get(parts.body..).unwrap_or_default())),
        Err(error) => {
            findings.unreadable(&error);
            None
        }
    }
}

fn read_front_matter(front: &Node, body: &str, findings: &mut Findings) -> Option<Adapter> {
    if !findings.object(front, "", FIELDS) {
        return None;
    }
    refuse_credentials(front, "", findings);
    check_format_version(front, findings);
    let name = findings.required(front, "name", "").and_then(|node| name(node, findings));
    if let Some(node) = findings.required(front, "type", "") {
        findings.one_of(node, "type", &["adapter"], Code::SchemaInvalidType);
    }
    let version = findings.required(front, "version", "").and_then(|node| version(node, findings));
    let description = findings.required(front, "description", "").and_then(|node| findings.text(node, "description"));
    let mut warnings = Vec::new();
    let target = findings.required(front, "target", "").and_then(|node| target::target(node, findings, &mut warnings));
    let is_rest = matches!(target, Some(Target::Rest { .. }));
    let auth = front.get("auth").map(|node| target::auth(node, is_rest, findings)).unwrap_or_default();
    let trust = trust(front, findings);
    let shared = parameters::read_shared_parameters(front, findings);
    let operations = findings
        .required(front, "operations", "")
        .map(|node| operations::operations(node, target.as_ref(), &shared, findings, &mut warnings))
        .unwrap_or_default();
    let rate_limits = rate_limits::read(front, &operations, findings, &mut warnings);
    Some(Adapter {
        name: name?,
        version: version?,
        description: description?,
        target: target?,
        auth,
        trust: trust.cap_self_declared(),
        stated_trust: trust,
        rate_limits,
        operations,
        warnings,
        body: body.to_owned(),
        api: None,
    })
}

fn check_format_version(front: &Node, findings: &mut Findings) {
    let Some(node) = front.get("schema_version") else { return };
    let supported = [SCHEMA_VERSION, "1.0.0", "1.0"];
    if !node.as_str().is_some_and(|version| supported.contains(&version)) {
        let message = "Unsupported version in 'schema_version'".to_owned();
        let suggestion = Some(format!("Use \"{SCHEMA_VERSION}\""));
        findings.add_with(Code::SchemaVersionUnsupported, "schema_version", node.at, message, suggestion);
    }
}

fn name(node: &Node, findings: &mut Findings) -> Option<String> {
    let name = findings.text(node, "name")?;
    let is_fine = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        && name.len() <= 64;
    if !is_fine {
        let message =
            "Invalid name in 'name': use lower-case letters, digits and hyphens, at most 64 characters".to_owned();
        let suggestion = Some(format!("Try '{}'", crate::name::kebab(&name)));
        findings.add_with(Code::SchemaInvalidName, "name", node.at, message, suggestion);
    }
    Some(name)
}

/// `MAJOR.MINOR.PATCH`, perhaps with a pre-release of lower-case letters, digits and dots.
fn version(node: &Node, findings: &mut Findings) -> Option<String> {
    let version = findings.text(node, "version")?;
    let (numbers, pre) =
        version.split_once('-').map_or((version.as_str(), None), |(numbers, pre)| (numbers, Some(pre)));
    let is_number = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
    let is_pre =
        |pre: &str| !pre.is_empty() && pre.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.');
    let parts: Vec<&str> = numbers.split('.').collect();
    if parts.len() != 3 || !parts.into_iter().all(is_number) || !pre.is_none_or(is_pre) {
        let message = "Field 'version' expected 'semantic version'".to_owned();
        let suggestion = Some("Write three numbers in quotes, like \"1.0.0\"".to_owned());
        findings.add_with(Code::SchemaInvalidType, "version", node.at, message, suggestion);
    }
    Some(version)
}

/// The trust level that the file states.
fn trust(front: &Node, findings: &mut Findings) -> Trust {
    let Some(node) = front.get("trust") else { return Trust::Untested };
    let level = if node.entries().is_some() { node.get("level") } else { Some(node) };
    let Some(level) = level else { return Trust::Untested };
    match level.as_str().and_then(Trust::from_name).filter(|level| level.is_published()) {
        Some(trust) => trust,
        None => {
            let levels = Trust::PUBLISHED.map(Trust::as_str);
            findings.one_of(level, "trust.level", &levels, Code::SchemaInvalidType);
            Trust::Untested
        }
    }
}

/// Refuses credentials, because the file is shared and committed (R-DIS-9). Messages never repeat the value.
fn refuse_credentials(node: &Node, path: &str, findings: &mut Findings) {
    match &node.shape {
        Shape::Map(entries) => {
            // A description may contain an example of a token, and names are not secret.
            let is_open = |key: &str| matches!(key, "description" | "name" | "maps_to");
            for entry in entries.iter().filter(|entry| !is_open(&entry.key)) {
                refuse_credentials(&entry.value, &join(path, &entry.key), findings);
            }
        }
        Shape::List(items) => {
            for (index, item) in items.iter().enumerate() {
                refuse_credentials(item, &format!("{path}[{index}]"), findings);
            }
        }
        Shape::Plain(value) => {
            let words = value.as_str().unwrap_or_default();
            if redact::holds_credential(words) {
                refuse(path, node.at, findings);
            }
        }
    }
}

pub(super) fn refuse(path: &str, at: Position, findings: &mut Findings) {
    let message = format!("Field '{path}' holds a credential");
    let suggestion = "Put it into an environment variable and name that: 'token_env' or 'key_env'".to_owned();
    findings.add_with(Code::SchemaInvalidType, path, at, message, Some(suggestion));
}
