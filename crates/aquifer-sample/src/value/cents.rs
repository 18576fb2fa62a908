//! Amounts of money in whole cents, so that an order's total is exactly the sum of its lines.

use std::iter::Sum;
use std::ops::{Add, Mul};

use rusqlite::types::{ToSql, ToSqlOutput};

/// Stored as a number with two decimal places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cents(pub(crate) i64);

impl Cents {
    pub(crate) fn percent(self, percent: i64) -> Self {
        Self((self.0 * percent + 50) / 100)
    }
}

impl Add for Cents {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Mul<i64> for Cents {
    type Output = Self;

    fn mul(self, count: i64) -> Self {
        Self(self.0 * count)
    }
}

impl Sum for Cents {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::default(), Add::add)
    }
}

impl ToSql for Cents {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok((self.0 as f64 / 100.0).into())
    }
}
