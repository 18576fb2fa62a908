//! Compares text as its source does.
//!
//! A rule about `admin` has to match `ADMIN` if the database treats both as the same value, and a rule about a point in
//! time has to match every spelling of it. If a source's comparison is unknown, or two readings of a text differ, the
//! verdict is `Unsure`. Values in a source-specific syntax are known to be equal only if their text is identical.

use std::fmt;

use aquifer_protocol::schema::{Comparison, Format, Kind, Schema};
use aquifer_protocol::spelling::fold_case;
use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp, civil};

use super::number::NumberText;
use super::path::variants;
use super::{TypedOperation, Verdict};
use crate::policy::settings::PatternList;
use aquifer_protocol::glob::{Case, Glob, Patterns};

/// Endings by which a pattern is taken for that of a domain.
const ENDINGS: [&str; 6] = [".com", ".org", ".net", ".io", ".example", ".internal"];

/// Points in time that differ by less than this may be equal for a source that stores fewer digits.
const MAX_ROUNDING: SignedDuration = SignedDuration::from_secs(1);

/// How a source reads a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextReading {
    Exact,
    IgnoreCase,
    IgnoreTrailingBlanks,
    Uuid,
    /// In a way that is unknown to us.
    Unknown,
    /// In a source-specific syntax: two different texts may be equal.
    Opaque,
    /// Mostly ignoring case, as with mail and web addresses.
    Address,
    Instant,
    Date,
    TimeOfDay,
    Duration,
    Ip,
    Number,
}

impl TextReading {
    /// The readings that these schemas allow. Exact if none is declared.
    pub(super) fn from_schemas(schemas: &[&Schema], typed: TypedOperation<'_>, ignore_case: bool) -> Vec<Self> {
        let mut readings: Vec<Self> = Vec::new();
        for schema in variants(schemas, typed) {
            let reading = match &schema.kind {
                Kind::String | Kind::Any => Self::from_text_schema(schema, ignore_case),
                Kind::Integer | Kind::Number => TextReading::Number,
                // Text is never valid for these.
                _ => continue,
            };
            if !readings.contains(&reading) {
                readings.push(reading);
            }
        }
        if readings.is_empty() {
            readings.push(Self::plain(ignore_case));
        }
        readings
    }

    /// The reading of text without a declared schema.
    pub(super) fn plain(ignore_case: bool) -> Self {
        if ignore_case { TextReading::IgnoreCase } else { TextReading::Exact }
    }

    fn from_text_schema(schema: &Schema, ignore_case: bool) -> Self {
        match (&schema.format, schema.comparison) {
            (Some(Format::DateTime), _) => TextReading::Instant,
            (Some(Format::Date), _) => TextReading::Date,
            (Some(Format::Time), _) => TextReading::TimeOfDay,
            (Some(Format::Duration), _) => TextReading::Duration,
            (Some(Format::Uuid), _) | (_, Comparison::Uuid) => TextReading::Uuid,
            (Some(Format::Ipv4 | Format::Ipv6), _) => TextReading::Ip,
            (_, Comparison::Unknown) => TextReading::Unknown,
            (_, Comparison::Opaque) => TextReading::Opaque,
            (_, Comparison::IgnoreCase) => TextReading::IgnoreCase,
            (_, _) if ignore_case => TextReading::IgnoreCase,
            (_, Comparison::IgnoreTrailingBlanks) => TextReading::IgnoreTrailingBlanks,
            (Some(Format::Email | Format::Uri), Comparison::Exact) => TextReading::Address,
            (_, Comparison::Exact) => TextReading::Exact,
        }
    }

    /// Describes how text is compared; `None` for exact comparison.
    pub(super) fn describe(self) -> Option<&'static str> {
        Some(match self {
            TextReading::Exact => return None,
            TextReading::IgnoreCase => "ignoring case",
            TextReading::IgnoreTrailingBlanks => "ignoring trailing blanks",
            TextReading::Uuid => "as a UUID",
            TextReading::Unknown => "loosely, because it is unknown how the source compares text",
            TextReading::Opaque => "by spelling, although the source may treat other spellings as equal",
            TextReading::Address => "as an address, possibly ignoring case",
            TextReading::Instant => "as a point in time",
            TextReading::Date => "as a date",
            TextReading::TimeOfDay => "as a time of day",
            TextReading::Duration => "as a duration",
            TextReading::Ip => "as an IP address",
            TextReading::Number => "as a number",
        })
    }

    /// Whether two texts are equal.
    pub(super) fn equal(self, expected: &str, text: &str) -> Verdict {
        if expected == text {
            return Verdict::Yes;
        }
        let parsed = match self {
            TextReading::Instant => both(expected, text, instant).map(is_same_time),
            TextReading::TimeOfDay => both(expected, text, time_of_day).map(is_same_time),
            TextReading::Date => both(expected, text, date).map(is_same),
            TextReading::Duration => both(expected, text, duration).map(is_same_duration),
            TextReading::Uuid => both(expected, text, uuid).map(is_same),
            TextReading::Ip => both(expected, text, ip).map(is_same),
            TextReading::Number => both(expected, text, number)
                .map(|(one, other)| one.compare(other).map_or(Verdict::Unsure, |ordering| ordering.is_eq().into())),
            TextReading::Exact
            | TextReading::IgnoreCase
            | TextReading::IgnoreTrailingBlanks
            | TextReading::Unknown
            | TextReading::Opaque
            | TextReading::Address => None,
        };
        parsed.unwrap_or_else(|| match self {
            TextReading::Exact => unsure_if(expected.trim() == text.trim()),
            // Databases differ in how they ignore case outside ASCII.
            TextReading::IgnoreCase if expected.eq_ignore_ascii_case(text) => Verdict::Yes,
            TextReading::IgnoreTrailingBlanks if without_blanks(expected) == without_blanks(text) => Verdict::Yes,
            TextReading::Opaque => Verdict::Unsure,
            TextReading::Unknown if may_be_number(expected) && may_be_number(text) => Verdict::Unsure,
            TextReading::Unknown => unsure_if(LooseText::new(text).may_equal(&LooseText::new(expected))),
            TextReading::IgnoreTrailingBlanks => unsure_if(expected.trim() == text.trim()),
            _ => unsure_if(fold_case(expected.trim()) == fold_case(text.trim())),
        })
    }

    /// The texts that a source may read this one as.
    fn spellings(self, text: &str) -> Vec<String> {
        let mut spellings = vec![text.to_owned()];
        spellings.extend(match self {
            TextReading::Instant => instant(text).map(|instant| instant.to_string()),
            TextReading::Uuid => uuid(text).map(|uuid| hyphenated(&uuid)),
            TextReading::Ip => ip(text).map(|ip| ip.to_string()),
            TextReading::IgnoreTrailingBlanks => Some(without_blanks(text).to_owned()),
            _ => Some(text.trim().to_owned()),
        });
        spellings.dedup();
        spellings
    }
}

/// Text patterns, compiled for every kind of comparison.
#[derive(Debug, Clone)]
pub(super) struct TextPatterns {
    written: PatternList,
    exact: Patterns,
    folded: Patterns,
    /// The including and the excluding patterns for sources whose comparison is unknown.
    loose_only: Vec<LooseText>,
    loose_never: Vec<LooseText>,
}

impl TextPatterns {
    pub(super) fn new(words: &PatternList, report: impl FnMut(String)) -> Self {
        let exact = Patterns::new(words.iter(), report);
        let loose = |excludes: bool| {
            let own = words.iter().filter(move |word| word.starts_with('!') == excludes);
            own.map(|word| LooseText::pattern(word.trim_start_matches('!'))).collect()
        };
        Self {
            exact,
            folded: Patterns::with_case(words.iter(), Case::Ignored, Case::Ignored, |_| {}),
            loose_only: loose(false),
            loose_never: loose(true),
            written: words.clone(),
        }
    }

    /// The patterns with a wildcard beside an address, which may match other addresses than they seem to.
    pub(super) fn loose_addresses(&self) -> impl Iterator<Item = &str> {
        self.written.iter().filter(|word| {
            let has_domain = ENDINGS.iter().any(|ending| word.trim_end_matches('*').ends_with(ending));
            word.contains('*') && (word.contains('@') || word.contains("://") || has_domain)
        })
    }

    /// Whether a text matches under all of these readings, in all spellings.
    pub(super) fn matches(&self, text: &str, readings: &[TextReading]) -> Verdict {
        Verdict::merge(readings.iter().flat_map(|reading| {
            let spellings = reading.spellings(text);
            spellings.into_iter().map(|spelling| self.matches_as(&spelling, *reading)).collect::<Vec<_>>()
        }))
    }

    /// Whether a number matches in all spellings.
    pub(super) fn matches_number(&self, number: &serde_json::Number) -> Verdict {
        let written = number.to_string();
        // Most sources treat 404.0 as 404.
        let whole = number.as_f64().filter(|real| real.fract() == 0.0).map(|real| format!("{real:.0}"));
        let spellings = std::iter::once(written).chain(whole);
        Verdict::merge(spellings.map(|spelling| self.matches_plain(&spelling)))
    }

    /// Whether a text matches exactly.
    pub(super) fn matches_plain(&self, text: &str) -> Verdict {
        Verdict::from(self.exact.admits(text))
    }

    fn matches_as(&self, text: &str, reading: TextReading) -> Verdict {
        let exact = self.exact.admits(text);
        match reading {
            TextReading::IgnoreCase | TextReading::Uuid | TextReading::Address => {
                let folded = self.folded.admits(text);
                // Databases differ in how they ignore case outside ASCII, and addresses in which part is case
                // sensitive.
                let is_ascii = text.is_ascii() && self.written.iter().all(str::is_ascii);
                let is_certain = is_ascii && reading != TextReading::Address;
                if exact == folded || is_certain { Verdict::from(folded) } else { Verdict::Unsure }
            }
            TextReading::Opaque => self.matches_by_spelling(text),
            TextReading::Unknown if may_be_number(text) && self.may_match_numbers() => self.matches_by_spelling(text),
            TextReading::Unknown => {
                let text = LooseText::new(text);
                let may = |patterns: &[LooseText]| patterns.iter().any(|pattern| text.may_equal(pattern));
                let may_be_wanted = self.loose_only.is_empty() || may(&self.loose_only);
                match (exact, may_be_wanted) {
                    (true, _) if !may(&self.loose_never) => Verdict::Yes,
                    (_, false) => Verdict::No,
                    _ => Verdict::Unsure,
                }
            }
            _ => Verdict::from(exact),
        }
    }
}

impl TextPatterns {
    /// Whether a number may match the including patterns.
    fn may_match_numbers(&self) -> bool {
        let may = |word: &str| word.chars().all(|c| is_part_of_number(c) || matches!(c, '*' | '?'));
        let mut selecting = self.written.iter().filter(|word| !word.starts_with('!')).peekable();
        selecting.peek().is_none() || selecting.any(may)
    }

    /// Whether a text matches if the source may treat it as equal to any other text. The result is certain only if a
    /// pattern is exactly this text, or if every text matches.
    fn matches_by_spelling(&self, text: &str) -> Verdict {
        let is_written = |word: &str| word == text && !word.contains(['*', '?']);
        let excludes = self.written.iter().any(|word| word.starts_with('!'));
        let is_listed = self.written.iter().any(is_written);
        if self.written.iter().any(|word| word.strip_prefix('!').is_some_and(is_written)) {
            Verdict::No
        } else if !excludes && (is_listed || self.exact.is_all()) {
            Verdict::Yes
        } else {
            Verdict::Unsure
        }
    }
}

impl fmt::Display for TextPatterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let patterns: Vec<String> = self.written.iter().map(|pattern| format!("{pattern:?}")).collect();
        f.write_str(&patterns.join(" or "))
    }
}

/// Text reduced to the part that all collations agree on: ASCII letters and digits without case. Other letters may
/// match anything: in some collations `é` equals `e`, and `ß` equals two letters.
#[derive(Debug, Clone)]
enum LooseText {
    Whole(String),
    /// Contains characters that may match anything.
    Gaps(Glob),
}

impl LooseText {
    fn new(text: &str) -> Self {
        Self::reduce(text, |_| false)
    }

    /// Reduces a pattern, whose `*` and `?` match anything.
    fn pattern(pattern: &str) -> Self {
        Self::reduce(pattern, |c| matches!(c, '*' | '?'))
    }

    fn reduce(text: &str, is_wildcard: impl Fn(char) -> bool) -> Self {
        let mut parts = vec![String::new()];
        for character in fold_case(text).chars() {
            if is_wildcard(character) || (character.is_alphanumeric() && !character.is_ascii()) {
                parts.push(String::new());
            } else if character.is_ascii_alphanumeric()
                && let Some(part) = parts.last_mut()
            {
                part.push(character);
            }
        }
        match <[String; 1]>::try_from(parts) {
            Ok([whole]) => LooseText::Whole(whole),
            Err(parts) => LooseText::Gaps(Glob::from_literals(parts)),
        }
    }

    /// Whether some collation may treat both as equal. Always true if both have gaps.
    fn may_equal(&self, other: &Self) -> bool {
        match (self, other) {
            (LooseText::Whole(one), LooseText::Whole(other)) => one == other,
            (LooseText::Whole(text), LooseText::Gaps(pattern)) | (LooseText::Gaps(pattern), LooseText::Whole(text)) => {
                pattern.matches(text)
            }
            (LooseText::Gaps(_), LooseText::Gaps(_)) => true,
        }
    }
}

/// Whether a source may read a text as this boolean.
pub(super) fn may_mean_bool(text: &str, flag: bool) -> bool {
    let words: &[&str] =
        if flag { &["true", "t", "yes", "y", "on", "1"] } else { &["false", "f", "no", "n", "off", "0", ""] };
    words.iter().any(|word| text.trim().eq_ignore_ascii_case(word))
}

/// Whether a source may read a text as null.
pub(super) fn may_mean_null(text: &str) -> bool {
    ["", "null", "none", "nil"].iter().any(|word| text.trim().eq_ignore_ascii_case(word))
}

/// Whether a column may convert the text to a number, and so treat `01`, `1.0` and `1e0` as equal. The numbers are not
/// compared, because columns round them.
fn may_be_number(text: &str) -> bool {
    let text = text.trim();
    text.contains(|c: char| c.is_ascii_digit()) && text.chars().all(is_part_of_number)
}

fn is_part_of_number(character: char) -> bool {
    character.is_ascii_digit() || matches!(character, '+' | '-' | '.' | 'e' | 'E')
}

fn unsure_if(alike: bool) -> Verdict {
    if alike { Verdict::Unsure } else { Verdict::No }
}

fn both<T>(one: &str, other: &str, parse: impl Fn(&str) -> Option<T>) -> Option<(T, T)> {
    parse(one).zip(parse(other))
}

fn is_same<T: PartialEq>((one, other): (T, T)) -> Verdict {
    Verdict::from(one == other)
}

fn is_same_time((one, other): (Timestamp, Timestamp)) -> Verdict {
    if one == other { Verdict::Yes } else { unsure_if(one.duration_since(other).abs() < MAX_ROUNDING) }
}

fn instant(text: &str) -> Option<Timestamp> {
    text.trim().parse().ok()
}

fn time_of_day(text: &str) -> Option<Timestamp> {
    format!("2026-01-31T{}", text.trim()).parse().ok()
}

fn date(text: &str) -> Option<civil::Date> {
    text.trim().parse().ok()
}

fn duration(text: &str) -> Option<Span> {
    text.trim().parse().ok()
}

/// Whether two durations have the same length. Unsure if they contain months or years, which vary in length.
fn is_same_duration((one, other): (Span, Span)) -> Verdict {
    let length = |span: Span| span.to_duration(SpanRelativeTo::days_are_24_hours()).ok();
    length(one).zip(length(other)).map_or(Verdict::Unsure, is_same)
}

fn ip(text: &str) -> Option<std::net::IpAddr> {
    text.trim().parse().ok()
}

fn number(text: &str) -> Option<super::number::Number> {
    match NumberText::parse(text) {
        NumberText::Number(number) => Some(number),
        NumberText::None | NumberText::Unclear => None,
    }
}

/// The digits of a UUID in any format that a database accepts.
fn uuid(text: &str) -> Option<String> {
    let text = text.trim();
    let text = text
        .get(.."urn:uuid:".len())
        .filter(|urn| urn.eq_ignore_ascii_case("urn:uuid:"))
        .map_or(text, |urn| text.get(urn.len()..).unwrap_or_default());
    let bare = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text);
    let digits: String = bare.chars().filter(|c| *c != '-').collect();
    let is_uuid = digits.len() == 32 && digits.chars().all(|c| c.is_ascii_hexdigit());
    is_uuid.then(|| digits.to_ascii_lowercase())
}

/// Formats a UUID in the canonical form.
fn hyphenated(digits: &str) -> String {
    let mut written = String::with_capacity(36);
    for (character, index) in digits.chars().zip(0..) {
        if matches!(index, 8 | 12 | 16 | 20) {
            written.push('-');
        }
        written.push(character);
    }
    written
}

fn without_blanks(text: &str) -> &str {
    text.trim_end_matches(' ')
}
