//! Properties that hold for any catalog and any query.

use std::collections::HashSet;

use proptest::prelude::*;

use super::catalog;
use crate::language::text::squash_name;
use crate::{Document, DocumentParameter, Hit, SearchIndex};

const WORD: &str = "[a-z]{1,9}|delete|the|branch|all|merge|request|MR|key|vault";
const NAME: &str = "[a-zA-Z_\\-]{0,20}|\\PC{0,12}";

fn check_hits(hits: &[Hit], documents: usize, limit: usize) {
    assert!(hits.len() <= limit);
    assert!(hits.iter().all(|hit| hit.position < documents && hit.score.is_finite() && hit.score > 0.0));
    assert!(hits.windows(2).all(|pair| pair[0].score >= pair[1].score), "{hits:?}");
    assert_eq!(hits.iter().map(|hit| hit.position).collect::<HashSet<_>>().len(), hits.len());
}

proptest! {
    #[test]
    fn any_query_is_answered_in_order(query in "\\PC{0,200}", limit in 0_usize..20) {
        thread_local!(static INDEX: SearchIndex = SearchIndex::build(catalog()));
        INDEX.with(|index| check_hits(&index.search(&query, limit), catalog().len(), limit));
    }

    #[test]
    fn any_words_are_answered_in_order(words in prop::collection::vec(WORD, 0..80)) {
        thread_local!(static INDEX: SearchIndex = SearchIndex::build(catalog()));
        INDEX.with(|index| check_hits(&index.search(&words.join(" "), 10), catalog().len(), 10));
    }

    #[test]
    fn any_catalog_can_be_searched(
        texts in prop::collection::vec((NAME, "\\PC{0,80}", "\\PC{0,10}", "\\PC{0,20}"), 0..12),
        query in "\\PC{0,40}",
    ) {
        let documents: Vec<Document<'_>> = texts
            .iter()
            .map(|(name, description, parameter, about)| Document {
                name,
                category: "READ",
                description,
                parameters: vec![DocumentParameter { name: parameter, description: about, values: vec![parameter] }],
                source: parameter,
            })
            .collect();
        let index = SearchIndex::build(documents.iter().cloned());
        check_hits(&index.search(&query, 10), documents.len(), 10);
        for document in documents.iter().filter(|document| !squash_name(document.name).is_empty()) {
            let hits = index.search(document.name, 20);
            check_hits(&hits, documents.len(), 20);
            prop_assert_eq!(squash_name(documents[hits[0].position].name), squash_name(document.name));
        }
    }
}
