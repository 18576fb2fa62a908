//! A dry run of a database operation asks nobody, changes nothing and is not recorded as a change (R-REQ-9).

use serde_json::{Value, json};

use super::Fixture;
use crate::support::text;

#[test]
fn r_req_9_a_dry_run_of_a_database_asks_nobody_and_changes_nothing() {
    let fixture = Fixture::new("[gate.strength]\ndestructive = \"approval\"\n");
    let mut piped = fixture.piped();
    for params in [json!({ "id": 7, "dry_run": true }), json!({ "id": 7, "dryRun": true })] {
        let answer = piped.call("mcp_aql_delete", json!({ "operation": "delete_book", "params": params }));
        assert_eq!(
            (&answer["data"]["dry_run"], &answer["data"]["would"]),
            (&json!(true), &json!("delete")),
            "{answer}"
        );
    }
    for params in [json!({ "id": 7 }), json!({ "id": 7, "dry_run": false })] {
        let answer = piped.call("mcp_aql_delete", json!({ "operation": "delete_book", "params": params }));
        assert_eq!(answer["error"]["code"], "CONFIRMATION_REQUIRED", "{answer}");
    }
    piped.close();
    let audited = fixture.audited();
    assert!(!audited.contains("OPERATION_INTENT"), "{audited}");
    assert_eq!(audited.matches("\"CONFIRMATION_REQUIRED\"").count(), 2, "{audited}");
    assert_eq!(fixture.books(), 50);
    // People are told so.
    let shown = text(&fixture.run(&["policy", "show"]).stdout);
    assert!(shown.contains("'delete_book' needs no confirmation when called with dry_run: true"), "{shown}");
    let shown: Value = serde_json::from_slice(&fixture.run(&["policy", "show", "--json"]).stdout).unwrap();
    assert_eq!(shown["dry_run_asks_nobody"], json!(["delete_book"]));
    for (params, decision) in [(r#"{"id": 7}"#, "confirm"), (r#"{"id": 7, "dry_run": true}"#, "allow")] {
        let output = fixture.run(&["call", "delete_book", params, "--explain"]);
        let explanation: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(explanation["decision"], decision, "{explanation}");
        assert!(explanation["dry_run"].as_str().unwrap().contains("nobody is asked"), "{explanation}");
    }
}

/// Where tables are named by a parameter, the request is judged as what it comes to.
#[test]
fn r_req_9_a_dry_run_by_way_of_a_generic_operation() {
    let rule = "[[gate.rule]]\neffect = \"deny\"\noperation = \"create_book\"\n";
    let fixture = Fixture::with_source("style = \"generic\"\n", rule);
    let mut piped = fixture.piped();
    let mut code = |family: &str, operation: &str, params: Value| {
        let answer = piped.call(&format!("mcp_aql_{family}"), json!({ "operation": operation, "params": params }));
        answer["error"]["code"].as_str().map_or_else(|| answer["data"]["dry_run"].to_string(), str::to_owned)
    };
    let delete = |dry_run: Value| json!({ "table_name": "book", "key": { "id": 7 }, "dry_run": dry_run });
    assert_eq!(code("delete", "delete_record", delete(json!(true))), "true");
    assert_eq!(code("delete", "delete_record", delete(json!(false))), "CONFIRMATION_REQUIRED");
    assert_eq!(code("delete", "delete_record", delete(json!("true"))), "VALIDATION_INVALID_TYPE");
    let create = json!({ "table_name": "books", "values": { "title": "x" }, "dry_run": true });
    assert_eq!(code("create", "create_record", create), "PERMISSION_DENIED", "what is denied is not rehearsed, either");
    assert_eq!(fixture.books(), 50);
}
