//! Resources and prompts of upstreams, under distinct names.

use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::Engine;
use aquifer_engine::clock::SystemClock;
use aquifer_engine::source::{FetchRequest, ResourceSource as _};
use aquifer_protocol::error::Code;
use aquifer_protocol::surface::{Mode, Profile, Surface};
use aquifer_upstream::{Settings, Upstream};
use serde_json::{Map, Value, json};

use crate::support::{Gateway, context, fake};

fn names(found: Vec<Map<String, Value>>, key: &str) -> Vec<String> {
    found.into_iter().map(|entry| entry[key].as_str().unwrap().to_owned()).collect()
}

fn prompt(name: &str) -> FetchRequest {
    FetchRequest::Prompt { name: name.to_owned(), arguments: json!({ "whom": "you" }).as_object().cloned() }
}

#[tokio::test]
async fn one_source_keeps_its_names() {
    let gateway = Gateway::ready(fake(&[])).await;
    let engine = &gateway.engine;
    assert_eq!(names(engine.list(&FetchRequest::Resources, context()).await, "uri"), ["test://a", "test://b"]);
    assert_eq!(names(engine.list(&FetchRequest::Prompts, context()).await, "name"), ["greet"]);
    let read = engine.fetch(FetchRequest::Resource("test://b".to_owned()), context()).await.unwrap();
    assert_eq!(read["contents"][0]["text"], "read test://b");
    let got = engine.fetch(prompt("greet"), context()).await.unwrap();
    assert_eq!(got["messages"][0]["content"]["text"], "greet you");
    let failure = engine.fetch(FetchRequest::Resource("other:x".to_owned()), context()).await.unwrap_err();
    assert_eq!(failure.details()["upstream_error"], "no such document");
}

/// Every page arrives in time, and there is always another one.
const ENDLESS: &str = r#"
import json, sys, time
page = 0
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method, answer = asked["method"], None
    if method == "initialize":
        answer = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}, "prompts": {}},
                  "serverInfo": {"name": "endless", "version": "1"}}
    elif method == "tools/list":
        answer = {"tools": []}
    elif method == "prompts/list":
        page += 1
        # Far from the timeout of one page, and slow enough that the limit on pages is not reached.
        time.sleep(0.5)
        answer = {"prompts": [{"name": "p%d" % page}], "nextCursor": str(page)}
    said = {"result": answer} if answer is not None else {"error": {"code": -32601, "message": "no"}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **said}), flush=True)
"#;

#[tokio::test]
async fn an_endless_resource_list_times_out() {
    let mut settings = Settings::stdio("endless", "python3", ["-c", ENDLESS]);
    settings.timeout = Duration::from_secs(2);
    let upstream = Upstream::new(settings, Arc::new(SystemClock));
    upstream.ready().await.unwrap();
    // Without a deadline for the whole list, all allowed pages would be read.
    let listed = tokio::time::timeout(Duration::from_secs(45), upstream.fetch(FetchRequest::Prompts, context())).await;
    assert_eq!(listed.unwrap().unwrap_err().code(), Code::UpstreamTimeout);
}

#[tokio::test]
async fn several_sources_are_distinguished_and_unavailable_ones_left_out() {
    let sources = [("one", &[][..]), ("two", &[]), ("dead", &["--exit-at-start"])].map(|(name, flags)| {
        let mut settings = fake(flags);
        settings.name = name.to_owned();
        Upstream::new(settings, Arc::new(SystemClock))
    });
    let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
    let builder = sources.iter().fold(Engine::builder(surface).dangerously_let_everything_pass(), |builder, source| {
        builder.source(source.clone())
    });
    let engine = builder.build().unwrap();
    let expected =
        ["aquifer://one/test://a", "aquifer://one/test://b", "aquifer://two/test://a", "aquifer://two/test://b"];
    assert_eq!(names(engine.list(&FetchRequest::Resources, context()).await, "uri"), expected);
    let templates = engine.list(&FetchRequest::ResourceTemplates, context()).await;
    assert_eq!(names(templates, "uriTemplate"), ["aquifer://one/test://{which}", "aquifer://two/test://{which}"]);
    assert_eq!(names(engine.list(&FetchRequest::Prompts, context()).await, "name"), ["one_greet", "two_greet"]);
    let read = engine.fetch(FetchRequest::Resource(expected[3].to_owned()), context()).await.unwrap();
    assert_eq!(read["contents"][0]["uri"], expected[3], "what was asked for");
    assert_eq!(read["contents"][0]["text"], "read test://b", "the upstream's own address");
    let bare = engine.fetch(FetchRequest::Resource("test://b".to_owned()), context()).await.unwrap_err();
    assert_eq!(bare.code(), Code::NotFoundResource, "nobody can tell whose it is");
    let got = engine.fetch(prompt("two_greet"), context()).await.unwrap();
    assert_eq!(got["messages"][0]["content"]["text"], "greet you");
    assert!(engine.fetch(prompt("greet"), context()).await.is_err());
    let completion = FetchRequest::Completion { target: "two_greet".to_owned(), by_uri: false, params: Map::new() };
    assert_eq!(engine.fetch(completion, context()).await.unwrap()["completion"]["values"], json!(["greet"]));
}
