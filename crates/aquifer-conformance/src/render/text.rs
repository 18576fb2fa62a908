//! Renders a report for a terminal.

use crate::report::{Finding, Outcome, Report, Section, Verdict};

use super::{
    badge, blocker_lines, claim_text, level_words, make_visible, pluralized, smallest_exchange, truncate,
    verdict_sentence,
};

/// Longer lines are wrapped.
const WIDTH: usize = 100;
/// Maximum number of findings shown per check. The JSON format has all.
const MAX_FINDINGS: usize = 5;
/// Requests and answers are truncated to this length.
const MAX_EXCHANGE_CHARS: usize = 320;

/// Renders a report as text.
#[must_use]
pub fn render(report: &Report, colour: bool) -> String {
    let page = Page { colour, width: name_width(report), out: String::new() };
    page.write(report)
}

/// The width of the check name column.
fn name_width(report: &Report) -> usize {
    let tests = report.categories.iter().flat_map(|section| &section.tests);
    tests.map(|test| make_visible(&test.name).chars().count()).max().unwrap_or(0).min(60)
}

struct Page {
    colour: bool,
    width: usize,
    out: String,
}

impl Page {
    fn write(mut self, report: &Report) -> String {
        self.head(report);
        for section in &report.categories {
            self.section(section);
        }
        self.end(report);
        self.out
    }

    fn head(&mut self, report: &Report) {
        let name = if report.implementation.is_empty() { "Unnamed server" } else { &report.implementation };
        let mut words = vec![make_visible(name)];
        if !report.version.is_empty() {
            words.push(make_visible(&report.version));
        }
        let mut line = self.bold(&words.join(" "));
        if !report.spec_version.is_empty() {
            line.push_str(&format!(", MCP-AQL {}", make_visible(&report.spec_version)));
        }
        self.line(&line);
        let mut how = report.surfaces.iter().map(|surface| make_visible(surface)).collect::<Vec<_>>();
        if report.calls > 0 {
            how.push(pluralized(report.calls, "call"));
        }
        if !how.is_empty() {
            self.line(&how.join(", "));
        }
        self.line("");
    }

    fn section(&mut self, section: &Section) {
        let line = format!("{}  {}", self.verdict(section.result), self.bold(section.name.name()));
        self.line(&format!("{line} ({})", level_words(section.name)));
        if section.tests.is_empty() {
            self.line("      no check of this category ran");
        }
        for test in &section.tests {
            self.test(test);
        }
        self.line("");
    }

    fn test(&mut self, test: &Outcome) {
        let name = make_visible(&test.name);
        let count = if test.examined > 0 { format!("{:>6}", test.examined) } else { String::new() };
        let line = format!("  {}  {name:width$} {count}", self.verdict(test.result), width = self.width);
        self.line(line.trim_end());
        if test.result != Verdict::Pass {
            self.wrapped(&make_visible(&test.detail), "        ", "        ");
        }
        let shown = smallest_exchange(&test.findings);
        // The finding with an exchange comes first, because it is the most informative.
        let first = shown.into_iter();
        let rest = test.findings.iter().filter(|finding| !shown.is_some_and(|shown| std::ptr::eq(shown, *finding)));
        for finding in first.chain(rest).take(MAX_FINDINGS) {
            self.finding(finding, shown.is_some_and(|shown| std::ptr::eq(shown, finding)));
        }
        if test.findings.len() > MAX_FINDINGS {
            let more = test.findings.len() - MAX_FINDINGS;
            self.line(&format!("        … and {more} more"));
        }
    }

    fn finding(&mut self, finding: &Finding, with_exchange: bool) {
        let message = format!("{}: {}", make_visible(&finding.subject), make_visible(&finding.problem));
        self.wrapped(&message, "        - ", "          ");
        let Some(seen) = finding.exchange.as_ref().filter(|_| with_exchange) else { return };
        let arguments = truncate(&make_visible(&seen.arguments.to_string()), MAX_EXCHANGE_CHARS);
        let answer = truncate(&make_visible(&seen.answer.to_string()), MAX_EXCHANGE_CHARS);
        self.wrapped(&format!("{} {arguments}", make_visible(&seen.tool)), "          > ", "            ");
        self.wrapped(&answer, "          < ", "            ");
    }

    fn end(&mut self, report: &Report) {
        let summary = report.summary;
        self.line(&format!(
            "{}: {} passed, {} warned, {} failed, {} skipped",
            pluralized(summary.total, "check"),
            summary.passed,
            summary.warned,
            summary.failed,
            summary.skipped
        ));
        let line = self.bold(&verdict_sentence(report));
        self.line(&line);
        self.blockers(report, &blocker_lines(report));
        if let Some(badge) = badge(report.conformance_level) {
            self.line("");
            self.line(&claim_text(report));
            self.line(badge);
        }
    }

    fn blockers(&mut self, report: &Report, blocker_lines: &[String]) {
        if blocker_lines.is_empty() {
            return;
        }
        let withheld = report.conformance_level < report.requested_level;
        self.line(if withheld { "Blocked by:" } else { "Granted despite:" });
        for reason in blocker_lines {
            self.wrapped(reason, "  - ", "    ");
        }
    }

    /// Wraps text. The first line is prefixed with `lead`, the others with `next`.
    fn wrapped(&mut self, text: &str, lead: &str, next: &str) {
        let mut line = lead.to_owned();
        let mut is_begun = false;
        for word in text.split_whitespace() {
            if is_begun && line.chars().count() + 1 + word.chars().count() > WIDTH {
                self.line(&line);
                next.clone_into(&mut line);
                is_begun = false;
            }
            if is_begun {
                line.push(' ');
            }
            line.push_str(word);
            is_begun = true;
        }
        if is_begun {
            self.line(&line);
        }
    }

    fn line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    fn verdict(&self, verdict: Verdict) -> String {
        let code = match verdict {
            Verdict::Pass => "32",
            Verdict::Warn => "33",
            Verdict::Fail => "31",
            Verdict::Skip => "36",
        };
        self.paint(code, verdict.as_str())
    }

    fn bold(&self, text: &str) -> String {
        self.paint("1", text)
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}
