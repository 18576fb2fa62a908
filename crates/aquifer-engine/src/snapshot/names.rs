//! Resolves name conflicts between operations.
//!
//! An operation keeps its name: neither a new tool nor a new source can take it, so that a call never reaches a
//! different operation from the one its caller knows. Among new operations, native sources take precedence, because the
//! operator chose their names. A name that begins with the longer prefix of another source belongs to that source: with
//! `b_` and `b_b_`, a tool `b_list` of the first must not be mistaken for `list` of the second.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use aquifer_protocol::operation::{MAX_CHOSEN_NAME, MAX_NAME_LEN, Operation, RESERVED};

use super::prefix::RetiredPrefixes;

/// The names of an earlier catalog, by source and own name.
pub(crate) type EstablishedNames = HashMap<(Arc<str>, Arc<str>), Arc<str>>;

/// Gives every operation a unique name. Returns the wanted and the assigned name of each operation that was renamed.
pub(super) fn assign(
    operations: &mut [Operation],
    established: &EstablishedNames,
    prefixes: &[(Arc<str>, String)],
    retired: &RetiredPrefixes,
) -> Vec<(Arc<str>, Arc<str>)> {
    let prefix_of = |source: &str| {
        let own = prefixes.iter().find(|(name, _)| **name == *source);
        own.map_or("", |(_, prefix)| prefix.as_str())
    };
    let is_trespassing = |operation: &Operation| {
        let own = prefix_of(&operation.origin.source);
        prefixes.iter().any(|(_, prefix)| prefix.len() > own.len() && operation.name.starts_with(prefix.as_str()))
    };
    // A name with a suffix is kept as well. Its owner must not take over the unsuffixed name of a removed operation,
    // because callers associate that name with the removed one.
    let before = |operation: &Operation| {
        let is_of = |name: &&Arc<str>| **name == operation.name || is_suffixed_form_of(name, &operation.name);
        established.get(&(operation.origin.source.clone(), operation.origin.own_name.clone())).filter(is_of).cloned()
    };
    let mut order: Vec<usize> = (0..operations.len()).collect();
    order.sort_by_cached_key(|&index| {
        operations.get(index).map(|operation| {
            let since = operation.origin.established_at.unwrap_or(u64::MAX);
            let is_older = (!operation.origin.is_established, since);
            (before(operation).is_none(), !operation.origin.native, is_trespassing(operation), is_older)
        })
    });
    let mut taken: HashSet<Arc<str>> = HashSet::with_capacity(operations.len());
    let mut changed = Vec::new();
    for index in order {
        let Some(operation) = operations.get_mut(index) else { continue };
        if let Some(suffixed) = before(operation).filter(|name| **name != *operation.name && !taken.contains(name)) {
            taken.insert(suffixed.clone());
            changed.push((std::mem::replace(&mut operation.name, suffixed.clone()), suffixed));
            continue;
        }
        // A long own name was chosen deliberately and may already be in use.
        let max = if operation.origin.own_name.len() > MAX_NAME_LEN { MAX_CHOSEN_NAME } else { MAX_NAME_LEN };
        let fits = |name: &str| name.len() <= max && !RESERVED.contains(&name);
        // The catalog reports invalid names of native sources as errors.
        let is_retired = || {
            let is_known = before(operation).is_some_and(|name| *name == *operation.name);
            !is_known && retired.reserve(&operation.name, prefix_of(&operation.origin.source))
        };
        let is_usable = operation.origin.native || (fits(&operation.name) && !is_retired());
        if !is_usable || taken.contains(&operation.name) {
            let assigned: Arc<str> = with_hash_suffix(&operation.name, |name| !taken.contains(name)).into();
            changed.push((std::mem::replace(&mut operation.name, assigned.clone()), assigned));
        }
        taken.insert(operation.name.clone());
    }
    changed
}

/// The length of a hash suffix with its underscore.
const SUFFIX_LEN: usize = 6;

/// Whether a name is `other` with a hash suffix.
fn is_suffixed_form_of(name: &str, other: &str) -> bool {
    let stem: String = other.chars().take(MAX_NAME_LEN - SUFFIX_LEN).collect();
    let suffix = name.strip_prefix(stem.trim_end_matches('_')).and_then(|rest| rest.strip_prefix('_'));
    suffix.is_some_and(|suffix| suffix.len() == SUFFIX_LEN - 1 && suffix.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The name, truncated if necessary, with a hash of the full name as a suffix to keep it unique.
fn with_hash_suffix(name: &str, is_free: impl Fn(&str) -> bool) -> String {
    let stem: String = name.chars().take(MAX_NAME_LEN - SUFFIX_LEN).collect();
    let stem = stem.trim_end_matches('_');
    let mut candidate = String::new();
    for round in 0..1_000_u64 {
        // FNV-1a: the same on every machine and in every version.
        let digest = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64 ^ round, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        candidate = format!("{stem}_{:05x}", (digest >> 20) & 0xf_ffff);
        if is_free(&candidate) {
            break;
        }
    }
    candidate
}
