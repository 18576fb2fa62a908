//! What goes wrong has the published codes.

use serde_json::{Value, json};

use super::Fixture;

fn error(fixture: &Fixture, operation: &str) -> Value {
    fixture.serve().error("read", operation, json!({}))
}

#[test]
fn r_res_3a_connections_that_fail_have_the_codes_of_the_transport() {
    let fixture = Fixture::described("");
    let base_urls = [
        ("http://127.0.0.1:1".to_owned(), "TRANSPORT_CONNECTION_REFUSED"),
        (fixture.shop.url().replace("http:", "https:"), "TRANSPORT_TLS_ERROR"),
        ("https://nowhere.invalid".to_owned(), "TRANSPORT_DNS_ERROR"),
    ];
    for (base_url, code) in base_urls {
        fixture.configure(&format!("[[source]]\nopenapi = \"shop.yaml\"\nbase_url = \"{base_url}\"\n"));
        let error = error(&fixture, "get_account");
        assert_eq!(error["code"], code, "{base_url}: {error}");
        assert_eq!(error["details"]["source"], "shop", "{error}");
    }
}

#[test]
fn r_res_3a_answers_that_do_not_come_or_cannot_be_read() {
    let fixture = Fixture::described("timeout_seconds = 1\n");
    assert_eq!(error(&fixture, "get_slow")["code"], "TRANSPORT_TIMEOUT");
    assert_eq!(error(&fixture, "get_broken")["code"], "SERIALIZATION_PARSE_ERROR");
}

#[test]
fn r_saf_4_limits_of_the_api_are_told_with_the_time_to_wait() {
    let fixture = Fixture::described("");
    let mut server = fixture.serve();
    assert_eq!(server.data("read", "get_limited", json!({})), json!({ "ok": true }));
    let error = server.error("read", "get_limited", json!({}));
    assert_eq!(error["code"], "RATE_LIMIT_EXCEEDED", "{error}");
    let details = &error["details"];
    assert_eq!((&details["retry_after_seconds"], &details["limit"]), (&json!(60), &json!(1)), "{error}");
    assert_eq!(fixture.shop.take("/limited").len(), 2, "a minute is not waited for");
}

#[test]
fn failures_that_no_request_can_mend_are_errors_of_the_tool() {
    let fixture = Fixture::described("bearer_env = \"NOT_SET\"\n");
    let mut server = fixture.serve();
    let call = json!({ "name": "mcp_aql_read", "arguments": { "operation": "get_account" } });
    let answer = server.request("tools/call", call);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert_eq!(answer["result"]["structuredContent"]["error"]["code"], "AUTH_CREDENTIAL_MISSING", "{answer}");
}
