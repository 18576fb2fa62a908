use std::time::Duration;

use aquifer_gate::confirm::approvals::Status;
use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use parking_lot::Mutex;
use serde_json::Value;

use super::sender::SIGNATURE_HEADER;
use super::signature::sign;
use super::*;

const SECRET: &str = "a secret of the service";

/// A service that answers with these statuses, one after the other, and then with success.
struct Service {
    url: String,
    received: mpsc::UnboundedReceiver<(HeaderMap, Bytes)>,
}

impl Service {
    async fn start(statuses: &[StatusCode]) -> Self {
        let (sender, received) = mpsc::unbounded_channel();
        let statuses = Arc::new(Mutex::new(statuses.iter().rev().copied().collect::<Vec<_>>()));
        let answer = move |headers: HeaderMap, body: Bytes| async move {
            sender.send((headers, body)).unwrap();
            let status = statuses.lock().pop().unwrap_or(StatusCode::NO_CONTENT);
            (status, [("location", "/elsewhere")])
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook?key=in-the-address", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, received }
    }

    async fn next(&mut self) -> (HeaderMap, Bytes) {
        tokio::time::timeout(Duration::from_secs(60), self.received.recv()).await.unwrap().unwrap()
    }
}

fn approval(id: &str) -> Approval {
    let now = Timestamp::now();
    Approval {
        id: id.to_owned(),
        source: "clinic".to_owned(),
        place: "postgres://db.internal/clinic".to_owned(),
        operation: "delete_patient".to_owned(),
        danger: "destructive".to_owned(),
        caller: Some("anna".to_owned()),
        client_name: None,
        session_id: None,
        request_id: Some("req_1".to_owned()),
        message: "Delete patient 4 (\"Carla\")?".to_owned(),
        reasons: vec!["This deletes data".to_owned()],
        parameter_count: 1,
        call_bytes: 10,
        asked_at: now,
        expires_at: now + Duration::from_secs(300),
        is_editable: false,
        offers_memory: false,
        status: Status::Pending,
        decided_by: None,
        decision_reason: None,
    }
}

/// A webhook whose attempts follow each other at once.
fn webhook(url: &str) -> ApprovalWebhook {
    let mut sender = Sender::new(url, SECRET).unwrap();
    sender.retry_delays = [Duration::ZERO; 2];
    ApprovalWebhook::with_sender(sender, 2, Some("https://aquifer.example/".to_owned()))
}

#[tokio::test]
async fn a_notice_is_signed_and_has_no_values_of_the_call() {
    let mut service = Service::start(&[]).await;
    webhook(&service.url).on_created(&approval("k3vm7pqa"));
    let (headers, body) = service.next().await;
    let notice: Value = serde_json::from_slice(&body).unwrap();
    let names: Vec<&str> = notice.as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected =
        ["id", "source", "operation", "danger", "message", "reasons", "asked_at", "expires_at", "url"].to_vec();
    expected.sort_unstable();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, expected);
    assert_eq!(notice["url"], "https://aquifer.example/approvals/k3vm7pqa");
    assert_eq!(notice["message"], "'delete_patient' of source 'clinic' needs an approval");
    assert!(!notice.to_string().contains("Carla") && !notice.to_string().contains("db.internal"), "{notice}");

    assert_eq!(headers["content-type"], "application/json");
    let signature = headers[SIGNATURE_HEADER].to_str().unwrap();
    let seconds = signature.strip_prefix("t=").and_then(|rest| rest.split_once(',')).unwrap().0;
    let time = Timestamp::from_second(seconds.parse().unwrap()).unwrap();
    assert!(time.duration_since(Timestamp::now()).abs() < jiff::SignedDuration::from_mins(5));
    assert_eq!(signature, sign(SECRET.as_bytes(), time, &body));
}

#[tokio::test]
async fn a_notice_is_sent_three_times_at_most() {
    let down = StatusCode::SERVICE_UNAVAILABLE;
    let mut service = Service::start(&[down, StatusCode::TOO_MANY_REQUESTS, down]).await;
    let webhook = webhook(&service.url);
    webhook.on_created(&approval("first"));
    webhook.on_created(&approval("second"));
    let mut ids = Vec::new();
    for _ in 0..4 {
        let (_, body) = service.next().await;
        ids.push(serde_json::from_slice::<Value>(&body).unwrap()["id"].as_str().unwrap().to_owned());
    }
    assert_eq!(ids, ["first", "first", "first", "second"]);
}

#[tokio::test]
async fn a_refused_notice_and_a_redirect_are_not_repeated() {
    let mut service = Service::start(&[StatusCode::FORBIDDEN, StatusCode::TEMPORARY_REDIRECT]).await;
    let webhook = webhook(&service.url);
    for id in ["first", "second"] {
        webhook.on_created(&approval(id));
    }
    assert!(service.next().await.1.starts_with(b"{\"id\":\"first\""));
    assert!(service.next().await.1.starts_with(b"{\"id\":\"second\""));
    webhook.on_created(&approval("third"));
    assert!(service.next().await.1.starts_with(b"{\"id\":\"third\""));
}

#[tokio::test]
async fn a_full_queue_and_approvals_that_are_over_are_skipped() {
    let mut service = Service::start(&[]).await;
    let sender = Sender::new(&service.url, SECRET).unwrap();
    // The task that sends does not run before the first await.
    let webhook = ApprovalWebhook::with_sender(sender, 2, None);
    webhook.on_created(&Approval { expires_at: Timestamp::UNIX_EPOCH, ..approval("over") });
    for id in ["fits", "too many", "too many"] {
        webhook.on_created(&approval(id));
    }
    webhook.flush().await;
    let (_, body) = service.next().await;
    let notice: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((&notice["id"], &notice["url"]), (&"fits".into(), &Value::Null));
    assert!(service.received.try_recv().is_err());
    assert_eq!(*webhook.outstanding.borrow(), 0);
}

#[test]
fn addresses_and_secrets_are_checked() {
    let good = ["https://hooks.example/x", "http://127.0.0.1:1/x", "http://[::1]:1/", "http://localhost:1/"];
    for url in good {
        assert!(Sender::new(url, SECRET).is_ok(), "{url}");
    }
    let bad = ["http://hooks.example/?key=k-e-y", "ftp://127.0.0.1/", "hooks.example", "", "http://localhost.example/"];
    for url in bad {
        let error = Sender::new(url, SECRET).err().unwrap().to_string();
        assert!(!error.contains("k-e-y"), "{error}");
    }
    assert!(Sender::new("https://hooks.example/x", "too short").is_err());
}
