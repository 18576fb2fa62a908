//! MCP over stdio, one message per line.
//!
//! The SDK's own transport drops lines that are too long or that it cannot parse, and the client waits forever. This
//! transport answers them. Memory stays bounded: a line over the limit is discarded while it arrives, and only its `id`
//! and `method` are kept. Further calls of a client that sends without reading are refused. The queue of its unread
//! answers is bounded as well; beyond the limit they are replaced with short failures.

mod outgoing;
mod pending;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::{Engine, Settings};
use aquifer_protocol::limits::Limits;
use aquifer_protocol::scan::{Frame, Salvage, scan};
use futures::future::{BoxFuture, FutureExt};
use rmcp::model::{ClientNotification, ClientRequest, JsonRpcMessage};
use rmcp::service::{QuitReason, RxJsonRpcMessage, ServerInitializeError, ServiceExt, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{RoleServer, transport::io::stdio_pipes};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, BufReader};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::answer::refusal;
use crate::direct::direct_calls::{Call, DirectCalls};
use crate::handler::{Connection, McpHandler};
use crate::memory_estimate::estimate_bytes;
use outgoing::{Output, send, send_answer};
use pending::{MAX_EXPECTED_BYTES, Pending};

/// Why serving a client failed.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    /// The client never completed the handshake.
    #[error("the MCP handshake failed: {0}")]
    Handshake(String),
    /// Our own task failed.
    #[error("the connection ended abnormally: {0}")]
    Ended(String),
}

/// Serves the client on standard input and output until it disconnects or `stop` is cancelled. Running calls get
/// ten seconds to finish. After a stop, the client gets the same ten seconds to read their answers.
pub async fn serve_stdio(engine: Arc<Engine>, stop: CancellationToken) -> Result<(), StdioError> {
    let (read, write) = stdio_pipes();
    serve_streams(engine, read, write, stop).await
}

/// Serves the client on any pair of streams, one message per line.
pub async fn serve_streams(
    engine: Arc<Engine>,
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
    stop: CancellationToken,
) -> Result<(), StdioError> {
    let handler = Arc::new(McpHandler::new(engine.clone(), Connection::Stdio));
    serve_handler(handler, engine.settings(), read, write, stop).await
}

async fn serve_handler(
    handler: Arc<McpHandler>,
    settings: &Settings,
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
    stop: CancellationToken,
) -> Result<(), StdioError> {
    let given_up = CancellationToken::new();
    let _gives_up = given_up.clone().drop_guard();
    let output = Output::new(write, given_up.clone());
    let direct_calls = DirectCalls::new(handler.clone());
    let transport = StdioTransport::new(read, output, settings, direct_calls, stop.clone(), given_up.clone());
    let serving = async {
        let running = match handler.serve(transport).await {
            Ok(running) => running,
            // A client may disconnect before its first message.
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return Ok(()),
            Err(_) if given_up.is_cancelled() => return Ok(()),
            Err(cause) => return Err(StdioError::Handshake(short(&cause))),
        };
        match running.waiting().await {
            Ok(QuitReason::JoinError(cause)) | Err(cause) => Err(StdioError::Ended(cause.to_string())),
            Ok(_) => Ok(()),
        }
    };
    // Not left to the transport: it does not see the stop while it waits for the client to read a refusal, and it is
    // not asked at all while the SDK waits for the client to read an answer during the handshake, or closes.
    let giving_up = async {
        stop.cancelled().await;
        tokio::time::sleep(DRAIN_TIMEOUT).await;
        given_up.cancel();
        std::future::pending().await
    };
    tokio::select! {
        ended = serving => ended,
        ended = giving_up => ended,
    }
}

/// Shortens a handshake error, which may quote a whole message.
fn short(cause: &ServerInitializeError) -> String {
    cause.to_string().chars().take(200).collect()
}

/// How long running requests may take to finish after the client has disconnected or a stop was requested.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

struct StdioTransport<R, W> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// Set while a line over the limit is being discarded.
    salvage: Option<Salvage>,
    /// A refusal that is being sent. Stored here because `receive` may be dropped at any await and called again.
    refusing: Option<BoxFuture<'static, std::io::Result<()>>>,
    output: Arc<Output<W>>,
    pending: Arc<Pending>,
    direct_calls: DirectCalls,
    /// Whether the SDK has received a request. It accepts nothing else as the first message.
    begun: bool,
    /// Deadline for running requests, set when reading has ended. Stored here for the same reason: each message sent in
    /// the meantime drops `receive` and calls it again.
    ended: Option<Instant>,
    stop: CancellationToken,
    /// Cancelled when the client has had enough time after a stop.
    given_up: CancellationToken,
    limits: Limits,
    max_operations: usize,
    /// The estimated memory of the last message read and of its answer, in bytes.
    expected: usize,
}

/// The state of the line after reading a chunk.
enum ReadProgress {
    /// More has to be read.
    More,
    /// The line is complete.
    Line,
    /// A line over the limit has ended.
    Discarded(Salvage),
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Send + Unpin + 'static> StdioTransport<R, W> {
    fn new(
        read: R,
        output: Output<W>,
        settings: &Settings,
        direct_calls: DirectCalls,
        stop: CancellationToken,
        given_up: CancellationToken,
    ) -> Self {
        Self {
            read: BufReader::with_capacity(64 * 1024, read),
            line: Vec::new(),
            salvage: None,
            refusing: None,
            output: Arc::new(output),
            pending: Arc::new(Pending::new(MAX_EXPECTED_BYTES)),
            direct_calls,
            begun: false,
            ended: None,
            stop,
            given_up,
            limits: settings.limits,
            max_operations: settings.max_batch_size,
            expected: 0,
        }
    }

    /// Reads the bytes that have arrived. Cancel-safe: nothing is consumed before its only await.
    async fn scan_line(&mut self) -> ReadProgress {
        let longest = self.limits.max_request_size + refusal::MAX_FRAME_BYTES;
        let arrived = tokio::select! {
            biased;
            () = self.stop.cancelled() => &[],
            arrived = self.read.fill_buf() => arrived.unwrap_or_default(),
        };
        if arrived.is_empty() {
            self.ended = Some(Instant::now() + DRAIN_TIMEOUT);
            // The last line may lack its newline.
            return match self.salvage.take() {
                Some(salvage) => ReadProgress::Discarded(salvage),
                None => ReadProgress::Line,
            };
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
            (true, Some(salvage)) => ReadProgress::Discarded(salvage),
            (true, None) => ReadProgress::Line,
            (false, salvage) => {
                self.salvage = salvage;
                ReadProgress::More
            }
        }
    }

    /// Parses the line. `Ok(None)` if it is empty or a direct call. `Err` if it is not a message, with the answer,
    /// if any.
    fn read_line(&mut self) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Option<Vec<u8>>> {
        let line = std::mem::take(&mut self.line);
        let bytes = line.trim_ascii();
        let message = if bytes.is_empty() { Ok(None) } else { self.read_message(bytes) };
        // Reuse the buffer for the next line, unless an unusually long line has made it large.
        if line.capacity() <= 256 * 1024 {
            self.line = line;
            self.line.clear();
        }
        message
    }

    fn read_message(&mut self, bytes: &[u8]) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Option<Vec<u8>>> {
        let salvaged = || Salvage::search(bytes);
        scan(bytes, Frame::Mcp, &self.limits)
            .map_err(|problem| refusal::answer(&problem, &salvaged(), &self.limits))?;
        self.expected = estimate_bytes(bytes, self.max_operations);
        if let Some(call) = self.direct_calls.read(bytes, None) {
            return self.run(call).map(|()| None).map_err(Some);
        }
        serde_json::from_slice(bytes).map(Some).map_err(|cause| {
            tracing::debug!(%cause, "not an MCP message");
            Some(refusal::not_a_message(&salvaged(), bytes.first() == Some(&b'[')))
        })
    }

    /// Makes a call in a task of its own. `Err` with the refusal if too many are running.
    fn run(&mut self, call: Call) -> Result<(), Vec<u8>> {
        if self.pending.is_full(self.expected) {
            return Err(refusal::too_many(&call.id, true, &self.limits));
        }
        self.pending.begin(&call.id, false, self.expected);
        let answer = self.direct_calls.run(call);
        let (output, pending, limits) = (self.output.clone(), self.pending.clone(), self.limits);
        tokio::spawn(async move {
            if let Some(answer) = answer.await
                && let Err(cause) = send_answer(answer, &output, &pending, &limits).await
            {
                tracing::debug!(%cause, "the client did not accept an answer");
            }
        });
        Ok(())
    }

    /// Decides whether a message goes to the SDK, and counts it if so. `Err` with the refusal if too many requests are
    /// running.
    fn admit(&mut self, message: &RxJsonRpcMessage<RoleServer>) -> Result<bool, Vec<u8>> {
        match message {
            JsonRpcMessage::Request(request) => {
                if self.pending.is_full(self.expected) {
                    let is_call = matches!(request.request, ClientRequest::CallToolRequest(_));
                    return Err(refusal::too_many(&request.id, is_call, &self.limits));
                }
                let listens = matches!(request.request, ClientRequest::SubscriptionsListenRequest(_));
                self.pending.begin(&request.id, listens, self.expected);
                self.begun = true;
            }
            // The SDK never answers a cancelled request.
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.pending.end(id);
                    if self.direct_calls.cancel(id) {
                        return Ok(false);
                    }
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Ok(self.begun)
    }

    fn refuse(&mut self, answer: Vec<u8>) {
        let output = self.output.clone();
        self.refusing = Some(async move { output.write_line(answer).await }.boxed());
    }
}

impl<R, W> Transport<RoleServer> for StdioTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (output, pending, limits) = (self.output.clone(), self.pending.clone(), self.limits);
        async move { send(message, &output, &pending, &limits).await }
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
            if let Some(deadline) = self.ended {
                let drained = self.pending.drained(deadline);
                if self.given_up.run_until_cancelled(drained).await != Some(true) {
                    tracing::warn!("stopping while calls are still running");
                }
                return None;
            }
            match self.scan_line().await {
                ReadProgress::More => {}
                ReadProgress::Line => match self.read_line() {
                    Ok(Some(message)) => match self.admit(&message) {
                        Ok(true) => return Some(message),
                        Ok(false) => {}
                        Err(answer) => self.refuse(answer),
                    },
                    Ok(None) | Err(None) => {}
                    Err(Some(answer)) => self.refuse(answer),
                },
                ReadProgress::Discarded(salvage) => {
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
        self.output.close().await
    }
}
