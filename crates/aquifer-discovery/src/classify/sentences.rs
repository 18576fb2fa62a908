//! Splits descriptions into sentences and words.

use aquifer_protocol::inflect::without_s;

/// Maximum length of a description that is read, so that a long one costs little.
const MAX_DESCRIPTION: usize = 4_000;

/// Words after which the name of what is added or changed ends: `add_role_to_user`.
pub(super) const PREPOSITIONS: &str = "to for from in on of with by at into onto as via per using about between against without within \
                            through over after before since until and or then";

/// Words before a noun that do not change what it is: "a new message".
pub(super) const ARTICLES: &str = "a an the new another one some any this that these those your my their its given specified \
                                   single existing own first";

/// A word of a sentence.
pub(super) struct SentenceWord {
    /// The word in lower case, without punctuation.
    pub(super) text: String,
    /// Whether it is a name of something: `send_email`, `"send"`.
    pub(super) is_code: bool,
    /// Whether punctuation follows.
    pub(super) ends_phrase: bool,
}

/// The part of a description that is read.
pub(super) fn shortened(description: &str) -> &str {
    let end = description.char_indices().nth(MAX_DESCRIPTION).map_or(description.len(), |(index, _)| index);
    description.get(..end).unwrap_or_default()
}

pub(super) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', ';', '!', '?']).flat_map(|line| line.split(". ")).map(str::trim).filter(|line| !line.is_empty())
}

pub(super) fn sentence_words(sentence: &str) -> Vec<SentenceWord> {
    let words = sentence.split(|c: char| c.is_whitespace() || "/(".contains(c)).filter(|word| !word.is_empty());
    words
        .map(|word| {
            let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
            SentenceWord {
                text: bare.replace('’', "'").to_lowercase().replace("e-mail", "email"),
                is_code: word.contains(['_', '`', '"', '\'', '=', '<', '{', '[']) && !word.contains("n't"),
                ends_phrase: word.ends_with([',', ';', ':', '.', ')', '!', '?', '–', '—']),
            }
        })
        .filter(|word| !word.text.is_empty())
        .collect()
}

/// The word that stands this far before another one.
pub(super) fn word_before(words: &[SentenceWord], index: usize, distance: usize) -> &str {
    index.checked_sub(distance).and_then(|at| words.get(at)).map_or("", |word| &word.text)
}

/// The singular of a word, without its `s`. `access` and `sms` are one.
pub(super) fn singular(word: &str) -> &str {
    if word.ends_with("ss") || word == "sms" { word } else { without_s(word) }
}

/// Whether a list of words contains one.
pub(super) fn contains(list: &str, wanted: &str) -> bool {
    list.split_ascii_whitespace().any(|word| word == wanted)
}
