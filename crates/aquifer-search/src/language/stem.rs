//! An English stemmer.
//!
//! The Snowball "English" (Porter 2) algorithm without its exception lists: `creates`, `created`, `creating` and
//! `creation` all become `creat`. The crates that offer it carry fifteen languages and are unmaintained, while one
//! language is a table of suffixes. Stems are never shown, so they only have to be equal for words that mean the same.

const VOWELS: &str = "aeiouy";

/// The stem of a lower-case word. Short words and words with other than ASCII letters are returned unchanged.
pub(crate) fn stem(word: &str) -> String {
    if word.len() <= 2 || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let mut stem = Stem::new(word);
    stem.strip_plural();
    stem.strip_past_and_gerund();
    stem.replace_final_y();
    stem.replace_double_suffixes();
    stem.replace_single_suffixes();
    stem.strip_last_suffixes();
    stem.strip_final_e_and_l();
    stem.text
}

struct Stem {
    text: String,
    /// The start of the region after the first vowel-consonant pair, and of the same region within it. A suffix is
    /// removed only inside a region, so that enough of the word remains.
    r1: usize,
    r2: usize,
}

/// Suffixes and replacements, each before its own suffixes.
const DOUBLE: &[(&str, &str)] = &[
    ("ization", "ize"),
    ("ational", "ate"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("iveness", "ive"),
    ("tional", "tion"),
    ("biliti", "ble"),
    ("lessli", "less"),
    ("entli", "ent"),
    ("ation", "ate"),
    ("alism", "al"),
    ("aliti", "al"),
    ("ousli", "ous"),
    ("iviti", "ive"),
    ("fulli", "ful"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("abli", "able"),
    ("izer", "ize"),
    ("ator", "ate"),
    ("alli", "al"),
    ("bli", "ble"),
];

const SINGLE: &[(&str, &str)] = &[
    ("ational", "ate"),
    ("tional", "tion"),
    ("alize", "al"),
    ("icate", "ic"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ness", ""),
    ("ful", ""),
];

const LAST: &[&str] = &[
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize", "al",
    "er", "ic",
];

impl Stem {
    fn new(word: &str) -> Self {
        let r1 = region(word, 0);
        Self { text: word.to_owned(), r1, r2: region(word, r1) }
    }

    /// The word without `suffix`, if it ends with it.
    fn without_suffix(&self, suffix: &str) -> Option<&str> {
        self.text.strip_suffix(suffix)
    }

    fn replace(&mut self, suffix: &str, by: &str) {
        if let Some(rest) = self.without_suffix(suffix) {
            self.text = format!("{rest}{by}");
        }
    }

    fn in_r1(&self, suffix: &str) -> bool {
        self.without_suffix(suffix).is_some_and(|rest| rest.len() >= self.r1)
    }

    fn in_r2(&self, suffix: &str) -> bool {
        self.without_suffix(suffix).is_some_and(|rest| rest.len() >= self.r2)
    }

    fn strip_plural(&mut self) {
        if self.text.ends_with("sses") {
            self.replace("es", "");
        } else if let Some(rest) = self.without_suffix("ies").or_else(|| self.without_suffix("ied")) {
            let ending = if rest.len() > 1 { "i" } else { "ie" };
            self.text = format!("{rest}{ending}");
        } else if self.text.ends_with("us") || self.text.ends_with("ss") {
            // `status` and `access` are not plurals.
        } else if let Some(rest) = self.without_suffix("s")
            && rest.chars().rev().skip(1).any(is_vowel)
        {
            self.text = rest.to_owned();
        }
    }

    fn strip_past_and_gerund(&mut self) {
        if self.without_suffix("eed").is_some() {
            if self.in_r1("eed") {
                self.replace("eed", "ee");
            }
            return;
        }
        let Some(rest) = self.without_suffix("ing").or_else(|| self.without_suffix("ed")).map(str::to_owned) else {
            return;
        };
        if !rest.chars().any(is_vowel) {
            return;
        }
        self.text = rest;
        if ["at", "bl", "iz"].iter().any(|end| self.text.ends_with(end)) {
            self.text.push('e');
        } else if ends_in_double(&self.text) {
            self.text.pop();
        } else if self.text.len() <= self.r1 && ends_in_short_syllable(&self.text) {
            self.text.push('e');
        }
    }

    fn replace_final_y(&mut self) {
        if let Some(rest) = self.without_suffix("y")
            && rest.len() > 1
            && rest.chars().next_back().is_some_and(|c| !is_vowel(c))
        {
            self.replace("y", "i");
        }
    }

    fn replace_double_suffixes(&mut self) {
        if let Some((from, to)) = DOUBLE.iter().find(|(from, _)| self.text.ends_with(from)) {
            if self.in_r1(from) {
                self.replace(from, to);
            }
        } else if self.in_r1("ogi") && self.text.ends_with("logi") {
            self.replace("ogi", "og");
        } else if self.in_r1("li")
            && self.without_suffix("li").and_then(|r| r.chars().next_back()).is_some_and(|c| "cdeghkmnrt".contains(c))
        {
            self.replace("li", "");
        }
    }

    fn replace_single_suffixes(&mut self) {
        if let Some((from, to)) = SINGLE.iter().find(|(from, _)| self.text.ends_with(from)) {
            if self.in_r1(from) {
                self.replace(from, to);
            }
        } else if self.in_r2("ative") {
            self.replace("ative", "");
        }
    }

    fn strip_last_suffixes(&mut self) {
        if let Some(suffix) = LAST.iter().find(|suffix| self.text.ends_with(**suffix)) {
            if self.in_r2(suffix) {
                self.replace(suffix, "");
            }
        } else if self.in_r2("ion") && self.without_suffix("ion").is_some_and(|r| r.ends_with('s') || r.ends_with('t'))
        {
            self.replace("ion", "");
        }
    }

    fn strip_final_e_and_l(&mut self) {
        if let Some(rest) = self.without_suffix("e") {
            if self.in_r2("e") || (self.in_r1("e") && !ends_in_short_syllable(rest)) {
                self.replace("e", "");
            }
        } else if self.in_r2("l") && self.text.ends_with("ll") {
            self.text.pop();
        }
    }
}

fn is_vowel(c: char) -> bool {
    VOWELS.contains(c)
}

/// The start of the region after the first vowel and its following consonant, from byte `from` on.
fn region(word: &str, from: usize) -> usize {
    let mut seen_vowel = false;
    for (at, c) in word.char_indices().skip_while(|(at, _)| *at < from) {
        if seen_vowel && !is_vowel(c) {
            return at + 1;
        }
        seen_vowel |= is_vowel(c);
    }
    word.len()
}

fn ends_in_double(text: &str) -> bool {
    let mut back = text.chars().rev();
    matches!((back.next(), back.next()), (Some(a), Some(b)) if a == b && "bdfgmnprt".contains(a))
}

fn ends_in_short_syllable(text: &str) -> bool {
    let mut back = text.chars().rev();
    match (back.next(), back.next(), back.next()) {
        (Some(last), Some(mid), Some(before)) => {
            !is_vowel(last) && !"wxy".contains(last) && is_vowel(mid) && !is_vowel(before)
        }
        (Some(last), Some(mid), None) => !is_vowel(last) && is_vowel(mid),
        _ => false,
    }
}
