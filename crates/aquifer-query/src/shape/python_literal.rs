//! Parses Python literals: some servers return the printed form of a list of dictionaries.
//!
//! Only what corresponds to JSON is parsed: strings, numbers, `None`, `True`, `False`, lists, tuples, and dictionaries
//! with string keys. Anything else is text.

use serde_json::{Map, Number, Value};

/// The same limit as for JSON.
const MAX_DEPTH: usize = 120;

/// Parses a printed list or dictionary.
pub(super) fn parse(text: &str) -> Option<Value> {
    let text = text.trim();
    if !text.starts_with(['{', '[']) {
        return None;
    }
    let mut parser = Parser { rest: text };
    let value = parser.value(0)?;
    parser.skip_whitespace();
    parser.rest.is_empty().then_some(value)
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn skip_whitespace(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Consumes the expected token, if it comes next.
    fn consume(&mut self, expected: &str) -> bool {
        self.skip_whitespace();
        self.rest.strip_prefix(expected).map(|rest| self.rest = rest).is_some()
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.skip_whitespace();
        match self.rest.chars().next()? {
            '[' => self.list("[", "]", depth).map(Value::Array),
            '(' => self.list("(", ")", depth).map(Value::Array),
            '{' => self.dictionary(depth).map(Value::Object),
            '\'' | '"' => self.text().map(Value::String),
            '-' | '0'..='9' => self.number(),
            _ => self.constant(),
        }
    }

    fn list(&mut self, open: &str, close: &str, depth: usize) -> Option<Vec<Value>> {
        let mut elements = Vec::new();
        self.consume(open);
        loop {
            if self.consume(close) {
                return Some(elements);
            }
            elements.push(self.value(depth + 1)?);
            if !self.consume(",") {
                // A single value in parentheses is not a tuple.
                let closed = self.consume(close) && (open != "(" || elements.len() > 1);
                return closed.then_some(elements);
            }
        }
    }

    fn dictionary(&mut self, depth: usize) -> Option<Map<String, Value>> {
        let mut fields = Map::new();
        self.consume("{");
        loop {
            if self.consume("}") {
                return Some(fields);
            }
            self.skip_whitespace();
            let name = self.text()?;
            if !self.consume(":") {
                return None;
            }
            fields.insert(name, self.value(depth + 1)?);
            if !self.consume(",") {
                return self.consume("}").then_some(fields);
            }
        }
    }

    fn constant(&mut self) -> Option<Value> {
        let words = [("None", Value::Null), ("True", Value::Bool(true)), ("False", Value::Bool(false))];
        let (word, value) = words.into_iter().find(|(word, _)| self.rest.starts_with(word))?;
        self.rest = self.rest.get(word.len()..)?;
        // `Nonesense` is a different word.
        (!self.rest.starts_with(|next: char| next.is_alphanumeric() || next == '_')).then_some(value)
    }

    fn number(&mut self) -> Option<Value> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "+-._".contains(c);
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        // JSON numbers are almost the same. Others (`1j`, `1_000`) are not parsed.
        serde_json::from_str::<Number>(number).ok().map(Value::Number)
    }

    fn text(&mut self) -> Option<String> {
        let quote = self.rest.chars().next().filter(|quote| "'\"".contains(*quote))?;
        self.rest = self.rest.get(1..)?;
        let mut text = String::new();
        loop {
            let special = self.rest.find([quote, '\\'])?;
            let (plain, rest) = self.rest.split_at_checked(special)?;
            text.push_str(plain);
            let mut rest = rest.chars();
            if rest.next()? == quote {
                self.rest = rest.as_str();
                return Some(text);
            }
            let escaped = rest.next()?;
            self.rest = rest.as_str();
            text.push(match escaped {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                '\\' | '\'' | '"' => escaped,
                'x' => self.code_point(2)?,
                'u' => self.code_point(4)?,
                'U' => self.code_point(8)?,
                _ => return None,
            });
        }
    }

    fn code_point(&mut self, digits: usize) -> Option<char> {
        let (number, rest) = self.rest.split_at_checked(digits)?;
        self.rest = rest;
        char::from_u32(u32::from_str_radix(number, 16).ok()?)
    }
}
