//! `aquifer conformance`, on our own servers: which level each gets, over stdio and HTTP, in both modes.
//!
//! With `AQUIFER_CONFORMANCE_DOCS` set to a folder, the reports are written there: `cargo xtask conformance --update-docs`
//! does it. Without, those that are there must say the same.

mod claims;
mod command;
mod levels;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::support::{Folder, HttpServer, aquifer, text, with_people};

/// A run in a folder, as people make it: programs are found by their names.
fn conformance(folder: &Folder, arguments: &[&str]) -> Output {
    placed(folder).arg("conformance").args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// `aquifer` in a folder, by its name.
fn placed(folder: &Folder) -> Command {
    let ours = Path::new(env!("CARGO_BIN_EXE_aquifer")).parent().unwrap();
    let path = format!("{}:{}", ours.display(), std::env::var("PATH").unwrap());
    let mut command = with_people(aquifer());
    command.env("PATH", path).env("XDG_STATE_HOME", folder.path("state")).current_dir(folder.path(""));
    command
}

/// A server of ours, to be had over stdio and HTTP.
struct Server {
    /// How its reports are called.
    name: &'static str,
    folder: Folder,
    /// The command behind `aquifer`, without a transport: `demo`.
    words: &'static [&'static str],
}

impl Server {
    /// A run over stdio, in the mode it starts in and the other.
    fn over_stdio(&self) -> Value {
        let stdio: &[&str] = if self.words == ["demo"] { &["--stdio"] } else { &[] };
        let mut arguments = vec!["--allow-writes", "--format", "json", "--", "aquifer"];
        arguments.extend(self.words.iter().chain(stdio));
        self.run("stdio", &arguments, &[])
    }

    /// A run over HTTP, on two servers, one in each mode.
    fn over_http(&self) -> Value {
        let start = |mode| {
            let mut command = placed(&self.folder);
            command.args(self.words).args(["--http", "127.0.0.1:0", "--mode", mode]);
            HttpServer::spawn(&mut command)
        };
        let (semantic, single) = (start("semantic"), start("single"));
        let address = |served: &HttpServer| format!("http://{}/mcp", served.authority);
        let (first, second) = (address(&semantic), address(&single));
        let arguments = [&first, "--single-url", &second, "--allow-writes", "--format", "json"];
        // Ports are those that were free; documents say the usual ones.
        let usual = [(&semantic.authority[..], "127.0.0.1:3910"), (&single.authority[..], "127.0.0.1:3911")];
        self.run("http", &arguments, &usual)
    }

    fn run(&self, transport: &str, arguments: &[&str], usual: &[(&str, &str)]) -> Value {
        let output = conformance(&self.folder, arguments);
        let mut printed = text(&output.stdout);
        for (here, elsewhere) in usual {
            printed = printed.replace(here, elsewhere);
        }
        let mut report: Value =
            serde_json::from_str(&printed).unwrap_or_else(|_| panic!("{printed}\n{}", text(&output.stderr)));
        let name = format!("{}-{transport}", self.name);
        let file = self.folder.file(&format!("{name}.json"), &printed);
        document(&name, &rendered(&self.folder, &file, "markdown"));
        report["exit_code"] = output.status.code().into();
        report
    }
}

fn rendered(folder: &Folder, file: &str, format: &str) -> String {
    let output = conformance(folder, &["report", file, "--format", format]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// Writes a report into the documents, or compares it with the one that is there.
fn document(name: &str, report: &str) {
    if let Some(folder) = std::env::var_os("AQUIFER_CONFORMANCE_DOCS") {
        std::fs::write(PathBuf::from(folder).join(format!("{name}.md")), report).unwrap();
        return;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/conformance/{name}.md"));
    let documented = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        verdicts(&documented),
        verdicts(report),
        "docs/conformance/{name}.md is stale: cargo xtask conformance --update-docs"
    );
}

/// What a report says, without how often it looked.
fn verdicts(markdown: &str) -> Vec<String> {
    let is_verdict = |line: &&str| {
        line.starts_with("**")
            || ["| PASS ", "| WARN ", "| FAIL ", "| SKIP "].iter().any(|start| line.starts_with(start))
    };
    let cells = |line: &str| line.split('|').take(3).collect::<Vec<_>>().join("|");
    markdown.lines().filter(is_verdict).map(cells).collect()
}

/// What stands in the way of a level, as `check: subject: problem`, for a test that fails.
fn problems(report: &Value) -> String {
    let mut out = String::new();
    for section in report["categories"].as_array().unwrap() {
        for test in section["tests"].as_array().unwrap().iter().filter(|test| test["result"] != "PASS") {
            out += &format!("{} {} {}\n", test["result"], test["id"], test["detail"]);
            for finding in test["findings"].as_array().into_iter().flatten().take(3) {
                out += &format!("  {}: {}\n    {}\n", finding["subject"], finding["problem"], finding["seen"]);
            }
        }
    }
    out
}
