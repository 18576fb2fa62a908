//! A description that changed after it was reviewed.

use std::collections::BTreeSet;

use aquifer_engine::Source as _;
use aquifer_engine::source::LiveSource as _;
use aquifer_rest::openapi::{self, ReadOptions};
use aquifer_rest::{Api, RestSettings, RestSource};
use serde_json::{Value, json};

use super::{built, options, pets, served};

/// The reviewed API, compared with a description.
fn compared(description: &Value) -> Api {
    let files = built(&pets());
    let mut api = served(&files.adapter, Some(&files.sidecar), false);
    api.compare_definitions(&openapi::digests(description, &options()));
    api
}

fn quarantined(api: &Api, word: &str) -> BTreeSet<String> {
    let affected = api
        .operations
        .iter()
        .filter(|operation| operation.safety.quarantine.as_deref().is_some_and(|reason| reason.contains(word)));
    affected.map(|operation| operation.name.to_string()).collect()
}

#[test]
fn r_dis_7a_the_reviewed_description_passes() {
    let api = compared(&pets());
    assert_eq!(quarantined(&api, ""), BTreeSet::new());
    assert!(api.notes.is_empty());
    // The order of members is irrelevant.
    let mut reordered = pets();
    let list = reordered["paths"]["/pets"]["get"].as_object_mut().unwrap();
    let first = list.keys().next().unwrap().clone();
    let moved = list.shift_remove(&first).unwrap();
    list.insert(first, moved);
    assert_eq!(quarantined(&compared(&reordered), ""), BTreeSet::new());
}

#[test]
fn r_dis_7a_changed_and_removed_operations_are_quarantined_and_new_ones_not_served() {
    let mut description = pets();
    description["paths"]["/pets"]["get"]["summary"] = json!("List pets and send them to a friend");
    description["paths"]["/pets/{petId}"].as_object_mut().unwrap().remove("delete");
    description["paths"]["/owners"] = json!({ "get": { "responses": {} } });
    let api = compared(&description);
    assert_eq!(quarantined(&api, "changed"), BTreeSet::from(["list_pets".to_owned()]));
    assert_eq!(quarantined(&api, "gone"), BTreeSet::from(["delete_pet".to_owned()]));
    assert_eq!(quarantined(&api, "").len(), 2);
    let list = api.operations.iter().find(|operation| &*operation.name == "list_pets").unwrap();
    assert!(list.description.starts_with("Quarantined: ") && list.parameters.is_empty(), "{list:?}");
    let source = RestSource::new(RestSettings::new("pets", api.clone()), |_| None).unwrap();
    assert_eq!(source.status().quarantined, 2);
    let offered = source.offering().operations;
    assert_eq!(offered.iter().filter(|operation| operation.safety.quarantine.is_some()).count(), 2);
    assert!(api.notes.iter().any(|note| note.starts_with("1 operation is new") && note.contains("GET /owners")));
    assert!(api.operations.iter().all(|operation| !operation.name.contains("owner")));
}

#[test]
fn r_dis_7a_a_change_of_a_shared_schema_changes_all_that_use_it() {
    let mut description = pets();
    description["components"]["schemas"]["Status"]["enum"] = json!(["free", "sold", "lost"]);
    let names = ["add_pet", "list_pets", "update_pet"].map(str::to_owned);
    assert_eq!(quarantined(&compared(&description), "changed"), BTreeSet::from(names));
    let mut description = pets();
    description["paths"]["/pets"]["parameters"][0]["required"] = json!(true);
    let names = ["add_pet", "list_pets"].map(str::to_owned);
    assert_eq!(quarantined(&compared(&description), "changed"), BTreeSet::from(names));
}

/// Digests are stored on disk, so they must never change.
#[test]
fn r_dis_7a_digests_stay_what_they_are() {
    let description = json!({
        "openapi": "3.1.0",
        "paths": { "/a": { "get": { "parameters": [{ "$ref": "#/components/parameters/P" }] } } },
        "components": { "parameters": { "P": { "name": "p", "in": "query" } } }
    });
    let digests = openapi::digests(&description, &ReadOptions::default());
    assert_eq!(digests["GET /a"], "sha256:59c327a8451870e867327bbdf72e98927df6d0391b69e8aa576a7ab0f2c1a1fc");
}

#[test]
fn references_that_run_in_circles_or_nowhere_end() {
    let mut schemas = serde_json::Map::new();
    for number in 0..200 {
        let members: Vec<Value> =
            (0..200).map(|other| json!({ "$ref": format!("#/components/schemas/S{other}") })).collect();
        schemas.insert(format!("S{number}"), json!({ "anyOf": members }));
    }
    let operation = json!({ "parameters": [{ "$ref": "#" }, { "$ref": "#/nowhere" }, { "$ref": "other.json#/x" }],
                            "x": { "$ref": "#/components/schemas/S0" } });
    let description = json!({
        "openapi": "3.1.0",
        "paths": { "/a": { "get": operation, "post": operation } },
        "components": { "schemas": schemas }
    });
    let digests = openapi::digests(&description, &ReadOptions::default());
    assert_eq!(digests.len(), 2);
    assert_eq!(digests["GET /a"], digests["POST /a"]);
}
