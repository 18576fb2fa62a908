#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "tests"
)]

use super::*;
use crate::schema::style_finder::StyleFinder;

fn style_of(values: &[StoredTime<'_>]) -> TimeStyle {
    let mut finder = StyleFinder::new();
    let _ = values.iter().all(|value| finder.add(*value));
    finder.finish().unwrap()
}

fn style(texts: &[&str]) -> TimeStyle {
    style_of(&texts.iter().map(|text| StoredTime::Text(text.as_bytes())).collect::<Vec<_>>())
}

fn time(text: &str) -> i128 {
    parse_timestamp(text).unwrap().as_nanosecond()
}

/// Each list is in one sortable format and in chronological order.
const SORTABLE: &[&[&str]] = &[
    &["0000-01-01", "1969-12-31", "2024-02-29", "2026-01-31", "9998-12-31"],
    &["1969-12-31 23:59:59", "2026-01-31 12:00:00", "2026-01-31 12:00:01"],
    &["2026-01-31T11:59:59", "2026-01-31T12:00:00", "2026-02-01T00:00:00"],
    &["2026-01-31T11:59:59Z", "2026-01-31T12:00:00Z"],
    &["2026-01-31T12:00:00.000Z", "2026-01-31T12:00:00.250Z", "2026-01-31T12:00:01.000Z"],
    &["2026-01-31 12:00:00.000000", "2026-01-31 12:00:00.500000"],
    // As Python writes them: without a fraction if it is zero.
    &["2026-01-31T12:00:00", "2026-01-31T12:00:00.500000", "2026-01-31T12:00:01"],
    &["2026-01-31 12:00:00+00:00", "2026-01-31 12:00:00.000001+00:00", "2026-01-31 12:00:01+00:00"],
    &["2026-01-31T12:00:00-05:00", "2026-01-31T12:00:00.5-05:00", "2026-01-31T12:00:00.51-05:00"],
    // As few digits as needed, in groups of three.
    &["2026-01-31T12:00:00", "2026-01-31T12:00:00.001", "2026-01-31T12:00:00.001001"],
];

#[test]
fn r_col_8_stored_text_of_a_sortable_format_is_in_the_order_of_its_times() {
    for texts in SORTABLE {
        let found = style(texts);
        assert!(found.is_sortable(), "{texts:?}");
        assert!(texts.is_sorted(), "{texts:?}");
        for text in *texts {
            let known = nanosecond(StoredTime::Text(text.as_bytes())).unwrap();
            assert_eq!(known, time(text), "{text} is read as the language reads it");
            let bound = TimeBound { value: Bind::Text((*text).to_owned()), is_exact: true };
            assert_eq!(found.bound(known), bound, "{texts:?}");
            assert_eq!(found.write(known), bound.value, "{texts:?}");
        }
        for pair in texts.windows(2) {
            assert!(time(pair[0]) < time(pair[1]), "{pair:?}");
        }
    }
}

#[test]
fn r_col_8_values_without_one_sortable_format_are_mixed() {
    for texts in [
        &["2026-01-31 12:00:00", "2026-01-31T12:00:00"][..],
        &["2026-01-31T12:00:00", "2026-01-31T12:00:00Z"],
        &["2026-01-31", "2026-01-31 12:00:00"],
        &["2026-01-31T12:00:00+01:00", "2026-07-31T12:00:00+02:00"],
        // A `Z` sorts after every digit.
        &["2026-01-31T12:00:00Z", "2026-01-31T12:00:00.5Z"],
        // Two spellings of one time.
        &["2026-01-31T12:00:00", "2026-01-31T12:00:00.000000"],
        &["2026-01-31T12:00:00.50", "2026-01-31T12:00:00.5"],
        &["2026-01-31T12:00:00-00:00"],
        &["20260131T120000Z"],
        &["2026-02-30 12:00:00"],
        &["2026-01-31 24:00:00"],
        &["2026-01-31 12:00"],
        &["2026-01-31T12:00:00z"],
        &["n/a"],
        &[""],
    ] {
        assert_eq!(style(texts), TimeStyle::Mixed, "{texts:?}");
    }
    let text = StoredTime::Text(b"2026-01-31 12:00:00");
    for values in [
        &[StoredTime::Integer(1_700_000_000), text][..],
        &[StoredTime::Integer(1_700_000_000), StoredTime::Integer(1_700_000_000_000)],
        // Several reals represent the same nanosecond.
        &[StoredTime::Real(0.1)],
        &[StoredTime::Real(f64::INFINITY)],
        &[StoredTime::Integer(i64::MAX)],
        &[StoredTime::Other],
    ] {
        assert_eq!(style_of(values), TimeStyle::Mixed, "{values:?}");
    }
}

/// The bound of a time between two representable ones is the earlier one, and never exact.
#[test]
fn r_col_8_bounds_between_two_stored_times_are_the_earlier_one() {
    for (text, bound, value) in [
        ("2026-01-31", "2026-01-31T12:00:00Z", "2026-01-31"),
        ("1969-12-31", "1969-12-30T12:00:00Z", "1969-12-30"),
        ("2026-01-31T12:00:00", "2026-01-31T12:00:00.999999999Z", "2026-01-31T12:00:00"),
        ("2026-01-31T12:00:00.5Z", "2026-01-31T12:00:00.25Z", "2026-01-31T12:00:00.2Z"),
        ("2026-01-31T12:00:00+02:00", "2026-01-31T12:00:00.5Z", "2026-01-31T14:00:00+02:00"),
        ("2026-01-31T12:00:00+02:00", "9999-12-30T21:59:59.5Z", "9999-12-30T23:59:59+02:00"),
        ("2026-01-31T12:00:00", "-000001-01-31T12:00:00Z", "/"),
    ] {
        let expected = TimeBound { value: Bind::Text(value.to_owned()), is_exact: false };
        assert_eq!(style(&[text]).bound(time(bound)), expected, "{text} {bound}");
    }
    let seconds = style_of(&[StoredTime::Integer(1_700_000_000)]);
    assert_eq!(seconds.bound(-500_000_000), TimeBound { value: Bind::Integer(-1), is_exact: false });
    assert_eq!(seconds.bound(60_000_000_000), TimeBound { value: Bind::Integer(60), is_exact: true });
    assert_eq!(seconds.write(60_500_000_000), Bind::Integer(60));
    let reals = style_of(&[StoredTime::Integer(1_700_000_000), StoredTime::Real(1_700_000_000.25)]);
    let quarter = 1_700_000_000_250_000_000;
    assert_eq!(reals.write(quarter), Bind::Real(1_700_000_000.25));
    assert_eq!(reals.bound(quarter), TimeBound { value: Bind::Real(1_700_000_000.25), is_exact: true });
    assert_eq!(reals.bound(quarter + 1), TimeBound { value: Bind::Real(1_700_000_000.25), is_exact: false });
    assert_eq!(
        reals.bound(quarter - 1),
        TimeBound { value: Bind::Real(1_700_000_000.25_f64.next_down()), is_exact: false }
    );
}

#[test]
fn r_col_8_every_real_number_of_our_time_is_one_nanosecond_and_back() {
    let mut number: f64 = 1_700_000_000.0;
    for step in 0..2_000 {
        let style = style_of(&[StoredTime::Real(number)]);
        let time = nanosecond(StoredTime::Real(number)).unwrap();
        match style.bound(time) {
            TimeBound { value: Bind::Real(back), is_exact: true } => assert_eq!(back, number),
            TimeBound { value: Bind::Integer(back), is_exact: true } => assert_eq!(back as f64, number),
            other => panic!("{number}: {other:?}"),
        }
        number = if step % 3 == 0 { number.next_up() } else { number * 1.000_000_123 };
    }
}

#[test]
fn days_follow_the_gregorian_calendar() {
    for day in (-719_528..2_932_896).step_by(97) {
        let (year, month, date) = civil_day(day);
        assert_eq!(days_since_1970(year, month, date), day);
        let known = jiff::civil::date(1970, 1, 1).checked_add(jiff::Span::new().days(day)).unwrap();
        assert_eq!((i64::from(known.year()), i64::from(known.month()), i64::from(known.day())), (year, month, date));
    }
}

/// Every written time is read back, in every style.
#[test]
fn written_times_are_read_back() {
    for texts in SORTABLE {
        let style = style(texts);
        for now in ["2026-03-01T12:00:00Z", "1969-07-20T20:17:40Z", "2026-03-01T00:00:00Z"] {
            let Bind::Text(text) = style.write(time(now)) else { panic!("{texts:?}") };
            assert_eq!(nanosecond(StoredTime::Text(text.as_bytes())), Some(time(now)), "{texts:?} {text}");
        }
    }
}
