//! A small HTTP API on this machine: one pet, or a hundred of them. Every other request is answered with `done`.

use std::net::TcpListener;

use anyhow::Context;
use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use serde_json::{Value, json};

/// Rows of the list.
pub(crate) const ROWS: u64 = 100;

/// An API on a thread of its own, as another machine would be. It ends with the process.
pub(crate) fn start() -> anyhow::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}", listener.local_addr()?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::spawn(move || runtime.block_on(serve(listener)));
    Ok(url)
}

/// Serves the API until the process ends.
pub(crate) async fn serve(listener: TcpListener) -> anyhow::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let (one, all) = (pet(7).to_string(), (1..=ROWS).map(pet).collect::<Value>().to_string());
    let answer = |text: String| {
        get(move || {
            let text = text.clone();
            async move { json_answer(text) }
        })
    };
    let router = Router::new()
        .route("/pets", answer(all))
        .route("/pets/{id}", answer(one))
        .fallback(async || json_answer(r#"{"result":"done"}"#.to_owned()));
    axum::serve(listener, router).await.context("the API ended")
}

fn json_answer(text: String) -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], text)
}

fn pet(id: u64) -> Value {
    json!({
        "id": id,
        "name": format!("Pet {id}"),
        "status": if id.is_multiple_of(3) { "sold" } else { "available" },
        "category": { "id": id % 5, "name": "Dogs" },
        "tags": ["friendly", "young"],
        "owner": format!("owner{}@example.com", id % 7),
        "weight": id as f64 / 4.0,
        "note": "Likes long walks, and sleeps on the sofa when nobody is looking.",
    })
}

/// The description of the API.
pub(crate) fn description() -> Value {
    let pet = json!({ "$ref": "#/components/schemas/Pet" });
    let answer = |schema: Value| json!({ "200": { "description": "Found", "content": { "application/json": { "schema": schema } } } });
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Pets", "version": "1" },
        "paths": {
            "/pets": { "get": {
                "operationId": "listPets",
                "summary": "List pets",
                "parameters": [{ "name": "status", "in": "query", "schema": { "enum": ["available", "sold"] } }],
                "responses": answer(json!({ "type": "array", "items": pet.clone() })),
            } },
            "/pets/{id}": { "get": {
                "operationId": "getPet",
                "summary": "Get a pet",
                "parameters": [{ "name": "id", "in": "path", "required": true, "schema": { "type": "integer" } }],
                "responses": answer(pet),
            } },
        },
        "components": { "schemas": { "Pet": { "type": "object", "properties": {
            "id": { "type": "integer" },
            "name": { "type": "string" },
            "status": { "enum": ["available", "sold"] },
            "category": { "type": "object", "properties": {
                "id": { "type": "integer" }, "name": { "type": "string" },
            } },
            "tags": { "type": "array", "items": { "type": "string" } },
            "owner": { "type": "string" },
            "weight": { "type": "number" },
            "note": { "type": "string" },
        } } } },
    })
}
