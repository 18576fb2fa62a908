//! A redirect of the API does not lead to an operation that the operator denies or excludes.

use axum::response::Response;
use serde_json::json;

use super::{Fixture, call, json_content, json_response};
use crate::support::{Server, Transport};

#[test]
fn redirects_do_not_lead_past_the_rules() {
    let deny = "[[gate.rule]]\nname = \"no report\"\neffect = \"deny\"\noperation = \"get_report\"\n";
    for (keys, rule, code) in
        [("", deny, "PERMISSION_DENIED"), ("exclude = [\"get_report\"]", "", "PERMISSION_DENIED"), ("", "", "done")]
    {
        let fixture = Fixture::described("");
        let moved = "paths:\n  /moved:\n    get: { operationId: getMoved, summary: Get what was moved., responses: { \"200\": { description: OK. } } }\n";
        fixture.edit("shop.yaml", "paths:\n", moved);
        fixture.configure(&format!(
            "[[source]]\nopenapi = \"shop.yaml\"\nbase_url = \"{}\"\nbearer_env = \"SHOP_TOKEN\"\n{keys}\n{rule}",
            fixture.shop.url()
        ));
        for transport in Transport::BOTH {
            let mut server = Server::spawn(transport, &mut fixture.command(&["serve"]));
            let request = json!({ "operation": "get_moved", "params": {} });
            assert_eq!(server.code("mcp_aql_read", request), code, "{transport:?} {keys} {rule}");
            assert_eq!(fixture.shop.take("/report").len(), usize::from(code == "done"), "{transport:?} {keys} {rule}");
        }
    }
}

/// What a link to the next page leads to, and what the read before a change is redirected to.
#[test]
fn next_pages_and_reads_before_changes_do_not_lead_past_the_rules() {
    let row = json!({ "type": "object", "properties": { "id": { "type": "integer" }, "text": { "type": "string" } } });
    let rows = json_content(&json!({ "type": "array", "items": row }));
    let id = json!([{ "name": "id", "in": "path", "required": true, "schema": { "type": "integer" } }]);
    let get = |operation: &str| json!({ "operationId": operation, "summary": "Get it.", "responses": { "200": json_content(&row) } });
    let listing = json!({ "operationId": "listNotes", "summary": "List notes.", "responses": { "200": rows } });
    let put = json!({ "operationId": "replaceNote", "summary": "Replace a note.", "requestBody": json_content(&row),
        "responses": { "200": json_content(&row) } });
    let paths = json!({
        "/notes": { "get": listing },
        "/notes/{id}": { "parameters": id, "get": get("getNote"), "put": put },
        "/secret": { "get": get("getSecret") },
        "/excluded": { "get": get("getExcluded") },
    });
    let rule = "[[gate.rule]]\nname = \"no secret\"\neffect = \"deny\"\noperation = \"get_secret\"\n";
    let rule = format!("exclude = [\"get_excluded\"]\n{rule}");
    for (target, is_followed) in [
        ("/secret", false),
        ("/%73ecret", false),
        ("/secret/?page=2", false),
        ("/excluded", false),
        ("/notes?page=2", true),
    ] {
        let fixture = Fixture::answered(&paths, &rule, move |request| {
            Some(match request.path.as_str() {
                "/notes" if request.query.is_empty() => {
                    let mut response = json_response(200, "[{\"id\":1}]");
                    let link = format!("<{target}>; rel=\"next\"");
                    response.headers_mut().insert("link", link.parse().unwrap());
                    response
                }
                "/notes/1" => Response::builder().status(307).header("location", target).body("".into()).unwrap(),
                _ => json_response(200, "[{\"id\":2,\"secret\":\"tell nobody\"}]"),
            })
        });
        for transport in Transport::BOTH {
            let mut server = Server::spawn(transport, &mut fixture.command(&["serve"]));
            let count = json!({ "aggregate": { "rows": { "count": true } } });
            let (counted, text) = call(&mut server, "read", "list_notes", count);
            let is_warned = text.contains("RESULT_INCOMPLETE");
            let rows = &counted["data"]["aggregations"]["rows"];
            let expected = if is_followed { 2 } else { 1 };
            assert_eq!((rows, is_warned), (&json!(expected), !is_followed), "{transport:?} {target}: {text}");
            assert_eq!(fixture.shop.received().len(), expected, "{transport:?} {target}");
            fixture.shop.take("");
            if !is_followed {
                for dry_run in [true, false] {
                    let params = json!({ "id": 1, "input": { "text": "x" }, "dry_run": dry_run });
                    let (refused, shown) = call(&mut server, "update", "replace_note", params);
                    assert_eq!(refused["error"]["code"], "PERMISSION_DENIED", "{transport:?} {target}: {refused}");
                    assert!(!shown.contains("tell nobody") && !shown.contains("get_secret"), "{shown}");
                    assert_eq!(fixture.shop.received().len(), 1, "{transport:?} {target}: neither read nor written");
                    fixture.shop.take("");
                }
            }
            server.stop();
        }
    }
}
