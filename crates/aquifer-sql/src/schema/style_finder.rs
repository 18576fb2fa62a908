//! Determines in which style the times of a SQLite column are, from its values and from the framework that wrote them.

use crate::schema::time_style::{
    DigitCounts, MIN_REAL_SECONDS_REAL, Separator, StoredTime, TextFormat, TimeStyle, Unit, Zone, nanosecond,
    parse_text,
};

/// Determines the common style of many values.
#[derive(Debug, Clone)]
pub(crate) struct StyleFinder {
    found: StyleEvidence,
    /// For each digit count, the smallest number of significant digits seen.
    least_significant: [u8; 10],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StyleEvidence {
    Nothing,
    Style(TimeStyle),
}

/// How an application writes times to SQLite, as far as its framework decides that. Sampled values show the format, but
/// not what becomes of a fraction that is zero, because almost none is. An application finds a time by comparing the
/// text, so what is written must be exactly what it would write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum TimeConvention {
    #[default]
    Unknown,
    /// Six digits, none if the fraction is zero: Python's `str(datetime)`, and therefore Django.
    OmitsZeroFractions,
    /// Always six digits: SQLAlchemy, Rails.
    Microseconds,
}

impl TimeConvention {
    /// The convention of the framework that keeps one of these tables. Two frameworks in one file decide nothing.
    pub(crate) fn of_tables<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let known = names.filter_map(|name| match name {
            "django_migrations" => Some(Self::OmitsZeroFractions),
            "alembic_version" | "ar_internal_metadata" => Some(Self::Microseconds),
            _ => None,
        });
        known.reduce(|one, other| if one == other { one } else { Self::Unknown }).unwrap_or_default()
    }

    /// The style of a column without values.
    pub(crate) fn default_style(self) -> TimeStyle {
        let digits = match self {
            Self::Unknown => return TimeStyle::SQLITE,
            Self::OmitsZeroFractions => DigitCounts::PYTHON,
            Self::Microseconds => DigitCounts::only(6),
        };
        TimeStyle::Text(TextFormat::Clock { separator: Separator::Space, digits, zone: Zone::Unmarked })
    }
}

impl StyleFinder {
    pub(crate) fn new() -> Self {
        Self { found: StyleEvidence::Nothing, least_significant: [u8::MAX; 10] }
    }

    /// A finder that expects a known style.
    pub(crate) fn expecting(style: TimeStyle) -> Self {
        Self { found: StyleEvidence::Style(style), ..Self::new() }
    }

    /// Adds a value. Returns false once no style is left.
    pub(crate) fn add(&mut self, stored: StoredTime<'_>) -> bool {
        let style = self.style_of(stored);
        let merged = match (self.found, style) {
            (_, None) => TimeStyle::Mixed,
            (StyleEvidence::Nothing, Some(style)) => style,
            (StyleEvidence::Style(known), Some(style)) => merge(known, style),
        };
        self.found = StyleEvidence::Style(merged);
        merged.is_sortable()
    }

    fn style_of(&mut self, stored: StoredTime<'_>) -> Option<TimeStyle> {
        match stored {
            StoredTime::Text(text) => {
                let scanned = parse_text(text)?;
                if let TextFormat::Clock { digits, .. } = scanned.format
                    && let Some(least) = self.least_significant.get_mut(usize::from(digits.max()))
                {
                    *least = (*least).min(scanned.significant);
                }
                Some(TimeStyle::Text(scanned.format))
            }
            StoredTime::Integer(number) => {
                nanosecond(stored)?;
                Some(TimeStyle::Number { unit: Unit::for_integer(number), has_fractions: false })
            }
            StoredTime::Real(number) => {
                nanosecond(stored)?;
                let style = TimeStyle::Number { unit: Unit::for_real(number), has_fractions: true };
                (number.abs() >= MIN_REAL_SECONDS_REAL).then_some(style)
            }
            StoredTime::Other => None,
        }
    }

    /// The common style; `None` if there were no values.
    pub(crate) fn finish(&self) -> Option<TimeStyle> {
        match self.found {
            StyleEvidence::Nothing => None,
            StyleEvidence::Style(TimeStyle::Text(TextFormat::Clock { digits, .. })) if !self.is_unambiguous(digits) => {
                Some(TimeStyle::Mixed)
            }
            StyleEvidence::Style(style) => Some(style),
        }
    }

    /// The common style, completed by what is known about the application: a column in Django's format is one in which
    /// a fraction that is zero is omitted, even if no value has such a fraction.
    pub(crate) fn finish_with(&self, convention: TimeConvention) -> Option<TimeStyle> {
        let style = self.finish()?;
        let (TimeStyle::Text(TextFormat::Clock { digits, .. }), TimeStyle::Text(complete)) =
            (style, TimeConvention::OmitsZeroFractions.default_style())
        else {
            return Some(style);
        };
        let is_expected = convention == TimeConvention::OmitsZeroFractions
            && style == TimeStyle::Text(complete.with_digits(digits))
            && digits.0 & !DigitCounts::PYTHON.0 == 0;
        // A value that ends in `.000000` shows that another program writes, too.
        Some(if is_expected && self.is_unambiguous(DigitCounts::PYTHON) { TimeStyle::Text(complete) } else { style })
    }

    /// Whether every value uses the smallest sufficient digit count.
    fn is_unambiguous(&self, digits: DigitCounts) -> bool {
        digits.is_single()
            || (0..=9).zip(&self.least_significant).all(|(count, least)| {
                *least == u8::MAX || digits.min_for(*least).is_none_or(|sufficient| sufficient >= count)
            })
    }
}

/// The common style of both. A `Z` sorts after digits, so fractions before it must all have the same length.
fn merge(one: TimeStyle, other: TimeStyle) -> TimeStyle {
    use TextFormat::Clock;
    match (one, other) {
        (one, other) if one == other => one,
        (
            TimeStyle::Text(Clock { separator, digits, zone }),
            TimeStyle::Text(Clock { separator: other_separator, digits: other_digits, zone: other_zone }),
        ) if separator == other_separator && zone == other_zone && zone != Zone::Zulu => {
            let digits = DigitCounts(digits.0 | other_digits.0);
            TimeStyle::Text(Clock { separator, digits, zone })
        }
        (TimeStyle::Number { unit, .. }, TimeStyle::Number { unit: other, .. }) if unit == other => {
            TimeStyle::Number { unit, has_fractions: true }
        }
        _ => TimeStyle::Mixed,
    }
}
