//! Adds the prefix of a source to its offering, and makes its type names unique.

use std::collections::HashMap;
use std::sync::Arc;

use aquifer_protocol::catalog::pascal_case;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::protocol_types::is_taken;
use aquifer_protocol::schema::{Schema, Types};

use super::{Mount, Snapshot};
use crate::source::Offering;

/// How many prefixes of removed sources are remembered. The oldest are dropped.
const MAX_RETIRED: usize = 1_000;

/// The prefixes of removed sources. Callers may still use names with these prefixes, so no other source gets such a
/// name, even if a removed prefix starts with its own prefix.
#[derive(Clone, Default)]
pub(super) struct RetiredPrefixes(Vec<String>);

impl RetiredPrefixes {
    pub(super) fn new(mounts: &[Mount], before: Option<&Snapshot>) -> Self {
        let Some(before) = before else { return Self::default() };
        let is_mounted = |mount: &&Mount| mounts.iter().any(|now| now.source.name() == mount.source.name());
        let removed = before.mounts.iter().filter(|mount| !is_mounted(mount));
        let mut all = before.retired.0.clone();
        for prefix in removed.map(|mount| mount.prefix_among(before.mounts.len())).filter(|prefix| !prefix.is_empty()) {
            if !all.contains(&prefix) {
                all.push(prefix);
            }
        }
        all.retain(|prefix| mounts.iter().all(|mount| mount.prefix_among(mounts.len()) != *prefix));
        all.drain(..all.len().saturating_sub(MAX_RETIRED));
        Self(all)
    }

    /// Whether a name begins with the prefix of a removed source that is longer than `prefix`.
    pub(super) fn reserve(&self, name: &str, prefix: &str) -> bool {
        self.0.iter().any(|removed| removed.len() > prefix.len() && name.starts_with(removed.as_str()))
    }
}

/// An offering with full names. `own_name` keeps the source's own name.
pub(super) struct PrefixedOffering {
    pub(super) operations: Vec<Operation>,
    pub(super) indirect: Vec<Operation>,
    pub(super) types: Types,
}

/// Adds the prefix to operations and types. A type whose name is taken is renamed: two sources may each have a `Task`.
pub(super) fn apply(offering: Offering, prefix: &str, taken: &Types) -> PrefixedOffering {
    let Offering { operations, types, indirect } = offering;
    let type_prefix = pascal_case(prefix);
    let mut renamed: HashMap<Arc<str>, Arc<str>> = HashMap::new();
    for (name, schema) in &types {
        let wanted = format!("{type_prefix}{name}");
        let is_free = |candidate: &str| {
            !is_taken(candidate) && taken.get(candidate).is_none_or(|existing| existing.is_same(schema))
        };
        let free = if is_free(&wanted) { wanted } else { free_name(&wanted, |name| !taken.contains_key(name)) };
        if free != **name {
            renamed.insert(name.clone(), free.into());
        }
    }
    let rename = |name: &str| -> Arc<str> { renamed.get(name).cloned().unwrap_or_else(|| name.into()) };
    let types = types
        .iter()
        .map(|(name, schema)| {
            let mut schema = Schema::clone(schema);
            schema.rename_types(&rename);
            (rename(name), Arc::new(schema))
        })
        .collect();
    let prefixed = |mut operation: Operation| {
        operation.origin.own_name = operation.name.clone();
        operation.name = full_name(prefix, &operation.origin.own_name);
        operation.returns.type_name = rename(&operation.returns.type_name);
        operation.parameters.iter_mut().for_each(|parameter| parameter.schema.rename_types(&rename));
        operation
    };
    let operations = operations.into_iter().map(prefixed).collect();
    let indirect = indirect.into_iter().map(prefixed).collect();
    PrefixedOffering { operations, indirect, types }
}

/// The name of an operation for callers: the source's own name with the prefix, unless it begins with the prefix
/// already. Many servers already prefix the names of their tools.
fn full_name(prefix: &str, own_name: &Arc<str>) -> Arc<str> {
    if !prefix.is_empty() && own_name.len() > prefix.len() && own_name.starts_with(prefix) {
        return own_name.clone();
    }
    format!("{prefix}{own_name}").into()
}

/// The names that the source may use for an operation with this name.
pub(super) fn own_names<'a>(prefix: &str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let rest = name.strip_prefix(prefix);
    rest.into_iter().chain(rest.filter(|_| !prefix.is_empty()).map(|_| name))
}

fn free_name(wanted: &str, is_free: impl Fn(&str) -> bool) -> String {
    (2_u64..).map(|number| format!("{wanted}{number}")).find(|name| is_free(name)).unwrap_or_default()
}
