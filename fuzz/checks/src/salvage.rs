//! Salvage gives the same answer however a message is cut, and the right one for every message
//! that scans.

use aquifer_protocol::limits::Limits;
use aquifer_protocol::scan::{Frame, Salvage, SalvagedMessage, scan};
use serde_json::Value;

fn salvaged<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> SalvagedMessage {
    let mut salvage = Salvage::new();
    chunks.into_iter().for_each(|chunk| salvage.push(chunk));
    salvage.finish()
}

/// Checks one input.
pub fn check(bytes: &[u8]) {
    let whole = salvaged([bytes]);
    assert_eq!(whole.bytes, bytes.len());
    for size in [1, 2, 7] {
        assert_eq!(salvaged(bytes.chunks(size)), whole);
    }

    // Whatever is kept must be fit for an answer, even where the message is not JSON.
    let id = whole.id.map(|id| serde_json::from_str::<Value>(&id));
    let id = id.map(|id| id.expect("a salvaged id is JSON"));
    assert!(id.as_ref().is_none_or(|id| id.is_string() || id.is_i64() || id.is_u64()));

    // Short messages only: there no id and no method is too long to be kept.
    if bytes.len() <= 256 && scan(bytes, Frame::Mcp, &Limits::default()).is_ok() {
        let message: Value = serde_json::from_slice(bytes).expect("what scans is JSON");
        let usable = |id: &&Value| id.is_string() || id.is_i64() || id.is_u64();
        assert_eq!(id.as_ref(), message.get("id").filter(usable));
        assert_eq!(whole.method.as_deref(), message.get("method").and_then(Value::as_str));
    }
}
