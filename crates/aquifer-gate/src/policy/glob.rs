//! Patterns over names: `*` is any text, `?` any one character, everything else itself.
//!
//! There is no escape: what must be compared letter by letter is compared with `equals`.

/// Longer patterns are nobody's.
const LONGEST: usize = 256;

/// One pattern, taken apart once. Matching goes forward only: text that was passed is never looked at by another part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Glob {
    /// What stands between the stars.
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// Without `?`: found by the standard library in linear time.
    Plain(String),
    /// With `?`, each of which is `None`.
    Holes(Vec<Option<char>>),
}

impl Glob {
    /// Takes a pattern apart, or says what is wrong with it.
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        if pattern.trim().is_empty() {
            return Err("an empty pattern matches nothing: leave it out, or write '*'".to_owned());
        }
        if pattern.trim() != pattern {
            return Err(format!("the pattern '{pattern}' begins or ends with a blank"));
        }
        if pattern.chars().count() > LONGEST {
            return Err(format!("a pattern is longer than {LONGEST} characters"));
        }
        let odd = ['|', '[', ']', '{', '}'].into_iter().find(|odd| pattern.contains(*odd));
        if let Some(odd) = odd {
            let words = "only '*' and '?' mean something in a pattern; write a list for several";
            return Err(format!("the pattern '{pattern}' has '{odd}' in it: {words}"));
        }
        if pattern.chars().any(char::is_control) {
            return Err("a pattern has a control character in it".to_owned());
        }
        Ok(Self { parts: pattern.split('*').map(Part::new).collect() })
    }

    /// Whether the whole text is as the pattern says.
    pub(crate) fn matches(&self, text: &str) -> bool {
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
            Part::Holes(words.chars().map(|c| (c != '?').then_some(c)).collect())
        } else {
            Part::Plain(words.to_owned())
        }
    }

    /// What follows the part, if the text begins with it.
    fn at_start<'a>(&self, text: &'a str) -> Option<&'a str> {
        match self {
            Part::Plain(words) => text.strip_prefix(words.as_str()),
            Part::Holes(holes) => {
                let mut left = text.chars();
                holes
                    .iter()
                    .all(|hole| left.next().is_some_and(|c| hole.is_none_or(|wanted| wanted == c)))
                    .then_some(left.as_str())
            }
        }
    }

    /// What follows the part where it first stands in the text.
    fn anywhere<'a>(&self, text: &'a str) -> Option<&'a str> {
        match self {
            Part::Plain(words) => text.split_once(words.as_str()).map(|(_, after)| after),
            Part::Holes(_) => {
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
            Part::Holes(holes) => {
                let mut left = text.chars();
                holes.iter().rev().all(|hole| left.next_back().is_some_and(|c| hole.is_none_or(|wanted| wanted == c)))
            }
        }
    }
}

/// Several patterns, some of which exclude (`!…`). None at all admit everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Patterns {
    only: Vec<Glob>,
    never: Vec<Glob>,
}

impl Patterns {
    /// Compiles a list; every bad pattern is told.
    pub(crate) fn new<'a>(list: impl IntoIterator<Item = &'a str>, mut complain: impl FnMut(String)) -> Self {
        let mut patterns = Self::default();
        for written in list {
            let (into, pattern) = match written.strip_prefix('!') {
                Some(pattern) => (&mut patterns.never, pattern),
                None => (&mut patterns.only, written),
            };
            match Glob::new(pattern) {
                Ok(glob) => into.push(glob),
                Err(problem) => complain(problem),
            }
        }
        patterns
    }

    /// Whether it admits everything because nothing was said.
    pub(crate) fn is_empty(&self) -> bool {
        self.only.is_empty() && self.never.is_empty()
    }

    /// Whether a name is admitted.
    pub(crate) fn admits(&self, name: &str) -> bool {
        self.admits_one_of([name])
    }

    /// Whether somebody with these names is admitted: one of them is wanted, and none of them excluded.
    pub(crate) fn admits_one_of<'a>(&self, names: impl IntoIterator<Item = &'a str> + Clone) -> bool {
        let any = |globs: &[Glob]| names.clone().into_iter().any(|name| globs.iter().any(|glob| glob.matches(name)));
        (self.only.is_empty() || any(&self.only)) && !any(&self.never)
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

    /// The textbook definition, exponential and obvious.
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
