//! Generates a text that matches a pattern, so that a parameter with a pattern has an example.

use regex_syntax::hir::{Class, Hir, HirKind};

/// Maximum length of a generated text.
const MAX_CHARS: usize = 1000;

/// Maximum nesting depth of a pattern. Deeper ones have no example.
const MAX_DEPTH: usize = 40;

/// Maximum repetitions of repeatable parts, tried in this order to reach the requested length.
const REPETITIONS: [u32; 7] = [0, 1, 2, 4, 8, 32, 128];

/// A text of at least this length that should match the pattern, if one is found. The caller verifies it.
pub(super) fn matching(pattern: &str, min_chars: usize) -> Option<String> {
    let parsed = regex_syntax::ParserBuilder::new().nest_limit(100).build().parse(pattern).ok()?;
    REPETITIONS.into_iter().find_map(|repetitions| {
        let mut text = String::new();
        push(&parsed, repetitions, 0, &mut text)?;
        (text.chars().count() >= min_chars).then_some(text)
    })
}

fn push(pattern: &Hir, repetitions: u32, depth: usize, text: &mut String) -> Option<()> {
    if depth > MAX_DEPTH || text.len() > MAX_CHARS {
        return None;
    }
    match pattern.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(std::str::from_utf8(&literal.0).ok()?),
        HirKind::Class(class) => text.push(sample_character(class)?),
        HirKind::Repetition(part) => {
            let count = part.min.max(repetitions.min(part.max.unwrap_or(u32::MAX)));
            for _ in 0..count {
                let before = text.len();
                push(&part.sub, repetitions, depth + 1, text)?;
                if text.len() == before {
                    break;
                }
            }
        }
        HirKind::Capture(capture) => push(&capture.sub, repetitions, depth + 1, text)?,
        HirKind::Concat(parts) => {
            for part in parts {
                push(part, repetitions, depth + 1, text)?;
            }
        }
        HirKind::Alternation(parts) => push(parts.first()?, repetitions, depth + 1, text)?,
    }
    Some(())
}

/// A character of a class, a readable one if possible.
fn sample_character(class: &Class) -> Option<char> {
    let holds = |character: char| match class {
        Class::Unicode(class) => class.iter().any(|range| range.start() <= character && character <= range.end()),
        Class::Bytes(class) => u8::try_from(character)
            .is_ok_and(|byte| class.iter().any(|range| range.start() <= byte && byte <= range.end())),
    };
    let first = || match class {
        Class::Unicode(class) => class.iter().map(|range| range.start()).find(|c| !c.is_control()),
        Class::Bytes(_) => None,
    };
    let readable = ('a'..='z').chain('1'..='9').chain('A'..='Z').chain('!'..='~');
    readable.into_iter().find(|c| holds(*c)).or_else(first)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn generated_texts_match() {
        for (pattern, min_chars) in [
            ("^[A-Z]{3}-\\d{4}$", 0),
            ("^(draft|final)$", 0),
            ("^\\+?[1-9]\\d{1,14}$", 10),
            ("^[0-9a-f]{40}$", 0),
            ("^[^@]+@[^@]+$", 5),
            ("^(a|b)*$", 3),
            ("^\\S+$", 0),
            ("^(?:[01]\\d|2[0-3]):[0-5]\\d$", 0),
        ] {
            let text = matching(pattern, min_chars).unwrap_or_else(|| panic!("{pattern}"));
            assert!(regex::Regex::new(pattern).unwrap().is_match(&text), "{pattern}: {text}");
            assert!(text.chars().count() >= min_chars, "{pattern}: {text}");
        }
    }

    #[test]
    fn what_cannot_be_answered_is_refused_soon() {
        for pattern in
            ["(", "(?=a)b", "a{1000}{1000}", "((((a{50}){50}){50}){50})", "[^\\x00-\\x{10ffff}]", "(?:){4000000000}"]
        {
            assert!(matching(pattern, 1).is_none(), "{pattern}");
        }
        assert_eq!(matching("a{2}", 3), None);
    }
}
