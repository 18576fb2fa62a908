//! Answers `introspect {query: "schema"}`: one line for each table of a database, and the grammar of the query language
//! once (R-EXT-2).
//!
//! Sources describe their tables; this module chooses which of them fit. A table is shown if the operation that reads
//! its rows is.

use std::sync::Arc;

use aquifer_protocol::category::Category;
use aquifer_protocol::error::problems::explain_unknown;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::introspect::SchemaSelection;
use aquifer_protocol::operation::Operation;
use aquifer_query::grammar::GRAMMAR;
use aquifer_search::{Document, SearchIndex};
use serde_json::{Value, json};

use crate::snapshot::{Mount, Snapshot};
use crate::source::TableSummary;

/// The maximum bytes of all lines, in general and for tables requested by name.
const MAX_BYTES: usize = 8 * 1024;
const MAX_NAMED_BYTES: usize = 64 * 1024;

/// The maximum number of tables that are described.
const MAX_DESCRIBED: usize = 60;

/// The maximum bytes for the names of the other tables.
const MAX_NAME_BYTES: usize = 4 * 1024;

const LEGEND: &str = "* key, → refers to, ? nullable, no type: text";

/// A table that the caller may see.
struct VisibleTable<'a> {
    mount: &'a Mount,
    summary: TableSummary,
    /// Its operations that the caller may see.
    operations: Vec<&'a Operation>,
}

/// Answers with the schema.
pub(super) async fn schema(snapshot: &Snapshot, selection: &SchemaSelection) -> Result<Value, Failure> {
    let visible = visible_tables(snapshot, selection.source.as_deref());
    if visible.is_empty() {
        // The query is documented wherever there are tables, also for callers who may list none of them.
        return selection
            .source
            .as_deref()
            .map_or_else(|| Ok(json!({ "schema": [] })), |source| Err(no_tables(source)));
    }
    let (ranked, max_bytes) = if selection.names.is_empty() {
        (rank(visible, selection.search.as_deref()), MAX_BYTES)
    } else {
        (by_name(visible, &selection.names)?, MAX_NAMED_BYTES)
    };
    let is_whole = !selection.names.is_empty();
    let (mut described, mut notes) = (Vec::new(), vec![LEGEND.to_owned()]);
    let mut bytes = 0;
    for (place, table) in ranked.chosen.iter().enumerate().take(MAX_DESCRIBED) {
        let mut lines = table.mount.source.describe_tables(vec![table.summary.name.clone()], is_whole).await;
        let Some(line) = lines.lines.pop() else { continue };
        bytes += line.len();
        if bytes > max_bytes && !described.is_empty() {
            break;
        }
        described.push((place, line));
        let source: Arc<str> = table.mount.source.name().into();
        let operations = lines.operations.iter().filter_map(|(own_name, words)| {
            let (operation, _) = snapshot.operation_of(&source, own_name)?;
            (!snapshot.is_denied(&operation.name)).then(|| format!("{}: {words}", operation.name))
        });
        for note in lines.notes.into_iter().chain(operations) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    let shown: Vec<usize> = described.iter().map(|(place, _)| *place).collect();
    let left_out = ranked.chosen.iter().enumerate().filter(|(place, _)| !shown.contains(place)).map(|(_, table)| table);
    let others: Vec<&VisibleTable<'_>> = left_out.chain(&ranked.others).collect();
    let chosen: Vec<(&VisibleTable<'_>, String)> =
        described.into_iter().filter_map(|(place, line)| Some((ranked.chosen.get(place)?, line))).collect();
    notes.extend(chosen.first().and_then(|(table, _)| operations_note(snapshot, table)));
    Ok(answer(snapshot, chosen, &others, &notes))
}

fn answer(
    snapshot: &Snapshot,
    mut chosen: Vec<(&VisibleTable<'_>, String)>,
    others: &[&VisibleTable<'_>],
    notes: &[String],
) -> Value {
    let mut lines = Vec::new();
    let is_headed = snapshot.mounts().iter().filter(|mount| !mount.source.tables().is_empty()).count() > 1;
    // Groups the tables by source, in the order they were chosen.
    let position =
        |mount: &Mount| snapshot.mounts().iter().position(|other| other.source.name() == mount.source.name());
    chosen.sort_by_key(|(table, _)| position(table.mount));
    let mut source = None;
    for (table, line) in chosen {
        if is_headed && source != Some(table.mount.source.name()) {
            source = Some(table.mount.source.name());
            lines.push(format!("source {}:", table.mount.source.name()));
        }
        lines.push(line);
    }
    let mut answer = json!({ "schema": lines, "hints": notes, "grammar": GRAMMAR });
    let mut names: Vec<String> = Vec::new();
    let mut bytes = 0;
    for table in others {
        let name = match is_headed {
            true => format!("{}: {}", table.mount.source.name(), table.summary.name),
            false => table.summary.name.to_string(),
        };
        bytes += name.len() + 3;
        if bytes > MAX_NAME_BYTES {
            break;
        }
        names.push(name);
    }
    if let (Some(answer), false) = (answer.as_object_mut(), others.is_empty()) {
        if others.len() > names.len() {
            answer.insert("more".to_owned(), (others.len() - names.len()).into());
        }
        answer.insert("other_tables".to_owned(), names.into());
    }
    answer
}

/// The operations of a table in short form: `list/search_orders, get/create/update/delete_order; update: {id, input:
/// columns}`.
fn operation_names(operations: &[&Operation]) -> String {
    const VERBS: [&str; 6] = ["list_", "search_", "get_", "create_", "update_", "delete_"];
    let mut groups: Vec<(&str, Vec<&str>, &str)> = Vec::new();
    for operation in operations {
        let name = &*operation.name;
        let first_verb = VERBS.iter().filter_map(|verb| Some((name.find(verb)?, verb.len()))).min();
        let (start, length) = first_verb.unwrap_or((0, 0));
        let (prefix, rest) = name.split_at_checked(start).unwrap_or(("", name));
        let (verb, noun) = rest.split_at_checked(length).unwrap_or(("", rest));
        let verb = verb.trim_end_matches('_');
        match groups.last_mut() {
            Some((last_prefix, verbs, last_noun))
                if *last_prefix == prefix && *last_noun == noun && !verb.is_empty() =>
            {
                verbs.push(verb);
            }
            _ => groups.push((prefix, vec![verb], noun)),
        }
    }
    let labels = groups.iter().map(|(prefix, verbs, noun)| match verbs.as_slice() {
        [""] => format!("{prefix}{noun}"),
        verbs => format!("{prefix}{}_{noun}", verbs.join("/")),
    });
    let mut text = labels.collect::<Vec<_>>().join(", ");
    if let Some(update) = operations.iter().find(|operation| operation.category == Category::Update) {
        let required = update.parameters.iter().filter(|parameter| parameter.required && &*parameter.name != "input");
        let names: Vec<&str> = required.map(|parameter| &*parameter.name).chain(["input"]).collect();
        text += &format!("; update: {{{}: columns}}", names.join(", "));
    }
    text
}

/// The note about the names of a table's operations.
fn operations_note(snapshot: &Snapshot, table: &VisibleTable<'_>) -> Option<String> {
    let is_listed = table.operations.iter().any(|operation| snapshot.catalog().operation(&operation.name).is_some());
    if is_listed {
        return Some(operation_names(&table.operations));
    }
    let generic = table.operations.iter().filter_map(|operation| {
        let (generic, _) = snapshot.operation_of(&operation.origin.source, operation.routing.generic_name.as_ref()?)?;
        snapshot.catalog().operation(&generic.name).map(|generic| &*generic.name)
    });
    let generic: Vec<&str> = generic.collect();
    (!generic.is_empty()).then(|| format!("table_name: {}: {}", table.summary.name, generic.join(", ")))
}

/// The tables that can be read, by listed operations or by those behind generic ones.
fn visible_tables<'a>(snapshot: &'a Snapshot, source: Option<&str>) -> Vec<VisibleTable<'a>> {
    let mounts = snapshot.mounts().iter().filter(|mount| source.is_none_or(|name| name == mount.source.name()));
    mounts
        .flat_map(|mount| mount.source.tables().into_iter().map(move |summary| (mount, summary)))
        .filter_map(|(mount, summary)| {
            let source: Arc<str> = mount.source.name().into();
            let find = |own: &Arc<str>| {
                let (operation, _) = snapshot.operation_of(&source, own)?;
                (!snapshot.is_denied(&operation.name)).then_some(&**operation)
            };
            find(summary.operations.first()?).filter(|operation| operation.category == Category::Read)?;
            let operations = summary.operations.iter().filter_map(find).collect();
            Some(VisibleTable { mount, summary, operations })
        })
        .collect()
}

/// The tables to describe, best first, and the others.
struct RankedTables<'a> {
    chosen: Vec<VisibleTable<'a>>,
    others: Vec<VisibleTable<'a>>,
}

/// Ranks tables by the words of a search. Without a search, and if there are too many tables, those with the most
/// references come first.
fn rank<'a>(mut tables: Vec<VisibleTable<'a>>, search: Option<&str>) -> RankedTables<'a> {
    let Some(words) = search else {
        if tables.len() > MAX_DESCRIBED {
            tables.sort_by_key(|table| std::cmp::Reverse(table.summary.reference_count));
        }
        return RankedTables { chosen: tables, others: Vec::new() };
    };
    let documents = tables.iter().map(|table| Document {
        name: &table.summary.name,
        category: Category::Read.as_str(),
        description: &table.summary.description,
        parameters: Vec::new(),
        source: "",
    });
    let hits = SearchIndex::build(documents).search(words, MAX_DESCRIBED);
    let mut slots: Vec<Option<VisibleTable<'a>>> = tables.drain(..).map(Some).collect();
    let chosen = hits.iter().filter_map(|hit| slots.get_mut(hit.position)?.take()).collect();
    RankedTables { chosen, others: slots.into_iter().flatten().collect() }
}

fn by_name<'a>(tables: Vec<VisibleTable<'a>>, names: &[String]) -> Result<RankedTables<'a>, Failure> {
    let table_names: Vec<Arc<str>> = tables.iter().map(|table| table.summary.name.clone()).collect();
    let unknown: Vec<&str> =
        names.iter().map(String::as_str).filter(|name| table_names.iter().all(|table| **table != **name)).collect();
    if !unknown.is_empty() {
        let valid: Vec<&str> = table_names.iter().map(|name| &**name).collect();
        let (shown, hint, _) = explain_unknown(&unknown, &valid);
        let hint = if hint.is_empty() { " Leave 'names' out to see the tables".to_owned() } else { hint };
        return Err(Failure::new(Code::NotFoundResource, format!("Unknown table: {shown}.{hint}")));
    }
    let place = |table: &VisibleTable<'_>| names.iter().position(|name| **name == *table.summary.name);
    let mut chosen: Vec<VisibleTable<'a>> = tables.into_iter().filter(|table| place(table).is_some()).collect();
    chosen.sort_by_key(place);
    Ok(RankedTables { chosen, others: Vec::new() })
}

fn no_tables(source: &str) -> Failure {
    let problem = format!("'{source}' has no tables. Use query 'signatures' to see its operations");
    Failure::invalid_value("source", problem)
}
