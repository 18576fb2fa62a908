//! The finished files of the site.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::layout::Layout;
use crate::link::{self, LinkStyle};
use crate::markdown::{self, Document};
use crate::page::{ATTACHMENTS, PAGES, Page};
use crate::search_index;

const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";

/// A file of the site.
#[derive(Debug, Clone)]
pub struct SiteFile {
    /// Its media type.
    pub content_type: &'static str,
    /// Its content.
    pub body: Cow<'static, [u8]>,
}

/// Files that are the same in every style of links.
const ASSETS: [(&str, &str, &str); 4] = [
    ("docs.css", "text/css; charset=utf-8", include_str!("../ui/docs.css")),
    ("search.js", "text/javascript; charset=utf-8", include_str!("../ui/search.js")),
    ("theme.js", "text/javascript; charset=utf-8", include_str!("../ui/theme.js")),
    ("favicon.svg", "image/svg+xml", include_str!("../../aquifer-explorer/ui/favicon.svg")),
];

/// All files of the documentation, rendered.
#[derive(Debug, Clone)]
pub struct Site {
    files: BTreeMap<String, SiteFile>,
    not_found: String,
}

impl Site {
    /// Renders every page.
    pub fn render(style: LinkStyle) -> Self {
        let documents: Vec<(&Page, Document)> = PAGES.iter().map(|page| (page, document(style, page))).collect();
        let layout = Layout { style, documents: &documents };
        let mut files = BTreeMap::new();
        let mut add = |path: String, content_type, body| files.insert(path, SiteFile { content_type, body });
        for index in 0..documents.len() {
            if let Some((page, html)) = layout.page(index) {
                add(style.page_file(&page.name()), HTML, Cow::Owned(html.into_bytes()));
            }
        }
        add(style.page_file(""), HTML, Cow::Owned(layout.start_page().into_bytes()));
        add("search.json".to_owned(), JSON, Cow::Owned(search_index::build(style, &documents).into_bytes()));
        for (name, content_type, text) in ASSETS {
            add(name.to_owned(), content_type, Cow::Borrowed(text.as_bytes()));
        }
        for file in ATTACHMENTS {
            add(file.name().to_owned(), file.content_type, Cow::Borrowed(file.bytes));
        }
        Self { files, not_found: layout.not_found() }
    }

    /// The file at a path below the root of the site. The start page has an empty path if it is served.
    pub fn get(&self, path: &str) -> Option<&SiteFile> {
        self.files.get(path)
    }

    /// The page for a path that leads nowhere.
    pub fn not_found(&self) -> &str {
        &self.not_found
    }

    /// All files, by their path below the root of the site.
    pub fn files(&self) -> impl Iterator<Item = (&str, &SiteFile)> {
        self.files.iter().map(|(path, file)| (path.as_str(), file))
    }
}

fn document(style: LinkStyle, page: &Page) -> Document {
    markdown::render(page.text, &|destination| link::resolve(style, page, destination))
}
