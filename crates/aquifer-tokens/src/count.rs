//! Counts tokens with the tokenizers that models use.

use std::iter::Sum;
use std::ops::Add;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use tiktoken::CoreBpe;

// The vocabularies are compiled in, and unpacked on first use.
static O200K_BASE: LazyLock<CoreBpe> = LazyLock::new(tiktoken::encoding::o200k_base);
static CL100K_BASE: LazyLock<CoreBpe> = LazyLock::new(tiktoken::encoding::cl100k_base);

/// The number of tokens of a text in both encodings. Special tokens in it count as plain text.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TokenCounts {
    /// In `o200k_base`.
    pub o200k_base: usize,
    /// In `cl100k_base`.
    pub cl100k_base: usize,
}

impl TokenCounts {
    /// Counts the tokens of a text.
    #[must_use]
    pub fn count(text: &str) -> Self {
        Self { o200k_base: O200K_BASE.count(text), cl100k_base: CL100K_BASE.count(text) }
    }

    /// The median, for each encoding separately. For an even number of counts, the upper of the two middle ones, so
    /// that it is always a count that occurred.
    #[must_use]
    pub fn median(all: &[Self]) -> Self {
        let middle = |count: fn(&Self) -> usize| {
            let mut counts: Vec<usize> = all.iter().map(count).collect();
            counts.sort_unstable();
            counts.get(counts.len() / 2).copied().unwrap_or_default()
        };
        Self { o200k_base: middle(|counts| counts.o200k_base), cl100k_base: middle(|counts| counts.cl100k_base) }
    }
}

impl Add for TokenCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            o200k_base: self.o200k_base.saturating_add(other.o200k_base),
            cl100k_base: self.cl100k_base.saturating_add(other.cl100k_base),
        }
    }
}

impl Sum for TokenCounts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Golden {
        texts: Vec<GoldenText>,
    }

    #[derive(Deserialize)]
    struct GoldenText {
        name: String,
        text: String,
        #[serde(flatten)]
        counts: std::collections::BTreeMap<String, usize>,
    }

    #[test]
    fn counts_match_the_reference_tokenizers() {
        let golden: Golden = serde_json::from_str(include_str!("../tests/data/golden-tokens.json")).unwrap();
        assert!(golden.texts.len() >= 60, "{}", golden.texts.len());
        for GoldenText { name, text, counts } in &golden.texts {
            let ours = TokenCounts::count(text);
            assert_eq!(ours.o200k_base, *counts.get("o200k_base").unwrap(), "{name} in o200k_base");
            assert_eq!(ours.cl100k_base, *counts.get("cl100k_base").unwrap(), "{name} in cl100k_base");
        }
    }

    #[test]
    fn the_median_is_a_count_that_occurred() {
        let counts = |n: usize| TokenCounts { o200k_base: n, cl100k_base: 10 - n };
        assert_eq!(TokenCounts::median(&[]), TokenCounts::default());
        assert_eq!(TokenCounts::median(&[counts(7)]), counts(7));
        assert_eq!(TokenCounts::median(&[counts(1), counts(9), counts(4)]), counts(4));
        assert_eq!(TokenCounts::median(&[counts(1), counts(9)]), TokenCounts { o200k_base: 9, cl100k_base: 9 });
    }
}
