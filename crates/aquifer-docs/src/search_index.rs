//! The search index: the titles and headings of all pages, as JSON.

use serde::Serialize;

use crate::link::LinkStyle;
use crate::markdown::Document;
use crate::page::Page;

/// A place that a search can find.
#[derive(Serialize)]
struct Entry<'d> {
    /// The title of the page.
    page: &'d str,
    /// The heading, if it is not the page as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    heading: Option<&'d str>,
    /// The address, relative to the index.
    address: String,
}

/// The index of these pages, as JSON text.
pub(crate) fn build(style: LinkStyle, documents: &[(&Page, Document)]) -> String {
    let entries: Vec<Entry<'_>> =
        documents.iter().flat_map(|(page, document)| entries(style, page, document)).collect();
    // Only maps with keys that are no strings cannot be serialized.
    serde_json::to_string(&entries).unwrap_or_default()
}

fn entries<'d>(style: LinkStyle, page: &Page, document: &'d Document) -> Vec<Entry<'d>> {
    let file = style.page_file(&page.name());
    let title = Entry { page: &document.title, heading: None, address: file.clone() };
    let headings = document.headings.iter().filter(|heading| heading.level > 1);
    let headings = headings.map(|heading| Entry {
        page: &document.title,
        heading: Some(&heading.text),
        address: format!("{file}#{}", heading.id),
    });
    std::iter::once(title).chain(headings).collect()
}
