//! The baseline that the search has to beat.

use std::collections::{HashMap, HashSet};

use super::catalog;

/// BM25 over all the text of an operation, without stemming.
pub(super) fn bm25(query: &str) -> Vec<&'static str> {
    let words = |text: &str| -> Vec<String> {
        text.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|w| w.len() > 1).map(str::to_owned).collect()
    };
    let documents = catalog();
    let texts: Vec<Vec<String>> = documents
        .iter()
        .map(|document| {
            let parameters: Vec<&str> = document.parameters.iter().map(|parameter| parameter.name).collect();
            words(&format!("{} {} {}", document.name, document.description, parameters.join(" ")))
        })
        .collect();
    let mut frequency: HashMap<&str, f64> = HashMap::new();
    for text in &texts {
        for word in text.iter().collect::<HashSet<_>>() {
            *frequency.entry(word).or_default() += 1.0;
        }
    }
    let words_of_query = words(query);
    let all = texts.len() as f64;
    let usual = texts.iter().map(Vec::len).sum::<usize>() as f64 / all;
    let mut ranked: Vec<(f64, &str)> = documents
        .iter()
        .zip(&texts)
        .map(|(document, text)| {
            let score = words_of_query.iter().map(|word| {
                let often = text.iter().filter(|other| *other == word).count() as f64;
                let count = frequency.get(word.as_str()).copied().unwrap_or(0.0);
                let rarity = (1.0 + (all - count + 0.5) / (count + 0.5)).ln();
                rarity * often * 2.5 / (often + 1.5 * (0.25 + 0.75 * text.len() as f64 / usual))
            });
            (score.sum(), document.name)
        })
        .filter(|(score, _): &(f64, &str)| *score > 0.0)
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    ranked.into_iter().map(|(_, name)| name).collect()
}
