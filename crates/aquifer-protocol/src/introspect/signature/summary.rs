//! The first informative sentence of a description.
//!
//! Servers write descriptions for people and for other programs: with headings, emoji, labels such as "Purpose:" and
//! phrases such as "This tool allows you to". None of that describes what an operation does.

use crate::text::clean;

/// Maximum number of characters of a summary.
const MAX_CHARS: usize = 90;

/// Maximum number of bytes of a description that are read.
const MAX_READ_BYTES: usize = 4_000;

/// Labels that precede the description.
const LABELS: &[&str] = &[
    "purpose",
    "description",
    "summary",
    "overview",
    "what it does",
    "what this does",
    "what this tool does",
    "usage",
    "action",
    "function",
    "tool",
    "use case",
    "usecase",
    "about",
];

/// Uninformative phrases at the beginning, in lower case, longest first.
const BOILERPLATE: &[&str] = &[
    "this tool can be used to ",
    "this tool is used to ",
    "this tool allows you to ",
    "this tool enables you to ",
    "this tool lets you ",
    "this tool will ",
    "this operation allows you to ",
    "this operation ",
    "this endpoint ",
    "this function ",
    "this command ",
    "this tool ",
    "use this tool to ",
    "use this tool when you need to ",
    "use this tool when you want to ",
    "use this tool when the user wants to ",
    "use this tool whenever the user wants to ",
    "use this tool when ",
    "use this tool for ",
    "use this to ",
    "use when you need to ",
    "used to ",
    "a tool that ",
    "a tool to ",
    "tool to ",
    "tool for ",
    "allows you to ",
    "lets you ",
    "enables you to ",
];

/// Words of labels that precede advice: "Data Modification Warning: …".
const ADVICE: &[&str] =
    &["warning", "important", "mandatory", "critical", "caution", "note", "prerequisites", "guardrails"];

/// Abbreviations that do not end a sentence.
const ABBREVIATIONS: [&str; 8] = ["e.g.", "i.e.", "etc.", "vs.", "cf.", "approx.", "incl.", "no."];

/// The summary of an operation. Empty if its description only repeats its name.
pub(super) fn summary(description: &str, name: &str) -> String {
    // Every character that some display treats as a line end ends a line here.
    let description = truncate(description, MAX_READ_BYTES).replace(['\u{b}', '\u{c}', '\u{85}'], "\n");
    let description = clean(&description);
    let mut fallback = String::new();
    for line in description.lines() {
        let is_heading = line.trim_start().starts_with('#');
        let line = plain(line, &description);
        let text = without_boilerplate(without_label(&line));
        if text.is_empty() {
            continue;
        }
        let sentence = shorten(first_sentence(&text));
        let says_something =
            !is_heading && !text.ends_with(':') && !is_advice(&line) && sentence.split(' ').count() > 1;
        if !says_something {
            if fallback.is_empty() {
                fallback = sentence;
            }
            continue;
        }
        return if repeats(&sentence, name) { String::new() } else { sentence };
    }
    if fallback.ends_with(':') || repeats(&fallback, name) { String::new() } else { fallback }
}

fn truncate(text: &str, max_bytes: usize) -> &str {
    let mut end = max_bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// One line without markup and emoji, with single spaces.
fn plain(line: &str, description: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(character) = rest.chars().next() {
        let tag = if character == '<' { tag_length(rest, description) } else { 0 };
        if tag > 0 {
            text.push(' ');
            rest = rest.get(tag..).unwrap_or_default();
            continue;
        }
        rest = rest.get(character.len_utf8()..).unwrap_or_default();
        match character {
            '`' | '*' => {}
            _ if is_pictograph(character) => {}
            character if character.is_whitespace() || character.is_control() => text.push(' '),
            character => text.push(character),
        }
    }
    let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
    let joined = words.join(" ");
    // Markdown bullets, list numbers and block quotes.
    without_number(joined.trim_start_matches(['#', '-', '>', '•', '|', '=', ' ', '_', '–', '—'])).to_owned()
}

/// A line without its list number: "1. Retrieves a page", "2) Deletes it".
fn without_number(line: &str) -> &str {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let after = rest.strip_prefix(['.', ')']).and_then(|rest| rest.strip_prefix(' '));
    if rest.len() < line.len() { after.unwrap_or(line) } else { line }
}

/// The length of a tag such as `<usecase>` or `</usecase>` at the start of the text, or 0. An unclosed one, as in "of
/// <owner>", is not a tag.
fn tag_length(text: &str, description: &str) -> usize {
    const MAX_TAG_BYTES: usize = 32;
    let Some(end) = text.bytes().take(MAX_TAG_BYTES).position(|byte| byte == b'>') else { return 0 };
    let name = text.get(1..end).unwrap_or_default().trim_start_matches('/');
    let is_word = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_word && description.contains(&format!("</{name}>")) { end + 1 } else { 0 }
}

fn is_pictograph(character: char) -> bool {
    matches!(character, '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

fn without_label(line: &str) -> &str {
    // "Notion | Retrieve a block"
    let line = match line.split_once(" | ") {
        Some((service, rest)) if !service.contains(' ') && !rest.is_empty() => rest,
        _ => line,
    };
    let Some((label, rest)) = line.split_once(':') else { return line };
    let is_label = LABELS.iter().any(|known| known.eq_ignore_ascii_case(label.trim()));
    if is_label { rest.trim_start() } else { line }
}

/// Whether a line has a label that introduces advice on using the tool.
fn is_advice(line: &str) -> bool {
    const MAX_LABEL_WORDS: usize = 4;
    let Some((label, _)) = line.split_once(':') else { return false };
    let words: Vec<&str> = label.split_whitespace().collect();
    let is_known = |word: &&str| ADVICE.iter().any(|advice| advice.eq_ignore_ascii_case(word));
    words.len() <= MAX_LABEL_WORDS && words.iter().any(is_known)
}

fn without_boilerplate(line: &str) -> String {
    let found = BOILERPLATE.iter().find_map(|start| {
        let head = line.get(..start.len())?;
        head.eq_ignore_ascii_case(start).then(|| line.get(start.len()..).unwrap_or_default())
    });
    let Some(rest) = found else { return line.to_owned() };
    let mut characters = rest.chars();
    characters.next().into_iter().flat_map(char::to_uppercase).chain(characters).collect()
}

/// The text before the first full stop that ends a sentence.
fn first_sentence(line: &str) -> &str {
    for (at, _) in line.match_indices(['.', '!', '?']) {
        let after = line.get(at + 1..).unwrap_or_default();
        let head = line.get(..=at).unwrap_or_default();
        let last = head.rsplit(' ').next().unwrap_or_default().trim_start_matches('(');
        let is_abbreviation = ABBREVIATIONS.iter().any(|known| known.eq_ignore_ascii_case(last));
        if (after.is_empty() || after.starts_with(' ')) && !is_abbreviation {
            return line.get(..at).unwrap_or(line);
        }
    }
    line
}

fn shorten(sentence: &str) -> String {
    let Some((end, _)) = sentence.char_indices().nth(MAX_CHARS) else { return sentence.to_owned() };
    let head = sentence.get(..end).unwrap_or_default();
    let cut = head.rfind(' ').filter(|cut| *cut > end / 2).unwrap_or(head.len());
    let kept = head.get(..cut).unwrap_or(head).trim_end_matches(|c: char| !c.is_alphanumeric() && c != ')');
    format!("{kept}…")
}

/// Whether a sentence has no words that are not in the name: `Get a branch` for `get_branch`.
fn repeats(sentence: &str, name: &str) -> bool {
    const FILLERS: [&str; 10] = ["a", "an", "the", "of", "in", "for", "one", "by", "its", "all"];
    let stem = |word: &str| {
        let word = word.to_lowercase();
        word.strip_suffix('s').map_or(word.clone(), str::to_owned)
    };
    let known: Vec<String> = name.split('_').map(stem).collect();
    let mut words = sentence.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.all(|word| FILLERS.contains(&word.to_lowercase().as_str()) || known.contains(&stem(word)))
}
