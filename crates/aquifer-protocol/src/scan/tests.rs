#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod hostile;
mod laws;
mod limits;
mod messages;
mod salvage;

use super::*;

/// Limits small enough to be exceeded in one line.
const SMALL: Limits = Limits {
    max_request_size: 40,
    max_response_size: 0,
    max_string_length: 9,
    max_array_elements: 3,
    max_nesting_depth: 3,
};

#[track_caller]
fn check<T: AsRef<[u8]>>(frame: Frame, limits: &Limits, cases: &[(T, Result<(), Problem>)]) {
    for (message, expected) in cases {
        let message = message.as_ref();
        let shown = String::from_utf8_lossy(message);
        assert_eq!(&scan(message, frame, limits), expected, "{shown}");
    }
}

fn syntax(offset: usize, expected: &'static str) -> Result<(), Problem> {
    Err(Problem::Syntax { offset, expected })
}

fn encoding(offset: usize, kind: Encoding) -> Result<(), Problem> {
    Err(Problem::Encoding { offset, kind })
}

fn too_large(limit: LimitKind, limit_value: usize, actual_value: usize) -> Result<(), Problem> {
    Err(Problem::TooLarge { limit, limit_value, actual_value })
}

fn duplicate(offset: usize, key: &str) -> Result<(), Problem> {
    Err(Problem::DuplicateKey { offset, key: key.into() })
}

fn out_of_range(offset: usize) -> Result<(), Problem> {
    Err(Problem::NumberOutOfRange { offset })
}

#[test]
fn r_req_1_every_form_of_json_is_accepted() {
    let accepted = [
        "{}",
        "[]",
        "null",
        " \t\r\n true \n",
        "-0",
        "0.5e-7",
        "1E+2",
        "[0, -1.0, [], {}, \"\", false]",
        r#"{"a": {"b": [1, {"c": null}]}, "": 0}"#,
        r#""\" \\ \/ \b \f \n \r \t \u00e9 \u0000 \uFFFF""#,
        "\"\u{7f} é 漢 😀\"",
        r#"[{"a": 1}, {"a": 2}]"#,
    ];
    check(Frame::Bare, &Limits::default(), &accepted.map(|text| (text, Ok(()))));
    check(Frame::Mcp, &Limits::default(), &accepted.map(|text| (text, Ok(()))));
}

#[test]
fn r_req_1_invalid_json_is_refused_with_its_offset() {
    check(
        Frame::Bare,
        &Limits::default(),
        &[
            ("", syntax(0, "a value")),
            ("  ", syntax(2, "a value")),
            ("\u{feff}{}", syntax(0, "a value")),
            ("NaN", syntax(0, "a value")),
            ("-Infinity", syntax(1, "a digit")),
            ("tru", syntax(0, "a value")),
            ("truex", syntax(4, "nothing after the value")),
            ("+1", syntax(0, "a value")),
            (".5", syntax(0, "a value")),
            ("01", syntax(1, "nothing after the value")),
            ("-", syntax(1, "a digit")),
            ("1.", syntax(2, "a digit")),
            ("1.e3", syntax(2, "a digit")),
            ("1e", syntax(2, "a digit")),
            ("1e+", syntax(3, "a digit")),
            ("0x10", syntax(1, "nothing after the value")),
            ("{} {}", syntax(3, "nothing after the value")),
            ("]", syntax(0, "a value")),
            ("[", syntax(1, "a value")),
            ("[1", syntax(2, "`,` or `]`")),
            ("[1,", syntax(3, "a value")),
            ("[1,]", syntax(3, "a value")),
            ("[,]", syntax(1, "a value")),
            ("[1 2]", syntax(3, "`,` or `]`")),
            ("[1}", syntax(2, "`,` or `]`")),
            ("{", syntax(1, "a key in double quotes")),
            ("{,}", syntax(1, "a key in double quotes")),
            ("{a:1}", syntax(1, "a key in double quotes")),
            ("{'a':1}", syntax(1, "a key in double quotes")),
            ("{\"a\"}", syntax(4, "`:`")),
            ("{\"a\":}", syntax(5, "a value")),
            ("{\"a\":1,}", syntax(7, "a key in double quotes")),
            ("{\"a\":1]", syntax(6, "`,` or `}`")),
            ("[1] // no", syntax(4, "nothing after the value")),
            ("'a'", syntax(0, "a value")),
            ("\"a", syntax(2, "a closing quote")),
            ("\"a\nb\"", syntax(2, "an escape for a control character")),
            ("\"a\0\"", syntax(2, "an escape for a control character")),
            ("\"\\", syntax(2, "a known escape")),
            ("\"\\x\"", syntax(2, "a known escape")),
            ("\"\\u12\"", syntax(5, "four hexadecimal digits")),
            ("\"\\u+123\"", syntax(3, "four hexadecimal digits")),
        ],
    );
}

#[test]
fn r_req_1_a_number_that_would_change_its_value_is_refused() {
    let long_but_finite = format!("{}.5", "9".repeat(308));
    let long_and_infinite = format!("[{}.5]", "9".repeat(310));
    check(
        Frame::Bare,
        &Limits::default(),
        &[
            ("9223372036854775808", Ok(())),
            ("18446744073709551615", Ok(())),
            ("18446744073709551616", out_of_range(0)),
            ("-9223372036854775808", Ok(())),
            ("[1, -9223372036854775809]", out_of_range(4)),
            ("100000000000000000000", out_of_range(0)),
            ("100000000000000000000.0", Ok(())),
            ("1e308", Ok(())),
            ("1.7976931348623157e308", Ok(())),
            ("{\"a\": 1e309}", out_of_range(6)),
            ("-1e99999999999999999999", out_of_range(0)),
            ("0e99999999999999999999", Ok(())),
            ("1e-99999999999999999999", Ok(())),
            (&long_but_finite, out_of_range(0)),
            ("1234567890123456.78", out_of_range(0)),
            ("0.30000000000000004", Ok(())),
            ("1234567890123456.75", Ok(())),
            ("3.14159265358979323846", out_of_range(0)),
            (&long_and_infinite, out_of_range(1)),
        ],
    );
}

#[test]
fn r_req_1_repeated_keys_are_refused() {
    let long = format!("{{\"{0}\":1,\"{0}\":2}}", "é".repeat(70));
    check(
        Frame::Bare,
        &Limits::default(),
        &[
            (r#"{"a":1,"b":2,"a":3}"#, duplicate(13, "a")),
            (r#"{"a":1,"\u0061":2}"#, duplicate(7, "a")),
            (r#"{"\ud83d\ude00":1,"😀":2}"#, duplicate(18, "😀")),
            (r#"{"":1,"":2}"#, duplicate(6, "")),
            (r#"{"a":{"a":{"a":1}},"b":[{"a":1}]}"#, Ok(())),
            (r#"[{"x":{"b":1,"b":2}}]"#, duplicate(13, "b")),
            (r#"{"a":1,"A":2,"a ":3,"a\u0000":4}"#, Ok(())),
            (&long, duplicate(146, &"é".repeat(64))),
        ],
    );
}

#[test]
fn r_req_8_text_that_is_not_unicode_is_refused() {
    use Encoding::{InvalidUtf8, LoneSurrogate};
    let cases: [(&[u8], _); 12] = [
        (b"\"\xff\"", encoding(1, InvalidUtf8)),
        (b"{\"ab\":\"\xc3(\"}", encoding(7, InvalidUtf8)),
        (b"\"\xed\xa0\x80\"", encoding(1, InvalidUtf8)),
        (b"\"\xc0\xaf\"", encoding(1, InvalidUtf8)),
        (b"[}\xf0\x9f\x98", encoding(2, InvalidUtf8)),
        (br#""\ud83d\ude00""#, Ok(())),
        (br#""\uD83D\uDE00""#, Ok(())),
        (br#"["a", "b\ud800"]"#, encoding(8, LoneSurrogate)),
        (br#""\ud800x""#, encoding(1, LoneSurrogate)),
        (br#""\ud800\u0041""#, encoding(1, LoneSurrogate)),
        (br#""\ud800\ud800\udc00""#, encoding(1, LoneSurrogate)),
        (br#"{"\udc00": 1}"#, encoding(2, LoneSurrogate)),
    ];
    check(Frame::Bare, &Limits::default(), &cases);
}
