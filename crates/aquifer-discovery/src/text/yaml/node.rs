//! A YAML document as a tree with source positions.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::Spanned;

/// A position in a file: line and column, both counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) line: u64,
    pub(crate) column: u64,
}

/// A value and its position.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) at: Position,
    pub(crate) shape: Shape,
}

#[derive(Debug, Clone)]
pub(crate) enum Shape {
    Plain(Value),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key, its position, and its value.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_at: Position,
    pub(crate) value: Node,
}

/// Invalid YAML, or YAML that is not supported.
#[derive(Debug, Clone)]
pub(crate) struct YamlError {
    pub(crate) at: Position,
    pub(crate) message: String,
    pub(crate) is_duplicate: bool,
}

/// Parses one document. `first_line` is its first line in the file.
pub(crate) fn read(text: &str, first_line: u64) -> Result<Node, YamlError> {
    let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false };
    let read: Result<Spanned<Content>, _> = serde_saphyr::from_str_with_options(text, options);
    match read {
        Ok(spanned) => {
            let mut node = node(spanned);
            node.shift(first_line.saturating_sub(1));
            Ok(node)
        }
        Err(error) => {
            let at =
                error.location().map_or(Position::default(), |at| Position { line: at.line(), column: at.column() });
            let message = error.to_string();
            // The position is reported separately.
            let message = message.split(" at line ").next().unwrap_or_default().to_owned();
            let is_duplicate = message.starts_with("duplicate mapping key");
            let line = at.line.max(1) + first_line.saturating_sub(1);
            Err(YamlError { at: Position { line, column: at.column.max(1) }, message, is_duplicate })
        }
    }
}

impl Node {
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entries()?.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    pub(crate) fn entries(&self) -> Option<&[Entry]> {
        match &self.shape {
            Shape::Map(entries) => Some(entries),
            _ => None,
        }
    }

    pub(crate) fn items(&self) -> Option<&[Node]> {
        match &self.shape {
            Shape::List(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match &self.shape {
            Shape::Plain(value) => value.as_str(),
            _ => None,
        }
    }

    /// The value without its positions.
    pub(crate) fn to_json(&self) -> Value {
        match &self.shape {
            Shape::Plain(value) => value.clone(),
            Shape::List(items) => Value::Array(items.iter().map(Node::to_json).collect()),
            Shape::Map(entries) => Value::Object(
                entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json())).collect::<Map<_, _>>(),
            ),
        }
    }

    /// The kind of value, for messages.
    pub(crate) fn type_name(&self) -> &'static str {
        match &self.shape {
            Shape::Plain(Value::Null) => "null",
            Shape::Plain(Value::Bool(_)) => "boolean",
            Shape::Plain(Value::Number(_)) => "number",
            Shape::Plain(_) => "string",
            Shape::List(_) => "array",
            Shape::Map(_) => "object",
        }
    }

    fn shift(&mut self, lines: u64) {
        self.at.line += lines;
        match &mut self.shape {
            Shape::Plain(_) => {}
            Shape::List(items) => items.iter_mut().for_each(|item| item.shift(lines)),
            Shape::Map(entries) => {
                for entry in entries {
                    entry.key_at.line += lines;
                    entry.value.shift(lines);
                }
            }
        }
    }
}

struct Content(Shape);

fn node(spanned: Spanned<Content>) -> Node {
    Node { at: position(&spanned.referenced), shape: spanned.value.0 }
}

fn position(location: &serde_saphyr::Location) -> Position {
    Position { line: location.line(), column: location.column() }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Content, E> {
        Ok(Content(Shape::Plain(Value::Null)))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Content, E> {
        Ok(Content(Shape::Plain(Value::Bool(value))))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Content, E> {
        Ok(Content(Shape::Plain(value.into())))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Content, E> {
        Ok(Content(Shape::Plain(value.into())))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Content, E> {
        Ok(Content(Shape::Plain(Number::from_f64(value).map_or(Value::Null, Value::Number))))
    }

    fn visit_str<E>(self, value: &str) -> Result<Content, E> {
        Ok(Content(Shape::Plain(value.into())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Content, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element::<Spanned<Content>>()? {
            items.push(node(item));
        }
        Ok(Content(Shape::List(items)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Content, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            let value = node(map.next_value()?);
            entries.push(Entry { key_at: position(&key.referenced), key: key.value, value });
        }
        Ok(Content(Shape::Map(entries)))
    }
}
