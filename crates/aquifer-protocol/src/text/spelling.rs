//! Spellings of one name. Servers compare names differently: Go and .NET ignore the case of JSON names, many frameworks
//! accept `maxAmount`, `max-amount` and `MaxAmount` for `max_amount`, and some normalize Unicode. Every spelling that a
//! server may accept for a declared name must count as that name; otherwise a rule could be evaded by spelling.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Invisible characters that Unicode classifies as letters.
const FILLERS: [char; 2] = ['\u{115f}', '\u{1160}'];

/// The common form of all spellings of a name: its letters and digits, without case.
pub fn fold(name: &str) -> String {
    if name.is_ascii() {
        return fold_ascii(name).map(char::from).collect();
    }
    // Compatibility characters are normalized first, because they may represent separators (`⑴`). Marks are kept until
    // they are composed with their letter, even if something separated them.
    let characters = name.nfkc().filter(|c| (c.is_alphanumeric() || is_combining_mark(*c)) && !FILLERS.contains(c));
    without_case(characters).nfkc().filter(|c| c.is_alphanumeric()).collect()
}

/// Whether a name folds to this text. Does not allocate for names in ASCII.
pub fn folds_to(name: &str, folded: &str) -> bool {
    if name.is_ascii() { fold_ascii(name).eq(folded.bytes()) } else { fold(name) == folded }
}

/// The parts of a name between its separators, each folded: `items[0].maxAmount` is `items`, `0` and `maxamount`.
pub fn fold_segments(name: &str) -> Vec<String> {
    let composed: String = name.nfkc().collect();
    let segments = composed.split(|c: char| !c.is_alphanumeric() && !is_combining_mark(c));
    segments.map(fold).filter(|segment| !segment.is_empty()).collect()
}

/// The text without case and in one Unicode normalization, punctuation and blanks kept. Borrowed where that changes
/// nothing in plain ASCII.
pub fn fold_case(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return Cow::Borrowed(text);
    }
    if text.is_ascii() {
        return Cow::Owned(text.to_ascii_lowercase());
    }
    // The lower case of `İ` is an `i` with a combining dot.
    Cow::Owned(without_case(text.nfkc()).filter(|c| *c != '\u{307}').nfkc().collect())
}

fn fold_ascii(name: &str) -> impl Iterator<Item = u8> {
    name.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase())
}

/// Lower case by way of upper case, because some letters have no lower case of their own (`ſ` is an `s`), and by way of
/// lower case to that, because some have no upper case (`ẞ`, which is `ß` and so `ss`).
fn without_case(characters: impl Iterator<Item = char>) -> impl Iterator<Item = char> {
    characters.flat_map(char::to_lowercase).flat_map(char::to_uppercase).flat_map(char::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::{fold, fold_case, fold_segments, folds_to};

    #[test]
    fn r_req_3_every_spelling_folds_to_the_same_name() {
        for name in [
            "max_amount",
            "maxAmount",
            "MaxAmount",
            "MAX_AMOUNT",
            "max-amount",
            "max.amount",
            "max amount",
            "_max_amount_",
            "max\u{200b}_amount",
            "MAX__AMOUNT",
            "ｍａｘ＿ａｍｏｕｎｔ",
            "max_\u{3164}amount",
        ] {
            assert_eq!(fold(name), "maxamount", "{name:?}");
            assert!(folds_to(name, "maxamount"), "{name:?}");
        }
        assert_ne!(fold("max_amount"), fold("max_amounts"));
        assert!(!folds_to("max_amount", "maxamounts"));
        assert!(!folds_to("max_amounts", "maxamount"));
        assert_eq!(fold("___"), "");
    }

    #[test]
    fn r_req_3_unicode_spellings_of_a_name_fold_to_the_same() {
        // Composed and decomposed, upper and lower case, compatibility characters.
        let table: &[&[&str]] = &[
            &["keyS", "\u{212a}ey_\u{17f}"],
            &["größe", "GRÖSSE", "GRÖẞE", "gro\u{308}ße", "GRO\u{308}ẞE", "gro\u{200b}\u{308}sse"],
            &["straße", "STRASSE", "STRAẞE"],
            &["が", "か\u{3099}"],
            &["ガ", "カ\u{3099}", "ｶﾞ"],
            &["수량", "\u{1109}\u{116e}\u{1105}\u{1163}\u{11bc}"],
            &["город_й", "ГОРОД_И\u{306}", "городй"],
            &["ǰ", "j\u{30c}", "J\u{30c}"],
            &["i", "İ", "I\u{307}", "ı"],
            &["σας", "ΣΑΣ"],
            &["ﬁle", "file", "FILE"],
            &["é", "e\u{301}", "É", "E\u{301}"],
        ];
        for spellings in table {
            for spelling in *spellings {
                let first = spellings.first().copied().unwrap_or_default();
                assert_eq!(fold(spelling), fold(first), "{spelling:?} {first:?}");
                assert_eq!(fold(&fold(spelling)), fold(spelling), "{spelling:?} folded twice");
            }
        }
        assert_eq!(fold_segments("/items[0].gro\u{308}ße_.maxAmount/"), ["items", "0", "grösse", "maxamount"]);
        assert_ne!(fold("か"), fold("が"));
        assert_ne!(fold("e"), fold("é"));
    }

    #[test]
    fn r_saf_3_case_is_folded_in_one_normalization() {
        for (one, other) in [
            ("STRAẞE 1", "strasse 1"),
            ("/Größe/*", "/GRO\u{308}SSE/*"),
            ("か\u{3099}", "が"),
            ("İstanbul", "istanbul"),
            ("I\u{307}x", "ix"),
            ("J\u{30c}", "ǰ"),
        ] {
            assert_eq!(fold_case(one), fold_case(other), "{one:?} {other:?}");
        }
        assert!(matches!(fold_case("delete_customer"), std::borrow::Cow::Borrowed(_)));
        assert_eq!(fold_case("A b_C"), "a b_c");
    }
}
