//! Measures the rest of a value after a limit was exceeded.
//!
//! A refusal states the actual size if that is cheap to determine. This pass looks only at brackets, strings and commas
//! and needs no memory, whatever the bytes contain.

use super::token;

/// The result of a measurement.
pub(super) struct Extent {
    /// The offset after the last byte read.
    pub(super) end: usize,
    /// The deepest level reached.
    pub(super) max_depth: usize,
    /// The number of commas on the starting level.
    pub(super) commas: usize,
}

/// Reads from `start`, which is outside any string on `level`, until a string or a closing bracket ends on `floor`.
pub(super) fn measure(bytes: &[u8], start: usize, level: usize, floor: usize) -> Extent {
    let mut extent = Extent { end: start, max_depth: level, commas: 0 };
    let mut current = level;
    while let Some(byte) = bytes.get(extent.end) {
        extent.end += 1;
        match byte {
            b'{' | b'[' => {
                current += 1;
                extent.max_depth = extent.max_depth.max(current);
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
