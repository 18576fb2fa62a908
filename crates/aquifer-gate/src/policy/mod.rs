//! What may be done, decided purely: from an operation, who calls it and with what, to a [`Ruling`] that explains
//! itself. No clock, no store, no I/O.
//!
//! Four voices are heard, and the most restrictive wins (R-SAF-2):
//! 1. the cell of the [`matrix`] for the operation's danger and its source's trust, never weaker than `confirm` from
//!    destructive on, unless the operator set that very cell;
//! 2. the source itself, where it wants a person asked (`always_confirm`);
//! 3. the operator's minimum trust for the category, and the level below which everything is asked for;
//! 4. the operator's rules.
//!
//! A rule can only restrict, unless it is marked `loosen = true`: then it lowers what 1 and 2 say, and nothing else. So
//! a forgotten `allow` opens nothing, and a `deny` is never undone by another rule.
//!
//! [`Policy::compile`] reads for one operation all rules that depend on nothing but the operation. A call then costs a
//! reference count, unless a rule looks at the caller or the parameters.

mod condition;
mod explain;
mod failure;
pub mod matrix;
mod problem;
mod rule;
mod ruling;
pub(crate) mod selector;
mod settings;
mod show;
mod strength;
mod unused;
mod words;

use std::collections::HashSet;
use std::sync::Arc;

use aquifer_engine::Caller;
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::operation::{Backing, Operation, RESERVED};
use aquifer_protocol::schema::Types;
use aquifer_protocol::trust::Trust;
use serde_json::{Map, Value};

use matrix::Matrix;
use problem::Complaints;
use rule::Applies;
use ruling::Facts;

pub use matrix::Cell;
pub use matrix::Origin;
pub use problem::SettingsError;
pub use problem::SettingsProblem;
pub use rule::Rule;
pub use ruling::Denial;
pub use ruling::Effect;
pub use ruling::Needed;
pub use ruling::Reason;
pub use ruling::Ruling;
pub use settings::ConditionSettings;
pub use settings::PolicySettings;
pub use settings::RuleEffect;
pub use settings::RuleSettings;
pub use settings::TrustPolicySettings;
pub use settings::Words;
pub use show::PolicyLine;
pub use strength::Asking;
pub use strength::Strength;
pub use unused::Inventory;
pub use unused::RuleKind;
pub use unused::UnusedRule;
pub(crate) use unused::explain_mismatch;
pub(crate) use unused::unmatched_names;

/// What is to be decided about.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The operation.
    pub operation: &'a Operation,
    /// Who calls it.
    pub caller: &'a Caller,
    /// What the caller was granted.
    pub scopes: &'a [Arc<str>],
    /// Its parameters. Without them the question is what happens in general.
    pub params: Option<&'a Map<String, Value>>,
    /// The types that its parameters refer to, where they are known.
    pub types: Option<&'a Types>,
}

/// The policy in force.
#[derive(Debug, Clone)]
pub struct Policy {
    matrix: Matrix,
    minimums: [Option<Trust>; 5],
    confirm_below: Option<Trust>,
    strengths: [Option<Strength>; 5],
    rules: Vec<Arc<Rule>>,
}

/// What policy says about one operation, as far as that can be said before anybody calls it.
#[derive(Debug, Clone)]
pub struct Compiled {
    made_of: MadeOf,
    facts: Option<Facts>,
    /// The decision by everything that does not depend on the call.
    settled: Arc<Ruling>,
    /// The rules that apply to every call.
    always: Vec<Arc<Rule>>,
    /// The rules that look at the caller or the parameters.
    open: Vec<Arc<Rule>>,
}

/// Everything of an operation that policy looks at before a call.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MadeOf {
    name: Arc<str>,
    source: Arc<str>,
    own_name: Arc<str>,
    generic_name: Option<Arc<str>>,
    backing: Backing,
    category: Category,
    danger: Danger,
    trust: Trust,
    always_confirm: bool,
    quarantine: Option<Arc<str>>,
}

impl Policy {
    /// Reads the settings. Everything that is wrong with them is told at once.
    pub fn new(settings: &PolicySettings) -> Result<Self, SettingsError> {
        let mut problems = Vec::new();
        let policy = Self {
            matrix: own_matrix(settings, &mut problems),
            minimums: minimums(&settings.trust_policy, &mut problems),
            confirm_below: trust_named(
                "require_confirmation_below",
                settings.trust_policy.require_confirmation_below.as_deref(),
                &mut problems,
            ),
            strengths: strengths(settings, &mut problems),
            rules: rules(settings, &mut problems),
        };
        if problems.is_empty() { Ok(policy) } else { Err(SettingsError { problems }) }
    }

    /// Decides. Where the same operation is called often, [`compile`](Self::compile) it once instead.
    pub fn rule(&self, subject: &Subject<'_>) -> Arc<Ruling> {
        self.compile(subject.operation).rule(subject)
    }

    /// Decides as much about an operation as can be decided before anybody calls it.
    pub fn compile(&self, operation: &Operation) -> Compiled {
        self.compile_with(operation, operation.quarantine.as_ref())
    }

    fn compile_with(&self, operation: &Operation, quarantine: Option<&Arc<str>>) -> Compiled {
        let made_of = MadeOf::of(operation);
        if is_protocol(operation) {
            let settled = Arc::new(Ruling { effect: Effect::Allow, because: vec![Reason::Protocol] });
            return Compiled { made_of, facts: None, settled, always: Vec::new(), open: Vec::new() };
        }
        let concerned = self.rules.iter().filter(|rule| rule.concerns(operation)).cloned();
        let (always, open): (Vec<_>, Vec<_>) = concerned.partition(|rule| rule.is_settled());
        let facts = Facts { quarantine: quarantine.cloned(), ..self.facts(operation) };
        let settled = Arc::new(facts.rule(&always));
        Compiled { made_of, facts: Some(facts), settled, always, open }
    }

    fn facts(&self, operation: &Operation) -> Facts {
        let (danger, category) = (operation.danger, operation.category);
        let minimum = self.minimums.get(category as usize).copied().flatten();
        let strength = self.strengths.get(danger as usize).copied().flatten();
        Facts {
            source: operation.source.clone(),
            category,
            danger,
            trust: operation.trust,
            cell: self.matrix.cell(danger, operation.trust),
            minimum,
            confirm_below: self.confirm_below,
            always_confirm: operation.safeguards.always_confirm,
            needed: self.matrix.least_trust(danger, minimum),
            asking: strength.map_or_else(|| Asking::by_default(danger), Asking::from),
            quarantine: None,
        }
    }
}

impl Policy {
    /// Whether any call of this operation may have to be confirmed.
    pub fn may_confirm(&self, operation: &Operation) -> bool {
        let compiled = self.compile(operation);
        matches!(compiled.settled.effect, Effect::Confirm(_))
            || compiled.open.iter().any(|rule| rule.effect == RuleEffect::Confirm)
            || compiled.loosened().any(|ruling| matches!(ruling.effect, Effect::Confirm(_)))
    }

    /// Whether a call of this operation may be denied, or has to be confirmed.
    pub fn restricts(&self, operation: &Operation) -> bool {
        let compiled = self.compile(operation);
        !matches!(compiled.settled.effect, Effect::Allow) || !compiled.open.is_empty()
    }

    /// Whether a rule looks at the parameters of this operation.
    pub fn judges_parameters(&self, operation: &Operation) -> bool {
        self.rules.iter().any(|rule| rule.concerns(operation) && rule.has_conditions())
    }

    /// Whether every call of this operation is denied, whoever makes it and with whatever parameters. Operations that
    /// may be looked at but not called (`introspect_only`, quarantine) are not meant.
    pub fn denies_always(&self, operation: &Operation) -> bool {
        let compiled = self.compile_with(operation, None);
        let Effect::Deny(_) = compiled.settled.effect else { return false };
        let is_shown =
            matches!(compiled.settled.because.first(), Some(Reason::Cell { cell: Cell::IntrospectOnly, .. }));
        !is_shown && compiled.loosened().all(|ruling| matches!(ruling.effect, Effect::Deny(_)))
    }
}

impl Default for Policy {
    /// The published matrix, nothing of the operator's.
    fn default() -> Self {
        Self {
            matrix: Matrix::default(),
            minimums: [None; 5],
            confirm_below: None,
            strengths: [None; 5],
            rules: Vec::new(),
        }
    }
}

impl Compiled {
    /// Whether it was made of this operation as it is now. A catalog that was replaced may have changed it.
    pub fn is_of(&self, operation: &Operation) -> bool {
        let made_of = &self.made_of;
        // Most often they are the very same strings.
        let same = |one: &Arc<str>, other: &Arc<str>| Arc::ptr_eq(one, other) || one == other;
        same(&made_of.name, &operation.name)
            && same(&made_of.source, &operation.source)
            && same(&made_of.own_name, &operation.own_name)
            && made_of.category == operation.category
            && made_of.danger == operation.danger
            && made_of.trust == operation.trust
            && made_of.always_confirm == operation.safeguards.always_confirm
            && made_of.generic_name == operation.generic_name
            && made_of.backing == operation.backing
            && made_of.quarantine == operation.quarantine
    }

    /// The decisions about calls that a rule loosens which looks at the caller or the parameters.
    fn loosened(&self) -> impl Iterator<Item = Ruling> {
        let loosening = self.open.iter().filter(|rule| rule.loosens);
        loosening.filter_map(|rule| {
            let mut applying = self.always.clone();
            applying.push(rule.clone());
            Some(self.facts.as_ref()?.rule(&applying))
        })
    }

    /// Decides about one call of the operation it was made of.
    pub fn rule(&self, subject: &Subject<'_>) -> Arc<Ruling> {
        let (Some(facts), false) = (&self.facts, self.open.is_empty()) else { return self.settled.clone() };
        let mut applying = Vec::new();
        let mut perhaps = Vec::new();
        for rule in &self.open {
            match rule.applies(subject) {
                Applies::Yes => applying.push(rule.clone()),
                Applies::No => {}
                Applies::Perhaps => perhaps.push(Reason::Perhaps(rule.clone())),
            }
        }
        if applying.is_empty() && perhaps.is_empty() {
            return self.settled.clone();
        }
        applying.extend(self.always.iter().cloned());
        applying.sort_by_key(|rule| rule.number);
        let mut ruling = facts.rule(&applying);
        ruling.because.extend(perhaps);
        Arc::new(ruling)
    }
}

impl MadeOf {
    fn of(operation: &Operation) -> Self {
        Self {
            name: operation.name.clone(),
            source: operation.source.clone(),
            own_name: operation.own_name.clone(),
            generic_name: operation.generic_name.clone(),
            backing: operation.backing.clone(),
            category: operation.category,
            danger: operation.danger,
            trust: operation.trust,
            always_confirm: operation.safeguards.always_confirm,
            quarantine: operation.quarantine.clone(),
        }
    }
}

/// The protocol's own operations answer from what the gate itself knows: no source can take their names.
fn is_protocol(operation: &Operation) -> bool {
    operation.source.is_empty() && RESERVED.contains(&&*operation.name)
}

fn own_matrix(settings: &PolicySettings, problems: &mut Vec<SettingsProblem>) -> Matrix {
    let mut matrix = Matrix::default();
    for (danger, row) in &settings.matrix {
        for (trust, cell) in row {
            let danger = danger_named("matrix", danger, problems);
            let trust = trust_named("matrix", Some(trust), problems);
            if let (Some(danger), Some(trust)) = (danger, trust) {
                matrix.set(danger, trust, *cell);
            }
        }
    }
    matrix
}

fn minimums(settings: &TrustPolicySettings, problems: &mut Vec<SettingsProblem>) -> [Option<Trust>; 5] {
    let writes = trust_named("minimum_trust_for_writes", settings.minimum_trust_for_writes.as_deref(), problems);
    Category::ALL.map(|category| {
        let (name, own, shared) = match category {
            Category::Create => ("minimum_trust_for_creates", &settings.minimum_trust_for_creates, writes),
            Category::Read => ("minimum_trust_for_reads", &settings.minimum_trust_for_reads, None),
            Category::Update => ("minimum_trust_for_updates", &settings.minimum_trust_for_updates, writes),
            Category::Delete => ("minimum_trust_for_deletes", &settings.minimum_trust_for_deletes, writes),
            Category::Execute => ("minimum_trust_for_executes", &settings.minimum_trust_for_executes, writes),
        };
        trust_named(name, own.as_deref(), problems).max(shared)
    })
}

fn strengths(settings: &PolicySettings, problems: &mut Vec<SettingsProblem>) -> [Option<Strength>; 5] {
    for danger in settings.strength.keys() {
        danger_named("strength", danger, problems);
    }
    Danger::ALL.map(|danger| settings.strength.get(danger.as_str()).copied())
}

fn rules(settings: &PolicySettings, problems: &mut Vec<SettingsProblem>) -> Vec<Arc<Rule>> {
    let mut names = HashSet::new();
    let mut rules = Vec::with_capacity(settings.rule.len());
    for (written, number) in settings.rule.iter().zip(1..) {
        let rule = Rule::new(number, written, problems);
        if written.name.as_ref().is_some_and(|name| !names.insert(name)) {
            let message = "another rule has the same name, so nobody could tell which of them decided".to_owned();
            problems.push(SettingsProblem { place: rule.to_string(), message });
        }
        let among_several = || Rule::among_several_sources(number, written);
        rules.push(Arc::new(settings.has_several_sources.then(among_several).flatten().unwrap_or(rule)));
    }
    rules
}

fn danger_named(place: &str, name: &str, problems: &mut Vec<SettingsProblem>) -> Option<Danger> {
    let found = Danger::from_name(name);
    if found.is_none() {
        Complaints { place, problems }.unknown("danger level", name, &Danger::ALL.map(Danger::as_str));
    }
    found
}

/// A trust level in either vocabulary.
fn trust_named(place: &str, name: Option<&str>, problems: &mut Vec<SettingsProblem>) -> Option<Trust> {
    let name = name?;
    let found = Trust::from_name(name);
    if found.is_none() {
        Complaints { place, problems }.unknown("trust level", name, &Trust::ALL.map(Trust::as_str));
    }
    found
}
