//! Edits the trust block in the text of the file.
//!
//! Supports the usual forms: a block in lines, a block in braces, one word, no block. The caller reads the result back
//! and compares it, so a wrong guess does no harm.

use std::ops::Range;

use serde_json::{Map, Value, json};

use super::super::read;
use super::TargetTrust;
use crate::text::yaml::{self, Entry, Node, Position, Shape};

type UnsupportedForm = &'static str;

/// The text with the trust block changed.
pub(super) fn edit(
    text: &str,
    front: &Node,
    target: &TargetTrust,
    keep_comments: bool,
) -> Result<String, UnsupportedForm> {
    let parts = read::split(text)?;
    let entries = front.entries().ok_or("the front matter is not an object")?;
    let mut draft = Draft { text, edits: Vec::new(), line_end: if text.contains("\r\n") { "\r\n" } else { "\n" } };
    let root = entries.first().map_or(0, |entry| indent(entry.key_at));
    let first = entries.first().and_then(|entry| draft.offset(entry.key_at));
    let before = first.and_then(|first| text.get(parts.front.start..first)).unwrap_or_default();
    if before.lines().any(|line| line.trim_start().starts_with('{')) {
        return Err("the front matter is in braces");
    }
    let Some(place) = entries.iter().position(|entry| entry.key == "trust") else {
        let block = draft.lines(&json!({ "trust": target.whole() }), root);
        draft.put(parts.front.end..parts.front.end, block);
        return draft.finish();
    };
    let trust = entries.get(place).ok_or("it is missing")?;
    // The start of the next entry.
    let end = match entries.get(place + 1) {
        Some(next) => draft.line_of(next.key_at).ok_or("its end was not found")?,
        None => parts.front.end,
    };
    match &trust.value.shape {
        Shape::Map(fields) if draft.begins(trust.value.at, '{') => draft.in_braces(trust, fields, target)?,
        Shape::Map(fields) => draft.in_lines(fields, target, end, keep_comments)?,
        Shape::Plain(_) => {
            let word = draft.word(trust, false)?;
            let after = draft.remove_word(word)?;
            let block = draft.lines(&target.whole(), root + 2);
            draft.put(after..after, block);
        }
        Shape::List(_) => return Err("it is a list"),
    }
    draft.finish()
}

impl TargetTrust {
    /// Adds a new trust block.
    fn whole(&self) -> Value {
        let mut block = Map::new();
        block.insert("level".to_owned(), json!(self.to));
        block.extend(self.promoted_from.map(|from| ("promoted_from".to_owned(), json!(from))));
        block.insert("promotion_history".to_owned(), json!([self.record]));
        Value::Object(block)
    }
}

struct Draft<'a> {
    text: &'a str,
    edits: Vec<(Range<usize>, String)>,
    line_end: &'static str,
}

impl Draft<'_> {
    /// Edits a block whose fields are on separate lines.
    fn in_lines(
        &mut self,
        fields: &[Entry],
        target: &TargetTrust,
        end: usize,
        keep_comments: bool,
    ) -> Result<(), UnsupportedForm> {
        let first = fields.first().ok_or("it is empty")?;
        let inner = indent(first.key_at);
        let mut missing = Map::new();
        // The line after the level is certainly between two fields.
        let place = match find(fields, "level") {
            Some(level) => {
                let word = self.word(level, false)?;
                self.set(word, target.to.as_str());
                self.line_after(level.key_at).ok_or("its level is not on one line")?
            }
            None => {
                missing.insert("level".to_owned(), json!(target.to));
                self.line_of(first.key_at).ok_or("its first field was not found")?
            }
        };
        if let Some(from) = target.promoted_from {
            match find(fields, "promoted_from") {
                Some(field) => {
                    let word = self.word(field, false)?;
                    self.set(word, from.as_str());
                }
                None => {
                    missing.insert("promoted_from".to_owned(), json!(from));
                }
            }
        }
        match fields.iter().position(|field| field.key == "promotion_history") {
            None => {
                missing.insert("promotion_history".to_owned(), json!([target.record]));
            }
            Some(index) => {
                let history = fields.get(index).ok_or("its history was not found")?;
                let end = match fields.get(index + 1) {
                    Some(next) => self.line_of(next.key_at).ok_or("the end of its history was not found")?,
                    None => end,
                };
                self.append(history, target, end, keep_comments)?;
            }
        }
        if !missing.is_empty() {
            let lines = self.lines(&Value::Object(missing), inner);
            self.put(place..place, lines);
        }
        Ok(())
    }

    /// Adds a record to a history that has its own lines, or brackets, or is empty.
    fn append(
        &mut self,
        history: &Entry,
        target: &TargetTrust,
        end: usize,
        keep_comments: bool,
    ) -> Result<(), UnsupportedForm> {
        let list = json!([target.record]);
        match &history.value.shape {
            Shape::List(_) if self.begins(history.value.at, '[') => self.in_brackets(history, target),
            Shape::List(items) => {
                let first = items.first().ok_or("its history was not found")?;
                let start = self.line_of(first.at).ok_or("its history was not found")?;
                let line = self.text.get(start..).unwrap_or_default();
                let indent = line.len() - line.trim_start_matches(' ').len();
                let place = if keep_comments { end } else { self.before_comments(start, end) };
                let lines = self.lines(&list, indent);
                self.put(place..place, lines);
                Ok(())
            }
            Shape::Plain(Value::Null) => {
                let word = self.word(history, false)?;
                let after = self.remove_word(word)?;
                let lines = self.lines(&list, indent(history.key_at) + 2);
                self.put(after..after, lines);
                Ok(())
            }
            _ => Err("its promotion_history is not a list"),
        }
    }

    /// Edits a block in braces, which stays in braces.
    fn in_braces(&mut self, trust: &Entry, fields: &[Entry], target: &TargetTrust) -> Result<(), UnsupportedForm> {
        let start = self.offset(trust.value.at).ok_or("its braces were not found")?;
        let end = self.closing(start).ok_or("its braces were not found")?;
        let mut missing = Vec::new();
        let promoted = target.promoted_from.map(|from| ("promoted_from", from.as_str()));
        for (name, word) in [("level", target.to.as_str())].into_iter().chain(promoted) {
            match find(fields, name) {
                Some(field) => {
                    let range = self.word(field, true)?;
                    self.set(range, word);
                }
                None => missing.push(format!("{name}: {word}")),
            }
        }
        match find(fields, "promotion_history") {
            Some(history) if self.begins(history.value.at, '[') => self.in_brackets(history, target)?,
            Some(_) => return Err("its promotion_history is not a list"),
            None => missing.push(format!("promotion_history: [{}]", target.record)),
        }
        if !missing.is_empty() {
            let inside = self.text.get(start + 1..end).unwrap_or_default();
            let (end, between) = (start + 1 + inside.trim_end().len(), if fields.is_empty() { "" } else { ", " });
            self.put(end..end, format!("{between}{}", missing.join(", ")));
        }
        Ok(())
    }

    fn in_brackets(&mut self, history: &Entry, target: &TargetTrust) -> Result<(), UnsupportedForm> {
        let start = self.offset(history.value.at).ok_or("its brackets were not found")?;
        let end = self.closing(start).ok_or("its brackets were not found")?;
        let inside = self.text.get(start + 1..end).unwrap_or_default();
        let end = start + 1 + inside.trim_end().len();
        let between = if inside.trim().is_empty() { "" } else { ", " };
        // JSON is YAML.
        self.put(end..end, format!("{between}{}", target.record));
        Ok(())
    }

    /// The range of the word after a key, on the key's own line. An empty range after the colon if there is no word.
    fn word(&self, entry: &Entry, in_flow: bool) -> Result<Range<usize>, UnsupportedForm> {
        let unusual = "a value is not one plain word on its own line";
        let key = self.offset(entry.key_at).ok_or(unusual)?;
        let line = self.text.get(key..).and_then(|rest| rest.lines().next()).ok_or(unusual)?;
        let colon = line.find(':').ok_or(unusual)?;
        if line.get(..colon).map(|key| key.trim().trim_matches(['"', '\''])) != Some(entry.key.as_str()) {
            return Err(unusual);
        }
        let rest = line.get(colon + 1..).ok_or(unusual)?;
        let blanks = rest.len() - rest.trim_start().len();
        let (begin, rest) = (key + colon + 1 + blanks, rest.trim_start());
        match rest.chars().next() {
            None | Some('#') => Ok(key + colon + 1..key + colon + 1),
            Some(quote @ ('"' | '\'')) => {
                let end = rest.get(1..).and_then(|rest| rest.find(quote)).ok_or(unusual)?;
                Ok(begin..begin + end + 2)
            }
            Some('&' | '*' | '!' | '|' | '>' | '[' | '{') => Err(unusual),
            Some(_) => {
                let stop = if in_flow { rest.find([',', '}', ']']) } else { None };
                let end = [stop, rest.find(" #")].into_iter().flatten().min().unwrap_or(rest.len());
                Ok(begin..begin + rest.get(..end).ok_or(unusual)?.trim_end().len())
            }
        }
    }

    fn set(&mut self, word: Range<usize>, to: &str) {
        let is_behind_colon = self.text.get(..word.start).is_some_and(|before| before.ends_with(':'));
        let blank = if is_behind_colon { " " } else { "" };
        self.put(word, format!("{blank}{to}"));
    }

    /// Removes a word, and the blanks before it if it is the last one on its line. Returns the start of the next line.
    fn remove_word(&mut self, word: Range<usize>) -> Result<usize, UnsupportedForm> {
        let before = self.text.get(..word.start).ok_or("its line was not found")?;
        let after = self.text.get(word.end..).ok_or("its line was not found")?;
        let rest = after.split_inclusive('\n').next().unwrap_or_default();
        let start = if rest.trim().is_empty() { before.trim_end_matches([' ', '\t']).len() } else { word.start };
        let next = word.end + rest.len();
        self.put(start..word.end, String::new());
        Ok(next)
    }

    /// The start of the blank lines and comments at the end of a range.
    fn before_comments(&self, start: usize, end: usize) -> usize {
        let mut place = end;
        for line in self.text.get(start..end).unwrap_or_default().split_inclusive('\n').rev() {
            if !line.trim().is_empty() && !line.trim_start().starts_with('#') {
                break;
            }
            place -= line.len();
        }
        place
    }

    /// The position of the bracket that closes the one at `start`.
    fn closing(&self, start: usize) -> Option<usize> {
        let mut depth = 0_usize;
        let mut quote = None;
        let mut is_escaped = false;
        for (offset, c) in self.text.get(start..)?.char_indices() {
            match (quote, c) {
                (Some('"'), '\\') if !is_escaped => {
                    is_escaped = true;
                    continue;
                }
                (Some(open), c) if c == open && !is_escaped => quote = None,
                (Some(_), _) => {}
                (None, '"' | '\'') => quote = Some(c),
                (None, '{' | '[') => depth += 1,
                (None, '}' | ']') => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        return Some(start + offset);
                    }
                }
                (None, _) => {}
            }
            is_escaped = false;
        }
        None
    }

    fn begins(&self, at: Position, with: char) -> bool {
        self.offset(at).and_then(|offset| self.text.get(offset..)).is_some_and(|rest| rest.starts_with(with))
    }

    /// The byte offset of a line and column.
    fn offset(&self, at: Position) -> Option<usize> {
        let start = self.line_of(at)?;
        let line = self.text.get(start..)?;
        let column = usize::try_from(at.column).ok()?.checked_sub(1)?;
        line.char_indices().nth(column).map(|(offset, _)| start + offset)
    }

    /// The byte offset at which the line of a position starts.
    fn line_of(&self, at: Position) -> Option<usize> {
        let index = usize::try_from(at.line).ok()?.checked_sub(1)?;
        let mut lines = self.text.split_inclusive('\n');
        let before: usize = lines.by_ref().take(index).map(str::len).sum();
        lines.next().map(|_| before)
    }

    fn line_after(&self, at: Position) -> Option<usize> {
        self.line_of(Position { line: at.line + 1, ..at })
    }

    /// A value as YAML, indented, with the file's own line ends.
    fn lines(&self, value: &Value, indent: usize) -> String {
        let blanks = " ".repeat(indent);
        yaml::write(value).lines().map(|line| format!("{blanks}{line}{}", self.line_end)).collect()
    }

    fn put(&mut self, place: Range<usize>, words: String) {
        self.edits.push((place, words));
    }

    fn finish(mut self) -> Result<String, UnsupportedForm> {
        self.edits.sort_by_key(|(place, _)| place.start);
        let mut changed = String::with_capacity(self.text.len() + 256);
        let mut copied_to = 0;
        for (place, words) in &self.edits {
            changed.push_str(self.text.get(copied_to..place.start).ok_or("two edits overlap")?);
            changed.push_str(words);
            copied_to = place.end;
        }
        changed.push_str(self.text.get(copied_to..).ok_or("two edits overlap")?);
        Ok(changed)
    }
}

fn find<'a>(fields: &'a [Entry], name: &str) -> Option<&'a Entry> {
    fields.iter().find(|field| field.key == name)
}

fn indent(at: Position) -> usize {
    usize::try_from(at.column.saturating_sub(1)).unwrap_or(0)
}
