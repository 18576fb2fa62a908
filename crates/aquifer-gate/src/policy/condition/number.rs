//! Numbers, and text that a source may read as a number.

use std::cmp::Ordering;

/// Number of decimal digits that a float always represents exactly.
const MAX_EXACT_DIGITS: usize = 15;

/// Maximum number of digits of an integer that is compared exactly.
const MAX_WHOLE_DIGITS: usize = 30;

/// Floats below this fit into an `i128`.
const MAX_WHOLE: f64 = 1e36;

/// A finite number.
#[derive(Debug, Clone, Copy)]
pub(super) enum Number {
    Whole(i128),
    Real(f64),
}

/// How a source may read a text.
#[derive(Debug, Clone, Copy)]
pub(super) enum NumberText {
    /// Certainly a number.
    Number(Number),
    /// Certainly not a number: it has no digit, or starts with a letter.
    None,
    /// A number to some sources: `1_000`, `0x64`, `٣`, `010`, `100 EUR`.
    Unclear,
}

impl Number {
    pub(super) fn from_json(number: &serde_json::Number) -> Option<Self> {
        match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => Some(Number::Whole(whole.into())),
            (_, Some(whole)) => Some(Number::Whole(whole.into())),
            _ => number.as_f64().filter(|real| real.is_finite()).map(Self::from_float),
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "whole, and small enough")]
    pub(super) fn from_float(real: f64) -> Self {
        if real.fract() == 0.0 && real.abs() < MAX_WHOLE { Number::Whole(real as i128) } else { Number::Real(real) }
    }

    /// Compares two numbers. `None` if they are not comparable.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a float with a fraction is far below where whole numbers lose digits"
    )]
    pub(super) fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Number::Whole(one), Number::Whole(other)) => Some(one.cmp(&other)),
            (Number::Real(one), Number::Real(other)) => one.partial_cmp(&other),
            (Number::Whole(one), Number::Real(other)) => (one as f64).partial_cmp(&other),
            (Number::Real(one), Number::Whole(other)) => one.partial_cmp(&(other as f64)),
        }
    }
}

impl NumberText {
    pub(super) fn parse(text: &str) -> Self {
        let text = text.trim();
        if let Some(number) = plain(text) {
            return NumberText::Number(number);
        }
        let unsigned = text.trim_start_matches(['+', '-', '−']).trim_start();
        let begins_with_letter = unsigned.starts_with(|first: char| first.is_alphabetic() && !first.is_numeric());
        if begins_with_letter || !text.chars().any(char::is_numeric) { NumberText::None } else { NumberText::Unclear }
    }
}

/// Parses a number in JSON syntax, which every source reads the same way.
fn plain(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let digits_of = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits_of(unsigned);
    // Some sources read leading zeros as octal.
    if whole == 0 || (whole > 1 && unsigned.starts_with('0')) {
        return None;
    }
    let mut rest = unsigned.get(whole..)?;
    if rest.is_empty() {
        return if whole <= MAX_WHOLE_DIGITS { text.parse().ok().map(Number::Whole) } else { None };
    }
    let mut digits = whole;
    if let Some(fraction) = rest.strip_prefix('.') {
        let count = digits_of(fraction);
        if count == 0 {
            return None;
        }
        digits += count;
        rest = fraction.get(count..)?;
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let count = digits_of(exponent);
        if count == 0 {
            return None;
        }
        rest = exponent.get(count..)?;
    }
    let real: f64 = text.parse().ok().filter(|real: &f64| real.is_finite())?;
    (rest.is_empty() && digits <= MAX_EXACT_DIGITS).then(|| Number::from_float(real))
}

#[cfg(test)]
#[allow(clippy::panic)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<f64> {
        match NumberText::parse(text) {
            #[expect(clippy::cast_precision_loss, reason = "the table has small numbers")]
            NumberText::Number(Number::Whole(whole)) => Some(whole as f64),
            NumberText::Number(Number::Real(real)) => Some(real),
            NumberText::None => None,
            NumberText::Unclear => Some(f64::NAN),
        }
    }

    #[test]
    fn r_saf_2_text_is_a_number_only_if_every_source_agrees() {
        for (text, number) in [
            ("0", 0.0),
            ("-7", -7.0),
            ("7.50", 7.5),
            ("1e3", 1000.0),
            ("1E+3", 1000.0),
            (" 12\t", 12.0),
            ("1.5e-2", 0.015),
        ] {
            assert_eq!(read(text), Some(number), "{text}");
        }
        for text in ["", "many", "order-12", "x1", "inf", "NaN", "-infinity", "true", "−", "e5", "abc"] {
            assert_eq!(read(text), None, "{text}");
        }
        #[rustfmt::skip]
        let unclear = [
            "1_000", "1,000", "1 000", "1'000", "0x64", "0b11", "0o17", "010", "+5", ".5", "5.", "1e", "1e400", "٣", "１００", "½", "Ⅷ",
            "$100", "100 EUR", "100.00000000000000000001", "7abc", "--7", "−7", "1e3.5", "1.2.3", "999999999999999999999999999999999",
        ];
        for text in unclear {
            assert!(read(text).is_some_and(f64::is_nan), "{text} {:?}", read(text));
        }
    }

    #[test]
    fn r_saf_2_large_numbers_are_compared_to_the_last_digit() {
        let read = |text: &str| match NumberText::parse(text) {
            NumberText::Number(number) => number,
            other => panic!("{text} {other:?}"),
        };
        let table = [
            ("9007199254740993", "9007199254740992", Ordering::Greater),
            ("18446744073709551615", "18446744073709551614", Ordering::Greater),
            ("7", "7.0", Ordering::Equal),
            ("7", "7.5", Ordering::Less),
            ("-7.5", "-7", Ordering::Less),
            ("1e30", "7", Ordering::Greater),
        ];
        for (one, other, ordering) in table {
            assert_eq!(read(one).compare(read(other)), Some(ordering), "{one} {other}");
            assert_eq!(read(other).compare(read(one)), Some(ordering.reverse()), "{one} {other}");
        }
    }
}
