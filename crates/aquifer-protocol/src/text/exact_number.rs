//! Numbers that keep all their digits.
//!
//! A double has about 16 digits. `1234567890123456.78` would become `1234567890123456.8` as soon as a JSON text is parsed
//! and written again. Where values of others are parsed only to select or merge them, such numbers are therefore held as
//! marked strings ([`parse`]) and become numbers again when they are written ([`to_text`]). They are rare, so texts
//! without long numbers cost only a look at every sixteenth byte. Storing all numbers as text would slow down everything
//! else.

use serde_json::Value;

/// The first character of a string that holds a number. Unicode reserves it for internal use.
const MARK: char = '\u{fdd0}';

/// Numbers with fewer digits always keep them.
const SURE_DIGITS: usize = 16;

/// No double has more digits than these, leading and trailing zeros aside.
const MAX_DIGITS: usize = 767;

/// Parses JSON. Numbers that a double or a 64-bit integer cannot hold become marked strings.
///
/// # Errors
///
/// If the text is not JSON.
pub fn parse(text: &str) -> serde_json::Result<Value> {
    let marked = may_occur(text).then(|| mark(text, |number| !keeps_digits(number) && is_number(number))).flatten();
    serde_json::from_str(marked.as_deref().unwrap_or(text))
}

/// Parses JSON. All numbers that would be written in another way become marked strings: `1.50`, `1e3`.
///
/// # Errors
///
/// If the text is not JSON.
pub fn parse_as_written(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(mark(text, is_number).as_deref().unwrap_or(text))
}

/// Writes a value as JSON, with marked strings as the numbers that they hold.
pub fn to_text(value: &Value) -> String {
    let text = value.to_string();
    let opening = format!("\"{MARK}");
    let mut written = String::new();
    let mut end = 0;
    for (start, _) in text.match_indices(&opening) {
        let number_start = start + opening.len();
        let number = text.get(number_start..).and_then(|rest| rest.split('"').next()).unwrap_or_default();
        // An escaped quote is inside another string.
        let is_string = start.checked_sub(1).and_then(|before| text.as_bytes().get(before)) != Some(&b'\\');
        if is_string && is_number(number) {
            written.push_str(text.get(end..start).unwrap_or_default());
            written.push_str(number);
            end = number_start + number.len() + 1;
        }
    }
    if end == 0 {
        return text;
    }
    written.push_str(text.get(end..).unwrap_or_default());
    written
}

/// The number in a marked string, as it was written.
pub fn held_number(text: &str) -> Option<&str> {
    text.strip_prefix(MARK).filter(|number| is_number(number))
}

/// Whether a text may contain a number that parsing would change. May be true for other texts with many digits.
pub fn may_occur(text: &str) -> bool {
    let bytes = text.as_bytes();
    // A run of this length contains one of the bytes that are looked at.
    let mut at = SURE_DIGITS - 1;
    while let Some(byte) = bytes.get(at) {
        if is_number_byte(*byte) && run_digits(bytes, at) >= SURE_DIGITS {
            return true;
        }
        at += SURE_DIGITS;
    }
    false
}

/// Whether a value is a text, or consists of content blocks with texts, in which such a number may occur.
pub fn may_occur_in(value: &Value) -> bool {
    let text_of = |value: &Value| value.as_str().is_some_and(may_occur);
    match value {
        Value::String(text) => may_occur(text),
        Value::Object(fields) => {
            let blocks = fields.get("content").and_then(Value::as_array).into_iter().flatten();
            (fields.len() == 1 && fields.values().any(text_of))
                || blocks.filter_map(|block| block.get("text")).any(text_of)
        }
        _ => false,
    }
}

/// The number of digits in the run of number bytes around a position, as far as it matters. The rest of a long run is not
/// read, because every sixteenth byte of a text may be in it.
fn run_digits(bytes: &[u8], at: usize) -> usize {
    // A number has at most a sign, a point, and an exponent with a sign between its digits.
    const MAX_READ: usize = SURE_DIGITS + 4;
    let (before, after) = bytes.split_at_checked(at).unwrap_or((bytes, &[]));
    let in_run = |byte: &&u8| is_number_byte(**byte);
    let before = before.iter().rev().take(MAX_READ).take_while(in_run);
    let run = before.chain(after.iter().take(MAX_READ).take_while(in_run));
    run.filter(|byte| byte.is_ascii_digit()).count()
}

fn is_number_byte(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+' | b'e' | b'E')
}

/// Whether a text is a number that may be held as text, because it would be written in another way. Others are strings of
/// somebody else.
fn is_number(text: &str) -> bool {
    let changes = |number: serde_json::Number| number.to_string() != text;
    text.bytes().all(is_number_byte) && serde_json::from_str(text).is_ok_and(changes)
}

/// The text with these numbers as marked strings. `None` if there are none.
fn mark(text: &str, is_marked: fn(&str) -> bool) -> Option<String> {
    let bytes = text.as_bytes();
    let (mut marked, mut copied, mut at) = (String::new(), 0, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = string_end(bytes, at + 1),
            b'-' | b'0'..=b'9' => {
                let length = bytes.get(at..)?.iter().take_while(|byte| is_number_byte(**byte)).count();
                let number = text.get(at..at + length)?;
                if is_marked(number) {
                    marked.push_str(text.get(copied..at)?);
                    marked.extend(['"', MARK]);
                    marked.push_str(number);
                    marked.push('"');
                    copied = at + length;
                }
                at += length;
            }
            _ => at += 1,
        }
    }
    marked.push_str(text.get(copied..)?);
    (copied > 0).then_some(marked)
}

/// The position after the string that begins before `at`.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\');
    while let Some(found) = bytes.get(at..).and_then(|rest| rest.iter().position(is_special)) {
        at += found;
        if bytes.get(at) == Some(&b'"') {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

/// Whether a JSON number is the same after it was parsed: as a 64-bit integer, or as a double whose digits, as far as they
/// are written, are these. A larger integer has to be what is written for its double: 18446744073709551616 is a power of
/// two, but would be written with 17 digits.
pub fn keeps_digits(number: &str) -> bool {
    let unsigned = number.strip_prefix('-').unwrap_or(number);
    let mantissa = unsigned.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let digits = digits.trim_start_matches('0').trim_end_matches('0');
    if digits.len() < SURE_DIGITS || number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok() {
        return true;
    }
    if digits.len() > MAX_DIGITS {
        return false;
    }
    // Parsers refuse numbers that are too large.
    let Some(double) = number.parse::<f64>().ok().filter(|double| double.is_finite()) else { return true };
    let written = match unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        true => format!("{:e}", double.abs()),
        false => format!("{:.*e}", digits.len() - 1, double.abs()),
    };
    let mantissa = written.split('e').next().unwrap_or_default();
    mantissa.chars().filter(char::is_ascii_digit).eq(digits.chars())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_kept_or_not() {
        for kept in [
            "0",
            "-1.5",
            "9007199254740993",
            "18446744073709551615",
            "-9223372036854775808",
            "0.30000000000000004",
            "0.10000000000000001",
            "0.1000000000000000000000",
            "100000000000000000000000",
            "0.1000000000000000055511151231257827",
            "1.7976931348623157e308",
        ] {
            assert!(keeps_digits(kept), "{kept}");
        }
        for changed in [
            "1234567890123456.78",
            "-1234567890123456.7",
            "18446744073709551616",
            "18446744073709551617",
            "36893488147419103232",
            "3.14159265358979323846",
            "12345678901234567891e3",
        ] {
            assert!(!keeps_digits(changed), "{changed}");
        }
        // More digits than a format can have.
        assert!(!keeps_digits(&format!("0.{}", "7".repeat(100_000))));
    }

    #[test]
    fn long_runs_of_number_bytes_take_time_proportional_to_their_length() {
        for byte in ["-", "e", ".", "+", "1---"] {
            assert!(!may_occur(&byte.repeat(400_000)), "{byte}");
        }
    }

    #[test]
    fn numbers_are_written_as_they_were() {
        for text in [
            r#"{"a":1234567890123456.78,"b":[18446744073709551617,-0.12345678901234567891]}"#,
            r#"[{"id":9007199254740993,"text":"x: 1234567890123456.78, \" 1234567890123456.78"}]"#,
            r#"{"1234567890123456.78":"1234567890123456.78","n":1234567890123456.78}"#,
            r#"["\\",1234567890123456.78]"#,
            "1234567890123456.78",
            "[]",
        ] {
            assert_eq!(to_text(&parse(text).unwrap()), text);
        }
        let held = parse("[1234567890123456.78]").unwrap();
        assert_eq!(held.get(0).and_then(Value::as_str).and_then(held_number), Some("1234567890123456.78"));
        for other in ["\u{fdd0}", "\u{fdd0}x", "\u{fdd0}1,2", "\u{fdd0}01", "\u{fdd0}1.5", "\"\u{fdd0}1\""] {
            let value = Value::from(other);
            assert_eq!(to_text(&value), value.to_string());
        }
        for text in
            [r#"{"a":1e3,"b":[2.50,-0.10E-7,1.0,-0,0.0,12,1234567890123456.78],"c":"1e3"}"#, "1E+2", "[1.5,true]"]
        {
            assert_eq!(to_text(&parse_as_written(text).unwrap()), text);
        }
        assert_eq!(parse("[1e3]").unwrap(), serde_json::json!([1000.0]), "the value is the same");
        assert!(parse("[1234567890123456.78").is_err());
        assert!(parse("[01234567890123456.78]").is_err(), "what is not JSON stays invalid");
    }

    #[test]
    fn long_numbers_are_found_at_every_position() {
        for before in 0..40 {
            let text = format!("[{}1234567890123456.78]", " ".repeat(before));
            assert!(may_occur(&text), "{before}");
            assert!(!may_occur(&format!("{}123456789012345.", " ".repeat(before))), "{before}");
        }
    }
}
