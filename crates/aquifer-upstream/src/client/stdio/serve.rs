//! Serves a connection to a child process that sends one message per line.

use std::sync::Arc;
use std::time::Duration;

use aquifer_protocol::scan::Salvage;
use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

use super::child::{Child, Pipes};
use super::pipe::Pipe;
use crate::client::message;
use crate::client::shared_state::{Outbound, SharedState};
use crate::error::{Outage, UpstreamError};

/// Maximum number of consecutive lines that are not messages. A program that sends more is not an MCP server.
const MAX_INVALID_LINES: usize = 1_000;

/// How long to read the remaining output of a process that has exited.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// The longest time to close a connection whose child has exited.
pub(crate) const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

const PROCESS_ENDED: &str = "its process ended";

/// Bytes read at once.
const CHUNK_BYTES: usize = 16 * 1024;

/// Serves the connection in a task of its own. The task ends when the child exits or the connection is closed, and
/// kills the whole process group.
pub(crate) fn serve(mut child: Child, pipes: Pipes, shared: &Arc<SharedState>, max_bytes: usize) {
    let pipe = Arc::new(Pipe::new(pipes.input));
    // This is the only place that sets it.
    let _ = shared.outbound.set(Outbound::Pipe(pipe.clone()));
    let shared = shared.clone();
    crate::tasks::spawn(async move {
        let mut reader = LineReader { input: pipes.output, buffer: BytesMut::new(), searched: 0, max_bytes };
        let outage = tokio::select! {
            outage = reader.read_all(&shared) => outage,
            outage = pipe.drain() => outage,
            () = shared.ended.cancelled() => Outage::new("it was stopped", "the connection was closed"),
            // A grandchild may keep the pipe open. The output of the child itself still has to be read.
            () = child.wait() => {
                let rest = tokio::time::timeout(DRAIN_TIMEOUT, reader.read_all(&shared)).await;
                rest.unwrap_or_else(|_| Outage::new(PROCESS_ENDED, "only its child processes are left"))
            }
        };
        // The reason is usually the last line of standard error.
        if !shared.ended.is_cancelled() {
            child.drain_stderr(DRAIN_TIMEOUT).await;
        }
        // The exit status is only logged.
        let stderr_tail = child.stderr_tail();
        let cause = match stderr_tail.as_str() {
            "" => outage.cause.clone(),
            tail => format!("{}. Its standard error: {tail}", outage.cause),
        };
        shared.close(&Outage::new(outage.reason, cause));
        let status = child.kill_and_wait().await.map(|status| status.to_string()).unwrap_or_default();
        tracing::debug!(
            source = &*shared.name,
            status,
            stderr_tail,
            "the upstream's process has ended: {}",
            outage.cause
        );
    });
}

struct LineReader<R> {
    input: R,
    buffer: BytesMut,
    /// Number of bytes at the start of the buffer that contain no line end.
    searched: usize,
    max_bytes: usize,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    async fn read_all(&mut self, shared: &Arc<SharedState>) -> Outage {
        let mut invalid_lines = 0;
        loop {
            while let Some(line) = self.next_line() {
                match message::for_each_message(&line, |message| shared.handle_message(&line, &message, None)) {
                    Ok(()) => invalid_lines = 0,
                    Err(_) if line.iter().all(u8::is_ascii_whitespace) => {}
                    Err(cause) => {
                        invalid_lines += 1;
                        if invalid_lines == 1 {
                            tracing::warn!(
                                source = &*shared.name,
                                "the upstream wrote an invalid message to its standard output: {}",
                                shared.sanitizer.for_log(&cause.to_string())
                            );
                        }
                        if invalid_lines > MAX_INVALID_LINES {
                            return Outage::new("it does not speak MCP", "too many invalid lines");
                        }
                    }
                }
            }
            if self.buffer.len() > self.max_bytes {
                match self.skip_line(shared).await {
                    Ok(()) => continue,
                    Err(outage) => return outage,
                }
            }
            self.buffer.reserve(CHUNK_BYTES);
            match self.input.read_buf(&mut self.buffer).await {
                Ok(0) => return Outage::new(PROCESS_ENDED, "end of its standard output"),
                Ok(_) => {}
                Err(cause) => return Outage::new(PROCESS_ENDED, cause),
            }
        }
    }

    /// The next complete line, without its end.
    fn next_line(&mut self) -> Option<Bytes> {
        let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
        let Some(index) = unsearched.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.buffer.len();
            return None;
        };
        let mut line = self.buffer.split_to(self.searched + index + 1);
        self.searched = 0;
        line.truncate(line.len() - 1);
        Some(line.freeze())
    }

    /// Discards a line that is too long while it arrives, and fails the call that it answers.
    async fn skip_line(&mut self, shared: &Arc<SharedState>) -> Result<(), Outage> {
        let mut salvage = Salvage::new();
        loop {
            let end = self.buffer.iter().position(|byte| *byte == b'\n');
            let part = self.buffer.split_to(end.unwrap_or(self.buffer.len()));
            salvage.push(&part);
            if end.is_some() {
                break;
            }
            self.buffer = BytesMut::with_capacity(CHUNK_BYTES);
            match self.input.read_buf(&mut self.buffer).await {
                Ok(read) if read > 0 => {}
                ended => return Err(Outage::new(PROCESS_ENDED, format!("in the middle of a line: {ended:?}"))),
            }
        }
        self.searched = 0;
        let salvaged = salvage.finish();
        let id = salvaged.id.as_deref().and_then(|id| id.trim_matches('"').parse().ok());
        let size = salvaged.bytes;
        tracing::warn!(source = &*shared.name, size, "discarded an answer of the upstream that is too large");
        if let Some(id) = id.or_else(|| shared.calls.only_id()) {
            shared.calls.settle(id, Err(UpstreamError::TooLarge { size }));
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::sanitize::Sanitizer;
    use crate::settings::Settings;

    /// A failed write does not end the connection by itself: the task that serves it first reads standard error, where the
    /// reason is.
    #[tokio::test]
    async fn a_failed_write_leaves_the_end_to_the_serving_task() {
        let args = ["-c".to_owned(), "exec <&-; sleep 600".to_owned()];
        let settings = Settings::stdio("git", "sh", args.clone());
        let sanitizer = Sanitizer::new(&settings);
        let shared = SharedState::new("git", sanitizer.clone());
        let (_child, pipes) = Child::start("sh", &args, &[], None, &shared.name, &sanitizer).unwrap();
        // Nothing but `drain` serves the connection here.
        let pipe = Arc::new(Pipe::new(pipes.input));
        assert!(shared.outbound.set(Outbound::Pipe(pipe.clone())).is_ok());
        let mut draining = std::pin::pin!(pipe.drain());
        let deadline = Instant::now() + Duration::from_secs(60);
        while tokio::time::timeout(Duration::from_millis(1), &mut draining).await.is_err() {
            assert!(Instant::now() < deadline, "the pipe stays open");
            shared.send(b"{}".to_vec());
        }
        assert!(!shared.ended.is_cancelled());
    }
}
