//! Finds duplicate keys in one object.
//!
//! Keys are compared when their object closes: a few keys pairwise, many after sorting. Unlike a hash table, sorting
//! cannot be slowed down by chosen keys.

use std::borrow::Cow;

use super::{Problem, Stop};

/// Up to this number of keys, comparing all pairs is faster than sorting.
const MAX_SEARCHED_KEYS: usize = 12;

const SHOWN_CHARS: usize = 64;

/// A decoded key and its offset.
pub(super) struct Key<'a> {
    /// The offset of its opening quote.
    pub(super) at: usize,
    pub(super) text: Cow<'a, str>,
}

/// The first key that equals an earlier one. May reorder the keys.
pub(super) fn first_repeat(keys: &mut [Key<'_>]) -> Option<Stop> {
    let repeat = if keys.len() <= MAX_SEARCHED_KEYS {
        let seen_before = |(index, key): &(usize, &Key)| keys.iter().take(*index).any(|other| other.text == key.text);
        keys.iter().enumerate().find(seen_before).map(|(_, key)| key)
    } else {
        keys.sort_unstable_by(|a, b| (a.text.len(), &a.text, a.at).cmp(&(b.text.len(), &b.text, b.at)));
        let neighbours = keys.iter().zip(keys.iter().skip(1));
        neighbours.filter(|(a, b)| a.text == b.text).map(|(_, second)| second).min_by_key(|key| key.at)
    };
    repeat.map(|key| {
        let shown = key.text.chars().take(SHOWN_CHARS).collect();
        Stop { at: key.at, problem: Problem::DuplicateKey { offset: key.at, key: shown } }
    })
}
