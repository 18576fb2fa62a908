//! Tests of the client against servers that misbehave.

mod addresses;
mod credentials;
mod faults;
mod proxies;
mod redirects;
mod retries;
pub(crate) mod server;
mod statuses;
mod tls;
mod tokens;

use std::time::Duration;

use aquifer_protocol::error::{Code, Failure};
use aquifer_rest::client::Effect;
use aquifer_rest::route::{HttpRequest, Method, RequestBody};
use aquifer_rest::{Authenticator, ClientSettings, HttpAnswer, HttpClient, RestError, SendRules};
use reqwest::Url;
use tokio_util::sync::CancellationToken;

use server::Server;

/// Settings that do not wait long between attempts.
pub(crate) fn settings(server: &Server) -> ClientSettings {
    ClientSettings { retry_delay: Duration::from_millis(1), ..ClientSettings::new(server.url()) }
}

pub(crate) fn client(settings: &ClientSettings) -> HttpClient {
    HttpClient::new(settings, Authenticator::none()).unwrap()
}

pub(crate) fn get(url: &str) -> HttpRequest {
    HttpRequest { method: Method::Get, url: Url::parse(url).unwrap(), headers: Vec::new(), body: None }
}

pub(crate) fn post(url: &str) -> HttpRequest {
    let body = RequestBody { media_type: "application/json".to_owned(), bytes: "{\"a\":1}".into() };
    HttpRequest { method: Method::Post, body: Some(body), ..get(url) }
}

pub(crate) fn reads() -> SendRules {
    SendRules { effect: Effect::Reads, ..SendRules::default() }
}

/// Sends a request. Only GET reads.
pub(crate) async fn send(client: &HttpClient, request: HttpRequest) -> Result<HttpAnswer, RestError> {
    let rules = if request.method == Method::Get { reads() } else { SendRules::default() };
    client.send(request, &rules, &CancellationToken::new()).await
}

/// The failure of a request, as callers see it.
pub(crate) async fn failure(client: &HttpClient, request: HttpRequest) -> Failure {
    send(client, request).await.expect_err("the request fails").into_failure("pets")
}

#[track_caller]
pub(crate) fn assert_code(failure: &Failure, code: Code) {
    assert_eq!(failure.code(), code, "{}", failure.message());
    assert_eq!(failure.details()["source"], "pets", "{}", failure.message());
}
