//! Where links lead: from the path of a Markdown file to the address of a page.

use crate::page::{Attachment, Page};

/// Schemes that a link may have. Everything else, `javascript:` first of all, is refused.
const SCHEMES: [&str; 3] = ["http", "https", "mailto"];

/// The files of the repository that are no pages.
const REPOSITORY_FILES: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main");

/// Where the pages are served.
const SERVED_ROOT: &str = "/docs";

/// The target of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkTarget {
    /// An address of the site.
    Inside(String),
    /// The address of an image of the site.
    Image(String),
    /// An address elsewhere.
    Outside(String),
    /// No address that a page may link to.
    Refused,
}

/// How pages refer to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkStyle {
    /// By their path on a server, under `/docs`.
    Served,
    /// By a relative path to a file ending in `.html`, so that a folder of files works anywhere.
    Static,
}

impl LinkStyle {
    /// The address of a page, from another one. Both are named as by [`Page::name`]; the start page has an empty name.
    pub(crate) fn page(self, from: &str, to: &str) -> String {
        match self {
            Self::Served if to.is_empty() => SERVED_ROOT.to_owned(),
            Self::Served => format!("{SERVED_ROOT}/{to}"),
            Self::Static => format!("{}{}", up(from), self.page_file(to)),
        }
    }

    /// The address of a file that is no page, such as the style sheet.
    pub(crate) fn file(self, from: &str, file: &str) -> String {
        match self {
            Self::Served => format!("{SERVED_ROOT}/{file}"),
            Self::Static => format!("{}{file}", up(from)),
        }
    }

    /// The path of a page below the root of the site.
    pub(crate) fn page_file(self, page: &str) -> String {
        match self {
            Self::Served => page.to_owned(),
            Self::Static if page.is_empty() => "index.html".to_owned(),
            Self::Static => format!("{page}.html"),
        }
    }
}

/// The way from the folder of a page to the root of the site.
fn up(from: &str) -> String {
    "../".repeat(from.matches('/').count())
}

/// Resolves the destination of a link in the file of a page.
pub fn resolve(style: LinkStyle, from: &Page, destination: &str) -> LinkTarget {
    if destination.chars().any(char::is_control) || destination.starts_with(['/', '\\']) {
        return LinkTarget::Refused;
    }
    if let Some(scheme) = scheme(destination) {
        let is_allowed = SCHEMES.iter().any(|allowed| allowed.eq_ignore_ascii_case(scheme));
        return if is_allowed { LinkTarget::Outside(destination.to_owned()) } else { LinkTarget::Refused };
    }
    let (path, fragment) = match destination.split_once('#') {
        Some((path, fragment)) => (path, format!("#{fragment}")),
        None => (destination, String::new()),
    };
    if path.is_empty() {
        return LinkTarget::Inside(fragment);
    }
    let Some(path) = join(from.path, path) else { return LinkTarget::Refused };
    if let Some(page) = Page::at(&path).or_else(|| Page::at(&format!("{path}/README.md"))) {
        return LinkTarget::Inside(style.page(&from.name(), &page.name()) + &fragment);
    }
    if let Some(file) = Attachment::at(&path) {
        let address = style.file(&from.name(), file.name());
        return if file.is_image() { LinkTarget::Image(address) } else { LinkTarget::Inside(address) };
    }
    LinkTarget::Outside(repository_file(&path) + &fragment)
}

/// The address of a file in the repository.
pub(crate) fn repository_file(path: &str) -> String {
    format!("{REPOSITORY_FILES}/{path}")
}

/// The scheme of an address. A browser ignores blanks in front of it, so it is found behind them, too.
fn scheme(destination: &str) -> Option<&str> {
    let (scheme, _) = destination.trim_start().split_once(':')?;
    // A colon behind one of these belongs to a path, a query or a fragment.
    (!scheme.contains(['/', '?', '#'])).then_some(scheme)
}

/// The path that a relative one means in the folder of a file. None, if it leaves the repository or is no plain path.
fn join(file: &str, relative: &str) -> Option<String> {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "._-/".contains(character);
    if !relative.chars().all(is_plain) {
        return None;
    }
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}
