//! A reviewer's decisions (R-DIS-5).

use aquifer_discovery::classify::Inference;
use aquifer_discovery::name::EstablishedNames;
use aquifer_discovery::{Listing, Overrides, normalize_with_names};
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use serde_json::json;

use crate::fixture::bundle;

fn tools() -> serde_json::Value {
    json!([
        { "name": "frob.nicate", "description": "Whatever", "inputSchema": { "type": "object", "properties": { "Id": { "type": "string" } } } },
        { "name": "list_things", "inputSchema": { "type": "object" } },
        { "name": "reset", "inputSchema": { "type": "object" } },
    ])
}

#[test]
fn r_dis_5_overrides_are_applied_last_and_recorded() {
    let text = "tools:\n  frob.nicate:\n    operation_name: get_frob\n    description: Looks\n    endpoint: READ\n    params:\n      Id: { name: frob_id, description: Which }\n  reset: { danger_level: reversible, reviewed: true }\n  gone: { endpoint: READ }\n";
    let overrides = Overrides::read(text).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let mut reviewed = bundle(tools());
    assert!(reviewed.normalized_bundle.operations[0].needs_review);
    overrides.apply(&mut reviewed);
    let operation = &reviewed.normalized_bundle.operations[0];
    assert_eq!(operation.operation_name, "get_frob");
    assert_eq!((operation.endpoint, operation.danger_level), (Category::Read, Danger::Safe));
    assert!(!operation.needs_review && operation.review_reasons.is_empty());
    assert_eq!((operation.params[0].name.as_str(), operation.params[0].original_name.as_str()), ("frob_id", "Id"));
    let sources = operation.provenance.inference_sources.unwrap();
    assert_eq!(sources.operation_name, Inference::ManualOverride);
    assert_eq!(sources.description, Inference::ManualOverride);
    assert_eq!(sources.endpoint, Inference::ManualOverride);
    assert_eq!(sources.maps_to, Inference::DeterministicNormalization);
    let reset = &reviewed.normalized_bundle.operations[2];
    assert_eq!(reset.danger_level, Danger::Reversible);
    assert_eq!(reset.provenance.inference_sources.unwrap().danger_level, Inference::ManualOverride);
    let codes: Vec<&str> = reviewed.normalized_bundle.warnings.iter().map(|warning| warning.code.as_str()).collect();
    assert!(codes.contains(&"OVERRIDE_UNUSED"), "{codes:?}");
    assert_eq!(Overrides::read(&overrides.write()).unwrap(), overrides);
}

#[test]
fn r_dis_5_a_decision_holds_for_the_definition_that_was_reviewed() {
    let mut changed = bundle(tools());
    let text = "tools:\n  frob.nicate: { endpoint: READ, digest: \"sha256:0\" }\n";
    Overrides::read(text).unwrap().apply(&mut changed);
    assert!(changed.normalized_bundle.operations[0].needs_review);
    assert!(changed.normalized_bundle.warnings.iter().any(|warning| warning.code == "OVERRIDE_OUTDATED"));
    let mut same = bundle(tools());
    let digest = &same.pins()[0].digest;
    let text = format!("tools:\n  frob.nicate: {{ endpoint: READ, digest: \"{digest}\" }}\n");
    Overrides::read(&text).unwrap().apply(&mut same);
    assert!(!same.normalized_bundle.operations[0].needs_review);
}

/// Danger is judged by what the tool is called, not by what its operation is called.
#[test]
fn r_dis_4_another_name_makes_no_tool_harmless() {
    let tool = |name: &str, hints: serde_json::Value| json!({ "name": name, "inputSchema": {}, "annotations": hints });
    let long = "of_the_big_international_shop_in_the_north";
    // What follows the part of a name that fits.
    for (name, hints) in [
        (format!("get_{long}_and_drop_database"), json!({})),
        (format!("list_all_{long}_then_purge_all_of_them"), json!({})),
        (format!("getRecords_{long}AndDeleteThem"), json!({})),
        (format!("get_{long}_and_delete_them"), json!({ "readOnlyHint": true })),
    ] {
        let operation = &bundle(json!([tool(&name, hints)])).normalized_bundle.operations[0];
        assert!(!operation.operation_name.contains("delete") && !operation.operation_name.contains("purge"), "{name}");
        assert!(operation.danger_level >= Danger::Destructive, "{name}: {operation:?}");
    }
    // The chosen name and what else was decided; then the category and the danger.
    for (tool_name, decided, category, danger) in [
        ("delete_account", "operation_name: get_account", Category::Delete, Danger::Destructive),
        ("delete_account", "operation_name: get_account, reviewed: true", Category::Delete, Danger::Destructive),
        ("deleteAccount", "operation_name: get_account, reviewed: true", Category::Delete, Danger::Destructive),
        ("get_account", "operation_name: delete_account, reviewed: true", Category::Delete, Danger::Destructive),
        ("delete_account", "operation_name: get_account, endpoint: UPDATE", Category::Update, Danger::Destructive),
        ("delete_account", "operation_name: get_account, danger_level: safe", Category::Delete, Danger::Safe),
        (
            "delete_account",
            "operation_name: get_account, endpoint: READ, danger_level: safe",
            Category::Read,
            Danger::Safe,
        ),
    ] {
        let overrides = Overrides::read(&format!("tools:\n  {tool_name}: {{ {decided} }}\n")).unwrap();
        // A name that was chosen is the operation's name before it is classified.
        let mut made = bundle(json!([tool(tool_name, json!({}))]));
        let listing = Listing::from_capture(&made.raw_capture);
        let mut established = EstablishedNames::default();
        overrides.names().into_iter().for_each(|(tool, name)| established.keep(tool, name));
        made = normalize_with_names(made.source, made.raw_capture, &listing, &established);
        overrides.apply(&mut made);
        let operation = &made.normalized_bundle.operations[0];
        assert_eq!((operation.endpoint, operation.danger_level), (category, danger), "{tool_name}: {decided}");
    }
}

#[test]
fn r_dis_5_names_stay_unique() {
    let mut bundle = bundle(tools());
    Overrides::read("tools: { reset: { operation_name: list_things } }").unwrap().apply(&mut bundle);
    assert_eq!(bundle.normalized_bundle.operations[2].operation_name, "reset");
}

#[test]
fn r_dis_5_problems_of_a_file_are_reported_with_their_position() {
    for (text, code, line, words) in [
        ("tools:\n  a:\n    endpont: READ\n", "SCHEMA_INVALID_NAME", 3, "Did you mean 'endpoint'?"),
        ("tools:\n  a:\n    endpoint: REED\n", "SCHEMA_INVALID_TYPE", 3, "READ"),
        ("tools:\n  a:\n    operation_name: getIt\n", "SCHEMA_INVALID_NAME", 3, "get_it"),
        ("tools:\n  a:\n    operation_name: introspect\n", "SCHEMA_INVALID_NAME", 3, "introspect"),
        ("tools: []\n", "SCHEMA_INVALID_TYPE", 1, "object"),
        ("tools: {}\nx: 1\n", "SCHEMA_INVALID_NAME", 2, "'x'"),
        ("a: [\n", "SCHEMA_INVALID_TYPE", 1, "YAML"),
        ("tools: {}\ntools: {}\n", "SCHEMA_DUPLICATE_NAME", 2, "tools"),
        ("schema_version: \"2\"\ntools: {}\n", "SCHEMA_VERSION_UNSUPPORTED", 1, "1.0.0-draft"),
    ] {
        let problems = Overrides::read(text).expect_err(text);
        let fits = |problem: &&aquifer_discovery::FileProblem| {
            problem.code.as_str() == code && problem.line == line && problem.to_string().contains(words)
        };
        assert!(problems.iter().any(|problem| fits(&problem)), "{text}: {problems:?}");
    }
}
