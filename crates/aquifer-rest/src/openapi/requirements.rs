//! The credentials that each operation needs: its security requirements, or those of the whole description.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::operation::Entry;
use super::security::SchemeReader;
use super::text::quote;
use crate::route::Security;

/// The maximum number of alternatives of an operation.
const MAX_ALTERNATIVES: usize = 16;

/// The maximum number of schemes that are required together.
const MAX_TOGETHER: usize = 8;

/// The requirements of each operation, in the order of the operations.
pub(super) fn read(root: &Value, entries: &[Entry<'_>], schemes: &mut SchemeReader<'_>) -> Vec<Security> {
    let global = root.get("security").filter(|stated| stated.is_array());
    let own = |entry: &Entry<'_>| entry.json.get("security").is_some_and(Value::is_array);
    // A description that defines schemes but requires them nowhere has probably omitted its requirements.
    if global.is_none() && !entries.iter().any(own) {
        return vec![Security::Any; entries.len()];
    }
    // Many operations have the same requirements, so results are cached.
    let mut known: HashMap<String, Security> = HashMap::new();
    let mut read = |entry: &Entry<'_>| {
        let stated = entry.json.get("security").filter(|stated| stated.is_array()).or(global);
        let Some(stated) = stated.and_then(Value::as_array) else { return Security::none() };
        let key = serde_json::to_string(stated).unwrap_or_default();
        known.entry(key).or_insert_with(|| security(stated, schemes)).clone()
    };
    entries.iter().map(&mut read).collect()
}

/// The alternatives that can be met. Optional credentials are sent if they are configured.
fn security(stated: &[Value], schemes: &mut SchemeReader<'_>) -> Security {
    let mut alternatives: Vec<Vec<usize>> = Vec::new();
    let mut partial: Vec<Vec<usize>> = Vec::new();
    let mut is_optional = stated.is_empty();
    for requirement in stated.iter().filter_map(Value::as_object).take(MAX_ALTERNATIVES) {
        is_optional |= requirement.is_empty();
        let (met, is_whole) = combinations(requirement, schemes);
        if is_whole { alternatives.extend(met) } else { partial.extend(met) }
    }
    // An unsupported part of an alternative may be provided by others, such as a client certificate that a proxy adds.
    alternatives.extend(partial);
    alternatives.retain(|alternative| !alternative.is_empty());
    alternatives.truncate(MAX_ALTERNATIVES);
    if is_optional && !alternatives.is_empty() {
        alternatives.push(Vec::new());
    }
    Security::OneOf(alternatives.into())
}

/// The ways to meet a requirement: each combines one way of every scheme. `false` if some schemes are not supported.
fn combinations(requirement: &Map<String, Value>, schemes: &mut SchemeReader<'_>) -> (Vec<Vec<usize>>, bool) {
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    let mut is_whole = requirement.len() <= MAX_TOGETHER;
    for (name, scopes) in requirement.iter().take(MAX_TOGETHER) {
        let ways = schemes.ways(name, scopes);
        if ways.is_empty() {
            is_whole = false;
            continue;
        }
        let mut extended = Vec::new();
        for (chosen, way) in all.iter().flat_map(|chosen| ways.iter().map(move |way| (chosen, *way))) {
            let mut chosen = chosen.clone();
            if schemes.shares_place(&chosen, way) {
                if !chosen.contains(&way) {
                    let note = "wants another credential in the same place; the first one is sent";
                    schemes.note(format!("The security scheme {} {note}.", quote(name)));
                }
            } else {
                chosen.push(way);
            }
            if !extended.contains(&chosen) && extended.len() < MAX_ALTERNATIVES {
                extended.push(chosen);
            }
        }
        all = extended;
    }
    (all, is_whole)
}
