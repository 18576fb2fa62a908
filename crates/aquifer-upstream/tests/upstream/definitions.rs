//! Servers whose definitions the test writes, and stores that can fail.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use aquifer_engine::clock::SystemClock;
use aquifer_engine::store::{MemoryStore, Record, SpendResult, StateStore, StoreError};
use aquifer_engine::{Engine, Source};
use aquifer_protocol::surface::{Mode, Profile, Surface};
use aquifer_upstream::{PinStore, Settings, Upstream};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::support::{Folder, Gateway, HttpServer, fake, until};

/// The transport of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransportKind {
    Stdio,
    Http,
}

pub(crate) const TRANSPORTS: [TransportKind; 2] = [TransportKind::Stdio, TransportKind::Http];

/// A server that lists the tools in a file.
pub(crate) struct ScriptedServer {
    pub(crate) folder: Folder,
    transport: TransportKind,
    /// Ends with the test.
    served: Option<HttpServer>,
}

impl ScriptedServer {
    pub(crate) fn new(transport: TransportKind, tools: &Value) -> Self {
        let folder = Folder::new();
        let mut server = Self { folder, transport, served: None };
        server.list(tools);
        if transport == TransportKind::Http {
            let (file, journal) = (server.folder.file("tools.json"), server.folder.file("journal"));
            server.served = Some(HttpServer::start(0, &["--tools-file", &file, "--journal", &journal]));
        }
        server
    }

    /// Makes the server list these tools from now on.
    pub(crate) fn list(&self, tools: &Value) {
        let draft = self.folder.0.join("draft");
        std::fs::write(&draft, tools.to_string()).unwrap();
        std::fs::rename(draft, self.folder.0.join("tools.json")).unwrap();
    }

    /// The names of the tools that were called.
    pub(crate) fn called(&self) -> Vec<String> {
        let journal = std::fs::read_to_string(self.folder.file("journal")).unwrap_or_default();
        journal.lines().filter_map(|line| line.strip_prefix("called ")).map(str::to_owned).collect()
    }

    /// Its settings, with a cache of its own.
    pub(crate) fn settings(&self) -> Settings {
        let mut settings = match (self.transport, &self.served) {
            (TransportKind::Http, Some(served)) => served.settings(),
            _ => fake(&["--tools-file", &self.folder.file("tools.json"), "--journal", &self.folder.file("journal")]),
        };
        settings.cache_dir = Some(self.cache());
        settings
    }

    pub(crate) fn cache(&self) -> std::path::PathBuf {
        self.folder.0.join("cache")
    }

    /// Waits until the cache contains this text.
    pub(crate) async fn cached(&self, ending: &str, text: &str) {
        until("the cache is written", async || files(&self.cache(), ending).iter().any(|file| file.contains(text)))
            .await;
    }
}

fn files(folder: &Path, ending: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.ends_with(ending) && (ending != ".json" || !name.ends_with(".accepted.json"))
    });
    ours.filter_map(|entry| std::fs::read_to_string(entry.path()).ok()).collect()
}

/// A tool that is declared read-only.
pub(crate) fn reader(name: &str, description: &str) -> Value {
    json!({ "name": name, "description": description, "annotations": { "readOnlyHint": true },
            "inputSchema": { "type": "object", "properties": { "id": { "type": "integer" } } } })
}

/// A store shared by several upstreams, like a file shared by processes. It can be made to fail.
pub(crate) struct SharedStore {
    inner: MemoryStore,
    pub(crate) fails_reading: AtomicBool,
    pub(crate) fails_writing: AtomicBool,
    /// Whether reads never return.
    pub(crate) hangs_reading: AtomicBool,
    /// How many reads were started that never return.
    pub(crate) hung: AtomicUsize,
}

impl SharedStore {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            inner: MemoryStore::new(Arc::new(SystemClock), 1_000),
            fails_reading: AtomicBool::new(false),
            fails_writing: AtomicBool::new(false),
            hangs_reading: AtomicBool::new(false),
            hung: AtomicUsize::new(0),
        })
    }

    pub(crate) fn fail(&self, reading: bool, writing: bool) {
        self.fails_reading.store(reading, Ordering::SeqCst);
        self.fails_writing.store(writing, Ordering::SeqCst);
    }

    pub(crate) fn pinning(self: &Arc<Self>) -> PinStore {
        PinStore::new(self.clone())
    }

    /// The keys of all pins.
    pub(crate) async fn keys(&self) -> Vec<String> {
        self.inner.list("pins/", 100).await.unwrap().into_iter().map(|(key, _)| key).collect()
    }
}

fn refused<T: Send + 'static>() -> BoxFuture<'static, Result<T, StoreError>> {
    std::future::ready(Err(StoreError("out of order".to_owned()))).boxed()
}

impl StateStore for SharedStore {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        if self.hangs_reading.load(Ordering::SeqCst) {
            self.hung.fetch_add(1, Ordering::SeqCst);
            return std::future::pending().boxed();
        }
        if self.fails_reading.load(Ordering::SeqCst) { refused() } else { self.inner.get(key) }
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a str,
        expected: Option<u64>,
        value: Vec<u8>,
        keep: Duration,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        if self.fails_writing.load(Ordering::SeqCst) {
            return refused();
        }
        self.inner.compare_and_set(key, expected, value, keep)
    }

    fn list<'a>(&'a self, prefix: &'a str, most: usize) -> BoxFuture<'a, Result<Vec<(String, Record)>, StoreError>> {
        self.inner.list(prefix, most)
    }

    fn spend<'a>(
        &'a self,
        key: &'a str,
        amount: u64,
        most: u64,
        window: Duration,
    ) -> BoxFuture<'a, Result<SpendResult, StoreError>> {
        self.inner.spend(key, amount, most, window)
    }
}

impl Gateway {
    /// An upstream whose definitions are pinned in this store. Does not wait for the server.
    pub(crate) async fn pinned(settings: Settings, store: &Arc<SharedStore>) -> Self {
        Self::with_pinning(settings, store.pinning()).await
    }

    pub(crate) async fn with_pinning(settings: Settings, pinning: PinStore) -> Self {
        let upstream = Upstream::open(settings, Arc::new(SystemClock), pinning).await;
        let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
        let engine =
            Engine::builder(surface).dangerously_let_everything_pass().source(upstream.clone()).build().unwrap();
        Self { upstream, engine }
    }

    /// Like `pinned`, and waits until the server has listed its tools.
    pub(crate) async fn pinned_and_ready(settings: Settings, store: &Arc<SharedStore>) -> Self {
        let gateway = Self::pinned(settings, store).await;
        gateway.upstream.ready().await.unwrap_or_else(|failure| panic!("{failure:?}"));
        gateway.refresh();
        gateway
    }

    /// Waits until exactly these operations are quarantined.
    pub(crate) async fn wait_for_quarantine(&self, names: &[&str]) {
        let mut found = Vec::new();
        until(&format!("{names:?} are quarantined"), async || {
            self.refresh();
            found = self.upstream.quarantined().iter().map(ToString::to_string).collect();
            found == names
        })
        .await;
    }

    /// Everything that callers can see, as text.
    pub(crate) async fn visible_text(&self) -> String {
        let mut visible_text = String::new();
        for query in [
            json!({ "query": "operations", "fields": "full" }),
            json!({ "query": "types" }),
            json!({ "query": "summary" }),
            json!({ "query": "policy" }),
        ] {
            visible_text.push_str(&self.get("introspect", query).await.to_string());
        }
        for name in self.operations() {
            let one = json!({ "query": "operations", "name": name, "fields": "full" });
            visible_text.push_str(&self.get("introspect", one).await.to_string());
        }
        visible_text.push_str(&format!("{:?}", self.engine.snapshot().tools()));
        visible_text.push_str(&format!("{:?}", self.upstream.offering()));
        visible_text
    }
}
