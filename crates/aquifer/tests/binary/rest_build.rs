//! From an OpenAPI description to a reviewed adapter and back: build, validate, serve, drift.

use serde_json::{Value, json};

use crate::support::{Folder, forgetful, text};

const DESCRIPTION: &str = r#"
openapi: 3.1.0
info: { title: Note Keeper, version: "3" }
servers: [{ url: "https://notes.example/v1" }]
paths:
  /notes:
    get:
      operationId: listNotes
      summary: List notes
      parameters:
        - { name: noteTag, in: query, schema: { type: string, enum: [home, work] } }
      responses: { "200": { description: Notes. } }
  /notes/{noteId}:
    parameters: [{ name: noteId, in: path, required: true, schema: { type: string } }]
    get: { operationId: getNote, summary: Get a note, responses: { "200": { description: A note. } } }
    delete: { operationId: deleteNote, summary: Delete a note, responses: { "204": {} } }
"#;

fn run(folder: &Folder, arguments: &[&str]) -> (i32, String, String) {
    let mut command = forgetful(folder);
    command.args(arguments).current_dir(folder.path("")).stdin(std::process::Stdio::null());
    let output = command.output().unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

fn done(folder: &Folder, arguments: &[&str]) -> String {
    let (code, out, stderr) = run(folder, arguments);
    assert_eq!(code, 0, "{arguments:?}: {out}{stderr}");
    out
}

fn operations(folder: &Folder, source: &[&str]) -> Vec<String> {
    let arguments = [&["introspect", "--json", "--source"], source].concat();
    let answer: Value = serde_json::from_str(&done(folder, &arguments)).unwrap();
    let listed = answer["data"]["operations"].as_array().unwrap_or_else(|| panic!("{answer:#}"));
    listed.iter().map(|operation| operation["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn r_dis_6_from_a_description_to_a_reviewed_adapter_and_back() {
    let folder = Folder::new();
    folder.file("notes.yaml", DESCRIPTION);
    assert_eq!(done(&folder, &["build", "notes.yaml"]), "notes-adapter.md\nnotes-adapter.provenance.json\n");
    let adapter = std::fs::read_to_string(folder.path("notes-adapter.md")).unwrap();
    assert!(adapter.contains("DELETE /notes/{note_id}"), "{adapter}");
    done(&folder, &["build", "openapi:notes.yaml", "-o", "other/kept-adapter.md"]);
    assert!(std::fs::read_to_string(folder.path("other/kept-adapter.md")).unwrap().contains("name: kept"));
    done(&folder, &["validate", "notes-adapter.md"]);
    let described = operations(&folder, &["openapi:notes.yaml"]);
    assert!(described.iter().any(|name| name == "list_notes"), "{described:?}");
    assert_eq!(operations(&folder, &["notes-adapter.md", "--trust", "validated"]), described);
    let unreviewed = operations(&folder, &["notes-adapter.md"]);
    assert!(!unreviewed.iter().any(|name| name == "delete_note"), "a generated adapter can only read: {unreviewed:?}");
    let details = ["introspect", "list_notes", "--source", "notes-adapter.md"];
    assert!(done(&folder, &details).contains("note_tag"));
    // Nothing is overwritten that somebody has changed.
    folder.file("notes-adapter.md", &format!("{adapter}\nA reviewer's remark.\n"));
    let (code, _, stderr) = run(&folder, &["build", "notes.yaml"]);
    assert!(code == 2 && stderr.contains("--force"), "{stderr}");
    let (code, _, stderr) = run(&folder, &["build", "notes.yaml", "--overrides", "x.yaml"]);
    assert!(code == 2 && stderr.contains("--overrides is for bundles"), "{stderr}");
    folder.file("empty.yaml", "openapi: 3.1.0\npaths: {}\n");
    let (code, _, stderr) = run(&folder, &["build", "empty.yaml"]);
    assert!(code == 2 && stderr.contains("no operation"), "{stderr}");
}

#[test]
fn r_dis_7a_a_changed_description_quarantines_what_changed() {
    let folder = Folder::new();
    let file = folder.file("notes.yaml", DESCRIPTION);
    done(&folder, &["build", "notes.yaml"]);
    let config = folder.file(
        "aquifer.toml",
        &format!(
            "[[source]]\ntarget = \"{}\"\nopenapi = \"{file}\"\ntrust = \"validated\"\n",
            folder.path("notes-adapter.md")
        ),
    );
    let call = |operation: &str, params: &Value| {
        let (code, out, stderr) = run(&folder, &["call", operation, &params.to_string(), "--config", &config]);
        format!("{code} {out}{stderr}")
    };
    let fresh = call("list_notes", &json!({ "note_tag": "garden" }));
    assert!(!fresh.contains("uarantine"), "{fresh}");
    folder.file(
        "notes.yaml",
        &DESCRIPTION.replace("List notes", "List notes of everybody").replace("/notes/{noteId}", "/note/{noteId}"),
    );
    let changed = call("list_notes", &json!({}));
    assert!(changed.contains("its definition changed"), "{changed}");
    let gone = call("get_note", &json!({ "note_id": "1" }));
    assert!(gone.contains("gone from the description"), "{gone}");
}

#[test]
fn r_dis_6_overlays_and_patterns_apply_before_the_file_is_built() {
    let folder = Folder::new();
    folder.file("notes.yaml", DESCRIPTION);
    folder.file(
        "patch.yaml",
        "overlay: 1.0.0\ninfo: { title: Patch, version: 1.0.0 }\nactions:\n  - target: \"$.paths['/notes'].get\"\n    \
         update: { operationId: allNotes, security: [] }\n  - target: \"$\"\n    update: { security: [{ key: [] }], components: { \
         securitySchemes: { key: { type: apiKey, in: header, name: X-Key } } } }\n",
    );
    let arguments = ["build", "notes.yaml", "--overlay", "patch.yaml", "--exclude", "DELETE *"];
    let (code, out, stderr) = run(&folder, &arguments);
    assert_eq!(code, 0, "{out}{stderr}");
    assert!(stderr.contains("1 operation with other credentials"), "{stderr}");
    assert!(stderr.contains("overlays = [\"patch.yaml\"]"), "{stderr}");
    let source = "[[source]]\ntarget = \"notes-adapter.md\"\nopenapi = \"notes.yaml\"\noverlays = [\"patch.yaml\"]\ntrust = \"validated\"\n";
    folder.file("aquifer.toml", source);
    let answer: Value = serde_json::from_str(&done(&folder, &["introspect", "--json"])).unwrap();
    let names: Vec<&str> =
        answer["data"]["operations"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    assert!(names.contains(&"all_notes") && names.contains(&"get_note"), "{names:?}");
    assert!(!names.contains(&"delete_note") && !names.contains(&"list_notes"), "{names:?}");
    assert!(!answer.to_string().contains("Quarantined"), "{answer}");
    let (code, _, stderr) = run(&folder, &["build", "notes.yaml", "--include", "nothing_like_it", "--force"]);
    assert!(code != 0 && stderr.contains("no operation"), "{stderr}");
}
