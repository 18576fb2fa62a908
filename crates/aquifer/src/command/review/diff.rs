//! Renders the changes of a definition line by line, with invisible characters made visible.

use std::fmt::Write as _;

use aquifer_discovery::escape_invisible;
use aquifer_discovery::tool::Tool;
use serde_json::{Map, Value};

/// Maximum number of lines shown for one definition without `--all`.
const MAX_LINES: usize = 200;

/// Larger texts are not compared line by line: all old lines are shown, then all new ones.
const MAX_COMPARED: usize = 4_000_000;

/// The parts of a definition that are compared.
const PARTS: &[(&str, &str)] = &[
    ("title", "title"),
    ("description", "description"),
    ("inputSchema", "parameters"),
    ("outputSchema", "result"),
    ("annotations", "hints"),
];

/// Renders the differences between two definitions, or the whole definition if there is no earlier one.
pub(super) fn render(before: Option<&Tool>, now: &Tool, all: bool) -> String {
    let mut lines = Vec::new();
    for (key, name) in PARTS {
        let old = before.map(|tool| text(tool.definition.get(*key)));
        let new = text(now.definition.get(*key));
        let changes = match &old {
            Some(old) if *old == new => continue,
            Some(old) => changes(old, &new),
            None if new.is_empty() => continue,
            None => new.iter().map(|line| format!("+ {line}")).collect(),
        };
        lines.push(format!("  {name}"));
        lines.extend(changes.into_iter().map(|line| format!("    {line}")));
    }
    let shown = if all { lines.len() } else { lines.len().min(MAX_LINES) };
    let mut out = String::new();
    for line in lines.iter().take(shown) {
        let _ = writeln!(out, "{line}");
    }
    if lines.len() > shown {
        let _ = writeln!(out, "    … {} more lines; use --all to show them", lines.len() - shown);
    }
    out
}

/// Renders a part as lines. Fields are sorted by name, so that their order does not count as a change.
fn text(part: Option<&Value>) -> Vec<String> {
    let text = match part {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::String(words)) => words.clone(),
        Some(value) => serde_json::to_string_pretty(&sorted(value)).unwrap_or_default(),
    };
    escape_invisible(&text).lines().map(str::to_owned).collect()
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            let fields: Map<String, Value> =
                fields.into_iter().map(|(name, value)| (name.clone(), sorted(value))).collect();
            Value::Object(fields)
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        plain => plain.clone(),
    }
}

/// The removed and added lines, with a little context.
fn changes(old: &[String], new: &[String]) -> Vec<String> {
    let start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (old.get(start..).unwrap_or_default(), new.get(start..).unwrap_or_default());
    let end = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(old, new)| old == new).count();
    let old_middle = old_rest.get(..old_rest.len() - end).unwrap_or_default();
    let new_middle = new_rest.get(..new_rest.len() - end).unwrap_or_default();
    let mut lines: Vec<String> = around(old.get(..start).unwrap_or_default(), true);
    lines.extend(middle(old_middle, new_middle));
    lines.extend(around(old_rest.get(old_middle.len()..).unwrap_or_default(), false));
    lines
}

/// Up to two lines of context.
fn around(lines: &[String], is_before: bool) -> Vec<String> {
    let skipped = if is_before { lines.len().saturating_sub(2) } else { 0 };
    lines.iter().skip(skipped).take(2).map(|line| format!("  {line}")).collect()
}

/// Computes the longest common subsequence.
fn middle(old: &[String], new: &[String]) -> Vec<String> {
    let gone = |line: &String| format!("- {line}");
    let came = |line: &String| format!("+ {line}");
    if old.len().saturating_mul(new.len()) > MAX_COMPARED {
        return old.iter().map(gone).chain(new.iter().map(came)).collect();
    }
    // For each pair of suffixes, from the end: the number of lines they have in common.
    let width = new.len() + 1;
    let mut common = vec![0_u32; (old.len() + 1) * width];
    let at = |row: usize, column: usize| row * width + column;
    for (row, old_line) in old.iter().enumerate().rev() {
        for (column, new_line) in new.iter().enumerate().rev() {
            let get = |index: usize| common.get(index).copied().unwrap_or(0);
            let best = match old_line == new_line {
                true => get(at(row + 1, column + 1)) + 1,
                false => get(at(row + 1, column)).max(get(at(row, column + 1))),
            };
            if let Some(cell) = common.get_mut(at(row, column)) {
                *cell = best;
            }
        }
    }
    let get = |row: usize, column: usize| common.get(at(row, column)).copied().unwrap_or(0);
    let (mut row, mut column, mut lines) = (0, 0, Vec::new());
    loop {
        match (old.get(row), new.get(column)) {
            (None, None) => return lines,
            (Some(old_line), Some(new_line)) if old_line == new_line => {
                lines.push(format!("  {old_line}"));
                (row, column) = (row + 1, column + 1);
            }
            (Some(old_line), new_line) if new_line.is_none() || get(row + 1, column) >= get(row, column + 1) => {
                lines.push(gone(old_line));
                row += 1;
            }
            (_, Some(new_line)) => {
                lines.push(came(new_line));
                column += 1;
            }
            (Some(_), None) => return lines,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(definition: Value) -> Tool {
        Tool::from_value(definition).unwrap()
    }

    #[test]
    fn r_dis_7a_a_reviewer_sees_exactly_what_changed() {
        let before =
            tool(json!({ "name": "a", "description": "Reads.\nAnd more.", "inputSchema": { "b": 1, "a": 2 } }));
        let now =
            tool(json!({ "name": "a", "description": "Reads.\nAnd\u{202e} more.", "inputSchema": { "a": 2, "b": 3 } }));
        let shown = render(Some(&before), &now, false);
        let expected = "  description\n      Reads.\n    - And more.\n    + And\\u{202e} more.\n  parameters\n      {\n        \
                        \"a\": 2,\n    -   \"b\": 1\n    +   \"b\": 3\n      }\n";
        assert_eq!(shown, expected);
        assert_eq!(render(Some(&now), &now, false), "");
    }

    #[test]
    fn r_dis_7a_a_long_difference_is_cut_and_says_so() {
        let many = |word: &str| json!({ "name": "a", "inputSchema": (0..900).map(|n| json!(format!("{word}{n}"))).collect::<Vec<_>>() });
        let (before, now) = (tool(many("x")), tool(many("y")));
        let cut = render(Some(&before), &now, false);
        assert!(cut.lines().count() <= MAX_LINES + 1 && cut.contains("more lines; use --all to show them"), "{cut}");
        assert!(render(Some(&before), &now, true).lines().count() > 1_800);
        assert!(render(None, &now, true).lines().count() > 900);
    }
}
