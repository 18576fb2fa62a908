//! What a call of an operation does in the world, each effect with its evidence (R-DIS-4b).
//!
//! The category says through which endpoint an operation is called, and the danger whether somebody has to agree. Effects
//! say why: reading, adding and changing run by default; the others need a person.

use std::sync::Arc;

use crate::category::Category;

/// An effect of an operation, least harmful first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// It returns data.
    Reads,
    /// It adds data.
    Adds,
    /// It changes data.
    Changes,
    /// It removes or overwrites data.
    Removes,
    /// It sends something to people or systems outside.
    Sends,
    /// It moves money, books or orders.
    Pays,
    /// It gives access: credentials, invitations, roles, webhooks, keys.
    Grants,
    /// It runs code, shell commands, or queries that can write.
    Runs,
}

impl Effect {
    /// All effects, least harmful first.
    pub const ALL: [Effect; 8] = [
        Effect::Reads,
        Effect::Adds,
        Effect::Changes,
        Effect::Removes,
        Effect::Sends,
        Effect::Pays,
        Effect::Grants,
        Effect::Runs,
    ];

    /// The name in introspection and in the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Effect::Reads => "reads",
            Effect::Adds => "adds",
            Effect::Changes => "changes",
            Effect::Removes => "removes",
            Effect::Sends => "sends",
            Effect::Pays => "pays",
            Effect::Grants => "grants",
            Effect::Runs => "runs",
        }
    }

    /// The effect with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|effect| effect.as_str() == name)
    }

    /// Whether a person has to agree by default.
    pub const fn needs_person(self) -> bool {
        matches!(self, Effect::Removes | Effect::Sends | Effect::Pays | Effect::Grants | Effect::Runs)
    }
}

impl std::fmt::Display for Effect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Effects without their evidence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct EffectSet(u8);

impl EffectSet {
    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all of them are in the other set.
    pub const fn is_subset(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Those that a person has to agree to by default.
    pub fn for_person(self) -> Self {
        let needed: Self = Effect::ALL.into_iter().filter(|effect| effect.needs_person()).collect();
        Self(self.0 & needed.0)
    }

    /// Whether one of them is in the other set.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl FromIterator<Effect> for EffectSet {
    fn from_iter<I: IntoIterator<Item = Effect>>(effects: I) -> Self {
        effects.into_iter().fold(Self::default(), |set, effect| Self(set.0 | 1 << effect as u8))
    }
}

/// An effect with its evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectEvidence {
    /// The effect.
    pub effect: Effect,
    /// What shows it, in a few words: "its name says 'send'".
    pub evidence: Arc<str>,
}

/// What makes it unnecessary to ask a person about a call that sends something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SettledBy {
    /// Nothing: it needs a person for more than where it goes.
    #[default]
    Nothing,
    /// A person has agreed to all of its destinations before.
    KnownDestinations,
    /// The same, or it has no destination. Only its destinations show that it sends something.
    KnownOrNoDestinations,
}

/// The effects of an operation, and the parameters that say where they go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Effects {
    found: Vec<EffectEvidence>,
    /// The parameters that say where something goes: recipients, addresses, accounts, channels, callbacks.
    pub destinations: Vec<Arc<str>>,
    /// What makes it unnecessary to ask a person.
    pub settled_by: SettledBy,
}

impl Effects {
    /// A single effect.
    pub fn only(effect: Effect, evidence: impl Into<Arc<str>>) -> Self {
        let mut effects = Self::default();
        effects.add(effect, evidence);
        effects
    }

    /// What an operation of this category does if nothing else is known.
    pub fn of_category(category: Category) -> Self {
        match category {
            Category::Read => Self::only(Effect::Reads, "it only reads"),
            Category::Create => Self::only(Effect::Adds, "it adds data"),
            Category::Update => Self::only(Effect::Changes, "it changes data"),
            Category::Delete => Self::only(Effect::Removes, "it removes data"),
            Category::Execute => Self::default(),
        }
    }

    /// Adds an effect. The first evidence for an effect stays.
    pub fn add(&mut self, effect: Effect, evidence: impl Into<Arc<str>>) {
        if !self.contains(effect) {
            self.found.push(EffectEvidence { effect, evidence: evidence.into() });
        }
    }

    /// Adds what is in `other`.
    pub fn merge(&mut self, other: Effects) {
        for EffectEvidence { effect, evidence } in other.found {
            self.add(effect, evidence);
        }
        for destination in other.destinations {
            if !self.destinations.contains(&destination) {
                self.destinations.push(destination);
            }
        }
        self.settled_by = self.settled_by.min(other.settled_by);
    }

    /// Whether the effect was found.
    pub fn contains(&self, effect: Effect) -> bool {
        self.found.iter().any(|found| found.effect == effect)
    }

    /// All effects, strongest evidence first.
    pub fn iter(&self) -> impl Iterator<Item = &EffectEvidence> {
        self.found.iter()
    }

    /// The effects without their evidence.
    pub fn set(&self) -> EffectSet {
        self.found.iter().map(|found| found.effect).collect()
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Whether nothing beyond reading was found.
    pub fn only_read(&self) -> bool {
        self.found.iter().all(|found| found.effect == Effect::Reads)
    }

    /// The first effect for which a person has to agree by default.
    pub fn first_for_person(&self) -> Option<&EffectEvidence> {
        self.found.iter().find(|found| found.effect.needs_person())
    }
}
