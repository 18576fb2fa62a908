//! Servers that a description names for single paths.

use std::sync::Arc;

use aquifer_engine::Engine;
use aquifer_protocol::surface::{Mode, Profile, Surface};
use aquifer_rest::openapi::{self, ReadOptions};
use aquifer_rest::{Api, RestSettings, RestSource};
use serde_json::json;

use super::call;
use crate::client::server::{Reply, Server};

/// An API with a server for everything, one for a path, and one for an operation.
fn api(main: &Server, other: &Server) -> Api {
    let own = json!([{ "url": format!("{}/v9", other.url()) }]);
    let description = json!({
        "openapi": "3.1.0",
        "info": {},
        "servers": [{ "url": format!("{}/v1", main.url()) }],
        "security": [{ "key": [] }],
        "components": { "securitySchemes": { "key": { "type": "apiKey", "in": "header", "name": "X-Key" } } },
        "paths": {
            "/a": { "get": { "operationId": "getA", "responses": {} } },
            "/b": { "servers": own, "get": { "operationId": "getB", "responses": {} } },
            "/c": { "get": { "operationId": "getC", "servers": own, "responses": {} } }
        }
    });
    openapi::read(&description, &ReadOptions { source: "shop".to_owned(), ..ReadOptions::default() }).unwrap()
}

async fn call_all(api: Api, other: &Server) {
    let mut settings = RestSettings::new("shop", api);
    settings.client.other_base_urls = vec![other.url()];
    settings.client.allow_private_addresses = true;
    let variable = |name: &str| (name == "SHOP_API_KEY").then(|| "key-of-the-shop".to_owned());
    let source = RestSource::new(settings, variable).unwrap();
    let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
    let builder = Engine::builder(surface).dangerously_let_everything_pass();
    let engine = builder.source(Arc::new(source)).build().unwrap();
    for operation in ["get_a", "get_b", "get_c"] {
        let answer = call(&engine, operation, json!({})).await;
        assert_eq!(answer["success"], true, "{operation}: {answer}");
    }
}

/// The paths that a server received, and whether a credential came with them.
fn received(server: &Server) -> Vec<(String, bool)> {
    server.received().into_iter().map(|one| (one.target, one.headers.contains_key("x-key"))).collect()
}

fn expected(paths: &[(&str, bool)]) -> Vec<(String, bool)> {
    paths.iter().map(|(path, has_credential)| ((*path).to_owned(), *has_credential)).collect()
}

#[tokio::test]
async fn servers_of_single_paths_get_no_credentials() {
    let main = Server::start(|_, _| Reply::json(200, "{}")).await;
    let other = Server::start(|_, _| Reply::json(200, "{}")).await;
    call_all(api(&main, &other), &other).await;
    assert_eq!(received(&main), expected(&[("/v1/a", true)]));
    assert_eq!(received(&other), expected(&[("/v9/b", false), ("/v9/c", false)]));
}

#[tokio::test]
async fn a_chosen_base_url_replaces_servers_of_single_paths() {
    let main = Server::start(|_, _| Reply::json(200, "{}")).await;
    let other = Server::start(|_, _| Reply::json(200, "{}")).await;
    let chosen = Server::start(|_, _| Reply::json(200, "{}")).await;
    let mut api = api(&main, &other);
    api.base_url = format!("{}/here", chosen.url());
    api.use_one_server();
    call_all(api, &other).await;
    assert_eq!(received(&chosen), expected(&[("/here/a", true), ("/here/b", true), ("/here/c", true)]));
    assert_eq!((main.count(), other.count()), (0, 0));
}
