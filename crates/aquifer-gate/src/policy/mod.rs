//! Policy: decides whether an operation may run, given its caller and parameters, and gives the reasons as a
//! [`PolicyDecision`]. Uses no clock, no store and no I/O.
//!
//! Four kinds of reasons are considered, and the most restrictive wins (R-SAF-2):
//!
//! 1. the cell of the [`matrix`] for the operation's danger and its source's trust: at least `confirm` from destructive
//!    on, unless the operator set this very cell;
//! 2. the source itself, if it requires confirmation (`always_confirm`);
//! 3. the operator's minimum trust for the category, and the level below which everything needs confirmation;
//! 4. the operator's rules.
//!
//! A rule can only restrict, unless it is marked `loosen = true`: then it lowers what 1 and 2 require, and nothing
//! else. So a forgotten `allow` opens nothing, and no rule undoes a `deny`.
//!
//! [`Policy::compile`] evaluates all rules that depend only on the operation. A call then only clones an `Arc`, unless
//! a rule inspects the caller or the parameters.

mod caller_message;
mod condition;
pub(crate) mod consequence;
mod decision;
mod explain;
mod failure;
pub mod matrix;
mod problem;
mod rule;
pub(crate) mod selector;
mod settings;
mod show;
mod unused;

use std::collections::HashSet;
use std::sync::Arc;

use aquifer_engine::Caller;
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::effect::EffectSet;
use aquifer_protocol::operation::{Backing, Operation, RESERVED};
use aquifer_protocol::schema::Types;
use aquifer_protocol::trust::Trust;
use serde_json::{Map, Value};

use decision::Facts;
use matrix::Matrix;
use problem::ProblemCollector;
use rule::Applicability;

pub use crate::strength::RequiredStrength;
pub use crate::strength::Strength;
pub(crate) use condition::AmountPath;
pub use decision::Denial;
pub use decision::Effect;
pub use decision::PolicyDecision;
pub use decision::Reason;
pub use decision::RequiredOperation;
pub use matrix::Cell;
pub use matrix::Origin;
pub use problem::SettingsError;
pub use problem::SettingsProblem;
pub use rule::Rule;

pub use settings::AmountSettings;
pub use settings::ConditionSettings;
pub use settings::PatternList;
pub use settings::PolicySettings;
pub use settings::RuleEffect;
pub use settings::RuleSettings;
pub use settings::TrustPolicySettings;
pub use show::PolicyLine;
pub(crate) use show::shown_effects;
pub use unused::Inventory;
pub use unused::RuleKind;
pub use unused::UnusedRule;
pub(crate) use unused::explain_mismatch;
pub(crate) use unused::unmatched_names;
pub(crate) use unused::{AFTER, BEFORE};

/// The input of a decision.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The operation.
    pub operation: &'a Operation,
    /// The caller.
    pub caller: &'a Caller,
    /// The caller's scopes.
    pub scopes: &'a [Arc<str>],
    /// The call's parameters. `None` for the decision regardless of parameters.
    pub params: Option<&'a Map<String, Value>>,
    /// The types that its parameters refer to, if known.
    pub types: Option<&'a Types>,
}

/// The policy in force.
#[derive(Debug, Clone)]
pub struct Policy {
    matrix: Matrix,
    minimums: [Option<Trust>; 5],
    confirm_below: Option<Trust>,
    strengths: [Option<Strength>; 5],
    model_confirms: bool,
    rules: Vec<Arc<Rule>>,
}

/// The policy for one operation, independent of the call.
#[derive(Debug, Clone)]
pub struct CompiledPolicy {
    key: OperationKey,
    facts: Option<Facts>,
    /// The decision, independent of the call.
    static_decision: Arc<PolicyDecision>,
    /// The rules that apply to every call.
    static_rules: Vec<Arc<Rule>>,
    /// The rules that inspect the caller or the parameters.
    dynamic_rules: Vec<Arc<Rule>>,
}

/// The properties of an operation that policy evaluates before a call.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OperationKey {
    name: Arc<str>,
    source: Arc<str>,
    own_name: Arc<str>,
    generic_name: Option<Arc<str>>,
    backing: Backing,
    category: Category,
    danger: Danger,
    effects: EffectSet,
    trust: Trust,
    always_confirm: bool,
    quarantine: Option<Arc<str>>,
    /// What shows that it needs a person. Reasons quote it.
    evidence: Option<Arc<str>>,
}

impl Policy {
    /// Parses the settings. Reports all problems at once.
    pub fn new(settings: &PolicySettings) -> Result<Self, SettingsError> {
        let mut problems = Vec::new();
        let policy = Self {
            matrix: parse_matrix(settings, &mut problems),
            minimums: parse_minimums(&settings.trust_policy, &mut problems),
            confirm_below: parse_trust(
                "require_confirmation_below",
                settings.trust_policy.require_confirmation_below.as_deref(),
                &mut problems,
            ),
            strengths: parse_strengths(settings, &mut problems),
            model_confirms: settings.model_confirms,
            rules: parse_rules(settings, &mut problems),
        };
        if problems.is_empty() { Ok(policy) } else { Err(SettingsError { problems }) }
    }

    /// Decides about a call. If an operation is called often, [`compile`](Self::compile) it once instead.
    pub fn decide(&self, subject: &Subject<'_>) -> Arc<PolicyDecision> {
        self.compile(subject.operation).decide(subject)
    }

    /// Evaluates the part of the policy that does not depend on the call.
    pub fn compile(&self, operation: &Operation) -> CompiledPolicy {
        self.compile_with(operation, operation.safety.quarantine.as_ref())
    }

    fn compile_with(&self, operation: &Operation, quarantine: Option<&Arc<str>>) -> CompiledPolicy {
        let key = OperationKey::new(operation);
        if is_protocol(operation) {
            let static_decision = Arc::new(PolicyDecision { effect: Effect::Allow, reasons: vec![Reason::Protocol] });
            return CompiledPolicy {
                key,
                facts: None,
                static_decision,
                static_rules: Vec::new(),
                dynamic_rules: Vec::new(),
            };
        }
        let concerned = self.rules.iter().filter(|rule| rule.concerns(operation)).cloned();
        let (static_rules, dynamic_rules): (Vec<_>, Vec<_>) = concerned.partition(|rule| rule.is_static());
        let facts = Facts { quarantine: quarantine.cloned(), ..self.facts(operation) };
        let static_decision = Arc::new(facts.decide(&static_rules));
        CompiledPolicy { key, facts: Some(facts), static_decision, static_rules, dynamic_rules }
    }

    fn facts(&self, operation: &Operation) -> Facts {
        let (danger, category) = (operation.safety.danger, operation.category);
        let minimum = self.minimums.get(category as usize).copied().flatten();
        Facts {
            source: operation.origin.source.clone(),
            category,
            does: consequence::describe(operation).into(),
            danger,
            trust: operation.origin.trust,
            cell: self.matrix.cell(danger, operation.origin.trust),
            settled_cell: self.matrix.cell(Danger::Reversible, operation.origin.trust),
            minimum,
            confirm_below: self.confirm_below,
            always_confirm: operation.safety.safeguards.always_confirm,
            needed: self.matrix.min_trust(danger, minimum),
            strength: self.strength_for(danger),
            quarantine: None,
        }
    }
}

impl Policy {
    pub(crate) fn strength_for(&self, danger: Danger) -> RequiredStrength {
        let configured = self.strengths.get(danger as usize).copied().flatten();
        configured.map_or_else(|| RequiredStrength::default_for(danger, self.model_confirms), RequiredStrength::from)
    }

    /// Whether the operator lets a model confirm some of its own calls.
    pub fn lets_model_confirm(&self) -> bool {
        let by_rule = |rule: &Arc<Rule>| rule.loosens && rule.strength == Some(Strength::Token);
        Danger::ALL.into_iter().any(|danger| self.strength_for(danger).lets_model_confirm())
            || self.rules.iter().any(by_rule)
    }

    /// Whether some call of this operation may need confirmation.
    pub fn may_confirm(&self, operation: &Operation) -> bool {
        let compiled = self.compile(operation);
        matches!(compiled.static_decision.effect, Effect::Confirm(_))
            || compiled.dynamic_rules.iter().any(|rule| rule.effect == RuleEffect::Confirm)
            || compiled.loosened().any(|decision| matches!(decision.effect, Effect::Confirm(_)))
    }

    /// Whether some call of this operation may be denied or need confirmation.
    pub fn restricts(&self, operation: &Operation) -> bool {
        let compiled = self.compile(operation);
        !matches!(compiled.static_decision.effect, Effect::Allow) || !compiled.dynamic_rules.is_empty()
    }

    /// Whether a rule inspects the parameters of this operation.
    pub fn judges_parameters(&self, operation: &Operation) -> bool {
        self.rules.iter().any(|rule| rule.concerns(operation) && rule.has_conditions())
    }

    /// Whether every call of this operation is denied, for all callers and parameters. This excludes operations that
    /// can be introspected but not called (`introspect_only`, quarantine).
    pub fn denies_always(&self, operation: &Operation) -> bool {
        let compiled = self.compile_with(operation, None);
        let Effect::Deny(_) = compiled.static_decision.effect else { return false };
        let is_shown =
            matches!(compiled.static_decision.reasons.first(), Some(Reason::Cell { cell: Cell::IntrospectOnly, .. }));
        !is_shown && compiled.loosened().all(|decision| matches!(decision.effect, Effect::Deny(_)))
    }
}

impl Default for Policy {
    /// The published matrix without operator settings.
    fn default() -> Self {
        Self {
            matrix: Matrix::default(),
            minimums: [None; 5],
            confirm_below: None,
            strengths: [None; 5],
            model_confirms: false,
            rules: Vec::new(),
        }
    }
}

impl CompiledPolicy {
    /// Whether this was compiled from the operation in its current form. A new catalog may have changed it.
    pub fn matches(&self, operation: &Operation) -> bool {
        let key = &self.key;
        // Usually both are the same allocation.
        let same = |one: &Arc<str>, other: &Arc<str>| Arc::ptr_eq(one, other) || one == other;
        same(&key.name, &operation.name)
            && same(&key.source, &operation.origin.source)
            && same(&key.own_name, &operation.origin.own_name)
            && key.category == operation.category
            && key.danger == operation.safety.danger
            && key.effects == operation.safety.effects.set()
            && key.trust == operation.origin.trust
            && key.always_confirm == operation.safety.safeguards.always_confirm
            && key.generic_name == operation.routing.generic_name
            && key.backing == operation.origin.backing
            && key.quarantine == operation.safety.quarantine
            && match (&key.evidence, evidence(operation)) {
                (Some(one), Some(other)) => same(one, other),
                (one, other) => one.is_none() && other.is_none(),
            }
    }

    /// The possible decisions when a rule on the caller or the parameters loosens.
    fn loosened(&self) -> impl Iterator<Item = PolicyDecision> {
        let loosening = self.dynamic_rules.iter().filter(|rule| rule.loosens);
        loosening.filter_map(|rule| {
            let mut applying = self.static_rules.clone();
            applying.push(rule.clone());
            Some(self.facts.as_ref()?.decide(&applying))
        })
    }

    /// Decides about one call of the operation if it is settled where it goes: like about a reversible one, except that rules
    /// count as always. `None` if the operator has set the cell.
    pub(crate) fn decide_settled(&self, subject: &Subject<'_>) -> Option<Effect> {
        let facts = self.facts.as_ref().filter(|facts| facts.cell.1 != Origin::Operator)?;
        let facts = Facts { cell: facts.settled_cell, ..facts.clone() };
        let mut applying = self.static_rules.clone();
        for rule in &self.dynamic_rules {
            match rule.applies(subject) {
                Applicability::Yes => applying.push(rule.clone()),
                Applicability::No => {}
                Applicability::DependsOnParameters => return None,
            }
        }
        Some(facts.decide(&applying).effect)
    }

    /// Decides about one call of the operation.
    pub fn decide(&self, subject: &Subject<'_>) -> Arc<PolicyDecision> {
        let (Some(facts), false) = (&self.facts, self.dynamic_rules.is_empty()) else {
            return self.static_decision.clone();
        };
        let mut applying = Vec::new();
        let mut conditional = Vec::new();
        for rule in &self.dynamic_rules {
            match rule.applies(subject) {
                Applicability::Yes => applying.push(rule.clone()),
                Applicability::No => {}
                Applicability::DependsOnParameters => conditional.push(Reason::ConditionalRule(rule.clone())),
            }
        }
        if applying.is_empty() && conditional.is_empty() {
            return self.static_decision.clone();
        }
        applying.extend(self.static_rules.iter().cloned());
        applying.sort_by_key(|rule| rule.number);
        let mut decision = facts.decide(&applying);
        decision.reasons.extend(conditional);
        Arc::new(decision)
    }
}

impl OperationKey {
    fn new(operation: &Operation) -> Self {
        Self {
            name: operation.name.clone(),
            source: operation.origin.source.clone(),
            own_name: operation.origin.own_name.clone(),
            generic_name: operation.routing.generic_name.clone(),
            backing: operation.origin.backing.clone(),
            category: operation.category,
            danger: operation.safety.danger,
            effects: operation.safety.effects.set(),
            trust: operation.origin.trust,
            always_confirm: operation.safety.safeguards.always_confirm,
            quarantine: operation.safety.quarantine.clone(),
            evidence: evidence(operation).cloned(),
        }
    }
}

fn evidence(operation: &Operation) -> Option<&Arc<str>> {
    let found = operation.safety.effects.first_for_person().map(|found| &found.evidence);
    found.or(operation.safety.danger_evidence.as_ref())
}

/// Whether this is one of the protocol's own operations. The gate answers them itself; no source can take their names.
fn is_protocol(operation: &Operation) -> bool {
    operation.origin.source.is_empty() && RESERVED.contains(&&*operation.name)
}

fn parse_matrix(settings: &PolicySettings, problems: &mut Vec<SettingsProblem>) -> Matrix {
    let mut matrix = Matrix::default();
    for (danger, row) in &settings.matrix {
        let danger = parse_danger("matrix", danger, problems);
        let mut cells: Vec<(Trust, Cell)> = row
            .iter()
            .filter_map(|(trust, cell)| Some((parse_trust("matrix", Some(trust), problems)?, *cell)))
            .collect();
        // The highest level first: `validated` also sets `accepted`, which a cell of its own replaces.
        cells.sort_by_key(|(trust, _)| std::cmp::Reverse(*trust));
        let Some(danger) = danger else { continue };
        cells.into_iter().for_each(|(trust, cell)| matrix.override_cell(danger, trust, cell));
    }
    matrix
}

fn parse_minimums(settings: &TrustPolicySettings, problems: &mut Vec<SettingsProblem>) -> [Option<Trust>; 5] {
    let writes = parse_trust("minimum_trust_for_writes", settings.minimum_trust_for_writes.as_deref(), problems);
    Category::ALL.map(|category| {
        let (name, own, shared) = match category {
            Category::Create => ("minimum_trust_for_creates", &settings.minimum_trust_for_creates, writes),
            Category::Read => ("minimum_trust_for_reads", &settings.minimum_trust_for_reads, None),
            Category::Update => ("minimum_trust_for_updates", &settings.minimum_trust_for_updates, writes),
            Category::Delete => ("minimum_trust_for_deletes", &settings.minimum_trust_for_deletes, writes),
            Category::Execute => ("minimum_trust_for_executes", &settings.minimum_trust_for_executes, writes),
        };
        parse_trust(name, own.as_deref(), problems).max(shared)
    })
}

fn parse_strengths(settings: &PolicySettings, problems: &mut Vec<SettingsProblem>) -> [Option<Strength>; 5] {
    for danger in settings.strength.keys() {
        parse_danger("strength", danger, problems);
    }
    Danger::ALL.map(|danger| settings.strength.get(danger.as_str()).copied())
}

fn parse_rules(settings: &PolicySettings, problems: &mut Vec<SettingsProblem>) -> Vec<Arc<Rule>> {
    let mut names = HashSet::new();
    let mut rules = Vec::with_capacity(settings.rule.len());
    for (written, number) in settings.rule.iter().zip(1..) {
        let rule = Rule::new(number, written, problems);
        if written.name.as_ref().is_some_and(|name| !names.insert(name)) {
            let message = "another rule has the same name, so explanations would be ambiguous".to_owned();
            problems.push(SettingsProblem { place: rule.to_string(), message });
        }
        let among_several = || Rule::among_several_sources(number, written);
        rules.push(Arc::new(settings.has_several_sources.then(among_several).flatten().unwrap_or(rule)));
    }
    rules
}

fn parse_danger(place: &str, name: &str, problems: &mut Vec<SettingsProblem>) -> Option<Danger> {
    let danger = Danger::from_name(name);
    if danger.is_none() {
        ProblemCollector { place, problems }.unknown("danger level", name, &Danger::ALL.map(Danger::as_str));
    }
    danger
}

/// Parses a trust level of either vocabulary.
fn parse_trust(place: &str, name: Option<&str>, problems: &mut Vec<SettingsProblem>) -> Option<Trust> {
    let name = name?;
    let trust = Trust::from_name(name);
    if trust.is_none() {
        ProblemCollector { place, problems }.unknown("trust level", name, &Trust::ALL.map(Trust::as_str));
    }
    trust
}
