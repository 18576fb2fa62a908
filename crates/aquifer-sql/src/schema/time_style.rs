//! How a SQLite column writes its times, and how stored values are compared without parsing them.
//!
//! SQLite has no type for times. A format is sortable if stored values sort in the order of their times and every time
//! has exactly one spelling. A column in one sortable format is compared as stored, so that its indexes are used: the
//! bound is converted, not the column. Every answer verifies that the column really is in one format
//! (`sql/time_checks.rs`).

use aquifer_query::value::parse_timestamp;

use crate::rows::time_digits::significant_digits;
use crate::statement::Bind;

const SECOND: i128 = 1_000_000_000;
const DAY: i128 = 86_400 * SECOND;
/// Numbers from here on are milliseconds, smaller ones seconds: as seconds they would be far in the future.
pub(crate) const MIN_MILLISECONDS: i64 = 100_000_000_000;
const MIN_MILLISECONDS_REAL: f64 = 1e11;
/// Below this number of seconds several doubles represent the same nanosecond.
pub(crate) const MIN_REAL_SECONDS: i64 = 1 << 24;
pub(super) const MIN_REAL_SECONDS_REAL: f64 = 16_777_216.0;
/// The years 0 to 9999, in seconds since 1970.
pub(crate) const MIN_SECOND: i64 = -62_167_219_200;
pub(crate) const MAX_SECOND: i64 = 253_402_300_799;

/// The format in which a column writes its times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeStyle {
    /// Text in one sortable format.
    Text(TextFormat),
    /// Numbers since 1970.
    Number { unit: Unit, has_fractions: bool },
    /// Several formats, or one that is not sortable: each value is parsed before it is compared, and no index is used.
    Mixed,
}

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Second,
    Millisecond,
}

impl Unit {
    fn nanoseconds(self) -> i128 {
        match self {
            Unit::Second => SECOND,
            Unit::Millisecond => 1_000_000,
        }
    }

    pub(super) fn for_integer(number: i64) -> Self {
        if number.unsigned_abs() >= MIN_MILLISECONDS.unsigned_abs() { Unit::Millisecond } else { Unit::Second }
    }

    pub(super) fn for_real(number: f64) -> Self {
        if number.abs() >= MIN_MILLISECONDS_REAL { Unit::Millisecond } else { Unit::Second }
    }
}

/// A sortable text format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextFormat {
    /// `2026-01-31`
    Day,
    /// `2026-01-31 12:00:00`, with a fraction and a zone.
    Clock { separator: Separator, digits: DigitCounts, zone: Zone },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Separator {
    Space,
    T,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Zone {
    /// No zone is written; the time is UTC.
    Unmarked,
    /// `Z`
    Zulu,
    /// `+02:00`, the same in every value, in minutes.
    Offset(i16),
}

/// The numbers of fraction digits in use: one, or several of which each value uses the smallest sufficient one, as
/// Python does with 0 and 6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DigitCounts(pub(super) u16);

impl DigitCounts {
    /// None or six, as Python writes times.
    pub(super) const PYTHON: Self = Self(1 | 1 << 6);

    pub(crate) fn only(digits: u8) -> Self {
        Self(1 << digits.min(9))
    }

    fn contains(self, digits: u8) -> bool {
        self.0 & (1 << digits) != 0
    }

    pub(super) fn max(self) -> u8 {
        (0..=9).rev().find(|digits| self.contains(*digits)).unwrap_or(0)
    }

    pub(super) fn is_single(self) -> bool {
        self.0.count_ones() == 1
    }

    /// The smallest count that can write this many significant digits.
    pub(super) fn min_for(self, significant: u8) -> Option<u8> {
        (significant..=9).find(|digits| self.contains(*digits))
    }
}

/// A stored value of a time column.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StoredTime<'a> {
    Integer(i64),
    Real(f64),
    Text(&'a [u8]),
    Other,
}

pub(super) struct ParsedText {
    /// Nanoseconds since 1970 in UTC.
    nanosecond: i128,
    pub(super) format: TextFormat,
    /// Digits of the fraction without trailing zeros.
    pub(super) significant: u8,
}

/// Parses text in one of the formats above.
pub(super) fn parse_text(text: &[u8]) -> Option<ParsedText> {
    let number = |place: usize, width: usize| -> Option<i64> {
        let digits = text.get(place..place + width)?;
        digits.iter().try_fold(0, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0')))
    };
    let is = |place: usize, mark: u8| text.get(place) == Some(&mark);
    let (year, month, day) = (number(0, 4)?, number(5, 2)?, number(8, 2)?);
    if !is(4, b'-') || !is(7, b'-') || !(1..=12).contains(&month) || day < 1 || day > days_in(year, month) {
        return None;
    }
    let midnight = i128::from(days_since_1970(year, month, day)) * DAY;
    if text.len() == 10 {
        return Some(ParsedText { nanosecond: midnight, format: TextFormat::Day, significant: 0 });
    }
    let separator = match text.get(10)? {
        b' ' => Separator::Space,
        b'T' => Separator::T,
        _ => return None,
    };
    let (hour, minute, second) = (number(11, 2)?, number(14, 2)?, number(17, 2)?);
    if !is(13, b':') || !is(16, b':') || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut rest = text.get(19..)?;
    let mut fraction: &[u8] = &[];
    if let Some(tail) = rest.strip_prefix(b".") {
        let width = tail.iter().take_while(|byte| byte.is_ascii_digit()).count();
        (fraction, rest) = tail.split_at_checked(width).filter(|_| (1..=9).contains(&width))?;
    }
    let zone = match rest {
        [] => Zone::Unmarked,
        b"Z" => Zone::Zulu,
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let digit = |byte: &u8| byte.is_ascii_digit().then(|| i16::from(byte - b'0'));
            let (hours, minutes) = (digit(h1)? * 10 + digit(h2)?, digit(m1)? * 10 + digit(m2)?);
            let offset = hours * 60 + minutes;
            if hours > 23 || minutes > 59 || (*sign == b'-' && offset == 0) {
                return None;
            }
            Zone::Offset(if *sign == b'-' { -offset } else { offset })
        }
        _ => return None,
    };
    let width = u8::try_from(fraction.len()).ok()?;
    let scale = 10_i128.pow(9 - u32::from(width));
    let nanos = fraction.iter().fold(0, |sum, digit| sum * 10 + i128::from(digit - b'0')) * scale;
    let significant = fraction.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1);
    let local = midnight + i128::from(hour * 3600 + minute * 60 + second) * SECOND + nanos;
    Some(ParsedText {
        nanosecond: local - zone.nanoseconds(),
        format: TextFormat::Clock { separator, digits: DigitCounts::only(width), zone },
        significant: u8::try_from(significant).ok()?,
    })
}

impl Zone {
    /// The offset from UTC.
    fn nanoseconds(self) -> i128 {
        match self {
            Zone::Offset(minutes) => i128::from(minutes) * 60 * SECOND,
            Zone::Unmarked | Zone::Zulu => 0,
        }
    }
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a day of the Gregorian calendar.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March here, so that the leap day is the last one.
    let year = if month <= 2 { year - 1 } else { year };
    let (era, month) = (year.div_euclid(400), (month + 9) % 12);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The Gregorian date this many days after 1970-01-01.
fn civil_day(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

/// A stored value in nanoseconds since 1970, if it is a time.
pub(crate) fn nanosecond(stored: StoredTime<'_>) -> Option<i128> {
    let in_range = |nanosecond: &i128| {
        (i128::from(MIN_SECOND) * SECOND..(i128::from(MAX_SECOND) + 1) * SECOND).contains(nanosecond)
    };
    match stored {
        StoredTime::Integer(number) => {
            Some(i128::from(number) * Unit::for_integer(number).nanoseconds()).filter(in_range)
        }
        StoredTime::Real(number) => {
            number.is_finite().then(|| real_nanosecond(number, Unit::for_real(number))).filter(in_range)
        }
        StoredTime::Text(text) => match parse_text(text) {
            Some(scanned) => Some(scanned.nanosecond),
            None => parse_timestamp(std::str::from_utf8(text).ok()?).map(jiff::Timestamp::as_nanosecond),
        },
        StoredTime::Other => None,
    }
}

/// Converts units to nanoseconds, rounded to the nearest one. Monotonic.
#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "casting saturates; units are small")]
fn real_nanosecond(number: f64, unit: Unit) -> i128 {
    let unit = unit.nanoseconds();
    let whole = number.floor();
    (whole as i128).saturating_mul(unit).saturating_add(((number - whole) * unit as f64).round() as i128)
}

/// The digits after the second with which a stored value is shown: those of text as they are, and three for
/// milliseconds.
pub(crate) fn shown_digits(stored: StoredTime<'_>) -> u8 {
    match stored {
        StoredTime::Text(text) => match parse_text(text).map(|parsed| parsed.format) {
            Some(TextFormat::Clock { digits, .. }) => digits.max(),
            Some(TextFormat::Day) => 0,
            None => nanosecond(stored).map_or(0, |time| significant_digits(time.rem_euclid(SECOND))),
        },
        StoredTime::Integer(number) if Unit::for_integer(number) == Unit::Millisecond => 3,
        _ => nanosecond(stored).map_or(0, |time| significant_digits(time.rem_euclid(SECOND))),
    }
}

/// A canonical text whose order is chronological, for every four-digit year.
pub(crate) fn canonical(nanosecond: i128) -> String {
    let mut text = String::with_capacity(30);
    write_clock(&mut text, nanosecond, Separator::T, 9);
    text.push('Z');
    text
}

fn write_day(text: &mut String, local: i128) {
    let days = i64::try_from(local.div_euclid(DAY)).unwrap_or(0);
    let (year, month, day) = civil_day(days);
    if year < 0 {
        text.push('-');
    }
    // The sign counts as one of the four, as in `{:04}`.
    push_digits(text, year.unsigned_abs(), if year < 0 { 3 } else { 4 });
    for part in [month, day] {
        text.push('-');
        push_digits(text, part.unsigned_abs(), 2);
    }
}

/// Nanoseconds of a second.
const NANOSECONDS: u64 = 1_000_000_000;

fn write_clock(text: &mut String, local: i128, separator: Separator, digits: u8) {
    write_day(text, local);
    text.push(if separator == Separator::T { 'T' } else { ' ' });
    let nanos = u64::try_from(local.rem_euclid(DAY)).unwrap_or(0);
    let seconds = nanos / NANOSECONDS;
    push_digits(text, seconds / 3600, 2);
    text.push(':');
    push_digits(text, seconds / 60 % 60, 2);
    text.push(':');
    push_digits(text, seconds % 60, 2);
    if digits > 0 {
        text.push('.');
        push_digits(text, nanos % NANOSECONDS / 10_u64.pow(9 - u32::from(digits)), digits.into());
    }
}

/// Writes a number with at least `width` digits. Times are written for every row, and `write!` costs ten times as much.
fn push_digits(text: &mut String, number: u64, width: usize) {
    let mut digits = [b'0'; 20];
    let (mut rest, mut start) = (number, digits.len());
    while rest > 0 || digits.len() - start < width.min(digits.len()) {
        start -= 1;
        if let Some(digit) = digits.get_mut(start) {
            *digit = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        }
        rest /= 10;
    }
    text.extend(digits.iter().skip(start).map(|digit| char::from(*digit)));
}

impl TextFormat {
    /// Writes a time. Digits that the format cannot write are truncated. A format without fractions gets three, six or
    /// nine digits, because some programs read no other numbers of digits.
    fn write(self, nanosecond: i128) -> String {
        let mut text = String::with_capacity(35);
        match self {
            TextFormat::Day if nanosecond.rem_euclid(DAY) == 0 => write_day(&mut text, nanosecond),
            TextFormat::Day => {
                let digits = significant_digits(nanosecond.rem_euclid(SECOND)).next_multiple_of(3);
                write_clock(&mut text, nanosecond, Separator::Space, digits);
            }
            TextFormat::Clock { separator, digits, zone } => {
                let mut local = nanosecond + zone.nanoseconds();
                let significant = significant_digits(local.rem_euclid(SECOND));
                let width = digits.min_for(significant).unwrap_or_else(|| match digits.max() {
                    0 => significant.next_multiple_of(3),
                    max => {
                        local -= local.rem_euclid(10_i128.pow(9 - u32::from(max)));
                        digits.min_for(significant_digits(local.rem_euclid(SECOND))).unwrap_or(max)
                    }
                });
                write_clock(&mut text, local, separator, width);
                match zone {
                    Zone::Unmarked => {}
                    Zone::Zulu => text.push('Z'),
                    Zone::Offset(minutes) => {
                        use std::fmt::Write as _;
                        let (sign, minutes) = (if minutes < 0 { '-' } else { '+' }, minutes.unsigned_abs());
                        let _ = write!(text, "{sign}{:02}:{:02}", minutes / 60, minutes % 60);
                    }
                }
            }
        }
        text
    }

    /// The smallest difference between two times that the format can write.
    fn tick(self) -> i128 {
        match self {
            TextFormat::Day => DAY,
            TextFormat::Clock { digits, .. } => 10_i128.pow(9 - u32::from(digits.max())),
        }
    }

    pub(super) fn with_digits(self, digits: DigitCounts) -> Self {
        match self {
            TextFormat::Day => TextFormat::Day,
            TextFormat::Clock { separator, zone, .. } => TextFormat::Clock { separator, digits, zone },
        }
    }

    fn zone(self) -> Zone {
        match self {
            TextFormat::Day => Zone::Unmarked,
            TextFormat::Clock { zone, .. } => zone,
        }
    }
}

/// A bound for comparisons with stored values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TimeBound {
    /// The greatest value of the format that is not after the time.
    pub(crate) value: Bind,
    /// Whether the value is exactly the time.
    pub(crate) is_exact: bool,
}

impl TimeStyle {
    /// `2026-01-31 12:00:00`, SQLite's own format.
    pub(crate) const SQLITE: Self =
        Self::Text(TextFormat::Clock { separator: Separator::Space, digits: DigitCounts(1), zone: Zone::Unmarked });

    /// The digits after the second that its values may have, as far as the format limits them.
    pub(crate) fn max_digits(self) -> u8 {
        match self {
            TimeStyle::Text(TextFormat::Clock { digits, .. }) => digits.max(),
            TimeStyle::Number { unit: Unit::Millisecond, has_fractions: false } => 3,
            _ => 0,
        }
    }

    pub(crate) fn is_sortable(self) -> bool {
        self != TimeStyle::Mixed
    }

    /// A time in the form that the column stores.
    pub(crate) fn write(self, nanosecond: i128) -> Bind {
        match self {
            TimeStyle::Number { unit, has_fractions: true } => number_bound(nanosecond, unit).value,
            TimeStyle::Number { unit, .. } => {
                Bind::Integer(i64::try_from(nanosecond.div_euclid(unit.nanoseconds())).unwrap_or(i64::MAX))
            }
            TimeStyle::Text(format) => Bind::Text(format.write(nanosecond)),
            TimeStyle::Mixed => Bind::Text(canonical(nanosecond)),
        }
    }

    /// The bound with which stored values of this style are compared instead of a time.
    pub(crate) fn bound(self, nanosecond: i128) -> TimeBound {
        match self {
            TimeStyle::Number { unit, .. } => number_bound(nanosecond, unit),
            TimeStyle::Text(format) => {
                let local = nanosecond + format.zone().nanoseconds();
                let floor = local - local.rem_euclid(format.tick());
                let text = |text: &str| TimeBound { value: Bind::Text(text.to_owned()), is_exact: false };
                // No value of the format is before the year 0 or after the year 9999.
                if floor < i128::from(MIN_SECOND) * SECOND {
                    text("/")
                } else if floor > i128::from(MAX_SECOND) * SECOND + SECOND - 1 {
                    text(":")
                } else {
                    let value = Bind::Text(format.write(floor - format.zone().nanoseconds()));
                    TimeBound { value, is_exact: floor == local }
                }
            }
            TimeStyle::Mixed => TimeBound { value: Bind::Text(canonical(nanosecond)), is_exact: true },
        }
    }
}

/// The greatest number that is not after a time. Reals below the minimum magnitude do not occur in columns of these
/// styles.
fn number_bound(nanosecond: i128, unit: Unit) -> TimeBound {
    let whole = nanosecond.div_euclid(unit.nanoseconds());
    let rest = nanosecond.rem_euclid(unit.nanoseconds());
    let integer = i64::try_from(whole).unwrap_or(if whole < 0 { i64::MIN } else { i64::MAX });
    if rest == 0 || nanosecond.abs() < i128::from(MIN_REAL_SECONDS + 1) * SECOND {
        return TimeBound { value: Bind::Integer(integer), is_exact: rest == 0 };
    }
    #[expect(clippy::cast_precision_loss, reason = "it is corrected below")]
    let mut real = nanosecond as f64 / unit.nanoseconds() as f64;
    // Each step is more than a nanosecond here, so a few steps suffice.
    while real_nanosecond(real, unit) > nanosecond {
        real = real.next_down();
    }
    while real_nanosecond(real.next_up(), unit) <= nanosecond {
        real = real.next_up();
    }
    TimeBound { value: Bind::Real(real), is_exact: real_nanosecond(real, unit) == nanosecond }
}

#[cfg(test)]
#[path = "time_style_tests.rs"]
mod tests;
