//! Suggests valid names that resemble an invalid one.

use crate::case::snake_case;
use crate::text::inflect::without_s;

/// The minimum similarity of a suggestion.
const MIN_SCORE: f64 = 0.72;

/// The valid name most similar to `wrong`, if one is similar enough.
pub fn nearest<'a>(wrong: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    rank(wrong, valid).into_iter().next().map(|(_, name)| name)
}

/// The valid names similar to `wrong`, most similar first, at most `max_count`.
pub fn near<'a>(wrong: &str, valid: impl IntoIterator<Item = &'a str>, max_count: usize) -> Vec<&'a str> {
    rank(wrong, valid).into_iter().take(max_count).map(|(_, name)| name).collect()
}

/// Names at least this similar differ by a typing error, an ending or the order of their words.
const MIN_MISSPELLING_SCORE: f64 = 0.88;

/// The valid name that `wrong` is most likely a misspelling of.
pub(crate) fn intended_name<'a>(wrong: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    rank(wrong, valid).into_iter().next().filter(|(score, _)| *score >= MIN_MISSPELLING_SCORE).map(|(_, name)| name)
}

/// Maximum number of names that are compared character by character, because that is expensive and the wrong name is
/// untrusted.
const MAX_COMPARED: usize = 64;

fn rank<'a>(wrong: &str, valid: impl IntoIterator<Item = &'a str>) -> Vec<(f64, &'a str)> {
    let wrong: String = snake_case(&wrong.chars().take(64).collect::<String>());
    let wrong = MisspelledName { words: words(&wrong).collect(), counts: count_characters(&wrong), name: &wrong };
    let mut rough: Vec<(f64, f64, &str)> = valid
        .into_iter()
        .map(|name| {
            let shared = wrong.shared_words(name);
            (shared.max(wrong.max_similarity(name)), shared, name)
        })
        .filter(|(score, ..)| *score >= MIN_SCORE)
        .collect();
    let by_promise = |a: &(f64, f64, &str), b: &(f64, f64, &str)| b.0.total_cmp(&a.0).then_with(|| a.2.cmp(b.2));
    if rough.len() > MAX_COMPARED {
        rough.select_nth_unstable_by(MAX_COMPARED, by_promise);
        rough.truncate(MAX_COMPARED);
    }
    let mut ranked: Vec<(f64, &str)> = rough
        .into_iter()
        .map(|(_, shared, name)| (shared.max(strsim::normalized_damerau_levenshtein(wrong.name, name)), name))
        .filter(|(score, _)| *score >= MIN_SCORE)
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    ranked
}

/// A wrong name, prepared for many comparisons.
struct MisspelledName<'a> {
    name: &'a str,
    words: Vec<&'a str>,
    counts: CharacterCounts,
}

/// The number of occurrences of each character. Characters that share a counter only increase the similarity.
type CharacterCounts = [u8; 32];

fn count_characters(name: &str) -> CharacterCounts {
    let mut counts = CharacterCounts::default();
    for byte in name.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte % 32)) {
            *count = count.saturating_add(1);
        }
    }
    counts
}

#[expect(clippy::cast_precision_loss, reason = "counts of words and characters")]
impl MisspelledName<'_> {
    /// Similarity by words. A missing, additional or moved word reduces it only slightly.
    fn shared_words(&self, name: &str) -> f64 {
        let (mut common, mut all) = (0_usize, self.words.len());
        for word in words(name) {
            common += usize::from(self.words.contains(&word));
            all += 1;
        }
        if all == 0 { 0.0 } else { 0.95 * common as f64 * 2.0 / all as f64 }
    }

    /// An upper bound for the similarity that a comparison by character can find: every character that only one of the
    /// names has counts as a typing error.
    fn max_similarity(&self, name: &str) -> f64 {
        let longest = self.name.len().max(name.len()).max(1);
        let differences: usize =
            self.counts.iter().zip(count_characters(name)).map(|(a, b)| usize::from(a.abs_diff(b))).sum();
        1.0 - differences.div_ceil(2) as f64 / longest as f64
    }
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split('_').filter(|word| !word.is_empty()).map(without_s)
}
