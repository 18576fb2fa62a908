//! No file vouches for itself: what an adapter says is held to the evidence (R-DIS-4).

use std::collections::HashMap;

use aquifer_discovery::adapter::{KnownEvidence, build};
use aquifer_discovery::digest::pin;
use aquifer_discovery::tool::Tool;
use aquifer_discovery::{Adapter, Bundle, Offer, Overrides};
use aquifer_protocol::category::Category::{self, Create, Delete, Execute, Read, Update};
use aquifer_protocol::danger::Danger::{self, Dangerous, Destructive, Forbidden, Reversible, Safe};
use serde_json::{Value, json};

use crate::fixture::bundle;

/// An adapter file of one operation that says this of itself.
fn file(operation: &str, tool: &str, category: Category, danger: Option<Danger>) -> String {
    let danger = danger.map(|danger| format!("      danger_level: {danger}\n")).unwrap_or_default();
    format!(
        "---\nname: test\ntype: adapter\nversion: \"1.0.0\"\ndescription: A test\ntrust: certified\n\
         target:\n  base_url: stdio:test\n  transport: native\n  protocol: custom\n  serialization: json\n\
         operations:\n  {}:\n    - name: {operation}\n      maps_to: \"tool:{tool}\"\n      description: Harmless.\n{danger}---\n",
        category.as_str().to_ascii_lowercase()
    )
}

fn tool(name: &str, description: &str, hints: Value) -> Tool {
    let definition = json!({ "name": name, "description": description, "annotations": hints, "inputSchema": {} });
    Tool::from_value(definition).unwrap()
}

fn held(adapter: &Adapter, known: &KnownEvidence<'_>) -> (Category, Danger, bool) {
    let offer = Offer::from_adapter_with_evidence(adapter, "s", known);
    let [operation] = offer.operations.as_slice() else { panic!("{offer:?}") };
    (operation.category, operation.safety.danger, !offer.ignored.is_empty())
}

#[test]
fn r_dis_4_a_file_can_raise_danger_and_never_lower_it_below_the_evidence() {
    let declared = json!({ "readOnlyHint": false, "destructiveHint": true });
    let reads = json!({ "readOnlyHint": true });
    let writes = json!({ "readOnlyHint": false });
    let none = json!({});
    #[rustfmt::skip]
    #[expect(clippy::type_complexity, reason = "a table")]
    let table: &[(&str, &str, &Value, Category, Danger, (Category, Danger), (Category, Danger))] = &[
        // tool, description, hints; the file says; then of a file nobody trusts, and of one that the operator trusts
        ("erase", "Erase it.", &declared, Read, Safe, (Delete, Destructive), (Delete, Destructive)),
        ("frob", "Frob it.", &declared, Read, Safe, (Execute, Destructive), (Execute, Destructive)),
        ("frob", "Frob it.", &declared, Create, Safe, (Execute, Destructive), (Execute, Destructive)),
        ("frob", "Frob it.", &declared, Update, Reversible, (Update, Destructive), (Update, Destructive)),
        ("delete_user", "Gets a user.", &none, Read, Safe, (Delete, Destructive), (Delete, Destructive)),
        ("delete_user", "Gets a user.", &reads, Read, Safe, (Delete, Destructive), (Delete, Destructive)),
        ("delete_user", "", &none, Execute, Reversible, (Delete, Destructive), (Delete, Destructive)),
        ("drop_table", "", &none, Execute, Safe, (Delete, Forbidden), (Delete, Forbidden)),
        ("force_push", "", &none, Read, Safe, (Update, Dangerous), (Update, Dangerous)),
        ("update_user", "Update.", &none, Read, Safe, (Update, Reversible), (Update, Reversible)),
        ("users", "", &writes, Read, Safe, (Execute, Destructive), (Execute, Reversible)),
        ("get_user", "", &writes, Read, Safe, (Execute, Destructive), (Execute, Reversible)),
        // Nothing shows what it does: the operator's trust settles that.
        ("frob", "Frob it.", &none, Read, Safe, (Execute, Destructive), (Read, Safe)),
        ("frob", "Frob it.", &none, Update, Reversible, (Update, Destructive), (Update, Reversible)),
        ("execute_sql", "Execute SQL.", &reads, Read, Safe, (Execute, Destructive), (Read, Safe)),
        // The evidence agrees, or the file is stricter than it.
        ("get_user", "Get a user.", &reads, Read, Safe, (Read, Safe), (Read, Safe)),
        ("get_user", "Get a user.", &none, Read, Safe, (Read, Safe), (Read, Safe)),
        ("get_user", "Get a user.", &reads, Delete, Forbidden, (Delete, Forbidden), (Delete, Forbidden)),
        ("frob", "Frob it.", &declared, Delete, Dangerous, (Delete, Dangerous), (Delete, Dangerous)),
    ];
    for (name, description, hints, category, danger, unknown, trusted) in table {
        let live = tool(name, description, (*hints).clone());
        let adapter = Adapter::read(&file("operation", name, *category, Some(*danger)), None).unwrap();
        let tools = HashMap::from([(live.name.as_str(), &live)]);
        for (is_settled, expected) in [(false, unknown), (true, trusted)] {
            let known = KnownEvidence { live: Some(&tools), is_settled, ..KnownEvidence::default() };
            let (found_category, found_danger, is_ignored) = held(&adapter, &known);
            let case = format!("{name} {hints}: the file says {category} {danger}, trusted: {is_settled}");
            assert_eq!((found_category, found_danger), *expected, "{case}");
            assert_eq!(is_ignored, (found_category, found_danger) != (*category, *danger), "{case}");
        }
    }
}

#[test]
fn r_dis_4_the_sidecar_and_names_are_evidence_before_the_server_is_asked() {
    // What the sidecar's definition says.
    let made = bundle(json!([{ "name": "frob", "inputSchema": {}, "annotations": { "destructiveHint": true } }]));
    let built = build(&made).unwrap();
    let lowered = built.adapter.replace("danger_level: destructive", "danger_level: safe").replace("execute:", "read:");
    assert_ne!(lowered, built.adapter);
    let adapter = Adapter::read(&lowered, Some(&built.sidecar)).unwrap();
    for is_settled in [false, true] {
        let known = KnownEvidence { is_settled, ..KnownEvidence::default() };
        assert_eq!(held(&adapter, &known), (Execute, Destructive, true));
    }
    // What the names say, the tool's and the operation's.
    for (operation, name, expected) in [
        ("harmless", "delete_everything", (Delete, Destructive)),
        ("delete_user", "t1", (Delete, Destructive)),
        ("harmless", "wipe_disk", (Delete, Forbidden)),
        ("purge_cache", "t1", (Delete, Dangerous)),
        ("harmless", "deleteUser", (Delete, Destructive)),
        ("get_user", "t1", (Read, Safe)),
        ("harmless", "t1", (Read, Safe)),
    ] {
        let adapter = Adapter::read(&file(operation, name, Read, Some(Safe)), None).unwrap();
        let (category, danger, _) = held(&adapter, &KnownEvidence::default());
        assert_eq!((category, danger), expected, "{operation} → {name}");
    }
}

#[test]
fn r_dis_4_only_the_operator_overrules_the_evidence() {
    let live = tool("delete_draft", "Delete a draft.", json!({ "destructiveHint": true }));
    let tools = HashMap::from([(live.name.as_str(), &live)]);
    let adapter = Adapter::read(&file("delete_draft", "delete_draft", Read, Some(Safe)), None).unwrap();
    let digest = pin(&live).digest;
    for (decision, expected) in [
        ("danger_level: reversible", (Delete, Reversible)),
        ("endpoint: UPDATE", (Update, Destructive)),
        ("endpoint: READ\n    danger_level: safe", (Read, Safe)),
        ("reviewed: true", (Delete, Destructive)),
        (&format!("digest: {digest}\n    danger_level: reversible"), (Delete, Reversible)),
        ("digest: sha256:another\n    danger_level: reversible", (Delete, Destructive)),
    ] {
        let text = format!("schema_version: 1.0.0-draft\ntools:\n  delete_draft:\n    {decision}\n");
        let overrides = Overrides::read(&text).unwrap();
        let decisions = overrides.by_tool();
        let known = KnownEvidence { live: Some(&tools), decisions: Some(&decisions), ..KnownEvidence::default() };
        let (category, danger, _) = held(&adapter, &known);
        assert_eq!((category, danger), expected, "{decision}");
    }
}

#[test]
fn r_dis_4_a_bundle_that_somebody_edited_is_held_to_its_own_capture() {
    let fresh = bundle(json!([
        { "name": "erase", "inputSchema": {}, "annotations": { "readOnlyHint": false, "destructiveHint": true } },
        { "name": "frob", "inputSchema": {} },
        { "name": "get_it", "inputSchema": {}, "annotations": { "readOnlyHint": true } },
    ]));
    let mut edited: Value = serde_json::from_str(&fresh.write().unwrap()).unwrap();
    for operation in edited["normalized_bundle"]["operations"].as_array_mut().unwrap() {
        operation["endpoint"] = json!("READ");
        operation["danger_level"] = json!("safe");
        operation["needs_review"] = json!(false);
        operation["review_reasons"] = json!([]);
    }
    edited["normalized_bundle"]["operations"][2]["danger_level"] = json!("forbidden");
    let mut read = Bundle::read(&edited.to_string()).unwrap();
    read.raise_to_evidence();
    let found: Vec<(Category, Danger, bool)> = read
        .normalized_bundle
        .operations
        .iter()
        .map(|operation| (operation.endpoint, operation.danger_level, operation.needs_review))
        .collect();
    assert_eq!(found, [(Delete, Destructive, false), (Execute, Destructive, true), (Read, Forbidden, false)]);
}
