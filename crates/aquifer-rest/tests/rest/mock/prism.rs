//! Prism, a mock server that refuses invalid requests, in its own process.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A running mock. It is stopped when this value is dropped.
pub(super) struct Prism {
    process: Child,
    /// Where it listens.
    pub(super) url: String,
}

impl Prism {
    /// Starts a mock of the description and waits until it listens.
    pub(super) fn start(description: &Path) -> Self {
        let folder = std::env::var("AQUIFER_TEST_MOCK").expect("AQUIFER_TEST_MOCK names a folder of npm packages");
        let node = std::env::var("AQUIFER_TEST_NODE").unwrap_or_else(|_| "node".to_owned());
        let program = Path::new(&folder).join("node_modules/@stoplight/prism-cli/dist/index.js");
        let mut process = Command::new(node)
            .arg(program)
            .args(["mock", "--host", "127.0.0.1", "--port", "0", "--errors", "--multiprocess", "false"])
            .arg(description)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Node.js starts");
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut last_line = String::new();
        let url = loop {
            let Some(Ok(line)) = lines.next() else {
                panic!("{}: Prism does not start: {last_line}", description.display())
            };
            if let Some((_, url)) = line.split_once("Prism is listening on ") {
                break url.trim().to_owned();
            }
            last_line = line;
        };
        // Prism logs every request and would block if nobody read its output.
        std::thread::spawn(move || lines.for_each(drop));
        Self { process, url }
    }
}

impl Drop for Prism {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}
