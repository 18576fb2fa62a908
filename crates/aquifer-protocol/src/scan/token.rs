//! The tokens of the grammar: strings, numbers, `true`, `false` and `null`.
//!
//! Each function takes the offset of a token's first byte and returns where the token ends. None has state.

use crate::exact_number::keeps_digits;
use crate::limits::{LimitKind, Limits};

use super::{Problem, Stop};

/// A valid string.
pub(super) struct Text {
    /// The byte after the closing quote.
    pub(super) end: usize,
    /// Whether it contains escapes.
    pub(super) escaped: bool,
}

/// Reads the string whose opening quote is at `open`.
#[inline]
pub(super) fn string(bytes: &[u8], open: usize, limits: &Limits) -> Result<Text, Stop> {
    let run = plain_run(bytes.get(open + 1..).unwrap_or_default());
    let end = open + 1 + run;
    if bytes.get(end) == Some(&b'"') && run <= limits.max_string_length {
        return Ok(Text { end: end + 1, escaped: false });
    }
    unusual_string(bytes, open, limits)
}

/// Reads a string with escapes, an invalid one, or one that exceeds the limit. The last is read to its end, or to where
/// it becomes invalid, only to determine its length.
fn unusual_string(bytes: &[u8], open: usize, limits: &Limits) -> Result<Text, Stop> {
    let limit = limits.max_string_length;
    let mut at = open + 1;
    let mut decoded = 0;
    let mut escaped = false;
    // The offset of the first byte beyond the limit, which determines the order among other problems.
    let mut excess_at = None;
    let outcome = loop {
        let run = plain_run(bytes.get(at..).unwrap_or_default());
        at += run;
        decoded += run;
        if decoded > limit && excess_at.is_none() {
            excess_at = Some(at - (decoded - limit));
        }
        match bytes.get(at) {
            Some(b'"') => {
                break Ok(Text { end: at + 1, escaped });
            }
            Some(b'\\') => match escape(bytes, at) {
                Ok((end, size)) => {
                    at = end;
                    decoded += size;
                    escaped = true;
                }
                Err(stop) => break Err(stop),
            },
            Some(_) => break Err(Stop::syntax(at, "an escape for a control character")),
            None => break Err(Stop::syntax(at, "a closing quote")),
        }
    };
    match excess_at {
        Some(excess_at) => Err(Stop::too_large(excess_at, LimitKind::StringLength, limits, decoded)),
        None => outcome,
    }
}

/// The number of leading bytes that can be part of a string unchanged: no quote, backslash or control character.
///
/// Reads eight bytes at a time, because strings are most of a message. A borrow in the subtraction can mark bytes after
/// the first match, never before it, so the lowest mark is correct.
#[inline]
pub(super) fn plain_run(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGH_BITS: u64 = u64::from_ne_bytes([0x80; 8]);
    let zero_bytes = |word: u64| word.wrapping_sub(ONES) & !word & HIGH_BITS;

    let mut rest = bytes;
    while let Some((word, after)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*word);
        let control = word.wrapping_sub(ONES * 0x20) & !word & HIGH_BITS;
        let marks = control | zero_bytes(word ^ (ONES * b'"' as u64)) | zero_bytes(word ^ (ONES * b'\\' as u64));
        if marks != 0 {
            return bytes.len() - rest.len() + marks.trailing_zeros() as usize / 8;
        }
        rest = after;
    }
    let in_tail = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | ..0x20)).unwrap_or(rest.len());
    bytes.len() - rest.len() + in_tail
}

/// Reads the escape whose backslash is at `at`. Returns where it ends and how many UTF-8 bytes it represents.
fn escape(bytes: &[u8], at: usize) -> Result<(usize, usize), Stop> {
    match bytes.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok((at + 2, 1)),
        Some(b'u') => match code_unit(bytes, at + 2)? {
            ..0x80 => Ok((at + 6, 1)),
            0x80..0x800 => Ok((at + 6, 2)),
            0xD800..0xDC00 if has_low_half(bytes, at + 6)? => Ok((at + 12, 4)),
            0xD800..0xE000 => Err(Stop::lone_surrogate(at)),
            _ => Ok((at + 6, 3)),
        },
        _ => Err(Stop::syntax(at + 1, "a known escape")),
    }
}

fn has_low_half(bytes: &[u8], at: usize) -> Result<bool, Stop> {
    if bytes.get(at..at + 2) != Some(b"\\u") {
        return Ok(false);
    }
    Ok((0xDC00..0xE000).contains(&code_unit(bytes, at + 2)?))
}

fn code_unit(bytes: &[u8], at: usize) -> Result<u32, Stop> {
    (at..at + 4).try_fold(0, |unit, at| {
        let digit = bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        digit.map(|digit| unit << 4 | digit).ok_or(Stop::syntax(at, "four hexadecimal digits"))
    })
}

/// Reads the number at `start` and returns the offset after it.
pub(super) fn number(text: &str, start: usize) -> Result<usize, Stop> {
    let bytes = text.as_bytes();
    let first_digit = if bytes.get(start) == Some(&b'-') { start + 1 } else { start };
    let integer_end = match bytes.get(first_digit) {
        Some(b'0') => first_digit + 1,
        _ => digits(bytes, first_digit)?,
    };
    let mut end = integer_end;
    if bytes.get(end) == Some(&b'.') {
        end = digits(bytes, end + 1)?;
    }
    let fraction_end = end;
    if let Some(b'e' | b'E') = bytes.get(end) {
        let signed = matches!(bytes.get(end + 1), Some(b'+' | b'-'));
        end = digits(bytes, end + 1 + usize::from(signed))?;
    }
    let keeps_its_value = if end == integer_end {
        end - first_digit < SURE_INTEGER_DIGITS || text.get(start..end).is_some_and(is_integer)
    } else {
        let is_short = end - first_digit < SURE_DECIMAL_BYTES;
        end == fraction_end && is_short
            || text.get(start..end).is_some_and(|literal| is_finite(literal) && (is_short || keeps_digits(literal)))
    };
    if keeps_its_value {
        Ok(end)
    } else {
        Err(Stop { at: start, problem: Problem::NumberOutOfRange { offset: start } })
    }
}

/// Integers with fewer digits always fit into 64 bits.
const SURE_INTEGER_DIGITS: usize = 19;
/// Decimal numbers with fewer bytes, without an exponent, are always finite and keep all digits.
const SURE_DECIMAL_BYTES: usize = 17;

fn is_integer(literal: &str) -> bool {
    literal.parse::<i64>().is_ok() || literal.parse::<u64>().is_ok()
}

/// Uses serde_json, which parses the message later and rounds in its own way near the largest float.
fn is_finite(literal: &str) -> bool {
    serde_json::from_str::<f64>(literal).is_ok_and(f64::is_finite)
}

/// The byte after one or more digits.
fn digits(bytes: &[u8], at: usize) -> Result<usize, Stop> {
    match bytes.get(at..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii_digit()).count() {
        0 => Err(Stop::syntax(at, "a digit")),
        count => Ok(at + count),
    }
}

/// Reads `true`, `false` or `null` and returns the offset after it.
pub(super) fn literal(bytes: &[u8], start: usize) -> Result<usize, Stop> {
    let rest = bytes.get(start..).unwrap_or_default();
    let found = ["true", "false", "null"].into_iter().find(|word| rest.starts_with(word.as_bytes()));
    found.map(|word| start + word.len()).ok_or(Stop::syntax(start, "a value"))
}
