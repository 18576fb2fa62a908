//! A server that is a program of ours: one JSON message on each line.

use std::collections::VecDeque;
use std::process::Stdio as Pipe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

use super::connection::{Broken, MAX_ANSWER_BYTES, Wire, answers, reply_to};

/// So much of the end of its standard error is kept to tell why it died.
const LAST_WORDS: usize = 2_000;

/// A running program. When this is dropped, its whole process group is killed.
pub(super) struct Stdio {
    child: Child,
    group: Option<Pid>,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last_words: Arc<Mutex<VecDeque<u8>>>,
    listening: JoinHandle<()>,
}

impl Stdio {
    pub(super) fn start(argv: &[String], env: &[(String, String)]) -> Result<Self, Broken> {
        let Some((program, arguments)) = argv.split_first() else {
            return Err(Broken("no command was given".into()));
        };
        let mut command = Command::new(program);
        command.args(arguments).envs(env.iter().map(|(name, value)| (name, value)));
        command.stdin(Pipe::piped()).stdout(Pipe::piped()).stderr(Pipe::piped());
        command.process_group(0).kill_on_drop(true);
        let mut child = command.spawn().map_err(|cause| Broken(format!("'{program}' cannot be started: {cause}")))?;
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let (Some(input), Some(output), Some(errors)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(Broken(format!("the pipes of '{program}' cannot be had")));
        };
        let last_words = Arc::<Mutex<VecDeque<u8>>>::default();
        // Ends with the pipe, and the pipe with the process group.
        let listening = tokio::spawn(listen(errors, last_words.clone()));
        Ok(Self { child, group, input, output: BufReader::new(output), last_words, listening })
    }

    async fn write(&mut self, message: &[u8]) -> Result<(), Broken> {
        let written = async {
            self.input.write_all(message).await?;
            self.input.write_all(b"\n").await?;
            self.input.flush().await
        };
        match written.await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.died().await),
        }
    }

    /// The next message; lines that are no JSON are what some programs print by mistake, and are passed over.
    async fn read(&mut self) -> Result<Value, Broken> {
        loop {
            let mut line = Vec::new();
            let read = (&mut self.output).take(MAX_ANSWER_BYTES as u64).read_until(b'\n', &mut line).await;
            if !matches!(read, Ok(read) if read > 0) {
                return Err(self.died().await);
            }
            if line.len() >= MAX_ANSWER_BYTES {
                return Err(Broken(format!("an answer is larger than {MAX_ANSWER_BYTES} bytes")));
            }
            if let Ok(message) = serde_json::from_slice::<Value>(&line) {
                return Ok(message);
            }
        }
    }

    async fn died(&mut self) -> Broken {
        let status = tokio::time::timeout(Duration::from_secs(1), self.child.wait()).await;
        let how = match status {
            Ok(Ok(status)) => format!("the server ended ({status})"),
            _ => "the server closed its output".to_owned(),
        };
        let _ = tokio::time::timeout(Duration::from_millis(200), &mut self.listening).await;
        let kept: Vec<u8> = self.last_words.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
        let said = String::from_utf8_lossy(&kept);
        match said.trim() {
            "" => Broken(how),
            said => Broken(format!("{how}. Its last words: {said}")),
        }
    }
}

impl Wire for Stdio {
    fn ask<'a>(&'a mut self, request: &'a Value) -> BoxFuture<'a, Result<Value, Broken>> {
        Box::pin(async move {
            self.write(request.to_string().as_bytes()).await?;
            let id = request.get("id").cloned().unwrap_or_default();
            loop {
                let message = self.read().await?;
                if message == *request {
                    return Err(Broken("the command sends back what it is sent: it is no MCP server".into()));
                }
                if answers(&message, &id) {
                    return Ok(message);
                }
                if let Some(reply) = reply_to(&message) {
                    self.write(reply.to_string().as_bytes()).await?;
                }
            }
        })
    }

    fn tell<'a>(&'a mut self, notification: &'a Value) -> BoxFuture<'a, Result<(), Broken>> {
        Box::pin(async move { self.write(notification.to_string().as_bytes()).await })
    }

    fn raw<'a>(&'a mut self, bytes: &'a [u8], timeout: Duration) -> BoxFuture<'a, Result<Option<Value>, Broken>> {
        Box::pin(async move {
            self.write(bytes).await?;
            tokio::time::timeout(timeout, self.read()).await.map_or(Ok(None), |read| read.map(Some))
        })
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        if let Some(group) = self.group.take() {
            // Nobody is left to be killed: all the better.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Drains the standard error, so that nobody blocks on it, and keeps its end.
async fn listen(mut errors: impl AsyncRead + Unpin, last_words: Arc<Mutex<VecDeque<u8>>>) {
    let mut chunk = vec![0; 4_096];
    while let Ok(read) = errors.read(&mut chunk).await {
        if read == 0 {
            return;
        }
        let mut kept = last_words.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(chunk.iter().take(read));
        let surplus = kept.len().saturating_sub(LAST_WORDS);
        kept.drain(..surplus);
    }
}
