//! Renders a report as JUnit XML: a test suite for each category, a test case for each check.

use std::fmt::Write as _;

use crate::report::{Outcome, Report, Section, Summary, Verdict};

use super::{is_hidden, truncate};

/// Requests and answers are truncated to this length.
const MAX_EXCHANGE_CHARS: usize = 1_000;

/// Renders a report as JUnit XML.
#[must_use]
pub fn render(report: &Report) -> String {
    let Summary { total, failed, skipped, .. } = report.summary;
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let name = escape_xml(&format!("MCP-AQL conformance of {} {}", report.implementation, report.version));
    let _ = writeln!(
        out,
        "<testsuites name=\"{}\" tests=\"{total}\" failures=\"{failed}\" errors=\"0\" skipped=\"{skipped}\">",
        name.trim_end()
    );
    for section in &report.categories {
        suite(&mut out, report, section);
    }
    out.push_str("</testsuites>\n");
    out
}

fn suite(out: &mut String, report: &Report, section: &Section) {
    let Summary { total, failed, skipped, .. } = Summary::from_outcomes(&section.tests);
    let name = section.name.name();
    let _ = writeln!(
        out,
        "  <testsuite name=\"{name}\" tests=\"{total}\" failures=\"{failed}\" errors=\"0\" skipped=\"{skipped}\">"
    );
    let properties = [
        ("specVersion", report.spec_version.clone()),
        ("requestedLevel", report.requested_level.to_string()),
        ("conformanceLevel", report.conformance_level.to_string()),
        ("result", section.result.as_str().to_owned()),
    ];
    out.push_str("    <properties>\n");
    for (name, value) in properties {
        let _ = writeln!(out, "      <property name=\"{name}\" value=\"{}\"/>", escape_xml(&value));
    }
    out.push_str("    </properties>\n");
    for test in &section.tests {
        case(out, name, test);
    }
    out.push_str("  </testsuite>\n");
}

fn case(out: &mut String, category: &str, test: &Outcome) {
    let class = if test.id.is_empty() { category } else { &test.id };
    let _ = write!(out, "    <testcase classname=\"{}\" name=\"{}\"", escape_xml(class), escape_xml(&test.name));
    let (detail, findings) = (escape_xml(&test.detail), escape_xml(&findings(test)));
    let _ = match test.result {
        Verdict::Pass => writeln!(out, "/>"),
        Verdict::Warn => writeln!(out, ">\n      <system-out>WARN: {detail}\n{findings}</system-out>\n    </testcase>"),
        Verdict::Skip => writeln!(out, ">\n      <skipped message=\"{detail}\"/>\n    </testcase>"),
        Verdict::Fail => {
            let kind = "type=\"FAIL\"";
            writeln!(out, ">\n      <failure {kind} message=\"{detail}\">{findings}</failure>\n    </testcase>")
        }
    };
}

/// All problems of a check, as text.
fn findings(test: &Outcome) -> String {
    let mut out = String::new();
    for finding in &test.findings {
        let _ = writeln!(out, "{}: {}", finding.subject, finding.problem);
        if let Some(seen) = &finding.exchange {
            let (asked, answered) = (seen.arguments.to_string(), seen.answer.to_string());
            let _ = writeln!(out, "  > {} {}", seen.tool, truncate(&asked, MAX_EXCHANGE_CHARS));
            let _ = writeln!(out, "  < {}", truncate(&answered, MAX_EXCHANGE_CHARS));
        }
    }
    out
}

/// Escapes text for attributes and element content. XML cannot represent most control characters, so they are written
/// as escapes.
fn escape_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            character if is_hidden(character) => out.extend(character.escape_unicode()),
            character => out.push(character),
        }
    }
    out
}
