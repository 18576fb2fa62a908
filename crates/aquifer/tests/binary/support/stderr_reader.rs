//! The standard error of a server.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use super::TIMEOUT;

/// Reads the standard error of a server continuously, so that the server never blocks on it.
pub(super) struct StderrReader {
    lines: Receiver<String>,
    pub(super) text: String,
}

impl StderrReader {
    pub(super) fn new(child: &mut Child) -> Self {
        let stderr = child.stderr.take().unwrap();
        let lines = match copy(child.id()) {
            Some(copy) => lines(Copied { from: stderr, copy }),
            None => lines(stderr),
        };
        Self { lines, text: String::new() }
    }

    /// Waits for the first line in which something is found.
    pub(super) fn find<T>(&mut self, what: &str, found: impl Fn(&str) -> Option<T>) -> T {
        let deadline = Instant::now() + TIMEOUT;
        while let Ok(line) = self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            self.text.push_str(&line);
            self.text.push('\n');
            if let Some(found) = found(&line) {
                return found;
            }
        }
        panic!("the server never said {what}: {}", self.text);
    }

    /// The complete output, once the server has closed it.
    pub(super) fn all(&mut self) -> String {
        for line in &self.lines {
            self.text.push_str(&line);
            self.text.push('\n');
        }
        self.text.clone()
    }
}

/// Where `cargo xtask test` wants a copy of the output of servers, to look for secrets in it.
fn copy(server: u32) -> Option<File> {
    let folder = std::env::var_os("AQUIFER_TEST_OUTPUT")?;
    let name = format!("server-{}-{server}.log", std::process::id());
    Some(File::options().create(true).append(true).open(std::path::Path::new(&folder).join(name)).unwrap())
}

struct Copied<R> {
    from: R,
    copy: File,
}

impl<R: Read> Read for Copied<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.from.read(buffer)?;
        self.copy.write_all(&buffer[..read])?;
        Ok(read)
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
