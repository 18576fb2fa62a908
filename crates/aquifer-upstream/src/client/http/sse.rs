//! Server-sent events as MCP uses them: event data, the id to resume after, and the reconnection time.

use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};

/// The longest reconnection time that a server can request.
const MAX_RETRY: Duration = Duration::from_secs(3_600);

const MAX_ID_BYTES: usize = 1_024;

/// Streams may begin with a byte order mark.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// An incremental parser of event streams.
pub(crate) struct EventParser {
    buffer: BytesMut,
    /// Number of bytes at the start of the buffer that contain no line end.
    searched: usize,
    data: BytesMut,
    has_data: bool,
    max_bytes: usize,
    is_started: bool,
    /// The id of the current event. It becomes `last_id` when the event is complete, because resuming after an
    /// incomplete event would lose that event.
    pending_id: Option<String>,
    /// The id of the last complete event that had one. An empty id means that the stream cannot be resumed.
    pub(crate) last_id: Option<String>,
    /// The reconnection time that the server requested.
    pub(crate) retry: Option<Duration>,
}

/// An event or a line exceeds the limit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EventTooLarge(pub(crate) usize);

impl EventParser {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            searched: 0,
            data: BytesMut::new(),
            has_data: false,
            max_bytes,
            is_started: false,
            pending_id: None,
            last_id: None,
            retry: None,
        }
    }

    /// Adds the next chunk of the stream.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Result<(), EventTooLarge> {
        self.buffer.extend_from_slice(piece);
        let size = self.buffer.len() + self.data.len();
        // The chunk may hold several small events. Only an unfinished one counts.
        if size > self.max_bytes.saturating_mul(2) { Err(EventTooLarge(size)) } else { Ok(()) }
    }

    /// The data of the next complete event.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, EventTooLarge> {
        while let Some(line) = self.next_line() {
            if line.is_empty() {
                self.last_id = self.pending_id.take().or_else(|| self.last_id.take());
                if std::mem::take(&mut self.has_data) {
                    return Ok(Some(self.data.split().freeze()));
                }
                continue;
            }
            self.read_field(&line);
            if self.data.len() > self.max_bytes {
                return Err(EventTooLarge(self.data.len()));
            }
        }
        if self.buffer.len() > self.max_bytes { Err(EventTooLarge(self.buffer.len())) } else { Ok(None) }
    }

    fn read_field(&mut self, mut line: &[u8]) {
        if !std::mem::replace(&mut self.is_started, true) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = match colon {
            Some(index) => (line.get(..index).unwrap_or_default(), line.get(index + 1..).unwrap_or_default()),
            None => (line, [].as_slice()),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.extend_from_slice(b"\n");
                }
                self.data.extend_from_slice(value);
            }
            // An id that is not a valid header value cannot be used to resume.
            b"id" if value.len() <= MAX_ID_BYTES && !value.iter().any(u8::is_ascii_control) => {
                self.pending_id = std::str::from_utf8(value).ok().map(str::to_owned);
            }
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                let wait = std::str::from_utf8(value).ok().and_then(|value| value.parse().ok());
                self.retry = Some(wait.map_or(MAX_RETRY, Duration::from_millis).min(MAX_RETRY));
            }
            _ => {}
        }
    }

    /// The next complete line without its end: LF, CR LF or CR.
    fn next_line(&mut self) -> Option<Bytes> {
        let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
        let Some(index) = unsearched.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
            self.searched = self.buffer.len();
            return None;
        };
        let end = self.searched + index;
        let is_return = self.buffer.get(end) == Some(&b'\r');
        if is_return && self.buffer.len() == end + 1 {
            // The next chunk may begin with the line feed.
            self.searched = end;
            return None;
        }
        let line = self.buffer.split_to(end).freeze();
        self.buffer.advance(1);
        if is_return && self.buffer.first() == Some(&b'\n') {
            self.buffer.advance(1);
        }
        self.searched = 0;
        Some(line)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn events_do_not_depend_on_chunk_boundaries() {
        let stream = "\u{feff}: comment\r\nid: 7\r\nevent: message\ndata: {\"a\":\ndata: 1}\n\n: ping\n\nretry: 50\ndata:x\r\n\r\ndata: last\n\n";
        let bytes = stream.as_bytes();
        for size in 1..bytes.len() {
            let mut events = EventParser::new(1_000);
            let mut seen = Vec::new();
            for piece in bytes.chunks(size) {
                events.push(piece).unwrap();
                while let Some(event) = events.next().unwrap() {
                    seen.push(String::from_utf8(event.to_vec()).unwrap());
                }
            }
            assert_eq!(seen, ["{\"a\":\n1}", "x", "last"], "{size}");
            assert_eq!(events.last_id.as_deref(), Some("7"));
            assert_eq!(events.retry, Some(Duration::from_millis(50)));
        }
    }

    #[test]
    fn streams_resume_after_the_last_complete_event() {
        for (stream, last_id, retry) in [
            ("id: 1\ndata: x\n\n", Some("1"), None),
            // The stream ends within an event, which has to be sent again.
            ("id: 1\ndata: x\n\nid: 2\ndata: {\"half", Some("1"), None),
            ("id: 1\ndata: x\n\nid: 2\ndata: whole\n", Some("1"), None),
            ("id: 2\ndata: x\n", None, None),
            // An event may consist of only an id.
            ("id: 1\n\n", Some("1"), None),
            ("id: 1\nretry: 500\ndata: \n\n", Some("1"), Some(500)),
            ("id: 1\ndata: x\n\ndata: y\n\n", Some("1"), None),
            ("id: 1\ndata: x\n\nid\ndata: y\n\n", Some(""), None),
            ("id: 1\ndata: x\n\nid: 2\0\ndata: y\n\n", Some("1"), None),
            ("id: 1\ndata: x\n\nid: 2\u{7f}\ndata: y\n\n", Some("1"), None),
            ("\u{feff}id: 1\n\n", Some("1"), None),
            ("id: a\u{fc}\ndata: x\n\n", Some("a\u{fc}"), None),
            ("retry: 7", None, None),
            ("retry: 7\n", None, Some(7)),
            ("retry: +7\nretry: 7s\nretry:\nretry: -1\n", None, None),
            ("retry: 99999999999999999999999\n", None, Some(3_600_000)),
        ] {
            let mut events = EventParser::new(1_000);
            events.push(stream.as_bytes()).unwrap();
            while events.next().unwrap().is_some() {}
            assert_eq!(events.last_id.as_deref(), last_id, "{stream:?}");
            assert_eq!(events.retry, retry.map(Duration::from_millis), "{stream:?}");
        }
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut events = EventParser::new(100);
        let outcome = (0..100).try_for_each(|_| {
            events.push(b"data: 0123456789\n")?;
            events.next().map(|_| ())
        });
        assert!(outcome.is_err());
    }
}
