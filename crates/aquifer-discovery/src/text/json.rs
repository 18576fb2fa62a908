//! Parses JSON with comments and trailing commas, as in client files, into a tree with source positions.

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Value;

use crate::text::yaml::{Entry, Node, Position, Shape};

/// Invalid JSON. The message does not quote the text.
#[derive(Debug, Clone)]
pub(crate) struct JsonError {
    pub(crate) at: Position,
    pub(crate) message: String,
}

/// Parses one document.
pub(crate) fn read(text: &str) -> Result<Node, JsonError> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    // Some Windows editors write a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options).map_err(|error| JsonError {
        at: Position { line: error.line_display() as u64, column: error.column_display() as u64 },
        message: error.kind().to_string(),
    })?;
    let lines = Lines::new(text);
    match parsed.value {
        Some(value) => Ok(node(&value, &lines)),
        None => Err(JsonError { at: Position { line: 1, column: 1 }, message: "The file is empty".to_owned() }),
    }
}

fn node(value: &ast::Value<'_>, lines: &Lines<'_>) -> Node {
    let at = lines.position(value.range().start);
    let shape = match value {
        ast::Value::StringLit(text) => Shape::Plain(Value::from(text.value.as_ref())),
        // A number that cannot be represented becomes null, because no setting needs one.
        ast::Value::NumberLit(number) => Shape::Plain(serde_json::from_str(number.value).unwrap_or(Value::Null)),
        ast::Value::BooleanLit(flag) => Shape::Plain(Value::Bool(flag.value)),
        ast::Value::NullKeyword(_) => Shape::Plain(Value::Null),
        ast::Value::Array(array) => Shape::List(array.elements.iter().map(|element| node(element, lines)).collect()),
        ast::Value::Object(object) => Shape::Map(
            object
                .properties
                .iter()
                .map(|property| Entry {
                    key: property.name.as_str().to_owned(),
                    key_at: lines.position(property.range.start),
                    value: node(&property.value, lines),
                })
                .collect(),
        ),
    };
    Node { at, shape }
}

/// The offsets at which lines begin.
struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn new(text: &'t str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(index, _)| index + 1)).collect();
        Self { text, starts }
    }

    fn position(&self, offset: usize) -> Position {
        let line = self.starts.partition_point(|start| *start <= offset).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or_default();
        let column = self.text.get(start..offset).map_or(0, |before| before.chars().count()) + 1;
        Position { line: line as u64, column: column as u64 }
    }
}
