//! Connections: so many at once, and none for long that says nothing.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::drain::{MOST_CALLS, MOST_LISTENERS};

/// Connections at once beside those that calls and streams may hold: clients keep theirs for a while.
const SPARE: usize = 1_000;

/// How long a connection may take until the head of its next request is there: longer than proxies and clients keep theirs,
/// so that they and not we close what is idle.
const SILENCE: Duration = Duration::from_secs(120);

/// How long to leave the listener alone when the system has nothing left for another connection.
const BREATH: Duration = Duration::from_millis(500);

/// How often to say that there is no room.
const TOLD_AGAIN: Duration = Duration::from_secs(60);

/// How much patience there is with connections.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    most: usize,
    silence: Duration,
}

impl Patience {
    /// Room for all that may be under way with so many sessions. Whoever comes then waits until a connection closes.
    pub(super) fn with_sessions(most: usize) -> Self {
        Self {
            most: most.saturating_add(MOST_CALLS + MOST_LISTENERS + SPARE).min(Semaphore::MAX_PERMITS),
            silence: SILENCE,
        }
    }
}

/// Answers whoever connects until `stop` fires, then whoever is still connected until their requests are done.
pub(super) async fn serve(listener: TcpListener, router: Router, patience: Patience, stop: CancellationToken) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(patience.silence);
    let (places, graceful) = (Arc::new(Semaphore::new(patience.most)), GracefulShutdown::new());
    let next = async || {
        let place = places.clone().acquire_owned().await;
        (place, connected(&listener).await)
    };
    let mut told: Option<Instant> = None;
    loop {
        if places.available_permits() == 0 && told.is_none_or(|at| at.elapsed() >= TOLD_AGAIN) {
            tracing::warn!(most = patience.most, "nobody can connect until a connection closes");
            told = Some(Instant::now());
        }
        let Some((place, stream)) = stop.run_until_cancelled(next()).await else { break };
        let service = TowerToHyperService::new(router.clone());
        let connection = graceful.watch(http.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            if let Err(cause) = connection.await {
                tracing::debug!(%cause, "a connection was closed");
            }
            drop(place);
        });
    }
    drop(listener);
    graceful.shutdown().await;
}

/// The next connection.
async fn connected(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Nagle's algorithm would hold the last bytes of every streamed answer back for 40 ms.
                if let Err(cause) = stream.set_nodelay(true) {
                    tracing::debug!(%cause, "TCP_NODELAY could not be set");
                }
                return stream;
            }
            Err(cause) if of_the_client(cause.kind()) => tracing::debug!(%cause, "somebody left before we answered"),
            Err(cause) => {
                tracing::error!(%cause, "no connection can be taken; another try in a moment");
                tokio::time::sleep(BREATH).await;
            }
        }
    }
}

fn of_the_client(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::ConnectionRefused | ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: here\r\n\r\n";

    const PATIENCE: Patience = Patience { most: 10, silence: Duration::from_secs(30) };

    /// A server of few words, the way to it, and what stops it.
    async fn served(patience: Patience) -> (std::net::SocketAddr, CancellationToken, tokio::task::JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
        let slowly = || async {
            tokio::time::sleep(Duration::from_millis(400)).await;
            "at last"
        };
        let router = Router::new().route("/", get(|| async { "here" })).route("/slow", get(slowly));
        (address, stop.clone(), tokio::spawn(serve(listener, router, patience, stop)))
    }

    async fn asked(stream: &mut TcpStream) -> String {
        stream.write_all(REQUEST).await.unwrap();
        let mut answer = [0_u8; 1024];
        let count = stream.read(&mut answer).await.unwrap();
        String::from_utf8_lossy(answer.get(..count).unwrap()).into_owned()
    }

    #[tokio::test]
    async fn whoever_says_nothing_is_let_go() {
        let (address, _stop, _serving) = served(Patience { silence: Duration::from_millis(100), ..PATIENCE }).await;
        for begun in [&b""[..], b"PRI * ", b"GET / HTTP/1.1\r\nhost: he"] {
            let mut silent = TcpStream::connect(address).await.unwrap();
            silent.write_all(begun).await.unwrap();
            let mut rest = Vec::new();
            let ended = tokio::time::timeout(Duration::from_secs(20), silent.read_to_end(&mut rest)).await;
            assert!(ended.is_ok(), "still waiting after {:?}", String::from_utf8_lossy(begun));
        }
        let mut idle = TcpStream::connect(address).await.unwrap();
        assert!(asked(&mut idle).await.ends_with("here"));
        assert_eq!(idle.read(&mut [0; 8]).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn whoever_waits_for_an_answer_is_not_silent() {
        let (address, _stop, _serving) = served(Patience { silence: Duration::from_millis(100), ..PATIENCE }).await;
        let mut patient = TcpStream::connect(address).await.unwrap();
        patient.write_all(b"GET /slow HTTP/1.1\r\nhost: here\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        patient.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with("at last"), "{answer}");
    }

    #[tokio::test]
    async fn one_too_many_waits_for_a_place() {
        let (address, _stop, _serving) = served(Patience { most: 1, ..PATIENCE }).await;
        let mut first = TcpStream::connect(address).await.unwrap();
        assert!(asked(&mut first).await.ends_with("here"));
        let mut second = TcpStream::connect(address).await.unwrap();
        second.write_all(REQUEST).await.unwrap();
        let early = tokio::time::timeout(Duration::from_millis(100), second.read(&mut [0; 8])).await;
        assert!(early.is_err(), "answered although there was no place");
        drop(first);
        assert!(second.read(&mut [0; 8]).await.unwrap() > 0);
    }

    #[tokio::test]
    async fn stopping_closes_what_is_idle() {
        let (address, stop, serving) = served(PATIENCE).await;
        let mut idle = TcpStream::connect(address).await.unwrap();
        assert!(asked(&mut idle).await.ends_with("here"));
        stop.cancel();
        serving.await.unwrap();
        assert_eq!(idle.read(&mut [0; 8]).await.unwrap(), 0);
    }
}
