//! The sample's own timeline, from the beginning of 2024 to the last evening of June 2026. No clock is read.

use std::fmt;

use rusqlite::types::{ToSql, ToSqlOutput};

use crate::value::rng::Rng;

pub(crate) const HOUR: i64 = 3_600;
pub(crate) const DAY: i64 = 24 * HOUR;

/// Seconds since 2024-01-01 00:00:00 UTC. Shown and stored as SQLite's own `YYYY-MM-DD HH:MM:SS`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(i64);

impl Moment {
    pub(crate) const START: Self = Self(0);
    /// The sample's present, 2026-06-30 23:30:00. Nothing happens later.
    pub(crate) const PRESENT: Self = Self(911 * DAY + 23 * HOUR + HOUR / 2);

    pub(crate) fn after(self, seconds: i64) -> Self {
        Self(self.0 + seconds)
    }

    /// A time during waking hours of the same day, but not before `earliest`.
    pub(crate) fn in_waking_hours(self, rng: &mut Rng, earliest: Self) -> Self {
        let midnight = self.0 - self.0.rem_euclid(DAY);
        Self(midnight + rng.between(7 * HOUR, 23 * HOUR - 1)).max(earliest.after(rng.between(60, HOUR)))
    }

    pub(crate) fn is_past(self) -> bool {
        self <= Self::PRESENT
    }

    /// This moment, or `None` if it is after the sample's present.
    pub(crate) fn if_past(self) -> Option<Self> {
        self.is_past().then_some(self)
    }

    pub(crate) fn seconds_since(self, earlier: Self) -> i64 {
        self.0 - earlier.0
    }

    pub(crate) fn month(self) -> i64 {
        self.date().1
    }

    fn date(self) -> (i64, i64, i64) {
        let (mut year, mut month, mut day) = (2024, 1, self.0.div_euclid(DAY));
        while day >= days_of(year, month) {
            day -= days_of(year, month);
            (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
        }
        (year, month, day + 1)
    }
}

/// Correct from 1901 to 2099.
fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.date();
        let second = self.0.rem_euclid(DAY);
        let (hour, minute, second) = (second / HOUR, second / 60 % 60, second % 60);
        write!(out, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
    }
}

impl ToSql for Moment {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.to_string().into())
    }
}
