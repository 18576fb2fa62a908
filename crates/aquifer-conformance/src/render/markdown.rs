//! Renders a report for a pull request: first the verdict and a table, then the problems in collapsed sections.

use std::fmt::Write as _;

use serde_json::Value;

use crate::report::{Finding, Outcome, Report, Summary, Verdict};

use super::{
    badge, blocker_lines, claim_text, level_words, make_visible, pluralized, smallest_exchange, truncate,
    verdict_sentence,
};

/// Maximum number of findings listed per check.
const MAX_FINDINGS: usize = 20;
/// Requests and answers are truncated to this length.
const MAX_EXCHANGE_CHARS: usize = 1_600;

/// Renders a report as Markdown.
#[must_use]
pub fn render(report: &Report) -> String {
    let mut page = Page(String::new());
    page.head(report);
    page.table(report);
    page.remarks(report);
    let tests = report.categories.iter().flat_map(|section| &section.tests);
    for test in tests.filter(|test| test.result == Verdict::Fail || !test.findings.is_empty()) {
        page.folded(test);
    }
    page.checks(report);
    page.0
}

struct Page(String);

impl Page {
    fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    fn head(&mut self, report: &Report) {
        let name = if report.implementation.is_empty() { "an unnamed server" } else { &report.implementation };
        let title = format!("# MCP-AQL conformance of {} {}", escape_markdown(name), escape_markdown(&report.version));
        self.line(title.trim_end());
        self.line("");
        if let Some(badge) = badge(report.conformance_level) {
            self.line(badge);
            self.line("");
            self.line(&format!("**{}** {}.", verdict_sentence(report), escape_markdown(&claim_text(report))));
        } else {
            self.line(&format!("**{}**", verdict_sentence(report)));
        }
        let blocker_lines = blocker_lines(report);
        if !blocker_lines.is_empty() {
            let withheld = report.conformance_level < report.requested_level;
            self.line(if withheld { "Blocked by:" } else { "Granted despite:" });
            self.line("");
            for reason in &blocker_lines {
                self.line(&format!("- {}", escape_markdown(reason)));
            }
        }
        self.line("");
        let mut how: Vec<String> = report.surfaces.iter().map(|surface| escape_markdown(surface)).collect();
        if report.calls > 0 {
            how.push(pluralized(report.calls, "call"));
        }
        if !how.is_empty() {
            self.line(&format!("Tested live: {}.", how.join(", ")));
        }
        if !report.command.is_empty() {
            self.line("Command:");
            self.line("");
            self.fenced("sh", &make_visible(&report.command));
        }
        self.line("");
    }

    fn table(&mut self, report: &Report) {
        self.line("| category | | result | passed | warned | failed | skipped |");
        self.line("|---|---|---|---|---|---|---|");
        for section in &report.categories {
            let Summary { passed, warned, failed, skipped, .. } = Summary::from_outcomes(&section.tests);
            let (name, result) = (section.name.name(), section.result.as_str());
            let level = level_words(section.name);
            self.line(&format!("| {name} | {level} | {result} | {passed} | {warned} | {failed} | {skipped} |"));
        }
        let Summary { passed, warned, failed, skipped, total } = report.summary;
        self.line(&format!("| {} | | | {passed} | {warned} | {failed} | {skipped} |", pluralized(total, "check")));
    }

    /// Lists warnings, and skipped checks that block nothing.
    fn remarks(&mut self, report: &Report) {
        let mut lead = "\n";
        for section in &report.categories {
            let is_remark = |test: &&Outcome| match test.result {
                Verdict::Warn => true,
                Verdict::Skip => !section.name.blocks(),
                Verdict::Pass | Verdict::Fail => false,
            };
            for test in section.tests.iter().filter(is_remark) {
                self.line(&format!(
                    "{lead}- {} {}: {}",
                    test.result.as_str(),
                    escape_markdown(&test.name),
                    escape_markdown(&test.detail)
                ));
                lead = "";
            }
        }
    }

    /// Lists every check in a collapsed section.
    fn checks(&mut self, report: &Report) {
        self.line("");
        self.line("<details>");
        self.line(&format!("<summary>{}</summary>", pluralized(report.summary.total, "check")));
        for section in report.categories.iter().filter(|section| !section.tests.is_empty()) {
            self.line("");
            self.line(&format!("| | {} | examined |", section.name.name()));
            self.line("|---|---|---|");
            for test in &section.tests {
                let count = if test.examined > 0 { test.examined.to_string() } else { String::new() };
                self.line(&format!("| {} | {} | {count} |", test.result.as_str(), escape_markdown(&test.name)));
            }
        }
        self.line("");
        self.line("</details>");
    }

    fn folded(&mut self, test: &Outcome) {
        self.line("");
        self.line("<details>");
        self.line(&format!("<summary>{}: {}</summary>", test.result.as_str(), escape_markdown(&test.name)));
        self.line("");
        self.line(&escape_markdown(&test.detail));
        self.line("");
        for finding in test.findings.iter().take(MAX_FINDINGS) {
            self.line(&format!("- **{}**: {}", escape_markdown(&finding.subject), escape_markdown(&finding.problem)));
        }
        if test.findings.len() > MAX_FINDINGS {
            self.line(&format!("- … and {} more", test.findings.len() - MAX_FINDINGS));
        }
        if let Some(finding) = smallest_exchange(&test.findings) {
            self.exchange(finding);
        }
        self.line("");
        self.line("</details>");
    }

    fn exchange(&mut self, finding: &Finding) {
        let Some(seen) = &finding.exchange else { return };
        self.line("");
        self.line(&format!(
            "Request for {}, sent to {}:",
            escape_markdown(&finding.subject),
            escape_markdown(&seen.tool)
        ));
        self.line("");
        self.fenced("json", &pretty(&seen.arguments));
        self.line("");
        self.line("Answer:");
        self.line("");
        self.fenced("json", &pretty(&seen.answer));
    }

    /// Writes a code block with a fence longer than any in the text.
    fn fenced(&mut self, language: &str, text: &str) {
        let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        self.line(&format!("{fence}{language}\n{text}\n{fence}"));
    }
}

/// Pretty-printed JSON with hidden characters escaped.
fn pretty(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    let lines: Vec<String> = text.lines().map(make_visible).collect();
    truncate(&lines.join("\n"), MAX_EXCHANGE_CHARS)
}

/// Escapes text for Markdown, on one line, so that it fits in a table cell. Uses character references instead of
/// backslashes, because they also work inside HTML.
fn escape_markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let make_visible = make_visible(text);
    let mut characters = make_visible.chars().peekable();
    let mut before = ' ';
    while let Some(character) = characters.next() {
        let is_inside = |other: char| other.is_alphanumeric() || other == '_';
        match character {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            // Within a word, an underscore has no special meaning in Markdown.
            '_' if is_inside(before) && characters.peek().copied().is_some_and(is_inside) => out.push('_'),
            '|' | '*' | '[' | ']' | '`' | '\\' | '~' | '_' => {
                let _ = write!(out, "&#{};", u32::from(character));
            }
            character => out.push(character),
        }
        before = character;
    }
    out
}
