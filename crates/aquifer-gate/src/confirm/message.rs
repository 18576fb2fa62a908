//! What a person is asked, in words: a template with the call's parameters in it, without secrets and without tricks.
//!
//! Values come from the caller, who may well be a model that was talked into something. They are shortened, shown on one
//! line, and cannot turn the text around them.

use aquifer_protocol::danger::Danger;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::validate::Checked;
use serde_json::{Map, Value};

use crate::audit::redact;
use crate::policy::Ruling;

/// Characters shown of one value.
const MOST_OF_A_VALUE: usize = 80;

/// Values shown where no template says which.
const MOST_VALUES: usize = 12;

/// Characters of the whole question.
const MOST: usize = 1200;

/// What a person is asked, and why.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) message: String,
    pub(crate) reasons: Vec<String>,
}

impl Asked {
    /// The question about a call: in the operator's words, in its source's, or in plain ones.
    pub(crate) fn about(request: &Checked, ruling: &Ruling) -> Self {
        let operation = request.operation();
        let shown = match redact(operation, Some(request.types()), request.params()) {
            Value::Object(shown) => shown,
            _ => Map::new(),
        };
        let message = match ruling.message().or(operation.safeguards.message.as_deref()) {
            Some(template) => fill_in(template, &shown),
            None => plain(operation, &shown),
        };
        let mut reasons: Vec<String> = operation.safeguards.reasons.iter().map(|reason| clean(reason, MOST)).collect();
        if reasons.is_empty() {
            reasons.extend(danger_in_words(operation.danger).map(str::to_owned));
        }
        let why = ruling.why();
        if !why.is_empty() {
            reasons.push(clean(&why, MOST));
        }
        Self { message: shortened(message, MOST), reasons }
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
        message.push_str(&format!("{} = {}", clean(name, MOST_OF_A_VALUE), quoted(value)));
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
                filled.push_str(&params.get(name).map_or_else(|| "(not given)".to_owned(), shown));
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

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => clean(text, MOST_OF_A_VALUE),
        other => clean(&other.to_string(), MOST_OF_A_VALUE),
    }
}

fn quoted(value: &Value) -> String {
    // A quote inside would end the quotation where the value likes.
    let text = shown(value).replace('\'', "’");
    if value.is_string() { format!("'{text}'") } else { text }
}

/// Text on one line, without characters that hide, reverse or move other characters, and not too long.
fn clean(text: &str, most: usize) -> String {
    let shows = |c: char| match c {
        _ if c.is_control() => '␣',
        '\u{00ad}' | '\u{061c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => '␣',
        '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => '␣',
        _ => c,
    };
    shortened(text.chars().map(shows).take(most + 1).collect(), most)
}

fn shortened(text: String, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text,
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
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
        assert_eq!(fill_in("{long}", long.as_object().unwrap()), format!("{}…", "ä".repeat(MOST_OF_A_VALUE)));
    }
}
