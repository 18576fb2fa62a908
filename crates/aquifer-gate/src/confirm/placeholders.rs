//! Texts of the operator or the source in which `{name}` stands for a value: a parameter (`{amount}`), a value inside one
//! (`{order.amount}`), or a field of the row as it is (`{before.total}`) or would be (`{after.total}`).

use aquifer_engine::rehearsal::Preview;
use aquifer_protocol::text::secrets;
use aquifer_protocol::text::template::{self, Piece};
use serde_json::{Map, Value};

use super::call::{FullCall, push_step};
use super::message::{MAX_TEXT_CHARS, truncate};
use super::render::{escape, quote};
use crate::policy::{AFTER, BEFORE};
use crate::redact::redact_text;

/// Maximum number of characters of a value inserted into a text. The parameters follow in full.
pub(super) const MAX_MENTIONED_CHARS: usize = 400;

/// The values that a text can contain.
#[derive(Clone, Copy)]
pub(super) struct PlaceholderValues<'a> {
    /// `None` if the call cannot be shown.
    pub(super) call: Option<&'a FullCall>,
    pub(super) preview: Option<&'a Preview>,
}

/// Replaces every `{name}` with its value, on one line. Values are not expanded again. A value that could be read as a part
/// of the sentence is quoted.
pub(super) fn fill_in(template: &str, values: PlaceholderValues<'_>) -> String {
    let pieces: Vec<Piece<'_>> = template::split(template).into_iter().collect();
    let mut out = String::new();
    for (index, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Text(text) => out += &escape(text),
            Piece::Name(name) => {
                let next = match pieces.get(index + 1) {
                    Some(Piece::Text(text)) => text.chars().next(),
                    _ => None,
                };
                let quotes = next.filter(|next| ['\'', '"'].contains(next) && out.ends_with(*next));
                out += &within_quotes(values.mention(name), quotes);
            }
        }
    }
    truncate(&out, MAX_TEXT_CHARS)
}

/// A value between quotes of the text itself needs none of its own, and cannot end them.
fn within_quotes(mentioned: String, quotes: Option<char>) -> String {
    let inner = mentioned.strip_prefix('"').and_then(|inner| inner.strip_suffix('"'));
    match (inner, quotes) {
        (Some(inner), Some('\'')) => inner.replace("\\\"", "\"").replace('\'', "\\'"),
        (Some(inner), Some(_)) => inner.to_owned(),
        _ => mentioned,
    }
}

impl PlaceholderValues<'_> {
    fn mention(&self, path: &str) -> String {
        if let Some(found) = self.call.and_then(|call| find(&call.params, path)) {
            let is_hidden = self.call.is_some_and(|call| is_hidden(call, path));
            return if is_hidden { found.as_str().map(escape).unwrap_or_default() } else { mention(&found) };
        }
        let is_param = |name: &str| self.call.is_some_and(|call| call.params.contains_key(name));
        let row = path.split_once('.').filter(|(first, _)| !is_param(first));
        match row {
            Some((BEFORE, field)) => self.mention_field(field, |preview| &preview.before),
            Some((AFTER, field)) => self.mention_field(field, |preview| &preview.after),
            _ => "(not given)".to_owned(),
        }
    }

    /// A field of a row. The row is known only if the change was rehearsed and the caller may read it.
    fn mention_field(&self, path: &str, row: fn(&Preview) -> &Map<String, Value>) -> String {
        let found = self.preview.and_then(|preview| find(row(preview), path));
        match found {
            None => "(not known)".to_owned(),
            Some(_) if path.split('.').any(secrets::names_secret) => "[hidden]".to_owned(),
            Some(Value::String(text)) => mention(&Value::String(redact_text(&text, MAX_MENTIONED_CHARS))),
            Some(other) => mention(&other),
        }
    }
}

/// Whether the value at a path is the placeholder of a secret, which is ours and never quoted.
fn is_hidden(call: &FullCall, path: &str) -> bool {
    let pointer = |steps: &mut dyn Iterator<Item = &str>| {
        let mut pointer = String::new();
        steps.for_each(|step| push_step(&mut pointer, step));
        pointer
    };
    let pointers = [pointer(&mut std::iter::once(path)), pointer(&mut path.split('.'))];
    call.hidden.iter().any(|hidden| pointers.contains(hidden))
}

/// The value at a path. A path goes into every element of a list.
fn find(object: &Map<String, Value>, path: &str) -> Option<Value> {
    if let Some(value) = object.get(path) {
        return Some(value.clone());
    }
    let (first, rest) = path.split_once('.')?;
    find_in(object.get(first)?, rest)
}

fn find_in(value: &Value, path: &str) -> Option<Value> {
    match value {
        Value::Object(members) => find(members, path),
        Value::Array(items) => {
            let found: Vec<Value> = items.iter().filter_map(|item| find_in(item, path)).collect();
            (!found.is_empty()).then_some(Value::Array(found))
        }
        _ => None,
    }
}

fn mention(value: &Value) -> String {
    match value {
        Value::String(text) => {
            let shown = truncate(text, MAX_MENTIONED_CHARS);
            let is_word = !text.contains(|c: char| c.is_whitespace() || c.is_control() || "?!\"'".contains(c));
            if is_word { escape(&shown) } else { quote(&shown) }
        }
        other => escape(&truncate(&other.to_string(), MAX_MENTIONED_CHARS)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use serde_json::json;

    use super::*;

    fn filled(template: &str, params: &Value, preview: Option<&Preview>) -> String {
        let params = params.as_object().unwrap().clone();
        let call = FullCall { params, defaults: Vec::new(), hidden: vec!["/order/pin".to_owned()] };
        fill_in(template, PlaceholderValues { call: Some(&call), preview })
    }

    #[test]
    fn r_saf_3_templates_are_filled_in_once_and_values_are_escaped() {
        let table = [
            ("Delete '{owner}/{repo}'?", "Delete 'acme/wid{owner}get'?"),
            ("{missing} {owner}", "(not given) acme"),
            ("{}{ owner}{owner", "{}{ owner}{owner"),
            ("{lines}", "\"a\\nb\\u{7}c\""),
            ("{reversed}", "x\\u{202e}exe.doc"),
            ("{list} {flag} {nothing}", "[1,2] true null"),
            ("{{owner}}", "{acme}"),
            ("To {forged}", "To \"Bob? It is harmless.\""),
        ];
        let params = json!({
            "owner": "acme", "repo": "wid{owner}get", "lines": "a\nb\u{7}c", "reversed": "x\u{202e}exe.doc",
            "list": [1, 2], "flag": true, "nothing": null, "forged": "Bob? It is harmless.",
        });
        for (template, expected) in table {
            assert_eq!(filled(template, &params, None), expected);
        }
        let long = json!({ "long": "ä".repeat(5_000) });
        let expected = format!(
            "{}… (NOT SHOWN: {} more characters)",
            "ä".repeat(MAX_MENTIONED_CHARS),
            5_000 - MAX_MENTIONED_CHARS
        );
        assert_eq!(filled("{long}", &long, None), expected);
    }

    #[test]
    fn r_saf_9_messages_quote_values_inside_parameters_and_rows() {
        let row = |value: Value| value.as_object().unwrap().clone();
        let preview = Preview {
            before: row(json!({ "total": 120, "password": "hunter2", "meta": { "by": "Anna" } })),
            after: row(json!({ "total": 90 })),
            ..Preview::default()
        };
        let params = json!({
            "order": { "amount": 5, "pin": "[hidden, 4 characters]" }, "lines": [{ "sku": "a" }, { "sku": "b c" }, {}],
            "flat.name": "x", "after": { "total": "mine" },
        });
        for (template, expected) in [
            ("{order.amount} {order.none} {order.amount.x}", "5 (not given) (not given)"),
            ("{lines.sku}", "[\"a\",\"b c\"]"),
            ("{flat.name}", "x"),
            ("{order.pin}", "[hidden, 4 characters]"),
            ("{before.total} {before.meta.by} {before.none}", "120 Anna (not known)"),
            ("{before.password}", "[hidden]"),
            // A parameter of this name comes first.
            ("{after.total} {after.other}", "mine (not given)"),
        ] {
            assert_eq!(filled(template, &params, Some(&preview)), expected, "{template}");
        }
        assert_eq!(filled("{before.total}", &params, None), "(not known)");
    }
}
