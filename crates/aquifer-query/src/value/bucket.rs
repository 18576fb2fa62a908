//! Buckets of time, for grouping by year, quarter, month, week, day or hour.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::{Offset, TimeZone};
use serde_json::Value;

use crate::collection::FieldType;
use crate::value::parse_timestamp;

/// Groups times into buckets of the same length.
#[derive(Debug, Clone, PartialEq)]
pub struct Bucket {
    /// The length of a bucket.
    pub unit: TimeUnit,
    /// The time zone in which a bucket begins.
    pub zone: Zone,
}

/// The length of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    /// `2026`
    Year,
    /// `2026-Q1`
    Quarter,
    /// `2026-03`
    Month,
    /// `2026-W10`, an ISO 8601 week.
    Week,
    /// `2026-03-01`
    Day,
    /// `2026-03-01T12`
    Hour,
}

impl TimeUnit {
    /// Every unit, by name.
    pub const NAMES: [&'static str; 6] = ["year", "quarter", "month", "week", "day", "hour"];

    /// The unit of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "year" => TimeUnit::Year,
            "quarter" => TimeUnit::Quarter,
            "month" => TimeUnit::Month,
            "week" => TimeUnit::Week,
            "day" => TimeUnit::Day,
            "hour" => TimeUnit::Hour,
            _ => return None,
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            TimeUnit::Year => "year",
            TimeUnit::Quarter => "quarter",
            TimeUnit::Month => "month",
            TimeUnit::Week => "week",
            TimeUnit::Day => "day",
            TimeUnit::Hour => "hour",
        }
    }

    /// The label of the bucket that contains a local time. Labels sort in the order of time.
    fn label(self, local: DateTime) -> String {
        let (year, month, day) = (local.year(), local.month(), local.day());
        match self {
            TimeUnit::Year => format!("{year:04}"),
            TimeUnit::Quarter => format!("{year:04}-Q{}", (month - 1) / 3 + 1),
            TimeUnit::Month => format!("{year:04}-{month:02}"),
            TimeUnit::Week => {
                let week = local.date().iso_week_date();
                format!("{:04}-W{:02}", week.year(), week.week())
            }
            TimeUnit::Day => format!("{year:04}-{month:02}-{day:02}"),
            TimeUnit::Hour => format!("{year:04}-{month:02}-{day:02}T{:02}", local.hour()),
        }
    }

    /// The label of the bucket that contains a time.
    pub fn label_time(self, time: Timestamp, zone: &Zone) -> String {
        self.label(zone.zone.to_datetime(time))
    }

    /// The label of the bucket that contains a day.
    pub fn label_date(self, date: Date) -> String {
        self.label(date.to_datetime(jiff::civil::Time::midnight()))
    }
}

/// A time zone with its name.
#[derive(Debug, Clone)]
pub struct Zone {
    name: String,
    zone: TimeZone,
}

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Zone {
    /// Coordinated universal time.
    pub fn utc() -> Self {
        Self { name: "UTC".to_owned(), zone: TimeZone::UTC }
    }

    /// The time zone of an IANA name such as `Europe/Berlin`.
    pub fn from_name(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("utc") || name == "Z" {
            return Some(Self::utc());
        }
        let zone = TimeZone::get(name).ok()?;
        // The canonical spelling of the time zone database.
        let name = zone.iana_name().unwrap_or(name).to_owned();
        Some(Self { name, zone })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether its offset from UTC is always zero.
    pub fn is_utc(&self) -> bool {
        self.zone.to_fixed_offset().is_ok_and(|offset| offset == Offset::UTC)
    }
}

impl Bucket {
    /// The label of a value. Null if the value is not a time.
    pub(crate) fn label(&self, field_type: &FieldType, value: &Value) -> Value {
        let Some(text) = value.as_str() else { return Value::Null };
        // A value without a declared type that looks like a date is a date, to which no time zone applies.
        let date = || text.parse::<Date>().ok().filter(|_| text.len() == "2026-01-31".len());
        let label = match field_type {
            FieldType::Date => text.parse::<Date>().ok().map(|date| self.unit.label_date(date)),
            FieldType::Time => parse_timestamp(text).map(|time| self.unit.label_time(time, &self.zone)),
            _ => date()
                .map(|date| self.unit.label_date(date))
                .or_else(|| parse_timestamp(text).map(|time| self.unit.label_time(time, &self.zone))),
        };
        label.map_or(Value::Null, Value::from)
    }
}
