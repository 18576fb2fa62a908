//! A report to paste into a pull request: the verdict and a table first, what is wrong folded up behind it.

use std::fmt::Write as _;

use serde_json::Value;

use crate::report::{Finding, Outcome, Report, Summary, Verdict};

use super::{badge, claim, counted, needed_for, reasons, shortened, smallest, verdict, visible};

/// So many findings of a check are listed.
const MAX_FINDINGS: usize = 20;
/// So much is shown of what was said.
const MAX_OF_EXCHANGE: usize = 1_600;

/// The report as Markdown.
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
        let name = if report.implementation.is_empty() { "a server without a name" } else { &report.implementation };
        let title = format!("# MCP-AQL conformance of {} {}", plain(name), plain(&report.version));
        self.line(title.trim_end());
        self.line("");
        if let Some(badge) = badge(report.conformance_level) {
            self.line(badge);
            self.line("");
            self.line(&format!("**{}** {}.", verdict(report), plain(&claim(report))));
        } else {
            self.line(&format!("**{}**", verdict(report)));
        }
        let reasons = reasons(report);
        if !reasons.is_empty() {
            let withheld = report.conformance_level < report.requested_level;
            self.line(if withheld { "What stands in the way:" } else { "It is granted in spite of:" });
            self.line("");
            for reason in &reasons {
                self.line(&format!("- {}", plain(reason)));
            }
        }
        self.line("");
        let mut how: Vec<String> = report.surfaces.iter().map(|surface| plain(surface)).collect();
        if report.calls > 0 {
            how.push(counted(report.calls, "call"));
        }
        if !how.is_empty() {
            self.line(&format!("Driven live: {}.", how.join(", ")));
        }
        if !report.command.is_empty() {
            self.line("Made by:");
            self.line("");
            self.fenced("sh", &visible(&report.command));
        }
        self.line("");
    }

    fn table(&mut self, report: &Report) {
        self.line("| category | | result | passed | warned | failed | skipped |");
        self.line("|---|---|---|---|---|---|---|");
        for section in &report.categories {
            let Summary { passed, warned, failed, skipped, .. } = Summary::of(&section.tests);
            let (name, result) = (section.name.name(), section.result.word());
            let level = needed_for(section.name);
            self.line(&format!("| {name} | {level} | {result} | {passed} | {warned} | {failed} | {skipped} |"));
        }
        let Summary { passed, warned, failed, skipped, total } = report.summary;
        self.line(&format!("| {} | | | {passed} | {warned} | {failed} | {skipped} |", counted(total, "check")));
    }

    /// What is to be said although it stands in nobody's way.
    fn remarks(&mut self, report: &Report) {
        let mut lead = "\n";
        for section in &report.categories {
            let is_remark = |test: &&Outcome| match test.result {
                Verdict::Warn => true,
                Verdict::Skip => !section.name.blocks(),
                Verdict::Pass | Verdict::Fail => false,
            };
            for test in section.tests.iter().filter(is_remark) {
                self.line(&format!("{lead}- {} {}: {}", test.result.word(), plain(&test.name), plain(&test.detail)));
                lead = "";
            }
        }
    }

    /// Every check, for those who want to see.
    fn checks(&mut self, report: &Report) {
        self.line("");
        self.line("<details>");
        self.line(&format!("<summary>{}</summary>", counted(report.summary.total, "check")));
        for section in report.categories.iter().filter(|section| !section.tests.is_empty()) {
            self.line("");
            self.line(&format!("| | {} | looked at |", section.name.name()));
            self.line("|---|---|---|");
            for test in &section.tests {
                let count = if test.looked_at > 0 { test.looked_at.to_string() } else { String::new() };
                self.line(&format!("| {} | {} | {count} |", test.result.word(), plain(&test.name)));
            }
        }
        self.line("");
        self.line("</details>");
    }

    fn folded(&mut self, test: &Outcome) {
        self.line("");
        self.line("<details>");
        self.line(&format!("<summary>{}: {}</summary>", test.result.word(), plain(&test.name)));
        self.line("");
        self.line(&plain(&test.detail));
        self.line("");
        for finding in test.findings.iter().take(MAX_FINDINGS) {
            self.line(&format!("- **{}**: {}", plain(&finding.subject), plain(&finding.problem)));
        }
        if test.findings.len() > MAX_FINDINGS {
            self.line(&format!("- … and {} more", test.findings.len() - MAX_FINDINGS));
        }
        if let Some(finding) = smallest(&test.findings) {
            self.exchange(finding);
        }
        self.line("");
        self.line("</details>");
    }

    fn exchange(&mut self, finding: &Finding) {
        let Some(seen) = &finding.seen else { return };
        self.line("");
        self.line(&format!("Seen for {}, asked of {}:", plain(&finding.subject), plain(&seen.tool)));
        self.line("");
        self.fenced("json", &pretty(&seen.arguments));
        self.line("");
        self.line("and answered:");
        self.line("");
        self.fenced("json", &pretty(&seen.answer));
    }

    /// A block that nothing inside it can end.
    fn fenced(&mut self, language: &str, text: &str) {
        let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        self.line(&format!("{fence}{language}\n{text}\n{fence}"));
    }
}

/// JSON in lines, with everything in it to be seen.
fn pretty(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    let lines: Vec<String> = text.lines().map(visible).collect();
    shortened(&lines.join("\n"), MAX_OF_EXCHANGE)
}

/// Text that means nothing to Markdown, on one line, for a cell of a table or anywhere else. Character references and not
/// backslashes: they work inside HTML, too.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let visible = visible(text);
    let mut letters = visible.chars().peekable();
    let mut before = ' ';
    while let Some(letter) = letters.next() {
        let is_inside = |other: char| other.is_alphanumeric() || other == '_';
        match letter {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            // Inside a word it means itself, and most names have one.
            '_' if is_inside(before) && letters.peek().copied().is_some_and(is_inside) => out.push('_'),
            '|' | '*' | '[' | ']' | '`' | '\\' | '~' | '_' => {
                let _ = write!(out, "&#{};", u32::from(letter));
            }
            letter => out.push(letter),
        }
        before = letter;
    }
    out
}
