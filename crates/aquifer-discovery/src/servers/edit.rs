//! Replaces the servers in a client's file with a single one. Everything else stays unchanged: other settings,
//! comments, order, indentation.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::{Map, Value};

use super::{sections, within};
use crate::text::json;

/// Why a file was not edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditError {
    /// It cannot be parsed, or contains none of the servers.
    NotFound,
    /// The edit would have changed other parts of the file.
    Unsafe,
}

impl std::fmt::Display for EditError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            EditError::NotFound => "it does not name these servers",
            EditError::Unsafe => "it is written in a way that cannot be edited without changing something else",
        })
    }
}

impl std::error::Error for EditError {}

/// A server as it is written in a client's file.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenServer {
    /// The path of the section that contains it: `mcpServers`.
    pub section: String,
    /// Its name.
    pub name: String,
    /// Its entry.
    pub entry: Value,
}

/// All servers of a client's JSON, invalid and disabled ones included, in the part at this path of keys.
pub fn written_servers(text: &str, keys: &[&str]) -> Vec<WrittenServer> {
    let Ok(node) = json::read(text) else { return Vec::new() };
    let mut servers = Vec::new();
    for (section, node) in within(&node, keys).map(sections).unwrap_or_default() {
        for entry in node.entries().unwrap_or_default() {
            let (name, entry) = (entry.key.clone(), entry.value.to_json());
            servers.push(WrittenServer { section: section.clone(), name, entry });
        }
    }
    servers
}

/// Removes the servers with these names from a client's JSON, in the part at this path of keys, and inserts one in their
/// place. An entry with its name is replaced. Parses the result to verify that nothing else has changed.
pub fn replace_servers(
    text: &str,
    keys: &[&str],
    removed: &[&str],
    name: &str,
    entry: &Value,
) -> Result<String, EditError> {
    let mut is_placed = false;
    edit(text, keys, |_, section, expected| {
        if remove_servers(section, expected, removed) && !is_placed {
            insert_entry(section, expected, name, entry);
            is_placed = true;
        }
    })
    .and_then(|edited| if is_placed { Ok(edited) } else { Err(EditError::NotFound) })
}

/// Removes the server with this name, if one is named, from a client's JSON and inserts others, each in its own section of the
/// part at this path of keys. Parses the result to verify that nothing else has changed.
pub fn restore_servers(
    text: &str,
    keys: &[&str],
    removed: Option<&str>,
    added: &[WrittenServer],
) -> Result<String, EditError> {
    let mut is_found = removed.is_none();
    let mut placed = 0;
    let edited = edit(text, keys, |path, section, expected| {
        is_found |= remove_servers(section, expected, removed.as_slice());
        for server in added.iter().filter(|server| server.section == path) {
            insert_entry(section, expected, &server.name, &server.entry);
            placed += 1;
        }
    })?;
    if is_found && placed == added.len() { Ok(edited) } else { Err(EditError::NotFound) }
}

/// Changes every section of servers, and verifies that the result has the expected content.
fn edit(
    text: &str,
    part: &[&str],
    mut change: impl FnMut(&str, &CstObject, &mut Map<String, Value>),
) -> Result<String, EditError> {
    let (mark, body) = match text.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", text),
    };
    let before = json::read(body).map_err(|_| EditError::NotFound)?;
    let inner = within(&before, part).ok_or(EditError::NotFound)?;
    let paths: Vec<String> = sections(inner).into_iter().map(|(path, _)| path).collect();
    let mut expected = before.to_json();
    let root = CstRootNode::parse(body, &ParseOptions::default()).map_err(|_| EditError::NotFound)?;
    let object = root.object_value().ok_or(EditError::NotFound)?;
    for path in paths {
        let keys: Vec<&str> = part.iter().copied().chain(path.split('.')).collect();
        let section = keys.iter().try_fold(object.clone(), |object, key| object.object_value(key));
        let wanted =
            keys.iter().try_fold(&mut expected, |value, key| value.get_mut(key)).and_then(Value::as_object_mut);
        if let (Some(section), Some(wanted)) = (section, wanted) {
            change(&path, &section, wanted);
        }
    }
    let edited = root.to_string();
    match json::read(&edited) {
        Ok(after) if after.to_json() == expected => Ok(format!("{mark}{edited}")),
        _ => Err(EditError::Unsafe),
    }
}

/// Removes the servers from the section and from its expected content. Returns whether any were removed.
fn remove_servers(section: &CstObject, expected: &mut Map<String, Value>, removed: &[&str]) -> bool {
    let mut found = false;
    for property in section.properties() {
        let Some(name) = property.decoded_name() else { continue };
        if removed.contains(&name.as_str()) {
            property.remove();
            expected.remove(&name);
            found = true;
        }
    }
    found
}

fn insert_entry(section: &CstObject, expected: &mut Map<String, Value>, name: &str, entry: &Value) {
    if expected.get(name) == Some(entry) {
        return;
    }
    match section.get(name) {
        Some(there) => there.set_value(cst_value(entry)),
        None => {
            section.append(name, cst_value(entry));
        }
    }
    expected.insert(name.to_owned(), entry.clone());
}

fn cst_value(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(cst_value).collect()),
        Value::Object(map) => {
            CstInputValue::Object(map.iter().map(|(key, value)| (key.clone(), cst_value(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str, removed: &[&str], expected: Result<&str, EditError>) {
        let edited = replace_servers(text, &[], removed, "aquifer", &json!({ "command": "aquifer" }));
        assert_eq!(edited.as_deref(), expected.as_ref().copied(), "{text}");
    }

    #[test]
    fn everything_but_the_servers_is_unchanged() {
        // If the file has trailing commas, the inserted entry gets one, too.
        let entry = "\"aquifer\": {\n      \"command\": \"aquifer\",\n    }";
        check(
            "{\n  // mine\n  \"theme\": \"dark\", // and this\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\" },\n    \
             // switched off\n    \"b\": { \"command\": \"y\", \"disabled\": true },\n  },\n  \"last\": [1, 2],\n}\n",
            &["a"],
            Ok(&format!(
                "{{\n  // mine\n  \"theme\": \"dark\", // and this\n  \"mcpServers\": {{\n    // switched off\n    \
                 \"b\": {{ \"command\": \"y\", \"disabled\": true }},\n    {entry},\n  }},\n  \"last\": [1, 2],\n}}\n"
            )),
        );
        check(
            "\u{feff}{\n  \"mcp\": {\n    \"inputs\": [],\n    \"servers\": {\n      \"a\": {}\n    }\n  }\n}",
            &["a"],
            Ok(
                "\u{feff}{\n  \"mcp\": {\n    \"inputs\": [],\n    \"servers\": {\n      \"aquifer\": {\n        \"command\": \
                \"aquifer\"\n      }\n    }\n  }\n}",
            ),
        );
    }

    #[test]
    fn an_entry_of_that_name_is_replaced_and_the_first_section_gets_it() {
        check(
            "{\"mcpServers\":{\"aquifer\":{\"command\":\"old\"},\"a\":{\"command\":\"x\"}},\"servers\":{\"a\":{\"url\":\"y\"}}}",
            &["a"],
            Ok("{\"mcpServers\":{\"aquifer\":{\n      \"command\": \"aquifer\"\n    }},\"servers\":{}}"),
        );
    }

    #[test]
    fn an_equal_entry_keeps_its_formatting() {
        check(
            "{\"mcpServers\":{\"aquifer\": { \"command\":\"aquifer\" },\"a\":{\"command\":\"x\"}}}",
            &["a"],
            Ok("{\"mcpServers\":{\"aquifer\": { \"command\":\"aquifer\" }}}"),
        );
    }

    #[test]
    fn servers_are_restored_beside_later_edits() {
        let text = "{\"theme\":\"new\",\"mcpServers\":{\"aquifer\":{},\"b\":{\"url\":\"y\"}}} // mine";
        let server = |section: &str| WrittenServer {
            section: section.to_owned(),
            name: "a".to_owned(),
            entry: json!({ "command": "x" }),
        };
        let edited = restore_servers(text, &[], Some("aquifer"), &[server("mcpServers")]).unwrap_or_default();
        assert!(edited.ends_with("// mine") && edited.starts_with("{\"theme\":\"new\""), "{edited}");
        assert!(!edited.contains("aquifer"), "{edited}");
        let names: Vec<String> = written_servers(&edited, &[]).into_iter().map(|server| server.name).collect();
        assert_eq!(names, ["b", "a"], "{edited}");
        assert_eq!(restore_servers(text, &[], Some("aquifer"), &[server("servers")]), Err(EditError::NotFound));
        assert_eq!(restore_servers(text, &[], Some("other"), &[server("mcpServers")]), Err(EditError::NotFound));
    }

    #[test]
    fn a_part_of_a_file_is_edited_alone() {
        let text = "{\"mcpServers\":{\"a\":{}},\"projects\":{\"/x.y/z\":{\"mcpServers\":{\"a\":{\"command\":\"x\"}}},\"/b\":{\"mcpServers\":{\"a\":{}}}}}";
        let keys = ["projects", "/x.y/z"];
        let edited = replace_servers(text, &keys, &["a"], "aquifer", &json!({})).unwrap_or_default();
        let expected = text.replace("\"a\":{\"command\":\"x\"}", "\"aquifer\":{}");
        assert_eq!(serde_json::from_str::<Value>(&edited).ok(), serde_json::from_str(&expected).ok(), "{edited}");
        let missing = replace_servers(text, &["projects", "/c"], &["a"], "aquifer", &json!({}));
        assert_eq!(missing, Err(EditError::NotFound));
    }

    #[test]
    fn files_that_cannot_be_edited_are_refused() {
        check("{ not json", &["a"], Err(EditError::NotFound));
        check("[]", &["a"], Err(EditError::NotFound));
        check("{\"mcpServers\": []}", &["a"], Err(EditError::NotFound));
        check("{\"mcpServers\": {\"b\": {\"command\": \"x\"}}}", &["a"], Err(EditError::NotFound));
    }
}
