//! Splits identifiers and prose of any script into words.

/// In bytes. Longer runs are encoded data, not language.
const MAX_WORD_LEN: usize = 160;

/// Calls `each` with every raw word of `text`, in order and as written.
///
/// Everything that is neither letter nor digit is a separator. Scripts without spaces become one word per character,
/// which needs no dictionary.
pub(crate) fn raw_words<'t>(text: &'t str, mut each: impl FnMut(&'t str)) {
    let mut word = |word: &'t str| {
        if !word.is_empty() && word.len() <= MAX_WORD_LEN {
            each(word);
        }
    };
    for run in text.split(|c: char| !c.is_alphanumeric()) {
        if run.is_ascii() || !run.contains(is_unspaced) {
            word(run);
            continue;
        }
        for part in run.split_inclusive(is_unspaced) {
            let last = part.char_indices().next_back().filter(|(_, last)| is_unspaced(*last));
            let (before, own) = last.and_then(|(at, _)| part.split_at_checked(at)).unwrap_or((part, ""));
            word(before);
            word(own);
        }
    }
}

/// Characters of scripts that put no space between words (Chinese, Japanese, Korean syllables).
fn is_unspaced(c: char) -> bool {
    ['\u{3040}'..='\u{30ff}', '\u{3400}'..='\u{9fff}', '\u{ac00}'..='\u{d7af}', '\u{f900}'..='\u{faff}']
        .iter()
        .any(|range| range.contains(&c))
}

/// The parts of a camelCase word in lower case; empty if it has no inner boundary.
///
/// `createPullRequest` and `HTTPServer` have boundaries; `VMs`, `API` and `Create` have none.
pub(crate) fn camel_parts(raw: &str) -> Vec<String> {
    if !raw.chars().skip(1).any(char::is_uppercase) {
        return Vec::new();
    }
    let chars: Vec<char> = raw.chars().collect();
    let mut parts = Vec::new();
    let mut part = String::new();
    for (at, &c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| chars.get(at));
        let after = chars.get(at + 1);
        let plural_acronym = after == Some(&'s') && chars.len() == at + 2;
        let border = c.is_uppercase()
            && before
                .is_some_and(|b| !b.is_uppercase() || (after.is_some_and(|a| a.is_lowercase()) && !plural_acronym));
        if border {
            parts.push(std::mem::take(&mut part));
        }
        part.extend(c.to_lowercase());
    }
    if parts.is_empty() {
        return parts;
    }
    parts.push(part);
    parts
}

/// Letters and digits in lower case: equal for all spellings of one name.
pub(crate) fn squash_name(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The letter frequencies of a word: a cheap lower bound for the edit distance of two words.
#[derive(Clone, Copy, Default)]
pub(crate) struct LetterCounts([u8; 32]);

impl LetterCounts {
    pub(crate) fn new(word: &str) -> Self {
        let mut counts = [0_u8; 32];
        for c in word.chars() {
            let slot = if c.is_ascii_lowercase() { u32::from(c) - u32::from('a') } else { 26 + u32::from(c) % 6 };
            if let Some(count) = counts.get_mut(slot as usize) {
                *count = count.saturating_add(1);
            }
        }
        Self(counts)
    }

    /// Whether the edit distance may be `typos` or less. One edit changes at most two counts by one.
    pub(crate) fn may_be_within(&self, other: &Self, typos: usize) -> bool {
        let apart: u32 = self.0.iter().zip(&other.0).map(|(a, b)| u32::from(a.abs_diff(*b))).sum();
        apart as usize <= 2 * typos
    }
}

/// Appends the lower-case form of `raw`.
pub(crate) fn push_lower(raw: &str, lower: &mut String) {
    if raw.is_ascii() {
        let from = lower.len();
        lower.push_str(raw);
        if let Some(added) = lower.get_mut(from..) {
            added.make_ascii_lowercase();
        }
    } else {
        lower.extend(raw.chars().flat_map(char::to_lowercase));
    }
}

/// Splits a description after its first sentence.
///
/// The first sentence says what the operation does. The rest is advice, examples and mentions of other operations.
pub(crate) fn split_first_sentence(text: &str) -> (&str, &str) {
    let text = skip_headings(text.trim_start());
    let mut previous = ' ';
    for (at, c) in text.char_indices() {
        let ends = c == '\n' && at > 20 || c.is_whitespace() && matches!(previous, '.' | '!' | '?' | ';') && at > 12;
        if ends {
            return text.split_at(at);
        }
        previous = c;
    }
    (text, "")
}

/// Skips headings, labels and tags in front of the first sentence: "# Overview", "Purpose:", "<usecase>". Text that has
/// nothing else stays as it is.
fn skip_headings(text: &str) -> &str {
    const MAX_HEADING_WORDS: usize = 4;
    let mut left = text;
    while let Some((line, rest)) = left.split_once('\n') {
        let line = line.trim();
        let words = line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).count();
        let is_heading = line.starts_with('#') || line.ends_with(':') || line.starts_with('<') && line.ends_with('>');
        let is_decorated = !line.starts_with(char::is_alphanumeric) && words < MAX_HEADING_WORDS;
        if !(is_heading || is_decorated || words == 0) {
            return left;
        }
        left = rest;
    }
    if left.trim().is_empty() { text } else { left }
}

/// The first `limit` characters.
pub(crate) fn truncate_chars(text: &str, limit: usize) -> &str {
    match text.char_indices().nth(limit) {
        Some((end, _)) => text.get(..end).unwrap_or_default(),
        None => text,
    }
}

/// The part of the rest of a description that is about the operation itself: without sentences about what it is not
/// for, and without names of other operations.
pub(crate) fn relevant_sentences(rest: &str) -> String {
    let mut result = String::with_capacity(rest.len());
    for line in rest.split('\n') {
        let mut sentence = result.len();
        let mut negative = false;
        for word in line.split_ascii_whitespace() {
            negative |=
                matches!(word, "not" | "NOT" | "Not" | "instead" | "don't" | "Don't" | "never" | "Never" | "rather");
            if !word.contains('_') {
                result.push_str(word);
                result.push(' ');
            }
            if word.ends_with(['.', ';']) {
                if std::mem::take(&mut negative) {
                    result.truncate(sentence);
                }
                sentence = result.len();
            }
        }
        if negative {
            result.truncate(sentence);
        }
    }
    result
}

/// Every split of a word that leaves at least three letters on each side; none for words that are not ASCII.
pub(crate) fn halves(word: &str) -> impl Iterator<Item = (&str, &str)> {
    let cuts = if word.is_ascii() { 3..word.len().saturating_sub(2) } else { 0..0 };
    cuts.filter_map(|at| word.split_at_checked(at))
}

/// Whether the word looks like a plural: good enough to tell "issues" from "issue".
pub(crate) fn is_plural(word: &str) -> bool {
    word.len() > 2 && word.ends_with('s') && !["ss", "us", "is"].iter().any(|end| word.ends_with(end))
}
