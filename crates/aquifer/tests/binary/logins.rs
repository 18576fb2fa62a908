//! Servers that want a login, as people meet them: the command, the browser, and a gateway that takes the login up.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Folder, StdioServer, forgetful, shell_in, text, unguarded, until};

/// An MCP server that wants a login, with its authorization server.
struct Guarded {
    process: Child,
    port: u16,
}

impl Guarded {
    fn start() -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../aquifer-upstream/tests/upstream/login_server.py");
        let mut process = Command::new("python3").arg(script).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { process, port: line.trim().parse().unwrap() }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    fn set(&self, options: &Value) {
        let body = options.to_string();
        self.ask(&format!("POST /control HTTP/1.0\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
    }

    /// Every secret that was on the wire.
    fn shown(&self) -> Vec<String> {
        let answer: Value = serde_json::from_str(&self.ask("GET /control HTTP/1.0\r\n\r\n")).unwrap();
        let shown = answer["shown"].as_array().unwrap().iter().map(|secret| secret.as_str().unwrap().to_owned());
        shown.filter(|secret| secret.len() > 8).collect()
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A folder with a browser in it that agrees to everything.
fn folder() -> Folder {
    let folder = Folder::new();
    let browser =
        "#!/usr/bin/env python3\nimport sys, urllib.request\nurllib.request.urlopen(sys.argv[1], timeout=30)\n";
    let browser = folder.file("browser", browser);
    std::fs::set_permissions(browser, std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// Runs a command; gives its exit code and everything it said.
fn run(folder: &Folder, command: &str) -> (Option<i32>, String) {
    let output = shell_in(folder, &format!("BROWSER={} {command}", folder.path("browser")));
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

#[test]
fn a_person_logs_in_and_out() {
    let (folder, guarded) = (folder(), Guarded::start());
    let url = guarded.url();
    let call = format!("aquifer call read_note --source {url}");
    let unguarded = unguarded(&folder);
    let mut everything = String::new();
    let mut try_it = |command: &str, code: i32, expected: &str| {
        let (ended, printed) = run(&folder, &format!("{command} --log trace"));
        assert_eq!(ended, Some(code), "{command}: {printed}");
        assert!(printed.contains(expected), "{command}: {printed}");
        everything.push_str(&printed);
    };
    try_it(&call, 1, &format!("`aquifer login {url}`"));
    try_it(&format!("aquifer login {url}"), 0, "Logged in to");
    try_it(&call, 0, r#"{"note":"read_note"}"#);
    try_it(&format!("aquifer introspect --source {url}"), 0, "read_note");
    try_it(&format!("aquifer interrogate {url}"), 0, "read_note");
    guarded.set(&json!({ "expire_all": true }));
    try_it(&call, 0, r#"{"note":"read_note"}"#);
    try_it(
        &format!("aquifer call write_note --source {url} --config {unguarded}"),
        1,
        "--scope notes.read --scope notes.write`",
    );
    try_it(&format!("aquifer login {url} --scope 'notes.read notes.write'"), 0, "for notes.read notes.write");
    try_it(&format!("aquifer call write_note --source {url} --config {unguarded}"), 0, r#"{"note":"write_note"}"#);
    try_it(&format!("aquifer logout {url}"), 0, "deleted and revoked");
    try_it(&format!("aquifer logout {url}"), 0, "There is no login");
    try_it(&call, 1, &format!("`aquifer login {url}`"));
    guarded.set(&json!({ "deny": true }));
    try_it(&format!("aquifer login {url}"), 1, "the login was declined");
    guarded.set(&json!({ "deny": false, "pkce": null }));
    try_it(&format!("aquifer login {url}"), 1, "PKCE");
    guarded.set(&json!({ "pkce": ["S256"] }));
    // Nobody comes, and nothing is opened.
    try_it(&format!("aquifer login {url} --no-browser --timeout 1"), 1, "was not completed");
    // The state of a login is no secret once it is over, and people are shown where to go.
    for secret in
        guarded.shown().iter().filter(|secret| ["code-", "at-", "rt-"].iter().any(|kind| secret.starts_with(kind)))
    {
        assert!(!everything.contains(secret.as_str()), "{secret}: {everything}");
    }
}

#[test]
fn a_gateway_names_the_login_command_and_picks_up_the_login() {
    let (folder, guarded) = (folder(), Guarded::start());
    let other = Guarded::start();
    folder.file(
        "aquifer.toml",
        &format!(
            "[[source]]\nname = \"notes\"\nurl = \"{}\"\n\n[[source]]\nname = \"my chat\"\nprefix = \"chat_\"\nurl = \"{}\"\n",
            guarded.url(),
            other.url()
        ),
    );
    let mut piped = StdioServer::spawn(forgetful(&folder).args([
        "serve",
        "--config",
        &folder.path("aquifer.toml"),
        "--log",
        "trace",
    ]));
    piped.initialize("2025-06-18");
    let status = until("it says what to run", || {
        let shown = piped.data("read", "introspect", json!({ "query": "operations" })).to_string();
        shown.contains("aquifer login").then_some(shown)
    });
    let mut everything = status.clone();
    for (operation, expected) in [
        ("notes_upstream_status", "aquifer login notes --config aquifer.toml"),
        ("chat_upstream_status", "aquifer login 'my chat' --config aquifer.toml"),
    ] {
        let error = piped.error("read", operation, json!({}));
        assert_eq!(error["code"], "UPSTREAM_UNAVAILABLE");
        let message = error["message"].as_str().unwrap();
        let command = message.split('`').nth(1).unwrap();
        assert_eq!(command, expected);
        assert!(!message.contains(&folder.path("")), "callers are not told where files are: {message}");
        let (code, printed) = run(&folder, command);
        assert_eq!(code, Some(0), "what it says is what works: {printed}");
        everything.push_str(&printed);
    }
    for operation in ["notes_read_note", "chat_read_note"] {
        until(operation, || piped.operations().iter().any(|known| known == operation).then_some(()));
        assert_eq!(piped.data("read", operation, json!({}))["note"], "read_note");
    }
    everything.push_str(&piped.last_words());
    for secret in guarded.shown().iter().chain(&other.shown()).filter(|secret| secret.contains('-')) {
        let answer =
            ["code-", "at-", "rt-"].iter().any(|kind| secret.starts_with(kind)) && everything.contains(secret.as_str());
        assert!(!answer, "{secret}: {everything}");
    }
}

#[test]
fn servers_of_a_clients_file_are_logged_in_to() {
    let (folder, guarded) = (folder(), Guarded::start());
    folder.file("mcp.json", &format!(r#"{{ "mcpServers": {{ "notes": {{ "url": "{}" }} }} }}"#, guarded.url()));
    let call = "aquifer call read_note --source mcp.json";
    let (code, printed) = run(&folder, call);
    assert_eq!(code, Some(1), "{printed}");
    let command = printed.split('`').nth(1).unwrap_or_else(|| panic!("{printed}"));
    assert_eq!(command, "aquifer login mcp.json --server notes");
    assert_eq!(run(&folder, command).0, Some(0));
    assert_eq!(run(&folder, call).0, Some(0));
}

#[test]
fn a_login_that_makes_no_sense_is_bad_usage() {
    let folder = folder();
    folder.file("aquifer.toml", "[[source]]\nname = \"board\"\ntarget = \"tasks:\"\n\n[[source]]\nname = \"notes\"\nurl = \"http://127.0.0.1:9/mcp\"\nlogin = { client_id = \"x\", client_secret_env = \"NO_SUCH_SECRET\", issuer = \"https://as.example\" }\n");
    folder.file(
        "wrong.toml",
        "[[source]]\nurl = \"http://127.0.0.1:9/mcp\"\nlogin = { client_secret = \"hush-4711\" }\n",
    );
    for (command, code, expected) in [
        ("cd / && aquifer login notes", 2, "--config FILE"),
        ("aquifer login notes", 2, "NO_SUCH_SECRET"),
        ("aquifer login other --config aquifer.toml", 2, "It has: notes"),
        ("aquifer login board --config aquifer.toml", 2, "It has: notes"),
        ("aquifer login notes --config aquifer.toml", 2, "NO_SUCH_SECRET"),
        ("NO_SUCH_SECRET=hush-4711 aquifer login notes --config aquifer.toml", 1, "cannot be reached"),
        ("aquifer login notes --config wrong.toml", 2, "client_secret_env"),
        ("aquifer login http://mcp.example.com/mcp", 1, "only over https"),
        ("aquifer login", 2, "Usage"),
    ] {
        let (ended, printed) = run(&folder, command);
        assert_eq!(ended, Some(code), "{command}: {printed}");
        assert!(printed.contains(expected) && !printed.contains("hush-4711"), "{command}: {printed}");
    }
}
