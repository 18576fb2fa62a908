//! How large the rest of something is, once a limit is known to be broken.
//!
//! A refusal names the real size where that is cheap. This walk sees only brackets, strings and
//! commas: one pass, no memory, whatever the bytes hold.

use super::token;

/// What a walk came upon.
pub(super) struct Extent {
    /// The byte after the last one walked over.
    pub(super) end: usize,
    /// The deepest level reached.
    pub(super) deepest: usize,
    /// Commas on the level where the walk began.
    pub(super) commas: usize,
}

/// Walks from `start`, which stands outside of any string on `level`, until a string or a closing
/// bracket ends on `floor`.
pub(super) fn measure(bytes: &[u8], start: usize, level: usize, floor: usize) -> Extent {
    let mut extent = Extent { end: start, deepest: level, commas: 0 };
    let mut current = level;
    while let Some(byte) = bytes.get(extent.end) {
        extent.end += 1;
        match byte {
            b'{' | b'[' => {
                current += 1;
                extent.deepest = extent.deepest.max(current);
                continue;
            }
            b'}' | b']' => current = current.saturating_sub(1),
            b'"' => extent.end = after_string(bytes, extent.end),
            b',' if current == level => {
                extent.commas += 1;
                continue;
            }
            _ => continue,
        }
        if current <= floor {
            break;
        }
    }
    extent
}

fn after_string(bytes: &[u8], mut at: usize) -> usize {
    loop {
        at += token::plain_run(bytes.get(at..).unwrap_or_default());
        match bytes.get(at) {
            Some(b'"') => return at + 1,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
            None => return bytes.len(),
        }
    }
}
