//! The form of a line: what is hashed, and how a reader finds it again without a JSON library.
//!
//! A line is one JSON object. Its last member is `hash`, written in exactly one way, so that the tail of a line has a
//! fixed length. The hash is SHA-256 over the bytes of the line with `,"hash":"…"` taken out, which is again a JSON
//! object. `previous` repeats the hash of the line before; the first line of a chain has 64 zeros there.

use aquifer_protocol::hex::{hex, hex_prefix};
use jiff::Timestamp;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

/// `previous` of the first line of a chain.
pub(super) const ZERO_HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// No line we write is longer than this, so nobody who reads has to hold more.
pub(super) const MAX_LINE_BYTES: usize = 64 * 1024;

const TAIL_OPENS: &[u8] = b",\"hash\":\"";
const TAIL_CLOSES: &[u8] = b"\"}";
const TAIL: usize = TAIL_OPENS.len() + 64 + TAIL_CLOSES.len();

/// Where a chain is: what the next line has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChainTip {
    /// The number of the last line; 0 before the first.
    pub(super) sequence: u64,
    /// The hash of the last line.
    pub(super) hash: String,
}

impl ChainTip {
    /// Before the first line.
    pub(super) fn new() -> Self {
        Self { sequence: 0, hash: ZERO_HASH.to_owned() }
    }

    /// Writes the next line, with its newline, and moves on to it. `members` are those of the entry's JSON object,
    /// without the braces.
    pub(super) fn seal(&mut self, chain: &str, time: Timestamp, members: &str, into: &mut Vec<u8>) {
        let sequence = self.sequence.saturating_add(1);
        let body = format!(
            r#"{{"sequence":{sequence},"timestamp":"{time}","chain":"{chain}",{members},"previous":"{}""#,
            self.hash
        );
        let hash = hash_line(body.as_bytes());
        into.extend_from_slice(body.as_bytes());
        into.extend_from_slice(TAIL_OPENS);
        into.extend_from_slice(hash.as_bytes());
        into.extend_from_slice(TAIL_CLOSES);
        into.push(b'\n');
        *self = Self { sequence, hash };
    }
}

/// A line whose hash is right.
#[derive(Debug)]
pub(super) struct SealedLine {
    pub(super) hash: String,
    pub(super) header: LineHeader,
}

/// What of a line ties it to others.
#[derive(Debug, Deserialize)]
pub(super) struct LineHeader {
    pub(super) sequence: u64,
    pub(super) chain: String,
    pub(super) previous: String,
    /// Where chains begin since files were dropped on purpose.
    #[serde(default)]
    pub(super) beginnings: Vec<super::head::Beginning>,
    /// When it happened.
    #[serde(default)]
    pub(super) timestamp: Option<Timestamp>,
    /// In the first line of a chain, the chain of the same process before it.
    #[serde(default)]
    pub(super) after: Option<String>,
}

/// Why bytes are not a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineError {
    /// They do not end as a line does.
    Form,
    /// They are not what was hashed.
    Hash,
}

/// Reads a line, given without its newline.
pub(super) fn parse(line: &[u8]) -> Result<SealedLine, LineError> {
    let cut = line.len().checked_sub(TAIL).ok_or(LineError::Form)?;
    let (body, tail) = line.split_at_checked(cut).ok_or(LineError::Form)?;
    let stated = tail
        .strip_prefix(TAIL_OPENS)
        .and_then(|rest| rest.strip_suffix(TAIL_CLOSES))
        .and_then(|hash| std::str::from_utf8(hash).ok())
        .ok_or(LineError::Form)?;
    if hash_line(body) != stated {
        return Err(LineError::Hash);
    }
    let header = serde_json::from_slice::<LineHeader>(&[body, b"}"].concat()).map_err(|_| LineError::Form)?;
    Ok(SealedLine { hash: stated.to_owned(), header })
}

/// The hash of a line whose body this is, the closing brace not included.
fn hash_line(body: &[u8]) -> String {
    hex(&Sha256::new().chain_update(body).chain_update(b"}").finalize())
}

/// A name for something that must not be written down itself: enough of its hash to recognise it by.
pub(super) fn fingerprint(prefix: &str, secret: &str) -> String {
    let digest = Sha256::digest(secret.as_bytes());
    format!("{prefix}{}", hex_prefix(&digest, 8))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn r_saf_5_a_line_is_read_as_it_was_sealed() {
        let mut tip = ChainTip::new();
        let mut text = Vec::new();
        tip.seal("c", Timestamp::UNIX_EPOCH, r#""event":"X""#, &mut text);
        assert_eq!(
            String::from_utf8(text.clone()).unwrap(),
            format!(
                "{{\"sequence\":1,\"timestamp\":\"1970-01-01T00:00:00Z\",\"chain\":\"c\",\"event\":\"X\",\"previous\":\"{ZERO_HASH}\",\"hash\":\"{}\"}}\n",
                tip.hash
            )
        );
        let sealed = parse(text.strip_suffix(b"\n").unwrap()).unwrap();
        assert_eq!((sealed.header.sequence, sealed.hash.as_str()), (1, tip.hash.as_str()));
        let without = [text.get(..text.len() - TAIL - 1).unwrap(), b"}"].concat();
        assert_eq!(sealed.hash, hex(&Sha256::digest(&without)));
        assert!(serde_json::from_slice::<serde_json::Value>(&without).is_ok());
    }

    #[test]
    fn invalid_lines_are_refused() {
        for bytes in [&b""[..], b"{}", b"\"}", &[0xff; 100]] {
            assert!(parse(bytes).is_err());
        }
    }
}
