//! One connection: the bytes held for it, and whether we are waiting for its peer.
//!
//! An ordinary request costs a few relaxed stores here. The clock is read only while we wait for the peer, and by the
//! sweep, which visits every connection about once a second.

use std::io::IoSlice;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

use super::connections::Connections;

/// Half-life of a peer's recorded progress, in milliseconds. Long enough to see the progress of a slow but steady
/// reader, given that the system reports it only every hundred kilobytes or so.
const HALF_LIFE_MS: u64 = 4_096;

pub(super) struct Connection {
    id: u64,
    peer: IpAddr,
    registry: Arc<Connections>,
    held: AtomicUsize,
    /// When the peer stopped accepting written data, or zero.
    unwritten_since: AtomicU64,
    /// When we started waiting for the rest of a body, or zero.
    body_since: AtomicU64,
    last_progress: AtomicU64,
    recent_bytes: AtomicU64,
    recent_stretch: AtomicU64,
    requests: AtomicUsize,
    has_served: AtomicBool,
    was_used: AtomicBool,
    last_used: AtomicU64,
    /// Whether an incomplete request head has arrived, and when the sweep noticed.
    head_begun: AtomicBool,
    head_seen: AtomicU64,
    close_requested: CancellationToken,
}

/// How long and for how much data we have been waiting for a peer. Times are in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct PeerDelay {
    pub(super) waited_for: u64,
    pub(super) stalled_for: u64,
    pub(super) recent_bytes: u64,
}

impl Connection {
    pub(super) fn new(id: u64, peer: IpAddr, registry: Arc<Connections>) -> Self {
        let now = registry.now();
        Self {
            id,
            peer,
            registry,
            held: AtomicUsize::new(0),
            unwritten_since: AtomicU64::new(0),
            body_since: AtomicU64::new(0),
            last_progress: AtomicU64::new(0),
            recent_bytes: AtomicU64::new(0),
            recent_stretch: AtomicU64::new(0),
            requests: AtomicUsize::new(0),
            has_served: AtomicBool::new(false),
            was_used: AtomicBool::new(false),
            last_used: AtomicU64::new(now),
            head_begun: AtomicBool::new(false),
            head_seen: AtomicU64::new(0),
            close_requested: CancellationToken::new(),
        }
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn peer(&self) -> IpAddr {
        self.peer
    }

    pub(super) fn registry(&self) -> &Arc<Connections> {
        &self.registry
    }

    /// The bytes held for this connection.
    pub(super) fn held(&self) -> usize {
        self.held.load(Ordering::SeqCst)
    }

    /// Counts held bytes. Returns `false` if the budget is exceeded and closing other connections did not help.
    pub(super) fn hold(&self, bytes: usize) -> bool {
        self.held.fetch_add(bytes, Ordering::SeqCst);
        self.registry.charge(bytes)
    }

    pub(super) fn release(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::SeqCst);
        self.registry.release(bytes);
    }

    /// Asks the task that serves the connection to close it.
    pub(super) fn request_close(&self) {
        self.close_requested.cancel();
    }

    pub(super) fn is_close_requested(&self) -> bool {
        self.close_requested.is_cancelled()
    }

    pub(super) fn close_requested(&self) -> WaitForCancellationFuture<'_> {
        self.close_requested.cancelled()
    }

    pub(super) fn begin_request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.head_begun.store(false, Ordering::Relaxed);
        self.head_seen.store(0, Ordering::Relaxed);
    }

    pub(super) fn end_request(&self) {
        self.has_served.store(true, Ordering::Relaxed);
        self.was_used.store(true, Ordering::Relaxed);
        self.requests.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether it can be closed without losing a response.
    pub(super) fn is_idle(&self) -> bool {
        self.requests.load(Ordering::Relaxed) == 0 && self.held() == 0
    }

    pub(super) fn has_served(&self) -> bool {
        self.has_served.load(Ordering::Relaxed)
    }

    pub(super) fn last_used(&self) -> u64 {
        self.last_used.load(Ordering::Relaxed)
    }

    /// Called by the sweep: sets the time of last use, which requests only flag.
    pub(super) fn note_use(&self, now: u64) {
        if self.was_used.swap(false, Ordering::Relaxed) || self.requests.load(Ordering::Relaxed) > 0 {
            self.last_used.store(now, Ordering::Relaxed);
        }
    }

    /// Records that bytes have arrived. Between requests they start a new head.
    pub(super) fn note_read(&self) {
        if self.requests.load(Ordering::Relaxed) == 0 {
            self.head_begun.store(true, Ordering::Relaxed);
        }
    }

    /// Called by the sweep: for how long the same head has been incomplete.
    pub(super) fn head_pending_for(&self, now: u64) -> Option<u64> {
        if !self.head_begun.load(Ordering::Relaxed) {
            return None;
        }
        match self.head_seen.load(Ordering::Relaxed) {
            0 => {
                self.head_seen.store(now, Ordering::Relaxed);
                None
            }
            seen => Some(now.saturating_sub(seen)),
        }
    }

    /// For how long the peer has accepted nothing although data is waiting for it.
    pub(super) fn unwritten_for(&self, now: u64) -> Option<u64> {
        let since = self.unwritten_since.load(Ordering::Relaxed);
        let last = since.max(self.last_progress.load(Ordering::Relaxed));
        (since > 0).then(|| now.saturating_sub(last))
    }

    /// For how long nothing has arrived of an expected body.
    pub(super) fn unfinished_for(&self, now: u64) -> Option<u64> {
        let since = self.body_since.load(Ordering::Relaxed);
        let last = since.max(self.last_progress.load(Ordering::Relaxed));
        (since > 0).then(|| now.saturating_sub(last))
    }

    /// The delay caused by the peer, if any.
    pub(super) fn waiting(&self, now: u64) -> Option<PeerDelay> {
        let since = [&self.unwritten_since, &self.body_since].map(|since| since.load(Ordering::Relaxed));
        let since = since.into_iter().filter(|since| *since > 0).min()?;
        let last = since.max(self.last_progress.load(Ordering::Relaxed));
        let stretches = (now / HALF_LIFE_MS).saturating_sub(self.recent_stretch.load(Ordering::Relaxed));
        let recent = self.recent_bytes.load(Ordering::Relaxed);
        let recent_bytes = u32::try_from(stretches).ok().and_then(|by| recent.checked_shr(by)).unwrap_or(0);
        Some(PeerDelay { waited_for: now.saturating_sub(since), stalled_for: now.saturating_sub(last), recent_bytes })
    }

    pub(super) fn progressed(&self, bytes: usize) {
        self.progressed_at(self.registry.now(), bytes);
    }

    /// Records that the peer has accepted or sent bytes that we waited for. Called only from the task of this
    /// connection.
    pub(super) fn progressed_at(&self, now: u64, bytes: usize) {
        let stretch = now / HALF_LIFE_MS;
        let before = self.recent_stretch.swap(stretch, Ordering::Relaxed);
        let recent = self.recent_bytes.load(Ordering::Relaxed);
        let by = u32::try_from(stretch.saturating_sub(before)).unwrap_or(u32::MAX);
        let recent = recent.checked_shr(by).unwrap_or(0).saturating_add(bytes as u64);
        self.recent_bytes.store(recent, Ordering::Relaxed);
        self.last_progress.store(now, Ordering::Relaxed);
    }

    fn write_blocked(&self) {
        self.write_blocked_at(self.registry.now());
    }

    pub(super) fn write_blocked_at(&self, now: u64) {
        self.unwritten_since.store(now.max(1), Ordering::Relaxed);
    }

    fn all_written(&self) {
        self.unwritten_since.store(0, Ordering::Relaxed);
    }

    /// Starts waiting for the rest of a body.
    pub(super) fn await_body(&self) {
        self.await_body_at(self.registry.now());
    }

    pub(super) fn await_body_at(&self, now: u64) {
        self.body_since.store(now, Ordering::Relaxed);
    }

    /// Stops waiting for a body.
    pub(super) fn stop_awaiting_body(&self) {
        self.body_since.store(0, Ordering::Relaxed);
    }
}

/// A socket that records whether its peer accepts written data.
pub(super) struct MeteredStream {
    stream: TcpStream,
    connection: Arc<Connection>,
    is_blocked: bool,
}

impl MeteredStream {
    pub(super) fn new(stream: TcpStream, connection: Arc<Connection>) -> Self {
        Self { stream, connection, is_blocked: false }
    }

    fn note_write(&mut self, written: &Poll<std::io::Result<usize>>, offered: usize) {
        match written {
            Poll::Pending if !self.is_blocked => {
                self.is_blocked = true;
                self.connection.write_blocked();
            }
            Poll::Ready(Ok(count)) if self.is_blocked => {
                self.connection.progressed(*count);
                if *count == offered {
                    self.is_blocked = false;
                    self.connection.all_written();
                }
            }
            _ => {}
        }
    }
}

impl Drop for MeteredStream {
    fn drop(&mut self) {
        // Otherwise the system would keep the unsent data and continue to offer it to the peer.
        if self.is_blocked
            && self.connection.is_close_requested()
            && let Err(cause) = self.stream.set_zero_linger()
        {
            tracing::debug!(%cause, "could not discard the unsent data of a closed connection");
        }
    }
}

impl AsyncRead for MeteredStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.connection.note_read();
        }
        read
    }
}

impl AsyncWrite for MeteredStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note_write(&written, bytes.len());
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        if self.is_blocked || written.is_pending() {
            self.note_write(&written, slices.iter().map(|slice| slice.len()).sum());
        }
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
