//! Markdown to HTML.
//!
//! The writer knows every element that it writes. Raw HTML is shown as text, comments are left out, images of other
//! servers become their alternative text, and a link that is refused becomes its text. Nothing is copied from the input without escaping.

mod heading_ids;
mod writer;

use pulldown_cmark::{Options, Parser};

use crate::link::LinkTarget;
use writer::Writer;

/// A rendered page, without the frame around it.
#[derive(Debug, Clone)]
pub struct Document {
    /// The text of the first heading of level 1, or nothing.
    pub title: String,
    /// The content as HTML.
    pub html: String,
    /// All headings in their order.
    pub headings: Vec<Heading>,
}

/// A heading of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// 1 to 6.
    pub level: u8,
    /// Its text, without markup.
    pub text: String,
    /// The fragment of its address, as GitHub derives it.
    pub id: String,
}

/// Renders Markdown with tables. `link` decides where a link leads.
pub fn render(markdown: &str, link: &dyn Fn(&str) -> LinkTarget) -> Document {
    let mut writer = Writer::new(link);
    Parser::new_ext(markdown, Options::ENABLE_TABLES).for_each(|event| writer.write(event));
    writer.finish()
}
