//! A small HTTP API that behaves as APIs do: entity tags, four ways to page, tokens that expire, limits and errors. It
//! records every request that it gets.

mod catalog;
mod files;
mod lists;
mod tokens;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::oneshot;

pub(crate) use files::{adapter, description};

use catalog::Products;
use tokens::Tokens;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) method: String,
    /// The path without the query.
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub(crate) fn number(&self, name: &str) -> Option<usize> {
        self.query.get(name)?.parse().ok()
    }
}

/// Answers requests in place of the API, or leaves them to it.
type Responder = dyn Fn(&Received) -> Option<Response> + Send + Sync;

#[derive(Default)]
struct Shared {
    received: Mutex<Vec<Received>>,
    responder: OnceLock<Box<Responder>>,
    products: Mutex<Products>,
    tokens: Mutex<Tokens>,
    /// The description to publish at `/openapi.yaml`.
    description: Mutex<String>,
}

/// The running API. It ends with this value.
pub(crate) struct Shop {
    port: u16,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Shop {
    pub(crate) fn start() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared::default());
        let (stop, stopped) = oneshot::channel::<()>();
        let state = shared.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                let app = axum::Router::new().fallback(handle).with_state(state);
                tokio::select! {
                    served = axum::serve(listener, app) => served.unwrap(),
                    _ = stopped => {}
                }
            });
        });
        Self { port, shared, stop: Some(stop), thread: Some(thread) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The requests for a path so far, and with that forgets everything.
    pub(crate) fn take(&self, path: &str) -> Vec<Received> {
        let received = std::mem::take(&mut *self.shared.received.lock());
        received.into_iter().filter(|request| request.path == path).collect()
    }

    /// All requests so far.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.shared.received.lock().clone()
    }

    /// The number of tokens that were issued.
    pub(crate) fn token_count(&self) -> usize {
        self.shared.tokens.lock().issued
    }

    /// Invalidates all tokens, as if their time was over.
    pub(crate) fn expire_tokens(&self) {
        self.shared.tokens.lock().valid.clear();
    }

    /// A product as it is stored.
    pub(crate) fn product(&self, id: u64) -> Option<Value> {
        self.shared.products.lock().get(id).cloned()
    }

    /// How many products there are.
    pub(crate) fn product_count(&self) -> usize {
        self.shared.products.lock().count()
    }

    /// Changes a product, as another client would.
    pub(crate) fn change(&self, id: u64, changes: &Value) {
        self.shared.products.lock().merge(id, changes).unwrap();
    }

    /// From now on somebody else changes a product whenever it has been read.
    pub(crate) fn change_after_reading(&self, id: u64) {
        self.shared.products.lock().restless = Some(id);
    }

    /// Answers requests with this function wherever it returns something.
    pub(crate) fn respond_with(&self, responder: impl Fn(&Received) -> Option<Response> + Send + Sync + 'static) {
        assert!(self.shared.responder.set(Box::new(responder)).is_ok(), "there is one already");
    }

    /// Publishes a description at `/openapi.yaml`.
    pub(crate) fn publish(&self, description: &str) {
        description.clone_into(&mut self.shared.description.lock());
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn handle(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (name.to_owned(), value.to_owned())
    };
    let query = uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()).map(pair).collect();
    let (method, path) = (method.as_str().to_owned(), uri.path().to_owned());
    let request = Received { method, path, query, headers, body: body.to_vec() };
    let count = {
        let mut received = shared.received.lock();
        received.push(request.clone());
        received.iter().filter(|earlier| earlier.path == request.path).count()
    };
    if request.path == "/slow" {
        // The caller gives up first.
        std::future::pending::<()>().await;
    }
    answer(&shared, &request, count)
}

fn answer(shared: &Shared, request: &Received, count: usize) -> Response {
    if let Some(response) = shared.responder.get().and_then(|respond| respond(request)) {
        return response;
    }
    let steps: Vec<&str> = request.path.split('/').skip(1).collect();
    match (request.method.as_str(), steps.as_slice()) {
        ("GET", ["orders" | "events" | "reviews"]) => lists::page(request),
        ("POST", ["oauth", "token"]) => shared.tokens.lock().issue(request),
        ("GET", ["account"]) => shared.tokens.lock().account(request),
        ("GET", ["moved"]) => (StatusCode::FOUND, [(header::LOCATION, "/report")]).into_response(),
        ("GET", ["report"]) => protected(request, "authorization", "Bearer s3cret-bearer"),
        ("GET", ["statistics"]) => protected(request, "x-api-key", "s3cret-key"),
        ("GET", ["limited"]) if count > 1 => limited(),
        ("GET", ["limited"]) => {
            ([("x-ratelimit-limit", "1"), ("x-ratelimit-remaining", "0")], "{\"ok\":true}").into_response()
        }
        ("GET", ["broken"]) => ([(header::CONTENT_TYPE, "application/json")], "{\"half\":").into_response(),
        ("GET", ["openapi.yaml"]) => shared.description.lock().clone().into_response(),
        ("GET", ["exports", "products"]) => ([(header::CONTENT_TYPE, "text/csv")], "id,name\n1,Lamp\n").into_response(),
        (_, ["products", ..]) => shared.products.lock().answer(request, steps.get(1..).unwrap_or_default()),
        _ => problem(404, "There is no such route."),
    }
}

/// Something that only a credential opens. The answer repeats the credential, as careless APIs do.
fn protected(request: &Received, name: &str, value: &str) -> Response {
    match request.header(name) == Some(value) {
        true => json_answer(200, &json!({ "visits": 3, "you_sent": value })),
        false => problem(401, &format!("Not accepted: {}", request.header(name).unwrap_or("nothing"))),
    }
}

fn limited() -> Response {
    let mut answer = problem(429, "Too many requests.");
    for (name, value) in [("retry-after", "60"), ("x-ratelimit-limit", "1"), ("x-ratelimit-remaining", "0")] {
        answer.headers_mut().insert(name, value.parse().unwrap());
    }
    answer
}

fn json_answer(status: u16, body: &Value) -> Response {
    let status = StatusCode::from_u16(status).unwrap();
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

/// An error (RFC 9457).
fn problem(status: u16, detail: &str) -> Response {
    let body = json!({ "type": "about:blank", "title": "Refused", "status": status, "detail": detail });
    let status = StatusCode::from_u16(status).unwrap();
    (status, [(header::CONTENT_TYPE, "application/problem+json")], body.to_string()).into_response()
}
