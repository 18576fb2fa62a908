//! Texts that match a pattern.

use regex::Regex;
use regex_syntax::hir::{Class, Hir, HirKind};

/// Maximum length of a generated text.
const MAX_CHARS: usize = 1_000;

/// Maximum nesting of a pattern.
const MAX_DEPTH: usize = 40;

/// How often parts that may be repeated are repeated, tried in this order.
const REPETITIONS: [u32; 7] = [1, 0, 2, 4, 8, 32, 128];

/// A text that matches the pattern and has a fitting length. Different seeds give different texts, if there are several.
/// `None` if the pattern is not understood, such as one that looks ahead.
pub(super) fn matching(pattern: &str, fits: impl Fn(&str) -> bool, seed: usize) -> Option<String> {
    let compiled = Regex::new(pattern).ok()?;
    let parsed = regex_syntax::ParserBuilder::new().nest_limit(100).build().parse(pattern).ok()?;
    let texts = REPETITIONS.into_iter().filter_map(|repetitions| {
        let mut writer = Writer { text: String::new(), repetitions, seed };
        writer.push(&parsed, 0)?;
        Some(writer.text)
    });
    let mut texts = texts.filter(|text| compiled.is_match(text) && fits(text));
    texts.next()
}

struct Writer {
    text: String,
    repetitions: u32,
    /// What is left of the seed. Each choice takes its part of it.
    seed: usize,
}

impl Writer {
    /// One of `count` possibilities.
    fn choose(&mut self, count: usize) -> usize {
        let chosen = self.seed % count.max(1);
        self.seed /= count.max(1);
        chosen
    }

    fn push(&mut self, pattern: &Hir, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH || self.text.len() > MAX_CHARS {
            return None;
        }
        match pattern.kind() {
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) => self.text.push_str(std::str::from_utf8(&literal.0).ok()?),
            HirKind::Class(class) => {
                let characters = readable(class);
                let chosen = self.choose(characters.len());
                self.text.push(*characters.get(chosen)?);
            }
            HirKind::Repetition(part) => {
                let count = part.min.max(self.repetitions.min(part.max.unwrap_or(u32::MAX)));
                for _ in 0..count {
                    let before = self.text.len();
                    self.push(&part.sub, depth + 1)?;
                    if self.text.len() == before {
                        break;
                    }
                }
            }
            HirKind::Capture(capture) => self.push(&capture.sub, depth + 1)?,
            HirKind::Concat(parts) => parts.iter().try_for_each(|part| self.push(part, depth + 1))?,
            HirKind::Alternation(parts) => {
                let chosen = self.choose(parts.len());
                self.push(parts.get(chosen)?, depth + 1)?;
            }
        }
        Some(())
    }
}

/// The characters of a class, readable ones if there are any.
fn readable(class: &Class) -> Vec<char> {
    let holds = |character: &char| match class {
        Class::Unicode(class) => class.iter().any(|range| (range.start()..=range.end()).contains(character)),
        Class::Bytes(class) => u8::try_from(*character)
            .is_ok_and(|byte| class.iter().any(|range| (range.start()..=range.end()).contains(&byte))),
    };
    for group in ["abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "1234567890", " -_.,:/+@#"] {
        let found: Vec<char> = group.chars().filter(holds).collect();
        if !found.is_empty() {
            return found;
        }
    }
    match class {
        Class::Unicode(class) => class.iter().map(|range| range.start()).filter(|c| !c.is_control()).take(8).collect(),
        Class::Bytes(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn texts_match_their_pattern_and_differ() {
        for (pattern, min, max, several) in [
            (r"^[A-Z]{3}-\d{4}(?:/[a-f]{2})?$", 0, 20, true),
            (r"^(draft|final)$", 0, 20, true),
            (r"^\+[1-9]\d{6,14}$", 10, 12, true),
            (r"^(?:[A-Z]{1,3} ){2}[1-9]\d{0,3}[EH]?$", 0, 20, true),
            (r"^[^@\s]+@[^@\s]+\.[a-z]{2,}$", 12, 40, true),
            (r"^x{40}$", 0, 100, false),
            (r"colou?r", 0, 20, false),
            (r"^\S+$", 30, 200, true),
        ] {
            let fits = |text: &str| (min..=max).contains(&text.chars().count());
            let texts: Option<BTreeSet<String>> = (0..5).map(|seed| matching(pattern, fits, seed)).collect();
            assert!(texts.is_some_and(|texts| (texts.len() > 1) == several), "{pattern}");
        }
    }

    #[test]
    fn what_cannot_be_matched_is_refused_soon() {
        for pattern in ["(", "(?=a)b", "a{1000}{1000}", "((((a{50}){50}){50}){50})", "[^\\x00-\\x{10ffff}]", "^a{3}$"] {
            assert_eq!(matching(pattern, |text| text.len() < 3, 1), None, "{pattern}");
        }
    }
}
