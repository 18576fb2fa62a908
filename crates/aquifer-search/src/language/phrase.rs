//! Folds phrases into the words they mean.

/// A phrase and the words it is folded to.
pub(crate) struct Phrase<T> {
    /// The words after the first.
    pub(crate) rest: Vec<T>,
    pub(crate) to: Vec<T>,
    /// Whether the single words stay findable.
    pub(crate) keeps_parts: bool,
}

/// A word after folding.
pub(crate) struct FoldedWord<T> {
    pub(crate) word: T,
    /// The index of the (first) input word it stands for.
    pub(crate) origin: u32,
    /// Whether it is a single word of the phrase folded before it.
    pub(crate) is_part: bool,
}

/// Folds the phrases in `words`. `phrases` returns the phrases that start with a word, longest first.
pub(crate) fn fold<'p, T: Clone + PartialEq + 'p>(
    words: &[T],
    phrases: impl Fn(&T) -> Option<&'p [Phrase<T>]>,
) -> Vec<FoldedWord<T>> {
    let mut folded = Vec::with_capacity(words.len());
    let mut left = words;
    while let Some((word, after)) = left.split_first() {
        let origin = u32::try_from(words.len() - left.len()).unwrap_or(u32::MAX);
        let phrase =
            phrases(word).and_then(|candidates| candidates.iter().find(|phrase| after.starts_with(&phrase.rest)));
        let Some(phrase) = phrase else {
            folded.push(FoldedWord { word: word.clone(), origin, is_part: false });
            left = after;
            continue;
        };
        let length = 1 + phrase.rest.len();
        folded.extend(phrase.to.iter().map(|to| FoldedWord { word: to.clone(), origin, is_part: false }));
        if phrase.keeps_parts {
            folded.extend(left.iter().take(length).map(|word| FoldedWord {
                word: word.clone(),
                origin,
                is_part: true,
            }));
        }
        left = left.get(length..).unwrap_or_default();
    }
    folded
}
