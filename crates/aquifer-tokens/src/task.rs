//! Tasks: what a model is to do, in a file that people write, or found among the operations that only read.

use serde::Deserialize;
use serde_json::{Map, Value};

/// A file of tasks.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    task: Vec<Task>,
}

/// Something to be done.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// What it is called in the report.
    pub name: String,
    /// The words a model would search with; without them it knows the operation's name.
    #[serde(default)]
    pub search: Option<String>,
    /// The operation that does it.
    pub operation: String,
    /// Its parameters.
    #[serde(default)]
    pub params: Map<String, Value>,
    /// Parameters laid over those for an answer in a better shape.
    #[serde(default)]
    pub shaped: Map<String, Value>,
    /// The source's own tool that does it; else the one the operation was made from.
    #[serde(default)]
    pub tool: Option<String>,
    /// That tool's arguments; else `params`.
    #[serde(default)]
    pub arguments: Option<Map<String, Value>>,
}

/// Reads a file of tasks. A mistake is told with its line.
pub fn read(text: &str) -> Result<Vec<Task>, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
    if file.task.is_empty() {
        return Err("there is no [[task]] in it".to_owned());
    }
    for task in &file.task {
        let same = file.task.iter().filter(|other| other.name == task.name).count();
        if same > 1 {
            return Err(format!("{same} tasks are called '{}'; --compare tells them by their names", task.name));
        }
    }
    Ok(file.task)
}

/// What is known of an operation before it is called.
pub(crate) struct Known<'a> {
    pub(crate) name: &'a str,
    pub(crate) is_read: bool,
    pub(crate) parameters: &'a [Value],
}

/// As many tasks are found where nobody wrote any.
const FOUND: usize = 3;

/// Tasks of operations that only read and need nothing to be called with: lists whose answers can be shaped if there are
/// any, at even distances, so that nobody picks the best ones.
pub(crate) fn find(operations: &[Known<'_>]) -> Vec<Task> {
    let callable = |known: &&Known<'_>| {
        let needs = |parameter: &Value| parameter.get("required") == Some(&Value::Bool(true));
        known.is_read && known.name != "introspect" && !known.parameters.iter().any(needs)
    };
    let callable: Vec<&Known<'_>> = operations.iter().filter(callable).collect();
    let lists: Vec<&Known<'_>> = callable.iter().filter(|known| takes(known.parameters, "fields")).copied().collect();
    let chosen = if lists.is_empty() { callable } else { lists };
    let count = chosen.len().min(FOUND);
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
        })
        .collect()
}

/// Whether a parameter of this name is taken.
pub(crate) fn takes(parameters: &[Value], name: &str) -> bool {
    parameters.iter().any(|parameter| parameter.get("name").and_then(Value::as_str) == Some(name))
}

/// As many fields are asked for in a found task,
const FEW_FIELDS: usize = 2;
/// and as many rows.
const FEW_ROWS: usize = 5;

/// The shapes that an operation's answer can be asked for in, seen from the answer as it comes: some fields, a short page,
/// both. What has no rows has no other shape.
pub(crate) fn shapes(parameters: &[Value], data: &Value) -> Vec<(&'static str, Map<String, Value>)> {
    let Some(row) = first_row(data, 0) else { return Vec::new() };
    let names: Vec<Value> = row.keys().take(FEW_FIELDS).map(|name| Value::from(name.as_str())).collect();
    let fields = takes(parameters, "fields").then(|| ("fields".to_owned(), Value::from(names)));
    let page = ["first", "limit", "page_size"].into_iter().find(|name| takes(parameters, name));
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

/// The first row of the first rows that there are, not too deep inside.
fn first_row(data: &Value, depth: usize) -> Option<&Map<String, Value>> {
    match data {
        Value::Array(rows) => rows.first()?.as_object(),
        Value::Object(members) if depth < 2 => members.values().find_map(|value| first_row(value, depth + 1)),
        _ => None,
    }
}

/// Parameters that concern items, which sums alone do not return: servers may refuse them beside sums.
const OF_ITEMS: &[&str] =
    &["first", "last", "limit", "offset", "page", "page_size", "sort", "order", "fields", "preset"];

/// Parameters laid over others.
pub(crate) fn laid_over(params: &Map<String, Value>, shape: &Map<String, Value>) -> Map<String, Value> {
    let has_items = !shape.contains_key("aggregate") || shape.get("include_items") == Some(&Value::Bool(true));
    let kept = params.iter().filter(|(name, _)| has_items || !OF_ITEMS.contains(&name.as_str()));
    kept.chain(shape).map(|(name, value)| (name.clone(), value.clone())).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_file_of_tasks_is_read_and_its_mistakes_are_told() {
        let tasks = read(
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
            ("[[task]]\nname='a'\noperation='b'\n[[task]]\nname='a'\noperation='c'", "2 tasks are called 'a'"),
            ("[[task", "line 1"),
        ];
        for (text, words) in wrong {
            let told = read(text).unwrap_err();
            assert!(told.contains(words), "{text}: {told}");
        }
    }

    #[test]
    fn found_tasks_only_read_and_need_nothing() {
        let fields = [json!({ "name": "fields", "required": false })];
        let needs = [json!({ "name": "id", "required": true })];
        let known = |name, is_read, parameters| Known { name, is_read, parameters };
        let all = [
            known("delete_all", false, &fields[..]),
            known("get_one", true, &needs[..]),
            known("introspect", true, &[]),
            known("status", true, &[]),
            known("list_a", true, &fields[..]),
        ];
        let names = |known: &[Known<'_>]| find(known).into_iter().map(|task| task.operation).collect::<Vec<_>>();
        assert_eq!(names(&all), ["list_a"]);
        assert_eq!(names(&all[..4]), ["status"]);
        assert!(names(&all[..3]).is_empty());
        let many: Vec<String> = (0..12).map(|n| format!("list_{n:02}")).collect();
        let many: Vec<Known<'_>> = many.iter().map(|name| known(name, true, &fields[..])).collect();
        assert_eq!(names(&many), ["list_02", "list_06", "list_10"]);
    }

    #[test]
    fn shapes_come_from_what_the_operation_takes_and_what_it_answered() {
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
    fn sums_take_the_place_of_pages() {
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
            assert_eq!(laid_over(&params, &map(shape)), map(expected));
        }
    }
}
