//! What an operator can write about policy: the serde types of the `[gate]` table.
//!
//! Levels and patterns are words here. [`Policy::new`](super::Policy::new) reads them, and tells of every mistake at
//! once with the name of its rule.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::matrix::Cell;
use crate::strength::Strength;

/// Everything about policy. Without a word of it the published matrix is in force, and destructive and above are
/// asked for.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PolicySettings {
    /// Cells of the matrix that are the operator's own: `matrix.destructive.certified = "allow"`. They may loosen.
    pub matrix: BTreeMap<String, BTreeMap<String, Cell>>,
    /// How far a source has to be trusted for what.
    pub trust_policy: TrustPolicySettings,
    /// How strong a confirmation has to be, by danger level: `strength.destructive = "approval"`.
    pub strength: BTreeMap<String, Strength>,
    /// The rules. The most restrictive of those that apply wins.
    pub rule: Vec<RuleSettings>,
    /// Whether more than one source is served, or will be once it can be. Then a rule that loosens operations by name has to
    /// name their source: another source may call an operation of its own the same.
    #[serde(skip)]
    pub has_several_sources: bool,
}

/// How far a source has to be trusted for what: the trust document's block, with a setting for each category. Where
/// two speak of the same operation the higher one counts.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrustPolicySettings {
    /// READ.
    pub minimum_trust_for_reads: Option<String>,
    /// Everything else.
    pub minimum_trust_for_writes: Option<String>,
    /// CREATE.
    pub minimum_trust_for_creates: Option<String>,
    /// UPDATE.
    pub minimum_trust_for_updates: Option<String>,
    /// DELETE.
    pub minimum_trust_for_deletes: Option<String>,
    /// EXECUTE.
    pub minimum_trust_for_executes: Option<String>,
    /// Sources trusted less are asked for, whatever the operation.
    pub require_confirmation_below: Option<String>,
}

/// One rule: what happens to whatever all of its patterns and conditions admit.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleSettings {
    /// What it is called in explanations. A number unless said.
    #[serde(default)]
    pub name: Option<String>,
    /// What happens.
    pub effect: RuleEffect,
    /// Whether it may lower what the matrix and the source itself say. Without it, a rule can only restrict: an `allow`
    /// then changes nothing.
    #[serde(default)]
    pub loosen: bool,
    /// Patterns over the source's name.
    #[serde(default)]
    pub source: PatternList,
    /// Patterns over the operation's names: the one it is served under, the one its source gives it, and that one with the
    /// source's name in front (`shop_delete_order`). A rule with `loosen` looks at the served name alone, unless it also
    /// names the source.
    #[serde(default)]
    pub operation: PatternList,
    /// Patterns over the tool behind the operation, as the upstream server spells it.
    #[serde(default)]
    pub tool: PatternList,
    /// Patterns over the table behind the operation, as the database spells it; with a dot, also over `schema.table`.
    #[serde(default)]
    pub table: PatternList,
    /// Categories.
    #[serde(default)]
    pub category: PatternList,
    /// Danger levels; `destructive+` is that and everything above.
    #[serde(default)]
    pub danger: PatternList,
    /// Patterns over the authenticated principal's name, which is empty for everybody else: `?*` is every principal,
    /// `!?*` nobody known.
    #[serde(default)]
    pub caller: PatternList,
    /// Patterns over the caller's scopes, of which one has to match: `!admin` is everybody without it.
    #[serde(default)]
    pub scope: PatternList,
    /// Conditions on the parameters, all of which have to hold.
    #[serde(default)]
    pub when: Vec<ConditionSettings>,
    /// How strong the confirmation has to be.
    #[serde(default)]
    pub strength: Option<Strength>,
    /// Why, in words for the caller.
    #[serde(default)]
    pub reason: Option<String>,
    /// What the person is asked, with the call's parameters in it: `"Pay {amount} to {recipient}?"`.
    #[serde(default)]
    pub message: Option<String>,
    /// How long a confirmation has to rest before it holds, in seconds.
    #[serde(default)]
    pub cooldown_seconds: Option<u64>,
}

impl RuleSettings {
    /// A rule that says nothing but its effect, and so applies to everything.
    pub fn new(effect: RuleEffect) -> Self {
        Self {
            name: None,
            effect,
            loosen: false,
            source: PatternList::default(),
            operation: PatternList::default(),
            tool: PatternList::default(),
            table: PatternList::default(),
            category: PatternList::default(),
            danger: PatternList::default(),
            caller: PatternList::default(),
            scope: PatternList::default(),
            when: Vec::new(),
            strength: None,
            reason: None,
            message: None,
            cooldown_seconds: None,
        }
    }
}

/// What a rule does, least restrictive first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleEffect {
    /// Nothing stands in the way.
    Allow,
    /// A person is asked.
    Confirm,
    /// It is not done.
    Deny,
}

impl RuleEffect {
    /// The effect as configuration spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            RuleEffect::Allow => "allow",
            RuleEffect::Confirm => "confirm",
            RuleEffect::Deny => "deny",
        }
    }
}

/// A condition on one parameter: its path and exactly one test.
///
/// A path goes into objects by dots and into every element of a list. Names in it stand for every spelling that a server
/// could take for them: `max_amount` is also `MaxAmount`. Where it finds several values, or one that the test makes no
/// sense for, the caller gets no benefit of the doubt: a rule that restricts holds if any value passes or cannot be
/// compared, one that loosens only if all pass.
///
/// Text is compared as its source compares it, where that is known, and letter by letter otherwise.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConditionSettings {
    /// The parameter, and where in it: `input.owner.name`.
    pub param: String,
    /// It is exactly this.
    pub equals: Option<Value>,
    /// It is one of these.
    pub one_of: Option<Vec<Value>>,
    /// It matches a pattern. Numbers and truth values are compared as they are written.
    pub matches: Option<PatternList>,
    /// It is more than this.
    pub greater: Option<f64>,
    /// It is less than this.
    pub less: Option<f64>,
    /// It was sent, or it was not.
    pub present: Option<bool>,
    /// The opposite of the test. What is not there passes it.
    pub not: bool,
    /// Whether text is compared without case, although its source does not say that it compares so.
    pub ignore_case: bool,
}

/// One word or several: `"a"` or `["a", "b"]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PatternList(pub Vec<String>);

impl PatternList {
    /// Every one of them.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl<S: Into<String>, const N: usize> From<[S; N]> for PatternList {
    fn from(words: [S; N]) -> Self {
        Self(words.into_iter().map(Into::into).collect())
    }
}

impl From<&str> for PatternList {
    fn from(word: &str) -> Self {
        Self(vec![word.to_owned()])
    }
}

impl<'de> Deserialize<'de> for PatternList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PatternListVisitor)
    }
}

struct PatternListVisitor;

impl<'de> Visitor<'de> for PatternListVisitor {
    type Value = PatternList;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a word or a list of words")
    }

    fn visit_str<E>(self, word: &str) -> Result<PatternList, E> {
        Ok(PatternList(vec![word.to_owned()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<PatternList, A::Error> {
        let mut words = Vec::new();
        while let Some(word) = list.next_element()? {
            words.push(word);
        }
        if words.is_empty() {
            // Taken for "nothing was said" it would match everything.
            return Err(serde::de::Error::custom("an empty list matches nothing: leave it out"));
        }
        Ok(PatternList(words))
    }
}
