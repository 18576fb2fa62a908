//! No secret is written to the files.

use aquifer_engine::Caller;
use aquifer_gate::audit::{Entry, Event};
use aquifer_protocol::schema::{Kind, Parameter, Rest, Schema, Shape, Types};
use serde_json::{Value, json};

use super::support::*;

const PLANTED: &str = "hunter2-planted";

/// Makes an invented credential as long and random as a real one.
const REST: &str = "-q3Zk9wVb2Xh7LtYc0RfPdGm1AsJ";

/// Invented credentials with their surrounding text.
fn credentials() -> Vec<(String, String)> {
    let lines = include_str!("../../../../aquifer-protocol/tests/data/credentials.txt").lines();
    let read = |line: &str| {
        let (_, text) = line.split_once('\t').unwrap();
        let marked = text.replacen('~', "", 1).replace("\\n", "\n");
        let secret = marked.split_once('«').unwrap().1.split_once('»').unwrap().0.to_owned();
        (marked.replace(['«', '»'], ""), secret)
    };
    lines.filter(|line| !line.starts_with('#')).map(read).collect()
}

fn parameter(name: &str, kind: Kind, sensitive: bool) -> Parameter {
    Parameter { name: name.into(), schema: Schema { kind, ..Schema::default() }, sensitive, ..Parameter::default() }
}

/// The entry for these parameters.
fn written(params: &Value, operation: &aquifer_protocol::operation::Operation, types: Option<&Types>) -> Entry {
    Entry::for_operation(Event::Intent, operation).parameters(operation, types, params.as_object().unwrap())
}

/// An operation with sensitive fields at every depth.
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
    let token = |template: &str| template.replace('*', &format!("{PLANTED}{REST}"));
    let nested = secret("{\"user\":{\"password\":\"*\"}}");
    let planted = [
        // By definition.
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
        // By format.
        json!({ "note": secret("Bearer *"), "other": token("conf_*"), "more": token("quota_continue_*") }),
        json!({ "url": secret("postgres://me:*@host/db"), "text": secret("see https://a:*@b.example/x for it") }),
        json!({ "key": token("sk-proj-*"), "web": token("eyJhbGciOiJI.*"), "pem": secret("-----BEGIN PRIVATE KEY-----*") }),
        // Inside text.
        json!({ "body": nested }),
        json!({ "body": json!({ "again": nested }).to_string() }),
        json!({ "body": secret("a=1&password=*&b=2") }),
        json!({ "body": secret("Content-Type: x\nAuthorization: *") }),
        json!({ "body": secret("{broken json, \"token\": \"*\"") }),
        json!({ "sql": secret("ALTER USER x; password = '*'") }),
        json!({ "text": token("use conf_* to go on") }),
        // As a name.
        json!({ token("conf_*"): 1 }),
    ];
    for params in &planted {
        let entry = written(params, &operation, Some(&types));
        assert!(!format!("{entry:?}").contains(PLANTED), "{params}");
        audit.record(entry).await.unwrap();
    }
    let token = token("conf_*");
    let entry = Entry::for_operation(Event::Confirmed, &deletion())
        .token(&token)
        .caller(&Caller::session(secret("session-*")))
        .reason(&format!("{token} was spent"));
    audit.record(entry).await.unwrap();
    let bytes: Vec<u8> = listed(&folder.0).iter().flat_map(|file| std::fs::read(file).unwrap()).collect();
    let text = String::from_utf8(bytes).unwrap();
    let leaking: Vec<&str> = text.lines().filter(|line| line.contains(PLANTED)).collect();
    assert!(leaking.is_empty(), "{leaking:#?}");
    assert_eq!(text.lines().count(), planted.len() + 2);
    // The store has none either.
    for (_, record) in store.list("", 1000).await.unwrap() {
        assert!(!String::from_utf8_lossy(&record.value).contains(PLANTED));
    }
}

#[test]
fn r_saf_5_every_format_of_credentials_is_redacted_wherever_it_stands() {
    let operation = deletion();
    let cases = credentials();
    assert!(cases.len() >= 60, "{}", cases.len());
    for (text, secret) in cases {
        let inside = json!({ "error": text }).to_string();
        for params in [
            json!({ "note": text }),
            json!({ "note": format!("it was {text}") }),
            json!({ "a": [{ "b": { "c": [text] } }] }),
            json!({ "body": inside }),
            json!({ "body": json!({ "again": inside }).to_string() }),
            json!({ text.as_str(): 1 }),
        ] {
            let entry = serde_json::to_string(&written(&params, &operation, None)).unwrap();
            let escaped = Value::from(secret.as_str()).to_string();
            let escaped = escaped.trim_matches('"');
            assert!(!entry.contains(escaped), "{params}: {entry}");
        }
        let entry =
            serde_json::to_string(&Entry::for_operation(Event::Denied, &operation).reason(&format!("no: {text}")))
                .unwrap();
        assert!(!entry.contains(&secret), "{entry}");
    }
}

#[test]
fn r_saf_5_harmless_text_is_written_unchanged() {
    let lines = include_str!("../../../../aquifer-protocol/tests/data/innocent.txt").lines();
    let innocents: Vec<&str> = lines.filter(|line| !line.starts_with('#')).collect();
    assert!(innocents.len() >= 60, "{}", innocents.len());
    for text in innocents {
        let params = json!({ "note": text, "list": [text] });
        let entry = serde_json::to_value(written(&params, &deletion(), None)).unwrap();
        assert_eq!(entry["parameters"], params);
    }
    // Names that only sound like a secret.
    let names = json!({
        "secret_name": "prod/db", "token_id": "tok-17", "password_reset_at": "2026-01-31", "key_id": "k-1", "max_tokens": 100,
        "token_count": 5, "secret_version": 3, "public_key": "ssh-ed25519 AAAA", "primary_key": "id", "sort_key": "name", "next_token": "abc",
    });
    assert_eq!(serde_json::to_value(written(&names, &deletion(), None)).unwrap()["parameters"], names);
}

#[tokio::test]
async fn r_saf_5_values_that_are_not_secrets_stay_readable() {
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
async fn r_saf_5_an_entry_has_a_maximum_size() {
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
    let shortened = lines[4]["parameters"]["long"].as_str().unwrap();
    assert!(shortened.starts_with("xxx") && shortened.ends_with("(1048576 characters)"), "{shortened}");
    assert!(verify_directory(&folder.0, &store).await.is_intact());
}
