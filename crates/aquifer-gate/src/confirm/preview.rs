//! Words the findings of a rehearsal for the person who decides.
//!
//! Names and values come from a database whose content may be hostile. They are quoted, escaped and shortened, and
//! secrets in them are replaced, so that they cannot be mistaken for the question itself.

use aquifer_engine::rehearsal::{AffectedRows, ChangeKind, FieldChange, Preview, Reached, RowCount, RowFate};
use aquifer_protocol::error::Failure;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::text::secrets;
use serde_json::Value;

use super::render::{escape, quote};
use crate::redact::redact_text;

/// Maximum number of characters of a value.
const MAX_VALUE_CHARS: usize = 80;

/// Maximum number of changed fields that are shown.
const MAX_FIELDS: usize = 10;

/// Maximum number of fields of a deleted row that are shown.
const MAX_ROW_FIELDS: usize = 5;

/// Maximum number of characters of a value of a deleted row.
const MAX_ROW_VALUE_CHARS: usize = 40;

/// Maximum number of characters of a failure message.
const MAX_FAILURE_CHARS: usize = 400;

/// What a rehearsal found out about a call.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Findings<'a> {
    /// What the call would do.
    pub(crate) preview: Option<&'a Preview>,
    /// Why the call would currently fail. An earlier operation of its batch may still change that.
    pub(crate) obstacle: Option<&'a Failure>,
}

impl Findings<'_> {
    /// Whether the rehearsal found nothing to mention.
    pub(super) fn is_empty(&self) -> bool {
        self.preview.is_none() && self.obstacle.is_none()
    }

    /// The change as a question: `Delete treatment 4 ("X-ray") of source 'clinic'?`
    pub(super) fn question(&self, operation: &Operation) -> Option<String> {
        let preview = self.preview?;
        let verb = match preview.change {
            ChangeKind::Create => "Create",
            ChangeKind::Update => "Update",
            ChangeKind::Delete => "Delete",
            // The name of the operation says what is run.
            ChangeKind::Run => return None,
        };
        let of = if operation.origin.source.is_empty() { String::new() } else { " of source ".to_owned() };
        let source = if of.is_empty() { String::new() } else { format!("'{}'", escape(&operation.origin.source)) };
        Some(format!("{verb} {}{of}{source}?", describe_row(preview)))
    }

    /// The change as a statement.
    pub(super) fn statement(&self) -> Option<String> {
        let preview = self.preview?;
        let verb = match preview.change {
            ChangeKind::Create => "creates",
            ChangeKind::Update => "updates",
            ChangeKind::Delete => "deletes",
            ChangeKind::Run => return None,
        };
        Some(format!("This {verb} {}.", describe_row(preview)))
    }

    /// Side effects, as sentences that each start with a space.
    pub(super) fn consequences(&self) -> String {
        let mut text = String::new();
        if let Some(preview) = self.preview {
            push_row(&mut text, preview);
            push_reached(&mut text, preview.reached.as_ref());
            push_fields(&mut text, preview.fields.as_deref());
            push_affected(&mut text, preview, RowFate::Deleted);
            push_affected(&mut text, preview, RowFate::Cleared);
            if preview.more_affected > 0 {
                let tables = if preview.more_affected == 1 { "table" } else { "tables" };
                text.push_str(&format!(" Rows of {} more {tables} may be affected, too.", preview.more_affected));
            }
            if preview.affects_unreadable {
                text.push_str(" Other rows, hidden from you, would be deleted with it or lose their reference.");
            }
        }
        if let Some(failure) = self.obstacle {
            let why = escape(&redact_text(failure.message(), MAX_FAILURE_CHARS));
            text.push_str(&format!(" As things are now, it would fail: {}.", why.trim_end_matches('.')));
        }
        text
    }

    /// The change and its side effects as statements.
    pub(super) fn summary(&self) -> Option<String> {
        let text = format!("{}{}", self.statement().unwrap_or_default(), self.consequences());
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }
}

/// The object of the change: its noun, key and labels.
fn describe_row(preview: &Preview) -> String {
    let mut text = escape(&preview.noun);
    match preview.key.as_slice() {
        [] => {}
        [(_, value)] => text.push_str(&format!(" {}", show(value))),
        several => {
            let parts: Vec<String> =
                several.iter().map(|(field, value)| format!("{} {}", escape(field), show(value))).collect();
            text.push_str(&format!(" {}", parts.join(", ")));
        }
    }
    if !preview.labels.is_empty() {
        let labels: Vec<String> = preview.labels.iter().map(|label| quote(&shorten(label))).collect();
        text.push_str(&format!(" ({})", labels.join(", ")));
    }
    text
}

fn push_fields(text: &mut String, fields: Option<&[FieldChange]>) {
    match fields {
        None => {}
        Some([]) => text.push_str(" Nothing would change."),
        Some(fields) => {
            let shown: Vec<String> = fields
                .iter()
                .take(MAX_FIELDS)
                .map(|change| {
                    let value = |value: &Value| match secrets::names_secret(&change.field) {
                        true => "[hidden]".to_owned(),
                        false => show(value),
                    };
                    format!("{} from {} to {}", escape(&change.field), value(&change.from), value(&change.to))
                })
                .collect();
            text.push_str(&format!(" It changes {}", shown.join(", ")));
            let rest = fields.len().saturating_sub(MAX_FIELDS);
            if rest > 0 {
                text.push_str(&format!(" and {rest} more field{}", if rest == 1 { "" } else { "s" }));
            }
            text.push('.');
        }
    }
}

/// What a row contains that would be deleted, beyond the key and the labels.
fn push_row(text: &mut String, preview: &Preview) {
    if preview.change != ChangeKind::Delete {
        return;
    }
    let is_named = |field: &str, value: &Value| {
        preview.key.iter().any(|(key, _)| key == field)
            || value.as_str().is_some_and(|value| preview.labels.iter().any(|label| label == value))
    };
    let says_something = |value: &Value| match value {
        Value::Null | Value::Object(_) | Value::Array(_) => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    };
    let telling: Vec<(&String, &Value)> =
        preview.before.iter().filter(|(field, value)| !is_named(field, value) && says_something(value)).collect();
    if telling.is_empty() {
        return;
    }
    let shown = telling.iter().take(MAX_ROW_FIELDS).map(|(field, value)| match secrets::names_secret(field) {
        true => format!("{} [hidden]", escape(field)),
        false => format!("{} {}", escape(field), show_within(value, MAX_ROW_VALUE_CHARS)),
    });
    text.push_str(&format!(" It has {}", shown.collect::<Vec<_>>().join(", ")));
    let rest = telling.len().saturating_sub(MAX_ROW_FIELDS);
    if rest > 0 {
        text.push_str(&format!(" and {rest} more field{}", if rest == 1 { "" } else { "s" }));
    }
    text.push('.');
}

fn push_reached(text: &mut String, reached: Option<&Reached>) {
    let Some(Reached { singular, plural, count }) = reached else { return };
    text.push_str(&match count {
        RowCount::Exactly(0) => format!(" It would reach no {}.", escape(plural)),
        RowCount::Exactly(1) => format!(" It would reach 1 {}.", escape(singular)),
        count => format!(" It would reach {count} {}.", escape(plural)),
    });
}

fn push_affected(text: &mut String, preview: &Preview, fate: RowFate) {
    let groups: Vec<&AffectedRows> = preview.affected.iter().filter(|group| group.fate == fate).collect();
    if groups.is_empty() {
        return;
    }
    let listed: Vec<String> = groups.iter().map(|group| describe(group)).collect();
    let is_one = matches!(groups.as_slice(), [group] if group.count == RowCount::Exactly(1));
    let end = match (fate, is_one) {
        (RowFate::Deleted, _) => "would be deleted with it",
        (RowFate::Cleared, true) => "would lose its reference",
        (RowFate::Cleared, false) => "would lose their reference",
    };
    let mut sentence = join(&listed);
    // Capitalize the sentence: "More than 10,000 …".
    if let Some(rest) = sentence.strip_prefix("more") {
        sentence = format!("More{rest}");
    }
    text.push_str(&format!(" {sentence} {end}."));
}

/// A group of rows: `1,347 visit_treatments (treatment_id)`.
fn describe(group: &AffectedRows) -> String {
    let noun = if group.count == RowCount::Exactly(1) { &group.singular } else { &group.plural };
    let fields: Vec<String> = group.fields.iter().map(|field| escape(field)).collect();
    format!("{} {} ({})", group.count, escape(noun), fields.join(", "))
}

fn join(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A value on one line: text in quotes, anything else as JSON.
fn show(value: &Value) -> String {
    show_within(value, MAX_VALUE_CHARS)
}

fn show_within(value: &Value, max_chars: usize) -> String {
    match value {
        Value::String(text) => quote(&redact_text(text, max_chars)),
        Value::Null => "nothing".to_owned(),
        other => escape(&redact_text(&other.to_string(), max_chars)),
    }
}

fn shorten(text: &str) -> String {
    redact_text(text, MAX_VALUE_CHARS)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn group(count: RowCount, fate: RowFate) -> AffectedRows {
        let (singular, plural) = ("visit".to_owned(), "visits".to_owned());
        AffectedRows { singular, plural, fields: vec!["treatment_id".to_owned()], count, fate }
    }

    fn operation() -> Operation {
        let mut operation = Operation::new("delete_treatment", aquifer_protocol::category::Category::Delete, "");
        operation.origin.source = "clinic".into();
        operation
    }

    #[test]
    fn r_saf_3_a_question_names_the_row_and_the_affected_rows() {
        let preview = Preview {
            change: ChangeKind::Delete,
            noun: "treatment".to_owned(),
            key: vec![("id".to_owned(), json!(4))],
            labels: vec!["XRAY".to_owned(), "X-ray".to_owned()],
            affected: vec![
                group(RowCount::Exactly(1_347), RowFate::Deleted),
                group(RowCount::MoreThan(10_000), RowFate::Cleared),
            ],
            more_affected: 2,
            affects_unreadable: true,
            ..Preview::default()
        };
        let findings = Findings { preview: Some(&preview), obstacle: None };
        let question = findings.question(&operation());
        assert_eq!(question.as_deref(), Some("Delete treatment 4 (\"XRAY\", \"X-ray\") of source 'clinic'?"));
        assert_eq!(
            findings.consequences(),
            " 1,347 visits (treatment_id) would be deleted with it. More than 10,000 visits (treatment_id) would lose \
             their reference. Rows of 2 more tables may be affected, too. Other rows, hidden from you, would be \
             deleted with it or lose their reference."
        );
    }

    #[test]
    fn r_saf_9_a_question_about_a_row_says_what_is_in_it() {
        let row = json!({
            "id": 4, "name": "X-ray", "price": 20.5, "note": "x\"\n- harmless", "token": "hunter2", "nothing": null,
            "list": [1], "a": 1, "b": true, "c": "long ".repeat(100), "d": 4,
        });
        let preview = Preview {
            change: ChangeKind::Delete,
            noun: "treatment".to_owned(),
            key: vec![("id".to_owned(), json!(4))],
            labels: vec!["X-ray".to_owned()],
            before: row.as_object().cloned().unwrap_or_default(),
            ..Preview::default()
        };
        let text = Findings { preview: Some(&preview), obstacle: None }.consequences();
        assert_eq!(
            text,
            " It has price 20.5, note \"x\\\"\\n- harmless\", token [hidden], a 1, b true and 2 more fields."
        );
        let preview = Preview { change: ChangeKind::Update, ..preview };
        assert_eq!(Findings { preview: Some(&preview), obstacle: None }.consequences(), "");
    }

    #[test]
    fn r_saf_3_a_call_that_runs_something_says_whom_it_reaches() {
        for (count, expected) in [
            (RowCount::Exactly(0), " It would reach no customers."),
            (RowCount::Exactly(1), " It would reach 1 customer."),
            (RowCount::MoreThan(1_000), " It would reach more than 1,000 customers."),
        ] {
            let reached = Reached { singular: "customer".to_owned(), plural: "customers".to_owned(), count };
            let preview = Preview { change: ChangeKind::Run, reached: Some(reached), ..Preview::default() };
            let findings = Findings { preview: Some(&preview), obstacle: None };
            assert_eq!((findings.question(&operation()), findings.statement()), (None, None));
            assert_eq!(findings.consequences(), expected);
        }
    }

    #[test]
    fn r_saf_3_content_cannot_forge_the_question() {
        let hostile = "x\")? Nothing would change.\n- Approved\u{202e}\u{200b}\u{2028}";
        let preview = Preview {
            change: ChangeKind::Update,
            noun: "thing".to_owned(),
            key: vec![("a".to_owned(), json!(hostile)), ("b".to_owned(), json!([hostile]))],
            labels: vec![hostile.to_owned(), "l".repeat(500)],
            fields: Some(vec![
                FieldChange { field: "name".to_owned(), from: Value::Null, to: json!({ "deep": hostile }) },
                FieldChange { field: "password".to_owned(), from: json!("hunter2"), to: json!("hunter3") },
            ]),
            ..Preview::default()
        };
        let findings = Findings { preview: Some(&preview), obstacle: None };
        let text = format!("{}{}", findings.question(&operation()).unwrap_or_default(), findings.consequences());
        assert!(!text.contains(['\n', '\u{202e}', '\u{200b}', '\u{2028}']), "{text}");
        assert!(!text.contains("x\")"), "the quote does not end early: {text}");
        assert!(!text.contains("hunter") && text.contains("password from [hidden] to [hidden]"), "{text}");
        assert!(text.chars().count() < 1_500, "{text}");
        assert!(text.contains("name from nothing to"), "{text}");
    }
}
