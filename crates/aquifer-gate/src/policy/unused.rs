//! Finds rules that have no effect: they match no operation, test a parameter that no operation has, or loosen nothing.
//!
//! Such a rule is almost always a mistake, and it fails open: its author believes that calls are denied. So it is an
//! error when a configuration is validated, and a warning when one takes effect.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use aquifer_protocol::case::snake_case;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::Types;
use aquifer_protocol::suggest::nearest;
use serde::Serialize;

use super::condition::{Condition, Presence, TypedOperation, presence, presence_in_type};
use super::rule::Rule;
use super::selector::{Selector, SelectorKeys, qualified_name};
use super::settings::{PatternList, RuleEffect};
use super::{Policy, is_protocol};
use aquifer_protocol::glob::is_literal;
use aquifer_protocol::text::template::{self, Piece};

/// The first name of a path into the row as it is. A parameter of this name takes precedence.
pub(crate) const BEFORE: &str = "before";

/// The first name of a path into the row as it would be. A parameter of this name takes precedence.
pub(crate) const AFTER: &str = "after";

/// Everything that rules can apply to: all operations, including those hidden from callers, and the sources' other
/// capabilities.
#[derive(Debug, Clone, Default)]
pub struct Inventory<'a> {
    operations: Vec<TypedOperation<'a>>,
    unknown_sources: Vec<&'a str>,
}

/// The kind of setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleKind {
    /// A rule.
    Rule,
    /// A rate limit.
    RateLimit,
    /// A quota.
    Quota,
    /// A price.
    Cost,
}

/// A rule, limit or price that has no effect, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnusedRule {
    /// The kind.
    pub kind: RuleKind,
    /// Its number among those of its kind, counted from 1.
    pub number: usize,
    /// Its name, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The problem, as a sentence.
    pub problem: String,
}

impl fmt::Display for UnusedRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            RuleKind::Rule => "rule",
            RuleKind::RateLimit => "rate limit",
            RuleKind::Quota => "quota",
            RuleKind::Cost => "cost",
        };
        write!(f, "{kind} {}", self.number)?;
        if let Some(name) = &self.name {
            write!(f, " '{name}'")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl<'a> Inventory<'a> {
    /// Adds an operation with the types that its parameters refer to.
    pub fn add(&mut self, operation: &'a Operation, types: Option<&'a Types>) {
        if !is_protocol(operation) {
            self.operations.push(TypedOperation { operation, types });
        }
    }

    /// Adds a source whose operations are not known yet. Rules that could apply to it are not reported.
    pub fn add_unknown_source(&mut self, source: &'a str) {
        self.unknown_sources.push(source);
    }

    pub(crate) fn operations(&self) -> impl Iterator<Item = &'a Operation> {
        self.operations.iter().map(|typed| typed.operation)
    }

    fn sources(&self) -> BTreeSet<&'a str> {
        self.operations()
            .map(|operation| &*operation.origin.source)
            .chain(self.unknown_sources.iter().copied())
            .collect()
    }

    /// Whether this is a generic operation that resolves to others.
    fn is_generic(&self, operation: &Operation) -> bool {
        let is_behind = |other: &Operation| {
            other.origin.source == operation.origin.source
                && other.routing.generic_name.as_ref() == Some(&operation.origin.own_name)
        };
        operation.routing.is_indirect && self.operations().any(is_behind)
    }

    /// Whether a selector may match operations that are not known yet.
    fn may_match_unknown_source(&self, selector: &Selector) -> bool {
        self.unknown_sources.iter().any(|source| selector.selects_source(source))
    }
}

const LACKS_SOURCE: &str = "it loosens nothing: with several sources, a rule that loosens operations by name has to name their \
                            source without wildcards, because another source may have an operation with the same name";

impl Policy {
    pub(crate) fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Finds rules that would loosen operations by name but have no effect, because they name no source. This is
    /// independent of the sources' operations.
    pub fn rules_without_source(&self) -> Vec<UnusedRule> {
        let lacking = self.rules.iter().filter(|rule| rule.lacks_source);
        let report = |rule: &Arc<Rule>| UnusedRule {
            kind: RuleKind::Rule,
            number: rule.number,
            name: rule.name.as_deref().map(str::to_owned),
            problem: LACKS_SOURCE.to_owned(),
        };
        lacking.map(report).collect()
    }

    /// What the operator should know about rules that do have an effect. This is independent of the sources' operations.
    pub fn warnings(&self) -> Vec<String> {
        let warnings_of = |rule: &Arc<Rule>| {
            let place = match &rule.name {
                Some(name) => format!("rule {} '{name}'", rule.number),
                None => format!("rule {}", rule.number),
            };
            let warnings = rule.conditions().iter().flat_map(Condition::warnings);
            warnings.map(move |warning| format!("{place}: {warning}")).collect::<Vec<_>>()
        };
        self.rules.iter().flat_map(warnings_of).collect()
    }

    /// Finds every rule that is known to have no effect.
    pub fn find_unused(&self, inventory: &Inventory<'_>) -> Vec<UnusedRule> {
        let mut unused = Vec::new();
        for rule in &self.rules {
            let mut report = |problem: String| {
                let name = rule.name.as_deref().map(str::to_owned);
                unused.push(UnusedRule { kind: RuleKind::Rule, number: rule.number, name, problem });
            };
            if rule.lacks_source {
                report(LACKS_SOURCE.to_owned());
                continue;
            }
            if rule.effect == RuleEffect::Allow && !rule.loosens {
                report("it changes nothing: an allow rule has an effect only with loosen = true".to_owned());
                continue;
            }
            let mut concerned: Vec<TypedOperation<'_>> =
                inventory.operations.iter().filter(|typed| rule.concerns(typed.operation)).copied().collect();
            let is_open = inventory.may_match_unknown_source(rule.selector());
            if concerned.is_empty() {
                if let Some(problem) = explain_mismatch(rule.selector(), inventory) {
                    report(problem);
                }
                continue;
            }
            unmatched_names(rule.selector(), inventory).into_iter().for_each(&mut report);
            if rule.loosens {
                // A call of a generic operation is decided as a call of the operation that it resolves to.
                let first = concerned.first().map(|typed| typed.operation.name.clone()).unwrap_or_default();
                concerned.retain(|typed| !inventory.is_generic(typed.operation));
                if concerned.is_empty() {
                    report(format!(
                        "it loosens nothing: a call of '{first}' is decided as the operation of the table in the call. \
                         Name the source as well"
                    ));
                    continue;
                }
            }
            if is_open {
                continue;
            }
            let conditions = rule.conditions();
            let missing: Vec<&Condition> = conditions.iter().filter(|one| is_missing(one, &concerned)).collect();
            missing
                .iter()
                .for_each(|condition| report(explain_missing(condition.param(), &concerned, "its condition tests")));
            unknown_placeholders(rule, &concerned).into_iter().for_each(&mut report);
            if rule.loosens && missing.is_empty() && !self.loosens_any(rule, &concerned) {
                report(
                    "it loosens nothing: every operation that it matches gets the same decision without it".to_owned(),
                );
            }
        }
        unused
    }

    /// Whether a rule changes any decision, for some caller and parameters.
    fn loosens_any(&self, rule: &Arc<Rule>, concerned: &[TypedOperation<'_>]) -> bool {
        concerned.iter().any(|typed| {
            // The quarantine is ignored, because it is temporary.
            let compiled = self.compile_with(typed.operation, None);
            let Some(facts) = &compiled.facts else { return false };
            let mut rules: Vec<Arc<Rule>> = compiled.static_rules.clone();
            rules.retain(|other| !Arc::ptr_eq(other, rule));
            let without = facts.decide(&rules);
            rules.push(rule.clone());
            let with = facts.decide(&rules);
            with.effect != without.effect
                || with.message() != without.message()
                || with.cooldown() != without.cooldown()
        })
    }
}

fn is_missing(condition: &Condition, concerned: &[TypedOperation<'_>]) -> bool {
    concerned.iter().all(|typed| condition.presence(*typed) == Presence::Absent)
}

/// The placeholders of a rule's message that nobody would ever see filled in.
fn unknown_placeholders(rule: &Rule, concerned: &[TypedOperation<'_>]) -> Vec<String> {
    let pieces = template::split(rule.message.as_deref().unwrap_or_default());
    let names: BTreeSet<&str> = pieces
        .into_iter()
        .filter_map(|piece| match piece {
            Piece::Name(name) => Some(name),
            Piece::Text(_) => None,
        })
        .collect();
    let is_known = |name: &str| concerned.iter().any(|typed| has_value(name, *typed));
    let unknown = names.into_iter().filter(|name| !is_known(name));
    unknown
        .map(|name| match row_field(name) {
            Some(field) => format!(
                "its message quotes '{name}', but none of its operations is known to change a row with a field '{field}'"
            ),
            None => explain_missing(name, concerned, "its message quotes"),
        })
        .collect()
}

/// Whether a placeholder may have a value for an operation: a parameter, or a field of the row that it changes.
fn has_value(name: &str, typed: TypedOperation<'_>) -> bool {
    let may_have = |presence: Option<Presence>| presence.is_some_and(|presence| presence != Presence::Absent);
    if may_have(presence(name, typed)) {
        return true;
    }
    let Some(field) = row_field(name).filter(|_| typed.operation.origin.backing.table().is_some()) else {
        return false;
    };
    // The type of the row is that of the answer.
    match typed.types.and_then(|types| types.get(&typed.operation.returns.type_name)) {
        Some(row) => may_have(presence_in_type(field, row, typed)),
        None => true,
    }
}

/// The field that `before.field` or `after.field` is about.
fn row_field(name: &str) -> Option<&str> {
    name.split_once('.').filter(|(first, _)| [BEFORE, AFTER].contains(first)).map(|(_, field)| field)
}

fn explain_missing(param: &str, concerned: &[TypedOperation<'_>], does: &str) -> String {
    let first = param.split('.').next().unwrap_or_default();
    let parameters = concerned.iter().flat_map(|typed| &typed.operation.parameters);
    let near = nearest(first, parameters.map(|parameter| &*parameter.name));
    let near = near.filter(|near| *near != first).map(|near| format!(". Did you mean '{near}'?")).unwrap_or_default();
    format!("{does} '{param}', which none of its operations has{near}")
}

/// Why a selector matches nothing. `None` if it may match a source that is not known yet.
pub(crate) fn explain_mismatch(selector: &Selector, inventory: &Inventory<'_>) -> Option<String> {
    if inventory.may_match_unknown_source(selector) {
        return None;
    }
    let keys = selector.keys();
    let sources = inventory.sources();
    if !sources.iter().any(|source| selector.selects_source(source)) {
        return Some(no_match("source", &keys.source, sources));
    }
    let of_sources = || inventory.operations().filter(|operation| selector.selects_source(&operation.origin.source));
    if !of_sources().any(|operation| selector.selects_name(operation)) {
        let called_so = of_sources().find(|operation| has_any_name(operation, &keys.operation));
        return Some(match called_so {
            // Only a loosening selector can fail to match it.
            Some(operation) => format!(
                "no operation is served as {}. There is '{}' of source '{}', served as '{}': a rule that loosens has to \
                 name the source as well",
                quoted(&keys.operation),
                operation.origin.own_name,
                operation.origin.source,
                operation.name,
            ),
            None => no_match("operation", &keys.operation, names(of_sources())),
        });
    }
    if !keys.tool.0.is_empty() && !of_sources().any(|operation| selector.selects_tool(operation)) {
        return Some(no_match("tool", &keys.tool, tools(of_sources())));
    }
    if !keys.table.0.is_empty() && !of_sources().any(|operation| selector.selects_table(operation)) {
        return Some(no_match("table", &keys.table, tables(of_sources())));
    }
    Some("no operation matches all of its keys".to_owned())
}

/// Names in a selector that match nothing although others in it do. Patterns with `*` or `?` are not reported, because
/// they may be meant for future operations. In a loosening selector, exclusions that exclude nothing are reported as
/// well, even as patterns, because the operations that they should protect are loosened.
pub(crate) fn unmatched_names(selector: &Selector, inventory: &Inventory<'_>) -> Vec<String> {
    if inventory.may_match_unknown_source(selector) {
        return Vec::new();
    }
    let keys = selector.keys();
    let of_sources = || inventory.operations().filter(|operation| selector.selects_source(&operation.origin.source));
    let alone = |name: &str| PatternList(vec![name.to_owned()]);
    let mut problems = Vec::new();
    for name in literals(&keys.source) {
        let only = selector.with_keys(SelectorKeys { source: alone(name), ..keys.clone() });
        if !inventory.sources().iter().any(|source| only.selects_source(source)) {
            problems.push(no_match("source", &alone(name), inventory.sources()));
        }
    }
    for name in literals(&keys.operation) {
        let only = selector.with_keys(SelectorKeys { operation: alone(name), ..keys.clone() });
        if !of_sources().any(|operation| only.selects_name(operation)) {
            problems.push(no_match("operation", &alone(name), names(of_sources())));
        }
    }
    for name in literals(&keys.tool) {
        let only = selector.with_keys(SelectorKeys { tool: alone(name), ..keys.clone() });
        if !of_sources().any(|operation| only.selects_tool(operation)) {
            problems.push(no_match("tool", &alone(name), tools(of_sources())));
        }
    }
    for name in literals(&keys.table) {
        let only = selector.with_keys(SelectorKeys { table: alone(name), ..keys.clone() });
        if !of_sources().any(|operation| only.selects_table(operation)) {
            problems.push(no_match("table", &alone(name), tables(of_sources())));
        }
    }
    if selector.is_loosening() {
        problems.extend(useless_exclusions(selector, inventory));
    }
    problems
}

/// Exclusions of a selector that exclude nothing.
fn useless_exclusions(selector: &Selector, inventory: &Inventory<'_>) -> Vec<String> {
    let keys = selector.keys();
    let of_sources = || inventory.operations().filter(|operation| selector.selects_source(&operation.origin.source));
    let mut problems = Vec::new();
    let mut report = |excluded: &str, no_match: String| {
        problems.push(format!("its exclusion '!{excluded}' excludes nothing: {no_match}"));
    };
    // An exclusion alone selects everything that it does not exclude.
    let alone = |excluded: &str| PatternList(vec![format!("!{excluded}")]);
    let name = |excluded: &str| PatternList(vec![excluded.to_owned()]);
    for excluded in exclusions(&keys.source) {
        let others = selector.with_keys(SelectorKeys { source: alone(excluded), ..SelectorKeys::default() });
        if inventory.sources().iter().all(|source| others.selects_source(source)) {
            report(excluded, no_match("source", &name(excluded), inventory.sources()));
        }
    }
    for excluded in exclusions(&keys.operation) {
        let others = selector.with_keys(SelectorKeys { operation: alone(excluded), ..SelectorKeys::default() });
        if of_sources().all(|operation| others.selects_name(operation)) {
            report(excluded, no_match("operation", &name(excluded), names(of_sources())));
        }
    }
    for excluded in exclusions(&keys.tool) {
        let others = selector.with_keys(SelectorKeys { tool: alone(excluded), ..SelectorKeys::default() });
        let mut with_tool = of_sources().filter(|operation| operation.origin.backing.tool().is_some());
        if with_tool.all(|operation| others.selects_tool(operation)) {
            report(excluded, no_match("tool", &name(excluded), tools(of_sources())));
        }
    }
    for excluded in exclusions(&keys.table) {
        let others = selector.with_keys(SelectorKeys { table: alone(excluded), ..SelectorKeys::default() });
        let mut with_table = of_sources().filter(|operation| operation.origin.backing.table().is_some());
        if with_table.all(|operation| others.selects_table(operation)) {
            report(excluded, no_match("table", &name(excluded), tables(of_sources())));
        }
    }
    problems
}

/// The exclusions, without the `!`.
fn exclusions(words: &PatternList) -> impl Iterator<Item = &str> {
    words.iter().filter_map(|word| word.strip_prefix('!'))
}

/// The patterns that select a single name.
fn literals(words: &PatternList) -> impl Iterator<Item = &str> {
    words.iter().filter(|word| !word.starts_with('!') && is_literal(word))
}

fn has_any_name(operation: &Operation, words: &PatternList) -> bool {
    let qualified = qualified_name(&operation.origin.source, &operation.origin.own_name);
    literals(words).any(|word| word == &*operation.origin.own_name || word == qualified)
}

fn names<'a>(operations: impl Iterator<Item = &'a Operation>) -> impl Iterator<Item = &'a str> {
    operations.flat_map(|operation| [&*operation.name, &*operation.origin.own_name])
}

fn tools<'a>(operations: impl Iterator<Item = &'a Operation>) -> impl Iterator<Item = &'a str> {
    operations.filter_map(|operation| operation.origin.backing.tool())
}

fn tables<'a>(operations: impl Iterator<Item = &'a Operation>) -> impl Iterator<Item = &'a str> {
    operations.filter_map(|operation| operation.origin.backing.table())
}

fn quoted(words: &PatternList) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    words.join(" or ")
}

fn no_match<'a>(key: &str, words: &PatternList, valid: impl IntoIterator<Item = &'a str>) -> String {
    let valid: BTreeSet<&str> = valid.into_iter().collect();
    // Names are compared in snake case, so that `send_money` suggests the tool `sendMoney`.
    let spelled: Vec<(String, &str)> = valid.iter().map(|name| (snake_case(name), *name)).collect();
    let near = literals(words).find_map(|word| {
        let near = nearest(word, spelled.iter().map(|(spelled, _)| spelled.as_str()))?;
        spelled.iter().find(|(spelled, _)| spelled == near).map(|(_, name)| *name)
    });
    let near = near.map(|near| format!(". Did you mean '{near}'?")).unwrap_or_default();
    if words.0.is_empty() {
        return format!("there is no {key}");
    }
    format!("no {key} matches {}{near}", quoted(words))
}
