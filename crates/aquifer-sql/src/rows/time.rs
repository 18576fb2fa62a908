//! Timestamps as JSON, and the precision in which databases store them.

use aquifer_query::value::parse_timestamp;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::rows::cell;
use crate::rows::time_digits::TimeDigits;
use crate::rows::time_digits::significant_digits;

/// The last tick before a timestamp; `None` if the timestamp is on a tick.
pub(crate) fn tick_before(tick: i128, text: &str) -> Option<String> {
    let since = parse_timestamp(text)?.as_nanosecond();
    let rest = since.rem_euclid(tick);
    (rest != 0).then(|| Timestamp::from_nanosecond(since - rest).ok().map(|time| time.to_string()))?
}

/// Writes a timestamp as JSON, with the digits of its column.
pub(crate) fn write_timestamp(time: Timestamp, digits: &TimeDigits, out: &mut Vec<u8>) {
    const SECOND: i128 = 1_000_000_000;
    let since = time.as_nanosecond();
    match (i64::try_from(since.div_euclid(SECOND)), u32::try_from(since.rem_euclid(SECOND))) {
        (Ok(seconds), Ok(rest)) if TimeZone::UTC.to_datetime(time).year() > 0 => {
            cell::write_timestamp(seconds, rest, digits.for_value(significant_digits(rest.into())), out)
        }
        _ => cell::write_string(&time.to_string(), out),
    }
}

/// Copies a UTC timestamp in canonical form to JSON without parsing it further, with the digits of its column. Returns
/// whether the text has that form, because timestamps can be written in other ways.
pub(crate) fn copy_timestamp(text: &[u8], digits: &TimeDigits, out: &mut Vec<u8>) -> bool {
    let Some((head, tail)) = text.split_at_checked(19) else { return false };
    let number = |place: usize, width: usize| {
        let digits = head.get(place..place + width)?;
        digits.iter().try_fold(0_u32, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + u32::from(digit - b'0')))
    };
    let marks = [4, 7, 10, 13, 16].map(|place| head.get(place).copied().unwrap_or(0));
    let [Some(year), Some(month), Some(day), Some(hour), Some(minute), Some(second)] =
        [number(0, 4), number(5, 2), number(8, 2), number(11, 2), number(14, 2), number(17, 2)]
    else {
        return false;
    };
    // Later days depend on the month, so they are parsed.
    let is_day = (1..=28).contains(&day) && (1..=12).contains(&month) && year > 0;
    let is_time = hour < 24 && minute < 60 && second < 60;
    let fraction = tail.strip_suffix(b"Z").unwrap_or(tail);
    let fraction = fraction.strip_prefix(b".").map_or(fraction.is_empty().then_some(fraction), |digits| {
        ((1..=9).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit)).then_some(digits)
    });
    let (true, true, [b'-', b'-', b'T' | b' ', b':', b':'], Some(fraction)) = (is_day, is_time, marks, fraction) else {
        return false;
    };
    out.push(b'"');
    out.extend_from_slice(head.get(..10).unwrap_or_default());
    out.push(b'T');
    out.extend_from_slice(head.get(11..).unwrap_or_default());
    let significant = fraction.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1);
    let digits = usize::from(digits.for_value(u8::try_from(significant).unwrap_or(u8::MAX)));
    if digits > 0 {
        out.push(b'.');
        out.extend_from_slice(fraction.get(..digits).unwrap_or(fraction));
        out.extend(std::iter::repeat_n(b'0', digits.saturating_sub(fraction.len())));
    }
    out.extend_from_slice(b"Z\"");
    true
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// Both writers produce the same text, and copying gives the same result as parsing.
    #[test]
    fn timestamps_are_written_in_canonical_form() {
        let shown = |time: Timestamp| {
            let mut out = Vec::new();
            write_timestamp(time, &TimeDigits::default(), &mut out);
            String::from_utf8(out).unwrap()
        };
        for second in (-70_000_000_000_i64..253_402_207_200).step_by(31_556_951) {
            for rest in [0, 1, 250_000_000, 999_999_999] {
                let time = Timestamp::new(second, 0).unwrap() + jiff::SignedDuration::new(0, rest);
                assert_eq!(shown(time), format!("\"{time}\""));
            }
        }
        for text in [
            "2026-01-28 12:00:00",
            "2026-01-28T12:00:00",
            "2026-01-28T12:00:00Z",
            "2026-01-28 23:59:59.000",
            "2026-01-28 23:59:59.2500Z",
            "0001-01-01 00:00:00.123456789",
        ] {
            let mut out = Vec::new();
            assert!(copy_timestamp(text.as_bytes(), &TimeDigits::default(), &mut out), "{text}");
            assert_eq!(String::from_utf8(out).unwrap(), shown(parse_timestamp(text).unwrap()), "{text}");
        }
        for text in [
            "2026-01-28",
            "2026-02-30 12:00:00",
            "2026-13-01 12:00:00",
            "2026-01-28 24:00:00",
            "2026-01-28 12:00:00+02:00",
            "2026-01-28 12:00:00.",
            "2026-01-28 12:00:00.1234567890",
            "2026-01-28 12:00:00 Z",
            "0000-01-28 12:00:00",
            "2026/01/28 12:00:00",
        ] {
            let mut out = Vec::new();
            assert!(!copy_timestamp(text.as_bytes(), &TimeDigits::default(), &mut out) && out.is_empty(), "{text}");
        }
    }

    /// Text order is the order of time, and nothing is lost when a value has more digits than those before it.
    #[test]
    fn r_res_5_the_times_of_a_column_have_one_width() {
        let digits = TimeDigits::new(3);
        let copied = |text: &str| {
            let mut out = Vec::new();
            assert!(copy_timestamp(text.as_bytes(), &digits, &mut out), "{text}");
            String::from_utf8(out).unwrap()
        };
        let written = |text: &str| {
            let mut out = Vec::new();
            write_timestamp(parse_timestamp(text).unwrap(), &digits, &mut out);
            String::from_utf8(out).unwrap()
        };
        for (text, shown) in [
            ("2026-01-28 12:00:05", "2026-01-28T12:00:05.000Z"),
            ("2026-01-28 12:00:05.05", "2026-01-28T12:00:05.050Z"),
            ("2026-01-28 12:00:05.056000", "2026-01-28T12:00:05.056Z"),
        ] {
            assert_eq!((copied(text), written(text)), (format!("\"{shown}\""), format!("\"{shown}\"")));
        }
        assert_eq!(copied("2026-01-28 12:00:05.0560015"), "\"2026-01-28T12:00:05.0560015Z\"");
        assert_eq!(copied("2026-01-28 12:00:06"), "\"2026-01-28T12:00:06.0000000Z\"");
        assert_eq!(written("2026-01-28 12:00:06"), "\"2026-01-28T12:00:06.0000000Z\"");
    }

    #[test]
    fn timestamps_between_ticks_are_compared_by_the_earlier_tick() {
        const MICROSECOND: i128 = 1_000;
        for (text, before) in [
            ("2026-01-31T12:00:00.2505Z", None),
            ("2026-01-31T12:00:00.0000015Z", Some("2026-01-31T12:00:00.000001Z")),
            ("1969-12-31T23:59:58.0000005Z", Some("1969-12-31T23:59:58Z")),
        ] {
            assert_eq!(tick_before(MICROSECOND, text).as_deref(), before, "{text}");
        }
    }
}
