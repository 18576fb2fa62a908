//! The format of an audit line, designed to be verified without a JSON library.
//!
//! A line is one JSON object. Its last member is `hash`, always written the same way, so the tail of a line has a fixed
//! length. The hash is SHA-256 over the bytes of the line without `,"hash":"…"`, which is again a JSON object.
//! `previous` is the hash of the preceding line; in the first line of a chain it is 64 zeros.

use aquifer_protocol::hex::hex;
use jiff::Timestamp;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

/// `previous` in the first line of a chain.
pub(super) const ZERO_HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Maximum size of a line, so that readers need only a bounded buffer.
pub(super) const MAX_LINE_BYTES: usize = 64 * 1024;

const TAIL_OPENS: &[u8] = b",\"hash\":\"";
const TAIL_CLOSES: &[u8] = b"\"}";
const TAIL: usize = TAIL_OPENS.len() + 64 + TAIL_CLOSES.len();

/// The last line of a chain, which the next line links to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChainTip {
    /// The number of the last line; 0 if there is none.
    pub(super) sequence: u64,
    /// The hash of the last line.
    pub(super) hash: String,
}

impl ChainTip {
    /// The position before the first line.
    pub(super) fn new() -> Self {
        Self { sequence: 0, hash: ZERO_HASH.to_owned() }
    }

    /// Writes the next line, including its newline, and advances. `members` are the members of the entry's JSON object,
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

/// A line with a correct hash.
#[derive(Debug)]
pub(super) struct SealedLine {
    pub(super) hash: String,
    pub(super) header: LineHeader,
}

/// The members that link a line to others.
#[derive(Debug, Deserialize)]
pub(super) struct LineHeader {
    pub(super) sequence: u64,
    pub(super) chain: String,
    pub(super) previous: String,
    /// The new beginnings of chains whose oldest files were dropped.
    #[serde(default)]
    pub(super) beginnings: Vec<super::head::Beginning>,
    /// When the event happened.
    #[serde(default)]
    pub(super) timestamp: Option<Timestamp>,
    /// In the first line of a chain: the chain that the same process wrote before it.
    #[serde(default)]
    pub(super) after: Option<String>,
}

/// Why bytes are not a valid line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineError {
    /// They do not have the format of a line.
    Form,
    /// The hash does not match.
    Hash,
}

/// Parses a line, given without its newline.
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

/// The hash of a line with this body. The body lacks the closing brace.
fn hash_line(body: &[u8]) -> String {
    hex(&Sha256::new().chain_update(body).chain_update(b"}").finalize())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn r_saf_5_a_sealed_line_is_parsed_unchanged() {
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
