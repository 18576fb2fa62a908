//! The same over stdio: a call that may change something is written once, and what may have happened is unknown.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aquifer_upstream::{Settings, Transport};
use serde_json::json;

use crate::support::{Folder, Stage, until};

struct Counting {
    folder: Folder,
}

impl Counting {
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
async fn r_saf_3_a_call_that_may_change_something_is_written_once() {
    // What the server does after it has carried the call out, the code, whether the outcome is unknown.
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
        let server = Counting::new();
        let stage = Stage::up(server.settings()).await;
        for tool in ["delete_account", "frobnicate", "get_account"] {
            let error = stage.refused(tool, json!({ "how": how }), code).await;
            let is_unknown = is_unknown && tool != "get_account";
            assert_eq!(error["details"]["outcome"] == "unknown", is_unknown, "{tool} {how}: {error}");
            let says_so = error["message"].as_str().unwrap().ends_with("Check before repeating it");
            assert_eq!(says_so, is_unknown, "{tool} {how}: {error}");
            assert_eq!(server.executed(tool), 1, "{tool} {how}");
            // The next call is answered, by a new process if the old one is gone.
            assert_eq!(stage.get("get_account", json!({})).await, "done", "{tool} {how}");
            std::fs::remove_file(server.file()).unwrap();
        }
    }
}

#[tokio::test]
async fn r_saf_5_a_call_without_an_answer_may_have_been_carried_out() {
    for how in ["silence", "other_id", "deaf"] {
        let server = Counting::new();
        let mut settings = server.settings();
        settings.timeout = Duration::from_secs(2);
        let stage = Stage::up(settings).await;
        let error = stage.refused("delete_account", json!({ "how": how }), "UPSTREAM_TIMEOUT").await;
        assert_eq!(error["details"]["outcome"], "unknown", "{how}: {error}");
        until("it is asked again", async || stage.ask("get_account", json!({})).await["success"] == true).await;
        assert_eq!(server.executed("delete_account"), 1, "{how}");
    }
}

#[tokio::test]
async fn a_call_that_is_stopped_in_the_middle_may_have_been_carried_out() {
    let server = Counting::new();
    let stage = Arc::new(Stage::up(server.settings()).await);
    let call = {
        let stage = stage.clone();
        tokio::spawn(async move { stage.ask("delete_account", json!({ "how": "silence" })).await })
    };
    until("the call is under way", async || server.executed("delete_account") == 1).await;
    // The server ends because another call makes it.
    stage.refused("frobnicate", json!({ "how": "exit" }), "UPSTREAM_UNAVAILABLE").await;
    let answer = call.await.unwrap();
    assert_eq!(answer["error"]["code"], "UPSTREAM_UNAVAILABLE", "{answer}");
    assert_eq!(answer["error"]["details"]["outcome"], "unknown", "{answer}");
    assert_eq!((server.executed("delete_account"), server.executed("frobnicate")), (1, 1));
}

#[tokio::test]
async fn a_server_that_cannot_be_started_again_did_nothing() {
    let server = Counting::new();
    let mut settings = server.settings();
    let script = server.folder.file("server.py");
    if let Transport::Stdio { args, .. } = &mut settings.transport {
        std::fs::copy(&args[0], &script).unwrap();
        args[0].clone_from(&script);
    }
    let stage = Stage::up(settings).await;
    std::fs::write(&script, "raise SystemExit(1)").unwrap();
    let error = stage.refused("delete_account", json!({ "how": "exit" }), "UPSTREAM_UNAVAILABLE").await;
    assert_eq!(error["details"]["outcome"], "unknown", "{error}");
    let error = stage.refused("delete_account", json!({}), "UPSTREAM_UNAVAILABLE").await;
    assert!(error["details"]["outcome"].is_null(), "nothing was sent: {error}");
    assert_eq!(server.executed("delete_account"), 1);
}

#[tokio::test]
async fn a_call_that_was_written_but_not_read_may_still_be_carried_out() {
    let server = Counting::new();
    let mut settings = server.settings();
    settings.timeout = Duration::from_secs(2);
    let stage = Stage::up(settings).await;
    let deaf = stage.ask("delete_account", json!({ "how": "deaf" }));
    let unread = stage.ask("frobnicate", json!({}));
    for answer in futures::future::join_all([deaf, unread]).await {
        assert_eq!(answer["error"]["code"], "UPSTREAM_TIMEOUT", "{answer}");
        assert_eq!(answer["error"]["details"]["outcome"], "unknown", "{answer}");
    }
    until("it is replaced", async || stage.ask("get_account", json!({})).await["success"] == true).await;
    assert_eq!((server.executed("delete_account"), server.executed("frobnicate")), (1, 0));
}
