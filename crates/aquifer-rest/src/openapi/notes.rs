//! Notes for the operator about a description. Their number is limited, however large the description is.

use serde_json::Value;

use super::operation::Entry;

/// The maximum number of lines.
const MAX_NOTES: usize = 40;

/// The maximum number of operations that a line names.
const MAX_NAMED: usize = 5;

/// Notes about a description.
#[derive(Debug, Default)]
pub(super) struct Notes {
    lines: Vec<String>,
    doubts: Vec<String>,
    doubt_count: usize,
    /// The number of operations that the operator excluded.
    pub(super) excluded_count: usize,
}

impl Notes {
    /// Adds a line.
    pub(super) fn add(&mut self, line: String) {
        if self.lines.len() < MAX_NOTES && !self.lines.contains(&line) {
            self.lines.push(line);
        }
    }

    /// Adds an operation whose effects are unclear.
    pub(super) fn add_doubt(&mut self, route: &str, reason: &str) {
        self.doubt_count += 1;
        if self.doubts.len() < MAX_NAMED {
            self.doubts.push(format!("{route} ({reason})"));
        }
    }

    /// Adds a note if there are callbacks or webhooks.
    pub(super) fn add_unsupported(&mut self, description: &Value, entries: &[Entry<'_>]) {
        let count = |json: Option<&Value>| json.and_then(Value::as_object).map_or(0, serde_json::Map::len);
        let callbacks: usize = entries.iter().map(|entry| count(entry.json.get("callbacks"))).sum();
        let webhooks = count(description.get("webhooks")) + count(description.get("x-webhooks"));
        let counted = |count: usize, word: &str| match count {
            0 => None,
            1 => Some(format!("1 {word}")),
            count => Some(format!("{count} {word}s")),
        };
        let both: Vec<String> =
            [counted(callbacks, "callback"), counted(webhooks, "webhook")].into_iter().flatten().collect();
        if !both.is_empty() {
            let verb = if callbacks + webhooks == 1 { "is" } else { "are" };
            self.add(format!("The description has {}, which {verb} not supported.", both.join(" and ")));
        }
    }

    /// All lines.
    pub(super) fn into_lines(mut self) -> Vec<String> {
        match self.excluded_count {
            0 => {}
            1 => self.lines.push("1 operation is excluded by the configuration.".to_owned()),
            count => self.lines.push(format!("{count} operations are excluded by the configuration.")),
        }
        if self.doubt_count > 0 {
            let what = match self.doubt_count {
                1 => "1 operation has unclear effects and needs".to_owned(),
                count => format!("{count} operations have unclear effects and need"),
            };
            let more = match self.doubt_count - self.doubts.len() {
                0 => String::new(),
                more => format!("; and {more} more"),
            };
            self.lines.push(format!("{what} confirmation: {}{more}.", self.doubts.join("; ")));
        }
        self.lines
    }
}
