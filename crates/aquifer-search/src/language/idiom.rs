//! Recognizes everyday expressions in a task: "let me know", "get rid of", "what's going on".

use crate::language::text::raw_words;

/// Stands for up to [`MAX_GAP_WORDS`] words in an idiom: "let _ know".
const GAP: &str = "_";
const MAX_GAP_WORDS: usize = 4;

/// Marks a word that has to be present but is not part of the idiom: "stop +watching".
const KEPT: char = '+';

/// An expression of several words.
pub(crate) struct Idiom {
    /// Its text, which represents it among the stems.
    pub(crate) text: &'static str,
    parts: Vec<Part>,
}

enum Part {
    Word(String),
    Kept(String),
    Gap,
}

impl Idiom {
    /// Parses an expression. Returns `None` for a single word.
    pub(crate) fn parse(text: &'static str, normalize: impl Fn(&str) -> String) -> Option<(String, Self)> {
        let mut parts = Vec::new();
        for token in text.split_whitespace() {
            if token == GAP {
                parts.push(Part::Gap);
                continue;
            }
            let is_kept = token.starts_with(KEPT);
            raw_words(token, |word| {
                let stem = normalize(word);
                parts.push(if is_kept { Part::Kept(stem) } else { Part::Word(stem) });
            });
        }
        match parts.as_slice() {
            [Part::Word(first), _, ..] => Some((first.clone(), Self { text, parts })),
            _ => None,
        }
    }

    /// The number of words. Gaps do not count.
    pub(crate) fn len(&self) -> usize {
        self.parts.iter().filter(|part| !matches!(part, Part::Gap)).count()
    }

    /// Whether it consists of two words, of which this is the second.
    pub(crate) fn is_pair_with(&self, second: &str) -> bool {
        matches!(self.parts.as_slice(), [_, Part::Word(only)] if only == second)
    }

    /// Which of `words` belong to the idiom if it begins with the first of them. Words in a gap do not.
    pub(crate) fn find_in(&self, words: &[String]) -> Option<Vec<usize>> {
        let mut places = Vec::with_capacity(self.parts.len());
        let mut at = 0;
        let mut gap = 0;
        for part in &self.parts {
            let (stem, is_kept) = match part {
                Part::Gap => {
                    gap = MAX_GAP_WORDS;
                    continue;
                }
                Part::Word(stem) => (stem, false),
                Part::Kept(stem) => (stem, true),
            };
            let place = words.iter().enumerate().skip(at).take(gap + 1).find(|(_, word)| is_same(word, stem));
            let (place, _) = place?;
            if !is_kept {
                places.push(place);
            }
            at = place + 1;
            gap = 0;
        }
        Some(places)
    }
}

/// "what's" is "what is".
fn is_same(word: &str, stem: &str) -> bool {
    word == stem || (word == "s" && stem == "is") || (word == "is" && stem == "s")
}
