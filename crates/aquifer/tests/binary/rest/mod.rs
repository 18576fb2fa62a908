//! HTTP APIs as sources: a real API behind the binary, by its OpenAPI description and by an adapter file.

mod adapter_file;
mod conformance;
mod credentials;
mod errors;
mod links;
mod lists;
mod reading;
mod reloaded;
mod sources;
mod writing;

use std::process::Command;

use axum::response::Response;
use serde_json::{Value, json};

use crate::support::shop::{Received, Shop, adapter, description};
use crate::support::{Folder, Server, StdioServer, forgetful, token};

/// An API, and a folder with what describes it.
struct Fixture {
    folder: Folder,
    shop: Shop,
}

impl Fixture {
    /// The API by its description. The keys belong to its `[[source]]`.
    fn described(keys: &str) -> Self {
        let fixture = Self { folder: Folder::new(), shop: Shop::start() };
        fixture.folder.file("shop.yaml", &description(&fixture.shop));
        fixture.configure(&format!(
            "[[source]]\nopenapi = \"shop.yaml\"\nbase_url = \"{}\"\n{keys}\n",
            fixture.shop.url()
        ));
        fixture
    }

    /// Another API, with these paths in its description. The function answers its requests.
    fn answered(
        paths: &Value,
        keys: &str,
        respond: impl Fn(&Received) -> Option<Response> + Send + Sync + 'static,
    ) -> Self {
        let fixture = Self { folder: Folder::new(), shop: Shop::start() };
        fixture.shop.respond_with(respond);
        let (url, info) = (fixture.shop.url(), json!({ "title": "Desk", "version": "1.0.0" }));
        let description = json!({ "openapi": "3.1.0", "info": info, "servers": [{ "url": url }], "paths": paths });
        fixture.folder.file("desk.json", &description.to_string());
        fixture.configure(&format!("[[source]]\nopenapi = \"desk.json\"\nbase_url = \"{url}\"\n{keys}\n"));
        fixture
    }

    /// The API by its adapter file, which the operator trusts.
    fn adapted() -> Self {
        let fixture = Self { folder: Folder::new(), shop: Shop::start() };
        fixture.folder.file("shop-adapter.md", &adapter(&fixture.shop));
        fixture.configure("[[source]]\ntarget = \"shop-adapter.md\"\ntrust = \"validated\"\n");
        fixture
    }

    fn configure(&self, content: &str) {
        self.folder.file("aquifer.toml", content);
    }

    /// Replaces a part of a file, all at once.
    fn edit(&self, name: &str, from: &str, to: &str) {
        let before = std::fs::read_to_string(self.folder.path(name)).unwrap();
        let after = before.replacen(from, to, 1);
        assert_ne!(before, after, "{from}");
        let draft = self.folder.file(&format!("{name}.draft"), &after);
        std::fs::rename(draft, self.folder.path(name)).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = forgetful(&self.folder);
        command.current_dir(self.folder.path("")).args(arguments);
        command.env("SHOP_TOKEN", "s3cret-bearer");
        command
    }

    fn serve(&self) -> StdioServer {
        Self::start(&mut self.command(&["serve"]))
    }

    fn start(command: &mut Command) -> StdioServer {
        let mut server = StdioServer::spawn(command);
        server.initialize("2025-06-18");
        server
    }
}

/// The request body or the content of a response, as JSON of this schema.
fn json_content(schema: &Value) -> Value {
    json!({ "description": "JSON", "content": { "application/json": { "schema": schema } } })
}

/// A response with a JSON text.
fn json_response(status: u16, body: &str) -> Response {
    let response = Response::builder().status(status).header("content-type", "application/json");
    response.body(body.to_owned().into()).unwrap()
}

/// Calls an operation over either transport, and again with the token where it has to be confirmed. Returns the answer
/// and its text.
fn call(server: &mut Server, family: &str, operation: &str, mut params: Value) -> (Value, String) {
    loop {
        let arguments = json!({ "operation": operation, "params": params });
        let tool = format!("mcp_aql_{family}");
        let answer = server.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {answer}"));
        let envelope: Value = serde_json::from_str(text).unwrap();
        match token(&envelope) {
            Some(token) if params["confirmation_token"].is_null() => params["confirmation_token"] = token.into(),
            _ => return (envelope, text.to_owned()),
        }
    }
}

/// The method of each request.
fn methods(requests: &[Received]) -> Vec<&str> {
    requests.iter().map(|request| request.method.as_str()).collect()
}

/// The values of a field in the rows of a result.
fn column(data: &Value, field: &str) -> Vec<u64> {
    let rows = data["items"].as_array().or(data.as_array()).unwrap_or_else(|| panic!("{data}"));
    rows.iter().map(|row| row[field].as_u64().unwrap()).collect()
}
