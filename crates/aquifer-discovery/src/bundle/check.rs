//! Validates a bundle that a person may have edited, and reports the position of each problem.

use std::collections::HashSet;

use aquifer_protocol::case::snake_identifier;
use aquifer_protocol::error::Code;
use aquifer_protocol::operation::{MAX_CHOSEN_NAME, RESERVED, is_snake_case};

use super::{Bundle, BundleError};
use crate::problem::{FileProblem, Findings, shown, suggestion_for};
use crate::text::json;
use crate::text::yaml::{Node, Position};

impl Bundle {
    /// Reads a bundle and reports all problems in it.
    pub fn check(text: &str) -> Result<Self, Vec<FileProblem>> {
        let mut findings = Findings::default();
        let bundle = match Self::read(text) {
            Ok(bundle) => bundle,
            Err(BundleError::Version) => {
                let node = json::read(text).ok();
                let at = node.as_ref().and_then(|node| node.get("schema_version")).map(|found| found.at);
                let message = BundleError::Version.to_string();
                findings.add(Code::SchemaVersionUnsupported, "schema_version", at.unwrap_or_default(), message);
                return Err(findings.problems);
            }
            Err(BundleError::Malformed(words)) => {
                let (message, at) = split_position(&words);
                let code = if message.starts_with("missing field") {
                    Code::SchemaMissingField
                } else if message.starts_with("unknown") {
                    Code::SchemaInvalidName
                } else {
                    Code::SchemaInvalidType
                };
                findings.add(code, "", at, shown(&message));
                return Err(findings.problems);
            }
        };
        if let Ok(node) = json::read(text) {
            operations(&bundle, &node, &mut findings);
        }
        if findings.problems.is_empty() { Ok(bundle) } else { Err(findings.problems) }
    }
}

/// Splits a parser's message into its text and the position at its end.
fn split_position(words: &str) -> (String, Position) {
    let Some((message, place)) = words.rsplit_once(" at line ") else { return (words.to_owned(), Position::default()) };
    let mut numbers = place.split(" column ").map(|number| number.trim().parse().unwrap_or(1));
    let at = Position { line: numbers.next().unwrap_or(1), column: numbers.next().unwrap_or(1) };
    (message.to_owned(), at)
}

fn operations(bundle: &Bundle, node: &Node, findings: &mut Findings) {
    let tools = bundle.tools();
    let known: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let nodes = node.get("normalized_bundle").and_then(|node| node.get("operations")).and_then(Node::items);
    let mut names = HashSet::new();
    for (index, made) in bundle.normalized_bundle.operations.iter().enumerate() {
        let path = format!("normalized_bundle.operations[{index}]");
        let own = nodes.and_then(|nodes| nodes.get(index));
        let at = |key: &str| {
            let found = own.and_then(|own| own.get(key)).or(own);
            found.map(|found| found.at).unwrap_or_default()
        };
        let (tool, name) = (&made.source_tool_name, &made.operation_name);
        if !known.contains(&tool.as_str()) {
            let message = format!("Unresolved reference: the capture has no tool '{}'", shown(tool));
            let path = format!("{path}.source_tool_name");
            findings.add_with(
                Code::SchemaUnresolvedRef,
                &path,
                at("source_tool_name"),
                message,
                suggestion_for(tool, &known),
            );
        }
        let path = format!("{path}.operation_name");
        if !is_snake_case(name) || name.len() > MAX_CHOSEN_NAME || RESERVED.contains(&name.as_str()) {
            let message = format!("Invalid name '{}' in '{path}'", shown(name));
            let better = crate::name::fit(&snake_identifier(name), MAX_CHOSEN_NAME);
            let suggestion = (is_snake_case(&better) && &better != name).then(|| format!("Try '{better}'"));
            findings.add_with(Code::SchemaInvalidName, &path, at("operation_name"), message, suggestion);
        }
        if !names.insert(name.as_str()) {
            let message = format!("Duplicate name '{}'", shown(name));
            findings.add(Code::SchemaDuplicateName, &path, at("operation_name"), message);
        }
    }
}
