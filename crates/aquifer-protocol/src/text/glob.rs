//! The pattern language for names, in all files and commands: rules and limits of the gate, and tables of databases.
//!
//! `*` matches any text, including none, `?` matches exactly one character, and all other characters match themselves.
//! In a list, a pattern that begins with `!` excludes. There is no escape character: use `?` for a character that
//! cannot be written, or `equals` in conditions of rules. Brackets, braces and `|` have a meaning in other pattern
//! languages, so they are refused instead of matched literally.

use std::borrow::Cow;

use crate::spelling::fold_case;

/// The maximum length of a pattern in characters.
const MAX_CHARACTERS: usize = 256;

/// Whether a pattern matches only one name.
pub fn is_literal(pattern: &str) -> bool {
    !pattern.contains(['*', '?'])
}

/// A parsed pattern. Matching does not backtrack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    /// The parts between the stars.
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// Without `?`. Found by the standard library in linear time.
    Plain(String),
    /// With `?`, each represented by `None`.
    WithWildcards(Vec<Option<char>>),
}

impl Glob {
    /// Parses a pattern. The error is a message for the author of the pattern.
    pub fn new(pattern: &str) -> Result<Self, String> {
        if pattern.trim().is_empty() {
            return Err("an empty pattern matches nothing: leave it out, or write '*'".to_owned());
        }
        if pattern.trim() != pattern {
            return Err(format!("the pattern '{pattern}' begins or ends with a blank"));
        }
        if pattern.chars().count() > MAX_CHARACTERS {
            return Err(format!("a pattern is longer than {MAX_CHARACTERS} characters"));
        }
        let odd = ['|', '[', ']', '{', '}'].into_iter().find(|odd| pattern.contains(*odd));
        if let Some(odd) = odd {
            let words = "only '*' and '?' mean something in a pattern; write a list for several, and '?' for the character itself";
            return Err(format!("the pattern '{pattern}' has '{odd}' in it: {words}"));
        }
        if pattern.chars().any(char::is_control) {
            return Err("a pattern has a control character in it".to_owned());
        }
        Ok(Self::split(pattern))
    }

    /// Splits a valid pattern after case folding, which can produce characters that patterns may not contain.
    fn split(pattern: &str) -> Self {
        Self { parts: pattern.split('*').map(Part::new).collect() }
    }

    /// Matches texts that consist of these literal parts in this order, with any text between them.
    pub fn from_literals(parts: Vec<String>) -> Self {
        Self { parts: parts.into_iter().map(Part::Plain).collect() }
    }

    /// Whether it matches every text.
    fn is_everything(&self) -> bool {
        self.parts.len() > 1 && self.parts.iter().all(|part| *part == Part::Plain(String::new()))
    }

    /// Whether the pattern matches the whole text.
    pub fn matches(&self, text: &str) -> bool {
        let Some((first, rest)) = self.parts.split_first() else { return false };
        let Some(mut left) = first.at_start(text) else { return false };
        let Some((last, middle)) = rest.split_last() else { return left.is_empty() };
        for part in middle {
            match part.anywhere(left) {
                Some(after) => left = after,
                None => return false,
            }
        }
        last.at_end(left)
    }
}

impl Part {
    fn new(words: &str) -> Self {
        if words.contains('?') {
            Part::WithWildcards(words.chars().map(|c| (c != '?').then_some(c)).collect())
        } else {
            Part::Plain(words.to_owned())
        }
    }

    /// The text after the part, if the text begins with it.
    fn at_start<'a>(&self, text: &'a str) -> Option<&'a str> {
        match self {
            Part::Plain(words) => text.strip_prefix(words.as_str()),
            Part::WithWildcards(pattern) => {
                let mut left = text.chars();
                pattern
                    .iter()
                    .all(|expected| left.next().is_some_and(|c| expected.is_none_or(|expected| expected == c)))
                    .then_some(left.as_str())
            }
        }
    }

    /// The text after the first occurrence of the part.
    fn anywhere<'a>(&self, text: &'a str) -> Option<&'a str> {
        match self {
            Part::Plain(words) => text.split_once(words.as_str()).map(|(_, after)| after),
            Part::WithWildcards(_) => {
                let mut left = text.chars();
                loop {
                    if let Some(after) = self.at_start(left.as_str()) {
                        return Some(after);
                    }
                    left.next()?;
                }
            }
        }
    }

    fn at_end(&self, text: &str) -> bool {
        match self {
            Part::Plain(words) => text.ends_with(words.as_str()),
            Part::WithWildcards(pattern) => {
                let mut left = text.chars();
                pattern
                    .iter()
                    .rev()
                    .all(|expected| left.next_back().is_some_and(|c| expected.is_none_or(|expected| expected == c)))
            }
        }
    }
}

/// Whether the comparison is case-sensitive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Case {
    /// Case-sensitive.
    #[default]
    Exact,
    /// Case-insensitive.
    Ignored,
}

impl Case {
    /// The text in the form that is compared.
    pub fn fold(self, text: &str) -> Cow<'_, str> {
        match self {
            Case::Exact => Cow::Borrowed(text),
            Case::Ignored => fold_case(text),
        }
    }
}

/// A list of patterns, some of which exclude (`!…`). An empty list admits everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patterns {
    only: Vec<Glob>,
    only_case: Case,
    never: Vec<Glob>,
    never_case: Case,
    /// Whether a case-insensitive pattern contains `?`.
    counts_characters: bool,
}

impl Patterns {
    /// Compiles a case-sensitive list. Every invalid pattern is reported.
    pub fn new<'a>(list: impl IntoIterator<Item = &'a str>, complain: impl FnMut(String)) -> Self {
        Self::with_case(list, Case::Exact, Case::Exact, complain)
    }

    /// Compiles a list. Case sensitivity is chosen separately for selecting and for excluding patterns.
    pub fn with_case<'a>(
        list: impl IntoIterator<Item = &'a str>,
        only_case: Case,
        never_case: Case,
        mut complain: impl FnMut(String),
    ) -> Self {
        let mut patterns = Self { only_case, never_case, ..Self::default() };
        for written in list {
            let counts = &mut patterns.counts_characters;
            let (into, case, pattern) = match written.strip_prefix('!') {
                Some(pattern) => (&mut patterns.never, never_case, pattern),
                None => (&mut patterns.only, only_case, written),
            };
            match Glob::new(pattern) {
                Ok(glob) if case == Case::Exact => into.push(glob),
                Ok(_) => {
                    let folded = Glob::split(&case.fold(pattern));
                    // `ß` is one character for a `?`, but two after folding.
                    let is_counted = pattern.contains('?');
                    into.extend(is_counted.then(|| Glob::split(&pattern.to_lowercase())).filter(|one| *one != folded));
                    into.push(folded);
                    *counts |= is_counted;
                }
                Err(problem) => complain(problem),
            }
        }
        patterns
    }

    /// Whether there are no patterns, so that everything is admitted.
    pub fn is_empty(&self) -> bool {
        self.only.is_empty() && self.never.is_empty()
    }

    /// Whether everything is admitted, because there are no patterns or because of `*`.
    pub fn is_all(&self) -> bool {
        self.never.is_empty() && (self.only.is_empty() || self.only.iter().any(Glob::is_everything))
    }

    /// Whether any pattern selects, rather than excludes.
    pub fn selects(&self) -> bool {
        !self.only.is_empty()
    }

    /// Whether a name is admitted.
    pub fn admits(&self, name: &str) -> bool {
        self.admits_one_of([name])
    }

    /// Whether something with these names is admitted: one of them is selected and none is excluded.
    pub fn admits_one_of<'a>(&self, names: impl IntoIterator<Item = &'a str> + Clone) -> bool {
        self.wants_one_of(names.clone()) && !self.excludes_one_of(names)
    }

    /// Whether one of these names is selected, regardless of exclusions.
    pub fn wants_one_of<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> bool {
        self.only.is_empty() || self.any_matches(&self.only, self.only_case, names)
    }

    /// Whether one of these names is excluded.
    pub fn excludes_one_of<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> bool {
        !self.never.is_empty() && self.any_matches(&self.never, self.never_case, names)
    }

    fn any_matches<'a>(&self, globs: &[Glob], case: Case, names: impl IntoIterator<Item = &'a str>) -> bool {
        let matches = |name: &str| globs.iter().any(|glob| glob.matches(name));
        names.into_iter().any(|name| {
            let may_differ = case == Case::Ignored && self.counts_characters && !name.is_ascii();
            matches(&case.fold(name)) || (may_differ && matches(&name.to_lowercase()))
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::Glob;

    #[test]
    fn r_saf_2_patterns_match_as_people_read_them() {
        #[rustfmt::skip]
        let table = [
            ("*", "", true), ("*", "a", true), ("?*", "", false), ("?*", "a", true),
            ("a", "a", true), ("a", "b", false), ("a", "aa", false), ("a*", "a", true), ("a*", "ab", true),
            ("*a", "ba", true), ("*a", "ab", false), ("*a*", "bab", true), ("*a*", "bcb", false),
            ("a*a", "a", false), ("a*a", "aa", true), ("a*b*c", "a-b-b-c", true), ("a*b*c", "a-c-b", false),
            ("delete_?", "delete_x", true), ("delete_?", "delete_", false), ("?ä?", "üäö", true),
            ("*_?b*", "x_ab", true), ("*?", "", false), ("*?", "ö", true), ("ab*bc", "abc", false),
            ("/etc/*", "/etc/passwd", true), ("**", "x", true), ("*.*", "a.b", true),
        ];
        for (pattern, text, expected) in table {
            assert_eq!(Glob::new(pattern).unwrap().matches(text), expected, "{pattern} {text}");
        }
    }

    /// A direct, exponential implementation for comparison.
    fn plainly(pattern: &[char], text: &[char]) -> bool {
        match (pattern.split_first(), text.split_first()) {
            (None, None) => true,
            (Some(('*', rest)), None) => plainly(rest, text),
            (Some(('*', rest)), Some((_, left))) => plainly(rest, text) || plainly(pattern, left),
            (Some(('?', rest)), Some((_, left))) => plainly(rest, left),
            (Some((a, rest)), Some((b, left))) => a == b && plainly(rest, left),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn r_saf_2_patterns_agree_with_their_definition(pattern in "[ab?*]{1,8}", text in "[abc]{0,10}") {
            let chars = |words: &str| words.chars().collect::<Vec<_>>();
            prop_assert_eq!(Glob::new(&pattern).unwrap().matches(&text), plainly(&chars(&pattern), &chars(&text)));
        }
    }
}
