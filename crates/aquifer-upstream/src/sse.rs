//! Server-sent events, as far as MCP uses them: the data of each event, and the id to resume after.

use bytes::{Buf, Bytes, BytesMut};

/// Takes a stream apart.
pub(crate) struct Events {
    buffer: BytesMut,
    /// How much of the buffer is known to hold no line end.
    searched: usize,
    data: BytesMut,
    has_data: bool,
    largest: usize,
    /// The id of the last event that had one.
    pub(crate) last_id: Option<String>,
    /// How long the server wants us to wait before we come again, in milliseconds.
    pub(crate) retry: Option<u64>,
}

/// An event or a line beyond the limit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLarge(pub(crate) usize);

impl Events {
    pub(crate) fn new(largest: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            searched: 0,
            data: BytesMut::new(),
            has_data: false,
            largest,
            last_id: None,
            retry: None,
        }
    }

    /// Takes the next piece of the stream.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Result<(), TooLarge> {
        self.buffer.extend_from_slice(piece);
        let size = self.buffer.len() + self.data.len();
        // Several small events may have come at once; only one that is unfinished counts.
        if size > self.largest.saturating_mul(2) { Err(TooLarge(size)) } else { Ok(()) }
    }

    /// The data of the next whole event.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, TooLarge> {
        while let Some(line) = self.line() {
            if line.is_empty() {
                if std::mem::take(&mut self.has_data) {
                    return Ok(Some(self.data.split().freeze()));
                }
                continue;
            }
            self.field(&line);
            if self.data.len() > self.largest {
                return Err(TooLarge(self.data.len()));
            }
        }
        if self.buffer.len() > self.largest { Err(TooLarge(self.buffer.len())) } else { Ok(None) }
    }

    fn field(&mut self, line: &[u8]) {
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
            b"id" => self.last_id = std::str::from_utf8(value).ok().filter(|id| id.len() <= 1_024).map(str::to_owned),
            b"retry" => self.retry = std::str::from_utf8(value).ok().and_then(|value| value.parse().ok()),
            _ => {}
        }
    }

    /// The next whole line without its end: LF, CR LF, or CR.
    fn line(&mut self) -> Option<Bytes> {
        let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
        let Some(index) = unsearched.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
            self.searched = self.buffer.len();
            return None;
        };
        let end = self.searched + index;
        let is_return = self.buffer.get(end) == Some(&b'\r');
        if is_return && self.buffer.len() == end + 1 {
            // Whether a line feed follows is not known yet.
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
    fn events_are_the_same_however_they_are_cut() {
        let stream = "\u{feff}: comment\r\nid: 7\r\nevent: message\ndata: {\"a\":\ndata: 1}\n\n: ping\n\nretry: 50\ndata:x\r\n\r\ndata: last\n\n";
        let bytes = stream.trim_start_matches('\u{feff}').as_bytes();
        for size in 1..bytes.len() {
            let mut events = Events::new(1_000);
            let mut seen = Vec::new();
            for piece in bytes.chunks(size) {
                events.push(piece).unwrap();
                while let Some(event) = events.next().unwrap() {
                    seen.push(String::from_utf8(event.to_vec()).unwrap());
                }
            }
            assert_eq!(seen, ["{\"a\":\n1}", "x", "last"], "{size}");
            assert_eq!(events.last_id.as_deref(), Some("7"));
            assert_eq!(events.retry, Some(50));
        }
    }

    #[test]
    fn an_event_that_never_ends_is_refused() {
        let mut events = Events::new(100);
        let outcome = (0..100).try_for_each(|_| {
            events.push(b"data: 0123456789\n")?;
            events.next().map(|_| ())
        });
        assert!(outcome.is_err());
    }
}
