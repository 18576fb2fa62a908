//! Moments in SQLite, which has no type for them: each column is read and written in the way it is used to.

use aquifer_query::value::moment;
use jiff::Timestamp;
use jiff::tz::TimeZone;

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
