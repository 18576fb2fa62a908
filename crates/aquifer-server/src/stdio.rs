//! MCP over a pair of pipes, one message a line.
//!
//! The SDK's own transport drops lines it cannot parse and lines that are too long, and the client waits for ever.
//! This one answers them. Memory stays flat: a line over the limit is thrown away while it arrives, and only its
//! `id` and `method` are kept.

use std::sync::Arc;

use aquifer_engine::Engine;
use aquifer_protocol::limits::Limits;
use aquifer_protocol::scan::{Frame, Salvage, scan};
use futures::future::{BoxFuture, FutureExt};
use rmcp::service::{QuitReason, RxJsonRpcMessage, ServerInitializeError, ServiceExt, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{RoleServer, transport::io::stdio_pipes};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::face::{Connection, Face};
use crate::refusal;

/// Why serving a client ended badly.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    /// The client never completed the handshake.
    #[error("the MCP handshake failed: {0}")]
    Handshake(String),
    /// Our own task failed.
    #[error("the connection ended abnormally: {0}")]
    Ended(String),
}

/// Serves the client at our standard input and output until it leaves or `stop` fires. Calls under way are finished.
pub async fn serve_stdio(engine: Arc<Engine>, stop: CancellationToken) -> Result<(), StdioError> {
    let (read, write) = stdio_pipes();
    serve_streams(engine, read, write, stop).await
}

/// Serves the client at the other end of any pair of streams, one message a line.
pub async fn serve_streams(
    engine: Arc<Engine>,
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
    stop: CancellationToken,
) -> Result<(), StdioError> {
    let transport = Lines::new(read, write, engine.settings().limits);
    let running = match Face::new(engine, Connection::Stdio).serve_with_ct(transport, stop.clone()).await {
        Ok(running) => running,
        // A client that leaves before saying anything is no error of ours.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return Ok(()),
        Err(cause) => return Err(StdioError::Handshake(short(&cause))),
    };
    match running.waiting().await {
        Ok(QuitReason::JoinError(cause)) | Err(cause) => Err(StdioError::Ended(cause.to_string())),
        Ok(_) => Ok(()),
    }
}

/// Handshake errors quote whole messages.
fn short(cause: &ServerInitializeError) -> String {
    cause.to_string().chars().take(200).collect()
}

struct Lines<R, W> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// Set while a line over the limit is thrown away.
    salvage: Option<Salvage>,
    /// A refusal on its way out. Kept here because `receive` may be dropped at any await and called again.
    refusing: Option<BoxFuture<'static, std::io::Result<()>>>,
    write: Arc<Mutex<W>>,
    limits: Limits,
}

/// What a look at the line so far came to.
enum Look {
    /// More has to be read.
    More,
    /// A whole line is there.
    Line,
    /// A line over the limit has ended.
    Discarded(Salvage),
    /// The client has closed its end.
    End,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Send + Unpin + 'static> Lines<R, W> {
    fn new(read: R, write: W, limits: Limits) -> Self {
        Self {
            read: BufReader::with_capacity(64 * 1024, read),
            line: Vec::new(),
            salvage: None,
            refusing: None,
            write: Arc::new(Mutex::new(write)),
            limits,
        }
    }

    /// Takes in what has arrived. Safe to drop at its only await: nothing is consumed before it.
    async fn look(&mut self) -> Look {
        let longest = self.limits.max_request_size + refusal::FRAME;
        let Ok(arrived) = self.read.fill_buf().await else { return Look::End };
        if arrived.is_empty() {
            return Look::End;
        }
        let (chunk, ended) = match arrived.iter().position(|byte| *byte == b'\n') {
            Some(end) => (arrived.get(..end).unwrap_or_default(), true),
            None => (arrived, false),
        };
        if self.salvage.is_none() && self.line.len() + chunk.len() > longest {
            let mut salvage = Salvage::new();
            salvage.push(&self.line);
            self.line = Vec::new();
            self.salvage = Some(salvage);
        }
        match &mut self.salvage {
            Some(salvage) => salvage.push(chunk),
            None => self.line.extend_from_slice(chunk),
        }
        let consumed = chunk.len() + usize::from(ended);
        self.read.consume(consumed);
        match (ended, self.salvage.take()) {
            (true, Some(salvage)) => Look::Discarded(salvage),
            (true, None) => Look::Line,
            (false, salvage) => {
                self.salvage = salvage;
                Look::More
            }
        }
    }

    /// The message in the line, or the answer to what is none.
    fn read_line(&mut self) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Option<Vec<u8>>> {
        let line = std::mem::take(&mut self.line);
        let bytes = line.trim_ascii();
        let message = if bytes.is_empty() { Ok(None) } else { parse(bytes, &self.limits).map(Some) };
        // The buffer is kept for the next line, unless an unusually long one has blown it up.
        if line.capacity() <= 256 * 1024 {
            self.line = line;
            self.line.clear();
        }
        message
    }

    fn refuse(&mut self, answer: Vec<u8>) {
        self.refusing = Some(write_line(self.write.clone(), answer).boxed());
    }
}

fn parse(bytes: &[u8], limits: &Limits) -> Result<RxJsonRpcMessage<RoleServer>, Option<Vec<u8>>> {
    let salvaged = || {
        let mut salvage = Salvage::new();
        salvage.push(bytes);
        salvage.finish()
    };
    scan(bytes, Frame::Mcp, limits).map_err(|problem| refusal::answer(&problem, &salvaged(), limits))?;
    serde_json::from_slice(bytes).map_err(|cause| {
        tracing::debug!(%cause, "not a message of MCP");
        Some(refusal::not_a_message(&salvaged(), bytes.first() == Some(&b'[')))
    })
}

async fn write_line<W: AsyncWrite + Send + Unpin>(write: Arc<Mutex<W>>, mut line: Vec<u8>) -> std::io::Result<()> {
    line.push(b'\n');
    let mut write = write.lock().await;
    write.write_all(&line).await?;
    write.flush().await
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let write = self.write.clone();
        async move {
            let line = serde_json::to_vec(&message)?;
            write_line(write, line).await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(refusing) = &mut self.refusing {
                let sent = refusing.await;
                self.refusing = None;
                if sent.is_err() {
                    return None;
                }
            }
            match self.look().await {
                Look::More => {}
                Look::End => return None,
                Look::Line => match self.read_line() {
                    Ok(Some(message)) => return Some(message),
                    Ok(None) | Err(None) => {}
                    Err(Some(answer)) => self.refuse(answer),
                },
                Look::Discarded(salvage) => {
                    let salvaged = salvage.finish();
                    let problem = refusal::oversized(salvaged.bytes, &self.limits);
                    if let Some(answer) = refusal::answer(&problem, &salvaged, &self.limits) {
                        self.refuse(answer);
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.write.lock().await.shutdown().await
    }
}
