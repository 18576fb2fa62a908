//! A shop in a SQLite database behind an explorer, and requests of its page.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use aquifer_engine::Engine;
use aquifer_engine::clock::{SharedClock, SteadyClock, SystemClock};
use aquifer_engine::store::{MemoryStore, StateStore};
use aquifer_explorer::login::{SESSION_HEADER, begin_session};
use aquifer_explorer::{ApiError, AuditFiles, CallFeed, Explorer, Operator};
use aquifer_gate::audit::Audit;
use aquifer_gate::{GateSettings, SafetyGate};
use aquifer_protocol::surface::{Mode, Profile, Surface};
use aquifer_query::CursorKey;
use aquifer_sql::{Database, Settings};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use axum::response::Response;
use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use serde_json::{Value, json};
use tower_service::Service as _;

/// Where the page is served.
const HOST: &str = "127.0.0.1:8080";

const TABLES: &str = "
    CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id) ON DELETE CASCADE);
    CREATE TABLE salaries (id INTEGER PRIMARY KEY, amount INTEGER);
    INSERT INTO customers (name) VALUES ('Carla'), ('Dora');
    INSERT INTO orders (customer_id) VALUES (1);
";

/// A temporary directory, deleted when it is dropped.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("aquifer-explorer-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An answer to a request of the page.
pub(crate) struct PageAnswer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// JSON, or text.
    pub(crate) body: Value,
}

/// Sends a request to the pages.
pub(crate) async fn send(
    router: &Router,
    method: Method,
    path: &str,
    body: Option<Value>,
    headers: &[(&str, &str)],
) -> PageAnswer {
    let mut request = Request::builder().method(method).uri(path).header(header::HOST, HOST);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    if body.is_some() {
        request = request.header(header::CONTENT_TYPE, "application/json");
    }
    let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
    let response = router.clone().call(request.body(body).unwrap()).await.unwrap();
    let (status, headers) = (response.status(), response.headers().clone());
    let bytes = to_bytes(response.into_body(), 1 << 24).await.unwrap();
    let body = serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into());
    PageAnswer { status, headers, body }
}

/// Opens a page whose answer does not end by itself.
pub(crate) async fn open(router: &Router, path: &str, headers: &[(&str, &str)]) -> Response {
    let mut request = Request::builder().uri(path).header(header::HOST, HOST);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = router.clone().call(request.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    response
}

/// A program around the explorer that remembers what it was asked to do.
pub(crate) struct RecordingOperator {
    gate: Arc<SafetyGate>,
    /// What was asked, the request, and the person.
    pub(crate) asked: Mutex<Vec<(&'static str, Value, String)>>,
}

impl RecordingOperator {
    /// Remembers a request, unless it asks to be refused.
    fn record(&self, what: &'static str, request: Value, person: String) -> Result<(), ApiError> {
        match request["refuse"].as_str() {
            Some("CONFLICT") => return Err(ApiError::Conflict("it has changed".to_owned())),
            Some("UNAVAILABLE") => return Err(ApiError::Unavailable("there is no file".to_owned())),
            Some(_) => return Err(ApiError::Internal("the password hunter2 is wrong".to_owned())),
            None => {}
        }
        self.asked.lock().unwrap().push((what, request, person));
        Ok(())
    }
}

impl Operator for RecordingOperator {
    fn gate(&self) -> Arc<SafetyGate> {
        self.gate.clone()
    }

    fn audit_files(&self) -> AuditFiles {
        AuditFiles::default()
    }

    fn settings(&self) -> BoxFuture<'_, Result<Value, ApiError>> {
        async { Ok(json!({ "values": [] })) }.boxed()
    }

    fn review(&self) -> BoxFuture<'_, Result<Value, ApiError>> {
        async { Ok(json!({ "sources": [] })) }.boxed()
    }

    fn decide_review(&self, decision: Value, person: String) -> BoxFuture<'_, Result<(), ApiError>> {
        async move { self.record("review", decision, person) }.boxed()
    }

    fn preview_rules(&self, change: Value) -> BoxFuture<'_, Result<Value, ApiError>> {
        async move { self.record("preview", change, String::new()).map(|()| json!({ "digest": "d" })) }.boxed()
    }

    fn apply_rules(&self, change: Value, person: String) -> BoxFuture<'_, Result<(), ApiError>> {
        async move { self.record("apply", change, person) }.boxed()
    }
}

/// A shop, and the browser of a person.
pub(crate) struct Shop {
    pub(crate) store: Arc<dyn StateStore>,
    pub(crate) operator: Arc<RecordingOperator>,
    router: Router,
    session: Option<String>,
    _folder: Folder,
}

impl Shop {
    /// Without a session.
    pub(crate) async fn new() -> Self {
        let folder = Folder::new();
        let file = folder.0.join("shop.db");
        rusqlite::Connection::open(&file).unwrap().execute_batch(TABLES).unwrap();
        let mut settings = Settings::new("shop", &format!("sqlite:{}", file.display())).unwrap();
        settings.exclude = vec!["salaries".to_owned()];
        let clock = Arc::new(SteadyClock::new(Arc::new(SystemClock)));
        let shared: SharedClock = clock.clone();
        let database = Database::open(settings, CursorKey::new([7; 32]), shared.clone()).await.unwrap();
        let store: Arc<dyn StateStore> = Arc::new(MemoryStore::new(shared.clone(), 10_000));
        let audit = Audit::disabled(shared.clone());
        let gate = SafetyGate::new(&GateSettings::default(), audit.clone(), store.clone(), clock).unwrap();
        let gate = Arc::new(gate);
        let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
        let engine = Engine::builder(surface).source(database).gate(gate.clone()).store(store.clone()).build().unwrap();
        let operator = Arc::new(RecordingOperator { gate, asked: Mutex::default() });
        let explorer = Explorer {
            engine: Arc::new(engine),
            store: store.clone(),
            clock: shared,
            audit,
            operator: operator.clone(),
            feed: CallFeed::default(),
            started_at: Timestamp::now(),
        };
        Self { store, operator, router: explorer.router(), session: None, _folder: folder }
    }

    /// With a session of this person.
    pub(crate) async fn with_session(person: &str) -> Self {
        let mut shop = Self::new().await;
        let secret = begin_session(&*shop.store, &SystemClock, person).await.unwrap();
        shop.session = Some(secret);
        shop
    }

    /// Keeps the session of an answer.
    pub(crate) fn keep_session(&mut self, answer: &PageAnswer) {
        self.session = answer.body["secret"].as_str().map(str::to_owned);
    }

    /// Sends a request with these headers and the session.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        headers: &[(&str, &str)],
    ) -> PageAnswer {
        let mut all = headers.to_vec();
        all.extend(self.session.as_deref().map(|secret| (SESSION_HEADER, secret)));
        send(&self.router, method, path, body, &all).await
    }

    pub(crate) async fn get(&self, path: &str) -> PageAnswer {
        self.send(Method::GET, path, None, &[]).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> PageAnswer {
        self.send(Method::POST, path, Some(body), &[]).await
    }
}
