//! No secret gets into the files.

use aquifer_engine::Caller;
use aquifer_gate::audit::{Entry, Event};
use aquifer_protocol::schema::{Kind, Parameter, Rest, Schema, Shape, Types};
use serde_json::{Value, json};

use super::support::*;

const PLANTED: &str = "hunter2-planted";

fn parameter(name: &str, kind: Kind, sensitive: bool) -> Parameter {
    Parameter { name: name.into(), schema: Schema { kind, ..Schema::default() }, sensitive, ..Parameter::default() }
}

/// What is written of these parameters.
fn written(params: &Value, operation: &aquifer_protocol::operation::Operation, types: Option<&Types>) -> Entry {
    Entry::about(Event::Intent, operation).parameters(operation, types, params.as_object().unwrap())
}

/// An operation with secrets at every depth of its definition.
fn careful() -> (aquifer_protocol::operation::Operation, Types) {
    let mut operation = deletion();
    let inner = Shape { fields: vec![parameter("recipe", Kind::String, true)], rest: Rest::Free };
    let named = Shape { fields: vec![parameter("formula", Kind::String, true)], rest: Rest::Free };
    let types = Types::from([("Drug".into(), Schema { kind: Kind::Object(named), ..Schema::default() }.into())]);
    let named = || Schema { kind: Kind::Named("Drug".into()), ..Schema::default() };
    operation.parameters = vec![
        parameter("diagnosis", Kind::String, true),
        parameter("kitchen", Kind::Object(inner), false),
        parameter("drug", Kind::Named("Drug".into()), false),
        parameter("drugs", Kind::Array(Some(Box::new(named()))), false),
        parameter("either", Kind::Union(vec![Schema::default(), named()]), false),
    ];
    (operation, types)
}

#[tokio::test]
async fn r_saf_5_secrets_are_not_in_the_files() {
    let (folder, store) = (Folder::new(), memory());
    let audit = open(files(&folder.0, 1 << 20, 3), &store);
    let (operation, types) = careful();
    let secret = |template: &str| template.replace('*', PLANTED);
    let nested = secret("{\"user\":{\"password\":\"*\"}}");
    let planted = [
        // As the definition says.
        json!({ "diagnosis": PLANTED }),
        json!({ "diagnosis": { "deep": [PLANTED] } }),
        json!({ "kitchen": { "recipe": PLANTED } }),
        json!({ "drug": { "formula": PLANTED } }),
        json!({ "drugs": [{ "formula": PLANTED }] }),
        json!({ "either": { "formula": PLANTED } }),
        // By name.
        json!({ "password": PLANTED }),
        json!({ "userPassword": PLANTED }),
        json!({ "PASSWD": PLANTED, "pwd": PLANTED, "passphrase": PLANTED }),
        json!({ "api_key": PLANTED, "apiKey": PLANTED, "API-KEY": PLANTED, "x-api-key": PLANTED }),
        json!({ "Authorization": PLANTED, "Proxy-Authorization": PLANTED, "Cookie": PLANTED, "Set-Cookie": PLANTED }),
        json!({ "confirmation_token": PLANTED, "_confirmation": PLANTED, "_quota_continue": PLANTED }),
        json!({ "access_token": PLANTED, "refreshToken": PLANTED, "client_secret": PLANTED, "private_key": PLANTED }),
        json!({ "pin": PLANTED, "otp": PLANTED, "auth": PLANTED, "credentials": { "a": PLANTED } }),
        json!({ "secrets": [PLANTED, { "x": PLANTED }] }),
        json!({ "a": { "b": [{ "c": { "secret": PLANTED } }] } }),
        json!({ "headers": [{ "name": "Authorization", "value": PLANTED }] }),
        json!({ "filter": { "field": "password", "op": "eq", "value": PLANTED } }),
        // By form.
        json!({ "note": secret("Bearer *"), "other": secret("conf_*"), "more": secret("quota_continue_*") }),
        json!({ "url": secret("postgres://me:*@host/db"), "text": secret("see https://a:*@b.example/x for it") }),
        json!({ "key": secret("sk-*"), "jwt_like": secret("eyJ*"), "pem": secret("-----BEGIN PRIVATE KEY-----*") }),
        // Inside text.
        json!({ "body": nested }),
        json!({ "body": json!({ "again": nested }).to_string() }),
        json!({ "body": secret("a=1&password=*&b=2") }),
        json!({ "body": secret("Content-Type: x\nAuthorization: *") }),
        json!({ "body": secret("{broken json, \"token\": \"*\"") }),
        json!({ "sql": secret("ALTER USER x; password = '*'") }),
        json!({ "text": secret("use conf_* to go on") }),
        // As a name.
        json!({ secret("conf_*"): 1 }),
    ];
    for params in &planted {
        let entry = written(params, &operation, Some(&types));
        assert!(!format!("{entry:?}").contains(PLANTED), "{params}");
        audit.record(entry).await.unwrap();
    }
    let token = secret("conf_*");
    let entry = Entry::about(Event::Confirmed, &deletion())
        .token(&token)
        .by(&Caller::session(secret("session-*")))
        .reason(&format!("{token} was spent"));
    audit.record(entry).await.unwrap();
    let bytes: Vec<u8> = listed(&folder.0).iter().flat_map(|file| std::fs::read(file).unwrap()).collect();
    let text = String::from_utf8(bytes).unwrap();
    let leaking: Vec<&str> = text.lines().filter(|line| line.contains(PLANTED)).collect();
    assert!(leaking.is_empty(), "{leaking:#?}");
    assert_eq!(text.lines().count(), planted.len() + 2);
    // Nor in what the store has.
    for (_, record) in store.list("", 1000).await.unwrap() {
        assert!(!String::from_utf8_lossy(&record.value).contains(PLANTED));
    }
}

#[tokio::test]
async fn r_saf_5_what_is_no_secret_stays_readable() {
    let (folder, store) = (Folder::new(), memory());
    let audit = open(files(&folder.0, 1 << 20, 3), &store);
    let (operation, types) = careful();
    let plain = json!({
        "id": 7, "author": "Ada", "passenger": "Bo", "keyboard": "de", "name": "Widget", "big": 1.5, "no": null, "yes": true,
        "kitchen": { "size": 3 }, "tags": ["a", "b"], "time": "12:30:00", "url": "https://example.org/a?b=c",
        "body": "{\"x\":1}", "password": null,
    });
    audit.record(written(&plain, &operation, Some(&types))).await.unwrap();
    let lines = lines(&folder.0);
    assert_eq!(lines[1]["parameters"], plain);
}

#[tokio::test]
async fn r_saf_5_an_entry_has_a_size() {
    let (folder, store) = (Folder::new(), memory());
    let audit = open(files(&folder.0, 64 << 20, 3), &store);
    let operation = deletion();
    let mut deep = json!("end");
    for _ in 0..100 {
        deep = json!({ "deeper": [deep] });
    }
    let wide: serde_json::Map<String, Value> = (0..20_000).map(|n| (format!("field_{n}"), json!(n))).collect();
    let long = "x".repeat(1 << 20);
    let named: serde_json::Map<String, Value> =
        (0..50).map(|n| (format!("{n}{}", "n".repeat(5000)), json!(n))).collect();
    for params in [
        json!({ "deep": deep }),
        Value::Object(wide),
        json!({ "list": vec![1; 100_000] }),
        json!({ "long": long }),
        json!({ "escapes": "\u{1}".repeat(1000), "more": vec!["\u{1}".repeat(190); 1000] }),
        Value::Object(named),
    ] {
        audit.record(written(&params, &operation, None).reason(&long)).await.unwrap();
    }
    for line in lines(&folder.0) {
        let size = line.to_string().len();
        assert!(size < 32 * 1024, "{size}");
    }
    let lines = lines(&folder.0);
    let told = lines[4]["parameters"]["long"].as_str().unwrap();
    assert!(told.starts_with("xxx") && told.ends_with("(1048576 characters)"), "{told}");
    assert!(judged(&folder.0, &store).await.is_whole());
}
