//! Moments in SQLite, which has no type for them: each column is read and written in the way it is used to.

use aquifer_query::value::moment;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::cell;
use crate::model::TimeStyle;
use crate::statement::Bind;

/// A moment as a column keeps it.
pub(crate) fn write(style: TimeStyle, text: &str) -> Bind {
    let Some(time) = moment(text) else { return Bind::Text(text.to_owned()) };
    match style {
        TimeStyle::Seconds => Bind::Integer(time.as_second()),
        TimeStyle::Milliseconds => Bind::Integer(time.as_millisecond()),
        TimeStyle::Blank(digits) => Bind::Text(civil(time, ' ', digits)),
        TimeStyle::Zulu(digits) => Bind::Text(civil(time, 'T', digits) + "Z"),
        TimeStyle::Mixed => Bind::Text(canonical(time)),
    }
}

/// A moment to compare a column with. Where the column's text has too few digits for it, more of them do no harm: text
/// that goes on is greater.
pub(crate) fn bound(style: TimeStyle, text: &str) -> Bind {
    match (style, moment(text)) {
        (TimeStyle::Blank(digits), Some(time)) => {
            let fraction = format!("{:09}", TimeZone::UTC.to_datetime(time).subsec_nanosecond());
            let needed = u8::try_from(fraction.trim_end_matches('0').len()).unwrap_or(9);
            Bind::Text(civil(time, ' ', digits.max(needed)))
        }
        _ => write(style, text),
    }
}

/// How far apart two moments are at the least that a SQLite column tells apart, in nanoseconds.
pub(crate) fn tick(style: TimeStyle) -> i128 {
    match style {
        TimeStyle::Seconds => 1_000_000_000,
        TimeStyle::Milliseconds => 1_000_000,
        TimeStyle::Zulu(digits) => 10_i128.pow(9 - u32::from(digits.min(9))),
        TimeStyle::Blank(_) | TimeStyle::Mixed => 1,
    }
}

/// The last tick up to a moment, unless the moment is one.
pub(crate) fn tick_before(tick: i128, text: &str) -> Option<String> {
    let since = moment(text)?.as_nanosecond();
    let rest = since.rem_euclid(tick);
    (rest != 0).then(|| Timestamp::from_nanosecond(since - rest).ok().map(|time| time.to_string()))?
}

/// Writes a moment as JSON.
pub(crate) fn show(time: Timestamp, out: &mut Vec<u8>) {
    const SECOND: i128 = 1_000_000_000;
    let since = time.as_nanosecond();
    match (i64::try_from(since.div_euclid(SECOND)), u32::try_from(since.rem_euclid(SECOND))) {
        (Ok(seconds), Ok(rest)) if TimeZone::UTC.to_datetime(time).year() > 0 => cell::moment(seconds, rest, out),
        _ => cell::string(&time.to_string(), out),
    }
}

/// Writes text that is a moment of day and time in UTC as JSON, without reading it any further. Says whether it is one:
/// there are other ways to write moments.
pub(crate) fn copy(text: &[u8], out: &mut Vec<u8>) -> bool {
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
    // The last days of months are for somebody who knows the calendar.
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
    let kept = fraction.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1);
    if kept > 0 {
        out.push(b'.');
        out.extend_from_slice(fraction.get(..kept).unwrap_or_default());
    }
    out.extend_from_slice(b"Z\"");
    true
}

/// A form in which text order is order in time.
pub(crate) fn canonical(time: Timestamp) -> String {
    civil(time, 'T', 9) + "Z"
}

fn civil(time: Timestamp, between: char, digits: u8) -> String {
    let civil = TimeZone::UTC.to_datetime(time);
    let mut text = format!(
        "{:04}-{:02}-{:02}{between}{:02}:{:02}:{:02}",
        civil.year(),
        civil.month(),
        civil.day(),
        civil.hour(),
        civil.minute(),
        civil.second()
    );
    // Where no digits are usual, a fraction is still not lost.
    let fraction = format!("{:09}", civil.subsec_nanosecond());
    let kept = match digits {
        0 => fraction.trim_end_matches('0'),
        digits => fraction.get(..usize::from(digits.min(9))).unwrap_or(&fraction),
    };
    if !kept.is_empty() {
        text.push('.');
        text.push_str(kept);
    }
    text
}

/// A moment from text in any way it is written.
pub(crate) fn from_text(text: &str) -> Option<Timestamp> {
    moment(text)
}

/// A moment from a number: seconds, or milliseconds where seconds would be far from now.
pub(crate) fn from_number(number: i64) -> Option<Timestamp> {
    const FAR: i64 = 100_000_000_000;
    if number.abs() >= FAR { Timestamp::from_millisecond(number).ok() } else { Timestamp::from_second(number).ok() }
}

/// How a column writes its moments, judged by some of its values. `None` where they are no moments.
pub(crate) fn style_of(values: &[Sample]) -> Option<TimeStyle> {
    let mut styles = values.iter().map(|value| match value {
        Sample::Integer(number) if number.abs() >= 100_000_000_000 => Some(TimeStyle::Milliseconds),
        Sample::Integer(_) => Some(TimeStyle::Seconds),
        Sample::Text(text) => style_of_text(text),
        Sample::Other => None,
    });
    let first = styles.next()??;
    for style in styles {
        match style {
            None => return None,
            Some(style) if style != first => {
                return values.iter().all(readable).then_some(TimeStyle::Mixed);
            }
            Some(_) => {}
        }
    }
    Some(first)
}

fn readable(value: &Sample) -> bool {
    match value {
        Sample::Integer(_) => true,
        Sample::Text(text) => from_text(text).is_some(),
        Sample::Other => false,
    }
}

/// A value of a column that is said to hold moments.
pub(crate) enum Sample {
    Integer(i64),
    Text(String),
    Other,
}

fn style_of_text(text: &str) -> Option<TimeStyle> {
    from_text(text)?;
    let (zulu, body) = match text.strip_suffix('Z') {
        Some(body) => (true, body),
        None => (false, text),
    };
    let separator = body.as_bytes().get(10).copied();
    let rest = body.get(19..).unwrap_or("?");
    let digits = match rest.strip_prefix('.') {
        None if rest.is_empty() => Some(0),
        Some(fraction) if fraction.bytes().all(|byte| byte.is_ascii_digit()) => u8::try_from(fraction.len()).ok(),
        _ => None,
    };
    Some(match (separator, zulu, digits) {
        (Some(b' '), false, Some(digits)) => TimeStyle::Blank(digits),
        (Some(b'T'), true, Some(digits)) => TimeStyle::Zulu(digits),
        _ => TimeStyle::Mixed,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn style(texts: &[&str]) -> Option<TimeStyle> {
        style_of(&texts.iter().map(|text| Sample::Text((*text).to_owned())).collect::<Vec<_>>())
    }

    #[test]
    fn styles_are_recognised_and_written_back() {
        for (text, expected) in [
            ("2026-01-31 12:00:00", TimeStyle::Blank(0)),
            ("2026-01-31 12:00:00.250", TimeStyle::Blank(3)),
            ("2026-01-31T12:00:00Z", TimeStyle::Zulu(0)),
            ("2026-01-31T12:00:00.5Z", TimeStyle::Zulu(1)),
        ] {
            let found = style(&[text]).unwrap();
            assert_eq!(found, expected, "{text}");
            assert_eq!(write(found, text), Bind::Text(text.to_owned()));
        }
        assert_eq!(style(&["2026-01-31 12:00:00", "2026-01-31T12:00:00Z"]), Some(TimeStyle::Mixed));
        assert_eq!(style(&["2026-01-31T12:00:00+02:00"]), Some(TimeStyle::Mixed));
        assert_eq!(style(&["yesterday"]), None);
        assert_eq!(style_of(&[Sample::Integer(1_700_000_000)]), Some(TimeStyle::Seconds));
        assert_eq!(style_of(&[Sample::Integer(1_700_000_000_000)]), Some(TimeStyle::Milliseconds));
        assert_eq!(write(TimeStyle::Seconds, "1970-01-01T00:01:00Z"), Bind::Integer(60));
    }

    /// Both ways of writing a moment write the same, and what is copied is what would have been read.
    #[test]
    fn moments_are_written_as_they_would_be_read() {
        let shown = |time: Timestamp| {
            let mut out = Vec::new();
            show(time, &mut out);
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
            assert!(copy(text.as_bytes(), &mut out), "{text}");
            assert_eq!(String::from_utf8(out).unwrap(), shown(from_text(text).unwrap()), "{text}");
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
            assert!(!copy(text.as_bytes(), &mut out) && out.is_empty(), "{text}");
        }
    }

    #[test]
    fn moments_between_ticks_are_compared_by_the_earlier_tick() {
        for (style, text, before) in [
            (TimeStyle::Seconds, "1969-12-31T23:59:58.5Z", Some("1969-12-31T23:59:58Z")),
            (TimeStyle::Seconds, "2026-01-31T12:00:00Z", None),
            (TimeStyle::Milliseconds, "2026-01-31T12:00:00.2505Z", Some("2026-01-31T12:00:00.25Z")),
            (TimeStyle::Zulu(0), "2026-01-31T12:00:00.25Z", Some("2026-01-31T12:00:00Z")),
            (TimeStyle::Zulu(2), "2026-01-31T12:00:00.25Z", None),
            (TimeStyle::Blank(0), "2026-01-31T12:00:00.25Z", None),
            (TimeStyle::Mixed, "2026-01-31T12:00:00.000000001Z", None),
        ] {
            assert_eq!(tick_before(tick(style), text).as_deref(), before, "{style:?} {text}");
        }
        let text = |text: &str| Bind::Text(text.to_owned());
        assert_eq!(bound(TimeStyle::Blank(0), "2026-01-31T12:00:00Z"), text("2026-01-31 12:00:00"));
        assert_eq!(bound(TimeStyle::Blank(2), "2026-01-31T12:00:00Z"), text("2026-01-31 12:00:00.00"));
        assert_eq!(bound(TimeStyle::Blank(2), "2026-01-31T12:00:00.1234Z"), text("2026-01-31 12:00:00.1234"));
    }
}
