//! Sends log messages of sources to the client of a session.
//!
//! A source may log faster than the client reads. The queue is bounded: what does not fit is dropped and counted, and
//! the client is told how many messages are missing.

#![expect(deprecated, reason = "deprecated in the newest revision, alive in the older ones that have sessions")]

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use rmcp::RoleServer;
use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};
use rmcp::service::Peer;
use serde_json::{Map, Value};

/// The maximum number of messages that wait to be sent. Sources bound the size of a message.
const MAX_WAITING: usize = 64;

/// How long the transport may take to accept one message.
const SEND_TIMEOUT: Duration = Duration::from_secs(5);

/// The log messages of one session.
#[derive(Debug, Default)]
pub(crate) struct LogForwarder {
    /// The urgency of the least urgent messages that the client wants to receive; all by default.
    min_urgency: AtomicU8,
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<LoggingMessageNotificationParam>,
    /// Dropped since the client was last told.
    dropped_count: u64,
    /// Whether a task sends what waits. It ends when nothing is left.
    is_sending: bool,
}

impl LogForwarder {
    /// Sets the least urgent level that the client wants to receive.
    pub(crate) fn set_level(&self, level: LoggingLevel) {
        self.min_urgency.store(urgency(level), Ordering::Relaxed);
    }

    /// Queues a message, or drops it if too many wait.
    pub(crate) fn forward(self: &Arc<Self>, params: Map<String, Value>, peer: &Peer<RoleServer>) {
        let message = serde_json::from_value::<LoggingMessageNotificationParam>(Value::Object(params));
        let Some(message) = message.ok().filter(|message| self.admits(message.level)) else { return };
        if self.enqueue(message) {
            let (forwarder, peer) = (self.clone(), peer.clone());
            tokio::spawn(async move {
                while let Some(message) = forwarder.next() {
                    let sent = tokio::time::timeout(SEND_TIMEOUT, peer.notify_logging_message(message)).await;
                    if let Ok(Err(cause)) = sent {
                        tracing::debug!(%cause, "could not forward a log message to the client");
                    }
                }
            });
        }
    }

    fn admits(&self, level: LoggingLevel) -> bool {
        urgency(level) >= self.min_urgency.load(Ordering::Relaxed)
    }

    /// Returns whether a task has to be started that sends what waits.
    fn enqueue(&self, message: LoggingMessageNotificationParam) -> bool {
        let mut queue = self.queue();
        if queue.waiting.len() >= MAX_WAITING {
            queue.dropped_count += 1;
            return false;
        }
        queue.waiting.push_back(message);
        !std::mem::replace(&mut queue.is_sending, true)
    }

    /// The next message to send. After the last one, the number of those that were dropped.
    fn next(&self) -> Option<LoggingMessageNotificationParam> {
        let mut queue = self.queue();
        if let Some(message) = queue.waiting.pop_front() {
            return Some(message);
        }
        let dropped_count = std::mem::take(&mut queue.dropped_count);
        if dropped_count == 0 {
            queue.is_sending = false;
            return None;
        }
        drop(queue);
        tracing::warn!(
            dropped_count,
            "log messages for a client were dropped, because sources log faster than it reads"
        );
        let text = format!("{dropped_count} log messages were dropped, because there were too many");
        let mut notice = LoggingMessageNotificationParam::new(LoggingLevel::Warning, text.into());
        notice.logger = Some("aquifer".to_owned());
        self.admits(notice.level).then_some(notice).or_else(|| self.next())
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock()
    }
}

fn urgency(level: LoggingLevel) -> u8 {
    match level {
        LoggingLevel::Debug => 0,
        LoggingLevel::Info => 1,
        LoggingLevel::Notice => 2,
        LoggingLevel::Warning => 3,
        LoggingLevel::Error => 4,
        LoggingLevel::Critical => 5,
        LoggingLevel::Alert => 6,
        LoggingLevel::Emergency => 7,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn messages_beyond_the_limit_are_dropped_and_counted() {
        let forwarder = LogForwarder::default();
        let message = |number: usize| LoggingMessageNotificationParam::new(LoggingLevel::Error, number.into());
        for round in 0..2 {
            let started = (0..MAX_WAITING + 100).filter(|number| forwarder.enqueue(message(*number))).count();
            assert_eq!(started, 1, "one task sends all of round {round}");
            let sent: Vec<_> = std::iter::from_fn(|| forwarder.next()).collect();
            let (notice, sent) = sent.split_last().unwrap();
            assert!(sent.iter().map(|sent| sent.data.as_u64()).eq((0..64).map(Some)), "in order");
            assert_eq!(notice.data, "100 log messages were dropped, because there were too many");
        }
        // A client that wants only urgent messages is not told.
        forwarder.set_level(LoggingLevel::Error);
        let started = (0..MAX_WAITING + 100).filter(|number| forwarder.enqueue(message(*number))).count();
        assert_eq!(started, 1);
        assert_eq!(std::iter::from_fn(|| forwarder.next()).count(), MAX_WAITING);
        assert!(forwarder.enqueue(message(0)));
    }
}
