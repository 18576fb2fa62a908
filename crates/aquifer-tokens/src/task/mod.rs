//! Tasks for a model: read from a file, or chosen among the read-only operations.

use serde::Deserialize;
use serde_json::{Map, Value};

/// A file of tasks.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    task: Vec<Task>,
}

/// A task for a model.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The name in the report.
    pub name: String,
    /// The words that a model would search for. Without them, the model is assumed to know the operation.
    #[serde(default)]
    pub search: Option<String>,
    /// The operation to call.
    pub operation: String,
    /// The parameters of the operation.
    #[serde(default)]
    pub params: Map<String, Value>,
    /// Additional parameters that request a smaller answer.
    #[serde(default)]
    pub shaped: Map<String, Value>,
    /// The tool of the source that does the same. By default, the tool that the operation was derived from.
    #[serde(default)]
    pub tool: Option<String>,
    /// The arguments of that tool. By default, `params`.
    #[serde(default)]
    pub arguments: Option<Map<String, Value>>,
    /// Whether a call that asks for confirmation is confirmed, with the token it was given. By default, the question is the
    /// end.
    #[serde(default)]
    pub confirm: bool,
}

/// Parses a file of tasks. Errors name the line.
pub fn parse(text: &str) -> Result<Vec<Task>, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
    if file.task.is_empty() {
        return Err("it contains no [[task]]".to_owned());
    }
    for task in &file.task {
        let same = file.task.iter().filter(|other| other.name == task.name).count();
        if same > 1 {
            return Err(format!("{same} tasks are named '{}'; --compare identifies tasks by name", task.name));
        }
    }
    Ok(file.task)
}

/// The known properties of an operation before it is called.
pub(crate) struct OperationSummary<'a> {
    pub(crate) name: &'a str,
    pub(crate) is_read: bool,
    pub(crate) parameters: &'a [Value],
}

/// Number of tasks that are chosen if none are given.
const MAX_CHOSEN: usize = 3;

/// Chooses tasks among the read-only operations without required parameters. Lists whose answers can be shaped are
/// preferred. The choice is evenly spaced, to avoid favoring good results.
pub(crate) fn choose(operations: &[OperationSummary<'_>]) -> Vec<Task> {
    let callable = |known: &&OperationSummary<'_>| {
        let needs = |parameter: &Value| parameter.get("required") == Some(&Value::Bool(true));
        known.is_read && known.name != "introspect" && !known.parameters.iter().any(needs)
    };
    let callable: Vec<&OperationSummary<'_>> = operations.iter().filter(callable).collect();
    let lists: Vec<&OperationSummary<'_>> =
        callable.iter().filter(|known| has_parameter(known.parameters, "fields")).copied().collect();
    let chosen = if lists.is_empty() { callable } else { lists };
    let count = chosen.len().min(MAX_CHOSEN);
    let middle = |index: usize| (2 * index + 1) * chosen.len() / (2 * count.max(1));
    (0..count)
        .filter_map(|index| chosen.get(middle(index)))
        .map(|known| Task {
            name: known.name.to_owned(),
            search: Some(known.name.replace('_', " ")),
            operation: known.name.to_owned(),
            params: Map::new(),
            shaped: Map::new(),
            tool: None,
            arguments: None,
            confirm: false,
        })
        .collect()
}

/// Whether there is a parameter with this name.
pub(crate) fn has_parameter(parameters: &[Value], name: &str) -> bool {
    parameters.iter().any(|parameter| parameter.get("name").and_then(Value::as_str) == Some(name))
}

/// Number of fields that a chosen task requests.
const FEW_FIELDS: usize = 2;
/// Number of rows that a chosen task requests.
const FEW_ROWS: usize = 5;

/// The shapes in which the answer of an operation can be requested, derived from its plain answer: some fields, a short
/// page, or both. An answer without rows has no other shape.
pub(crate) fn shapes(parameters: &[Value], data: &Value) -> Vec<(&'static str, Map<String, Value>)> {
    let Some(row) = first_row(data, 0) else { return Vec::new() };
    let names: Vec<Value> = row.keys().take(FEW_FIELDS).map(|name| Value::from(name.as_str())).collect();
    let fields = has_parameter(parameters, "fields").then(|| ("fields".to_owned(), Value::from(names)));
    let page = ["first", "limit", "page_size"].into_iter().find(|name| has_parameter(parameters, name));
    let page = page.map(|name| (name.to_owned(), Value::from(FEW_ROWS)));
    let shape = |parts: &[&Option<(String, Value)>]| parts.iter().copied().flatten().cloned().collect();
    match (&fields, &page) {
        (Some(_), Some(_)) => {
            vec![("fields", shape(&[&fields])), ("page", shape(&[&page])), ("both", shape(&[&fields, &page]))]
        }
        (Some(_), None) => vec![("fields", shape(&[&fields]))],
        (None, Some(_)) => vec![("page", shape(&[&page]))],
        (None, None) => Vec::new(),
    }
}

/// The first row of the first list, searched at most two levels deep.
fn first_row(data: &Value, depth: usize) -> Option<&Map<String, Value>> {
    match data {
        Value::Array(rows) => rows.first()?.as_object(),
        Value::Object(members) if depth < 2 => members.values().find_map(|value| first_row(value, depth + 1)),
        _ => None,
    }
}

/// Parameters that apply to items. Aggregates alone return no items, and servers may refuse these parameters with them.
const ITEM_PARAMS: &[&str] =
    &["first", "last", "limit", "offset", "page", "page_size", "sort", "order", "fields", "preset"];

/// Merges the parameters of a task with those of a shape.
pub(crate) fn merge_params(params: &Map<String, Value>, shape: &Map<String, Value>) -> Map<String, Value> {
    let has_items = !shape.contains_key("aggregate") || shape.get("include_items") == Some(&Value::Bool(true));
    let accepted = params.iter().filter(|(name, _)| has_items || !ITEM_PARAMS.contains(&name.as_str()));
    accepted.chain(shape).map(|(name, value)| (name.clone(), value.clone())).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn task_files_are_parsed_and_mistakes_are_reported() {
        let tasks = parse(
            r#"
            [[task]]
            name = "open orders"
            search = "orders that are not paid yet"
            operation = "list_orders"
            params = { filter = { status = "pending" } }
            shaped = { fields = ["id", "total"], first = 5 }

            [[task]]
            name = "issues"
            operation = "list_issues"
            tool = "list-issues"
            arguments = { owner = "ada" }
            "#,
        )
        .unwrap();
        assert_eq!(tasks.len(), 2);
        assert_eq!(tasks[0].shaped["first"], 5);
        assert_eq!(tasks[1].arguments.as_ref().unwrap()["owner"], "ada");
        let wrong = [
            ("", "no [[task]]"),
            ("[[task]]\nname = 'a'", "missing field `operation`"),
            ("[[task]]\nname = 'a'\noperation = 'b'\nparam = {}", "unknown field `param`"),
            ("[[task]]\nname='a'\noperation='b'\n[[task]]\nname='a'\noperation='c'", "2 tasks are named 'a'"),
            ("[[task", "line 1"),
        ];
        for (text, words) in wrong {
            let error = parse(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn chosen_tasks_only_read_and_have_no_required_parameters() {
        let fields = [json!({ "name": "fields", "required": false })];
        let needs = [json!({ "name": "id", "required": true })];
        let known = |name, is_read, parameters| OperationSummary { name, is_read, parameters };
        let all = [
            known("delete_all", false, &fields[..]),
            known("get_one", true, &needs[..]),
            known("introspect", true, &[]),
            known("status", true, &[]),
            known("list_a", true, &fields[..]),
        ];
        let names =
            |known: &[OperationSummary<'_>]| choose(known).into_iter().map(|task| task.operation).collect::<Vec<_>>();
        assert_eq!(names(&all), ["list_a"]);
        assert_eq!(names(&all[..4]), ["status"]);
        assert!(names(&all[..3]).is_empty());
        let many: Vec<String> = (0..12).map(|n| format!("list_{n:02}")).collect();
        let many: Vec<OperationSummary<'_>> = many.iter().map(|name| known(name, true, &fields[..])).collect();
        assert_eq!(names(&many), ["list_02", "list_06", "list_10"]);
    }

    #[test]
    fn shapes_come_from_the_parameters_and_the_answer() {
        let both = [json!({ "name": "fields" }), json!({ "name": "first" })];
        let rows = json!({ "items": [{ "id": 1, "name": "a", "size": 2 }], "pageInfo": {} });
        let shapes_of = |parameters: &[Value], data: &Value| {
            shapes(parameters, data).into_iter().map(|(name, params)| (name, Value::from(params))).collect::<Vec<_>>()
        };
        assert_eq!(
            shapes_of(&both, &rows),
            [
                ("fields", json!({ "fields": ["id", "name"] })),
                ("page", json!({ "first": 5 })),
                ("both", json!({ "fields": ["id", "name"], "first": 5 })),
            ]
        );
        assert_eq!(shapes_of(&both[1..], &rows), [("page", json!({ "first": 5 }))]);
        assert!(shapes_of(&both, &json!("text")).is_empty());
        assert!(shapes_of(&[], &rows).is_empty());
    }

    #[test]
    fn aggregates_replace_page_parameters() {
        let map = |value: Value| value.as_object().cloned().unwrap_or_default();
        let params = map(json!({ "filter": {}, "first": 5, "sort": "id" }));
        for (shape, expected) in [
            (json!({ "fields": ["id"] }), json!({ "filter": {}, "first": 5, "sort": "id", "fields": ["id"] })),
            (json!({ "aggregate": {} }), json!({ "filter": {}, "aggregate": {} })),
            (
                json!({ "aggregate": {}, "include_items": true }),
                json!({ "filter": {}, "first": 5, "sort": "id", "aggregate": {}, "include_items": true }),
            ),
        ] {
            assert_eq!(merge_params(&params, &map(shape)), map(expected));
        }
    }
}
