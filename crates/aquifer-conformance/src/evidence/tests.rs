//! Bundles of a small successful run, and of incomplete ones.

use serde_json::json;

use super::*;
use crate::record::{Exchange, Mode, Purpose, RecordedExchange, Surface};

fn seen(purpose: Purpose, tool: &str, arguments: Value, answer: Value) -> RecordedExchange {
    RecordedExchange { purpose, exchange: Exchange { tool: tool.to_owned(), arguments, answer } }
}

fn refused(code: &str, message: &str) -> Value {
    json!({"success": false, "error": {"code": code, "message": message}})
}

fn surface(mode: Mode, tools: &[&str]) -> Surface {
    let tools = tools.iter().map(|name| json!({ "name": name })).collect();
    Surface { mode, transport: "stdio".to_owned(), tools }
}

fn good() -> Record {
    let get = || "get_task".to_owned();
    let note = json!({"success": true, "data": {"id": 1, "title": "x", "tags": ["a"], "pagination": {"limit": 20}}});
    let read = |purpose, params: Value, answer: Value| {
        seen(purpose, "mcp_aql_read", json!({"operation": "get_task", "params": params}), answer)
    };
    let expected = Map::from_iter([("data.title".to_owned(), json!("x")), ("data.tags".to_owned(), json!(["a"]))]);
    let unknown = refused("VALIDATION_UNKNOWN_PARAM", "Unknown parameter 'probe'. Valid: id, fields.");
    Record {
        implementation: "shop".to_owned(),
        version: "1.2.3".to_owned(),
        protocol: json!({"version": "1.0.0-draft"}),
        surfaces: vec![surface(Mode::Semantic, &["mcp_aql_read"]), surface(Mode::Single, &["mcp_aql"])],
        operations_list: json!({"success": true, "data": {"operations": [{"name": "get_task"}]}}),
        types_list: json!({"success": true, "data": {"types": [{"name": "Task"}]}}),
        operation_details: vec![json!({
            "name": "get_task",
            "parameters": [{"name": "id", "required": true}, {"name": "fields"}, {"name": "ghost"}],
        })],
        type_details: Vec::new(),
        not_applicable: Vec::new(),
        exchanges: vec![
            read(Purpose::Valid { operation: get() }, json!({"id": 1}), note.clone()),
            read(
                Purpose::Accepted { operation: get(), parameter: "fields".to_owned() },
                json!({"id": 1, "fields": ["title"]}),
                json!({"success": true, "data": {"title": "x"}}),
            ),
            read(
                Purpose::Accepted { operation: get(), parameter: "ghost".to_owned() },
                json!({"id": 1, "ghost": 1}),
                refused("VALIDATION_UNKNOWN_PARAM", "Unknown parameter 'ghost'."),
            ),
            read(
                Purpose::MissingParameter { operation: get(), parameter: "id".to_owned() },
                json!({}),
                refused("VALIDATION_MISSING_PARAM", "Missing required parameter 'id'."),
            ),
            read(
                Purpose::UnknownParameter { operation: get(), parameter: "probe".to_owned() },
                json!({"id": 1, "probe": 1}),
                unknown.clone(),
            ),
            read(
                Purpose::Default {
                    operation: get(),
                    parameter: "limit".to_owned(),
                    path: "data.pagination.limit".to_owned(),
                    value: json!(20),
                },
                json!({"id": 1}),
                note.clone(),
            ),
            read(
                Purpose::Error { name: "unknown".to_owned(), must_mention: vec!["probe".to_owned()] },
                json!({"id": 1, "probe": 1}),
                unknown,
            ),
            read(
                Purpose::RoundTrip { resource: "task".to_owned(), expected: expected.clone() },
                json!({"id": 1}),
                note.clone(),
            ),
            read(
                Purpose::UpdatePreservation { resource: "task".to_owned(), preserved: expected },
                json!({"id": 1}),
                note.clone(),
            ),
            read(
                Purpose::Constraint { name: "identifier of update_task".to_owned(), documented: true },
                json!({"id": 1}),
                refused("VALIDATION_UNKNOWN_FIELD", "'id' cannot be changed."),
            ),
            seen(
                Purpose::Batch,
                "mcp_aql",
                json!({"operations": [{"operation": "get_task"}]}),
                json!({"success": true, "data": null, "results": [{"index": 0}], "summary": {}}),
            ),
        ],
    }
}

#[test]
fn r_con_1_a_bundle_has_every_section() {
    let bundle = bundle(&good(), 2).unwrap();
    assert_eq!(bundle["endpoint_modes"], json!(["crude", "single"]));
    assert_eq!(bundle["capabilities"], json!({"field_selection": true, "batch_operations": true}));
    assert_eq!(bundle["spec_version"], "1.0.0-draft");
    assert_eq!(bundle["introspection"]["operations_list"]["success"], true, "lists are whole envelopes");
    assert_eq!(bundle["introspection"]["operation_details"][0]["name"], "get_task", "details are bare");
    assert_eq!(bundle["accepted_parameters"], json!({"get_task": ["id", "fields"]}), "documented is not yet accepted");
    assert_eq!(bundle["parameter_tests"]["missing_required"][0]["parameter"], "id");
    assert_eq!(bundle["parameter_tests"]["unknown_parameter"][0]["response"]["success"], false);
    assert_eq!(bundle["parameter_tests"]["optional_defaults"][0]["expected_value_path"], "data.pagination.limit");
    assert_eq!(bundle["error_tests"][0]["must_mention"], json!(["probe"]));
    assert_eq!(bundle["round_trip_tests"][0]["expected_fields"], json!({"data.title": "x"}), "scalar leaves alone");
    assert_eq!(bundle["update_preservation_tests"][0]["preserved_fields"], json!({"data.title": "x"}));
    assert_eq!(bundle["constraint_tests"][0]["documented"], true);
    assert_eq!(bundle["batch_example"]["results"][0]["index"], 0);
    assert!(bundle.get("semantic_tests").is_none(), "left out rather than invented");
}

#[test]
fn r_con_1_an_empty_section_keeps_a_bundle_from_being_written() {
    let without = |level: u8, name: &str, change: &dyn Fn(&mut Record)| {
        let mut record = good();
        change(&mut record);
        assert_eq!(bundle(&record, level).unwrap_err().sections, [name]);
    };
    let unseen = |kind: &'static str| {
        move |record: &mut Record| {
            record.exchanges.retain(|seen| serde_json::to_value(&seen.purpose).unwrap()["kind"] != kind);
        }
    };
    without(1, "introspection.operations_list", &|record| record.operations_list["data"]["operations"] = json!([]));
    without(1, "introspection.types_list", &|record| record.types_list = Value::Null);
    without(1, "parameter_tests.missing_required", &unseen("missing_parameter"));
    without(1, "parameter_tests.unknown_parameter", &unseen("unknown_parameter"));
    without(1, "error_tests", &unseen("error"));
    without(1, "round_trip_tests", &unseen("round_trip"));
    without(1, "update_preservation_tests", &unseen("update_preservation"));
    without(2, "constraint_tests", &unseen("constraint"));
    let mut record = good();
    unseen("round_trip")(&mut record);
    record.not_applicable = vec!["round_trip_tests".to_owned()];
    assert!(bundle(&record, 2).unwrap().get("round_trip_tests").is_none(), "nothing can be created and read");

    let mut record = good();
    unseen("constraint")(&mut record);
    assert!(bundle(&record, 1).unwrap().get("constraint_tests").is_none(), "level 1 does without");

    // A default that appears in no answer cannot be shown. This is reported, but does not prevent writing the bundle.
    let mut record = good();
    unseen("default")(&mut record);
    assert!(bundle(&record, 2).unwrap()["parameter_tests"].get("optional_defaults").is_none());
    assert!(missing_defaults(&record).unwrap().contains("optional_defaults"));
    assert_eq!(missing_defaults(&good()), None);

    let empty = bundle(&Record::default(), 1).unwrap_err();
    assert_eq!(empty.sections.len(), 9);
    assert!(empty.to_string().starts_with("nothing was recorded for introspection.operations_list, "), "{empty}");
}

#[test]
fn r_con_1_only_observed_capabilities_are_claimed() {
    let modes = |change: &dyn Fn(&mut Record)| {
        let mut record = good();
        change(&mut record);
        bundle(&record, 2).unwrap()
    };
    // The surface exists, but no call on it succeeded.
    let bundle = modes(&|record| record.exchanges.retain(|seen| seen.exchange.tool != "mcp_aql"));
    assert_eq!(bundle["endpoint_modes"], json!(["crude"]));
    assert_eq!(bundle["capabilities"]["batch_operations"], false);
    assert!(bundle.get("batch_example").is_none());

    let bundle = modes(&|record| record.surfaces = vec![surface(Mode::All, &["mcp_aql_read", "mcp_aql"])]);
    assert_eq!(bundle["endpoint_modes"], json!(["crude", "single"]), "one surface can have both");

    let bundle = modes(&|record| record.protocol["profile"] = json!("inspect_query_mutate_administer"));
    assert_eq!(bundle["endpoint_modes"], json!(["inspect_query_mutate_administer", "single"]));

    // The fields parameter was accepted, but all fields were returned.
    let everything = json!({"success": true, "data": {"id": 1, "title": "x"}});
    let bundle = modes(&|record| record.exchanges[1].exchange.answer = everything.clone());
    assert_eq!(bundle["capabilities"]["field_selection"], false);
    assert_eq!(bundle["accepted_parameters"]["get_task"], json!(["id", "fields"]));

    // The requested field is a list.
    let list = json!({"success": true, "data": {"title": []}});
    let bundle = modes(&|record| record.exchanges[1].exchange.answer = list.clone());
    assert_eq!(bundle["capabilities"]["field_selection"], true);
    // Half of a batch was answered.
    let bundle = modes(&|record| {
        let batch = record.exchanges.last_mut().unwrap();
        batch.exchange.arguments["operations"] = json!([{"operation": "get_task"}, {"operation": "get_task"}]);
    });
    assert_eq!(bundle["capabilities"]["batch_operations"], false);
}

#[test]
fn a_parameter_is_accepted_where_only_its_value_is_refused() {
    let accepted = |message: &str, code: &str| {
        let mut record = good();
        record.exchanges.retain(|seen| !matches!(seen.purpose, Purpose::Accepted { .. }));
        let purpose = Purpose::Error { name: "wrong type".to_owned(), must_mention: Vec::new() };
        let arguments = json!({"operation": "get_task", "params": {"id": 1, "fields": 7}});
        record.exchanges.push(seen(purpose, "mcp_aql_read", arguments, refused(code, message)));
        bundle(&record, 1).unwrap()["accepted_parameters"]["get_task"].clone()
    };
    let type_error = "VALIDATION_INVALID_TYPE";
    assert_eq!(accepted("Parameter 'fields' must be a list.", type_error), json!(["id", "fields"]));
    assert_eq!(accepted("Unknown parameter 'fields'.", "VALIDATION_UNKNOWN_PARAM"), json!(["id"]));
    assert_eq!(accepted("Something is wrong.", type_error), json!(["id"]), "which one is not said");
}

#[test]
fn failures_are_written_unchanged() {
    let mut record = good();
    record.operations_list = refused("INTERNAL_ERROR", "No.");
    let bundle = bundle(&record, 2).unwrap();
    assert_eq!(bundle["introspection"]["operations_list"]["success"], false);
}
