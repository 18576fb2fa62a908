//! Over stdio, a call that may change data is written once, and an unclear outcome is reported as unknown.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aquifer_upstream::{Settings, Transport};
use serde_json::json;

use crate::support::{Folder, Gateway, until};

struct CountingServer {
    folder: Folder,
}

impl CountingServer {
    fn new() -> Self {
        Self { folder: Folder::new() }
    }

    fn settings(&self) -> Settings {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/upstream/counting_server.py");
        let mut settings = Settings::stdio("odd", "python3", [script.display().to_string(), self.file()]);
        settings.timeout = Duration::from_secs(20);
        settings.start_timeout = Duration::from_secs(20);
        settings.max_answer_bytes = 64 * 1024;
        settings
    }

    fn file(&self) -> String {
        self.folder.file("executed")
    }

    fn executed(&self, tool: &str) -> usize {
        let lines = std::fs::read_to_string(self.file()).unwrap_or_default();
        lines.lines().filter(|line| *line == tool).count()
    }
}

#[tokio::test]
async fn r_saf_3_a_call_that_may_change_data_is_written_once() {
    // What the server does after executing the call, the code, and whether the outcome is unknown.
    for (how, code, is_unknown) in [
        ("exit", "UPSTREAM_UNAVAILABLE", true),
        ("half", "UPSTREAM_UNAVAILABLE", true),
        ("close", "UPSTREAM_UNAVAILABLE", true),
        ("nonsense", "UPSTREAM_UNAVAILABLE", true),
        ("large", "VALIDATION_PAYLOAD_TOO_LARGE", true),
        ("large_without_id", "VALIDATION_PAYLOAD_TOO_LARGE", true),
        ("bad_result", "UPSTREAM_ERROR", true),
        ("error", "UPSTREAM_ERROR", true),
        ("refuse", "UPSTREAM_ERROR", true),
    ] {
        let server = CountingServer::new();
        let gateway = Gateway::ready(server.settings()).await;
        for tool in ["delete_account", "frobnicate", "get_account"] {
            let error = gateway.refused(tool, json!({ "how": how }), code).await;
            let is_unknown = is_unknown && tool != "get_account";
            assert_eq!(error["details"]["outcome"] == "unknown", is_unknown, "{tool} {how}: {error}");
            let says_so = error["message"].as_str().unwrap().ends_with("Check before repeating it");
            assert_eq!(says_so, is_unknown, "{tool} {how}: {error}");
            assert_eq!(server.executed(tool), 1, "{tool} {how}");
            // The next call is answered, by a new process if the old one has ended.
            assert_eq!(gateway.get("get_account", json!({})).await, "done", "{tool} {how}");
            std::fs::remove_file(server.file()).unwrap();
        }
    }
}

#[tokio::test]
async fn r_saf_5_an_unanswered_call_has_an_unknown_outcome() {
    for how in ["silence", "other_id", "deaf"] {
        let server = CountingServer::new();
        let mut settings = server.settings();
        settings.timeout = Duration::from_secs(2);
        let gateway = Gateway::ready(settings).await;
        let error = gateway.refused("delete_account", json!({ "how": how }), "UPSTREAM_TIMEOUT").await;
        assert_eq!(error["details"]["outcome"], "unknown", "{how}: {error}");
        until("it is asked again", async || gateway.ask("get_account", json!({})).await["success"] == true).await;
        assert_eq!(server.executed("delete_account"), 1, "{how}");
    }
}

#[tokio::test]
async fn an_interrupted_call_has_an_unknown_outcome() {
    let server = CountingServer::new();
    let gateway = Arc::new(Gateway::ready(server.settings()).await);
    let call = {
        let gateway = gateway.clone();
        tokio::spawn(async move { gateway.ask("delete_account", json!({ "how": "silence" })).await })
    };
    until("the call is under way", async || server.executed("delete_account") == 1).await;
    // Another call ends the server.
    gateway.refused("frobnicate", json!({ "how": "exit" }), "UPSTREAM_UNAVAILABLE").await;
    let answer = call.await.unwrap();
    assert_eq!(answer["error"]["code"], "UPSTREAM_UNAVAILABLE", "{answer}");
    assert_eq!(answer["error"]["details"]["outcome"], "unknown", "{answer}");
    assert_eq!((server.executed("delete_account"), server.executed("frobnicate")), (1, 1));
}

#[tokio::test]
async fn a_server_that_cannot_be_restarted_executed_nothing() {
    let server = CountingServer::new();
    let mut settings = server.settings();
    let script = server.folder.file("server.py");
    if let Transport::Stdio { args, .. } = &mut settings.transport {
        std::fs::copy(&args[0], &script).unwrap();
        args[0].clone_from(&script);
    }
    let gateway = Gateway::ready(settings).await;
    std::fs::write(&script, "raise SystemExit(1)").unwrap();
    let error = gateway.refused("delete_account", json!({ "how": "exit" }), "UPSTREAM_UNAVAILABLE").await;
    assert_eq!(error["details"]["outcome"], "unknown", "{error}");
    let error = gateway.refused("delete_account", json!({}), "UPSTREAM_UNAVAILABLE").await;
    assert!(error["details"]["outcome"].is_null(), "nothing was sent: {error}");
    assert_eq!(server.executed("delete_account"), 1);
}

#[tokio::test]
async fn a_call_written_but_not_read_has_an_unknown_outcome() {
    let server = CountingServer::new();
    let mut settings = server.settings();
    settings.timeout = Duration::from_secs(2);
    let gateway = Gateway::ready(settings).await;
    let deaf = gateway.ask("delete_account", json!({ "how": "deaf" }));
    let unread = gateway.ask("frobnicate", json!({}));
    for answer in futures::future::join_all([deaf, unread]).await {
        assert_eq!(answer["error"]["code"], "UPSTREAM_TIMEOUT", "{answer}");
        assert_eq!(answer["error"]["details"]["outcome"], "unknown", "{answer}");
    }
    until("it is replaced", async || gateway.ask("get_account", json!({})).await["success"] == true).await;
    assert_eq!((server.executed("delete_account"), server.executed("frobnicate")), (1, 0));
}
