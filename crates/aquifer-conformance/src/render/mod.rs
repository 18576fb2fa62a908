//! Renders reports for people and for tools. Text from servers is untrusted: terminal escapes, markup and invisible
//! characters are escaped, and long text is truncated.

pub mod json;
pub mod junit;
pub mod markdown;
pub mod text;

use serde_json::Value;

use crate::report::{Blocker, Category, Finding, Report, Verdict};

/// The format of a report.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Format {
    /// For a terminal.
    Text,
    /// The published JSON format, for scripts and for rendering again.
    Json,
    /// For a pull request.
    Markdown,
    /// For test reports in continuous integration.
    Junit,
}

/// Renders a report. Only the text format has colors.
#[must_use]
pub fn render(report: &Report, format: Format, colour: bool) -> String {
    match format {
        Format::Text => text::render(report, colour),
        Format::Json => json::render(report),
        Format::Markdown => markdown::render(report),
        Format::Junit => junit::render(report),
    }
}

/// The badge of a level, as published.
#[must_use]
pub fn badge(level: u8) -> Option<&'static str> {
    match level {
        1 => Some("![MCP-AQL Level 1](https://img.shields.io/badge/MCP--AQL-Level%201-green)"),
        2 => Some("![MCP-AQL Level 2](https://img.shields.io/badge/MCP--AQL-Level%202-blue)"),
        _ => None,
    }
}

/// The claim that a server may make. It always states the tested revision of the specification.
fn claim_text(report: &Report) -> String {
    let revision = match report.spec_version.as_str() {
        "" => "unknown revision of the specification".to_owned(),
        version => format!("specification {}", make_visible(version)),
    };
    format!("MCP-AQL Level {} Conformant ({revision})", report.conformance_level)
}

/// The granted level as a sentence.
fn verdict_sentence(report: &Report) -> String {
    let claimed = report.claimed_conformance.as_deref();
    let beyond = claimed.filter(|claimed| {
        claimed.strip_prefix("level-").and_then(|level| level.parse().ok()) > Some(report.conformance_level)
    });
    match beyond {
        Some(claimed) => format!("{} The server claims {}.", level_sentence(report), make_visible(claimed)),
        None => level_sentence(report),
    }
}

fn level_sentence(report: &Report) -> String {
    match (report.conformance_level, report.requested_level) {
        (0, 2..) => "No level is granted: level 1 is withheld, and level 2 needs it.".to_owned(),
        (0, _) => "No level is granted: level 1 is withheld.".to_owned(),
        (granted, requested) if granted < requested => {
            format!("Level {granted} is granted, level {requested} is withheld.")
        }
        (granted, _) => format!("Level {granted} is granted."),
    }
}

/// The blockers of the requested level, one line each. Failures are listed individually; skipped checks are grouped by
/// reason, because one cause may skip many checks. Our own reports have no blockers if the level is granted; reports of
/// other runners may.
fn blocker_lines(report: &Report) -> Vec<String> {
    let blockers = report.blockers(report.requested_level);
    let skipped = |blocker: &Blocker<'_>| {
        let test = blocker.test.filter(|test| test.result == Verdict::Skip && !test.detail.is_empty())?;
        Some(test.detail.clone())
    };
    let mut lines = Vec::new();
    for (place, blocker) in blockers.iter().enumerate() {
        let why = skipped(blocker);
        let alike = |other: &&Blocker<'_>| why.is_some() && other.category == blocker.category && skipped(other) == why;
        if blockers.iter().take(place).any(|earlier| alike(&earlier)) {
            continue;
        }
        let others = blockers.iter().skip(place + 1).filter(alike).count();
        let and = if others > 0 {
            format!(" (and {} for the same reason)", pluralized(others, "more check"))
        } else {
            String::new()
        };
        lines.push(format!("{}{and}", reason(blocker)));
    }
    lines
}

/// Describes the level of a category.
fn level_words(category: Category) -> &'static str {
    match (category.blocks(), category.level()) {
        (false, _) => "optional",
        (true, 1) => "level 1",
        (true, _) => "level 2",
    }
}

/// Describes a blocker on one line.
fn reason(blocker: &Blocker<'_>) -> String {
    let category = blocker.category.name();
    match blocker.test {
        Some(test) if test.detail.is_empty() => {
            format!("{category}: {} ({})", make_visible(&test.name), test.result.as_str())
        }
        Some(test) => {
            format!(
                "{category}: {} ({}): {}",
                make_visible(&test.name),
                test.result.as_str(),
                make_visible(&test.detail)
            )
        }
        None => format!("{category}: no check of this category ran"),
    }
}

/// The finding with the smallest exchange, if any has an exchange.
fn smallest_exchange(findings: &[Finding]) -> Option<&Finding> {
    let seen = findings.iter().filter_map(|finding| Some((finding, finding.exchange.as_ref()?)));
    let size = |value: &Value| value.to_string().len();
    seen.min_by_key(|(_, seen)| size(&seen.arguments) + size(&seen.answer)).map(|(finding, _)| finding)
}

/// Puts text on one line and escapes control characters and characters that hide or reorder text.
fn make_visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => out.push(' '),
            character if is_hidden(character) => out.extend(character.escape_unicode()),
            character => out.push(character),
        }
    }
    out
}

/// Whether a character is a control character, is invisible, or changes the text direction.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(character, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}')
        || matches!(character, '\u{e0000}'..='\u{e007f}')
}

/// Truncates text and appends its full length.
fn truncate(text: &str, max_chars: usize) -> String {
    let length = text.chars().count();
    if length <= max_chars {
        return text.to_owned();
    }
    let start: String = text.chars().take(max_chars).collect();
    format!("{start}… ({length} characters)")
}

/// `1 check`, `2 checks`.
fn pluralized(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
mod tests;
