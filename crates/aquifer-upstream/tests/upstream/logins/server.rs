//! The test server, and a browser for its login.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use aquifer_upstream::{LoginAttempt, LoginError, LoginSettings, LoginSummary, Settings};
use reqwest::redirect::Policy;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::support::{Folder, WAIT_TIMEOUT};

/// An MCP server that requires a login.
pub(crate) struct ProtectedServer {
    process: Child,
    pub(crate) port: u16,
    pub(crate) folder: Folder,
}

/// A client like a person's browser, which follows redirects.
pub(crate) fn browser() -> reqwest::Client {
    browser_with(Policy::default())
}

pub(crate) fn browser_with(redirects: Policy) -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().redirect(redirects).build().unwrap()
}

impl ProtectedServer {
    pub(crate) async fn start(options: Value) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/upstream/login_server.py");
        let mut process = Command::new("python3").arg(script).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let server = Self { process, port: line.trim().parse().unwrap(), folder: Folder::new() };
        server.set(options).await;
        server
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Changes the behaviour of the server.
    pub(crate) async fn set(&self, options: Value) {
        let sent = browser().post(self.url("/control")).body(options.to_string()).send();
        assert!(sent.await.unwrap().status().is_success());
    }

    /// What the server has recorded.
    pub(crate) async fn recorded_events(&self) -> Value {
        let events = browser().get(self.url("/control")).send().await.unwrap().text().await.unwrap();
        serde_json::from_str(&events).unwrap()
    }

    /// How often an event was recorded.
    pub(crate) async fn count(&self, what: &str) -> usize {
        self.recorded_events().await["journal"].as_array().unwrap().iter().filter(|word| *word == what).count()
    }

    pub(crate) fn settings(&self) -> Settings {
        let mut settings = Settings::http("notes", &self.url("/mcp"));
        settings.timeout = Duration::from_secs(10);
        settings.start_timeout = Duration::from_secs(15);
        settings.login = Some(LoginSettings {
            folder: self.folder.0.join("logins"),
            command: "aquifer login notes".to_owned(),
            command_in_full: "aquifer login notes --config /full/path.toml".to_owned(),
            ..LoginSettings::default()
        });
        settings
    }

    pub(crate) async fn log_in(&self) -> LoginSummary {
        log_in(&self.settings(), &[]).await.unwrap()
    }

    /// The file of the login.
    pub(crate) fn file(&self) -> Option<std::path::PathBuf> {
        let entries = std::fs::read_dir(self.folder.0.join("logins")).into_iter().flatten();
        let mut files = entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().unwrap() == "json");
        let file = files.next();
        assert!(files.next().is_none());
        file
    }

    pub(crate) fn stored_login(&self) -> Value {
        serde_json::from_str(&std::fs::read_to_string(self.file().unwrap()).unwrap()).unwrap()
    }
}

impl Drop for ProtectedServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Logs in with a browser that accepts everything.
pub(crate) async fn log_in(settings: &Settings, scopes: &[&str]) -> Result<LoginSummary, LoginError> {
    let scopes: Vec<String> = scopes.iter().map(|scope| (*scope).to_owned()).collect();
    let attempt = LoginAttempt::start(settings, &scopes).await?;
    let url = attempt.url().to_owned();
    let browser = tokio::spawn(async move { browser().get(url).send().await.unwrap().text().await.unwrap() });
    let finished = attempt.finish(WAIT_TIMEOUT, no_pasted_urls()).await;
    let page = browser.await.unwrap();
    assert!(page.contains("terminal"), "{page}");
    finished
}

/// Nothing is pasted.
pub(crate) fn no_pasted_urls() -> mpsc::Receiver<String> {
    mpsc::channel(1).1
}

/// The error of a login that must fail.
pub(crate) async fn failure(options: Value) -> String {
    let server = ProtectedServer::start(options.clone()).await;
    let failure = log_in(&server.settings(), &[]).await.expect_err(&options.to_string()).to_string();
    assert!(server.file().is_none(), "nothing is kept of a login that failed");
    let events = server.recorded_events().await;
    for secret in events["shown"].as_array().unwrap() {
        assert!(!failure.contains(secret.as_str().unwrap()), "{failure}");
    }
    failure
}

pub(crate) fn nothing() -> Value {
    json!({})
}
