//! A child process as the server: one JSON message per line.

use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

use super::connection::{
    Connection, MAX_ANSWER_BYTES, SimulatedUser, TransportError, answer_to_server, is_response_to,
};
use crate::system::ProcessGroup;

/// Size of the end of standard error that is kept to explain why the process ended.
const MAX_STDERR_BYTES: usize = 2_000;

/// A running child process. Dropping this kills its whole process group.
pub(super) struct StdioConnection {
    child: Child,
    group: ProcessGroup,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    stderr_tail: Arc<Mutex<VecDeque<u8>>>,
    stderr_task: JoinHandle<()>,
    user: SimulatedUser,
}

impl StdioConnection {
    pub(super) fn start(argv: &[String], env: &[(String, String)]) -> Result<Self, TransportError> {
        let Some((program, arguments)) = argv.split_first() else {
            return Err(TransportError("no command was given".into()));
        };
        let mut command = Command::new(program);
        command.args(arguments).envs(env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        ProcessGroup::prepare(&mut command);
        let mut child =
            command.spawn().map_err(|cause| TransportError(format!("'{program}' cannot be started: {cause}")))?;
        let group = ProcessGroup::new(&child);
        let (Some(input), Some(output), Some(errors)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(TransportError(format!("the pipes of '{program}' cannot be opened")));
        };
        let stderr_tail = Arc::<Mutex<VecDeque<u8>>>::default();
        // The task ends with the process group, because that closes the pipe.
        let stderr_task = tokio::spawn(drain_stderr(errors, stderr_tail.clone()));
        Ok(Self {
            child,
            group,
            input,
            output: BufReader::new(output),
            stderr_tail,
            stderr_task,
            user: SimulatedUser::default(),
        })
    }

    async fn write(&mut self, message: &[u8]) -> Result<(), TransportError> {
        let written = async {
            self.input.write_all(message).await?;
            self.input.write_all(b"\n").await?;
            self.input.flush().await
        };
        match written.await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.end_error().await),
        }
    }

    /// Reads the next message. Lines that are not JSON are skipped, because some programs print them by mistake.
    async fn read(&mut self) -> Result<Value, TransportError> {
        loop {
            let mut line = Vec::new();
            let read = (&mut self.output).take(MAX_ANSWER_BYTES as u64).read_until(b'\n', &mut line).await;
            if !matches!(read, Ok(read) if read > 0) {
                return Err(self.end_error().await);
            }
            if line.len() >= MAX_ANSWER_BYTES {
                return Err(TransportError(format!("an answer is larger than {MAX_ANSWER_BYTES} bytes")));
            }
            if let Ok(message) = serde_json::from_slice::<Value>(&line) {
                return Ok(message);
            }
        }
    }

    async fn end_error(&mut self) -> TransportError {
        let status = tokio::time::timeout(Duration::from_secs(1), self.child.wait()).await;
        let how = match status {
            Ok(Ok(status)) => format!("the server ended ({status})"),
            _ => "the server closed its output".to_owned(),
        };
        let _ = tokio::time::timeout(Duration::from_millis(200), &mut self.stderr_task).await;
        let tail: Vec<u8> = self.stderr_tail.lock().iter().copied().collect();
        let stderr = String::from_utf8_lossy(&tail);
        match stderr.trim() {
            "" => TransportError(how),
            stderr => TransportError(format!("{how}. Its standard error ends with: {stderr}")),
        }
    }
}

impl Connection for StdioConnection {
    fn user(&mut self) -> &mut SimulatedUser {
        &mut self.user
    }

    fn request<'a>(&'a mut self, request: &'a Value) -> BoxFuture<'a, Result<Value, TransportError>> {
        Box::pin(async move {
            self.write(request.to_string().as_bytes()).await?;
            let id = request.get("id").cloned().unwrap_or_default();
            loop {
                let message = self.read().await?;
                if message == *request {
                    return Err(TransportError("the command echoes its input and is not an MCP server".into()));
                }
                if is_response_to(&message, &id) {
                    return Ok(message);
                }
                if let Some(reply) = answer_to_server(&message, &mut self.user) {
                    self.write(reply.to_string().as_bytes()).await?;
                }
            }
        })
    }

    fn notify<'a>(&'a mut self, notification: &'a Value) -> BoxFuture<'a, Result<(), TransportError>> {
        Box::pin(async move { self.write(notification.to_string().as_bytes()).await })
    }

    fn send_raw<'a>(
        &'a mut self,
        bytes: &'a [u8],
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Option<Value>, TransportError>> {
        Box::pin(async move {
            self.write(bytes).await?;
            tokio::time::timeout(timeout, self.read()).await.map_or(Ok(None), |read| read.map(Some))
        })
    }
}

impl Drop for StdioConnection {
    fn drop(&mut self) {
        self.group.kill(&mut self.child);
    }
}

/// Drains standard error, so that the process never blocks on it, and keeps its end.
async fn drain_stderr(mut errors: impl AsyncRead + Unpin, stderr_tail: Arc<Mutex<VecDeque<u8>>>) {
    let mut chunk = vec![0; 4_096];
    while let Ok(read) = errors.read(&mut chunk).await {
        if read == 0 {
            return;
        }
        let mut tail = stderr_tail.lock();
        tail.extend(chunk.iter().take(read));
        let surplus = tail.len().saturating_sub(MAX_STDERR_BYTES);
        tail.drain(..surplus);
    }
}
