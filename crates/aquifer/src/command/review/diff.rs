//! Renders the changes of a definition line by line, with invisible characters made visible.

use std::fmt::Write as _;
use std::time::Duration;

use aquifer_discovery::escape_invisible;
use aquifer_discovery::tool::Tool;
use serde_json::{Map, Value};
use similar::TextDiff;

/// Maximum number of lines shown for one definition without `--all`.
const MAX_LINES: usize = 200;

/// Unchanged lines around a change.
const CONTEXT: usize = 2;

/// After this time, the rest is shown as removed and added, whatever the lines have in common.
const MAX_TIME: Duration = Duration::from_secs(1);

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
    let [old, new] = [old, new].map(|lines| lines.iter().map(String::as_str).collect::<Vec<_>>());
    let diff = TextDiff::configure().timeout(MAX_TIME).diff_slices(&old, &new);
    let mut lines = Vec::new();
    for group in diff.grouped_ops(CONTEXT) {
        if !lines.is_empty() {
            lines.push("  …".to_owned());
        }
        let changes = group.iter().flat_map(|operation| diff.iter_changes(operation));
        lines.extend(changes.map(|change| format!("{} {}", change.tag(), change.value())));
    }
    lines
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
    fn r_dis_7a_lines_between_changes_are_left_out() {
        let lines = |first: &str, last: &str| format!("{first}\n1\n2\n3\n4\n5\n6\n{last}");
        let tool = |description: String| tool(json!({ "name": "a", "description": description }));
        let shown = render(Some(&tool(lines("a", "b"))), &tool(lines("A", "B")), false);
        assert_eq!(
            shown,
            "  description\n    - a\n    + A\n      1\n      2\n      …\n      5\n      6\n    - b\n    + B\n"
        );
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
