//! The frame around the content of a page: header, navigation, table of contents, previous and next page.
//!
//! Ids of the frame begin with an underscore, so that they differ from those of headings. On narrow screens navigation
//! and table of contents are popovers, which need no script.

use std::fmt::Write as _;

use crate::html::escape;
use crate::link::{LinkStyle, repository_file};
use crate::markdown::{Document, Heading};
use crate::page::{Group, Page};

const START_TITLE: &str = "Aquifer documentation";
const START_SUMMARY: &str = "How to install, use, configure and understand Aquifer.";

/// A page with fewer sections has no table of contents.
const MIN_SECTIONS: usize = 2;

/// All pages, as the frames link to them.
pub(crate) struct Layout<'d> {
    pub(crate) style: LinkStyle,
    pub(crate) documents: &'d [(&'d Page, Document)],
}

/// What differs between the frames of two pages.
struct Frame<'f> {
    /// The name of the page, from which links start.
    name: &'f str,
    title: &'f str,
    summary: &'f str,
    current: Option<&'f Page>,
    contents: String,
    /// The content of `main`.
    main: String,
}

impl Layout<'_> {
    /// A page, by its position in the list.
    pub(crate) fn page(&self, index: usize) -> Option<(&Page, String)> {
        let (page, document) = self.documents.get(index)?;
        let name = page.name();
        let mut main = format!("<article>\n{}</article>\n", document.html);
        main.push_str(&self.neighbours(&name, index));
        let source = escape(&repository_file(page.path));
        let _ = writeln!(
            main,
            "<footer class=\"source\"><p>Source of this page: <a rel=\"external noreferrer\" href=\"{source}\">{}</a></p></footer>",
            escape(page.path)
        );
        let frame = Frame {
            name: &name,
            title: &document.title,
            summary: page.summary,
            current: Some(page),
            contents: contents(&document.headings),
            main,
        };
        Some((page, self.frame(&frame)))
    }

    /// The page at the root of the site: every page with its summary.
    pub(crate) fn start_page(&self) -> String {
        let mut main = format!("<article class=\"start\">\n<h1>{START_TITLE}</h1>\n");
        for group in Group::ALL {
            let _ = write!(main, "<h2>{}</h2>\n<ul>\n", group.title());
            for (page, document) in self.listed(group) {
                let address = escape(&self.style.page("", &page.name()));
                let (title, summary) = (escape(&document.title), escape(page.summary));
                let _ = writeln!(main, "<li><a href=\"{address}\">{title}</a><p>{summary}</p></li>");
            }
            main.push_str("</ul>\n");
        }
        main.push_str("</article>\n");
        let frame = Frame {
            name: "",
            title: START_TITLE,
            summary: START_SUMMARY,
            current: None,
            contents: String::new(),
            main,
        };
        self.frame(&frame)
    }

    /// The page for an address that leads nowhere.
    pub(crate) fn not_found(&self) -> String {
        let main = "<article>\n<h1>Page not found</h1>\n<p>The documentation has no page at this address. The \
                    navigation lists all pages, and the search finds their headings.</p>\n</article>\n";
        let frame = Frame {
            name: "",
            title: "Page not found",
            summary: "",
            current: None,
            contents: String::new(),
            main: main.to_owned(),
        };
        self.frame(&frame)
    }

    /// The pages of a group that are not listed by another page.
    fn listed(&self, group: Group) -> impl Iterator<Item = &(&Page, Document)> {
        self.documents.iter().filter(move |(page, _)| page.group == group && page.parent().is_none())
    }

    fn frame(&self, frame: &Frame<'_>) -> String {
        let file = |name| escape(&self.style.file(frame.name, name));
        let suffix = if frame.title == START_TITLE { "" } else { " – Aquifer" };
        let has_contents = !frame.contents.is_empty();
        let contents_button = if has_contents {
            "<button type=\"button\" class=\"menu\" popovertarget=\"_contents\">On this page</button>\n"
        } else {
            ""
        };
        let explorer = match self.style {
            LinkStyle::Served => "<a class=\"explorer\" href=\"/\">Explorer</a>\n",
            LinkStyle::Static => "",
        };
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}{suffix}</title>\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"description\" content=\"{summary}\">\n\
             <link rel=\"icon\" href=\"{icon}\" type=\"image/svg+xml\">\n\
             <link rel=\"stylesheet\" href=\"{style}\">\n\
             <script src=\"{theme}\"></script>\n<script src=\"{search}\" defer></script>\n</head>\n<body>\n\
             <a class=\"skip\" href=\"#_main\">Skip to content</a>\n\
             <header class=\"top\">\n<a class=\"brand\" href=\"{start}\">Aquifer documentation</a>\n\
             <button type=\"button\" class=\"menu\" popovertarget=\"_pages\">Pages</button>\n{contents_button}\
             <div class=\"search\" role=\"search\" data-index=\"{index}\" hidden>\n\
             <label class=\"visually-hidden\" for=\"_search\">Search titles and headings</label>\n\
             <input id=\"_search\" type=\"search\" placeholder=\"Search\" autocomplete=\"off\" spellcheck=\"false\">\n\
             <p class=\"visually-hidden\" role=\"status\"></p>\n<ul class=\"results\" hidden></ul>\n</div>\n\
             {explorer}<button type=\"button\" class=\"theme\" hidden>Change theme</button>\n</header>\n\
             {navigation}{contents}<main id=\"_main\" tabindex=\"-1\">\n{main}</main>\n</body>\n</html>\n",
            title = escape(frame.title),
            summary = escape(frame.summary),
            icon = file("favicon.svg"),
            style = file("docs.css"),
            theme = file("theme.js"),
            search = file("search.js"),
            index = file("search.json"),
            start = escape(&self.style.page(frame.name, "")),
            navigation = self.navigation(frame),
            contents = frame.contents,
            main = frame.main,
        )
    }

    fn navigation(&self, frame: &Frame<'_>) -> String {
        let mut out = "<nav id=\"_pages\" class=\"pages\" aria-label=\"Pages\" popover>\n".to_owned();
        for group in Group::ALL {
            let _ = write!(out, "<p>{}</p>\n<ul>\n", group.title());
            for (page, document) in self.listed(group) {
                let _ = write!(out, "<li>{}", self.navigation_link(frame, page, document));
                out.push_str(&self.children(frame, page));
                out.push_str("</li>\n");
            }
            out.push_str("</ul>\n");
        }
        out.push_str("</nav>\n");
        out
    }

    /// The pages that a page lists, if it or one of them is shown.
    fn children(&self, frame: &Frame<'_>, parent: &Page) -> String {
        let is_near = frame.current.is_some_and(|current| {
            current.path == parent.path || current.parent().is_some_and(|listing| listing.path == parent.path)
        });
        let children =
            self.documents.iter().filter(|(page, _)| page.parent().is_some_and(|listing| listing.path == parent.path));
        let items: String = children
            .map(|(page, document)| format!("<li>{}</li>\n", self.navigation_link(frame, page, document)))
            .collect();
        if is_near && !items.is_empty() { format!("\n<ul>\n{items}</ul>\n") } else { String::new() }
    }

    fn navigation_link(&self, frame: &Frame<'_>, page: &Page, document: &Document) -> String {
        let address = escape(&self.style.page(frame.name, &page.name()));
        let is_current = frame.current.is_some_and(|current| current.path == page.path);
        let current = if is_current { " aria-current=\"page\"" } else { "" };
        format!("<a href=\"{address}\"{current}>{}</a>", escape(label(page, document)))
    }

    fn neighbours(&self, name: &str, index: usize) -> String {
        let link = |relation: &str, word: &str, position: Option<usize>| {
            let Some((page, document)) = position.and_then(|position| self.documents.get(position)) else {
                return String::new();
            };
            let address = escape(&self.style.page(name, &page.name()));
            let title = escape(label(page, document));
            format!("<a class=\"{relation}\" rel=\"{relation}\" href=\"{address}\"><span>{word}</span> {title}</a>\n")
        };
        format!(
            "<nav class=\"neighbours\" aria-label=\"Previous and next page\">\n{}{}</nav>\n",
            link("prev", "Previous:", index.checked_sub(1)),
            link("next", "Next:", index.checked_add(1))
        )
    }
}

/// The name of a page in a list. The reports of conformance runs all have the same title.
fn label<'l>(page: &'l Page, document: &'l Document) -> &'l str {
    let is_report = page.path.starts_with("docs/conformance/") && page.parent().is_some();
    if is_report { page.summary.trim_end_matches('.') } else { &document.title }
}

/// The table of contents: headings of levels 2 and 3.
fn contents(headings: &[Heading]) -> String {
    let sections: Vec<&Heading> = headings.iter().filter(|heading| matches!(heading.level, 2 | 3)).collect();
    if sections.len() < MIN_SECTIONS {
        return String::new();
    }
    let mut out =
        "<nav id=\"_contents\" class=\"contents\" aria-label=\"On this page\" popover>\n<p>On this page</p>\n<ul>\n"
            .to_owned();
    for heading in sections {
        let (id, text) = (escape(&heading.id), escape(&heading.text));
        let _ = writeln!(out, "<li class=\"level-{}\"><a href=\"#{id}\">{text}</a></li>", heading.level);
    }
    out.push_str("</ul>\n</nav>\n");
    out
}
