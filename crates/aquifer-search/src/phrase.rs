//! Folding words that are said together into the one they mean.

/// A run of words and what it is folded to.
pub(super) struct Phrase<T> {
    /// The words after the first.
    pub(super) rest: Vec<T>,
    pub(super) to: Vec<T>,
    /// The single words stay findable beside the folded one.
    pub(super) keeps: bool,
}

/// A word after folding.
pub(super) struct Folded<T> {
    pub(super) word: T,
    /// Which of the words given it stands for (the first, if several).
    pub(super) origin: u32,
    /// A single word that was folded into the one before it and is only kept beside it.
    pub(super) kept: bool,
}

/// Folds the phrases in `words`. `phrases` gives those that start with a word, longest first.
pub(super) fn fold<'p, T: Clone + PartialEq + 'p>(
    words: &[T],
    phrases: impl Fn(&T) -> Option<&'p [Phrase<T>]>,
) -> Vec<Folded<T>> {
    let mut folded = Vec::with_capacity(words.len());
    let mut left = words;
    while let Some((word, after)) = left.split_first() {
        let origin = u32::try_from(words.len() - left.len()).unwrap_or(u32::MAX);
        let phrase = phrases(word).and_then(|known| known.iter().find(|phrase| after.starts_with(&phrase.rest)));
        let Some(phrase) = phrase else {
            folded.push(Folded { word: word.clone(), origin, kept: false });
            left = after;
            continue;
        };
        let length = 1 + phrase.rest.len();
        folded.extend(phrase.to.iter().map(|to| Folded { word: to.clone(), origin, kept: false }));
        if phrase.keeps {
            folded.extend(left.iter().take(length).map(|word| Folded { word: word.clone(), origin, kept: true }));
        }
        left = left.get(length..).unwrap_or_default();
    }
    folded
}
