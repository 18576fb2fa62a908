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
    match parsed.value {
        Some(value) => Ok(node(&value, &mut Cursor::new(text))),
        None => Err(JsonError { at: Position { line: 1, column: 1 }, message: "The file is empty".to_owned() }),
    }
}

fn node(value: &ast::Value<'_>, cursor: &mut Cursor<'_>) -> Node {
    let at = cursor.position(value.range().start);
    let shape = match value {
        ast::Value::StringLit(text) => Shape::Plain(Value::from(text.value.as_ref())),
        // A number that cannot be represented becomes null, because no setting needs one.
        ast::Value::NumberLit(number) => Shape::Plain(serde_json::from_str(number.value).unwrap_or(Value::Null)),
        ast::Value::BooleanLit(flag) => Shape::Plain(Value::Bool(flag.value)),
        ast::Value::NullKeyword(_) => Shape::Plain(Value::Null),
        ast::Value::Array(array) => Shape::List(array.elements.iter().map(|element| node(element, cursor)).collect()),
        ast::Value::Object(object) => Shape::Map(
            object
                .properties
                .iter()
                .map(|property| Entry {
                    key: property.name.as_str().to_owned(),
                    key_at: cursor.position(property.range.start),
                    value: node(&property.value, cursor),
                })
                .collect(),
        ),
    };
    Node { at, shape }
}

/// Converts offsets to positions. Offsets are expected in ascending order: each part of the text is then read once,
/// however long its lines are.
struct Cursor<'t> {
    text: &'t str,
    offset: usize,
    at: Position,
    /// How many characters were read.
    read_count: usize,
}

impl<'t> Cursor<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, offset: 0, at: Position { line: 1, column: 1 }, read_count: 0 }
    }

    fn position(&mut self, offset: usize) -> Position {
        if offset < self.offset {
            *self = Self { read_count: self.read_count, ..Self::new(self.text) };
        }
        for letter in self.text.get(self.offset..offset).unwrap_or_default().chars() {
            self.read_count += 1;
            match letter {
                '\n' => self.at = Position { line: self.at.line + 1, column: 1 },
                _ => self.at.column += 1,
            }
        }
        self.offset = offset;
        self.at
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn parse<'t>(text: &'t str, cursor: &mut Cursor<'t>) -> Node {
        let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default()).unwrap();
        node(&parsed.value.unwrap(), cursor)
    }

    #[test]
    fn each_character_is_read_at_most_once() {
        let entries: Vec<String> = (0..500).map(|number| format!("\"k{number}\":{{\"ä\":[1,2]}}")).collect();
        for separator in [",", ",\n"] {
            let text = format!("{{{}}}", entries.join(separator));
            let mut cursor = Cursor::new(&text);
            parse(&text, &mut cursor);
            assert!(cursor.read_count <= text.chars().count(), "{}", cursor.read_count);
        }
    }

    #[test]
    fn positions_are_counted_in_lines_and_characters() {
        let text = "{\"ä\": 1, \"b\": [\n  true]}";
        let node = parse(text, &mut Cursor::new(text));
        let entries = node.entries().unwrap();
        let at = |line, column| Position { line, column };
        assert_eq!((node.at, entries[0].key_at, entries[0].value.at), (at(1, 1), at(1, 2), at(1, 7)));
        assert_eq!((entries[1].key_at, entries[1].value.items().unwrap()[0].at), (at(1, 10), at(2, 3)));
        // Offsets in another order cost more, and are right.
        let mut cursor = Cursor::new(text);
        assert_eq!((cursor.position(text.len()), cursor.position(0)), (at(2, 9), at(1, 1)));
    }
}
