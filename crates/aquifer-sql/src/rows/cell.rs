//! Writes single values as JSON text.

use aquifer_protocol::response::may_hold_huge_number;

/// Writes text as a JSON string.
pub(crate) fn write_string(text: &str, out: &mut Vec<u8>) {
    let escapes = |byte: &u8| *byte < b' ' || *byte == b'"' || *byte == b'\\';
    // Checks all bytes without branching, because most texts need no escapes.
    if text.as_bytes().iter().fold(false, |found, byte| found | escapes(byte)) {
        // Writing to memory cannot fail.
        let _ = serde_json::to_writer(out, text);
    } else {
        out.reserve(text.len() + 2);
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    }
}

/// Writes bytes that should be text as a JSON string. Invalid UTF-8 becomes replacement characters.
pub(crate) fn write_text(bytes: &[u8], out: &mut Vec<u8>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => write_string(text, out),
        Err(_) => write_string(&String::from_utf8_lossy(bytes), out),
    }
}

/// Writes a timestamp between the years 1 and 9999 without jiff's general formatter, because it runs for
/// every value of a column. `digits` are those after the second.
pub(crate) fn write_timestamp(seconds: i64, nanoseconds: u32, digits: u8, out: &mut Vec<u8>) {
    const DAY: i64 = 86_400;
    let (year, month, day) = civil_date(seconds.div_euclid(DAY));
    let of_day = seconds.rem_euclid(DAY);
    out.reserve(r#""2026-01-28T12:00:00.123456789Z""#.len());
    out.push(b'"');
    out.extend_from_slice(&decimal::<4>(year));
    for (mark, number) in
        [(b'-', month), (b'-', day), (b'T', of_day / 3600), (b':', of_day / 60 % 60), (b':', of_day % 60)]
    {
        let [tens, ones] = decimal(number);
        out.extend_from_slice(&[mark, tens, ones]);
    }
    if digits > 0 {
        let fraction: [u8; 9] = decimal(nanoseconds.into());
        out.push(b'.');
        out.extend_from_slice(fraction.get(..digits.into()).unwrap_or(&fraction));
    }
    out.extend_from_slice(b"Z\"");
}

/// The last digits of a number that is not negative.
fn decimal<const WIDTH: usize>(number: i64) -> [u8; WIDTH] {
    let mut rest = number.unsigned_abs();
    let mut digits = [b'0'; WIDTH];
    for digit in digits.iter_mut().rev() {
        // A digit is less than ten.
        *digit += (rest % 10) as u8;
        rest /= 10;
    }
    digits
}

/// The date that is this many days after 1970-01-01.
pub(crate) fn civil_date(days: i64) -> (i64, i64, i64) {
    // Uses eras of 400 years that begin in March, so that leap days come last.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (year + era * 400 + carry, month, day)
}

/// The greatest integer up to which JavaScript represents all integers exactly.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// Writes an integer; as text if JavaScript would round it (R-RES-5).
pub(crate) fn write_integer(number: i64, out: &mut Vec<u8>) {
    if number.unsigned_abs() > MAX_SAFE_INTEGER {
        out.extend_from_slice(format!("\"{number}\"").as_bytes());
    } else {
        let _ = serde_json::to_writer(out, &number);
    }
}

/// Writes a number; as text if JSON cannot represent it.
pub(crate) fn write_float(number: f64, out: &mut Vec<u8>) {
    if number.is_finite() {
        let _ = serde_json::to_writer(out, &number);
    } else {
        let name = if number.is_nan() {
            "\"NaN\""
        } else if number > 0.0 {
            "\"Infinity\""
        } else {
            "\"-Infinity\""
        };
        out.extend_from_slice(name.as_bytes());
    }
}

/// Writes an exact number; as text if a double cannot represent it. Trailing zeros come from the column's declaration
/// and are dropped.
pub(crate) fn write_decimal(text: &str, out: &mut Vec<u8>) {
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text };
    // A double represents this many digits exactly.
    const MAX_EXACT_DIGITS: usize = 16;
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && !text.starts_with("00");
    if text.len() <= MAX_EXACT_DIGITS && text.contains('.') && plain(text) {
        return out.extend_from_slice(text.as_bytes());
    }
    if let Ok(whole) = text.parse() {
        return write_integer(whole, out);
    }
    let same = text.parse::<f64>().is_ok_and(|number| number.is_finite() && number.to_string() == text);
    if same && text.contains('.') {
        out.extend_from_slice(text.as_bytes());
    } else {
        write_string(text, out);
    }
}

/// Writes text that should be JSON; as a string if it is not.
pub(crate) fn write_json(text: &str, out: &mut Vec<u8>) {
    if serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() {
        write_valid_json(text.as_bytes(), out);
    } else {
        write_string(text, out);
    }
}

/// Writes valid JSON. Numbers beyond the range of a double are written as text.
pub(crate) fn write_valid_json(text: &[u8], out: &mut Vec<u8>) {
    if may_hold_huge_number(text) {
        write_quoting_numbers(text, out, |number| number.parse::<f64>().is_ok_and(f64::is_finite));
    } else {
        out.extend_from_slice(text);
    }
}

/// Writes a JSON array of integers; those that JavaScript would round as text (R-RES-5).
pub(crate) fn write_integers(text: &[u8], out: &mut Vec<u8>) {
    write_quoting_numbers(text, out, |number| {
        number.parse::<i64>().is_ok_and(|number| number.unsigned_abs() <= MAX_SAFE_INTEGER)
    });
}

/// Writes JSON with quotes around the numbers that do not satisfy `is_fine`.
fn write_quoting_numbers(text: &[u8], out: &mut Vec<u8>, is_fine: impl Fn(&str) -> bool) {
    let (mut in_string, mut escaped, mut rest) = (false, false, text);
    while let Some((&byte, after)) = rest.split_first() {
        if !in_string && (byte == b'-' || byte.is_ascii_digit()) {
            let is_part = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
            let (number, after) = rest.split_at(rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len()));
            let mark: &[u8] = if std::str::from_utf8(number).is_ok_and(&is_fine) { b"" } else { b"\"" };
            out.extend([mark, number, mark].concat());
            rest = after;
            continue;
        }
        in_string = if byte == b'"' && !escaped { !in_string } else { in_string };
        escaped = byte == b'\\' && !escaped;
        out.push(byte);
        rest = after;
    }
}
