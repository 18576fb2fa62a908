//! Changes: merged and conditional by PUT, alone by PATCH, confirmed and sent once by DELETE.

use axum::response::Response;
use serde_json::json;

use super::{Fixture, call, json_content, json_response, methods};
use crate::support::{Server, Transport, token};

#[test]
fn r_req_6_put_reads_merges_and_writes_on_a_condition() {
    for (fixture, operation) in [(Fixture::described(""), "replace_product"), (Fixture::adapted(), "update_product")] {
        let mut server = fixture.serve();
        let done = server.data("update", operation, json!({ "product_id": 3, "input": { "price": 77 } }));
        assert_eq!(done["price"], 77, "{done}");
        let sent = fixture.shop.take("/products/3");
        assert_eq!(methods(&sent), ["GET", "PUT"], "{operation}");
        assert_eq!(sent[1].header("if-match"), Some("\"3-1\""));
        let expected = json!({ "name": "Product 3", "category": "chair", "price": 77, "stock": 3 });
        assert_eq!(sent[1].json(), expected, "everything that can be written, and not the id");
        // Somebody else was faster.
        fixture.shop.change_after_reading(3);
        let error = server.error("update", operation, json!({ "product_id": 3, "input": { "price": 78 } }));
        assert_eq!(error["code"], "CONFLICT_VERSION_MISMATCH", "{error}");
        assert_eq!(fixture.shop.product(3).unwrap()["price"], 77);
    }
}

#[test]
fn r_req_6_what_looks_like_a_credential_is_written_back_as_it_is() {
    let fixture = Fixture::described("headers = { \"X-Api-Key\" = \"acme-production\" }");
    let mut server = fixture.serve();
    let made =
        server.data("create", "create_product", json!({ "name": "acme-production", "price": 9, "category": "chair" }));
    let id = made["id"].as_u64().unwrap();
    let params = |dry_run: bool| json!({ "product_id": id, "input": { "price": 77 }, "dry_run": dry_run });
    let shown = server.data("update", "replace_product", params(true));
    assert_eq!(shown["request"]["body"]["name"], "[redacted]", "{shown}");
    server.data("update", "replace_product", params(false));
    assert_eq!(fixture.shop.product(id).unwrap()["name"], "acme-production");
}

#[test]
fn r_req_6_patch_sends_the_changes_only() {
    for (fixture, operation) in [(Fixture::described(""), "update_product"), (Fixture::adapted(), "set_stock")] {
        let mut server = fixture.serve();
        let done = server.data("update", operation, json!({ "product_id": 4, "input": { "stock": 9 } }));
        assert_eq!((&done["stock"], &done["name"]), (&json!(9), &json!("Product 4")), "{done}");
        let sent = fixture.shop.take("/products/4");
        assert_eq!(methods(&sent), ["PATCH"], "{operation}");
        assert_eq!(sent[0].json(), json!({ "stock": 9 }), "no defaults that would overwrite something");
        let error = server.error("update", operation, json!({ "product_id": 4, "stock": 9 }));
        assert!(["VALIDATION_MISSING_PARAM", "VALIDATION_UNKNOWN_PARAM"].contains(&error["code"].as_str().unwrap()));
        assert!(fixture.shop.take("/products/4").is_empty());
    }
}

#[test]
fn r_saf_3_delete_is_confirmed_and_sent_once() {
    for fixture in [Fixture::described(""), Fixture::adapted()] {
        let mut server = fixture.serve();
        let asked =
            server.call("mcp_aql_delete", json!({ "operation": "delete_product", "params": { "product_id": 5 } }));
        let token = token(&asked).unwrap_or_else(|| panic!("{asked}")).to_owned();
        assert!(fixture.shop.received().is_empty(), "nothing is sent before");
        let confirmed =
            json!({ "operation": "delete_product", "params": { "product_id": 5, "confirmation_token": token } });
        let done = server.call("mcp_aql_delete", confirmed.clone());
        assert_eq!(done["success"], true, "{done}");
        let again = server.call("mcp_aql_delete", confirmed);
        assert_eq!(again["error"]["code"], "TOKEN_ALREADY_USED", "{again}");
        assert_eq!(methods(&fixture.shop.take("/products/5")), ["DELETE"]);
        assert_eq!(fixture.shop.product(5), None);
    }
}

#[test]
fn r_req_9_a_dry_run_shows_the_request_without_credentials() {
    let keys = "bearer_env = \"SHOP_TOKEN\"\nheaders = { X-Signature = \"${SIGNATURE}\", X-Client = \"plain\" }\n";
    let fixture = Fixture::described(keys);
    let mut server = Fixture::start(fixture.command(&["serve"]).env("SIGNATURE", "s3cret-signature"));
    let params = json!({ "product_id": 3, "input": { "price": 77 }, "dry_run": true });
    let shown = server.data("update", "replace_product", params);
    let request = &shown["request"];
    assert_eq!((&request["method"], &request["body"]["price"]), (&json!("PUT"), &json!(77)), "{shown}");
    assert_eq!(request["url"], format!("{}/products/3", fixture.shop.url()));
    assert!(!shown.to_string().contains("s3cret"), "{shown}");
    let sent = fixture.shop.take("/products/3");
    assert_eq!(methods(&sent), ["GET"], "only what is needed to show it");
    assert_eq!(sent[0].header("x-signature"), Some("s3cret-signature"));
    assert_eq!(sent[0].header("x-client"), Some("plain"));
    assert_eq!(sent[0].header("authorization"), Some("Bearer s3cret-bearer"));
    assert_eq!(fixture.shop.product(3).unwrap()["price"], 30);
}

#[test]
fn creating_sends_a_body_and_problems_are_passed_on() {
    let fixture = Fixture::described("");
    let mut server = fixture.serve();
    let made = server.data("create", "create_product", json!({ "name": "Sofa", "price": 900, "category": "chair" }));
    assert_eq!(fixture.shop.product(made["id"].as_u64().unwrap()).unwrap()["name"], "Sofa", "{made}");
    let sent = fixture.shop.take("/products");
    assert_eq!(sent[0].header("content-type"), Some("application/json"));
    assert_eq!(sent[0].json(), json!({ "name": "Sofa", "price": 900, "category": "chair" }));
    let missing = server.error("read", "get_product", json!({ "product_id": 999 }));
    assert_eq!(missing["code"], "NOT_FOUND_RESOURCE", "{missing}");
    assert!(missing["message"].as_str().unwrap().contains("/products/999"), "{missing}");
    assert_eq!(missing["details"]["problem"]["detail"], "There is no such product.", "{missing}");
}

#[test]
fn r_req_6_a_merged_put_keeps_numbers_as_they_were_written() {
    let number = json!({ "type": "number" });
    let list = json!({ "type": "array", "items": number });
    let members = json!({ "title": { "type": "string" }, "exact": number, "whole": number, "short": number,
        "serial": { "type": "integer" }, "tiny": number, "inner": { "type": "object" }, "list": list });
    let thing = json_content(&json!({ "type": "object", "properties": members }));
    let id = json!([{ "name": "id", "in": "path", "required": true, "schema": { "type": "integer" } }]);
    let paths = json!({ "/things/{id}": {
        "parameters": id,
        "get": { "operationId": "getThing", "summary": "Get a thing.", "responses": { "200": thing } },
        "put": { "operationId": "replaceThing", "summary": "Replace a thing.", "requestBody": thing,
                 "responses": { "200": thing } },
    } });
    let untouched = concat!(
        r#""exact":1234567890123456.78,"whole":1.0,"serial":123456789012345678901234567890,"#,
        r#""tiny":-0.12345678901234567890E-7,"inner":{"a":100000000000000000000.50,"b":[18446744073709551616]},"#,
        r#""list":[1.5,2.50,9007199254740993],"short":1e3"#
    );
    let stored = format!("{{\"title\":\"old\",{untouched}}}");
    let fixture = Fixture::answered(&paths, "", move |_| Some(json_response(200, &stored)));
    for transport in Transport::BOTH {
        let mut server = Server::spawn(transport, &mut fixture.command(&["serve"]));
        let params = json!({ "id": 1, "input": { "title": "new" } });
        let (answer, _) = call(&mut server, "update", "replace_thing", params);
        assert_eq!(answer["success"], true, "{transport:?}: {answer}");
        let sent = fixture.shop.take("/things/1");
        assert_eq!(methods(&sent), ["GET", "PUT"], "{transport:?}");
        let body = String::from_utf8(sent[1].body.clone()).unwrap();
        assert_eq!(body, format!("{{\"title\":\"new\",{untouched}}}"), "{transport:?}");
        server.stop();
    }
}

#[test]
fn headers_of_an_answer_without_a_body_are_its_result() {
    let accepted = json!({ "description": "Accepted.", "headers": { "X-Job": { "schema": { "type": "string" } } } });
    let post = |operation: &str, status: &str| {
        let responses = json!({ status: accepted });
        json!({ "post": { "operationId": operation, "summary": "Create a job.", "responses": responses } })
    };
    let paths = json!({ "/created": post("createNow", "201"), "/accepted": post("createLater", "202"),
                        "/elsewhere": post("createElsewhere", "303") });
    let fixture = Fixture::answered(&paths, "", |request| {
        let status = match request.path.as_str() {
            "/created" => 201,
            "/accepted" => 202,
            _ => 303,
        };
        let response = Response::builder().status(status).header("location", "/jobs/4711").header("etag", "\"v1\"");
        let response = response.header("retry-after", "30").header("x-job", "j-9").header("x-other", "unheard");
        Some(response.header("set-cookie", "session=s3cret").body("".into()).unwrap())
    });
    for transport in Transport::BOTH {
        let mut server = Server::spawn(transport, &mut fixture.command(&["serve"]));
        for (operation, status) in [("create_now", 201), ("create_later", 202), ("create_elsewhere", 303)] {
            let (answer, text) = call(&mut server, "create", operation, json!({}));
            let headers = json!({ "location": "/jobs/4711", "etag": "\"v1\"", "retry-after": "30", "x-job": "j-9" });
            assert_eq!(answer["data"], json!({ "status": status, "_headers": headers }), "{transport:?}: {answer}");
            assert!(!text.contains("unheard") && !text.contains("s3cret"), "{transport:?}: {text}");
        }
        server.stop();
    }
}
