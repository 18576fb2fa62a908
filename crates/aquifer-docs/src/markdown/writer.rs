//! Writes the events of the Markdown parser as HTML.

use pulldown_cmark::{Alignment, CodeBlockKind, CowStr, Event, HeadingLevel, Tag, TagEnd};

use super::heading_ids::HeadingIds;
use super::{Document, Heading};
use crate::html::{escape, push_escaped};
use crate::link::LinkTarget;

/// The longest language that is shown above a block of code.
const MAX_LANGUAGE_LENGTH: usize = 20;

pub(super) struct Writer<'l> {
    out: String,
    link: &'l dyn Fn(&str) -> LinkTarget,
    headings: Vec<Heading>,
    ids: HeadingIds,
    /// How the open links, images and blocks of code end, innermost last.
    closings: Vec<&'static str>,
    heading: Option<OpenHeading>,
    image: Option<OpenImage>,
    /// The raw HTML of the open block.
    raw: Option<String>,
    table: Table,
}

/// A heading whose end was not reached yet.
struct OpenHeading {
    /// Where its content begins in the output.
    start: usize,
    text: String,
}

/// An image whose alternative text is read.
struct OpenImage {
    address: String,
    /// Where its text begins in the output. It is replaced by the image.
    start: usize,
    text: String,
    /// How many images are inside its text, so far not ended.
    inner: usize,
}

/// The table that is written. Markdown has no tables in tables.
#[derive(Default)]
struct Table {
    alignments: Vec<Alignment>,
    /// The column of the next cell.
    column: usize,
    part: TablePart,
    /// Where the head begins in the output.
    head_start: usize,
    /// Whether a cell of the head has content.
    has_head: bool,
    /// Where the present cell begins in the output.
    cell_start: usize,
    /// Whether the present cell has content.
    has_content: bool,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum TablePart {
    #[default]
    Head,
    Body,
}

impl<'l> Writer<'l> {
    pub(super) fn new(link: &'l dyn Fn(&str) -> LinkTarget) -> Self {
        Self {
            out: String::new(),
            link,
            headings: Vec::new(),
            ids: HeadingIds::default(),
            closings: Vec::new(),
            heading: None,
            image: None,
            raw: None,
            table: Table::default(),
        }
    }

    pub(super) fn finish(self) -> Document {
        let title = self.headings.iter().find(|heading| heading.level == 1);
        let title = title.map(|heading| heading.text.clone()).unwrap_or_default();
        Document { title, html: self.out, headings: self.headings }
    }

    pub(super) fn write(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) => {
                self.out.push_str("<code>");
                self.text(&text);
                self.out.push_str("</code>");
            }
            Event::Html(text) => match &mut self.raw {
                Some(raw) => raw.push_str(&text),
                None => self.raw_text(&text),
            },
            Event::InlineHtml(text) => self.raw_text(&text),
            Event::SoftBreak => self.text("\n"),
            Event::HardBreak => self.out.push_str("<br>\n"),
            Event::Rule => self.out.push_str("<hr>\n"),
            // Extensions that are not enabled.
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => self.text(&text),
            Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.out.push_str("<p>"),
            Tag::Heading { .. } => {
                self.heading = Some(OpenHeading { start: self.out.len(), text: String::new() });
            }
            Tag::BlockQuote(_) => self.out.push_str("<blockquote>\n"),
            Tag::CodeBlock(kind) => self.start_code(&kind),
            Tag::HtmlBlock => self.raw = Some(String::new()),
            Tag::List(None) => self.out.push_str("<ul>\n"),
            Tag::List(Some(1)) => self.out.push_str("<ol>\n"),
            Tag::List(Some(first)) => self.out.push_str(&format!("<ol start=\"{first}\">\n")),
            Tag::Item => self.out.push_str("<li>"),
            Tag::Table(alignments) => {
                self.out.push_str("<div class=\"scroll\" role=\"group\" aria-label=\"Table\" tabindex=\"0\"><table>\n");
                self.table = Table { alignments, ..Table::default() };
            }
            Tag::TableHead => {
                self.table.head_start = self.out.len();
                self.out.push_str("<thead><tr>");
            }
            Tag::TableRow => {
                self.table.column = 0;
                self.out.push_str("<tr>");
            }
            Tag::TableCell => self.start_cell(),
            Tag::Emphasis => self.out.push_str("<em>"),
            Tag::Strong => self.out.push_str("<strong>"),
            Tag::Link { dest_url, .. } => self.start_link(&dest_url),
            Tag::Image { dest_url, .. } => self.start_image(&dest_url),
            // Extensions that are not enabled.
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.out.push_str("</p>\n"),
            TagEnd::Heading(level) => self.end_heading(level),
            TagEnd::BlockQuote(_) => self.out.push_str("</blockquote>\n"),
            TagEnd::Image => self.end_image(),
            TagEnd::CodeBlock | TagEnd::Link => {
                let closing = self.closings.pop().unwrap_or_default();
                self.out.push_str(closing);
            }
            TagEnd::HtmlBlock => self.end_raw(),
            TagEnd::List(true) => self.out.push_str("</ol>\n"),
            TagEnd::List(false) => self.out.push_str("</ul>\n"),
            TagEnd::Item => self.out.push_str("</li>\n"),
            TagEnd::Table => self.out.push_str("</tbody></table></div>\n"),
            TagEnd::TableHead => self.end_table_head(),
            TagEnd::TableRow => self.out.push_str("</tr>\n"),
            TagEnd::TableCell => self.end_cell(),
            TagEnd::Emphasis => self.out.push_str("</em>"),
            TagEnd::Strong => self.out.push_str("</strong>"),
            _ => {}
        }
    }

    fn open(&mut self, opening: &str, closing: &'static str) {
        self.out.push_str(opening);
        self.closings.push(closing);
    }

    fn text(&mut self, text: &str) {
        if let Some(heading) = &mut self.heading {
            heading.text.push_str(text);
        }
        if let Some(image) = &mut self.image {
            image.text.push_str(text);
        }
        self.table.has_content |= !text.trim().is_empty();
        push_escaped(&mut self.out, text);
    }

    /// Shows raw HTML as text. Comments are for those who edit the file.
    fn raw_text(&mut self, raw: &str) {
        if !is_comment(raw) {
            self.text(raw);
        }
    }

    fn end_raw(&mut self) {
        let raw = self.raw.take().unwrap_or_default();
        if !is_comment(&raw) {
            self.out.push_str("<p>");
            self.text(raw.trim());
            self.out.push_str("</p>\n");
        }
    }

    fn end_heading(&mut self, level: HeadingLevel) {
        let Some(OpenHeading { start, text }) = self.heading.take() else { return };
        let content = self.out.split_off(start);
        let level = level as u8;
        let id = self.ids.next(&text);
        let (name, shown) = (escape(&id), escape(&text));
        self.out.push_str(&if level == 1 {
            format!("<h1 id=\"{name}\">{content}</h1>\n")
        } else {
            format!(
                "<div class=\"section\"><h{level} id=\"{name}\">{content}</h{level}>\
                 <a class=\"anchor\" href=\"#{name}\" aria-label=\"Link to the section “{shown}”\">#</a></div>\n"
            )
        });
        self.headings.push(Heading { level, text, id });
    }

    /// A block of code scrolls sideways, so it can be focused.
    fn start_code(&mut self, kind: &CodeBlockKind<'_>) {
        let language = match kind {
            CodeBlockKind::Fenced(info) => language(info),
            CodeBlockKind::Indented => String::new(),
        };
        if language.is_empty() {
            return self.open("<pre tabindex=\"0\"><code>", "</code></pre>\n");
        }
        let opening = format!("<figure class=\"code\"><figcaption>{language}</figcaption><pre tabindex=\"0\"><code>");
        self.open(&opening, "</code></pre></figure>\n");
    }

    fn start_link(&mut self, destination: &str) {
        match (self.link)(destination) {
            LinkTarget::Inside(address) | LinkTarget::Image(address) => {
                self.open(&format!("<a href=\"{}\">", escape(&address)), "</a>")
            }
            LinkTarget::Outside(address) => {
                self.open(&format!("<a rel=\"external noreferrer\" href=\"{}\">", escape(&address)), "</a>");
            }
            LinkTarget::Refused => self.open("", ""),
        }
    }

    /// Pages load nothing from other servers: an image from there becomes its alternative text.
    fn start_image(&mut self, source: &str) {
        if let Some(outer) = &mut self.image {
            outer.inner += 1;
        } else if let LinkTarget::Image(address) = (self.link)(source) {
            self.image = Some(OpenImage { address, start: self.out.len(), text: String::new(), inner: 0 });
        }
    }

    fn end_image(&mut self) {
        if let Some(outer) = self.image.as_mut().filter(|outer| outer.inner > 0) {
            outer.inner -= 1;
        } else if let Some(OpenImage { address, start, text, .. }) = self.image.take() {
            self.out.truncate(start);
            let (address, text) = (escape(&address), escape(&text));
            self.out.push_str(&format!("<img src=\"{address}\" alt=\"{text}\" loading=\"lazy\">"));
        }
    }

    fn start_cell(&mut self) {
        let class = match self.table.alignments.get(self.table.column) {
            Some(Alignment::Right) => " class=\"right\"",
            Some(Alignment::Center) => " class=\"center\"",
            _ => "",
        };
        self.table.column += 1;
        self.table.cell_start = self.out.len();
        self.table.has_content = false;
        self.out.push_str(&match self.table.part {
            TablePart::Head => format!("<th scope=\"col\"{class}>"),
            TablePart::Body => format!("<td{class}>"),
        });
    }

    /// A cell of the head without content is no header: a screen reader would read an empty name.
    fn end_cell(&mut self) {
        match (self.table.part, self.table.has_content) {
            (TablePart::Body, _) => self.out.push_str("</td>"),
            (TablePart::Head, true) => {
                self.table.has_head = true;
                self.out.push_str("</th>");
            }
            (TablePart::Head, false) => {
                self.out.truncate(self.table.cell_start);
                self.out.push_str("<td></td>");
            }
        }
    }

    /// A head without content is left out.
    fn end_table_head(&mut self) {
        if self.table.has_head {
            self.out.push_str("</tr></thead>\n");
        } else {
            self.out.truncate(self.table.head_start);
        }
        self.out.push_str("<tbody>\n");
        self.table.part = TablePart::Body;
    }
}

fn is_comment(raw: &str) -> bool {
    let inner = raw.trim().strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->"));
    inner.is_some_and(|inner| !inner.contains("-->"))
}

/// The language of a block: the first word after the fence, as far as it can be one.
fn language(info: &CowStr<'_>) -> String {
    let word = info.split([' ', ',', '\t']).next().unwrap_or_default();
    let is_plain = |character: &char| character.is_ascii_alphanumeric() || "+-#_".contains(*character);
    word.chars().filter(is_plain).take(MAX_LANGUAGE_LENGTH).collect()
}
