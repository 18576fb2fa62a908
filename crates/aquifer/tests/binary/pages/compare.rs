//! Compares what a page shows with what happened. In what is shown, `…` stands for any text.

use serde_json::{Value, json};

/// Stands for any text.
const ANYTHING: char = '…';

/// Panics unless a command printed what is shown.
#[track_caller]
pub(crate) fn assert_shown(shown: &str, printed: &str, command: &str) {
    assert!(is_shown(shown.trim_end(), printed.trim_end()), "{command}: shown {shown}\nprinted {printed}");
}

/// Whether a text is the one that is shown, with something for each `…`.
pub(crate) fn is_shown(shown: &str, text: &str) -> bool {
    let (start, mut rest) = match shown.split_once(ANYTHING) {
        None => return shown == text,
        Some(parts) => parts,
    };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    while let Some((piece, after)) = rest.split_once(ANYTHING) {
        let Some((_, behind)) = text.split_once(piece) else { return false };
        (rest, text) = (after, behind);
    }
    text.ends_with(rest)
}

pub(crate) fn is_same(shown: &Value, answer: &Value) -> bool {
    match (shown, answer) {
        (Value::String(shown), Value::String(text)) => is_shown(shown, text),
        (Value::Array(shown), Value::Array(items)) => {
            shown.len() == items.len() && shown.iter().zip(items).all(|(shown, item)| is_same(shown, item))
        }
        (Value::Object(shown), Value::Object(fields)) => {
            let is_field =
                |(name, shown): (&String, &Value)| fields.get(name).is_some_and(|field| is_same(shown, field));
            shown.len() == fields.len() && shown.iter().all(is_field)
        }
        _ => shown == answer,
    }
}

#[test]
fn texts_are_compared_with_what_is_shown() {
    for (shown, text, same) in [
        ("abc", "abc", true),
        ("abc", "abcd", false),
        ("a…c", "abbc", true),
        ("a…c", "abbcd", false),
        ("a…", "a", true),
        ("…b…d", "abcd", true),
        ("…b…d", "acbd", true),
        ("…d…b", "abcd", false),
    ] {
        assert_eq!(is_shown(shown, text), same, "{shown} {text}");
    }
    assert!(!is_same(&json!({ "a": 1 }), &json!({ "a": 1, "b": 2 })));
    assert!(!is_same(&json!([1]), &json!([1, 2])));
}
