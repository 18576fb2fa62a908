//! A change that is queued while the configuration is replaced is not sent.

use aquifer_engine::Mount;
use aquifer_upstream::{Settings, Transport};
use serde_json::{Value, json};

use crate::support::{Folder, Gateway, HttpServer, fake, kill, until};

/// A scripted server whose tool `get_later` answers when released, and a record of its calls.
struct HeldServer {
    folder: Folder,
}

impl HeldServer {
    fn new() -> Self {
        let tool = |name: &str, hints: Value| json!({ "name": name, "annotations": hints, "inputSchema": { "type": "object" } });
        let (reads, destroys) = (json!({ "readOnlyHint": true }), json!({ "destructiveHint": true }));
        let tools = json!([tool("get_later", reads), tool("delete_thing", destroys), tool("frobnicate", json!({}))]);
        let folder = Folder::new();
        std::fs::write(folder.file("tools"), tools.to_string()).unwrap();
        Self { folder }
    }

    fn flags(&self) -> Vec<String> {
        vec!["--tools-file".into(), self.folder.file("tools"), "--journal".into(), self.folder.file("journal")]
    }

    fn release(&self) {
        std::fs::write(self.folder.file("tools.release"), "").unwrap();
    }

    fn called(&self, tool: &str) -> usize {
        let journal = std::fs::read_to_string(self.folder.file("journal")).unwrap_or_default();
        journal.lines().filter(|line| *line == format!("called {tool}")).count()
    }
}

/// The new configuration: the same source again, or none.
fn mounts(gateway: &Gateway, is_removed: bool) -> Vec<Mount> {
    if is_removed { Vec::new() } else { vec![Mount::new(gateway.upstream.clone())] }
}

#[tokio::test]
async fn r_saf_2_a_queued_change_is_not_sent_under_another_configuration() {
    for (over_http, is_removed) in [(false, false), (false, true), (true, false), (true, true)] {
        let held = HeldServer::new();
        let flags = held.flags();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let server = over_http.then(|| HttpServer::start(0, &flags));
        let settings = server.as_ref().map_or_else(|| fake(&flags), HttpServer::settings);
        let gateway = Gateway::ready(Settings { concurrency: 1, ..settings }).await;
        let changing = async {
            until("the slow read is under way", async || held.called("get_later") == 1).await;
            gateway.engine.remount(mounts(&gateway, is_removed)).unwrap();
            held.release();
        };
        let read = gateway.ask("get_later", json!({}));
        let (deleted, other) = (gateway.ask("delete_thing", json!({})), gateway.ask("frobnicate", json!({})));
        let (read, deleted, other, ()) = tokio::join!(read, deleted, other, changing);
        assert_eq!(read["success"], true, "a read finishes under what it began with: {read}");
        for answer in [deleted, other] {
            assert_eq!(answer["error"]["code"], "CONFLICT_VERSION_MISMATCH", "http: {over_http}: {answer}");
            assert_eq!(answer["error"]["details"]["outcome"], Value::Null, "nothing was sent: {answer}");
        }
        assert_eq!(held.called("delete_thing") + held.called("frobnicate"), 0, "http: {over_http}");
        if !is_removed {
            assert_eq!(gateway.ask("delete_thing", json!({})).await["success"], true, "it can be sent again");
            assert_eq!(held.called("delete_thing"), 1);
        }
    }
}

#[tokio::test]
async fn r_saf_2_a_change_waiting_for_its_server_is_not_sent_under_another_configuration() {
    for is_removed in [false, true] {
        let held = HeldServer::new();
        let (barrier, started) = (held.folder.file("barrier"), held.folder.file("started"));
        let mut settings = fake(&[]);
        let Transport::Stdio { command, args, .. } = &mut settings.transport else { panic!("on pipes") };
        let script = format!(
            "echo $$ >> '{started}'; while [ -e '{barrier}' ]; do sleep 0.05; done; exec python3 '{}' {}",
            args[0],
            held.flags().join(" ")
        );
        (*command, *args) = ("sh".into(), vec!["-c".into(), script]);
        let gateway = Gateway::ready(settings).await;
        let pids = || -> Vec<u32> {
            let lines = std::fs::read_to_string(&started).unwrap();
            lines.lines().map(|line| line.parse().unwrap()).collect()
        };
        std::fs::write(&barrier, "").unwrap();
        kill(pids()[0]);
        until("it is gone", async || !gateway.upstream.is_connected()).await;
        let changing = async {
            until("it is being started again", async || pids().len() == 2).await;
            gateway.engine.remount(mounts(&gateway, is_removed)).unwrap();
            std::fs::remove_file(&barrier).unwrap();
        };
        let (answer, ()) = tokio::join!(gateway.ask("delete_thing", json!({})), changing);
        assert_eq!(answer["error"]["code"], "CONFLICT_VERSION_MISMATCH", "{answer}");
        assert_eq!(held.called("delete_thing"), 0);
    }
}
