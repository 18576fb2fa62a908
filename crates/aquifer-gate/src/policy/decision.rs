//! What was decided about a call, and everything that had a say in it.

use std::sync::Arc;
use std::time::Duration;

use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::trust::Trust;

use super::matrix::{Cell, Origin};
use super::rule::Rule;
use super::settings::RuleEffect;
use crate::strength::RequiredStrength;

/// What is to happen to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It goes ahead.
    Allow,
    /// A person is asked, in this way.
    Confirm(RequiredStrength),
    /// It is refused.
    Deny(Denial),
}

/// Why a call is refused; each has a code of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    /// The operation is too dangerous for the trust its source has.
    Danger,
    /// The source is not trusted enough, by the matrix (introspection only) or the operator's minimum.
    Trust,
    /// A rule says so.
    Rule,
    /// Its definition changed, and nobody has accepted the change (R-DIS-7a).
    Quarantine,
    /// It needs another operation that is denied.
    RequiredOperation,
}

impl Effect {
    /// The decision in one word: `allow`, `confirm` or `deny`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Effect::Allow => "allow",
            Effect::Confirm(_) => "confirm",
            Effect::Deny(_) => "deny",
        }
    }

    /// How restrictive it is.
    pub const fn severity(self) -> RuleEffect {
        match self {
            Effect::Allow => RuleEffect::Allow,
            Effect::Confirm(_) => RuleEffect::Confirm,
            Effect::Deny(_) => RuleEffect::Deny,
        }
    }
}

/// A decision that explains itself.
#[derive(Debug, Clone)]
pub struct PolicyDecision {
    /// What is to happen.
    pub effect: Effect,
    /// Everything that had a say, what decided first.
    pub reasons: Vec<Reason>,
}

impl PolicyDecision {
    /// What the operator wants a person asked, if that is said: the first rule's that says it.
    pub fn message(&self) -> Option<&str> {
        self.rules().find_map(|rule| rule.message.as_deref())
    }

    /// How long a confirmation has to rest: the longest that any rule wants.
    pub fn cooldown(&self) -> Duration {
        let needed = self.reasons.iter().filter_map(|reason| match reason {
            Reason::RequiredOperation(needed) => Some(needed.decision.cooldown()),
            _ => None,
        });
        self.rules().map(|rule| rule.cooldown).chain(needed).max().unwrap_or_default()
    }

    /// The decision about a request that also needs another operation: the more restrictive of both.
    #[must_use]
    pub(crate) fn combine_with(&self, needed: RequiredOperation) -> Self {
        let effect = match (self.effect, needed.decision.effect) {
            (Effect::Deny(denial), _) => Effect::Deny(denial),
            (_, Effect::Deny(_)) => Effect::Deny(Denial::RequiredOperation),
            (Effect::Confirm(own), Effect::Confirm(other)) => Effect::Confirm(own.stronger(other)),
            (Effect::Confirm(strength), Effect::Allow) | (Effect::Allow, Effect::Confirm(strength)) => {
                Effect::Confirm(strength)
            }
            (Effect::Allow, Effect::Allow) => Effect::Allow,
        };
        let decided = needed.decision.effect.severity() > self.effect.severity();
        let mut reasons = self.reasons.clone();
        // What decided stands first.
        reasons.insert(if decided { 0 } else { reasons.len() }, Reason::RequiredOperation(Arc::new(needed)));
        Self { effect, reasons }
    }

    /// The rules that apply and want it confirmed.
    fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.reasons.iter().filter_map(|reason| match reason {
            Reason::Rule(rule) if rule.effect == RuleEffect::Confirm => Some(&**rule),
            _ => None,
        })
    }
}

/// Another operation that a request needs, because it reads what that one reads.
#[derive(Debug, Clone)]
pub struct RequiredOperation {
    /// Its name.
    pub operation: Arc<str>,
    /// Whether callers are not to know of it.
    pub is_hidden: bool,
    /// What is decided about it.
    pub decision: Arc<PolicyDecision>,
}

/// Something that has a say in a decision.
#[derive(Debug, Clone)]
pub enum Reason {
    /// The protocol's own operations are always there.
    Protocol,
    /// The cell of the matrix.
    Cell {
        /// The operation's source.
        source: Arc<str>,
        /// The operation's category.
        category: Category,
        /// The operation's danger.
        danger: Danger,
        /// The source's trust.
        trust: Trust,
        /// What the cell says.
        cell: Cell,
        /// Who says it.
        origin: Origin,
        /// The least trust under which neither the matrix nor the operator's minimum denies it.
        needed: Option<Trust>,
        /// Whether a rule has loosened it.
        overruled: bool,
    },
    /// The operator's minimum for the category, which the source does not reach.
    Minimum {
        /// The operation's source.
        source: Arc<str>,
        /// The operation's category.
        category: Category,
        /// The minimum.
        required: Trust,
        /// What the source has.
        actual: Trust,
        /// The least trust under which neither the matrix nor the minimum denies it.
        needed: Option<Trust>,
    },
    /// The operator wants sources below this level asked for.
    ConfirmBelow {
        /// The operation's source.
        source: Arc<str>,
        /// The level.
        required: Trust,
        /// What the source has.
        actual: Trust,
    },
    /// The operation's source wants a person asked.
    Safeguard {
        /// The operation's source.
        source: Arc<str>,
        /// Whether a rule has loosened it.
        overruled: bool,
    },
    /// The operation's definition changed, and nobody has accepted the change. No rule loosens that.
    Quarantine(Arc<str>),
    /// Another operation that the request needs.
    RequiredOperation(Arc<RequiredOperation>),
    /// A rule that applies.
    Rule(Arc<Rule>),
    /// A rule that may apply, depending on the parameters.
    ConditionalRule(Arc<Rule>),
}

/// What is known of an operation before any rule is read.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    pub(super) source: Arc<str>,
    pub(super) category: Category,
    pub(super) danger: Danger,
    pub(super) trust: Trust,
    pub(super) cell: (Cell, Origin),
    pub(super) minimum: Option<Trust>,
    pub(super) confirm_below: Option<Trust>,
    pub(super) always_confirm: bool,
    pub(super) needed: Option<Trust>,
    pub(super) strength: RequiredStrength,
    pub(super) quarantine: Option<Arc<str>>,
}

impl Facts {
    /// The decision, given the rules that apply.
    ///
    /// What the matrix and the source say can be loosened by a rule that is marked so. What the operator says (minimums
    /// and other rules) cannot: there the most restrictive wins.
    pub(super) fn decide(&self, rules: &[Arc<Rule>]) -> PolicyDecision {
        let loosened = rules.iter().filter(|rule| rule.loosens).map(|rule| rule.effect).max();
        let mut voices = Vec::new();
        let mut loosenable = |severity: RuleEffect, reason: fn(&Self, bool) -> Reason| {
            let overruled = loosened.is_some_and(|loosened| loosened < severity);
            let severity = loosened.map_or(severity, |loosened| severity.min(loosened));
            // Overruled, it has lost its say.
            let order = if overruled { Order::Overruled } else { Order::Given };
            voices.push((severity, order, reason(self, overruled)));
        };
        loosenable(severity_of(self.cell.0), Self::cell_reason);
        if self.always_confirm {
            loosenable(RuleEffect::Confirm, |facts, overruled| Reason::Safeguard {
                source: facts.source.clone(),
                overruled,
            });
        }
        if let Some(reason) = &self.quarantine {
            voices.push((RuleEffect::Deny, Order::Operator, Reason::Quarantine(reason.clone())));
        }
        if let Some(required) = self.minimum.filter(|required| self.trust < *required) {
            let (source, category, actual, needed) = (self.source.clone(), self.category, self.trust, self.needed);
            let reason = Reason::Minimum { source, category, required, actual, needed };
            voices.push((RuleEffect::Deny, Order::Operator, reason));
        }
        if let Some(required) = self.confirm_below.filter(|required| self.trust < *required) {
            let reason = Reason::ConfirmBelow { source: self.source.clone(), required, actual: self.trust };
            voices.push((RuleEffect::Confirm, Order::Operator, reason));
        }
        for rule in rules {
            // A plain allow restricts nothing and loosens nothing.
            let has_say = rule.loosens || rule.effect > RuleEffect::Allow;
            let order = if has_say { Order::Rule } else { Order::Overruled };
            voices.push((rule.effect, order, Reason::Rule(rule.clone())));
        }
        // What decided stands first: the most restrictive, and among those the one an operator can most easily find.
        voices.sort_by_key(|(severity, order, _)| (std::cmp::Reverse(*severity), *order));
        let severity = voices.first().map_or(RuleEffect::Deny, |(severity, ..)| *severity);
        let reasons: Vec<Reason> = voices.into_iter().map(|(.., reason)| reason).collect();
        let effect = match severity {
            RuleEffect::Allow => Effect::Allow,
            RuleEffect::Confirm => Effect::Confirm(self.required_strength(rules)),
            RuleEffect::Deny => Effect::Deny(match reasons.first() {
                Some(Reason::Rule(_)) => Denial::Rule,
                Some(Reason::Quarantine(_)) => Denial::Quarantine,
                Some(Reason::Cell { cell: Cell::Deny, .. }) | None => Denial::Danger,
                Some(_) => Denial::Trust,
            }),
        };
        PolicyDecision { effect, reasons }
    }

    fn cell_reason(&self, overruled: bool) -> Reason {
        let (cell, origin) = self.cell;
        let (source, category, danger, trust) = (self.source.clone(), self.category, self.danger, self.trust);
        Reason::Cell { source, category, danger, trust, cell, origin, needed: self.needed, overruled }
    }

    /// How a person is asked: as the danger demands, or as a loosening rule says instead, and never more weakly than
    /// any rule wants.
    fn required_strength(&self, rules: &[Arc<Rule>]) -> RequiredStrength {
        let strengths = |loosens: bool| {
            let own = rules.iter().filter(move |rule| rule.loosens == loosens);
            own.filter_map(|rule| rule.strength).map(RequiredStrength::from).reduce(RequiredStrength::stronger)
        };
        let base = strengths(true).unwrap_or(self.strength);
        strengths(false).map_or(base, |wanted| base.stronger(wanted))
    }
}

/// Among voices that say the same, who is named first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    Rule,
    Operator,
    Given,
    Overruled,
}

fn severity_of(cell: Cell) -> RuleEffect {
    match cell {
        Cell::Allow => RuleEffect::Allow,
        Cell::Confirm => RuleEffect::Confirm,
        Cell::IntrospectOnly | Cell::Deny => RuleEffect::Deny,
    }
}
