//! Writes to a child's standard input without waiting and without an intermediate task.
//!
//! A line is written immediately if the pipe accepts it. Otherwise it is queued, up to a limit, and written when the
//! pipe accepts more. A message is therefore never truncated when its sender is dropped, and usually takes one system
//! call.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::sync::Arc;

use aquifer_system::Sender;
use bytes::{Buf, Bytes};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::error::Outage;

/// Maximum number of bytes queued for a child that does not read.
const MAX_BACKLOG_BYTES: usize = 64 * 1024 * 1024;

const NOT_READING: &str = "it does not read what it is sent";
const PROCESS_ENDED: &str = "its process ended";

/// A child's standard input.
pub(crate) struct Pipe {
    sender: Sender,
    backlog: Mutex<Backlog>,
    wakeup: Notify,
}

#[derive(Default)]
struct Backlog {
    lines: VecDeque<Bytes>,
    bytes: usize,
    /// Why writing is no longer possible.
    broken: Option<Arc<str>>,
}

impl Pipe {
    pub(crate) fn new(sender: Sender) -> Self {
        Self { sender, backlog: Mutex::default(), wakeup: Notify::new() }
    }

    fn backlog(&self) -> MutexGuard<'_, Backlog> {
        self.backlog.lock()
    }

    /// Sends one line, immediately or as soon as the child reads. On failure, no byte of it is ever written.
    pub(crate) fn send(&self, mut line: Vec<u8>) -> Result<(), Outage> {
        line.push(b'\n');
        let mut line = Bytes::from(line);
        let mut backlog = self.backlog();
        let unread_bytes = backlog.bytes + line.len();
        if unread_bytes > MAX_BACKLOG_BYTES {
            return Err(Outage::new(NOT_READING, format!("{unread_bytes} unread bytes")));
        }
        if backlog.lines.is_empty() {
            match self.sender.try_write(&line) {
                Ok(written) if written == line.len() => return Ok(()),
                Ok(written) => line.advance(written),
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => {}
                Err(cause) => {
                    // The task that drains the pipe ends the connection, because standard error has to be read first.
                    backlog.broken = Some(cause.to_string().into());
                    self.wakeup.notify_one();
                    return Err(Outage::new(PROCESS_ENDED, cause));
                }
            }
        }
        backlog.bytes += line.len();
        backlog.lines.push_back(line);
        drop(backlog);
        self.wakeup.notify_one();
        Ok(())
    }

    /// Whether writing is no longer possible. [`drain`](Self::drain) then returns.
    pub(crate) fn is_broken(&self) -> bool {
        self.backlog().broken.is_some()
    }

    /// Writes queued lines. Returns when the child accepts no more input.
    pub(crate) async fn drain(&self) -> Outage {
        loop {
            self.wakeup.notified().await;
            if let Some(cause) = self.backlog().broken.clone() {
                return Outage::new(PROCESS_ENDED, cause);
            }
            while !self.backlog().lines.is_empty() {
                if let Err(cause) = self.sender.writable().await {
                    return Outage::new(PROCESS_ENDED, cause);
                }
                if let Err(cause) = self.write_kept() {
                    return Outage::new(PROCESS_ENDED, cause);
                }
            }
        }
    }

    fn write_kept(&self) -> std::io::Result<()> {
        let mut backlog = self.backlog();
        while let Some(mut line) = backlog.lines.pop_front() {
            match self.sender.try_write(&line) {
                Ok(written) => {
                    backlog.bytes = backlog.bytes.saturating_sub(written);
                    line.advance(written);
                    if !line.is_empty() {
                        backlog.lines.push_front(line);
                    }
                }
                Err(cause) => {
                    backlog.lines.push_front(line);
                    return if cause.kind() == ErrorKind::WouldBlock { Ok(()) } else { Err(cause) };
                }
            }
        }
        Ok(())
    }
}
