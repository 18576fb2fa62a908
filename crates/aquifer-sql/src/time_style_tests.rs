#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "tests"
)]

use super::*;

fn style_of(values: &[Stored<'_>]) -> TimeStyle {
    let mut finder = StyleFinder::new();
    let _ = values.iter().all(|value| finder.add(*value));
    finder.finish().unwrap()
}

fn style(texts: &[&str]) -> TimeStyle {
    style_of(&texts.iter().map(|text| Stored::Text(text.as_bytes())).collect::<Vec<_>>())
}

fn time(text: &str) -> i128 {
    parse_timestamp(text).unwrap().as_nanosecond()
}

/// Each list is in one sortable format, in the order of its times.
const SORTABLE: &[&[&str]] = &[
    &["0000-01-01", "1969-12-31", "2024-02-29", "2026-01-31", "9998-12-31"],
    &["1969-12-31 23:59:59", "2026-01-31 12:00:00", "2026-01-31 12:00:01"],
    &["2026-01-31T11:59:59", "2026-01-31T12:00:00", "2026-02-01T00:00:00"],
    &["2026-01-31T11:59:59Z", "2026-01-31T12:00:00Z"],
    &["2026-01-31T12:00:00.000Z", "2026-01-31T12:00:00.250Z", "2026-01-31T12:00:01.000Z"],
    &["2026-01-31 12:00:00.000000", "2026-01-31 12:00:00.500000"],
    // As Python writes them: without a fraction where that is zero.
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
            let known = nanosecond(Stored::Text(text.as_bytes())).unwrap();
            assert_eq!(known, time(text), "{text} is read as the language reads it");
            let bound = Bound { value: Bind::Text((*text).to_owned()), is_exact: true };
            assert_eq!(found.bound(known), bound, "{texts:?}");
            assert_eq!(found.write(known), bound.value, "{texts:?}");
        }
        for pair in texts.windows(2) {
            assert!(time(pair[0]) < time(pair[1]), "{pair:?}");
        }
    }
}

#[test]
fn r_col_8_what_has_no_one_sortable_format_is_read() {
    for texts in [
        &["2026-01-31 12:00:00", "2026-01-31T12:00:00"][..],
        &["2026-01-31T12:00:00", "2026-01-31T12:00:00Z"],
        &["2026-01-31", "2026-01-31 12:00:00"],
        &["2026-01-31T12:00:00+01:00", "2026-07-31T12:00:00+02:00"],
        // A Z comes after every digit.
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
    let text = Stored::Text(b"2026-01-31 12:00:00");
    for values in [
        &[Stored::Integer(1_700_000_000), text][..],
        &[Stored::Integer(1_700_000_000), Stored::Integer(1_700_000_000_000)],
        // More than one real number is the same nanosecond.
        &[Stored::Real(0.1)],
        &[Stored::Real(f64::INFINITY)],
        &[Stored::Integer(i64::MAX)],
        &[Stored::Other],
    ] {
        assert_eq!(style_of(values), TimeStyle::Mixed, "{values:?}");
    }
}

/// The bound of a time between two that a format can write is the earlier one, and never the time itself.
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
        let expected = Bound { value: Bind::Text(value.to_owned()), is_exact: false };
        assert_eq!(style(&[text]).bound(time(bound)), expected, "{text} {bound}");
    }
    let seconds = style_of(&[Stored::Integer(1_700_000_000)]);
    assert_eq!(seconds.bound(-500_000_000), Bound { value: Bind::Integer(-1), is_exact: false });
    assert_eq!(seconds.bound(60_000_000_000), Bound { value: Bind::Integer(60), is_exact: true });
    assert_eq!(seconds.write(60_500_000_000), Bind::Integer(60));
    let reals = style_of(&[Stored::Integer(1_700_000_000), Stored::Real(1_700_000_000.25)]);
    let quarter = 1_700_000_000_250_000_000;
    assert_eq!(reals.write(quarter), Bind::Real(1_700_000_000.25));
    assert_eq!(reals.bound(quarter), Bound { value: Bind::Real(1_700_000_000.25), is_exact: true });
    assert_eq!(reals.bound(quarter + 1), Bound { value: Bind::Real(1_700_000_000.25), is_exact: false });
    assert_eq!(
        reals.bound(quarter - 1),
        Bound { value: Bind::Real(1_700_000_000.25_f64.next_down()), is_exact: false }
    );
}

#[test]
fn r_col_8_every_real_number_of_our_time_is_one_nanosecond_and_back() {
    let mut number: f64 = 1_700_000_000.0;
    for step in 0..2_000 {
        let style = style_of(&[Stored::Real(number)]);
        let time = nanosecond(Stored::Real(number)).unwrap();
        match style.bound(time) {
            Bound { value: Bind::Real(back), is_exact: true } => assert_eq!(back, number),
            Bound { value: Bind::Integer(back), is_exact: true } => assert_eq!(back as f64, number),
            other => panic!("{number}: {other:?}"),
        }
        number = if step % 3 == 0 { number.next_up() } else { number * 1.000_000_123 };
    }
}

#[test]
fn days_are_those_of_the_calendar() {
    for day in (-719_528..2_932_896).step_by(97) {
        let (year, month, date) = civil_day(day);
        assert_eq!(days_since_1970(year, month, date), day);
        let known = jiff::civil::date(1970, 1, 1).checked_add(jiff::Span::new().days(day)).unwrap();
        assert_eq!((i64::from(known.year()), i64::from(known.month()), i64::from(known.day())), (year, month, date));
    }
}

/// Whatever is written is read again, in every style.
#[test]
fn what_is_written_is_read_again() {
    for texts in SORTABLE {
        let style = style(texts);
        for now in ["2026-03-01T12:00:00Z", "1969-07-20T20:17:40Z", "2026-03-01T00:00:00Z"] {
            let Bind::Text(text) = style.write(time(now)) else { panic!("{texts:?}") };
            assert_eq!(nanosecond(Stored::Text(text.as_bytes())), Some(time(now)), "{texts:?} {text}");
        }
    }
}
