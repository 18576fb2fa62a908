//! Which credentials each operation gets.

use aquifer_rest::client::Effect;
use aquifer_rest::openapi::ReadOptions;
use aquifer_rest::{Api, AuthScheme, Authenticator, ClientSettings, HttpClient, RestSettings, RestSource, SendRules};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::reading::read_with;
use crate::client::server::{Reply, Server};

/// An API with one operation for each of these requirements; `null` means no requirement.
fn described(global: Option<Value>, requirements: &[(&str, Value)]) -> Value {
    let operation = |stated: &Value| {
        let mut operation = json!({ "responses": {} });
        if !stated.is_null() {
            operation["security"] = stated.clone();
        }
        json!({ "get": operation })
    };
    let paths: Map<String, Value> =
        requirements.iter().map(|(name, stated)| (format!("/{name}"), operation(stated))).collect();
    let mut description = json!({
        "openapi": "3.1.0",
        "info": {},
        "servers": [{ "url": "https://a.example" }],
        "paths": paths,
        "components": { "securitySchemes": {
            "bearer": { "type": "http", "scheme": "bearer" },
            "basic": { "type": "http", "scheme": "basic" },
            "key": { "type": "apiKey", "in": "header", "name": "X-Key" },
            "app": { "type": "apiKey", "in": "query", "name": "app" },
            "session": { "type": "apiKey", "in": "cookie", "name": "session" },
            "tls": { "type": "mutualTLS" },
            "oauth": { "type": "oauth2", "flows": { "clientCredentials": { "tokenUrl": "https://a.example/t", "scopes": {} } } }
        } }
    });
    if let Some(global) = global {
        description["security"] = global;
    }
    description
}

fn api(global: Option<Value>, requirements: &[(&str, Value)]) -> Api {
    read_with(&described(global, requirements), ReadOptions::default())
}

/// The credentials that an operation sends with these variables, or the variables that it lacks.
async fn sent(api: &Api, operation: &str, variables: &[&str]) -> String {
    let server = Server::start(|_, _| Reply::json(200, "{}")).await;
    let set =
        |name: &str| variables.contains(&name).then(|| name.strip_prefix("PETSTORE_").unwrap_or(name).to_lowercase());
    let client = HttpClient::new(&ClientSettings::new(server.url()), Authenticator::new(&api.auth, set)).unwrap();
    let route = &api.routes[operation];
    let missing = client.missing_variables(&route.security);
    let request = route.request(&server.url(), &Map::new()).unwrap();
    let rules = SendRules::for_route(route, Effect::Reads, Default::default());
    let result = client.send(request, &rules, &CancellationToken::new()).await;
    if !missing.is_empty() {
        let failure = result.unwrap_err().into_failure("petstore");
        assert_eq!(server.count(), 0);
        assert!(missing.iter().all(|name| failure.message().contains(name.as_str())), "{}", failure.message());
        return format!("missing {}", missing.join(" "));
    }
    result.unwrap();
    let received = server.received().remove(0);
    let mut shown: Vec<String> = ["authorization", "x-key", "cookie"]
        .iter()
        .filter_map(|name| Some(format!("{name}={}", received.headers.get(*name)?)))
        .collect();
    shown.extend(received.target.split_once('?').map(|(_, query)| format!("?{query}")));
    shown.join(" ")
}

const ALL: &[&str] = &[
    "PETSTORE_TOKEN",
    "PETSTORE_API_KEY",
    "PETSTORE_API_KEY_APP",
    "PETSTORE_API_KEY_SESSION",
    "PETSTORE_USERNAME",
    "PETSTORE_PASSWORD",
];

#[tokio::test]
async fn credentials_are_sent_where_the_requirement_names_them() {
    let requirements = [
        ("inherits", Value::Null),
        ("none", json!([])),
        ("empty", json!([{}])),
        ("key", json!([{ "key": [] }])),
        ("both", json!([{ "bearer": [], "key": [] }])),
        ("places", json!([{ "key": [], "app": [], "session": [], "bearer": [] }])),
        ("either", json!([{ "basic": [] }, { "key": [] }])),
        ("optional", json!([{}, { "key": [] }])),
        ("unsupported", json!([{ "tls": [] }, { "key": [] }])),
        ("partly", json!([{ "tls": [], "key": [] }])),
        ("only_tls", json!([{ "tls": [] }])),
        ("unknown", json!([{ "nobody": [] }])),
        ("by_reference", json!([{ "#/components/securitySchemes/key": [] }])),
        ("same_place", json!([{ "bearer": [], "basic": [] }])),
        ("not_a_list", json!("key")),
        ("not_objects", json!([null, 5, "key"])),
    ];
    let api = api(Some(json!([{ "bearer": [] }])), &requirements);
    for (operation, variables, expected) in [
        ("inherits", ALL, "authorization=Bearer token"),
        ("none", ALL, ""),
        ("empty", ALL, ""),
        ("none", &[], ""),
        ("key", ALL, "x-key=api_key"),
        ("key", &["PETSTORE_TOKEN"], "missing PETSTORE_API_KEY"),
        ("both", ALL, "authorization=Bearer token x-key=api_key"),
        ("both", &["PETSTORE_TOKEN"], "missing PETSTORE_API_KEY"),
        ("both", &[], "missing PETSTORE_TOKEN PETSTORE_API_KEY"),
        ("places", ALL, "authorization=Bearer token x-key=api_key cookie=session=api_key_session ?app=api_key_app"),
        ("either", ALL, "authorization=Basic dXNlcm5hbWU6cGFzc3dvcmQ="),
        ("either", &["PETSTORE_API_KEY", "PETSTORE_USERNAME"], "x-key=api_key"),
        ("either", &["PETSTORE_USERNAME"], "missing PETSTORE_PASSWORD"),
        ("optional", ALL, "x-key=api_key"),
        ("optional", &[], ""),
        ("unsupported", ALL, "x-key=api_key"),
        ("partly", ALL, "x-key=api_key"),
        ("only_tls", ALL, ""),
        ("unknown", ALL, ""),
        ("by_reference", ALL, "x-key=api_key"),
        ("same_place", ALL, "authorization=Bearer token"),
        ("not_a_list", ALL, "authorization=Bearer token"),
        ("not_objects", ALL, ""),
    ] {
        assert_eq!(sent(&api, &format!("get_{operation}"), variables).await, expected, "{operation} {variables:?}");
    }
    assert!(api.notes.iter().any(|note| note.contains("'nobody'")), "{:?}", api.notes);
}

#[tokio::test]
async fn descriptions_that_require_nothing_anywhere_use_what_is_configured() {
    let forgotten = api(None, &[("a", Value::Null)]);
    assert_eq!(sent(&forgotten, "get_a", &["PETSTORE_TOKEN"]).await, "authorization=Bearer token");
    // If any operation states requirements, the others need no credentials.
    let stated = api(None, &[("a", Value::Null), ("b", json!([{ "bearer": [] }]))]);
    assert_eq!(sent(&stated, "get_a", &["PETSTORE_TOKEN"]).await, "");
    assert_eq!(sent(&stated, "get_b", &["PETSTORE_TOKEN"]).await, "authorization=Bearer token");
}

#[tokio::test]
async fn a_token_of_the_operator_replaces_what_is_in_its_header() {
    let requirements = [
        ("none", json!([])),
        ("key", json!([{ "key": [] }])),
        ("both", json!([{ "basic": [], "key": [] }])),
        ("oauth", json!([{ "oauth": ["read"] }])),
    ];
    let mut api = api(Some(json!([{ "bearer": [] }])), &requirements);
    api.use_bearer("MINE");
    for (operation, variables, expected) in [
        ("none", &["MINE"][..], ""),
        ("key", &["MINE", "PETSTORE_API_KEY"], "authorization=Bearer mine"),
        ("both", &["MINE", "PETSTORE_API_KEY"], "authorization=Bearer mine x-key=api_key"),
        ("oauth", &["MINE"], "authorization=Bearer mine"),
        ("oauth", &["PETSTORE_TOKEN"], "missing MINE"),
    ] {
        assert_eq!(sent(&api, &format!("get_{operation}"), variables).await, expected, "{operation}");
    }
}

#[test]
fn tokens_are_requested_with_the_scopes_of_the_operation() {
    let api =
        api(None, &[("read", json!([{ "oauth": ["read"] }])), ("write", json!([{ "oauth": ["write", "write"] }]))]);
    let scopes: Vec<&Vec<String>> = api
        .auth
        .iter()
        .filter_map(|scheme| match scheme {
            AuthScheme::ClientCredentials { scopes, .. } => Some(scopes),
            _ => None,
        })
        .collect();
    assert_eq!(scopes, [&vec!["read", "write"], &vec!["read"], &vec!["write"]]);
}

#[test]
fn the_source_names_the_variables_that_its_operations_lack() {
    let api =
        api(Some(json!([{ "bearer": [] }])), &[("a", Value::Null), ("b", json!([{ "key": [] }])), ("c", json!([]))]);
    let missing = |set: &'static [&'static str]| {
        let source = RestSource::new(RestSettings::new("petstore", api.clone()), move |name| {
            set.contains(&name).then(|| "x".to_owned())
        });
        source.unwrap().missing_variables()
    };
    assert_eq!(missing(&[]), ["PETSTORE_API_KEY", "PETSTORE_TOKEN"]);
    assert_eq!(missing(&["PETSTORE_TOKEN"]), ["PETSTORE_API_KEY"]);
    assert!(missing(&["PETSTORE_TOKEN", "PETSTORE_API_KEY"]).is_empty());
}

#[test]
fn requirements_without_end_are_bounded() {
    let many: Vec<Value> = (0..5_000).map(|index| json!({ "oauth": [format!("scope{index}")], "key": [] })).collect();
    let together: Map<String, Value> = (0..5_000).map(|index| (format!("s{index}"), json!([]))).collect();
    let api = api(None, &[("many", json!(many)), ("together", json!([together]))]);
    assert!(api.auth.len() <= 64, "{}", api.auth.len());
    assert!(api.notes.len() <= 40);
}
