//! Changes the rules in the text of a configuration, and nothing else in it.
//!
//! The explorer writes rules of its own, one for each effect, source and reason, and recognises them by their names. It
//! extends them, and removes operations from them that get another effect: the most restrictive rule wins, so an
//! operation that is to be allowed again must not stay in the rule that denies it. Rules that people wrote or changed in
//! other ways are left alone. Whoever calls this parses the new text before it is used.

use std::ops::Range;

use aquifer_gate::policy::RuleEffect;
use serde_json::Value;
use toml::de::{DeTable, DeValue};

/// Begins the name of every rule that the explorer writes.
pub(super) const NAME_PREFIX: &str = "explorer: ";

const HEADING: &str = "[[gate.rule]]";

/// The keys of a rule that the explorer writes. A rule with others was changed by a person.
const KEYS: [&str; 6] = ["name", "effect", "loosen", "source", "operation", "reason"];

/// What is to apply to operations of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WantedRule {
    pub(super) effect: RuleEffect,
    pub(super) source: String,
    /// Their names in the source.
    pub(super) operations: Vec<String>,
    pub(super) reason: Option<String>,
}

impl WantedRule {
    fn is_met_by(&self, rule: &OwnRule) -> bool {
        rule.effect == self.effect.as_str() && rule.source == self.source && rule.reason == self.reason
    }
}

/// A rule that the explorer has written.
struct OwnRule {
    effect: String,
    source: String,
    reason: Option<String>,
    operations: Vec<(String, Range<usize>)>,
    /// Everything from its heading to its last value.
    block: Range<usize>,
}

struct Edit {
    range: Range<usize>,
    text: String,
}

/// The text with these rules. `None` if it is not TOML.
pub(super) fn with_rules(text: &str, wanted: &[WantedRule]) -> Option<String> {
    let document = DeTable::parse(text).ok()?;
    let rules = rule_tables(document.get_ref());
    let mut names: Vec<String> =
        rules.iter().filter_map(|rule| Some(get(rule, "name")?.0.as_str()?.to_owned())).collect();
    let own: Vec<OwnRule> = rules.iter().filter_map(|rule| own_rule(text, rule)).collect();
    let (mut edits, mut added) = (Vec::new(), String::new());
    for rule in &own {
        let (extended, replaced): (Vec<&WantedRule>, Vec<&WantedRule>) =
            wanted.iter().filter(|wanted| wanted.source == rule.source).partition(|wanted| wanted.is_met_by(rule));
        let is_moved =
            |operation: &str| replaced.iter().any(|wanted| wanted.operations.iter().any(|one| one == operation));
        let moved: Vec<&Range<usize>> =
            rule.operations.iter().filter(|(name, _)| is_moved(name)).map(|(_, span)| span).collect();
        let is_target = own.iter().find(|one| extended.iter().any(|wanted| wanted.is_met_by(one)));
        match extended.first().filter(|_| is_target.is_some_and(|first| std::ptr::eq(first, rule))) {
            Some(wanted) => edits.extend(extend(text, rule, wanted)),
            None if !moved.is_empty() && moved.len() == rule.operations.len() => edits.push(remove_rule(text, rule)),
            None => edits.extend(moved.into_iter().map(|span| remove_element(text, span))),
        }
    }
    for wanted in wanted.iter().filter(|wanted| !own.iter().any(|rule| wanted.is_met_by(rule))) {
        let name = unused_name(wanted, &names);
        added.push_str(&render(wanted, &name));
        names.push(name);
    }
    Some(append(&apply(text, edits), &added))
}

/// The tables under `[[gate.rule]]`.
fn rule_tables<'d, 't>(document: &'d DeTable<'t>) -> Vec<&'d DeTable<'t>> {
    let gate = get(document, "gate").and_then(|(gate, _)| gate.as_table());
    let rules = gate.and_then(|gate| get(gate, "rule")).and_then(|(rules, _)| rules.as_array());
    rules.into_iter().flat_map(|rules| rules.iter()).filter_map(|rule| rule.get_ref().as_table()).collect()
}

fn get<'d, 't>(table: &'d DeTable<'t>, key: &str) -> Option<(&'d DeValue<'t>, Range<usize>)> {
    let (_, value) = table.iter().find(|(known, _)| &**known.get_ref() == key)?;
    Some((value.get_ref(), value.span()))
}

/// The rule, if the explorer has written it and nobody has changed more than its operations.
fn own_rule(text: &str, rule: &DeTable<'_>) -> Option<OwnRule> {
    let word = |key: &str| get(rule, key).and_then(|(value, _)| value.as_str()).map(str::to_owned);
    let has_only_known_keys = rule.iter().all(|(key, _)| KEYS.contains(&&**key.get_ref()));
    if !has_only_known_keys || !word("name")?.starts_with(NAME_PREFIX) {
        return None;
    }
    let (operations, _) = get(rule, "operation")?;
    let operations = operations.as_array()?.iter().map(|one| Some((one.get_ref().as_str()?.to_owned(), one.span())));
    let operations: Vec<(String, Range<usize>)> = operations.collect::<Option<_>>()?;
    let (effect, source, reason) = (word("effect")?, word("source")?, word("reason"));
    let loosens = get(rule, "loosen").is_some_and(|(value, _)| matches!(value, DeValue::Boolean(true)));
    if operations.is_empty() || loosens != (effect == RuleEffect::Allow.as_str()) {
        return None;
    }
    Some(OwnRule { effect, source, reason, operations, block: block(text, rule)? })
}

/// Where a rule stands in the text: from its heading to its last value. `None` if it is written in another way.
fn block(text: &str, rule: &DeTable<'_>) -> Option<Range<usize>> {
    let first = rule.iter().map(|(key, _)| key.span().start).min()?;
    let last = rule.iter().map(|(_, value)| value.span().end).max()?;
    let start = text.get(..first)?.rfind(HEADING)?;
    let between = text.get(start + HEADING.len()..first)?;
    let is_heading = between.lines().any(|line| line.trim_start().starts_with('['));
    let begins_line = text.get(..start)?.rsplit('\n').next()?.trim().is_empty();
    (!is_heading && begins_line).then_some(start..last)
}

/// Adds the operations that are missing, after the last one and like it.
fn extend(text: &str, rule: &OwnRule, wanted: &WantedRule) -> Option<Edit> {
    let missing = wanted.operations.iter().filter(|name| !rule.operations.iter().any(|(known, _)| known == *name));
    let (_, last) = rule.operations.last()?;
    let before = text.get(..last.start)?;
    let indent = before.rsplit('\n').next()?;
    let separator = if indent.trim().is_empty() { format!(",\n{indent}") } else { ", ".to_owned() };
    let added: String = missing.map(|name| format!("{separator}{}", quoted(name))).collect();
    (!added.is_empty()).then_some(Edit { range: last.end..last.end, text: added })
}

/// Removes an element of a list with its comma, and with its line if nothing else is on it.
fn remove_element(text: &str, span: &Range<usize>) -> Edit {
    let skip_blanks = |from: usize| {
        let rest = text.get(from..).unwrap_or_default();
        from + (rest.len() - rest.trim_start_matches([' ', '\t']).len())
    };
    let at = |position: usize, expected: char| text.get(position..).is_some_and(|rest| rest.starts_with(expected));
    let mut end = span.end;
    if at(skip_blanks(end), ',') {
        end = skip_blanks(end) + 1;
    }
    end = skip_blanks(end);
    let line_start = text.get(..span.start).unwrap_or_default().rfind('\n').map_or(0, |newline| newline + 1);
    let is_first_on_line = text.get(line_start..span.start).is_some_and(|before| before.trim().is_empty());
    let newline =
        ["\r\n", "\n"].into_iter().find(|newline| text.get(end..).is_some_and(|rest| rest.starts_with(newline)));
    let range = match newline {
        Some(newline) if is_first_on_line => line_start..end + newline.len(),
        _ => span.start..end,
    };
    Edit { range, text: String::new() }
}

/// Removes a rule without operations: it would apply to all of them. Comments in it stay.
fn remove_rule(text: &str, rule: &OwnRule) -> Edit {
    let mut range = rule.block.clone();
    let rest = text.get(range.end..).unwrap_or_default();
    range.end += rest.find('\n').map_or(rest.len(), |newline| newline + 1);
    if text.get(..range.start).is_some_and(|before| before.ends_with("\n\n")) {
        range.start -= 1;
    }
    let lines = text.get(range.clone()).unwrap_or_default().split_inclusive('\n');
    Edit { text: lines.filter(|line| line.trim_start().starts_with('#')).collect(), range }
}

fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| edit.range.start);
    let mut out = String::with_capacity(text.len());
    let mut copied_to = 0;
    for edit in edits {
        out.push_str(text.get(copied_to..edit.range.start).unwrap_or_default());
        out.push_str(&edit.text);
        copied_to = edit.range.end.max(copied_to);
    }
    out.push_str(text.get(copied_to..).unwrap_or_default());
    out
}

fn append(text: &str, added: &str) -> String {
    if added.is_empty() {
        return text.to_owned();
    }
    match text.is_empty() || text.ends_with('\n') {
        true if text.trim().is_empty() => format!("{text}{}", added.trim_start()),
        true => format!("{text}{added}"),
        false => format!("{text}\n{added}"),
    }
}

fn render(wanted: &WantedRule, name: &str) -> String {
    let mut out = format!("\n{HEADING}\nname = {}\neffect = \"{}\"\n", quoted(name), wanted.effect.as_str());
    if wanted.effect == RuleEffect::Allow {
        // Otherwise it could only restrict, and would have no effect.
        out.push_str("loosen = true\n");
    }
    out.push_str(&format!("source = {}\noperation = [\n", quoted(&wanted.source)));
    out.extend(wanted.operations.iter().map(|name| format!("  {},\n", quoted(name))));
    out.push_str("]\n");
    if let Some(reason) = &wanted.reason {
        out.push_str(&format!("reason = {}\n", quoted(reason)));
    }
    out
}

/// A name that no other rule has.
fn unused_name(wanted: &WantedRule, names: &[String]) -> String {
    let name = format!("{NAME_PREFIX}{} in {}", wanted.effect.as_str(), wanted.source);
    let is_free = |name: &String| !names.contains(name);
    let numbered = (2_usize..).map(|number| format!("{name} {number}"));
    std::iter::once(name.clone()).chain(numbered).find(is_free).unwrap_or(name)
}

/// A basic string of TOML, which has the escapes of JSON.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod tests;
