//! An upstream behind an engine, with helpers to call it. Every answer is checked: no message may contain what belongs
//! into the log (R-RES-4).

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use aquifer_engine::clock::SystemClock;
use aquifer_engine::{Caller, Context, Engine, Reply};
use aquifer_protocol::error::wording::looks_like_a_leak;
use aquifer_protocol::limits::Limits;
use aquifer_protocol::response::Attachment;
use aquifer_protocol::surface::{Mode, Profile, Receiver, Surface};
use aquifer_upstream::{Settings, Upstream};
use serde_json::{Value, json};

/// How long to wait for any event.
pub(crate) const WAIT_TIMEOUT: Duration = Duration::from_secs(30);

/// A file that never exists: a call that waits for it ends when it is cancelled.
pub(crate) const NEVER: &str = "/nonexistent/release";

/// How often each fault is repeated.
pub(crate) const ROUNDS: usize = 25;

/// The scripted server.
pub(crate) fn script() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/upstream/server.py").display().to_string()
}

/// The scripted server over stdio with these flags and short timeouts.
pub(crate) fn fake(flags: &[&str]) -> Settings {
    let args = [script()].into_iter().chain(flags.iter().map(|flag| (*flag).to_owned()));
    let mut settings = Settings::stdio("fake", "python3", args);
    settings.timeout = Duration::from_secs(10);
    settings.start_timeout = Duration::from_secs(15);
    settings
}

/// An upstream behind an engine.
pub(crate) struct Gateway {
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) engine: Engine,
}

impl Gateway {
    pub(crate) fn new(settings: Settings) -> Self {
        let upstream = Upstream::new(settings, Arc::new(SystemClock));
        let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
        let engine =
            Engine::builder(surface).dangerously_let_everything_pass().source(upstream.clone()).build().unwrap();
        Self { upstream, engine }
    }

    /// A gateway whose upstream is connected.
    pub(crate) async fn ready(settings: Settings) -> Self {
        let gateway = Self::new(settings);
        gateway.upstream.ready().await.unwrap_or_else(|failure| panic!("{failure:?}"));
        gateway.refresh();
        gateway
    }

    pub(crate) fn refresh(&self) {
        self.engine.refresh().unwrap();
    }

    pub(crate) async fn ask(&self, operation: &str, params: Value) -> Value {
        self.ask_as(operation, params, context()).await
    }

    pub(crate) async fn ask_as(&self, operation: &str, params: Value, context: Context) -> Value {
        self.ask_whole(operation, params, context).await.0
    }

    /// The envelope and the blocks that follow it.
    pub(crate) async fn ask_whole(&self, operation: &str, params: Value, context: Context) -> (Value, Vec<Attachment>) {
        let request = json!({ "operation": operation, "params": params });
        let asked = self.engine.handle(&Receiver::Unified, request.as_object().unwrap().clone(), context);
        let reply = tokio::time::timeout(WAIT_TIMEOUT, asked).await.unwrap_or_else(|_| panic!("{operation} hangs"));
        let Reply::Response(response) = reply else { panic!("{operation}: a question") };
        let mut rendered = response.render(&Limits::default());
        let value: Value = rendered.value();
        assert_eq!(serde_json::from_str::<Value>(&rendered.text).unwrap(), value);
        let message = value["error"]["message"].as_str().unwrap_or_default();
        assert!(!looks_like_a_leak(message), "{message}");
        (value, rendered.attachments)
    }

    /// Calls an operation that must succeed. Returns `data`.
    pub(crate) async fn get(&self, operation: &str, params: Value) -> Value {
        let answer = self.ask(operation, params.clone()).await;
        assert_eq!(answer["success"], json!(true), "{operation} {params}: {answer}");
        answer["data"].clone()
    }

    /// Calls an operation that must fail with this code. Returns `error`.
    pub(crate) async fn refused(&self, operation: &str, params: Value, code: &str) -> Value {
        let answer = self.ask(operation, params.clone()).await;
        assert_eq!(answer["error"]["code"], code, "{operation} {params}: {answer}");
        answer["error"].clone()
    }

    /// Incremented whenever the upstream changes its offer.
    pub(crate) fn upstream_generation(&self) -> u64 {
        aquifer_engine::source::LiveSource::generation(&*self.upstream)
    }

    /// The names of all operations but `introspect`.
    pub(crate) fn operations(&self) -> Vec<String> {
        let snapshot = self.engine.snapshot();
        let names = snapshot.catalog().operations().iter().map(|operation| operation.name.to_string());
        names.filter(|name| name != "introspect").collect()
    }

    /// The process id of the upstream.
    pub(crate) async fn pid(&self) -> u32 {
        let answer = self.get("identity", json!({})).await;
        u32::try_from(answer[0].as_u64().unwrap()).unwrap()
    }
}

pub(crate) fn context() -> Context {
    Context::new(Caller::session("tests"), "req_test")
}

/// Waits until a folder contains a complete catalog and the accepted definitions.
pub(crate) async fn until_cached(folder: &std::path::Path) {
    let is_whole = |file: &std::path::Path| file.extension().is_some_and(|extension| extension == "json");
    until("the cache is written", async || {
        let files = std::fs::read_dir(folder).into_iter().flatten();
        files.flatten().filter(|file| is_whole(&file.path())).count() == 2
    })
    .await;
}

/// Waits until a condition holds.
pub(crate) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + WAIT_TIMEOUT;
    while !is_so().await {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Whether a process is running and not a zombie.
pub(crate) fn is_alive(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = status.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

pub(crate) fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

/// A temporary folder that is deleted after the test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("aquifer-upstream-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        // A killed run with the same process id may have left one behind.
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The scripted server over HTTP.
pub(crate) struct HttpServer {
    process: Child,
    pub(crate) port: u16,
}

impl HttpServer {
    pub(crate) fn start(port: u16, flags: &[&str]) -> Self {
        let mut process = Command::new("python3")
            .args([script().as_str(), "--http", &port.to_string()])
            .args(flags)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { port: line.trim().parse().unwrap(), process }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    pub(crate) fn settings(&self) -> Settings {
        let mut settings = Settings::http("fake", &self.url());
        settings.timeout = Duration::from_secs(10);
        settings.start_timeout = Duration::from_secs(15);
        settings
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
