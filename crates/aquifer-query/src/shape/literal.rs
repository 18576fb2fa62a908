//! What Python prints: many servers are written in it, and some answer with the print of a list of dictionaries.
//!
//! Only what stands for JSON is understood: texts, numbers, `None`, `True`, `False`, lists, tuples, dictionaries with
//! texts as keys. Anything else is text.

use serde_json::{Map, Number, Value};

/// As deep as JSON is read.
const MAX_DEPTH: usize = 120;

/// The value of a printed list or dictionary.
pub(super) fn read(text: &str) -> Option<Value> {
    let text = text.trim();
    if !text.starts_with(['{', '[']) {
        return None;
    }
    let mut reader = Reader { rest: text };
    let value = reader.value(0)?;
    reader.blank();
    reader.rest.is_empty().then_some(value)
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn blank(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Goes on if this comes next.
    fn take(&mut self, expected: &str) -> bool {
        self.blank();
        self.rest.strip_prefix(expected).map(|rest| self.rest = rest).is_some()
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.blank();
        match self.rest.chars().next()? {
            '[' => self.list("[", "]", depth).map(Value::Array),
            '(' => self.list("(", ")", depth).map(Value::Array),
            '{' => self.dictionary(depth).map(Value::Object),
            '\'' | '"' => self.text().map(Value::String),
            '-' | '0'..='9' => self.number(),
            _ => self.word(),
        }
    }

    fn list(&mut self, open: &str, close: &str, depth: usize) -> Option<Vec<Value>> {
        let mut elements = Vec::new();
        self.take(open);
        loop {
            if self.take(close) {
                return Some(elements);
            }
            elements.push(self.value(depth + 1)?);
            if !self.take(",") {
                // A single value in round brackets is no tuple.
                let closed = self.take(close) && (open != "(" || elements.len() > 1);
                return closed.then_some(elements);
            }
        }
    }

    fn dictionary(&mut self, depth: usize) -> Option<Map<String, Value>> {
        let mut fields = Map::new();
        self.take("{");
        loop {
            if self.take("}") {
                return Some(fields);
            }
            self.blank();
            let name = self.text()?;
            if !self.take(":") {
                return None;
            }
            fields.insert(name, self.value(depth + 1)?);
            if !self.take(",") {
                return self.take("}").then_some(fields);
            }
        }
    }

    fn word(&mut self) -> Option<Value> {
        let words = [("None", Value::Null), ("True", Value::Bool(true)), ("False", Value::Bool(false))];
        let (word, value) = words.into_iter().find(|(word, _)| self.rest.starts_with(word))?;
        self.rest = self.rest.get(word.len()..)?;
        // `Nonesense` is another word.
        (!self.rest.starts_with(|next: char| next.is_alphanumeric() || next == '_')).then_some(value)
    }

    fn number(&mut self) -> Option<Value> {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || "+-._".contains(letter);
        let end = self.rest.find(|letter| !is_part(letter)).unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        // JSON writes numbers almost alike; what it does not know (`1j`, `1_000`) is not understood.
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
