//! The example server of the official SDK, with its authorization server.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use aquifer_upstream::{LoginSettings, LogoutOutcome, Settings, logout};
use serde_json::json;

use super::server::log_in;
use crate::support::{Folder, Gateway, until};

struct Example(Child);

impl Drop for Example {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn the_official_example_accepts_a_login() {
    let packages =
        std::env::var_os("AQUIFER_TEST_SERVERS_NPM").expect("run `cargo xtask test`, which installs servers");
    let examples = Path::new(&packages).join("node_modules/@modelcontextprotocol/sdk/dist/esm/examples/server");
    let loopback = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/servers/loopback.cjs");
    let free = [0, 0].map(|port| TcpListener::bind(("127.0.0.1", port)).unwrap());
    let [port, authorization_port] = free.map(|listener| listener.local_addr().unwrap().port());
    let mut command = Command::new("node");
    command.arg("--require").arg(loopback).arg(examples.join("simpleStreamableHttp.js"));
    // Strict mode: it accepts only tokens that were issued for it.
    command.args(["--oauth", "--oauth-strict"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.env("MCP_PORT", port.to_string()).env("MCP_AUTH_PORT", authorization_port.to_string());
    let _example = Example(command.spawn().unwrap());
    for port in [port, authorization_port] {
        until("it listens", async || tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok()).await;
    }
    let folder = Folder::new();
    let mut settings = Settings::http("example", &format!("http://localhost:{port}/mcp"));
    settings.login = Some(LoginSettings {
        folder: folder.0.join("logins"),
        command: "aquifer login example".to_owned(),
        ..LoginSettings::default()
    });
    let gateway = Gateway::new(settings.clone());
    let failure = gateway.upstream.ready().await.unwrap_err();
    assert!(failure.message().contains("it requires a login"), "{failure:?}");
    let logged_in = log_in(&settings, &[]).await.unwrap();
    assert_eq!(logged_in.scopes, ["mcp:tools"]);
    until("it is found", async || {
        gateway.refresh();
        gateway.ask("greet", json!({ "name": "Ada" })).await["success"] == true
    })
    .await;
    assert_eq!(gateway.get("greet", json!({ "name": "Ada" })).await, "Hello, Ada!");
    assert_eq!(logout(&settings).await, Ok(LogoutOutcome::Removed), "it revokes nothing");
}
