//! Counts the bytes of responses until the socket has accepted the last one.
//!
//! The HTTP layer drops a body as soon as it has copied its bytes to the write buffer, which does not mean that the
//! peer has read them. The bytes themselves are dropped once the socket has accepted all of them, so they carry the
//! count.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use bytes::Buf;
use http_body::{Frame, SizeHint};

use super::connection::Connection;
use super::in_flight::Entry;

/// The body of a response before it is tracked.
pub(crate) struct Content {
    bytes: Source,
    entry: Option<Entry>,
}

enum Source {
    Whole(Bytes),
    Stream(Body),
}

impl Content {
    /// A body that is completely in memory.
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self { bytes: Source::Whole(bytes.into()), entry: None }
    }

    /// A streamed body.
    pub(super) fn stream(body: Body) -> Self {
        Self { bytes: Source::Stream(body), entry: None }
    }

    /// Keeps the request counted until its response has been handed to the socket's buffer.
    pub(super) fn counted(self, entry: Entry) -> Self {
        Self { entry: Some(entry), ..self }
    }
}

/// The body of a response while it is being sent.
pub(super) struct TrackedBody {
    state: State,
    connection: Arc<Connection>,
    entry: Option<Entry>,
}

enum State {
    Whole(TrackedBytes),
    Stream(Body),
    Done,
}

impl TrackedBody {
    pub(super) fn new(content: Content, connection: Arc<Connection>) -> Self {
        let Content { bytes, entry } = content;
        let state = match bytes {
            Source::Whole(bytes) if bytes.is_empty() => State::Done,
            Source::Whole(bytes) => State::Whole(TrackedBytes::new(bytes, &connection)),
            Source::Stream(body) => State::Stream(body),
        };
        // The response exists, so its reservation can be released.
        if let (State::Whole(_) | State::Done, Some(entry)) = (&state, &entry) {
            entry.settle();
        }
        Self { state, connection, entry }
    }
}

impl Drop for TrackedBody {
    fn drop(&mut self) {
        self.connection.end_request();
    }
}

impl HttpBody for TrackedBody {
    type Data = TrackedBytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<TrackedBytes>, axum::Error>>> {
        let this = &mut *self;
        match std::mem::replace(&mut this.state, State::Done) {
            State::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
            State::Done => Poll::Ready(None),
            State::Stream(mut body) => {
                let polled = Pin::new(&mut body).poll_frame(context);
                if !matches!(polled, Poll::Ready(None)) {
                    this.state = State::Stream(body);
                }
                polled.map_ok(|frame| {
                    frame.map_data(|bytes| {
                        let tracked = TrackedBytes::new(bytes, &this.connection);
                        this.entry.iter().for_each(|entry| entry.settle_part(tracked.held));
                        tracked
                    })
                })
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.state {
            State::Whole(_) => false,
            State::Stream(body) => body.is_end_stream(),
            State::Done => true,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.state {
            State::Whole(bytes) => SizeHint::with_exact(bytes.remaining() as u64),
            State::Stream(body) => body.size_hint(),
            State::Done => SizeHint::with_exact(0),
        }
    }
}

/// Bytes that count as held until they are dropped.
pub(super) struct TrackedBytes {
    bytes: Bytes,
    held: usize,
    connection: Arc<Connection>,
}

impl TrackedBytes {
    fn new(bytes: Bytes, connection: &Arc<Connection>) -> Self {
        let held = bytes.len();
        // The call was made, so its response is kept even over the budget; others make room for it.
        connection.hold(held);
        Self { bytes, held, connection: connection.clone() }
    }
}

impl TrackedBytes {
    /// Converts to plain bytes, which count as held until their last clone is dropped.
    pub(super) fn into_bytes(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for TrackedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for TrackedBytes {
    fn drop(&mut self) {
        self.connection.release(self.held);
    }
}

impl Buf for TrackedBytes {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
    }
}
