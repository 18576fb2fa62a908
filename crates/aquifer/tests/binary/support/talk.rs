//! What a server says to people.

use std::io::{BufRead, BufReader, Read};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use super::PATIENCE;

/// What a server says on stderr. Kept reading, so that the server never waits for somebody to listen.
pub(super) struct Talk {
    lines: Receiver<String>,
    pub(super) heard: String,
}

impl Talk {
    pub(super) fn of(child: &mut Child) -> Self {
        Self { lines: lines(child.stderr.take().unwrap()), heard: String::new() }
    }

    /// The first line in which something is found.
    pub(super) fn find<T>(&mut self, what: &str, found: impl Fn(&str) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        while let Ok(line) = self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            self.heard.push_str(&line);
            self.heard.push('\n');
            if let Some(found) = found(&line) {
                return found;
            }
        }
        panic!("the server never said {what}: {}", self.heard);
    }

    /// Everything said, once nobody says anything more.
    pub(super) fn all(&mut self) -> String {
        for line in &self.lines {
            self.heard.push_str(&line);
            self.heard.push('\n');
        }
        self.heard.clone()
    }
}

pub(super) fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}
