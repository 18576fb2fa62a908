//! Answers `introspect {query: "signatures"}`: one line for each requested operation, and notes that apply to several
//! lines (R-EXT-1).
//!
//! Marks depend on the caller, so these answers are not cached.

use aquifer_protocol::catalog::Catalog;
use aquifer_protocol::error::problems::explain_unknown;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::introspect::signature::{SignatureWriter, related_operations};
use aquifer_protocol::introspect::{Cursor, Narrowing, SignatureSelection};
use aquifer_protocol::operation::Operation;
use aquifer_protocol::surface::Receiver;
use aquifer_protocol::validate::unknown_operation;
use aquifer_search::Hit;
use serde_json::{Value, json};

use crate::snapshot::Snapshot;
use crate::source::Context;

/// Every line costs the model tokens, and the right operation is almost always among the first.
const MAX_FOUND: usize = 5;

/// A hit below this share of the best one is not worth its line.
const MIN_SHARE_OF_BEST: f32 = 0.57;

/// Below this score the best hit is a guess, and so is the order: then at least [`MIN_GUESSES`] are shown.
const CLEAR_SCORE: f32 = 0.3;
const MIN_GUESSES: usize = 3;

/// From this score on, a query names an operation.
const NAMED_SCORE: f32 = 2.0;

/// The maximum number of ranked hits.
const MAX_HITS: usize = 500;

/// The maximum bytes of the lines in an answer. The remaining lines are counted, and `after` leads to them.
const MAX_BYTES: usize = 16 * 1024;

/// The same if the caller specifies how many lines it wants, or which.
const MAX_WANTED_BYTES: usize = 64 * 1024;

/// Where the operations of tables are described.
const TABLES_NOTE: &str = "operations of tables: {query: schema}; one of them: {query: signatures, names: [..]}";

/// Notes about related operations.
const MAX_RELATED_NOTES: usize = 4;

/// Answers with signatures.
pub(super) fn signatures(
    snapshot: &Snapshot,
    selection: &SignatureSelection,
    context: &Context,
) -> Result<Value, Failure> {
    let (surface, gate, catalog) = (snapshot.surface(), snapshot.gate(), snapshot.catalog());
    let (chosen, usual) = choose(snapshot, selection)?;
    let identity = identity(selection);
    let start = match &selection.narrowing.after {
        None => 0,
        Some(cursor) => Cursor::read(cursor, &identity, catalog.digest())
            .filter(|offset| *offset <= chosen.len())
            .ok_or_else(|| Failure::invalid_value("after", "is not a cursor of this list. Start again without it"))?,
    };
    let wanted = selection.narrowing.first;
    let max_bytes = if wanted.is_some() || !selection.names.is_empty() { MAX_WANTED_BYTES } else { MAX_BYTES };
    let mut writer = SignatureWriter::new(!selection.names.is_empty());
    let (mut lines, mut bytes, mut shown) = (Vec::new(), 0, Vec::new());
    for (operation, of) in chosen.iter().copied().skip(start).take(wanted.unwrap_or(usual)) {
        let mark = gate.mark(operation, context);
        let line = writer.line(operation, of.types(), surface.family_of(operation), mark);
        bytes += line.len();
        // The first one is always shown, so that every page makes progress.
        if bytes > max_bytes && !lines.is_empty() {
            break;
        }
        lines.push(line);
        shown.push(operation);
    }
    let end = start + lines.len();
    let mut notes = writer.notes();
    notes.extend(related(&shown, catalog));
    let is_narrowed = !selection.names.is_empty()
        || selection.narrowing.search.is_some()
        || selection.narrowing.source.is_some()
        || selection.family.is_some();
    if !is_narrowed && catalog.operations().iter().any(|operation| operation.routing.generic_name.is_some()) {
        notes.push(TABLES_NOTE.to_owned());
    }
    let mut answer = json!({ "signatures": lines });
    if let Some(answer) = answer.as_object_mut() {
        if !notes.is_empty() {
            answer.insert("hints".to_owned(), notes.into());
        }
        if end < chosen.len() {
            answer.insert("more".to_owned(), (chosen.len() - end).into());
            // Callers repeat a search with other words rather than read it to the end.
            if selection.narrowing.search.is_none() || wanted.is_some() {
                let cursor = Cursor::new(end, &identity, catalog.digest());
                answer.insert("after".to_owned(), cursor.to_string().into());
            }
        }
    }
    Ok(answer)
}

/// An operation and the catalog with its types.
type Listed<'a> = (&'a Operation, &'a Catalog);

/// The matching operations, and how many of them are shown if the caller does not say.
fn choose<'a>(snapshot: &'a Snapshot, selection: &SignatureSelection) -> Result<(Vec<Listed<'a>>, usize), Failure> {
    if !selection.names.is_empty() {
        return Ok((by_name(snapshot, &selection.names)?, usize::MAX));
    }
    let (catalog, surface) = (snapshot.catalog(), snapshot.surface());
    let is_admitted = |operation: &Operation| {
        let is_source = selection.narrowing.source.as_deref().is_none_or(|source| source == &*operation.origin.source);
        let is_family = selection
            .family
            .as_deref()
            .is_none_or(|family| family == surface.family_of(operation) || family == operation.category.as_str());
        is_source && is_family
    };
    let operations = catalog.operations();
    let Some(words) = selection.narrowing.search.as_deref() else {
        // The operations of tables are all alike, and the schema describes the tables in far fewer words. The caller
        // already knows `introspect`.
        let is_unnarrowed = selection.narrowing.source.is_none() && selection.family.is_none();
        let is_described_elsewhere = |operation: &Operation| {
            let is_of_tables = operation.routing.generic_name.is_some() || operation.routing.is_indirect;
            is_unnarrowed && (is_of_tables || operation.class().describes_catalog())
        };
        let all = operations.iter().map(|operation| &**operation);
        let all = all.filter(|operation| is_admitted(operation) && !is_described_elsewhere(operation));
        return Ok((all.map(|operation| (operation, catalog)).collect(), usize::MAX));
    };
    let hits = snapshot.index().search_filtered(words, MAX_HITS, |position| {
        operations.get(position).is_some_and(|operation| is_admitted(operation))
    });
    let usual = worth_showing(&hits);
    let matching = hits.into_iter().filter_map(|hit| operations.get(hit.position));
    Ok((matching.map(|operation| (&**operation, catalog)).collect(), usual))
}

/// How many of the hits are shown: fewer than usual if the first is clearly ahead.
fn worth_showing(hits: &[Hit]) -> usize {
    let best = hits.first().map_or(0.0, |hit| hit.score);
    let least = if best >= NAMED_SCORE { NAMED_SCORE } else { best * MIN_SHARE_OF_BEST };
    let worth = hits.iter().take(MAX_FOUND).take_while(|hit| hit.score >= least).count();
    if best < CLEAR_SCORE { worth.max(MIN_GUESSES.min(hits.len())) } else { worth }
}

/// The operations with these names: listed ones, and those behind generic ones, which can be introspected by name.
fn by_name<'a>(snapshot: &'a Snapshot, names: &[String]) -> Result<Vec<Listed<'a>>, Failure> {
    let find = |name: &str| match snapshot.catalog().operation(name) {
        Some(operation) => Some((&**operation, snapshot.catalog())),
        None if snapshot.is_denied(name) => None,
        None => snapshot.unlisted().operation(name).map(|operation| (&**operation, snapshot.unlisted())),
    };
    let mut operations = Vec::with_capacity(names.len());
    let mut unknown: Vec<&str> = Vec::new();
    for name in names {
        match find(name) {
            Some(operation) => operations.push(operation),
            None => unknown.push(name),
        }
    }
    match unknown.as_slice() {
        [] => Ok(operations),
        [only] => Err(unknown_operation(snapshot.catalog(), snapshot.surface(), &Receiver::Unified, only)),
        several => {
            let valid: Vec<&str> = snapshot.catalog().operations().iter().map(|operation| &*operation.name).collect();
            let (names, hint, _) = explain_unknown(several, &valid);
            Err(Failure::new(Code::NotFoundOperation, format!("Unknown operations: {names}.{hint}")))
        }
    }
}

/// Notes about which operations provide the identifiers that the shown operations require, unless they are shown too.
fn related(shown: &[&Operation], catalog: &Catalog) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for operation in shown {
        for parameter in operation.parameters.iter().filter(|parameter| parameter.required) {
            if notes.len() >= MAX_RELATED_NOTES {
                return notes;
            }
            let sources = related_operations(parameter, operation, catalog);
            let is_shown = |source: &&Operation| shown.iter().any(|operation| operation.name == source.name);
            if sources.is_empty() || sources.iter().any(is_shown) {
                continue;
            }
            let names: Vec<&str> = sources.iter().map(|source| &*source.name).collect();
            let note = format!("{}: see {}", parameter.name, names.join(", "));
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes
}

/// The binding of a cursor. Other names or another family make a different list.
fn identity(selection: &SignatureSelection) -> Narrowing {
    let words = selection.narrowing.search.as_deref().unwrap_or_default();
    Narrowing {
        search: Some(format!("{words}\0{}", selection.names.join(" "))),
        endpoint: selection.family.clone(),
        ..selection.narrowing.clone()
    }
}
