//! Renders a call as text for a person: as a question, and in full on a terminal.
//!
//! Values come from the caller, which may be a manipulated model. They must not look like the text around them. Strings
//! are always quoted; replaced secrets never are. Characters that move, reverse, hide or redraw text are escaped, as
//! are the characters used to draw the frame: a line that starts with `├` or `│` is ours, and one that starts with `╎`
//! continues the line above.

use std::collections::HashSet;
use std::fmt::Write as _;

use aquifer_protocol::text::is_hidden;
use serde_json::Value;

use super::call::{FullCall, push_step};
use super::excerpt::{Excerpt, shorten};
use crate::destination::ParameterRole;

/// Starts the first line of a parameter.
const FIRST: &str = "├ ";
/// Starts a line of a list or an object.
const NEXT: &str = "│ ";
/// Starts a continuation line: of multi-line text, or of a line too long for the terminal.
const CONTINUED: &str = "╎ ";
/// Number of columns taken by the prefix of a line.
const MARGIN: usize = 2;
/// Minimum width of a terminal.
const MIN_WIDTH: usize = 20;
/// Maximum number of consecutive blanks in a question. More could make text appear to start a new line.
const MAX_BLANKS: usize = 8;
/// Maximum number of combining marks on a character. More would reach into the lines above and below.
const MAX_MARKS: usize = 2;

impl FullCall {
    /// Every parameter on its own line, for a question. With `shortens`, long texts are shortened.
    pub(super) fn parameter_lines(&self, shortens: bool) -> Vec<String> {
        let places = Places::new(self);
        let line = |(name, value): (&String, &Value)| {
            let mut writer = Writer::new(&places, false);
            writer.shortens = shortens;
            writer.parameter(name, value);
            writer.line
        };
        self.params.iter().map(line).collect()
    }

    /// Renders the full call in a frame for a terminal of this width. Without a width, lines are not wrapped.
    pub fn lines(&self, width: Option<usize>) -> Vec<String> {
        let places = Places::new(self);
        let mut lines = Vec::new();
        for (name, value) in &self.params {
            let mut writer = Writer::new(&places, true);
            writer.parameter(name, value);
            writer.break_line(NEXT);
            for (begin, line) in writer.lines {
                wrap(begin, &line, width, &mut lines);
            }
        }
        lines
    }
}

/// The locations in a call that are rendered differently.
#[derive(Default)]
struct Places<'a> {
    hidden: HashSet<&'a str>,
    defaults: HashSet<&'a str>,
}

impl<'a> Places<'a> {
    fn new(call: &'a FullCall) -> Self {
        let set = |places: &'a [String]| places.iter().map(String::as_str).collect();
        Self { hidden: set(&call.hidden), defaults: set(&call.defaults) }
    }

    fn is_empty(&self) -> bool {
        self.hidden.is_empty() && self.defaults.is_empty()
    }
}

/// Escapes foreign text for use inside a line of ours.
pub fn escape(text: &str) -> String {
    let places = Places::default();
    let mut writer = Writer::new(&places, false);
    writer.text(text, false);
    writer.line
}

/// Quotes and escapes foreign text, so that it cannot be mistaken for the text around it.
pub(super) fn quote(text: &str) -> String {
    let places = Places::default();
    let mut writer = Writer::new(&places, false);
    writer.quoted(text);
    writer.line
}

/// The name of a parameter, quoted unless it is plain.
pub(super) fn quote_name(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    match !name.is_empty() && name.chars().all(is_plain) {
        true => name.to_owned(),
        false => quote(name),
    }
}

/// Wraps our text for a terminal of this width, so that a value in it cannot control where a line starts.
pub fn wrap_text(text: &str, width: Option<usize>) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.lines() {
        wrap("", line, width, &mut lines);
    }
    lines
}

struct Writer<'a> {
    /// Finished lines with their prefixes.
    lines: Vec<(&'static str, String)>,
    begin: &'static str,
    line: String,
    places: &'a Places<'a>,
    /// Whether lists, objects and strings are broken across lines.
    is_multiline: bool,
    /// Whether long texts are shortened.
    shortens: bool,
}

impl<'a> Writer<'a> {
    fn new(places: &'a Places<'a>, is_multiline: bool) -> Self {
        Self { lines: Vec::new(), begin: FIRST, line: String::new(), places, is_multiline, shortens: false }
    }

    fn parameter(&mut self, name: &str, value: &Value) {
        self.line.push_str(&quote_name(name));
        self.line.push_str(" = ");
        self.nested(&mut String::new(), name, |writer, place| writer.member(name, value, place, 0));
    }

    /// A parameter's or a member's value. Its name tells whether it is a text for people, which may be shortened.
    fn member(&mut self, name: &str, value: &Value, place: &mut String, depth: usize) {
        let excerpt = match value {
            Value::String(text) if self.shortens && !self.places.hidden.contains(place.as_str()) => {
                Some(text).filter(|_| ParameterRole::from_name(name) == ParameterRole::Body)
            }
            _ => None,
        };
        match excerpt.and_then(|text| shorten(text)) {
            Some(Excerpt { beginning, end, note }) => {
                self.quoted(beginning);
                self.line.push_str(&format!(" … {note} … "));
                self.quoted(end);
            }
            None => self.value(value, place, depth),
        }
    }

    fn value(&mut self, value: &Value, place: &mut String, depth: usize) {
        match value {
            Value::String(text) if self.places.hidden.contains(place.as_str()) => self.text(text, false),
            Value::String(text) => self.quoted(text),
            Value::Array(items) if items.is_empty() => self.line.push_str("[]"),
            Value::Object(members) if members.is_empty() => self.line.push_str("{}"),
            Value::Array(items) => {
                self.line.push('[');
                for (index, item) in items.iter().enumerate() {
                    self.element(index, depth + 1);
                    self.nested(place, index, |writer, place| writer.value(item, place, depth + 1));
                }
                self.close(']', depth);
            }
            Value::Object(members) => {
                self.line.push('{');
                for (index, (name, member)) in members.iter().enumerate() {
                    self.element(index, depth + 1);
                    self.quoted(name);
                    self.line.push_str(": ");
                    self.nested(place, name, |writer, place| writer.member(name, member, place, depth + 1));
                }
                self.close('}', depth);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                let _ = write!(self.line, "{value}");
            }
        }
    }

    /// Writes a nested value, and marks defaults.
    fn nested(&mut self, place: &mut String, step: impl ToString, write: impl FnOnce(&mut Self, &mut String)) {
        let length = place.len();
        if !self.places.is_empty() {
            push_step(place, &step.to_string());
        }
        write(self, place);
        if self.places.defaults.contains(place.as_str()) {
            self.line.push_str(" (default)");
        }
        place.truncate(length);
    }

    /// Starts the next element.
    fn element(&mut self, index: usize, depth: usize) {
        if index > 0 {
            self.line.push_str(if self.is_multiline { "," } else { ", " });
        }
        self.indent(depth);
    }

    fn close(&mut self, bracket: char, depth: usize) {
        self.indent(depth);
        self.line.push(bracket);
    }

    fn indent(&mut self, depth: usize) {
        if self.is_multiline {
            self.break_line(NEXT);
            self.line.extend(std::iter::repeat_n("  ", depth));
        }
    }

    fn break_line(&mut self, begin: &'static str) {
        self.lines.push((self.begin, std::mem::take(&mut self.line)));
        self.begin = begin;
    }

    fn quoted(&mut self, text: &str) {
        self.line.push('"');
        self.text(text, true);
        self.line.push('"');
    }

    /// Writes text, escaping everything that could be mistaken for its end or for surrounding text.
    fn text(&mut self, text: &str, is_quoted: bool) {
        let (mut blanks, mut marks) = (0, 0);
        let mut rest = text;
        while let Some(character) = rest.chars().next() {
            // Most text is plain and is copied in one piece.
            let plain =
                rest.bytes().take_while(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\')).count();
            if plain > 0 {
                let (plain, behind) = rest.split_at(plain);
                self.line.push_str(plain);
                (rest, blanks, marks) = (behind, 0, 0);
                continue;
            }
            rest = rest.get(character.len_utf8()..).unwrap_or_default();
            blanks = if character == ' ' { blanks + 1 } else { 0 };
            marks = if is_mark(character) { marks + 1 } else { 0 };
            let is_escaped = is_deceptive(character)
                || (is_quoted && looks_like_closing_quote(character))
                || marks > MAX_MARKS
                || (blanks > MAX_BLANKS && !self.is_multiline);
            match character {
                '\n' => {
                    self.line.push_str("\\n");
                    if self.is_multiline && !rest.is_empty() {
                        self.break_line(CONTINUED);
                    }
                }
                '\r' => self.line.push_str("\\r"),
                '\t' => self.line.push_str("\\t"),
                '"' if is_quoted => self.line.push_str("\\\""),
                '\\' => self.line.push_str("\\\\"),
                character if is_escaped => {
                    let _ = write!(self.line, "\\u{{{:x}}}", u32::from(character));
                }
                character => self.line.push(character),
            }
        }
    }
}

/// Whether a character hides, moves or reverses others, looks like a blank, or is used to draw frames.
fn is_deceptive(character: char) -> bool {
    character.is_control()
        || is_hidden(character)
        || (character.is_whitespace() && character != ' ')
        || matches!(character,
            '\u{2500}'..='\u{259f}' | '\u{23a1}'..='\u{23b3}' | '\u{2758}'..='\u{275a}' | '\u{1fb00}'..='\u{1fbff}'
            | '\u{2800}' | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}')
}

/// Whether a character looks like a closing quote.
fn looks_like_closing_quote(character: char) -> bool {
    matches!(character,
        '\u{2ba}' | '\u{201c}'..='\u{201f}' | '\u{2033}' | '\u{2036}' | '\u{275d}'..='\u{275e}'
        | '\u{301d}'..='\u{301f}' | '\u{ff02}')
}

/// Whether a character is a combining mark.
fn is_mark(character: char) -> bool {
    matches!(character,
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5bd}' | '\u{610}'..='\u{61a}'
        | '\u{64b}'..='\u{65f}' | '\u{e31}' | '\u{e34}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}' | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{302a}'..='\u{302f}' | '\u{3099}'..='\u{309a}'
        | '\u{fe20}'..='\u{fe2f}')
}

/// Wraps a line at the terminal's width, so that its rest stays inside the frame. Non-ASCII characters count as two
/// columns.
fn wrap(begin: &str, line: &str, width: Option<usize>, lines: &mut Vec<String>) {
    let room = width.map_or(usize::MAX, |width| width.max(MIN_WIDTH) - MARGIN - 1);
    let (mut current, mut columns) = (begin.to_owned(), 0);
    for character in line.chars() {
        let wide = if character.is_ascii() { 1 } else { 2 };
        if columns + wide > room {
            lines.push(std::mem::replace(&mut current, CONTINUED.to_owned()));
            columns = 0;
        }
        current.push(character);
        columns += wide;
    }
    lines.push(current);
}
