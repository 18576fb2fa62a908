//! Text formats, which are validated and not only documented.

use std::sync::Arc;

/// A format of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Format {
    /// A date and time with an offset, RFC 3339.
    DateTime,
    /// A calendar date.
    Date,
    /// A time of day.
    Time,
    /// A duration, ISO 8601.
    Duration,
    /// An e-mail address.
    Email,
    /// An absolute URI.
    Uri,
    /// A UUID.
    Uuid,
    /// An IPv4 address.
    Ipv4,
    /// An IPv6 address.
    Ipv6,
    /// Shown to callers, but not validated.
    Hint(Arc<str>),
}

impl Format {
    /// The format with this name.
    pub fn from_name(name: &str) -> Self {
        match name {
            "date-time" => Format::DateTime,
            "date" => Format::Date,
            "time" => Format::Time,
            "duration" => Format::Duration,
            "email" => Format::Email,
            "uri" => Format::Uri,
            "uuid" => Format::Uuid,
            "ipv4" => Format::Ipv4,
            "ipv6" => Format::Ipv6,
            other => Format::Hint(other.into()),
        }
    }

    /// An example of the format, if its name is not self-explanatory.
    pub fn example(&self) -> Option<&'static str> {
        match self {
            Format::DateTime => Some("2026-01-31T12:00:00Z"),
            Format::Date => Some("2026-01-31"),
            Format::Time => Some("12:00:00Z"),
            Format::Duration => Some("PT1H30M"),
            _ => None,
        }
    }

    /// The name of the format.
    pub fn as_str(&self) -> &str {
        match self {
            Format::DateTime => "date-time",
            Format::Date => "date",
            Format::Time => "time",
            Format::Duration => "duration",
            Format::Email => "email",
            Format::Uri => "uri",
            Format::Uuid => "uuid",
            Format::Ipv4 => "ipv4",
            Format::Ipv6 => "ipv6",
            Format::Hint(name) => name,
        }
    }

    /// Whether the text has the format.
    pub fn admits(&self, text: &str) -> bool {
        match self {
            Format::DateTime => text.parse::<jiff::Timestamp>().is_ok(),
            Format::Date => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
            Format::Time => is_time(text),
            Format::Duration => text.trim_start_matches('-').starts_with('P') && text.parse::<jiff::Span>().is_ok(),
            Format::Email => is_email(text),
            Format::Uri => is_uri(text),
            Format::Uuid => is_uuid(text),
            Format::Ipv4 => text.parse::<std::net::Ipv4Addr>().is_ok(),
            Format::Ipv6 => text.parse::<std::net::Ipv6Addr>().is_ok(),
            Format::Hint(_) => true,
        }
    }
}

/// RFC 3339: a time of day with an offset. Parsed by adding an arbitrary date.
fn is_time(text: &str) -> bool {
    text.contains(':') && format!("2026-01-31T{text}").parse::<jiff::Timestamp>().is_ok()
}

fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let clean = |part: &str| !part.is_empty() && !part.chars().any(|c| c.is_whitespace() || c.is_control());
    clean(local) && clean(domain) && !domain.starts_with('.') && !domain.ends_with('.') && !domain.contains("..")
}

fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let mut characters = scheme.chars();
    characters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && characters.all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        && !rest.is_empty()
        && !rest.chars().any(|c| c.is_whitespace() || c.is_control() || "<>\"{}|\\^`".contains(c))
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.char_indices().all(|(index, c)| match index {
            8 | 13 | 18 | 23 => c == '-',
            _ => c.is_ascii_hexdigit(),
        })
}
