//! Credentials come from the environment, go to the API only, and appear nowhere else.

use std::process::{Command, Stdio};

use serde_json::json;

use super::Fixture;
use crate::support::{HttpServer, envelope, stateless_body};

/// A description with one way to authenticate.
fn secured(scheme: &str) -> Fixture {
    let fixture = Fixture::described("");
    let schemes = format!("security: [{{ main: [] }}]\ncomponents:\n  securitySchemes:\n    main: {scheme}\n");
    fixture.edit("shop.yaml", "components:\n", &schemes.replace("https://shop.example", &fixture.shop.url()));
    fixture
}

#[test]
fn r_dis_9_credentials_are_sent_and_never_shown() {
    let bearer = || secured("{ type: http, scheme: bearer }");
    let key = || secured("{ type: apiKey, in: header, name: X-Api-Key }");
    for (fixture, variable, value, operation) in [
        (bearer(), "SHOP_TOKEN", "s3cret-bearer", "get_report"),
        (key(), "SHOP_API_KEY", "s3cret-key", "get_statistics"),
        (Fixture::adapted(), "SHOP_TOKEN", "s3cret-bearer", "get_report"),
    ] {
        let mut server = Fixture::start(fixture.command(&["serve", "--log", "trace"]).env(variable, value));
        let data = server.data("read", operation, json!({}));
        assert_eq!(data["visits"], 3, "{data}");
        assert!(data["you_sent"].as_str().unwrap().contains("[redacted]"), "{data}");
        let mut shown = data.to_string();
        for query in ["operations", "signatures", "adapter_info", "quota_status"] {
            shown += &server
                .call("mcp_aql_read", json!({ "operation": "introspect", "params": { "query": query } }))
                .to_string();
        }
        shown += &server.last_words();
        assert!(!shown.contains("s3cret"), "{operation}: {shown}");
    }
}

#[test]
fn r_dis_9_a_missing_variable_is_named() {
    for fixture in [secured("{ type: http, scheme: bearer }"), Fixture::adapted()] {
        let mut server = Fixture::start(fixture.command(&["serve"]).env_remove("SHOP_TOKEN"));
        let error = server.error("read", "get_report", json!({}));
        assert_eq!(error["code"], "AUTH_CREDENTIAL_MISSING", "{error}");
        assert_eq!(error["details"]["variables"], json!(["SHOP_TOKEN"]), "{error}");
        assert!(error["message"].as_str().unwrap().contains("'SHOP_TOKEN'"), "{error}");
        assert!(fixture.shop.received().is_empty(), "nothing is sent without it");
        assert!(server.last_words().contains("SHOP_TOKEN"), "the log names it, too");
    }
}

#[test]
fn credentials_may_be_in_an_env_file() {
    let fixture = secured("{ type: http, scheme: bearer }");
    fixture.folder.file("secrets.env", "SHOP_TOKEN=s3cret-bearer\n");
    fixture.edit("aquifer.toml", "[[source]]", "env_file = \"secrets.env\"\n[[source]]");
    let mut server = Fixture::start(fixture.command(&["serve"]).env_remove("SHOP_TOKEN"));
    assert_eq!(server.data("read", "get_report", json!({}))["visits"], 3);
}

#[test]
fn a_refused_credential_is_not_repeated() {
    let fixture = Fixture::adapted();
    let mut server = Fixture::start(fixture.command(&["serve"]).env("SHOP_TOKEN", "s3cret-of-before"));
    let error = server.error("read", "get_report", json!({}));
    assert_eq!(
        (&error["code"], &error["details"]["http_status"]),
        (&json!("PERMISSION_DENIED"), &json!(401)),
        "{error}"
    );
    assert!(!error.to_string().contains("s3cret"), "the API repeats what it got: {error}");
}

#[test]
fn r_dis_9_tokens_are_fetched_once_and_renewed_when_refused() {
    let flows = "{ type: oauth2, flows: { clientCredentials: { tokenUrl: \"https://shop.example/oauth/token\", scopes: {} } } }";
    let described = secured(flows);
    let adapted = Fixture::adapted();
    let oauth = format!(
        "auth:\n  type: oauth2\n  token_url: \"{}/oauth/token\"\n  client_id_env: SHOP_CLIENT_ID\n  client_secret_env: SHOP_CLIENT_SECRET\n",
        adapted.shop.url()
    );
    adapted.edit("shop-adapter.md", "auth:\n  type: bearer\n  token_env: SHOP_TOKEN\n", &oauth);
    adapted.edit(
        "shop-adapter.md",
        "get_report\n      maps_to: \"GET /report\"",
        "get_account\n      maps_to: \"GET /account\"",
    );
    for fixture in [described, adapted] {
        let mut command = fixture.command(&["serve", "--log", "trace"]);
        let mut server =
            Fixture::start(command.env("SHOP_CLIENT_ID", "client-id").env("SHOP_CLIENT_SECRET", "s3cret-client"));
        assert_eq!(fixture.shop.token_count(), 0, "nothing is fetched before it is needed");
        for _ in 0..3 {
            assert_eq!(server.data("read", "get_account", json!({}))["owner"], "Ada");
        }
        assert_eq!(fixture.shop.token_count(), 1);
        fixture.shop.expire_tokens();
        assert_eq!(server.data("read", "get_account", json!({}))["owner"], "Ada");
        assert_eq!(fixture.shop.token_count(), 2);
        assert!(!server.last_words().contains("s3cret"));
    }
}

#[test]
fn r_dis_9_a_description_does_not_choose_which_variables_it_gets() {
    let fixture = secured("{ type: http, scheme: bearer }");
    let text = std::fs::read_to_string(fixture.folder.path("shop.yaml")).unwrap();
    fixture.folder.file("openapi.yaml", &text.replacen("title: Shop", "title: Secret Store", 1));
    fixture.edit("aquifer.toml", "shop.yaml", "openapi.yaml");
    let mut command = fixture.command(&["serve"]);
    let mut server = Fixture::start(command.env("SECRET_STORE_TOKEN", "s3cret-bearer").env("SECRET_TOKEN", "s3cret-2"));
    let error = server.error("read", "get_report", json!({}));
    assert_eq!(error["details"]["variables"], json!(["OPENAPI_TOKEN"]), "{error}");
    assert!(fixture.shop.received().is_empty(), "nothing is sent");
    let mut server = Fixture::start(fixture.command(&["serve", "--log", "info"]).env("OPENAPI_TOKEN", "s3cret-bearer"));
    assert_eq!(server.data("read", "get_report", json!({}))["visits"], 3);
    let log = server.last_words();
    assert!(log.contains("credentials from OPENAPI_TOKEN are sent to"), "{log}");
}

#[test]
fn r_dis_9_client_secrets_go_to_another_host_only_if_the_operator_names_it() {
    let flows =
        "{ type: oauth2, flows: { clientCredentials: { tokenUrl: \"https://login.example/token\", scopes: {} } } }";
    let fixture = secured(flows);
    let set = |command: &mut Command| {
        command.env("SHOP_CLIENT_ID", "client-id").env("SHOP_CLIENT_SECRET", "s3cret-client").env_remove("SHOP_TOKEN");
    };
    let mut command = fixture.command(&["serve"]);
    set(&mut command);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(log.contains("token_url = \"https://login.example/token\""), "{log}");
    assert!(!log.contains("s3cret"), "{log}");

    let token_url = format!("[[source]]\ntoken_url = \"{}/oauth/token\"", fixture.shop.url());
    fixture.edit("aquifer.toml", "[[source]]", &token_url);
    let mut command = fixture.command(&["serve"]);
    set(&mut command);
    let mut server = Fixture::start(&mut command);
    assert_eq!(server.data("read", "get_account", json!({}))["owner"], "Ada");
}

#[test]
fn r_dis_9_a_key_in_the_base_url_is_not_shown() {
    let fixture = Fixture::described("");
    fixture.edit("aquifer.toml", &fixture.shop.url(), &format!("{}/bot${{SHOP_KEY}}", fixture.shop.url()));
    let mut command = fixture.command(&["serve", "--log", "trace"]);
    let mut server = Fixture::start(command.env("SHOP_KEY", "s3cret-key-of-the-path"));
    let error = server.error("read", "get_report", json!({}));
    assert!(error["message"].as_str().unwrap().contains("/bot[redacted]/report"), "{error}");
    let status =
        server.call("mcp_aql_read", json!({ "operation": "introspect", "params": { "query": "adapter_info" } }));
    let shown = format!("{error}{status}{}", server.last_words());
    assert!(!shown.contains("s3cret"), "{shown}");
}

#[test]
fn headers_of_the_caller_are_not_passed_on() {
    let fixture = Fixture::described("");
    let server = HttpServer::spawn(&mut fixture.command(&["serve", "--http", "127.0.0.1:0"]));
    let arguments =
        json!({ "name": "mcp_aql_read", "arguments": { "operation": "get_product", "params": { "product_id": 1 } } });
    let (body, name) = stateless_body("tools/call", arguments);
    let headers = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", name.as_deref().unwrap()),
        ("authorization", "Bearer caller-s3cret"),
        ("cookie", "session=caller-s3cret"),
        ("x-api-key", "caller-s3cret"),
    ];
    let answer = envelope(&server.post(&headers, body.to_string().as_bytes()).json());
    assert_eq!(answer["data"]["id"], 1, "{answer}");
    let sent = fixture.shop.take("/products/1");
    assert_eq!(sent.len(), 1);
    assert!(!format!("{:?}", sent[0].headers).contains("caller"), "{:?}", sent[0].headers);
}
