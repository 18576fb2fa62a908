//! Who gets which name where several operations want the same one.
//!
//! An operation that has a name keeps it: neither a new tool nor a new source can take it away, so that a call never
//! reaches another operation than the one its caller got to know. Among newcomers our own sources come first, because
//! nobody but the operator chose their names.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use aquifer_protocol::operation::{LONGEST_NAME, Operation, RESERVED};

/// The names of an earlier catalog: source and own name to the name that was served.
pub(crate) type Established = HashMap<(Arc<str>, Arc<str>), Arc<str>>;

/// Gives every operation a name of its own. Says which could not have the name they wanted, with the name they got.
pub(super) fn assign(operations: &mut [Operation], established: &Established) -> Vec<(Arc<str>, Arc<str>)> {
    let before = |operation: &Operation| {
        established.get(&(operation.source.clone(), operation.own_name.clone())).filter(|name| **name == operation.name)
    };
    let mut order: Vec<usize> = (0..operations.len()).collect();
    order.sort_by_key(|&index| {
        operations
            .get(index)
            .map(|operation| (before(operation).is_none(), !operation.native, !operation.is_established))
    });
    let mut taken: HashSet<Arc<str>> = HashSet::with_capacity(operations.len());
    let mut changed = Vec::new();
    for index in order {
        let Some(operation) = operations.get_mut(index) else { continue };
        let fits = |name: &str| name.len() <= LONGEST_NAME && !RESERVED.contains(&name);
        // A name that our own source chose badly is its author's mistake, which the catalog reports.
        let is_usable = operation.native || fits(&operation.name);
        if !is_usable || taken.contains(&operation.name) {
            let given: Arc<str> = marked(&operation.name, |name| !taken.contains(name)).into();
            changed.push((std::mem::replace(&mut operation.name, given.clone()), given));
        }
        taken.insert(operation.name.clone());
    }
    changed
}

/// The name, cut where it is too long, with a mark of the whole so that two of them stay apart.
fn marked(name: &str, is_free: impl Fn(&str) -> bool) -> String {
    const MARK: usize = 6;
    let kept: String = name.chars().take(LONGEST_NAME - MARK).collect();
    let kept = kept.trim_end_matches('_');
    let mut made = String::new();
    for round in 0..1_000_u64 {
        // FNV-1a: the same on every machine and in every version.
        let digest = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64 ^ round, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        made = format!("{kept}_{:05x}", (digest >> 20) & 0xf_ffff);
        if is_free(&made) {
            break;
        }
    }
    made
}
