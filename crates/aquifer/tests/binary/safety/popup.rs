//! The page of an approval opens by itself in the browser of this machine, also for a server on pipes.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::safety::{Fixture, delete, delete_with};
use crate::support::{Folder, StdioServer, send_to, until};

/// A browser that notes what it was asked to open, and keeps the page.
fn browser(folder: &Folder) -> String {
    let (opened, page) = (folder.path("opened"), folder.path("page"));
    let script = format!("#!/bin/sh\ncp \"$1\" {page}\nstat -c %a \"$1\" > {page}.mode\necho \"$1\" >> {opened}\n");
    let path = folder.file("browser.sh", &script);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn opened(folder: &Folder) -> Vec<String> {
    let read = std::fs::read_to_string(folder.path("opened")).unwrap_or_default();
    read.lines().map(str::to_owned).collect()
}

fn serve(fixture: &Fixture, browser: &str) -> StdioServer {
    let mut command = fixture.command(&["serve"]);
    let mut server = StdioServer::spawn(command.env("BROWSER", browser).env("AQUIFER_LOG", "trace"));
    server.initialize("2025-06-18");
    server
}

const APPROVAL: &str = "[gate.strength]\ndestructive = \"approval\"\n";

#[test]
fn r_saf_9_the_page_of_an_approval_opens_by_itself_and_decides_about_the_call() {
    let fixture = Fixture::new(APPROVAL);
    let mut server = serve(&fixture, &browser(&fixture.folder));
    let asked = server.call("mcp_aql_delete", delete(1));
    let details = &asked["error"]["details"];
    let [id, token] = ["approval_id", "confirmation_token"].map(|name| details[name].as_str().unwrap());
    until("the browser was started", || (opened(&fixture.folder).len() == 1).then_some(()));
    assert_eq!(std::fs::read_to_string(fixture.folder.path("page.mode")).unwrap().trim(), "600");
    let page = std::fs::read_to_string(fixture.folder.path("page")).unwrap();
    let link = page.split("location.replace(\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let (authority, secret) = link.strip_prefix("http://").unwrap().split_once("/login?next=/approvals/").unwrap();
    let secret = secret.strip_prefix(&format!("{id}#")).unwrap();
    // Neither the arguments of a process nor what a model or a log gets has the link.
    let [path] = &opened(&fixture.folder)[..] else { panic!() };
    assert!(path.ends_with(".html") && !path.contains(secret), "{path}");
    assert!(!asked.to_string().contains(secret));

    // Only pages are served there.
    let mcp = send_to(authority, "POST", "/mcp", &[("content-type", "application/json")], b"{}");
    assert!(mcp.status >= 400, "{}", mcp.body);
    let health = send_to(authority, "GET", "/health", &[], b"");
    assert!(!health.body.contains("\"operations\":"), "{}", health.body);

    let send = |session: &str, method: &str, path: &str, body: Value| {
        let headers = [("content-type", "application/json"), ("x-aquifer-session", session)];
        let answer = send_to(authority, method, path, &headers, body.to_string().as_bytes());
        (answer.status, serde_json::from_str::<Value>(&answer.body).unwrap_or_default())
    };
    let begun = send("", "POST", "/api/session", json!({ "token": secret })).1;
    let session = begun["secret"].as_str().unwrap_or_else(|| panic!("{begun}"));
    assert_eq!(send("", "POST", "/api/session", json!({ "token": secret })).0, 401, "the link works once");
    let path = format!("/api/approvals/{id}");
    let digest = send(session, "GET", &path, json!(null)).1["digest"].clone();
    assert_eq!(send(session, "POST", &path, json!({ "decision": "approve", "digest": digest })).0, 200);
    assert_eq!(server.call("mcp_aql_delete", delete_with(1, token))["success"], true);
    assert_eq!(fixture.books(), 49);

    // Whoever has a page open finds further approvals there. They have its address.
    let next = server.call("mcp_aql_delete", delete(2));
    let url = next["error"]["details"]["approval_url"].as_str().unwrap_or_else(|| panic!("{next}"));
    assert!(url.starts_with(&format!("http://{authority}/approvals/")), "{url}");
    assert_eq!(opened(&fixture.folder).len(), 1);
    assert!(!server.stderr_so_far().contains(secret));
}

#[test]
fn r_saf_9_no_page_opens_where_nobody_wants_one() {
    let quiet = Fixture::new(&format!("{APPROVAL}[approvals]\nopen_page = false\n"));
    let elsewhere = Fixture::new(&format!("{APPROVAL}[approvals]\nexplorer_url = \"https://aquifer.example.com\"\n"));
    for fixture in [quiet, elsewhere] {
        let mut server = serve(&fixture, &browser(&fixture.folder));
        let asked = server.call("mcp_aql_delete", delete(1));
        assert_eq!(asked["error"]["details"]["approval_status"], "pending", "{asked}");
        drop(server);
        assert!(opened(&fixture.folder).is_empty());
    }
}
