//! What real servers offer, behind the running binary: nothing is lost, what their schemas accept reaches them unchanged,
//! and almost all that they refuse is refused before they are asked.

use serde_json::{Value, json};

use crate::offered::{Counts, check};
use crate::support::Folder;

/// What servers answered to `tools/list`, kept for the tests of discovery.
fn captures() -> Vec<(String, Value)> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../aquifer-discovery/tests/discovery/captures");
    let mut found: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            let page: Value = serde_json::from_str(&text).unwrap();
            (path.file_stem().unwrap().to_string_lossy().into_owned(), page["tools"].clone())
        })
        .collect();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    assert!(found.len() >= 10, "too few captures");
    found
}

#[test]
fn r_dis_7_every_capture_is_served_whole_and_called_exactly() {
    let folder = Folder::new();
    let mut total = Counts::default();
    for (name, tools) in captures() {
        let counts = check(&name, &tools, &folder);
        total.passed += counts.passed;
        total.refused += counts.refused;
        total.left += counts.left;
    }
    assert!(total.passed > 1_000 && total.refused > 1_000 && total.left * 100 < total.refused, "{total:?}");
}

/// Tools that take more than they name, which none of the captured servers has.
#[test]
fn r_dis_7_parameters_of_any_name_are_passed_on_exactly() {
    let of = |name: &str, schema: Value| json!({ "name": name, "description": "Do it.", "inputSchema": schema });
    let named = json!({ "userName": { "type": "string" }, "how_much": { "type": "integer", "minimum": 1 } });
    let tools = json!([
        of("run_anything", json!({ "type": "object" })),
        of("run_free", json!({ "type": "object", "properties": named, "additionalProperties": true })),
        of(
            "run_typed",
            json!({ "type": "object", "properties": named, "required": ["userName"],
                    "additionalProperties": { "type": ["integer", "boolean"] } })
        ),
        of(
            "run_patterned",
            json!({ "type": "object", "properties": named, "additionalProperties": false,
                    "patternProperties": { "^(x-|extra)": { "type": "string" } } })
        ),
        of("run_nothing", json!({ "type": "object", "additionalProperties": false })),
    ]);
    let counts = check("open", &tools, &Folder::new());
    // The types of parameters that a schema does not name are left to the server.
    assert!(counts.passed > 500 && counts.refused > 25 && counts.left > 25, "{counts:?}");
}
