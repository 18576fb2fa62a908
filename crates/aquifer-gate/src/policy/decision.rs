//! The decision about a call, with all its reasons.

use std::sync::Arc;
use std::time::Duration;

use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::trust::Trust;

use super::matrix::{Cell, Origin};
use super::rule::Rule;
use super::settings::RuleEffect;
use crate::destination::TextOrigin;
use crate::strength::RequiredStrength;

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It runs.
    Allow,
    /// It has to be confirmed with this strength.
    Confirm(RequiredStrength),
    /// It is refused.
    Deny(Denial),
}

/// Why a call is denied. Each variant has its own error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    /// The operation is too dangerous for the trust of its source.
    Danger,
    /// The source is not trusted enough, according to the matrix (introspection only) or the operator's minimum.
    Trust,
    /// A rule denies it.
    Rule,
    /// The operation's definition changed and the change was not accepted (R-DIS-7a).
    Quarantine,
    /// The call needs another operation that is denied.
    RequiredOperation,
}

impl Effect {
    /// The effect as text: `allow`, `confirm` or `deny`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Effect::Allow => "allow",
            Effect::Confirm(_) => "confirm",
            Effect::Deny(_) => "deny",
        }
    }

    /// How restrictive the effect is.
    pub const fn severity(self) -> RuleEffect {
        match self {
            Effect::Allow => RuleEffect::Allow,
            Effect::Confirm(_) => RuleEffect::Confirm,
            Effect::Deny(_) => RuleEffect::Deny,
        }
    }
}

/// A decision with its reasons.
#[derive(Debug, Clone)]
pub struct PolicyDecision {
    /// The effect.
    pub effect: Effect,
    /// All reasons; the deciding one first.
    pub reasons: Vec<Reason>,
}

impl PolicyDecision {
    /// The question that the operator wrote for the person, taken from the first rule that has one.
    pub fn message(&self) -> Option<&str> {
        self.rules().find_map(|rule| rule.message.as_deref())
    }

    /// The cooldown of the confirmation: the longest of all applicable rules.
    pub fn cooldown(&self) -> Duration {
        let needed = self.reasons.iter().filter_map(|reason| match reason {
            Reason::RequiredOperation(needed) => Some(needed.decision.cooldown()),
            _ => None,
        });
        self.rules().map(|rule| rule.cooldown).chain(needed).max().unwrap_or_default()
    }

    /// Combines the decision with that about a required operation. The more restrictive one wins.
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
        // The deciding reason comes first.
        reasons.insert(if decided { 0 } else { reasons.len() }, Reason::RequiredOperation(Arc::new(needed)));
        Self { effect, reasons }
    }

    /// The decision, if a person has to confirm the call because of a text that its caller has read.
    #[must_use]
    pub(crate) fn because_of_text(&self, origin: TextOrigin, strength: RequiredStrength) -> Self {
        let reasons = std::iter::once(Reason::Text(Arc::new(origin))).chain(self.reasons.iter().cloned());
        Self { effect: Effect::Confirm(strength), reasons: reasons.collect() }
    }

    /// Whether a destination of the call stood inside a text.
    pub(crate) fn stood_in_text(&self) -> bool {
        let reason = self.reasons.first();
        matches!(reason, Some(Reason::Text(origin)) if matches!(**origin, TextOrigin::Destination { .. }))
    }

    /// The applicable rules that require confirmation.
    fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.reasons.iter().filter_map(|reason| match reason {
            Reason::Rule(rule) if rule.effect == RuleEffect::Confirm => Some(&**rule),
            _ => None,
        })
    }
}

/// Another operation that must be allowed, because the request reads the same data.
#[derive(Debug, Clone)]
pub struct RequiredOperation {
    /// Its name.
    pub operation: Arc<str>,
    /// Whether callers must not learn of it.
    pub is_hidden: bool,
    /// The decision about it.
    pub decision: Arc<PolicyDecision>,
}

/// A reason for a decision.
#[derive(Debug, Clone)]
pub enum Reason {
    /// The protocol's own operations are always allowed.
    Protocol,
    /// A cell of the matrix.
    Cell {
        /// The operation's source.
        source: Arc<str>,
        /// What the operation does, as the rest of a sentence that begins with "This".
        does: Arc<str>,
        /// The operation's danger.
        danger: Danger,
        /// The source's trust.
        trust: Trust,
        /// The cell's value.
        cell: Cell,
        /// Where the value comes from.
        origin: Origin,
        /// The lowest trust at which neither the matrix nor the operator's minimum denies the call.
        needed: Option<Trust>,
        /// Whether a rule loosened it.
        overruled: bool,
    },
    /// The operator's minimum trust for the category, which the source does not reach.
    Minimum {
        /// The operation's source.
        source: Arc<str>,
        /// The operation's category.
        category: Category,
        /// The minimum.
        required: Trust,
        /// The source's trust.
        actual: Trust,
        /// The lowest trust at which neither the matrix nor the minimum denies the call.
        needed: Option<Trust>,
    },
    /// The operator requires confirmation for sources below this level.
    ConfirmBelow {
        /// The operation's source.
        source: Arc<str>,
        /// The level.
        required: Trust,
        /// The source's trust.
        actual: Trust,
    },
    /// The operation's source requires confirmation.
    Safeguard {
        /// The operation's source.
        source: Arc<str>,
        /// Whether a rule loosened it.
        overruled: bool,
    },
    /// The operation's definition changed and the change was not accepted. No rule loosens this.
    Quarantine(Arc<str>),
    /// What the call has to do with a text that its caller has read.
    Text(Arc<TextOrigin>),
    /// Another operation that the request needs.
    RequiredOperation(Arc<RequiredOperation>),
    /// A rule that applies.
    Rule(Arc<Rule>),
    /// A rule that may apply, depending on the parameters.
    ConditionalRule(Arc<Rule>),
}

/// The properties of an operation that matter before any rule is considered.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    pub(super) source: Arc<str>,
    pub(super) category: Category,
    pub(super) does: Arc<str>,
    pub(super) danger: Danger,
    pub(super) trust: Trust,
    pub(super) cell: (Cell, Origin),
    /// The cell of reversible operations: it counts if a call needed a person only for where it goes, and that is settled.
    pub(super) settled_cell: (Cell, Origin),
    pub(super) minimum: Option<Trust>,
    pub(super) confirm_below: Option<Trust>,
    pub(super) always_confirm: bool,
    pub(super) needed: Option<Trust>,
    pub(super) strength: RequiredStrength,
    pub(super) quarantine: Option<Arc<str>>,
}

impl Facts {
    /// Decides, given the applicable rules.
    ///
    /// A rule marked as loosening can lower what the matrix and the source require. It cannot lower what the operator
    /// requires (minimums and other rules): among those, the most restrictive wins.
    pub(super) fn decide(&self, rules: &[Arc<Rule>]) -> PolicyDecision {
        let loosened = rules.iter().filter(|rule| rule.loosens).map(|rule| rule.effect).max();
        let mut candidates = Vec::new();
        let mut loosenable = |severity: RuleEffect, reason: fn(&Self, bool) -> Reason| {
            let overruled = loosened.is_some_and(|loosened| loosened < severity);
            let severity = loosened.map_or(severity, |loosened| severity.min(loosened));
            // An overruled reason no longer counts.
            let order = if overruled { ReasonOrder::Overruled } else { ReasonOrder::Given };
            candidates.push((severity, order, reason(self, overruled)));
        };
        loosenable(severity_of(self.cell.0), Self::cell_reason);
        if self.always_confirm {
            loosenable(RuleEffect::Confirm, |facts, overruled| Reason::Safeguard {
                source: facts.source.clone(),
                overruled,
            });
        }
        if let Some(reason) = &self.quarantine {
            candidates.push((RuleEffect::Deny, ReasonOrder::Operator, Reason::Quarantine(reason.clone())));
        }
        if let Some(required) = self.minimum.filter(|required| self.trust < *required) {
            let (source, category, actual, needed) = (self.source.clone(), self.category, self.trust, self.needed);
            let reason = Reason::Minimum { source, category, required, actual, needed };
            candidates.push((RuleEffect::Deny, ReasonOrder::Operator, reason));
        }
        if let Some(required) = self.confirm_below.filter(|required| self.trust < *required) {
            let reason = Reason::ConfirmBelow { source: self.source.clone(), required, actual: self.trust };
            candidates.push((RuleEffect::Confirm, ReasonOrder::Operator, reason));
        }
        for rule in rules {
            // A plain allow neither restricts nor loosens.
            let has_say = rule.loosens || rule.effect > RuleEffect::Allow;
            let order = if has_say { ReasonOrder::Rule } else { ReasonOrder::Overruled };
            candidates.push((rule.effect, order, Reason::Rule(rule.clone())));
        }
        // The deciding reason comes first: the most restrictive one, and among equals the one that is easiest to find
        // for an operator.
        candidates.sort_by_key(|(severity, order, _)| (std::cmp::Reverse(*severity), *order));
        let severity = candidates.first().map_or(RuleEffect::Deny, |(severity, ..)| *severity);
        let reasons: Vec<Reason> = candidates.into_iter().map(|(.., reason)| reason).collect();
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
        let (source, does, danger, trust) = (self.source.clone(), self.does.clone(), self.danger, self.trust);
        Reason::Cell { source, does, danger, trust, cell, origin, needed: self.needed, overruled }
    }

    /// The strength of the confirmation: as the danger requires, or as a loosening rule sets instead, and never less
    /// than what any other rule requires.
    fn required_strength(&self, rules: &[Arc<Rule>]) -> RequiredStrength {
        let strengths = |loosens: bool| {
            let own = rules.iter().filter(move |rule| rule.loosens == loosens);
            own.filter_map(|rule| rule.strength).map(RequiredStrength::from).reduce(RequiredStrength::stronger)
        };
        let base = strengths(true).unwrap_or(self.strength);
        strengths(false).map_or(base, |required| base.stronger(required))
    }
}

/// The order of equally restrictive reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ReasonOrder {
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
