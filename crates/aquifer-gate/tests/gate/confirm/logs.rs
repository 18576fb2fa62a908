//! Tokens are never logged.

use std::io::Write;
use std::sync::Arc;

use aquifer_gate::GateSettings;
use parking_lot::Mutex;
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

use crate::harness::{Harness, anna, answering, request, with_person, with_token};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Log;

    fn make_writer(&'a self) -> Log {
        self.clone()
    }
}

#[test]
fn r_saf_3_tokens_are_in_no_log_at_any_level() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(log.clone()).finish();
    let mut secrets = Vec::new();
    tracing::subscriber::with_default(subscriber, || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let harness = Harness::new(&GateSettings::default());
            let delete = || request("alpha_delete_thing", json!({ "id": "x", "pass_code": "sesame-open" }));
            let token = harness.token(delete()).await;
            harness.ask(with_token(delete(), "conf_0123456789abcdef0123456789abcdef")).await;
            harness.ask(with_token(request("alpha_delete_thing", json!({ "id": "y" })), &token)).await;
            harness.ask(with_token(delete(), &token)).await;
            harness.ask(with_token(delete(), &token)).await;
            let approval = harness.token(request("alpha_purge_thing", json!({ "id": "x" }))).await;
            let asked = harness.ask_as(delete(), with_person(anna())).await;
            let question = asked["question"].as_str().unwrap().to_owned();
            harness.ask_as(delete(), answering(with_person(anna()), &question, "decline")).await;
            harness.store.set_down(true);
            harness.ask(with_token(delete(), &token)).await;
            tracing::info!(request = ?delete(), "the log is on");
            secrets.extend([token, approval, question, "conf_0123456789abcdef0123456789abcdef".to_owned()]);
        });
    });
    let text = String::from_utf8(log.0.lock().clone()).unwrap();
    assert!(text.contains("the log is on") && text.contains("refused"), "nothing was logged: {text}");
    for secret in secrets {
        assert!(!text.contains(&secret), "{text}");
    }
}
