//! Tests of everyday expressions, from people who do not know the technical terms.

use super::{document, search_names};
use crate::index::search_index::Document;
use crate::language::thesaurus::THESAURUS;

fn with_categories<'a>(operations: &[(&'a str, &'a str)]) -> Vec<Document<'a>> {
    operations.iter().map(|(name, category)| Document { category, ..document(name) }).collect()
}

#[test]
fn an_idiom_finds_the_words_of_the_trade() {
    let documents = with_categories(&[
        ("users_get_authenticated", "READ"),
        ("users_list", "READ"),
        ("repos_list_commits", "READ"),
        ("repos_get_content", "READ"),
        ("star_repo", "UPDATE"),
        ("delete_repo", "DELETE"),
        ("subscribe_to_repo", "UPDATE"),
    ]);
    for (task, expected) in [
        ("who am I", "users_get_authenticated"),
        ("who last touched this", "repos_list_commits"),
        ("bookmark this repo", "star_repo"),
        ("chuck this repo out", "delete_repo"),
        ("let me know when this repo changes", "subscribe_to_repo"),
    ] {
        assert_eq!(search_names(&documents, task, 5).first(), Some(&expected), "{task}");
    }
}

#[test]
fn the_words_in_a_gap_count() {
    let documents = with_categories(&[("archive_card", "UPDATE"), ("pause_card", "UPDATE"), ("pause_board", "UPDATE")]);
    assert_eq!(search_names(&documents, "put the big board on hold", 5).first(), Some(&"pause_board"));
}

#[test]
fn a_kept_word_counts_beside_the_idiom() {
    let documents =
        with_categories(&[("create_monitor", "CREATE"), ("delete_monitor", "DELETE"), ("delete_page", "DELETE")]);
    assert_eq!(search_names(&documents, "stop watching that", 5).first(), Some(&"delete_monitor"));
}

/// The catalog has no word that the idiom means, so its words count as they are.
#[test]
fn an_idiom_without_meaning_in_the_catalog_is_read_word_by_word() {
    let documents = with_categories(&[("list_plates", "READ"), ("list_cups", "READ")]);
    assert_eq!(search_names(&documents, "what is on my plate", 5).first(), Some(&"list_plates"));
}

/// Expressions lead to the words of operations and not back: the text of operations is not matched against expressions.
#[test]
fn the_text_of_operations_is_not_read_as_a_saying() {
    let documents = with_categories(&[("chuck_part", "EXECUTE"), ("delete_part", "DELETE")]);
    assert_eq!(search_names(&documents, "delete the part", 1), ["delete_part"]);
    assert!(THESAURUS.related("delet").iter().all(|(stem, _)| stem != "chuck"));
}
