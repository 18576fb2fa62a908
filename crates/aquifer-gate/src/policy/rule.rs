//! A rule: the operations and callers it applies to, and its conditions.

use std::sync::Arc;
use std::time::Duration;

use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::effect::{Effect, EffectSet};
use aquifer_protocol::operation::Operation;

use super::Subject;
use super::condition::{Condition, RuleDirection, TypedOperation};
use super::problem::{ProblemCollector, SettingsProblem};
use super::selector::{Selector, SelectorKeys};
use super::settings::{PatternList, RuleEffect, RuleSettings};
use crate::strength::{MAX_COOLDOWN, Strength};
use aquifer_protocol::glob::{Glob, Patterns, is_literal};

/// A parsed rule.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Its number in the configuration, counted from 1.
    pub number: usize,
    /// Its name, if it has one.
    pub name: Option<Arc<str>>,
    /// What it does.
    pub effect: RuleEffect,
    /// Whether it lowers what the matrix and the source require.
    pub loosens: bool,
    /// Whether it was meant to loosen but has no effect, because it does not name the source.
    pub(super) lacks_source: bool,
    /// The strength of the confirmation.
    pub strength: Option<Strength>,
    /// The operator's reason.
    pub reason: Option<Arc<str>>,
    /// The question for the person.
    pub message: Option<Arc<str>>,
    /// The cooldown of a confirmation.
    pub cooldown: Duration,
    selector: Selector,
    categories: Vec<Category>,
    dangers: Vec<Danger>,
    /// `None` for all operations, whatever they do.
    does: Option<EffectSet>,
    caller: Patterns,
    scope: Patterns,
    when: Vec<Condition>,
}

/// Whether a rule applies to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Applicability {
    Yes,
    No,
    /// The conditions need parameters, which are not known.
    DependsOnParameters,
}

impl Rule {
    /// The rule as it applies with several sources: a rule that loosens operations by name without naming their source
    /// does not loosen.
    pub(super) fn among_several_sources(number: usize, settings: &RuleSettings) -> Option<Self> {
        if !settings.loosen || names_a_source(settings) || is_every_operation(&settings.operation) {
            return None;
        }
        // Problems were already reported for the rule as written.
        let restricting = RuleSettings { loosen: false, ..settings.clone() };
        Some(Self { lacks_source: true, ..Self::new(number, &restricting, &mut Vec::new()) })
    }

    pub(super) fn new(number: usize, settings: &RuleSettings, problems: &mut Vec<SettingsProblem>) -> Self {
        let place = match &settings.name {
            Some(name) => format!("rule {number} '{name}'"),
            None => format!("rule {number}"),
        };
        let mut collector = ProblemCollector { place: &place, problems };
        check_consistency(settings, &mut collector);
        let mut patterns = |what: &str, words: &PatternList| {
            Patterns::new(words.iter(), |problem| collector.add(format!("{what}: {problem}")))
        };
        let (caller, scope) = (patterns("caller", &settings.caller), patterns("scope", &settings.scope));
        let keys = SelectorKeys {
            source: settings.source.clone(),
            operation: settings.operation.clone(),
            tool: settings.tool.clone(),
            table: settings.table.clone(),
        };
        let read = if settings.loosen { Selector::loosening } else { Selector::restricting };
        let selector = read(keys, |problem| collector.add(problem));
        let categories = Category::ALL.map(|category| (category, category.as_str()));
        let dangers = Danger::ALL.map(|danger| (danger, danger.as_str()));
        let effects = Effect::ALL.map(|effect| (effect, effect.as_str()));
        let does = parse_levels("does", &settings.does, &effects, false, &mut collector);
        Self {
            number,
            name: settings.name.as_deref().map(Into::into),
            effect: settings.effect,
            loosens: settings.loosen,
            lacks_source: false,
            strength: settings.strength,
            reason: settings.reason.as_deref().map(|reason| reason.trim().into()),
            message: settings.message.as_deref().map(|message| message.trim().into()),
            cooldown: Duration::from_secs(settings.cooldown_seconds.unwrap_or(0)),
            selector,
            categories: parse_levels("category", &settings.category, &categories, false, &mut collector),
            dangers: parse_levels("danger", &settings.danger, &dangers, true, &mut collector),
            does: (!settings.does.0.is_empty()).then(|| does.into_iter().collect()),
            caller,
            scope,
            when: settings.when.iter().filter_map(|written| Condition::new(written, &mut collector)).collect(),
        }
    }

    /// Whether it may apply to this operation.
    pub(super) fn concerns(&self, operation: &Operation) -> bool {
        self.categories.contains(&operation.category)
            && self.dangers.contains(&operation.safety.danger)
            && self.does.is_none_or(|listed| self.selects_effects(listed, operation.safety.effects.set()))
            && self.selector.selects(operation)
    }

    /// Whether it applies to operations with these effects. In doubt, the stricter reading applies.
    fn selects_effects(&self, listed: EffectSet, found: EffectSet) -> bool {
        match self.loosens {
            true => !found.is_empty() && found.is_subset(listed),
            false => found.intersects(listed),
        }
    }

    /// Its selector of operations.
    pub(super) fn selector(&self) -> &Selector {
        &self.selector
    }

    /// Its conditions.
    pub(super) fn conditions(&self) -> &[Condition] {
        &self.when
    }

    /// Whether it depends only on the operation.
    pub(super) fn is_static(&self) -> bool {
        self.caller.is_all() && self.scope.is_all() && self.when.is_empty()
    }

    /// Whether it inspects parameters.
    pub(super) fn has_conditions(&self) -> bool {
        !self.when.is_empty()
    }

    /// Whether a rule that matches the operation applies to this call.
    pub(super) fn applies(&self, subject: &Subject<'_>) -> Applicability {
        let principal = subject.caller.principal.as_deref().unwrap_or_default();
        let admits_scopes = match subject.scopes {
            [] => self.scope.admits(""),
            scopes => self.scope.admits_one_of(scopes.iter().map(|scope| &**scope)),
        };
        if !admits_scopes || !self.caller.admits(principal) {
            return Applicability::No;
        }
        let Some(params) = subject.params else {
            return if self.when.is_empty() { Applicability::Yes } else { Applicability::DependsOnParameters };
        };
        let direction = if self.loosens { RuleDirection::Loosens } else { RuleDirection::Restricts };
        let typed = TypedOperation { operation: subject.operation, types: subject.types };
        let holds = self.when.iter().all(|condition| condition.holds(typed, params, direction));
        if holds { Applicability::Yes } else { Applicability::No }
    }
}

/// The rule's name in explanations.
impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.name {
            Some(name) => write!(f, "rule {} '{name}'", self.number),
            None => write!(f, "rule {}", self.number),
        }
    }
}

/// Reports rules that contradict themselves or loosen more than intended.
fn check_consistency(settings: &RuleSettings, collector: &mut ProblemCollector<'_>) {
    if settings.name.as_deref().is_some_and(|name| name.trim().is_empty() || name.chars().any(char::is_control)) {
        collector.add("its name is empty or contains control characters");
    }
    if settings.loosen && settings.effect == RuleEffect::Deny {
        collector.add("a denial cannot loosen anything: remove 'loosen'");
    }
    if settings.strength.is_some() && settings.effect != RuleEffect::Confirm {
        collector.add("only a rule with effect = \"confirm\" has a strength");
    }
    if (settings.message.is_some() || settings.cooldown_seconds.is_some()) && settings.effect != RuleEffect::Confirm {
        collector.add("only a rule with effect = \"confirm\" has a message or a cooldown");
    }
    if settings.message.as_deref().is_some_and(|message| message.trim().is_empty()) {
        collector.add("its message is empty: leave it out for the usual question");
    }
    if settings.cooldown_seconds.is_some_and(|seconds| seconds > MAX_COOLDOWN.as_secs()) {
        collector.add(format!("its cooldown_seconds exceed {}", MAX_COOLDOWN.as_secs()));
    }
    let says_what = [&settings.source, &settings.operation, &settings.tool, &settings.table]
        .into_iter()
        .chain([&settings.category, &settings.danger, &settings.does])
        .chain([&settings.caller, &settings.scope])
        .any(|words| !words.0.is_empty());
    if settings.loosen && !says_what {
        collector.add("a rule with 'loosen' has to name what it loosens; operation = \"*\" is everything");
    }
    let names_backing = [&settings.tool, &settings.table].iter().any(|words| !words.0.is_empty());
    if settings.loosen && names_backing && !names_a_source(settings) {
        collector.add(
            "a rule with 'loosen' has to name the source of the tool or table without wildcards: another may have one of \
             that name",
        );
    }
}

/// Whether the rule names sources. A wildcard does not count: it would also match a source whose name merely starts the
/// same, and `b_delete` of source `a` has the same served name as `delete` of source `a_b`.
fn names_a_source(settings: &RuleSettings) -> bool {
    let mut selecting = settings.source.iter().filter(|pattern| !pattern.starts_with('!')).peekable();
    selecting.peek().is_some() && selecting.all(is_literal)
}

/// Whether a pattern list selects no particular name: it is empty, or `*` alone.
fn is_every_operation(operation: &PatternList) -> bool {
    operation.iter().all(|pattern| pattern == "*")
}

/// Parses the levels that a list admits; an empty list admits all. If levels are ordered, `x+` means x and above.
fn parse_levels<T: Copy, const N: usize>(
    what: &str,
    words: &PatternList,
    choices: &[(T, &'static str); N],
    is_ladder: bool,
    collector: &mut ProblemCollector<'_>,
) -> Vec<T> {
    let mut only = vec![false; N];
    let mut never = vec![false; N];
    let (mut has_only, mut is_readable) = (false, true);
    for written in words.iter() {
        let (excludes, word) = written.strip_prefix('!').map_or((false, written), |word| (true, word));
        has_only |= !excludes;
        let into = if excludes { &mut never } else { &mut only };
        let above = word.strip_suffix('+').filter(|_| is_ladder);
        let (word, and_above) = above.map_or((word, false), |word| (word, true));
        let glob = match Glob::new(&word.to_ascii_lowercase()) {
            Ok(glob) => glob,
            Err(problem) => {
                collector.add(format!("{what}: {problem}"));
                is_readable = false;
                continue;
            }
        };
        let mut has_matched = false;
        for (place, (_, name)) in into.iter_mut().zip(choices) {
            let matches = glob.matches(&name.to_ascii_lowercase());
            *place |= matches || (and_above && has_matched);
            has_matched |= matches;
        }
        if !has_matched {
            collector.unknown(what, word, &choices.map(|(_, name)| name));
            is_readable = false;
        }
    }
    let admitted = |only: bool, never: bool| (only || !has_only) && !never;
    let values: Vec<T> = choices
        .iter()
        .zip(only.into_iter().zip(never))
        .filter(|(_, (only, never))| admitted(*only, *never))
        .map(|((value, _), _)| *value)
        .collect();
    if values.is_empty() && is_readable {
        collector.add(format!("it can never apply: its {what} admits nothing"));
    }
    values
}
