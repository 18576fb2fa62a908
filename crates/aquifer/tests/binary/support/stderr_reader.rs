//! What a server says to people.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use super::TIMEOUT;

/// What a server says on stderr. Kept reading, so that the server never waits for somebody to listen.
pub(super) struct Talk {
    lines: Receiver<String>,
    pub(super) heard: String,
}

impl Talk {
    pub(super) fn of(child: &mut Child) -> Self {
        let said = child.stderr.take().unwrap();
        let lines = match copy(child.id()) {
            Some(copy) => lines(Copied { from: said, copy }),
            None => lines(said),
        };
        Self { lines, heard: String::new() }
    }

    /// The first line in which something is found.
    pub(super) fn find<T>(&mut self, what: &str, found: impl Fn(&str) -> Option<T>) -> T {
        let deadline = Instant::now() + TIMEOUT;
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

/// Where `cargo xtask test` wants a copy of what servers say, to look for secrets in it.
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
