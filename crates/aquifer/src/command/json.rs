//! Prints JSON to stdout: indented in a terminal, on one line elsewhere.

use std::io::IsTerminal as _;

use crate::terminal;

/// Prints JSON text.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    match std::io::stdout().is_terminal() {
        true => terminal::print_exact(&indent(text)),
        false => terminal::print_exact(text),
    }
}

/// The same JSON with a line for each member. Works on the text, so that numbers and the order of members are
/// preserved.
fn indent(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    let mut characters = text.trim().chars().peekable();
    let new_line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    };
    while let Some(character) = characters.next() {
        if in_string {
            out.push(character);
            in_string = is_escaped || character != '"';
            is_escaped = !is_escaped && character == '\\';
            continue;
        }
        match character {
            '{' | '[' => {
                out.push(character);
                while characters.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                match characters.next_if(|next| matches!(next, '}' | ']')) {
                    Some(end) => out.push(end),
                    None => {
                        depth += 1;
                        new_line(&mut out, depth);
                    }
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(character);
            }
            ',' => {
                out.push(character);
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            blank if blank.is_ascii_whitespace() => {}
            character => {
                in_string = character == '"';
                out.push(character);
            }
        }
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn indented_text_is_the_same_json() {
        for value in [
            json!({}),
            json!([]),
            json!("a, b: [c] {d} \" \\"),
            json!({ "a": [1, { "b": [], "c": {} }], "\\": "\\\"", "d": [[[]], "\\\\"], "ä": "ö\n\u{1}" }),
        ] {
            let expected = serde_json::to_string_pretty(&value).unwrap();
            assert_eq!(indent(&value.to_string()), expected);
            assert_eq!(indent(&expected), expected);
        }
        // A parser would round or reorder these.
        let exact = r#"{"z":1.10,"a":123456789012345678901234567890.5}"#;
        assert_eq!(indent(exact).split_whitespace().collect::<String>(), exact);
        assert!(serde_json::from_str::<Value>(&indent(exact)).is_ok());
    }
}
