//! A PUT that replaces everything says so.

use aquifer_engine::Source;
use aquifer_protocol::catalog::Catalog;
use aquifer_rest::{RestSettings, RestSource};
use serde_json::{Value, json};

use super::{api, note};

const WORDS: &str = "Replaces everything: fields that are left out are lost.";

fn description(paths: Value, operation: &str) -> String {
    let mut api = api(paths);
    "https://notes.example".clone_into(&mut api.base_url);
    let source = RestSource::new(RestSettings::new("notes", api), |_| None).unwrap();
    let offering = source.offering();
    let found = offering.operations.iter().find(|one| &*one.name == operation).unwrap();
    Catalog::check(found, &offering.types).unwrap();
    found.description.to_string()
}

#[test]
fn a_put_without_a_merge_warns() {
    let text = json!({ "type": "string" });
    let body = json!({ "type": "object", "properties": { "title": text, "body": text } });
    let merged = note(body, None);
    assert_eq!(description(merged.clone(), "update_note"), "Update a note");
    let mut alone = merged.clone();
    alone["/notes/{id}"].as_object_mut().unwrap().remove("get");
    assert_eq!(description(alone, "update_note"), format!("Update a note. {WORDS}"));
    // Nothing is merged into what a GET cannot return.
    let mut other = merged.clone();
    other["/notes/{id}"]["get"]["responses"]["200"]["content"] =
        json!({ "application/json": { "schema": { "type": "array", "items": { "type": "string" } } } });
    assert_eq!(description(other, "update_note"), format!("Update a note. {WORDS}"));
    // An id in the body as well as in the path changes nothing about that.
    let body = json!({ "type": "object", "properties": { "id": text, "title": text } });
    let mut repeated = note(body, None);
    assert_eq!(description(repeated.clone(), "update_note"), "Update a note");
    repeated["/notes/{id}"].as_object_mut().unwrap().remove("get");
    assert_eq!(description(repeated, "update_note"), format!("Update a note. {WORDS}"));
    // PATCH changes only what it mentions.
    let mut patched = merged;
    let path = patched["/notes/{id}"].as_object_mut().unwrap();
    path.remove("get");
    let put = path.remove("put").unwrap();
    path.insert("patch".to_owned(), put);
    assert_eq!(description(patched, "update_note"), "Update a note");
}
