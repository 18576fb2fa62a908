//! The policy settings in the `[gate]` table.
//!
//! Levels and patterns are plain text here. [`Policy::new`](super::Policy::new) parses them and reports all problems at
//! once, with the name of the rule.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::matrix::Cell;
use crate::strength::Strength;

/// Policy settings. By default the published matrix applies, and destructive operations and above need confirmation.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PolicySettings {
    /// The operator's own cells of the matrix: `matrix.destructive.certified = "allow"`. They may loosen.
    pub matrix: BTreeMap<String, BTreeMap<String, Cell>>,
    /// The trust that sources need.
    pub trust_policy: TrustPolicySettings,
    /// The strength of confirmations by danger level: `strength.destructive = "approval"`.
    pub strength: BTreeMap<String, Strength>,
    /// Whether a model may confirm its own calls up to destructive with a token, if its client cannot ask anybody.
    pub model_confirms: bool,
    /// The rules. The most restrictive applicable rule wins.
    pub rule: Vec<RuleSettings>,
    /// Whether more than one source is served, or will be once it is available. If so, a rule that loosens operations
    /// by name has to name their source, because another source may use the same name.
    #[serde(skip)]
    pub has_several_sources: bool,
}

/// The trust that sources need, as in the trust document, with a setting for each category. If two settings apply to
/// the same operation, the higher one wins.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrustPolicySettings {
    /// READ.
    pub minimum_trust_for_reads: Option<String>,
    /// All other categories.
    pub minimum_trust_for_writes: Option<String>,
    /// CREATE.
    pub minimum_trust_for_creates: Option<String>,
    /// UPDATE.
    pub minimum_trust_for_updates: Option<String>,
    /// DELETE.
    pub minimum_trust_for_deletes: Option<String>,
    /// EXECUTE.
    pub minimum_trust_for_executes: Option<String>,
    /// Sources with less trust need confirmation for every operation.
    pub require_confirmation_below: Option<String>,
}

/// A rule: what happens to every call that matches all of its patterns and conditions.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleSettings {
    /// Its name in explanations. Rules without a name are identified by their number.
    #[serde(default)]
    pub name: Option<String>,
    /// The effect.
    pub effect: RuleEffect,
    /// Whether it may lower what the matrix and the source require. Otherwise a rule can only restrict, and an `allow`
    /// has no effect.
    #[serde(default)]
    pub loosen: bool,
    /// Patterns for the source's name.
    #[serde(default)]
    pub source: PatternList,
    /// Patterns for the operation's names: the served name, its name in the source, and that name with the source as
    /// prefix (`shop_delete_order`). A rule with `loosen` matches the served name only, unless it also names the
    /// source.
    #[serde(default)]
    pub operation: PatternList,
    /// Patterns for the tool behind the operation, as the upstream server spells it.
    #[serde(default)]
    pub tool: PatternList,
    /// Patterns for the table behind the operation, as the database spells it; with a dot, also for `schema.table`.
    #[serde(default)]
    pub table: PatternList,
    /// Categories.
    #[serde(default)]
    pub category: PatternList,
    /// Danger levels; `destructive+` means destructive and above.
    #[serde(default)]
    pub danger: PatternList,
    /// What operations do: `removes`, `sends`, `pays` and so on. A rule with `loosen` matches only operations all of
    /// whose effects it lists.
    #[serde(default)]
    pub does: PatternList,
    /// Patterns for the principal's name, which is empty for unauthenticated callers: `?*` matches every principal,
    /// `!?*` matches unauthenticated callers.
    #[serde(default)]
    pub caller: PatternList,
    /// Patterns for the caller's scopes. One scope has to match; `!admin` matches callers without it.
    #[serde(default)]
    pub scope: PatternList,
    /// Conditions on the parameters. All have to hold.
    #[serde(default)]
    pub when: Vec<ConditionSettings>,
    /// The strength of the confirmation.
    #[serde(default)]
    pub strength: Option<Strength>,
    /// The reason shown to the caller.
    #[serde(default)]
    pub reason: Option<String>,
    /// The question for the person. May contain parameters of the call: `"Pay {amount} to {recipient}?"`.
    #[serde(default)]
    pub message: Option<String>,
    /// The cooldown before a confirmation is accepted, in seconds.
    #[serde(default)]
    pub cooldown_seconds: Option<u64>,
}

impl RuleSettings {
    /// Creates a rule with this effect that applies to every call.
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
            does: PatternList::default(),
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

/// The effect of a rule, least restrictive first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleEffect {
    /// The call is allowed.
    Allow,
    /// A person has to confirm the call.
    Confirm,
    /// The call is denied.
    Deny,
}

impl RuleEffect {
    /// The effect as written in the configuration.
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
/// Dots in a path lead into objects; lists are expanded. A name matches every spelling that a server could accept for
/// it: `max_amount` also matches `MaxAmount`. Multiple values, or values that cannot be compared, never favor the
/// caller: a restricting rule holds if any value passes or cannot be compared, a loosening rule only if all pass.
///
/// Text is compared as its source does, if that is known, and exactly otherwise.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConditionSettings {
    /// The path of the parameter: `input.owner.name`.
    pub param: String,
    /// The value equals this one.
    pub equals: Option<Value>,
    /// The value equals one of these.
    pub one_of: Option<Vec<Value>>,
    /// The value matches a pattern. Numbers and booleans are compared as text.
    pub matches: Option<PatternList>,
    /// The value is greater than this number.
    pub greater: Option<f64>,
    /// The value is less than this number.
    pub less: Option<f64>,
    /// Whether the parameter has to be present or absent.
    pub present: Option<bool>,
    /// The value is a link to one of these hosts, or its name: `example.com`, `*.example.com` for the names below it.
    pub host: Option<PatternList>,
    /// The value is an e-mail address, or several, in one of these domains, written as for `host`.
    pub email_domain: Option<PatternList>,
    /// The value is one of these accounts. Blanks and case do not count.
    pub account: Option<PatternList>,
    /// The value is the path of a file in one of these folders.
    pub path_under: Option<PatternList>,
    /// The sum of all values is within a bound.
    pub amount: Option<AmountSettings>,
    /// Inverts the test. A missing parameter then passes.
    pub not: bool,
    /// Whether text is compared ignoring case even if the source is not known to do so.
    pub ignore_case: bool,
}

/// The bound of an amount: exactly one of these.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AmountSettings {
    /// The highest amount.
    pub up_to: Option<f64>,
    /// Any amount higher than this.
    pub above: Option<f64>,
}

/// One pattern or several: `"a"` or `["a", "b"]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PatternList(pub Vec<String>);

impl PatternList {
    /// All patterns.
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
        f.write_str("a string or a list of strings")
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
            // An empty list would otherwise match everything.
            return Err(serde::de::Error::custom(
                "an empty list is not allowed: list at least one pattern, or remove the key to match everything",
            ));
        }
        Ok(PatternList(words))
    }
}
