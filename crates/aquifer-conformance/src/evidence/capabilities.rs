//! The observed capabilities of a server: modes, field selection, batches.

use serde_json::{Map, Value};

use crate::record::{Exchange, Mode, Purpose, Record, Surface};

use super::cases::succeeded;

/// The modes in which a call succeeded, by the runner's names: `crude` means one tool per endpoint family. Another
/// profile keeps its own name.
pub(super) fn endpoint_modes(record: &Record) -> Vec<&str> {
    let profile = record.protocol.get("profile").and_then(Value::as_str);
    let semantic = profile.filter(|profile| !profile.starts_with("crude")).unwrap_or("crude");
    let has_worked = |is_unified: bool| {
        let tools = record.surfaces.iter().flat_map(|surface| tools(surface, is_unified));
        let answered = |tool: &str| {
            record.exchanges.iter().any(|recorded| recorded.exchange.tool == tool && worked(&recorded.exchange))
        };
        tools.into_iter().any(answered)
    };
    let modes = [(semantic, false), ("single", true)];
    modes.into_iter().filter(|(_, is_unified)| has_worked(*is_unified)).map(|(word, _)| word).collect()
}

/// The tools of a surface that take all operations if `unified`, or else those that take one family.
fn tools(surface: &Surface, unified: bool) -> Vec<&str> {
    let names: Vec<&str> = surface.tools.iter().filter_map(|tool| tool.get("name")?.as_str()).collect();
    let is_unified = |name: &str| match surface.mode {
        Mode::Single => true,
        Mode::Semantic => false,
        // The tool whose name is a prefix of all others.
        Mode::All => names.iter().all(|other| other.starts_with(name)),
    };
    names.iter().copied().filter(|name| is_unified(name) == unified).collect()
}

fn worked(exchange: &Exchange) -> bool {
    succeeded(&exchange.answer)
}

/// Whether an answer contained exactly the requested fields.
pub(super) fn selects_fields(record: &Record) -> bool {
    record.exchanges.iter().any(|recorded| selected(&recorded.exchange))
}

fn selected(exchange: &Exchange) -> bool {
    let operation = exchange.arguments.get("operation").and_then(Value::as_str);
    let fields = exchange.arguments.pointer("/params/fields").and_then(Value::as_array);
    let (Some(operation), Some(fields)) = (operation, fields) else { return false };
    if operation == "introspect" || fields.is_empty() || !worked(exchange) {
        return false;
    }
    let heads: Vec<&str> = fields.iter().filter_map(Value::as_str).filter_map(|path| path.split('.').next()).collect();
    let has_only =
        |item: &Map<String, Value>| !item.is_empty() && item.keys().all(|name| heads.contains(&name.as_str()));
    let data = exchange.answer.get("data");
    // The fields of one item can be lists themselves.
    let items = items(data);
    data.and_then(Value::as_object).is_some_and(has_only)
        || !items.is_empty() && items.iter().all(|item| has_only(item))
}

/// The items of an answer: those of its list, or else the answer itself.
fn items(data: Option<&Value>) -> Vec<&Map<String, Value>> {
    let Some(Value::Object(members)) = data else { return Vec::new() };
    match members.values().find_map(Value::as_array) {
        Some(list) => list.iter().filter_map(Value::as_object).collect(),
        None => vec![members],
    }
}

/// The shortest batch answer that covers every operation of its batch.
pub(super) fn batch_example(record: &Record) -> Option<&Value> {
    let batches = record.exchanges.iter().filter(|recorded| recorded.purpose == Purpose::Batch);
    let whole = batches.map(|recorded| &recorded.exchange).filter(|exchange| worked(exchange) && answers_all(exchange));
    whole.map(|exchange| &exchange.answer).min_by_key(|answer| answer.to_string().len())
}

fn answers_all(exchange: &Exchange) -> bool {
    let length = |value: &Value, name: &str| value.get(name).and_then(Value::as_array).map(Vec::len);
    let asked = length(&exchange.arguments, "operations");
    asked.is_some_and(|asked| asked > 0) && asked == length(&exchange.answer, "results")
}
