//! Splits compound words in names: `keyvault` where some text says "Key Vault".
//!
//! A word is split only where its halves occur side by side somewhere in the catalog. Otherwise "base" would find
//! `database` and "name" would find `namespace`.

use std::collections::{HashMap, HashSet};

use crate::index::lexicon::{Lexicon, TermId};
use crate::language::phrase::FoldedWord;
use crate::language::text;

/// Maps the compound terms of names to their two parts.
pub(crate) fn find_compounds<'t>(
    lexicon: &Lexicon,
    names: &[Vec<String>],
    texts: impl Iterator<Item = &'t [FoldedWord<TermId>]>,
) -> HashMap<TermId, [TermId; 2]> {
    let distinct: HashSet<&str> = names.iter().flatten().map(String::as_str).collect();
    let mut words: Vec<&str> = distinct.into_iter().collect();
    words.sort_unstable();
    let mut candidates: HashMap<[TermId; 2], Vec<TermId>> = HashMap::new();
    let mut starts = vec![false; lexicon.len()];
    for word in words {
        let Some(whole) = lexicon.find(word) else {
            continue;
        };
        for (first, second) in text::halves(word) {
            if let (Some(first), Some(second)) = (lexicon.find(first), lexicon.find(second)) {
                candidates.entry([first, second]).or_default().push(whole);
                if let Some(start) = starts.get_mut(first as usize) {
                    *start = true;
                }
            }
        }
    }
    let mut compounds = HashMap::new();
    for terms in texts {
        for (first, second) in terms.iter().zip(terms.iter().skip(1)) {
            if starts.get(first.word as usize) == Some(&true)
                && let Some(wholes) = candidates.get(&[first.word, second.word])
            {
                compounds.extend(wholes.iter().map(|whole| (*whole, [first.word, second.word])));
            }
        }
    }
    compounds
}
