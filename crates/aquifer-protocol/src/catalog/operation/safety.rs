//! What policy judges an operation by: how much harm it can do, and how it is confirmed.

use std::sync::Arc;
use std::time::Duration;

use crate::category::Category;
use crate::danger::Danger;
use crate::effect::{Effect, EffectSet, Effects, SettledBy};

/// How much harm an operation can do, and how it is confirmed.
#[derive(Debug, Clone)]
pub struct Safety {
    /// How much harm it can do.
    pub danger: Danger,
    /// The evidence for its danger level, in a few words for operators: "the server declares it destructive". `None` if
    /// the level follows from the category.
    pub danger_evidence: Option<Arc<str>>,
    /// What a call does in the world, and where it goes.
    pub effects: Effects,
    /// How its source wants it to be confirmed.
    pub safeguards: Safeguards,
    /// Whether `confirmation_token` is the protocol's parameter, which is never passed to the source.
    pub takes_token: bool,
    /// Whether its source declares that repeating a call has no further effect.
    pub is_idempotent: bool,
    /// Whether its source guarantees that `dry_run: true` changes nothing.
    pub has_safe_dry_run: bool,
    /// Whether its success or failure says something about values that callers cannot see, so that tries are recorded
    /// and limited: a constraint compares them with values that callers choose.
    pub tests_hidden: bool,
    /// Why it is listed but cannot be called: its definition has changed, and no operator has accepted the change
    /// (R-DIS-7a).
    pub quarantine: Option<Arc<str>>,
}

impl Safety {
    /// What applies to an operation of this danger level and category of which nothing else is known.
    pub fn new(danger: Danger, category: Category) -> Self {
        Self {
            danger,
            danger_evidence: None,
            effects: Effects::of_category(category),
            safeguards: Safeguards::default(),
            takes_token: false,
            is_idempotent: false,
            has_safe_dry_run: false,
            tests_hidden: false,
            quarantine: None,
        }
    }

    /// What makes it unnecessary to ask a person about a call. Whatever was found besides sending needs one.
    pub fn settled_by(&self) -> SettledBy {
        let only_sends: EffectSet = [Effect::Sends].into_iter().collect();
        if self.danger == Danger::Destructive && self.effects.set().for_person() == only_sends {
            self.effects.settled_by
        } else {
            SettledBy::Nothing
        }
    }
}

/// How a source wants an operation to be confirmed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Safeguards {
    /// Whether a person has to confirm every call, whatever the danger level.
    pub always_confirm: bool,
    /// Why it is dangerous, for the person who confirms it.
    pub reasons: Vec<Arc<str>>,
    /// The question to a person, with `{param}` in place of a parameter's value.
    pub message: Option<Arc<str>>,
    /// How long it takes until a given confirmation becomes valid.
    pub cooldown: Duration,
}
