//! Parameters reach the upstream unchanged, and results reach the caller unchanged.

use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::source::{FetchRequest, Progress};
use aquifer_engine::trace::{Channel, Step, Trace};
use aquifer_engine::{Caller, Context};
use aquifer_protocol::response::Attachment;
use aquifer_upstream::Transport;
use serde_json::{Value, json};

use crate::support::{Folder, Gateway, NEVER, context, fake, until};

#[tokio::test]
async fn r_dis_7_names_and_values_reach_the_upstream_unchanged() {
    let gateway = Gateway::ready(fake(&[])).await;
    let sent = json!({
        "text": "ä\u{1f600}\n", "camel_case": [1, 2.5, null, { "keepMe": true }], "nested": { "camelCase": { "_x": 1 } },
        "operation": "an ordinary parameter", "number": 7,
    });
    let got = gateway.get("echo", sent).await;
    let expected = json!({
        "text": "ä\u{1f600}\n", "camelCase": [1, 2.5, null, { "keepMe": true }], "nested": { "camelCase": { "_x": 1 } },
        "operation": "an ordinary parameter", "number": 7,
    });
    assert_eq!(got, expected);
    let details = gateway.get("introspect", json!({ "query": "operations", "name": "echo" })).await;
    let names: Vec<&str> =
        details["operation"]["parameters"].as_array().unwrap().iter().filter_map(|p| p["name"].as_str()).collect();
    let hidden = names.iter().find(|name| name.contains("hidden")).unwrap();
    let got = gateway.get("echo", json!({ *hidden: "x" })).await;
    assert_eq!(got, json!({ "_hidden": "x" }));
    assert_eq!(gateway.get("echo", json!({})).await, json!({}), "nothing is added");
}

#[tokio::test]
async fn r_dis_7_rules_that_the_catalog_cannot_express_are_left_to_the_upstream() {
    let gateway = Gateway::ready(fake(&[])).await;
    assert_eq!(gateway.get("either", json!({ "user_name": "x" })).await, json!("fine"));
    for params in [json!({ "user_name": "x", "number": 1 }), json!({})] {
        let error = gateway.refused("either", params, "UPSTREAM_ERROR").await;
        assert_eq!(error["details"]["upstream_error"], "Give userName or number, not both.", "{error}");
    }
}

#[tokio::test]
async fn r_dis_7_parameters_that_a_tool_does_not_name_reach_it_unchanged() {
    let gateway = Gateway::ready(fake(&[])).await;
    let anything = json!({
        "camelCase": [1, 2.5, null, { "keepMe": true }], "snake_case": "ä\u{1f600}", "_x": null, "with space/~": {}, "": 0,
    });
    assert_eq!(gateway.get("anything", anything.clone()).await, anything);
    assert_eq!(gateway.get("anything", json!({})).await, json!({}));
    let some = json!({ "user_name": "ada", "red": 1, "Blue": 2, "x-more": "free" });
    let expected = json!({ "userName": "ada", "red": 1, "Blue": 2, "x-more": "free" });
    assert_eq!(gateway.get("labels", some).await, expected);
    assert_eq!(
        gateway.get("labels", json!({ "userName": "ada", "red": 1 })).await,
        json!({ "userName": "ada", "red": 1 })
    );
    assert_eq!(gateway.get("patterned", json!({ "xa": "b" })).await, json!({ "xa": "b" }));
    // The schemas refuse these. The server decides.
    for (operation, params) in [
        ("labels", json!({ "far_too_long_a_name": 1 })),
        ("labels", json!({ "red": "one" })),
        ("patterned", json!({ "xa": 5, "ya": "b" })),
    ] {
        assert_eq!(gateway.get(operation, params.clone()).await, params);
    }
}

#[tokio::test]
async fn r_dis_7_what_the_catalog_refuses_never_reaches_the_upstream() {
    let folder = Folder::new();
    let journal = folder.file("journal");
    let gateway = Gateway::ready(fake(&["--journal", &journal])).await;
    for (operation, params, code, named) in [
        ("echo", json!({ "number": 0 }), "VALIDATION_INVALID_VALUE", "number"),
        ("echo", json!({ "nested": [] }), "VALIDATION_INVALID_TYPE", "nested"),
        ("labels", json!({ "user_name": 5, "red": 1 }), "VALIDATION_INVALID_TYPE", "user_name"),
        ("labels", json!({ "user_name": "a", "userName": "b" }), "VALIDATION_INVALID_VALUE", "user_name"),
    ] {
        let error = gateway.refused(operation, params, code).await;
        let details = &error["details"];
        let named_fields = [&details["param_name"], &details["unknown_params"][0], &details["errors"][0]["path"]];
        assert_eq!(named_fields.iter().find_map(|named_fields| named_fields.as_str()), Some(named), "{error}");
        assert!(error["message"].as_str().unwrap().contains(&format!("'{named}'")), "{error}");
    }
    let error = gateway.refused("echo", json!({ "no_such": 1 }), "VALIDATION_UNKNOWN_PARAM").await;
    assert_eq!(error["details"]["unknown_params"], json!(["no_such"]), "{error}");
    // Both spellings of the name.
    let shown = gateway.get("introspect", json!({ "query": "operations", "name": "labels" })).await;
    let names = shown["operation"]["parameters"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str());
    let from = names.into_iter().find(|name| name.contains("from")).unwrap();
    let error = gateway.refused("labels", json!({ from: "a", "_from": "b" }), "VALIDATION_INVALID_VALUE").await;
    assert_eq!(error["details"]["param_name"], from, "{error}");
    let asked = std::fs::read_to_string(journal).unwrap();
    assert!(!asked.contains("tools/call"), "nothing of this reached the server: {asked}");
}

#[tokio::test]
async fn r_dis_7_introspection_says_which_operations_take_any_name() {
    let gateway = Gateway::ready(fake(&[])).await;
    for (operation, open) in [("anything", true), ("labels", true), ("patterned", true), ("echo", false)] {
        let asked = json!({ "query": "operations", "name": operation, "fields": "full" });
        let shown = gateway.get("introspect", asked).await["operation"].clone();
        let is_described = shown["description"].as_str().unwrap().contains("Takes further parameters of any name.");
        assert_eq!(is_described, open, "{shown}");
        assert_eq!(shown["input_schema"]["additionalProperties"] != json!(false), open, "{shown}");
    }
}

#[tokio::test]
async fn r_dis_7_results_keep_text_structure_pictures_sound_and_resources() {
    let gateway = Gateway::ready(fake(&[])).await;
    assert_eq!(gateway.get("structured", json!({})).await, json!({ "rows": [1, 2] }));
    let (answer, blocks) = gateway.ask_whole("get_picture", json!({}), context()).await;
    assert_eq!(answer["data"][0], "a picture");
    assert_eq!(answer["data"][1], json!({ "_attachment": 0, "type": "image", "media_type": "image/png" }));
    let [Attachment::Verbatim(picture)] = blocks.as_slice() else { panic!("{blocks:?}") };
    let picture: Value = serde_json::from_str(picture).unwrap();
    assert_eq!(picture["annotations"]["priority"], 0.5);
    assert!(picture["data"].as_str().unwrap().starts_with("iVBOR"));
    let (answer, blocks) = gateway.ask_whole("blocks", json!({}), context()).await;
    assert_eq!(answer["data"][0], json!({ "a": 1 }));
    let kinds: Vec<&str> = answer["data"].as_array().unwrap().iter().filter_map(|item| item["type"].as_str()).collect();
    assert_eq!(kinds, ["audio", "resource_link", "resource", "resource"]);
    assert_eq!(blocks.len(), 4);
    assert_eq!(answer["data"][3]["uri"], "test://b");
}

#[tokio::test]
async fn r_res_3_an_upstream_error_keeps_its_text_without_stack_trace_or_secrets() {
    let mut settings = fake(&[]);
    let aquifer_upstream::Transport::Stdio { env, .. } = &mut settings.transport else { unreachable!() };
    env.push(("SECRET".to_owned(), "hunter2-hunter2".to_owned()));
    let gateway = Gateway::ready(settings).await;
    let error = gateway.refused("refuse", json!({}), "UPSTREAM_ERROR").await;
    assert_eq!(error["details"]["upstream_error"], "No. The secret was [redacted]");
    let error = gateway.refused("protest", json!({}), "UPSTREAM_ERROR").await;
    assert_eq!(error["details"]["upstream_error"], "unheard of");
    assert_eq!(error["details"]["upstream_code"], -32603);
}

#[tokio::test]
async fn progress_is_forwarded() {
    let gateway = Gateway::ready(fake(&[])).await;
    let (progress, mut updates) = Progress::channel();
    let context = Context { progress, ..context() };
    let answer = gateway.ask_as("slow", json!({ "steps": 3 }), context).await;
    assert_eq!(answer["data"], "done");
    let mut seen = Vec::new();
    while let Ok(update) = updates.try_recv() {
        seen.push((update.current, update.total, update.message.unwrap()));
    }
    let expected = [1.0, 2.0, 3.0].map(|step| (step, Some(3.0), format!("step {step}")));
    assert_eq!(seen, expected);
    // Without a listener, the upstream is not asked to report progress.
    assert_eq!(gateway.get("last_meta", json!({})).await, json!({}));
}

#[tokio::test]
async fn progress_keeps_a_call_alive_beyond_its_timeout() {
    let mut settings = fake(&[]);
    settings.timeout = Duration::from_secs(2);
    let gateway = Gateway::ready(settings).await;
    let folder = Folder::new();
    let release = folder.file("release");
    let (progress, _updates) = Progress::channel();
    let context = Context { progress, ..context() };
    let reporting = gateway.ask_as("slow", json!({ "release": release }), context);
    let silent = async {
        until("the reporting call is under way", async || gateway.get("max_at_once", json!({})).await == json!([1]))
            .await;
        // This call starts later than the reporting one and times out.
        gateway.refused("slow", json!({ "release": NEVER }), "UPSTREAM_TIMEOUT").await;
        std::fs::write(&release, "").unwrap();
    };
    let (answer, ()) = tokio::join!(reporting, silent);
    assert_eq!(answer["data"], "done", "{answer}");
}

#[tokio::test]
async fn a_cancelled_call_is_cancelled_upstream() {
    let gateway = Arc::new(Gateway::ready(fake(&[])).await);
    let context = Context::new(Caller::session("tests"), "req_cancelled");
    let cancelled = context.cancelled.clone();
    let call = {
        let gateway = gateway.clone();
        tokio::spawn(async move { gateway.ask_as("slow", json!({ "release": NEVER }), context).await })
    };
    until("the call is under way", async || gateway.get("max_at_once", json!({})).await == json!([1])).await;
    cancelled.cancel();
    assert_eq!(call.await.unwrap()["success"], false);
    until("the upstream knows", async || {
        gateway.get("cancelled", json!({})).await.as_array().is_some_and(|ids| ids.len() == 1)
    })
    .await;
}

#[tokio::test]
async fn calls_run_concurrently_up_to_the_limit() {
    let folder = Folder::new();
    let (journal, release) = (folder.file("journal"), folder.file("release"));
    let mut settings = fake(&["--journal", &journal]);
    settings.concurrency = 4;
    let gateway = Gateway::ready(settings).await;
    let calls = (0..8).map(async |index| {
        gateway.get("slow", json!({ "release": release })).await;
        gateway.get("echo", json!({ "text": index.to_string() })).await["text"].clone()
    });
    let received = || std::fs::read_to_string(&journal).unwrap().matches("tools/call").count();
    let observe = async {
        until("the limit is reached", async || received() >= 4).await;
        // Lists need no permit. They would arrive after a fifth call.
        for _ in 0..10 {
            gateway.engine.list(&FetchRequest::Resources, context()).await;
        }
        assert_eq!(received(), 4, "more calls than the limit allows");
        std::fs::write(&release, "").unwrap();
    };
    let (answers, ()) = tokio::join!(futures::future::join_all(calls), observe);
    for (index, answer) in answers.into_iter().enumerate() {
        assert_eq!(answer, index.to_string());
    }
    assert_eq!(gateway.get("max_at_once", json!({})).await, json!([4]), "neither all at once nor one by one");
}

#[tokio::test]
async fn a_recorded_call_shows_the_message_and_the_result_without_secrets() {
    const SECRET: &str = "upstream-secret-1";
    let mut settings = fake(&[]);
    if let Transport::Stdio { env, .. } = &mut settings.transport {
        env.push(("API_TOKEN".to_owned(), SECRET.to_owned()));
    }
    let gateway = Gateway::ready(settings).await;
    let trace = Trace::recording();
    let sent = json!({ "text": format!("{SECRET} and more"), "camel_case": [1] });
    gateway.ask_as("echo", sent, Context { trace: trace.clone(), ..context() }).await;
    let messages = trace.messages();
    let of_upstream: Vec<_> = messages.iter().filter(|message| message.channel == Channel::Mcp).collect();
    let [sent, returned] = of_upstream.as_slice() else { panic!("{messages:?}") };
    assert_eq!((sent.step, returned.step), (Step::Sent, Step::Returned));
    let message: Value = serde_json::from_str(&sent.body).unwrap();
    assert_eq!((&message["method"], &message["params"]["name"]), (&json!("tools/call"), &json!("echo")));
    assert_eq!(message["params"]["arguments"]["camelCase"], json!([1]));
    assert!(sent.head.ends_with("over stdio") && returned.body.contains("and more"), "{returned:?}");
    assert!(!format!("{of_upstream:?}").contains(SECRET));
    assert_eq!(trace.direct_tokens(), Some(returned.tokens));
}
