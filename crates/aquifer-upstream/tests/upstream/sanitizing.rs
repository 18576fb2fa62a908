//! Everything that people or models see of an upstream is clean and without secrets. Data stays unchanged (R-DIS-7a).

use std::sync::Arc;

use aquifer_engine::clock::SystemClock;
use aquifer_engine::source::{FetchRequest, Progress};
use aquifer_engine::{Context, Engine};
use aquifer_protocol::surface::{Mode, Profile, Surface};
use aquifer_protocol::text::clean_json;
use aquifer_upstream::{Settings, Transport, Upstream};
use serde_json::{Map, Value, json};

use crate::client_requests::{Client, context_for};
use crate::interrogation::Log;
use crate::support::{Folder, Gateway, HttpServer, context, fake, until};

/// Every kind of character that is removed.
const DIRT: &str = "\u{1b}[31m\u{200b}\u{202e}\u{e0041}\u{fe0f}\u{7}";

/// A configured secret.
const CONFIGURED: &str = "c0nfigured-s3cret";

/// A token that is recognized by its format, assembled here so that no scanner reports it.
fn token() -> String {
    ["gh", "p_16C7e42F292c6912E7710c838347Ae178B4a"].concat()
}

/// Text with everything that must not be shown. Invisible characters split the secrets.
fn dirty(text: &str) -> String {
    let split = CONFIGURED.replace("s3", "s\u{200b}3");
    let token = token().replace("42F", "42\u{200d}F");
    format!("{text}{DIRT} {split} {token} {CONFIGURED}")
}

/// The same text after sanitizing.
fn cleaned(text: &str) -> String {
    format!("{text} [redacted] [redacted] [redacted]")
}

/// Asserts that a value contains nothing that must not be shown.
fn check(place: &str, shown: &Value) {
    let check = |text: &str| {
        assert!(aquifer_protocol::text::is_clean(text), "{place}: {text:?}");
        assert!(!text.contains(CONFIGURED) && !text.contains(&token()), "{place}: {text}");
        text.to_owned()
    };
    clean_json(shown.clone(), &check);
}

/// The script of a server with unclean texts.
fn dirty_script() -> Value {
    let input = json!({ "type": "object", "properties": {
        "kind": { "type": "string", "enum": [dirty("one"), "two"], "description": dirty("d"), "default": dirty("v") },
        "kinds": { "type": "array", "items": { "type": "string", "enum": [dirty("one")] } },
        "matching": { "type": "string", "pattern": format!("^a\u{200b}?({})?$", token()) },
        "nested": { "type": "object", "properties": { dirty("n"): { "type": "string" }, "deep": { "enum": [dirty("x")], "description": dirty("d") } } },
        "needy": { "type": "object", "required": ["x\u{202e}y"] },
    } });
    json!({
        "tools": [{ "name": "choose", "title": dirty("t"), "description": dirty("Chooses."), "annotations": { "readOnlyHint": true }, "inputSchema": input }],
        "instructions": dirty("Be kind."),
        "resources": [
            { "uri": format!("test://plain?sig={}", "a".repeat(40)), "name": dirty("plain"), "title": dirty("t"), "description": dirty("d"), "_meta": { dirty("k"): dirty("v") } },
            { "uri": format!("test://x{DIRT}?key={CONFIGURED}"), "name": "odd" },
        ],
        "templates": [{ "uriTemplate": "test://{which}", "name": dirty("any"), "description": dirty("d") }, { "uriTemplate": format!("test://{DIRT}{{x}}"), "name": "odd" }],
        "prompts": [
            { "name": "greet", "title": dirty("t"), "description": dirty("d"),
              "arguments": [{ "name": "whom", "description": dirty("d"), "required": true }, { "name": dirty("odd"), "description": "d" }] },
            { "name": format!("od{DIRT}d"), "description": "d" },
            { "name": format!("gre{DIRT}et"), "description": "looks like another" },
            { "name": "unusable", "arguments": [{ "name": dirty("odd"), "required": true }] },
        ],
        "description": dirty("d"),
        "completions": ["fine", dirty("odd")],
        "log": { "level": "warning", "logger": dirty("l"), "data": { dirty("k"): [dirty("v")] } },
        "progress": dirty("step"),
        "refuse": { "isError": true, "content": [], "structuredContent": { "message": dirty("no"), "escaped": dirty("no") } },
        "protest": dirty("no"),
        "stderr": dirty("starting"),
    })
}

fn write_script_file(folder: &Folder, script: &Value) -> String {
    let file = folder.file("words.json");
    std::fs::write(&file, script.to_string()).unwrap();
    file
}

/// The server with this script, over each transport.
fn everywhere(folder: &Folder, script: &Value, flags: &[&str]) -> (Vec<(&'static str, Settings)>, Vec<HttpServer>) {
    let file = write_script_file(folder, script);
    let flags: Vec<&str> = ["--words", &file].into_iter().chain(flags.iter().copied()).collect();
    let (plain, events) = (HttpServer::start(0, &flags), HttpServer::start(0, &[&flags[..], &["--events"]].concat()));
    let over = |served: &HttpServer| {
        let mut settings = served.settings();
        if let Transport::Http { headers, .. } = &mut settings.transport {
            headers.push(("X-Api-Key".to_owned(), CONFIGURED.to_owned()));
        }
        settings
    };
    let mut stdio = fake(&flags);
    if let Transport::Stdio { env, .. } = &mut stdio.transport {
        env.push(("API_KEY".to_owned(), CONFIGURED.to_owned()));
    }
    let all = vec![("stdio", stdio), ("http", over(&plain)), ("events", over(&events))];
    (all, vec![plain, events])
}

#[tokio::test]
async fn r_dis_7a_shown_text_is_sanitized_and_chosen_values_arrive_exactly() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    let folder = Folder::new();
    let (all, _servers) = everywhere(&folder, &dirty_script(), &[]);
    for (transport, settings) in all {
        let gateway = Gateway::ready(settings.clone()).await;
        // Tools.
        for query in [
            json!({ "query": "operations" }),
            json!({ "query": "operations", "name": "choose" }),
            json!({ "query": "operations", "name": "choose", "fields": "full" }),
            json!({ "query": "types" }),
            json!({ "query": "operations", "search": "chooses" }),
        ] {
            check(transport, &gateway.ask("introspect", query).await);
        }
        let described = gateway.get("introspect", json!({ "query": "operations", "name": "choose" })).await;
        let kind = &described["operation"]["parameters"][0];
        assert_eq!(kind["enum"], json!([cleaned("one"), "two"]), "{described}");
        assert_eq!(kind["default"], json!(cleaned("v")));
        let given = json!({ "kind": cleaned("one"), "kinds": [cleaned("one")] });
        let reached = gateway.get("choose", given).await;
        assert_eq!(reached, json!({ "kind": dirty("one"), "kinds": [dirty("one")] }), "{transport}");
        // A pattern that cannot be shown is left to the server.
        let reached = gateway.ask("choose", json!({ "matching": "no" })).await;
        assert_eq!(reached["data"]["matching"], "no", "{reached}");
        check(transport, &reached);
        check(transport, &gateway.ask("choose", json!({ "needy": {} })).await);
        // Failures.
        for operation in ["refuse", "protest"] {
            let refused = gateway.refused(operation, json!({}), "UPSTREAM_ERROR").await;
            let text = refused["details"]["upstream_error"].as_str().unwrap();
            assert!(text.contains("no") && text.contains("[redacted]"), "{refused}");
            check(transport, &refused);
        }
        // Progress and logs.
        let client = Arc::new(Client::named("reader"));
        let (progress, mut updates) = Progress::channel();
        let listening = Context { progress, ..context_for(&client) };
        assert_eq!(gateway.ask_as("slow", json!({ "steps": 1 }), listening).await["data"], "done");
        // Over plain HTTP it arrives on a separate stream, possibly after the answer.
        if transport != "http" {
            assert_eq!(updates.recv().await.unwrap().message.as_deref(), Some(&*cleaned("step")), "{transport}");
        }
        assert_eq!(gateway.ask_as("log", json!({}), context_for(&client)).await["data"], "logged");
        until("the log is there", async || !client.logged.lock().is_empty()).await;
        let logged = client.logged.lock().clone();
        check(transport, &json!(logged));
        assert_eq!(logged[0]["data"], json!({ cleaned("k"): [cleaned("v")] }));
        // Lists.
        let engine = &gateway.engine;
        let resources = engine.list(&FetchRequest::Resources, context()).await;
        check(transport, &json!(resources));
        assert_eq!(resources[0]["uri"], format!("test://plain?sig={}", "a".repeat(40)), "an address stays usable");
        assert_eq!(resources[1]["uri"], "test://x?key=[redacted]");
        let read = engine.fetch(FetchRequest::Resource("test://x?key=[redacted]".to_owned()), context()).await.unwrap();
        let exact = format!("test://x{DIRT}?key={CONFIGURED}");
        assert_eq!(read["contents"][0]["text"], format!("read {exact}"), "contents are exact");
        let templates = engine.list(&FetchRequest::ResourceTemplates, context()).await;
        check(transport, &json!(templates));
        assert_eq!(templates.len(), 1);
        let prompts = engine.list(&FetchRequest::Prompts, context()).await;
        check(transport, &json!(prompts));
        let names: Vec<&Value> = prompts.iter().map(|prompt| &prompt["name"]).collect();
        assert_eq!(names, ["greet", "odd"]);
        assert_eq!(prompts[0]["arguments"], json!([{ "name": "whom", "description": cleaned("d"), "required": true }]));
        for (name, exact) in [("greet", "greet".to_owned()), ("odd", format!("od{DIRT}d"))] {
            let arguments = json!({ "whom": "you" }).as_object().cloned();
            let prompt =
                engine.fetch(FetchRequest::Prompt { name: name.to_owned(), arguments }, context()).await.unwrap();
            assert_eq!(prompt["messages"][0]["content"]["text"], format!("{exact} you"), "contents are exact");
            assert_eq!(prompt["description"], cleaned("d"));
        }
        let completion = FetchRequest::Completion { target: "greet".to_owned(), by_uri: false, params: Map::new() };
        assert_eq!(engine.fetch(completion, context()).await.unwrap()["completion"]["values"], json!(["fine"]));
        // Instructions.
        let interrogation = aquifer_upstream::interrogate(&settings).await.unwrap();
        assert_eq!(interrogation.instructions.as_deref(), Some(&*cleaned("Be kind.")));
    }
    until("the server's words are in the log", async || log.text().contains("starting")).await;
    let log = log.text();
    assert!(log.contains("log message of the upstream"));
    for line in log.lines() {
        check("the log", &json!(line));
    }
}

#[tokio::test]
async fn r_dis_7a_names_are_translated_separately_for_each_source() {
    let folder = Folder::new();
    let (all, _servers) = everywhere(&folder, &dirty_script(), &[]);
    let sources: Vec<Arc<Upstream>> = all
        .into_iter()
        .map(|(name, mut settings)| {
            settings.name = name.to_owned();
            Upstream::new(settings, Arc::new(SystemClock))
        })
        .collect();
    let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
    let builder = Engine::builder(surface).dangerously_let_everything_pass();
    let engine = sources.iter().fold(builder, |builder, source| builder.source(source.clone())).build().unwrap();
    for source in &sources {
        source.ready().await.unwrap();
    }
    engine.refresh().unwrap();
    check("resources", &json!(engine.list(&FetchRequest::Resources, context()).await));
    check("prompts", &json!(engine.list(&FetchRequest::Prompts, context()).await));
    for name in ["stdio", "http", "events"] {
        let prompt = FetchRequest::Prompt { name: format!("{name}_odd"), arguments: None };
        let got = engine.fetch(prompt, context()).await.unwrap();
        assert_eq!(got["messages"][0]["content"]["text"], format!("od{DIRT}d None"));
        let address = format!("aquifer://{name}/test://x?key=[redacted]");
        let read = engine.fetch(FetchRequest::Resource(address), context()).await.unwrap();
        assert_eq!(read["contents"][0]["text"], format!("read test://x{DIRT}?key={CONFIGURED}"));
    }
}

#[tokio::test]
async fn r_dis_7a_cached_definitions_are_sanitized_after_a_restart() {
    let folder = Folder::new();
    let file = write_script_file(&folder, &dirty_script());
    let mut settings = fake(&["--words", &file]);
    settings.cache_dir = Some(folder.0.join("catalogs"));
    if let Transport::Stdio { env, .. } = &mut settings.transport {
        env.push(("API_KEY".to_owned(), CONFIGURED.to_owned()));
    }
    let first = Gateway::ready(settings.clone()).await;
    until("the catalog is cached", async || {
        folder.0.join("catalogs").read_dir().is_ok_and(|mut all| all.next().is_some())
    })
    .await;
    drop(first);
    let second = Gateway::new(settings);
    assert!(second.upstream.is_known(), "known from the cache");
    let described =
        second.get("introspect", json!({ "query": "operations", "name": "choose", "fields": "full" })).await;
    check("cached", &described);
    let reached = second.get("choose", json!({ "kind": cleaned("one") })).await;
    assert_eq!(reached, json!({ "kind": dirty("one") }));
}
