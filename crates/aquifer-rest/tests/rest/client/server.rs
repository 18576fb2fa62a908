//! An HTTP/1.1 server that replies as a test specifies, and records what it receives.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) method: String,
    /// The path and the query.
    pub(crate) target: String,
    /// By lower-case name.
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
}

/// What the server does after a request.
pub(crate) enum Reply {
    /// A complete response.
    Answer(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// These bytes, then the connection is closed.
    Raw(Vec<u8>),
    /// The connection is reset.
    Reset,
    /// Nothing, until the client closes the connection.
    Silence,
    /// These bytes, then nothing until the client closes the connection.
    Stall(Vec<u8>),
    /// These bytes, then others repeatedly until the client closes the connection.
    Endless(Vec<u8>, Vec<u8>),
}

impl Reply {
    pub(crate) fn json(status: u16, body: &str) -> Self {
        Reply::Answer(status, vec![("content-type", "application/json".to_owned())], body.as_bytes().to_vec())
    }

    pub(crate) fn status(status: u16) -> Self {
        Reply::Answer(status, Vec::new(), Vec::new())
    }

    pub(crate) fn redirect(status: u16, location: &str) -> Self {
        Reply::Answer(status, vec![("location", location.to_owned())], Vec::new())
    }

    pub(crate) fn with(self, name: &'static str, value: &str) -> Self {
        match self {
            Reply::Answer(status, mut headers, body) => {
                headers.push((name, value.to_owned()));
                Reply::Answer(status, headers, body)
            }
            other => other,
        }
    }
}

type Handler = dyn Fn(&Received, usize) -> Reply + Send + Sync;

struct Shared {
    handler: Box<Handler>,
    received: Mutex<Vec<Received>>,
    count: watch::Sender<usize>,
    closed: watch::Sender<usize>,
    written: AtomicU64,
    active: AtomicU64,
    max_active: AtomicU64,
}

/// The server. It is stopped when this value is dropped.
pub(crate) struct Server {
    port: u16,
    shared: Arc<Shared>,
    task: AbortHandle,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// Starts a server. The handler gets each request and its number, counted from zero.
    pub(crate) async fn start(handler: impl Fn(&Received, usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            handler: Box::new(handler),
            received: Mutex::default(),
            count: watch::Sender::new(0),
            closed: watch::Sender::new(0),
            written: AtomicU64::new(0),
            active: AtomicU64::new(0),
            max_active: AtomicU64::new(0),
        });
        let state = shared.clone();
        let accept = async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let state = state.clone();
                connections.spawn(async move {
                    let _ = serve(stream, &state).await;
                    state.closed.send_modify(|count| *count += 1);
                });
            }
        };
        Self { port, shared, task: tokio::spawn(accept).abort_handle() }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.shared.received.lock().clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.received().len()
    }

    /// The number of response bytes handed to the operating system.
    pub(crate) fn written(&self) -> u64 {
        self.shared.written.load(Ordering::SeqCst)
    }

    /// The maximum number of requests that were handled at the same time.
    pub(crate) fn max_active(&self) -> u64 {
        self.shared.max_active.load(Ordering::SeqCst)
    }

    /// Waits until this many requests have arrived.
    pub(crate) async fn wait_for_requests(&self, number: usize) {
        self.shared.count.subscribe().wait_for(|count| *count >= number).await.unwrap();
    }

    /// Waits until this many connections have ended.
    pub(crate) async fn wait_for_closed(&self, number: usize) {
        self.shared.closed.subscribe().wait_for(|count| *count >= number).await.unwrap();
    }
}

async fn serve(stream: TcpStream, state: &Shared) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    while let Some(request) = read_request(&mut stream).await? {
        let number = {
            let mut received = state.received.lock();
            received.push(request.clone());
            received.len() - 1
        };
        let active = state.active.fetch_add(1, Ordering::SeqCst) + 1;
        state.max_active.fetch_max(active, Ordering::SeqCst);
        // Lets other connections run before this request is handled.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        state.active.fetch_sub(1, Ordering::SeqCst);
        let reply = (state.handler)(&request, number);
        state.count.send_modify(|count| *count += 1);
        match reply {
            Reply::Answer(status, headers, body) => {
                let closes = headers.iter().any(|(name, value)| *name == "connection" && value == "close");
                let mut head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
                headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
                head.push_str("\r\n");
                stream.write_all(head.as_bytes()).await?;
                if request.method != "HEAD" {
                    stream.write_all(&body).await?;
                }
                stream.flush().await?;
                state.written.fetch_add(body.len() as u64, Ordering::SeqCst);
                if closes {
                    return Ok(());
                }
            }
            Reply::Raw(bytes) => {
                stream.write_all(&bytes).await?;
                return stream.shutdown().await;
            }
            Reply::Reset => {
                stream.get_ref().set_zero_linger()?;
                return Ok(());
            }
            Reply::Silence => {
                let _ = stream.read(&mut [0; 1]).await;
                return Ok(());
            }
            Reply::Stall(head) => {
                stream.write_all(&head).await?;
                stream.flush().await?;
                let _ = stream.read(&mut [0; 1]).await;
                return Ok(());
            }
            Reply::Endless(head, chunk) => {
                stream.write_all(&head).await?;
                loop {
                    stream.write_all(&chunk).await?;
                    state.written.fetch_add(chunk.len() as u64, Ordering::SeqCst);
                }
            }
        }
    }
    Ok(())
}

async fn read_request(stream: &mut BufReader<TcpStream>) -> std::io::Result<Option<Received>> {
    let mut line = String::new();
    if stream.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let (method, target) = (words.next().unwrap_or_default().to_owned(), words.next().unwrap_or_default().to_owned());
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    let body = String::from_utf8_lossy(&body).into_owned();
    Ok(Some(Received { method, target, headers, body }))
}
