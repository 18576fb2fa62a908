//! Counters: the calls that are counted together, and their keys in the store.

use aquifer_engine::Caller;
use aquifer_protocol::category::Category;
use aquifer_protocol::effect::{Effect, EffectSet};
use aquifer_protocol::hex::hex;
use aquifer_protocol::operation::Operation;
use sha2::{Digest, Sha256};

use super::settings::{CounterScope, PartitionKey};
use crate::policy::selector::{Selector, SelectorKeys};
use aquifer_protocol::glob::Patterns;

/// Maximum length of a caller's name in a key; longer names are hashed.
const MAX_CALLER_LEN: usize = 100;

/// The calls that are counted together.
#[derive(Debug, Clone)]
pub(super) struct Counter {
    /// The prefix of its keys.
    name: String,
    selector: Selector,
    categories: Vec<Category>,
    /// `None` for all operations, whatever they do.
    does: Option<EffectSet>,
    caller: Patterns,
    per: Vec<PartitionKey>,
}

impl Counter {
    pub(super) fn new(name: &str, scope: &CounterScope, problems: &mut Vec<String>) -> Self {
        let mut report = |problem: String| problems.push(format!("'{name}': {problem}"));
        let keys = SelectorKeys {
            source: scope.source.clone(),
            operation: scope.operation.clone(),
            tool: scope.tool.clone(),
            table: scope.table.clone(),
        };
        let selector = Selector::restricting(keys, &mut report);
        let caller = Patterns::new(scope.caller.iter(), &mut report);
        let mut categories = Vec::new();
        for word in scope.category.iter() {
            match Category::ALL.into_iter().find(|category| category.as_str().eq_ignore_ascii_case(word)) {
                Some(category) => categories.push(category),
                None => report(format!("'{word}' is not a category")),
            }
        }
        let mut effects = Vec::new();
        for word in scope.does.iter() {
            match Effect::ALL.into_iter().find(|effect| effect.as_str() == word) {
                Some(effect) => effects.push(effect),
                None => report(format!("'{word}' is not an effect")),
            }
        }
        let does = (!scope.does.0.is_empty()).then(|| effects.into_iter().collect());
        Self { name: name.to_owned(), selector, categories, does, caller, per: scope.per.clone() }
    }

    pub(super) fn counts(&self, operation: &Operation, caller: &Caller) -> bool {
        self.may_count(operation) && self.counts_caller(caller)
    }

    /// Whether it counts calls of this operation by any caller.
    pub(super) fn may_count(&self, operation: &Operation) -> bool {
        (self.categories.is_empty() || self.categories.contains(&operation.category))
            && self.does.is_none_or(|listed| operation.safety.effects.set().intersects(listed))
            && self.selector.selects(operation)
    }

    /// Whether it names operations, by themselves or by what they do.
    pub(super) fn is_selective(&self) -> bool {
        let keys = self.selector.keys();
        self.does.is_some() || [&keys.operation, &keys.tool].into_iter().any(|words| !words.0.is_empty())
    }

    /// Its selector of operations.
    pub(super) fn selector(&self) -> &Selector {
        &self.selector
    }

    pub(super) fn counts_caller(&self, caller: &Caller) -> bool {
        self.caller.is_empty() || self.caller.admits(caller.principal.as_deref().unwrap_or_default())
    }

    /// The key under which a call is counted.
    pub(super) fn key(&self, operation: &Operation, caller: &Caller) -> String {
        let mut key = self.key_prefix();
        for per in &self.per {
            key.push('/');
            match per {
                // The names of caller and session come last, because they may contain any character.
                PartitionKey::Caller | PartitionKey::Session => key.push('*'),
                PartitionKey::Source => key.push_str(&operation.origin.source),
                PartitionKey::Category => key.push_str(operation.category.as_str()),
                // The served name would reset the count when it changes.
                PartitionKey::Operation => {
                    key.push_str(&operation.origin.source);
                    key.push(':');
                    key.push_str(&operation.origin.own_name);
                }
            }
        }
        self.append_caller(key, caller)
    }

    /// The key for a caller's calls, if it depends only on the caller.
    pub(super) fn caller_key(&self, caller: &Caller) -> Option<String> {
        if self.per.iter().any(|per| !matches!(per, PartitionKey::Caller | PartitionKey::Session)) {
            return None;
        }
        let mut key = self.key_prefix();
        self.per.iter().for_each(|_| key.push_str("/*"));
        Some(self.append_caller(key, caller))
    }

    pub(super) fn per(&self) -> Vec<&'static str> {
        self.per.iter().map(|per| per.as_str()).collect()
    }

    fn key_prefix(&self) -> String {
        let mut key = String::with_capacity(64);
        key.push_str("gate/spent/");
        key.push_str(&self.name);
        key
    }

    fn append_caller(&self, mut key: String, caller: &Caller) -> String {
        let mut append = |name: Option<&str>| match name {
            Some(name) if name.len() > MAX_CALLER_LEN => key.push_str(&hex(&Sha256::digest(name))),
            Some(name) => key.push_str(name),
            None => {}
        };
        if self.per.contains(&PartitionKey::Caller) {
            append(Some(match (&caller.principal, &caller.session) {
                (Some(_), _) => "/p:",
                (None, Some(_)) => "/s:",
                (None, None) => "/-",
            }));
            append(caller.owner());
        }
        if self.per.contains(&PartitionKey::Session) {
            append(Some("/c:"));
            append(caller.session.as_deref());
        }
        key
    }
}
