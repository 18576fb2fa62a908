//! MCP over a pair of pipes, one message a line.
//!
//! The SDK's own transport drops lines it cannot parse and lines that are too long, and the client waits for ever.
//! This one answers them. Memory stays flat: a line over the limit is thrown away while it arrives, and only its
//! `id` and `method` are kept.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aquifer_engine::Engine;
use aquifer_protocol::limits::Limits;
use aquifer_protocol::scan::{Frame, Salvage, scan};
use futures::future::{BoxFuture, FutureExt};
use rmcp::model::{ClientNotification, ClientRequest, JsonRpcMessage, RequestId};
use rmcp::service::{QuitReason, RxJsonRpcMessage, ServerInitializeError, ServiceExt, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{RoleServer, transport::io::stdio_pipes};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::bypass;
use crate::express::{Call, Express, Shared};
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

/// Serves the client at our standard input and output until it leaves or `stop` fires. Calls under way are finished,
/// within reason.
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
    let limits = engine.settings().limits;
    let face = Arc::new(Face::new(engine, Connection::Stdio));
    let transport = Lines::new(read, write, limits, Express::new(face.clone()), stop);
    let running = match Shared(face).serve(transport).await {
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

/// Requests under way at once for one client, and bytes of answers it has not read yet. What comes beyond is refused.
const MOST_CALLS: usize = 256;
const MOST_UNREAD: usize = 32 * 1024 * 1024;

/// How long requests under way may take to finish once the client has left or we are told to stop.
const DRAIN: Duration = Duration::from_secs(10);

/// What was handed on and not answered yet.
#[derive(Default)]
struct Pending {
    /// How often each id is under way, and how many of those only wait for news and never end by themselves.
    requests: Mutex<HashMap<RequestId, (usize, usize)>>,
    calls: AtomicUsize,
    listening: AtomicUsize,
    unread: AtomicUsize,
    settled: Notify,
}

impl Pending {
    fn begin(&self, id: &RequestId, listens: bool) {
        let listens = usize::from(listens);
        let mut requests = self.lock();
        let (count, listening) = requests.entry(id.clone()).or_default();
        *count += 1;
        *listening += listens;
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.listening.fetch_add(listens, Ordering::SeqCst);
    }

    /// A request was answered, or will never be.
    fn end(&self, id: &RequestId) {
        let mut requests = self.lock();
        let Some((count, listening)) = requests.get_mut(id) else { return };
        *count -= 1;
        if *listening > 0 {
            *listening -= 1;
            self.listening.fetch_sub(1, Ordering::SeqCst);
        }
        if *count == 0 {
            requests.remove(id);
        }
        drop(requests);
        self.calls.fetch_sub(1, Ordering::SeqCst);
        self.settled.notify_waiters();
    }

    fn is_full(&self) -> bool {
        self.calls.load(Ordering::SeqCst) >= MOST_CALLS || self.unread.load(Ordering::SeqCst) > MOST_UNREAD
    }

    /// Waits until everything is answered that will be, but not for ever.
    async fn drained(&self, deadline: Instant) {
        let empty = async {
            loop {
                let settled = self.settled.notified();
                if self.calls.load(Ordering::SeqCst) <= self.listening.load(Ordering::SeqCst) {
                    return;
                }
                settled.await;
            }
        };
        if tokio::time::timeout_at(deadline, empty).await.is_err() {
            tracing::warn!("stopping although calls are still under way");
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, (usize, usize)>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Lines<R, W> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// Set while a line over the limit is thrown away.
    salvage: Option<Salvage>,
    /// A refusal on its way out. Kept here because `receive` may be dropped at any await and called again.
    refusing: Option<BoxFuture<'static, std::io::Result<()>>>,
    write: Arc<tokio::sync::Mutex<W>>,
    pending: Arc<Pending>,
    express: Express,
    /// Whether a request has gone on to the SDK: it takes nothing else first.
    begun: bool,
    /// Set once nothing more will be read: until when to wait for what is under way. Kept here, too, because whatever
    /// is sent meanwhile drops `receive` and calls it again.
    ended: Option<Instant>,
    stop: CancellationToken,
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
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Send + Unpin + 'static> Lines<R, W> {
    fn new(read: R, write: W, limits: Limits, express: Express, stop: CancellationToken) -> Self {
        Self {
            read: BufReader::with_capacity(64 * 1024, read),
            line: Vec::new(),
            salvage: None,
            refusing: None,
            write: Arc::new(tokio::sync::Mutex::new(write)),
            pending: Arc::default(),
            express,
            begun: false,
            ended: None,
            stop,
            limits,
        }
    }

    /// Takes in what has arrived. Safe to drop at its only await: nothing is consumed before it.
    async fn look(&mut self) -> Look {
        let longest = self.limits.max_request_size + refusal::FRAME;
        let arrived = tokio::select! {
            biased;
            () = self.stop.cancelled() => &[],
            arrived = self.read.fill_buf() => arrived.unwrap_or_default(),
        };
        if arrived.is_empty() {
            self.ended = Some(Instant::now() + DRAIN);
            // The last line may come without its end.
            return match self.salvage.take() {
                Some(salvage) => Look::Discarded(salvage),
                None => Look::Line,
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
            (true, Some(salvage)) => Look::Discarded(salvage),
            (true, None) => Look::Line,
            (false, salvage) => {
                self.salvage = salvage;
                Look::More
            }
        }
    }

    /// The message in the line, unless it went the short way, or the answer to what is none.
    fn read_line(&mut self) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Option<Vec<u8>>> {
        let line = std::mem::take(&mut self.line);
        let bytes = line.trim_ascii();
        let message = if bytes.is_empty() { Ok(None) } else { self.read_message(bytes) };
        // The buffer is kept for the next line, unless an unusually long one has blown it up.
        if line.capacity() <= 256 * 1024 {
            self.line = line;
            self.line.clear();
        }
        message
    }

    fn read_message(&mut self, bytes: &[u8]) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Option<Vec<u8>>> {
        let salvaged = || Salvage::of(bytes);
        scan(bytes, Frame::Mcp, &self.limits)
            .map_err(|problem| refusal::answer(&problem, &salvaged(), &self.limits))?;
        if let Some(call) = self.express.read(bytes, None) {
            return self.make(call).map(|()| None).map_err(Some);
        }
        serde_json::from_slice(bytes).map(Some).map_err(|cause| {
            tracing::debug!(%cause, "not a message of MCP");
            Some(refusal::not_a_message(&salvaged(), bytes.first() == Some(&b'[')))
        })
    }

    /// Makes a call in a task of its own. `Err`: the answer to one too many.
    fn make(&mut self, call: Call) -> Result<(), Vec<u8>> {
        if self.pending.is_full() {
            return Err(refusal::too_many(&call.id, true, &self.limits));
        }
        self.pending.begin(&call.id, false);
        let answer = self.express.make(call);
        let (write, pending) = (self.write.clone(), self.pending.clone());
        tokio::spawn(async move {
            if let Some(message) = answer.await
                && let Err(cause) = send(message, write, &pending).await
            {
                tracing::debug!(%cause, "the client did not take an answer");
            }
        });
        Ok(())
    }

    /// Takes note of a message that goes on to the SDK. `Ok(false)`: it does not; `Err`: the answer to one too many.
    fn admit(&mut self, message: &RxJsonRpcMessage<RoleServer>) -> Result<bool, Vec<u8>> {
        match message {
            JsonRpcMessage::Request(request) => {
                if self.pending.is_full() {
                    let is_call = matches!(request.request, ClientRequest::CallToolRequest(_));
                    return Err(refusal::too_many(&request.id, is_call, &self.limits));
                }
                let listens = matches!(request.request, ClientRequest::SubscriptionsListenRequest(_));
                self.pending.begin(&request.id, listens);
                self.begun = true;
            }
            // The SDK never answers a cancelled request.
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.pending.end(id);
                    if self.express.cancel(id) {
                        return Ok(false);
                    }
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Ok(self.begun)
    }

    fn refuse(&mut self, answer: Vec<u8>) {
        self.refusing = Some(write_line(self.write.clone(), answer).boxed());
    }
}

/// Writes a message, and takes note if that was an answer.
async fn send<W: AsyncWrite + Send + Unpin>(
    mut message: TxJsonRpcMessage<RoleServer>,
    write: Arc<tokio::sync::Mutex<W>>,
    pending: &Pending,
) -> std::io::Result<()> {
    let line = bypass::write(&mut message)?;
    let size = line.len();
    let answered = match message {
        JsonRpcMessage::Response(response) => Some(response.id),
        JsonRpcMessage::Error(error) => error.id,
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
    };
    pending.unread.fetch_add(size, Ordering::SeqCst);
    let written = write_line(write, line).await;
    pending.unread.fetch_sub(size, Ordering::SeqCst);
    if let Some(id) = answered {
        pending.end(&id);
    }
    written
}

async fn write_line<W: AsyncWrite + Send + Unpin>(
    write: Arc<tokio::sync::Mutex<W>>,
    mut line: Vec<u8>,
) -> std::io::Result<()> {
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
        let (write, pending) = (self.write.clone(), self.pending.clone());
        async move { send(message, write, &pending).await }
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
                self.pending.drained(deadline).await;
                return None;
            }
            match self.look().await {
                Look::More => {}
                Look::Line => match self.read_line() {
                    Ok(Some(message)) => match self.admit(&message) {
                        Ok(true) => return Some(message),
                        Ok(false) => {}
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
