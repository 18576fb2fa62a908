//! Writing to a child's standard input without waiting and without an intermediate task.
//!
//! A line is written at once if the pipe takes it. What the pipe does not take is kept, up to a bound, and written as
//! soon as it does. So a message is never written in part when its sender is dropped, and the common case costs one
//! system call.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Buf, Bytes};
use tokio::net::unix::pipe;
use tokio::sync::Notify;

use crate::error::Gone;

/// Bytes kept for a child that does not read.
const MAX_KEPT: usize = 64 * 1024 * 1024;

const DEAF: &str = "it does not read what it is sent";
const CLOSED: &str = "its process ended";

/// The way to a child's standard input.
pub(crate) struct Pipe {
    sender: pipe::Sender,
    kept: Mutex<Kept>,
    more: Notify,
}

#[derive(Default)]
struct Kept {
    lines: VecDeque<Bytes>,
    bytes: usize,
    /// Why nothing can be written any more.
    broken: Option<Arc<str>>,
}

impl Pipe {
    pub(crate) fn new(sender: pipe::Sender) -> Self {
        Self { sender, kept: Mutex::default(), more: Notify::new() }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends one line, now or as soon as the child reads. If this fails, no byte of it has been written or will be.
    pub(crate) fn send(&self, mut line: Vec<u8>) -> Result<(), Gone> {
        line.push(b'\n');
        let mut line = Bytes::from(line);
        let mut kept = self.kept();
        let waiting = kept.bytes + line.len();
        if waiting > MAX_KEPT {
            return Err(Gone::new(DEAF, format!("{waiting} bytes wait to be read")));
        }
        if kept.lines.is_empty() {
            match self.sender.try_write(&line) {
                Ok(written) if written == line.len() => return Ok(()),
                Ok(written) => line.advance(written),
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => {}
                Err(cause) => {
                    // Whoever drains the pipe ends the connection, because the child's last words have to be read first.
                    kept.broken = Some(cause.to_string().into());
                    self.more.notify_one();
                    return Err(Gone::new(CLOSED, cause));
                }
            }
        }
        kept.bytes += line.len();
        kept.lines.push_back(line);
        drop(kept);
        self.more.notify_one();
        Ok(())
    }

    /// Whether nothing can be written any more. Then [`drain`](Self::drain) ends.
    pub(crate) fn is_broken(&self) -> bool {
        self.kept().broken.is_some()
    }

    /// Writes what was kept. Ends when the child no longer takes anything.
    pub(crate) async fn drain(&self) -> Gone {
        loop {
            self.more.notified().await;
            if let Some(cause) = self.kept().broken.clone() {
                return Gone::new(CLOSED, cause);
            }
            while !self.kept().lines.is_empty() {
                if let Err(cause) = self.sender.writable().await {
                    return Gone::new(CLOSED, cause);
                }
                if let Err(cause) = self.write_kept() {
                    return Gone::new(CLOSED, cause);
                }
            }
        }
    }

    fn write_kept(&self) -> std::io::Result<()> {
        let mut kept = self.kept();
        while let Some(mut line) = kept.lines.pop_front() {
            match self.sender.try_write(&line) {
                Ok(written) => {
                    kept.bytes = kept.bytes.saturating_sub(written);
                    line.advance(written);
                    if !line.is_empty() {
                        kept.lines.push_front(line);
                    }
                }
                Err(cause) => {
                    kept.lines.push_front(line);
                    return if cause.kind() == ErrorKind::WouldBlock { Ok(()) } else { Err(cause) };
                }
            }
        }
        Ok(())
    }
}
