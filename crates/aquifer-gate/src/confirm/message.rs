//! What a person is asked, in words: a template with the call's parameters in it, without secrets and without tricks.
//!
//! Values come from the caller, who may well be a model that was talked into something. They are shortened, shown on one
//! line, and cannot turn the text around them.

use aquifer_protocol::danger::Danger;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::text::is_hidden;
use aquifer_protocol::validate::Checked;
use serde_json::{Map, Value};

use crate::audit;
use crate::policy::Ruling;

/// Characters shown of one value in the question. What is more is counted, and the person is told.
const MOST_OF_A_VALUE: usize = 400;

/// Values shown in the question.
const MOST_VALUES: usize = 24;

/// Characters of the whole question, and of a reason.
const MOST: usize = 4000;

/// Characters shown of one value to a person who approves at a terminal.
const MOST_AT_LENGTH: usize = 16 * 1024;

/// Bytes of all values shown to a person who decides.
const MAX_SHOWN: usize = 32 * 1024;

/// What a person is asked, and why.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) message: String,
    pub(crate) reasons: Vec<String>,
    /// Everything that would be sent, at length.
    pub(crate) params: Vec<String>,
}

impl Asked {
    /// The question about a call. The operator may word it. What its source says stands beside it, never in its place:
    /// neither a source nor a caller decides what a person gets to see.
    pub(crate) fn about(request: &Checked, ruling: &Ruling) -> Self {
        let operation = request.operation();
        let shown = match audit::shown(operation, Some(request.types()), request.params(), MAX_SHOWN) {
            Value::Object(shown) => shown,
            _ => Map::new(),
        };
        let message = match (ruling.message(), operation.safeguards.message.as_deref()) {
            (Some(ours), _) => fill_in(ours, &shown),
            (None, Some(theirs)) => {
                format!("{} Its source says: {}", plain(operation, &shown), fill_in(theirs, &shown))
            }
            (None, None) => plain(operation, &shown),
        };
        let mut reasons: Vec<String> = operation.safeguards.reasons.iter().map(|reason| clean(reason, MOST)).collect();
        if reasons.is_empty() {
            reasons.extend(danger_in_words(operation.danger).map(str::to_owned));
        }
        let why = ruling.reason_for_caller();
        if !why.is_empty() {
            reasons.push(clean(&why, MOST));
        }
        let at_length = |(name, value): (&String, &Value)| {
            format!("{} = {}", clean(name, MOST_OF_A_VALUE), quoted(value, MOST_AT_LENGTH))
        };
        Self { message: shortened(message, MOST), reasons, params: shown.iter().map(at_length).collect() }
    }

    /// The whole as one text.
    pub(crate) fn in_one_text(&self) -> String {
        let mut text = self.message.clone();
        for reason in &self.reasons {
            text.push_str("\n- ");
            text.push_str(reason);
        }
        text
    }
}

fn danger_in_words(danger: Danger) -> Option<&'static str> {
    match danger {
        Danger::Safe => None,
        Danger::Reversible => Some("It changes something"),
        Danger::Destructive => Some("It removes or overwrites something for good"),
        Danger::Dangerous => Some("It touches much, or skips a safety"),
        Danger::Forbidden => Some("It can do harm everywhere, and cannot be undone"),
    }
}

/// The question where its source has none.
fn plain(operation: &Operation, params: &Map<String, Value>) -> String {
    let mut message = format!("Run '{}' ({})", operation.name, operation.danger);
    if !operation.source.is_empty() {
        message.push_str(&format!(" of source '{}'", operation.source));
    }
    // What nobody said goes without saying.
    let default = |name: &str| operation.parameters.iter().find(|known| *known.name == *name)?.schema.default.as_ref();
    let said: Vec<(&String, &Value)> = params.iter().filter(|(name, value)| default(name) != Some(*value)).collect();
    for (index, (name, value)) in said.iter().enumerate() {
        if index == MOST_VALUES {
            message.push_str(&format!(" and {} more", said.len() - MOST_VALUES));
            break;
        }
        message.push_str(if index == 0 { " with " } else { ", " });
        message.push_str(&format!("{} = {}", clean(name, MOST_OF_A_VALUE), quoted(value, MOST_OF_A_VALUE)));
    }
    message.push('?');
    message
}

/// Puts values where the template has `{name}`. One pass: what a value says is never read as a template.
fn fill_in(template: &str, params: &Map<String, Value>) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let is_name = |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        match after.split_once('}').filter(|(name, _)| is_name(name)) {
            Some((name, behind)) => {
                let value = params.get(name).map(|value| shown(value, MOST_OF_A_VALUE));
                filled.push_str(value.as_deref().unwrap_or("(not given)"));
                rest = behind;
            }
            None => {
                filled.push('{');
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    clean(&filled, MOST)
}

fn shown(value: &Value, most: usize) -> String {
    match value {
        Value::String(text) => clean(text, most),
        other => clean(&other.to_string(), most),
    }
}

fn quoted(value: &Value, most: usize) -> String {
    // A quote inside would end the quotation where the value likes.
    let text = shown(value, most).replace('\'', "’");
    if value.is_string() { format!("'{text}'") } else { text }
}

/// Text on one line, without characters that hide, reverse or move other characters, and not too long.
fn clean(text: &str, most: usize) -> String {
    let shows = |c: char| if c.is_control() || is_hidden(c) { '␣' } else { c };
    shortened(text.chars().map(shows).collect(), most)
}

/// The text, or its beginning and how much is not shown of it: whoever decides has to know that there is more.
fn shortened(text: String, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text,
        Some((end, _)) => {
            let (shown, rest) = text.split_at(end);
            format!("{shown}… (NOT SHOWN: {} more characters)", rest.chars().count())
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn r_saf_3_templates_are_filled_in_once_and_values_do_no_tricks() {
        let table = [
            ("Delete '{owner}/{repo}'?", "Delete 'acme/wid{owner}get'?"),
            ("{missing} {owner}", "(not given) acme"),
            ("{}{ owner}{owner", "{}{ owner}{owner"),
            ("{lines}", "a␣b␣c"),
            ("{reversed}", "x␣exe.doc"),
            ("{list} {flag} {nothing}", "[1,2] true null"),
            ("{{owner}}", "{acme}"),
        ];
        let params = json!({
            "owner": "acme", "repo": "wid{owner}get", "lines": "a\nb\u{7}c", "reversed": "x\u{202e}exe.doc",
            "list": [1, 2], "flag": true, "nothing": null,
        });
        for (template, expected) in table {
            assert_eq!(fill_in(template, params.as_object().unwrap()), expected);
        }
        let long = json!({ "long": "ä".repeat(5_000) });
        let expected =
            format!("{}… (NOT SHOWN: {} more characters)", "ä".repeat(MOST_OF_A_VALUE), 5_000 - MOST_OF_A_VALUE);
        assert_eq!(fill_in("{long}", long.as_object().unwrap()), expected);
    }
}
