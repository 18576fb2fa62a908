//! Accepts connections up to a limit and closes those that are idle for too long.

use std::convert::Infallible;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body as HttpBody, Bytes};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, MeteredStream};
use super::connections::Connections;
use super::in_flight::{MAX_CALLS, MAX_LISTENERS};
use super::throttle::WarningThrottle;
use super::tracked_body::TrackedBody;

/// Number of idle connections allowed in addition to those of calls and streams.
const SPARE: usize = 1_000;

/// How long a connection may take until the head of its next request has arrived. Longer than the keep-alive of proxies
/// and clients, so that they close idle connections first.
const IDLE_TIMEOUT: Duration = Duration::from_secs(120);

/// The maximum size of a request head.
const MAX_HEAD_BYTES: usize = 32 * 1024;

/// The maximum read buffer of a connection. Bodies are read in chunks of this size.
const MAX_READ_BUFFER: usize = 64 * 1024;

/// Size of the socket's send buffer. Without a limit it grows to several megabytes per peer that does not read, and
/// reports progress so rarely that a slow reader looks stuck.
const SEND_BUFFER: u32 = 256 * 1024;

/// The backlog of the listener.
const BACKLOG: u32 = 1_024;

/// How long to pause when the system cannot accept another connection.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// How often to look for an idle connection to close while a new one waits.
const SLOT_INTERVAL: Duration = Duration::from_millis(50);

/// The maximum number of connections, and how long each may be idle.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionLimits {
    max: usize,
    idle_timeout: Duration,
}

impl ConnectionLimits {
    /// The limits for this number of sessions.
    pub(super) fn with_sessions(max: usize) -> Self {
        Self {
            max: max.saturating_add(MAX_CALLS + MAX_LISTENERS + SPARE).min(Semaphore::MAX_PERMITS),
            idle_timeout: IDLE_TIMEOUT,
        }
    }
}

/// Binds an address.
pub(super) fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    // Accepted connections inherit this.
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// The body of a request, from our own server or from a host application's.
pub(super) trait RequestBody: HttpBody<Data = Bytes, Error: Send> + Send + Unpin + 'static {}

impl<B: HttpBody<Data = Bytes, Error: Send> + Send + Unpin + 'static> RequestBody for B {}

/// Answers the requests of a connection.
pub(super) trait Endpoint: Send + Sync + 'static {
    /// Answers one request.
    fn serve(
        &self,
        connection: &Arc<Connection>,
        request: hyper::Request<impl RequestBody>,
    ) -> impl Future<Output = hyper::Response<TrackedBody>> + Send;
}

/// Serves connections until `stop` fires, then waits for running requests to finish.
pub(super) async fn serve(
    listener: TcpListener,
    endpoint: Arc<impl Endpoint>,
    connections: Arc<Connections>,
    limits: ConnectionLimits,
    stop: CancellationToken,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.idle_timeout);
    http.max_header_size(MAX_HEAD_BYTES).max_buf_size(MAX_READ_BUFFER);
    let (slots, graceful) = (Arc::new(Semaphore::new(limits.max)), GracefulShutdown::new());
    let warning = WarningThrottle::default();
    loop {
        let next = async {
            let (stream, peer) = accept(&listener).await;
            let slot = acquire_slot(&slots, &connections, limits.max, &warning).await;
            (stream, peer, slot)
        };
        let Some((stream, peer, slot)) = stop.run_until_cancelled(next).await else { break };
        let (connection, registration) = connections.register(peer.ip());
        let service = service_fn({
            let (endpoint, connection) = (endpoint.clone(), connection.clone());
            move |request| {
                let (endpoint, connection) = (endpoint.clone(), connection.clone());
                async move { Ok::<_, Infallible>(endpoint.serve(&connection, request).await) }
            }
        });
        let stream = TokioIo::new(MeteredStream::new(stream, connection.clone()));
        let served = graceful.watch(http.serve_connection(stream, service));
        tokio::spawn(async move {
            tokio::select! {
                biased;
                ended = served => {
                    if let Err(cause) = ended {
                        tracing::debug!(%cause, "a connection was closed");
                    }
                }
                () = connection.close_requested() => tracing::debug!("closed a connection to make room for others"),
            }
            drop((registration, slot));
        });
    }
    drop(listener);
    graceful.shutdown().await;
}

/// Waits until there is room for a connection. Idle connections are closed to make room, so that clients that merely
/// connect cannot keep others out.
async fn acquire_slot(
    slots: &Arc<Semaphore>,
    connections: &Connections,
    max: usize,
    warning: &WarningThrottle,
) -> Option<OwnedSemaphorePermit> {
    loop {
        if let Ok(slot) = slots.clone().try_acquire_owned() {
            return Some(slot);
        }
        if !connections.close_idle() && warning.is_due(connections.now()) {
            tracing::warn!(max, "all connections are in use, so new clients wait until one closes");
        }
        if let Ok(slot) = tokio::time::timeout(SLOT_INTERVAL, slots.clone().acquire_owned()).await {
            return slot.ok();
        }
    }
}

/// Accepts the next connection.
async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // Nagle's algorithm would delay the last bytes of every streamed response by 40 ms.
                if let Err(cause) = stream.set_nodelay(true) {
                    tracing::debug!(%cause, "could not set TCP_NODELAY");
                }
                return (stream, peer);
            }
            Err(cause) if is_client_error(cause.kind()) => {
                tracing::debug!(%cause, "a client disconnected before it was accepted")
            }
            Err(cause) => {
                tracing::error!(%cause, "cannot accept connections; retrying shortly");
                tokio::time::sleep(ACCEPT_RETRY_INTERVAL).await;
            }
        }
    }
}

fn is_client_error(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::ConnectionRefused | ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::http::tracked_body::Content;

    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: here\r\n\r\n";

    const LIMITS: ConnectionLimits = ConnectionLimits { max: 10, idle_timeout: Duration::from_secs(30) };

    const DEADLINE: Duration = Duration::from_secs(20);

    /// Answers at once; at `/slow`, when a permit is available.
    struct TestEndpoint(Semaphore);

    impl Endpoint for TestEndpoint {
        async fn serve(
            &self,
            connection: &Arc<Connection>,
            request: hyper::Request<impl RequestBody>,
        ) -> hyper::Response<TrackedBody> {
            connection.begin_request();
            if request.uri().path() == "/slow" {
                self.0.acquire().await.unwrap().forget();
            }
            hyper::Response::new(TrackedBody::new(Content::whole("here"), connection.clone()))
        }
    }

    struct TestServer {
        address: SocketAddr,
        endpoint: Arc<TestEndpoint>,
        connections: Arc<Connections>,
        stop: CancellationToken,
        serving: tokio::task::JoinHandle<()>,
    }

    impl TestServer {
        fn start(limits: ConnectionLimits) -> Self {
            let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
            let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
            let connections = Connections::new(1 << 20, DEADLINE);
            let endpoint = Arc::new(TestEndpoint(Semaphore::new(0)));
            let serving = serve(listener, endpoint.clone(), connections.clone(), limits, stop.clone());
            Self { address, endpoint, connections, stop, serving: tokio::spawn(serving) }
        }

        async fn connect(&self) -> TcpStream {
            TcpStream::connect(self.address).await.unwrap()
        }

        /// A connection with a request in flight. A busy machine may take longer than the idle timeout until the request
        /// is read; another connection is tried then.
        async fn busy(&self) -> TcpStream {
            let is_busy = || self.connections.lock().values().any(|one| !one.is_idle());
            let connected = async {
                loop {
                    let mut stream = self.connect().await;
                    stream.write_all(b"GET /slow HTTP/1.1\r\nhost: here\r\n\r\n").await.unwrap();
                    while !is_busy() && !has_ended(&stream) {
                        tokio::task::yield_now().await;
                    }
                    if is_busy() {
                        return stream;
                    }
                }
            };
            tokio::time::timeout(DEADLINE, connected).await.unwrap()
        }
    }

    async fn ask(stream: &mut TcpStream) -> String {
        stream.write_all(REQUEST).await.unwrap();
        let mut response = [0_u8; 1024];
        let count = tokio::time::timeout(DEADLINE, stream.read(&mut response)).await.unwrap().unwrap();
        String::from_utf8_lossy(response.get(..count).unwrap()).into_owned()
    }

    /// Whether the server has closed the connection.
    fn has_ended(stream: &TcpStream) -> bool {
        !matches!(stream.try_read(&mut [0; 1]), Err(cause) if cause.kind() == ErrorKind::WouldBlock)
    }

    async fn is_closed(stream: &mut TcpStream) -> bool {
        let mut rest = Vec::new();
        let ended = tokio::time::timeout(DEADLINE, stream.read_to_end(&mut rest)).await;
        ended.is_ok()
    }

    #[tokio::test]
    async fn idle_connections_are_closed() {
        let server = TestServer::start(ConnectionLimits { idle_timeout: Duration::from_millis(100), ..LIMITS });
        for begun in [&b""[..], b"PRI * ", b"GET / HTTP/1.1\r\nhost: he"] {
            let mut silent = server.connect().await;
            silent.write_all(begun).await.unwrap();
            assert!(is_closed(&mut silent).await, "still waiting after {:?}", String::from_utf8_lossy(begun));
        }
    }

    #[tokio::test]
    async fn a_connection_waiting_for_a_response_is_not_idle() {
        let server = TestServer::start(ConnectionLimits { idle_timeout: Duration::from_millis(100), ..LIMITS });
        let mut patient = server.busy().await;
        // Another silent connection is closed meanwhile, so the timeout has passed.
        assert!(is_closed(&mut server.connect().await).await);
        server.endpoint.0.add_permits(1);
        let mut response = String::new();
        patient.read_to_string(&mut response).await.unwrap();
        assert!(response.ends_with("here"), "{response}");
    }

    #[tokio::test]
    async fn new_connections_wait_while_all_are_busy() {
        let server = TestServer::start(ConnectionLimits { max: 1, ..LIMITS });
        let mut first = server.busy().await;
        let mut second = server.connect().await;
        second.write_all(REQUEST).await.unwrap();
        let early = tokio::time::timeout(Duration::from_millis(200), second.read(&mut [0; 8])).await;
        assert!(early.is_err(), "answered although there was no slot");
        server.endpoint.0.add_permits(1);
        assert!(first.read(&mut [0; 8]).await.unwrap() > 0);
        let read = tokio::time::timeout(DEADLINE, second.read(&mut [0; 8])).await.unwrap().unwrap();
        assert!(read > 0);
    }

    #[tokio::test]
    async fn idle_connections_make_room() {
        let server = TestServer::start(ConnectionLimits { max: 3, ..LIMITS });
        let mut busy = server.busy().await;
        let mut used = server.connect().await;
        assert!(ask(&mut used).await.ends_with("here"));
        // Further connections replace those that are silent or never finish.
        let mut half_open = Vec::new();
        for begun in [&b""[..], b"G", b"GET / HTTP/1.1\r\nhost: he"].into_iter().cycle().take(50) {
            let mut stream = server.connect().await;
            stream.write_all(begun).await.unwrap();
            half_open.push(stream);
        }
        let mut newcomer = server.connect().await;
        assert!(ask(&mut newcomer).await.ends_with("here"));
        server.endpoint.0.add_permits(1);
        assert!(busy.read(&mut [0; 8]).await.unwrap() > 0, "a request under way is not interrupted");
    }

    #[tokio::test]
    async fn the_size_of_a_request_head_is_limited() {
        let server = TestServer::start(LIMITS);
        let mut stream = server.connect().await;
        let mut head = b"GET / HTTP/1.1\r\nhost: here\r\nx: ".to_vec();
        head.resize(2 * MAX_HEAD_BYTES, b'x');
        // It may be refused before it was sent completely.
        let _ = stream.write_all(&head).await;
        let mut response = Vec::new();
        let _ = tokio::time::timeout(DEADLINE, stream.read_to_end(&mut response)).await.unwrap();
        let response = String::from_utf8_lossy(&response);
        assert!(response.is_empty() || response.starts_with("HTTP/1.1 431"), "{response}");
    }

    #[tokio::test]
    async fn stopping_closes_idle_connections() {
        let server = TestServer::start(LIMITS);
        let mut idle = server.connect().await;
        assert!(ask(&mut idle).await.ends_with("here"));
        server.stop.cancel();
        server.serving.await.unwrap();
        assert_eq!(idle.read(&mut [0; 8]).await.unwrap(), 0);
    }
}
