//! MCP over a pair of pipes, one message a line.
//!
//! The SDK's own transport drops lines it cannot parse and lines that are too long, and the client waits for ever.
//! This one answers them. Memory stays flat: a line over the limit is thrown away while it arrives, and only its
//! `id` and `method` are kept.

use std::collections::HashSet;
use std::sync::Arc;

use aquifer_engine::Engine;
use aquifer_protocol::limits::Limits;
use aquifer_protocol::scan::{Frame, Salvage, scan};
use futures::future::{BoxFuture, FutureExt};
use rmcp::model::{ClientNotification, JsonRpcMessage, RequestId};
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

/// Calls under way at once for one client. More are refused: their answers have to be held until the client reads.
const MOST_CALLS: usize = 256;

/// The ids of requests that were handed on and not answered yet.
type Outstanding = Arc<std::sync::Mutex<HashSet<RequestId>>>;

struct Lines<R, W> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// Set while a line over the limit is thrown away.
    salvage: Option<Salvage>,
    /// A refusal on its way out. Kept here because `receive` may be dropped at any await and called again.
    refusing: Option<BoxFuture<'static, std::io::Result<()>>>,
    write: Arc<Mutex<W>>,
    outstanding: Outstanding,
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
            outstanding: Outstanding::default(),
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

    /// Takes note of a message that goes on to the SDK, or gives the answer to a call too many.
    fn admit(&self, message: &RxJsonRpcMessage<RoleServer>) -> Result<(), Vec<u8>> {
        let mut outstanding = lock(&self.outstanding);
        match message {
            JsonRpcMessage::Request(request) => {
                if outstanding.len() >= MOST_CALLS {
                    return Err(refusal::too_many(&request.id, MOST_CALLS, &self.limits));
                }
                outstanding.insert(request.id.clone());
            }
            // The SDK never answers a cancelled request.
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    outstanding.remove(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Ok(())
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

fn lock(outstanding: &Outstanding) -> std::sync::MutexGuard<'_, HashSet<RequestId>> {
    outstanding.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
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
        let (write, outstanding) = (self.write.clone(), self.outstanding.clone());
        async move {
            let line = serde_json::to_vec(&message)?;
            let answered = match message {
                JsonRpcMessage::Response(response) => Some(response.id),
                JsonRpcMessage::Error(error) => error.id,
                JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
            };
            let written = write_line(write, line).await;
            if let Some(id) = answered {
                lock(&outstanding).remove(&id);
            }
            written
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
                    Ok(Some(message)) => match self.admit(&message) {
                        Ok(()) => return Some(message),
                        Err(answer) => self.refuse(answer),
                    },
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
