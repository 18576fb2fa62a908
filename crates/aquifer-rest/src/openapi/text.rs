//! Shortens the text of a description and makes it safe to display: plain text instead of Markdown and HTML.

use aquifer_discovery::text::presentable;

/// The maximum number of bytes of a text that are considered.
const MAX_RAW_BYTES: usize = 16 * 1024;

/// The maximum length of a link or tag that is recognized.
const MAX_MARKUP_BYTES: usize = 600;

/// The maximum length of a comment that is recognized.
const MAX_COMMENT_BYTES: usize = 4_000;

/// HTML elements that descriptions use.
const TAGS: &[&str] = &[
    "a",
    "caution",
    "fullname",
    "important",
    "note",
    "tip",
    "warning",
    "b",
    "blockquote",
    "br",
    "center",
    "code",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "em",
    "font",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "i",
    "iframe",
    "img",
    "kbd",
    "li",
    "ol",
    "p",
    "pre",
    "s",
    "script",
    "section",
    "small",
    "span",
    "strong",
    "style",
    "sub",
    "summary",
    "sup",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "tt",
    "u",
    "ul",
];

/// Truncates a text to `max_chars` characters.
pub(super) fn shorten(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((index, _)) => format!("{}…", text.get(..index).unwrap_or_default().trim_end()),
        None => text.to_owned(),
    }
}

/// Formats a name from a description for a message: quoted, cleaned and short.
pub(super) fn quote(name: &str) -> String {
    format!("'{}'", shorten(&aquifer_discovery::visible_name(name), 120))
}

/// A single line of text without markup.
pub(super) fn line(raw: &str, max_chars: usize) -> String {
    prose(raw, max_chars).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The first paragraphs of a text: clean, without credentials, headings, links, tables, code blocks and HTML.
pub(super) fn prose(raw: &str, max_chars: usize) -> String {
    let mut end = raw.len().min(MAX_RAW_BYTES);
    while !raw.is_char_boundary(end) {
        end -= 1;
    }
    let text = presentable(raw.get(..end).unwrap_or_default());
    let is_plain = !text.contains(['[', '<', '>', '&', '*', '#', '|', '`', '\n', '=']);
    if is_plain {
        return shorten(text.trim(), max_chars);
    }
    let mut paragraphs = Paragraphs::default();
    let mut is_code = false;
    for written in text.lines() {
        let trimmed = written.trim_start_matches(['>', ' ', '\t']).trim_end();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            is_code = !is_code;
            continue;
        }
        if is_code || is_decoration(trimmed) {
            continue;
        }
        let plain = without_markup(trimmed);
        paragraphs.add(&plain.split_whitespace().collect::<Vec<_>>().join(" "));
        if paragraphs.chars > max_chars {
            break;
        }
    }
    shorten(paragraphs.text.trim(), max_chars)
}

#[derive(Default)]
struct Paragraphs {
    text: String,
    chars: usize,
    is_interrupted: bool,
}

impl Paragraphs {
    fn add(&mut self, line: &str) {
        if line.is_empty() {
            self.is_interrupted = true;
            return;
        }
        let is_item = line.starts_with(['-', '*', '+', '•']) || line.starts_with(|c: char| c.is_ascii_digit());
        let breaks = is_item || self.is_interrupted;
        match (self.text.is_empty(), breaks) {
            (true, _) => {}
            (false, true) => self.text.push('\n'),
            (false, false) => self.text.push(' '),
        }
        self.is_interrupted = false;
        self.text.push_str(line);
        self.chars += line.chars().count() + 1;
    }
}

/// Whether a line is a heading, a rule, a table row, a container or the marker of a note.
fn is_decoration(line: &str) -> bool {
    let level = line.chars().take_while(|c| *c == '#').count();
    let is_heading = (1..=6).contains(&level) && line.get(level..).is_some_and(|rest| rest.starts_with([' ', '\t']));
    let is_rule = line.len() >= 3 && line.chars().all(|c| matches!(c, '-' | '=' | '*' | '_'));
    is_heading
        || is_rule
        || line.starts_with('|')
        || line.starts_with(":::")
        || (line.starts_with("[!") && line.ends_with(']'))
}

/// Reduces links to their text, and removes images, HTML and emphasis.
fn without_markup(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(index) = rest.find(['[', '!', '<', '&', '*']) {
        plain.push_str(rest.get(..index).unwrap_or_default());
        rest = rest.get(index..).unwrap_or_default();
        let (shown, used) = markup(rest);
        match used {
            0 => {
                let mut letters = rest.chars();
                plain.extend(letters.next());
                rest = letters.as_str();
            }
            used => {
                plain.push_str(&shown);
                rest = rest.get(used..).unwrap_or_default();
            }
        }
    }
    plain.push_str(rest);
    plain
}

/// The visible text of the markup at the beginning of a text, and the length of the markup. The length is 0 if there is
/// none.
fn markup(text: &str) -> (String, usize) {
    if let Some(link) = text.strip_prefix('!') {
        return match link_at(link) {
            Some((_, used)) => (String::new(), used + 1),
            None => (String::new(), 0),
        };
    }
    if let Some((shown, used)) = link_at(text) {
        return (shown.replace("**", ""), used);
    }
    if let Some(used) = tag_at(text) {
        // HTML elements separate words.
        return (" ".to_owned(), used);
    }
    if text.starts_with("**") {
        return (String::new(), 2);
    }
    const ENTITIES: &[(&str, &str)] =
        &[("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", " ")];
    let entity = ENTITIES.iter().find(|(entity, _)| text.starts_with(entity));
    entity.map_or((String::new(), 0), |(entity, shown)| ((*shown).to_owned(), entity.len()))
}

/// The text of `[text](url)` or `[text][name]`, and the length of the link.
fn link_at(text: &str) -> Option<(String, usize)> {
    let inner = text.strip_prefix('[')?;
    let close = find_near(inner, "]", MAX_MARKUP_BYTES)?;
    let after = inner.get(close + 1..)?;
    let end = match after.chars().next()? {
        '(' => find_near(after, ")", MAX_MARKUP_BYTES),
        '[' => find_near(after, "]", MAX_MARKUP_BYTES),
        _ => None,
    }?;
    Some((inner.get(..close).unwrap_or_default().to_owned(), close + end + 3))
}

/// Finds a text in the first bytes of another one. An unlimited search would take quadratic time for texts that open
/// much markup without closing it.
fn find_near(text: &str, wanted: &str, max_bytes: usize) -> Option<usize> {
    let mut end = text.len().min(max_bytes + wanted.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end)?.find(wanted)
}

/// The length of the HTML tag or comment at the beginning.
fn tag_at(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('<')?;
    if let Some(comment) = inner.strip_prefix("!--") {
        return find_near(comment, "-->", MAX_COMMENT_BYTES).map(|end| end + 7);
    }
    let close = find_near(inner, ">", MAX_MARKUP_BYTES)?;
    let body = inner.get(..close)?;
    let name: String = body.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
    let is_tag = TAGS.contains(&name.to_ascii_lowercase().as_str()) || body.starts_with('/') || body.ends_with('/');
    (is_tag && !name.is_empty()).then_some(close + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_reduced_to_text() {
        for (raw, expected) in [
            ("Plain text.", "Plain text."),
            ("See [the docs](https://example.com/a_(b)) now", "See the docs) now"),
            ("See [the docs][1] and [ ] boxes", "See the docs and [ ] boxes"),
            ("![logo](x.png) Text", "Text"),
            ("# Heading\nText", "Text"),
            ("One\ntwo\n\nThree\n- a\n- b", "One two\nThree\n- a\n- b"),
            ("<p>Hello <b>world</b></p><br/>", "Hello world"),
            ("a <token> & b &lt;c&gt; **bold**", "a <token> & b <c> bold"),
            ("Before\n```json\n{\"a\": 1}\n```\nafter", "Before after"),
            ("| a | b |\n|---|---|\n| 1 | 2 |\nText", "Text"),
            ("a <!-- hidden --> b", "a b"),
            ("#hashtag stays", "#hashtag stays"),
            ("List.\n\n> [!NOTE]\n> Slow.", "List.\nSlow."),
            ("a\u{200b}b\u{1b}[31mred", "abred"),
            ("[unclosed](", "[unclosed]("),
            ("5 < 6 and 7 > 3 ! *", "5 < 6 and 7 > 3 ! *"),
        ] {
            assert_eq!(prose(raw, 500), expected, "{raw:?}");
        }
        assert_eq!(prose("äöü äöü", 5), "äöü ä…");
        assert_eq!(line("a\n\nb", 10), "a b");
    }

    #[test]
    fn credentials_are_not_shown() {
        let token = ["gh", "p_16C7e42F292c6912E7710c838347Ae178B4a"].concat();
        assert!(!prose(&format!("Use {token} here"), 500).contains(&token));
    }

    #[test]
    fn only_the_beginning_is_searched_for_the_end_of_markup() {
        for (text, wanted, max_bytes, expected) in [
            ("aaa]", "]", 3, Some(3)),
            ("aaaa]", "]", 3, None),
            ("äää]", "]", 6, Some(6)),
            ("äää]", "]", 4, None),
            ("a-->", "-->", 1, Some(1)),
            ("aa-->", "-->", 1, None),
            ("", "]", 3, None),
        ] {
            assert_eq!(find_near(text, wanted, max_bytes), expected, "{text}");
        }
        let hidden = |length: usize| prose(&format!("a <!--{}--> b", "x".repeat(length)), 20);
        assert_eq!(hidden(MAX_COMMENT_BYTES), "a b");
        assert!(hidden(MAX_COMMENT_BYTES + 1).starts_with("a <!--x"));
    }

    #[test]
    fn long_texts_take_little_time() {
        for unit in ["[", "<a", "![", "&", "**", "[a](", "<!--"] {
            let _ = prose(&unit.repeat(100_000), 500);
        }
    }
}
