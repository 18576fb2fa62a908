//! A successful run and one with hostile text, in every format.

use serde_json::json;

use super::*;
use crate::record::Exchange;
use crate::report::{Category, Header, Outcome, Summary};

fn outcome(id: &str, name: &str, result: Verdict, detail: &str, examined: usize) -> Outcome {
    let (id, name, detail) = (id.to_owned(), name.to_owned(), detail.to_owned());
    Outcome { id, name, result, detail, not_applicable: false, examined, findings: Vec::new() }
}

fn passes() -> Vec<(Category, Outcome)> {
    let pass = |id, name| outcome(id, name, Verdict::Pass, "All of them are.", 14);
    vec![
        (Category::IntrospectionFidelity, pass("introspection.operations", "Operations are listed")),
        (Category::IntrospectionFidelity, pass("introspection.accuracy", "What follows introspection is accepted")),
        (Category::ParameterHandling, pass("parameters.missing", "Required parameters are enforced")),
        (Category::ErrorQuality, pass("errors.shape", "Failures have the published shape")),
        (Category::RoundTripIntegrity, pass("roundtrip.create", "What was created is read back")),
        (Category::LevelTwoFeatures, pass("features.batch", "Batches answer every item")),
        (Category::ConstraintDocumentation, pass("constraints.enforced", "Constraints are enforced")),
    ]
}

fn header(requested_level: u8) -> Header {
    Header {
        implementation: "shop".to_owned(),
        version: "1.2.3".to_owned(),
        spec_version: "1.0.0-draft".to_owned(),
        requested_level,
        claimed: None,
        surfaces: vec!["semantic over stdio".to_owned(), "single over stdio".to_owned()],
        calls: 412,
    }
}

fn good() -> Report {
    let mut report = Report::assemble(header(2), passes());
    report.command = "aquifer conformance --level 2 --allow-writes -- shop --stdio".to_owned();
    report
}

/// Everything that a terminal, a table, HTML or XML could interpret.
const NASTY: &str = "a|b <b>\u{1b}[31m&amp;\"'` \u{0}\u{202e}\u{fffe}]]>\n</details> *x* [y](z) _w_ snake_case \\ end";

fn bad() -> Report {
    let finding = |index: usize, answer: Value| Finding {
        subject: format!("create_order.field_{index}"),
        problem: format!("answered as if nothing were missing: {NASTY}"),
        exchange: Some(Exchange {
            tool: "mcp_aql_create".to_owned(),
            arguments: json!({"operation": "create_order", "params": {"note": NASTY}}),
            answer,
        }),
    };
    let mut findings: Vec<Finding> = (0..5).map(|index| finding(index, json!({"long": "x".repeat(1_200)}))).collect();
    findings.push(finding(5, json!({"success": true, "data": null})));
    let mut outcomes = passes();
    let failed = "6 of 31 requests without a required parameter did not fail.";
    let mut failed = outcome("parameters.missing", NASTY, Verdict::Fail, failed, 31);
    failed.findings = findings;
    outcomes.push((Category::ParameterHandling, failed));
    let warned = outcome("errors.actionable", "Messages can be acted upon", Verdict::Warn, "Two of 40 cannot.", 40);
    outcomes.push((Category::ErrorQuality, warned));
    outcomes.retain(|(category, _)| *category != Category::RoundTripIntegrity);
    let skipped = "Nothing may be written: allow it with --allow-writes.";
    let skipped = outcome("roundtrip.create", "What was created is read back", Verdict::Skip, skipped, 0);
    outcomes.push((Category::RoundTripIntegrity, skipped));
    outcomes.retain(|(category, _)| *category != Category::ConstraintDocumentation);
    Report::assemble(header(2), outcomes)
}

#[test]
fn text_of_a_good_run() {
    insta::assert_snapshot!(render(&good(), Format::Text, false));
}

#[test]
fn text_of_a_bad_run() {
    let text = render(&bad(), Format::Text, false);
    assert!(text.chars().all(|c| c == '\n' || !is_hidden(c)), "nothing of the server's reaches a terminal");
    insta::assert_snapshot!(text);
}

#[test]
fn text_has_colors_only_if_requested() {
    let (plain, coloured) = (render(&good(), Format::Text, false), render(&good(), Format::Text, true));
    assert!(!plain.contains('\u{1b}') && coloured.contains("\u{1b}[32mPASS\u{1b}[0m"));
    let mut stripped = coloured;
    for code in ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[32m", "\u{1b}[36m"] {
        stripped = stripped.replace(code, "");
    }
    assert_eq!(stripped, plain);
}

#[test]
fn markdown_of_a_good_run() {
    insta::assert_snapshot!(render(&good(), Format::Markdown, false));
}

#[test]
fn markdown_of_a_bad_run() {
    let text = render(&bad(), Format::Markdown, false);
    let count = |what: &str| text.lines().filter(|line| *line == what).count();
    assert_eq!((count("<details>"), count("</details>")), (2, 2), "one failure and all checks, and only we end them");
    for line in text.lines().filter(|line| line.starts_with('|')) {
        assert!([4, 8].contains(&line.matches('|').count()), "a cell broke out: {line}");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_fence_is_longer_than_any_in_its_content() {
    let mut report = bad();
    for section in &mut report.categories {
        for finding in section.tests.iter_mut().flat_map(|test| &mut test.findings) {
            finding.exchange =
                Some(Exchange { tool: String::new(), arguments: json!("````"), answer: json!("a\n```\nb") });
        }
    }
    let text = render(&report, Format::Markdown, false);
    assert!(text.contains("\n`````json\n\"````\"\n`````\n"), "{text}");
}

#[test]
fn junit_of_a_bad_run() {
    let text = render(&bad(), Format::Junit, false);
    // The production `Char` of XML 1.0.
    let allowed =
        |c| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}');
    assert!(text.chars().all(allowed));
    let count = |what: &str| text.matches(what).count();
    assert_eq!(count("<testsuite "), 7);
    assert_eq!((count("<testcase "), count("<failure "), count("<skipped ")), (9, 1, 2));
    assert_eq!((count("<system-out>"), count("</testcase>")), (1, 4));
    assert_eq!(count("<b>") + count("</details>"), 0);
    insta::assert_snapshot!(text);
}

#[test]
fn a_report_survives_a_round_trip() {
    for report in [good(), bad()] {
        assert_eq!(json::parse(&render(&report, Format::Json, false)), Ok(report));
    }
}

#[test]
fn json_has_the_published_shape() {
    let value: Value = serde_json::from_str(&render(&bad(), Format::Json, false)).unwrap();
    for name in ["implementation", "version", "specVersion", "requestedLevel", "conformanceLevel", "summary"] {
        assert!(!value[name].is_null(), "{name}");
    }
    let names: Vec<&str> =
        value["categories"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, Category::ALL.map(Category::name));
    assert_eq!(value["categories"][1]["tests"][0]["result"], "PASS");
    assert_eq!(value["categories"][1]["result"], "FAIL");
    assert_eq!(value["categories"][1]["tests"][1]["lookedAt"], 31);
}

#[test]
fn reports_of_the_specifications_runner_are_parsed() {
    let text = json!({
        "implementation": "example-adapter", "version": "1.0.0", "specVersion": "1.0.0-draft", "requestedLevel": 1,
        "conformanceLevel": 1, "exitCode": 0,
        "summary": {"total": 2, "passed": 1, "warned": 1, "failed": 0, "skipped": 0},
        "categories": [{"name": "Introspection Fidelity", "required": true, "result": "PASS", "tests": [
            {"name": "Parameter Accuracy", "result": "PASS"},
            {"name": "Completeness", "result": "WARN", "detail": "One is not accepted."},
        ]}],
    });
    let report = json::parse(&text.to_string()).unwrap();
    assert_eq!(report.summary, Summary { total: 2, passed: 1, warned: 1, ..Summary::default() });
    let text = render(&report, Format::Text, false);
    assert!(text.contains("Level 1 is granted.\nGranted despite:\n  - Parameter Handling: no check"), "{text}");
    for format in [Format::Markdown, Format::Junit] {
        assert!(render(&report, format, false).contains("Completeness"));
    }
}

#[test]
fn invalid_reports_are_rejected_with_a_reason() {
    let table = [
        ("", "not JSON: EOF while parsing a value at line 1 column 0"),
        ("# MCP-AQL", "not JSON: expected value at line 1 column 1"),
        ("[]", "not a conformance report: it is not a JSON object"),
        ("{}", "not a conformance report: it has no requestedLevel, no conformanceLevel, no summary, no categories"),
        ("{\"introspection\": {}, \"endpoint_modes\": []}", "an evidence bundle, not a report. "),
        (
            "{\"requestedLevel\": 1, \"conformanceLevel\": 1, \"summary\": {}, \"categories\": []}",
            "not a conformance report: missing field `total`",
        ),
        (
            "{\"requestedLevel\": 1, \"conformanceLevel\": 1, \"categories\": [{\"name\": \"Speed\"}], \
             \"summary\": {\"total\": 0, \"passed\": 0, \"warned\": 0, \"failed\": 0, \"skipped\": 0}}",
            "not a conformance report: unknown variant `Speed`, expected one of `Introspection Fidelity`",
        ),
    ];
    for (text, expected) in table {
        let problem = json::parse(text).unwrap_err().to_string();
        assert!(problem.starts_with(expected), "{text}: {problem}");
    }
}
