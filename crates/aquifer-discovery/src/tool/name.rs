//! Assigns unique snake_case names to an upstream's tools and parameters (R-DIS-3).
//!
//! A name depends on the set of names, never on their order: a server that reorders its tools must not swap two
//! operations. Valid names are therefore kept, and names that would collide get a suffix derived from a digest of the
//! original. A tool that already has a name keeps it when tools are added; otherwise a server could redirect calls to
//! another tool by listing one more.

use std::collections::{HashMap, HashSet};

use aquifer_protocol::case::snake_identifier;
use aquifer_protocol::hex::hex;
use aquifer_protocol::operation::{MAX_CHOSEN_NAME, MAX_NAME_LEN, RESERVED, is_snake_case};
use sha2::{Digest, Sha256};

/// Maximum length of a parameter name. Longer ones are shortened.
const MAX_PARAMETER_LEN: usize = 64;

/// The name assigned to a tool or parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssignedName {
    /// The name.
    pub name: String,
    /// Why this name was chosen.
    pub reason: NameReason,
}

/// Why a name was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameReason {
    /// The original name is valid and was kept.
    Kept,
    /// The original was not snake_case or was too long.
    Respelled,
    /// The original is a name reserved by the protocol.
    Reserved,
    /// Another tool or parameter would have had the same name.
    Collided,
}

/// The names that operations of an upstream already have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EstablishedNames {
    /// The operation name of each tool.
    by_tool: HashMap<String, String>,
    /// Names reserved for tools that are not listed at the moment.
    reserved: HashSet<String>,
}

impl EstablishedNames {
    /// Records the operation name of a tool, replacing an earlier one.
    pub fn keep(&mut self, tool: &str, operation: &str) {
        self.by_tool.insert(tool.to_owned(), operation.to_owned());
    }

    /// Reserves a name for a tool that is not listed at the moment. No other tool gets it.
    pub fn reserve(&mut self, operation: &str) {
        self.reserved.insert(operation.to_owned());
    }

    /// Whether there are no established names.
    pub fn is_empty(&self) -> bool {
        self.by_tool.is_empty() && self.reserved.is_empty()
    }
}

/// Assigns operation names, one for each tool. The tools' names must be distinct.
pub fn operations<'a>(tools: impl IntoIterator<Item = &'a str>) -> Vec<AssignedName> {
    operations_with_established(tools, &EstablishedNames::default())
}

/// Like [`operations`], but tools with an established name keep it and no other tool gets it.
pub fn operations_with_established<'a>(
    tools: impl IntoIterator<Item = &'a str>,
    established: &EstablishedNames,
) -> Vec<AssignedName> {
    assign(tools, RESERVED, MAX_NAME_LEN, "tool", established)
}

/// Assigns names to the parameters of one operation. The original names must be distinct.
pub fn parameters<'a>(originals: impl IntoIterator<Item = &'a str>) -> Vec<AssignedName> {
    // Confirmation tokens are sent under this name, so an upstream's own parameter must not have it.
    assign(originals, &["confirmation_token"], MAX_PARAMETER_LEN, "parameter", &EstablishedNames::default())
}

/// The name, shortened to `max_len`. A shortened name ends in a digest of the full name, so that different names stay
/// different.
pub fn fit(name: &str, max_len: usize) -> String {
    if name.len() <= max_len { name.to_owned() } else { with_digest(name, name, max_len, 5) }
}

/// A valid name for an adapter: `^[a-z][a-z0-9-]*$`.
pub fn kebab(name: &str) -> String {
    let kebab = fit(&snake_identifier(name), 60).replace('_', "-");
    if kebab.is_empty() { "upstream".to_owned() } else { kebab }
}

fn assign<'a>(
    originals: impl IntoIterator<Item = &'a str>,
    reserved: &[&str],
    max_len: usize,
    fallback: &str,
    established: &EstablishedNames,
) -> Vec<AssignedName> {
    let originals: Vec<&str> = originals.into_iter().collect();
    let mut assigned = keep_established(&originals, reserved, max_len, fallback, established);
    let mut taken: HashSet<String> = reserved.iter().map(|&name| name.to_owned()).collect();
    taken.extend(established.reserved.iter().cloned());
    taken.extend(assigned.iter().flatten().map(|assigned| assigned.name.clone()));
    let is_new = |index: usize| assigned.get(index).is_some_and(Option::is_none);
    let newcomers: Vec<usize> = (0..originals.len()).filter(|&index| is_new(index)).collect();
    let mut preferred: HashMap<usize, (String, NameReason)> = HashMap::with_capacity(newcomers.len());
    for &index in &newcomers {
        let Some(original) = originals.get(index) else { continue };
        let is_fine = is_snake_case(original) && original.len() <= max_len && !reserved.contains(original);
        let (name, reason) = preferred_name(original, reserved, max_len, fallback);
        let reason = if is_fine { NameReason::Kept } else { reason };
        preferred.insert(index, (name, reason));
    }
    // Valid original names that are not taken are kept.
    for (&index, (name, reason)) in &preferred {
        if *reason == NameReason::Kept
            && taken.insert(name.clone())
            && let Some(slot) = assigned.get_mut(index)
        {
            *slot = Some(AssignedName { name: name.clone(), reason: NameReason::Kept });
        }
    }
    let mut claims: HashMap<&str, usize> = HashMap::new();
    for (name, reason) in preferred.values() {
        if *reason != NameReason::Kept {
            *claims.entry(name).or_default() += 1;
        }
    }
    // Names without a collision are assigned first, so that a name with a digest never takes one of them.
    for (&index, (name, reason)) in &preferred {
        if *reason != NameReason::Kept
            && claims.get(name.as_str()) == Some(&1)
            && taken.insert(name.clone())
            && let Some(slot) = assigned.get_mut(index)
        {
            *slot = Some(AssignedName { name: name.clone(), reason: *reason });
        }
    }
    // Sorted by original name, so that the result does not depend on the order of the list.
    let mut open: Vec<usize> =
        newcomers.into_iter().filter(|&index| assigned.get(index).is_some_and(Option::is_none)).collect();
    open.sort_by_key(|&index| originals.get(index));
    for index in open {
        let (Some(original), Some((base, reason))) = (originals.get(index), preferred.get(&index)) else { continue };
        let name = (5..=64)
            .map(|digits| with_digest(base, original, max_len, digits))
            .find(|name| !taken.contains(name))
            .unwrap_or_else(|| with_digest(base, &format!("{index}\0{original}"), max_len, 16));
        taken.insert(name.clone());
        let reason = if *reason == NameReason::Reserved { NameReason::Reserved } else { NameReason::Collided };
        if let Some(slot) = assigned.get_mut(index) {
            *slot = Some(AssignedName { name, reason });
        }
    }
    assigned.into_iter().flatten().collect()
}

/// The established names, in the order of the originals.
fn keep_established(
    originals: &[&str],
    reserved: &[&str],
    max_len: usize,
    fallback: &str,
    established: &EstablishedNames,
) -> Vec<Option<AssignedName>> {
    let mut taken: HashSet<&str> = HashSet::new();
    originals
        .iter()
        .map(|&original| {
            let name = established.by_tool.get(original)?;
            // An invalid name, or one that two tools claim, is assigned again. Names chosen by an operator may be long.
            let is_usable = is_snake_case(name) && name.len() <= MAX_CHOSEN_NAME && !reserved.contains(&name.as_str());
            if !is_usable || !taken.insert(name) {
                return None;
            }
            let (spelled, reason) = preferred_name(original, reserved, max_len, fallback);
            let reason = match reason {
                _ if name == original => NameReason::Kept,
                reason if *name == spelled => reason,
                NameReason::Reserved => NameReason::Reserved,
                _ => NameReason::Collided,
            };
            Some(AssignedName { name: name.clone(), reason })
        })
        .collect()
}

/// The name for an original if nothing collides with it.
fn preferred_name(original: &str, reserved: &[&str], max_len: usize, fallback: &str) -> (String, NameReason) {
    let base = match snake_identifier(original) {
        _ if is_snake_case(original) => original.to_owned(),
        empty if empty.is_empty() => fallback.to_owned(),
        name => name,
    };
    if reserved.contains(&base.as_str()) {
        (format!("{base}_{fallback}"), NameReason::Reserved)
    } else {
        (fit_with_digest(&base, original, max_len), NameReason::Respelled)
    }
}

fn fit_with_digest(base: &str, original: &str, max_len: usize) -> String {
    if base.len() <= max_len { base.to_owned() } else { with_digest(base, original, max_len, 5) }
}

/// The beginning of a name, followed by `digits` hexadecimal digits of a digest of the original.
fn with_digest(base: &str, original: &str, max_len: usize, digits: usize) -> String {
    let digits = digits.min(max_len.saturating_sub(4));
    let mark: String = hex(&Sha256::digest(original.as_bytes())).chars().take(digits).collect();
    let room = max_len.saturating_sub(digits + 2);
    let stem: String = base.chars().take(room).collect();
    let stem = stem.trim_end_matches('_');
    if stem.is_empty() { format!("x{mark}") } else { format!("{stem}_x{mark}") }
}
