//! Interrogation asks for the identity and the tools of a server, and keeps the exact bytes.

use std::sync::Arc;

use aquifer_upstream::interrogate;
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::support::{Folder, Gateway, HttpServer, fake, script};

/// The tool list as the server writes it, requested directly.
fn bytes_of_tools() -> String {
    use std::io::{Read, Write};
    let mut child = std::process::Command::new("python3")
        .arg(script())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n").unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    child.wait().unwrap();
    let begin = text.find("{\"tools\": ").unwrap() + "{\"tools\": ".len();
    text.get(begin..).unwrap().trim_end().strip_suffix("}}").unwrap().to_owned()
}

#[tokio::test]
async fn r_dis_1_interrogation_sends_only_the_handshake_and_the_list_request() {
    let folder = Folder::new();
    let journal = folder.file("journal");
    let interrogation = interrogate(&fake(&["--journal", &journal, "--pages", "3"])).await.unwrap();
    let asked = std::fs::read_to_string(&journal).unwrap();
    let expected = ["initialize", "notifications/initialized", "tools/list", "tools/list", "tools/list"];
    assert_eq!(asked.lines().collect::<Vec<_>>(), expected);
    assert_eq!(interrogation.server.name.as_deref(), Some("fake"));
    assert_eq!(interrogation.server.title.as_deref(), Some("Fake"), "cleaned");
    assert_eq!(interrogation.instructions.as_deref(), Some("Be kind."));
    assert_eq!(interrogation.protocol, "2025-11-25");
}

#[tokio::test]
async fn r_dis_2_the_capture_holds_the_exact_bytes() {
    let expected = bytes_of_tools();
    let interrogation = interrogate(&fake(&[])).await.unwrap();
    assert_eq!(interrogation.capture.tools_text(), expected);
    for flags in [[].as_slice(), &["--events"]] {
        let server = HttpServer::start(0, flags);
        let interrogation = interrogate(&server.settings()).await.unwrap();
        assert_eq!(interrogation.capture.tools_text(), expected, "{flags:?}");
    }
    let paged = interrogate(&fake(&["--pages", "4"])).await.unwrap();
    let joined: Vec<Value> = serde_json::from_str(paged.capture.tools_text()).unwrap();
    assert_eq!(json!(joined), serde_json::from_str::<Value>(&expected).unwrap());
}

#[tokio::test]
async fn r_dis_2_no_secret_is_written() {
    let mut settings = fake(&["--ask-for-secret", "--token", "s3cr3t-argument"]);
    let aquifer_upstream::Transport::Stdio { env, .. } = &mut settings.transport else { unreachable!() };
    env.push(("API_KEY".to_owned(), "s3cr3t-variable".to_owned()));
    let folder = Folder::new();
    settings.cache_dir = Some(folder.0.clone());
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(log.clone()).finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    let interrogation = interrogate(&settings).await.unwrap();
    let bundle = interrogation.bundle(&settings, Timestamp::UNIX_EPOCH).write().unwrap();
    let gateway = Gateway::ready(settings.clone()).await;
    crate::support::until_cached(&folder.0).await;
    let cached = std::fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().path());
    let cached: String = cached.map(|file| std::fs::read_to_string(file).unwrap()).collect();
    gateway.refused("die", json!({}), "UPSTREAM_UNAVAILABLE").await;
    let log = log.text();
    assert!(log.contains("environment:") && log.contains("[redacted]"), "{log}");
    for text in [bundle, cached, log, format!("{settings:?} {:?}", gateway.upstream)] {
        assert!(!text.contains("s3cr3t"), "{text}");
    }
}

/// The log of this thread, on which all tasks of such a test run.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().clone()).unwrap()
    }
}

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> tracing_subscriber::fmt::MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn an_endless_list_is_cut() {
    let interrogation = interrogate(&fake(&["--endless"])).await.unwrap();
    assert!(!interrogation.capture.tools().is_empty());
}

#[tokio::test]
async fn servers_of_the_newest_revision_are_supported() {
    let interrogation = interrogate(&fake(&["--stateless"])).await.unwrap();
    assert_eq!((interrogation.protocol.as_str(), interrogation.server.version.as_deref()), ("2026-07-28", Some("2.0")));
    let gateway = Gateway::ready(fake(&["--stateless"])).await;
    let meta = gateway.get("last_meta", json!({})).await;
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "aquifer");
    let server = HttpServer::start(0, &["--stateless"]);
    let gateway = Gateway::ready(server.settings()).await;
    assert_eq!(gateway.get("echo", json!({ "text": "x" })).await, json!({ "text": "x" }));
}

#[tokio::test]
async fn failures_report_the_cause_without_details() {
    for (settings, words) in [
        (aquifer_upstream::Settings::stdio("x", "/no/such/program-anywhere", ["--key", "s3cr3t"]), "cannot be started"),
        (fake(&["--exit-at-start"]), "process ended"),
        (aquifer_upstream::Settings::http("x", "http://127.0.0.1:9/mcp?token=s3cr3t"), "cannot be reached"),
        (aquifer_upstream::Settings::http("x", "ftp://127.0.0.1/s3cr3t"), "configuration"),
    ] {
        let failure = interrogate(&settings).await.unwrap_err();
        assert_eq!(failure.code().as_str(), "UPSTREAM_UNAVAILABLE", "{failure:?}");
        assert!(failure.message().contains(words), "{failure:?}");
        assert!(!format!("{failure:?}").contains("s3cr3t"), "{failure:?}");
        assert!(!failure.message().contains("/no/such"), "{failure:?}");
    }
}
