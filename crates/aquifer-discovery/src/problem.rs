//! Problems in files that people write: position, message and suggestion.

use std::fmt;

use aquifer_protocol::error::Code;
use aquifer_protocol::suggest;

use crate::text::yaml::{Node, Position, YamlError};

/// A problem in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileProblem {
    /// The code.
    pub code: Code,
    /// The field, as a path: `operations.read[0].name`.
    pub path: String,
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1.
    pub column: u64,
    /// The message.
    pub message: String,
    /// A suggestion, if there is one.
    pub suggestion: Option<String>,
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.line, self.column, self.code, self.message)?;
        if let Some(suggestion) = &self.suggestion {
            write!(f, ". {suggestion}")?;
        }
        Ok(())
    }
}

/// Collects problems, so that all are reported at once.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) problems: Vec<FileProblem>,
}

impl Findings {
    pub(crate) fn add(&mut self, code: Code, path: &str, at: Position, message: String) {
        self.add_with(code, path, at, message, None);
    }

    pub(crate) fn add_with(
        &mut self,
        code: Code,
        path: &str,
        at: Position,
        message: String,
        suggestion: Option<String>,
    ) {
        let (path, line, column) = (path.to_owned(), at.line.max(1), at.column.max(1));
        self.problems.push(FileProblem { code, path, line, column, message, suggestion });
    }

    /// Reports text that could not be parsed.
    pub(crate) fn unreadable(&mut self, error: &YamlError) {
        let code = if error.is_duplicate { Code::SchemaDuplicateName } else { Code::SchemaInvalidType };
        self.add(code, "", error.at, format!("Not readable as YAML: {}", crate::text::clean(&error.message)));
    }

    pub(crate) fn wrong_type(&mut self, node: &Node, path: &str, expected: &str) {
        let found = node.type_name();
        let suggestion = match (expected, found) {
            ("string", "number" | "boolean") => Some("Put the value in quotes".to_owned()),
            ("boolean", "string") => Some("Write true or false without quotes".to_owned()),
            ("number", "string") => Some("Write the number without quotes".to_owned()),
            _ => None,
        };
        let message = format!("Field '{path}' expected '{expected}', got '{found}'");
        self.add_with(Code::SchemaInvalidType, path, node.at, message, suggestion);
    }

    pub(crate) fn missing(&mut self, path: &str, at: Position) {
        self.add(Code::SchemaMissingField, path, at, format!("Missing field '{path}'"));
    }

    /// The value of a key. Reports a problem if the key is missing.
    pub(crate) fn required<'a>(&mut self, node: &'a Node, key: &str, path: &str) -> Option<&'a Node> {
        let found = node.get(key);
        if found.is_none() {
            self.missing(&join(path, key), node.at);
        }
        found
    }

    pub(crate) fn text(&mut self, node: &Node, path: &str) -> Option<String> {
        let text = node.as_str().map(str::to_owned);
        if text.is_none() {
            self.wrong_type(node, path, "string");
        }
        text
    }

    pub(crate) fn optional_text(&mut self, node: &Node, key: &str, path: &str) -> Option<String> {
        node.get(key).and_then(|found| self.text(found, &join(path, key)))
    }

    pub(crate) fn flag(&mut self, node: &Node, key: &str, path: &str) -> Option<bool> {
        let found = node.get(key)?;
        let flag = found.to_json().as_bool();
        if flag.is_none() {
            self.wrong_type(found, &join(path, key), "boolean");
        }
        flag
    }

    /// Whether the node is an object. Reports a problem if it is not, and one for each unknown key.
    pub(crate) fn object(&mut self, node: &Node, path: &str, known: &[&str]) -> bool {
        let Some(entries) = node.entries() else {
            self.wrong_type(node, path, "object");
            return false;
        };
        for entry in entries {
            let is_extension = entry.key.starts_with("x-") || entry.key.starts_with("x_");
            if !known.contains(&entry.key.as_str()) && !is_extension {
                let place = join(path, &entry.key);
                let message = format!("Unknown field '{}'", shown(&place));
                self.add_with(
                    Code::SchemaInvalidName,
                    &place,
                    entry.key_at,
                    message,
                    suggestion_for(&entry.key, known),
                );
            }
        }
        true
    }

    /// Reads one of these words. Reports a problem with this code for any other value.
    pub(crate) fn one_of(
        &mut self,
        node: &Node,
        path: &str,
        known: &[&'static str],
        code: Code,
    ) -> Option<&'static str> {
        let word = self.text(node, path)?;
        let found = known.iter().copied().find(|known| *known == word);
        if found.is_none() {
            let message = match code {
                Code::PluginNotFound => format!("Unknown plugin '{}' in '{path}'", shown(&word)),
                _ => format!("Field '{path}' must be one of {}", known.join(", ")),
            };
            let suggestion = suggestion_for(&word, known).or_else(|| Some(format!("Use one of {}", known.join(", "))));
            self.add_with(code, path, node.at, message, suggestion);
        }
        found
    }
}

/// Suggests the name that was probably intended.
pub(crate) fn suggestion_for(wrong: &str, valid: &[&str]) -> Option<String> {
    suggest::nearest(wrong, valid.iter().copied()).map(|name| format!("Did you mean '{name}'?"))
}

/// Cleans and shortens a name from a file for a message.
pub(crate) fn shown(name: &str) -> String {
    crate::text::clean(&crate::text::shorten(name, 80))
}

pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
