//! `_etag` and `if_match`.

use aquifer_adapter::{Answer, Etag, Items, adapter};
use serde_json::json;

use crate::book_index::Library;
use crate::{call, open_engine};

#[tokio::test]
async fn r_col_12_a_change_of_something_that_has_changed_is_refused() {
    let library = open_engine(Library::default());
    let book = json!({ "title": "Emma", "author": "Austen", "year": 1815 });
    let made = call(&library, "create_book", book).await;
    let first = made["data"]["_etag"].as_str().unwrap().to_owned();
    let read = call(&library, "get_book", json!({ "id": 1 })).await;
    assert_eq!(read["data"]["_etag"], first.as_str(), "reading changes nothing");
    let listed = call(&library, "list_books", json!({ "fields": ["title", "_etag"] })).await;
    assert_eq!(listed["data"]["items"], json!([{ "title": "Emma", "_etag": first }]), "{listed}");
    let update = async |year: u16, etag: &str| {
        let params = json!({ "id": 1, "input": { "year": year }, "if_match": etag });
        call(&library, "update_book", params).await
    };
    let updated = update(1816, &first).await;
    let second = updated["data"]["_etag"].as_str().unwrap().to_owned();
    assert_ne!(first, second);
    let refused = update(1817, &first).await;
    assert_eq!(refused["error"]["code"], "CONFLICT_VERSION_MISMATCH", "{refused}");
    assert_eq!(refused["error"]["details"], json!({ "resource_type": "book", "current_etag": second }));
    let deleted = call(&library, "delete_book", json!({ "id": 1, "if_match": first })).await;
    assert_eq!(deleted["error"]["code"], "CONFLICT_VERSION_MISMATCH", "{deleted}");
    assert_eq!(call(&library, "get_book", json!({ "id": 1 })).await["data"]["year"], 1816);
}

/// A page of a wiki.
#[derive(serde::Serialize, schemars::JsonSchema, Etag)]
struct WikiPage {
    name: String,
    #[etag]
    revision: u32,
}

struct Wiki;

#[adapter]
impl Wiki {
    /// List pages.
    #[operation]
    async fn list_pages(&self) -> Answer<Items<WikiPage>> {
        let page = |name: &str, revision| WikiPage { name: name.to_owned(), revision };
        Ok([page("a", 1), page("b", 1), page("c", 2)].into_iter().collect())
    }
}

#[tokio::test]
async fn a_marked_field_is_the_version_and_lists_show_it() {
    let pages = call(&open_engine(Wiki), "list_pages", json!({ "fields": ["name", "_etag"] })).await;
    let etag = |index: usize| pages["data"]["items"][index]["_etag"].as_str().unwrap_or_else(|| panic!("{pages}"));
    assert_eq!(etag(0), etag(1), "the same revision");
    assert_ne!(etag(1), etag(2));
}
