//! Processes that end with their owners, and what they print.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How long any client may take. Far more than it needs: it only turns a hang into a failure.
const TIMEOUT: Duration = Duration::from_secs(480);

/// A process that ends with its owner, and what it has printed so far.
pub(crate) struct Process {
    child: Child,
    lines: Receiver<String>,
    printed: Vec<String>,
    deadline: Instant,
}

impl Process {
    pub(crate) fn start(mut command: Command) -> Self {
        let spawned = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = spawned.unwrap_or_else(|cause| panic!("{command:?} does not start: {cause}"));
        let (sender, lines) = channel();
        forward(child.stdout.take().expect("stdout is piped"), sender.clone());
        forward(child.stderr.take().expect("stderr is piped"), sender);
        Self { child, lines, printed: Vec::new(), deadline: Instant::now() + TIMEOUT }
    }

    /// Waits for a line, on stdout or stderr, in which something is found.
    pub(crate) fn line<T>(&mut self, what: &str, find: impl Fn(&str) -> Option<T>) -> T {
        while let Some(line) = self.next_line(what) {
            if let Some(found) = find(&line) {
                return found;
            }
        }
        panic!("ended before {what}:\n{}", self.printed.join("\n"));
    }

    pub(crate) fn release(&mut self) {
        let stdin = self.child.stdin.as_mut().expect("stdin is piped");
        stdin.write_all(b"go on\n").expect("the client reads its stdin");
    }

    /// Waits for the end, which must be a success.
    pub(crate) fn passes(mut self) {
        while self.next_line("it ended").is_some() {}
        let status = self.child.wait().expect("a child can be waited for");
        assert!(status.success(), "{status}:\n{}", self.printed.join("\n"));
        let closed = self.printed.iter().any(|line| line == "ok - closed");
        assert!(closed, "it did not come to its last check:\n{}", self.printed.join("\n"));
    }

    fn next_line(&mut self, what: &str) -> Option<String> {
        match self.lines.recv_timeout(self.deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                self.printed.push(line.clone());
                Some(line)
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("timed out before {what}:\n{}", self.printed.join("\n")),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn forward(from: impl Read + Send + 'static, to: Sender<String>) {
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if to.send(line).is_err() {
                return;
            }
        }
    });
}
