//! Comparisons with a budget.

use aquifer_tokens::TokenCounts;
use aquifer_tokens::compare::Comparison;
use aquifer_tokens::report::Report;

use crate::fixture::{own, report, single};

fn grown(by: usize) -> (Report, Report) {
    let before = report(&[own()], &[single()], None, false);
    let mut after = before.clone();
    let connect = &mut after.surfaces[0].connect;
    // Growth in one encoding is enough.
    connect.cl100k_base += by;
    (before, after)
}

#[test]
fn growth_within_the_budget_is_allowed_and_more_exceeds_it() {
    let (before, _) = grown(0);
    let tokens = before.surfaces[0].connect.cl100k_base;
    for (by, budget, exceeded) in
        [(0, 0.0, 0), (1, 0.0, 1), (tokens / 10, 10.0, 0), (tokens / 10 + 1, 10.0, 1), (tokens, 100.0, 0)]
    {
        let (before, after) = grown(by);
        let found = Comparison::between(&before, &after, budget).unwrap();
        assert_eq!(found.exceeded, exceeded, "{by} more of {tokens} at {budget} %");
    }
    // A smaller figure never exceeds the budget.
    let (before, after) = grown(5);
    assert_eq!(Comparison::between(&after, &before, 0.0).unwrap().exceeded, 0);
}

#[test]
fn figures_in_one_report_only_are_shown_and_reports_without_common_figures_are_not_compared() {
    let (before, mut after) = grown(0);
    after.tasks.clear();
    let found = Comparison::between(&before, &after, 0.0).unwrap();
    assert_eq!(found.exceeded, 0);
    let text = found.to_string();
    assert!(text.contains("task 'list_things': single") && text.contains("gone: "), "{text}");
    assert!(Comparison::between(&after, &before, 0.0).unwrap().to_string().contains("new: "));
    let empty = Report { surfaces: Vec::new(), introspection: None, tasks: Vec::new(), ..before.clone() };
    assert_eq!(Comparison::between(&before, &empty, 0.0), None);
}

#[test]
fn the_table_shows_what_changed_and_the_verdict() {
    let (before, mut after) = grown(0);
    after.surfaces[0].connect = after.surfaces[0].connect + TokenCounts { o200k_base: 30, cl100k_base: 30 };
    let text = Comparison::between(&before, &after, 5.0).unwrap().to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines[1].starts_with("connect: direct") && lines[1].ends_with("over budget"), "{text}");
    assert!(lines[2].contains("1 of") && lines[2].contains("budget of 5 %"), "{text}");
    let same = Comparison::between(&before, &before, 5.0).unwrap().to_string();
    assert!(same.starts_with("Within the budget of 5 %: 0 changed"), "{same}");
}
