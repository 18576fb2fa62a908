//! Budgets.

use aquifer_tokens::Counts;
use aquifer_tokens::compare::Comparison;
use aquifer_tokens::report::Report;

use crate::fixture::{own, report, single};

fn grown(by: usize) -> (Report, Report) {
    let before = report(&[own()], &[single()], None, false);
    let mut after = before.clone();
    let connect = &mut after.surfaces[0].connect;
    // Only in one encoding: that is enough.
    connect.cl100k_base += by;
    (before, after)
}

#[test]
fn a_figure_may_grow_up_to_the_budget_and_no_further() {
    let (before, _) = grown(0);
    let tokens = before.surfaces[0].connect.cl100k_base;
    for (by, budget, exceeded) in
        [(0, 0.0, 0), (1, 0.0, 1), (tokens / 10, 10.0, 0), (tokens / 10 + 1, 10.0, 1), (tokens, 100.0, 0)]
    {
        let (before, after) = grown(by);
        let found = Comparison::of(&before, &after, budget).unwrap();
        assert_eq!(found.exceeded, exceeded, "{by} more of {tokens} at {budget} %");
    }
    // What shrinks exceeds nothing.
    let (before, after) = grown(5);
    assert_eq!(Comparison::of(&after, &before, 0.0).unwrap().exceeded, 0);
}

#[test]
fn what_only_one_has_is_told_and_nothing_in_common_is_nothing_to_compare() {
    let (before, mut after) = grown(0);
    after.tasks.clear();
    let found = Comparison::of(&before, &after, 0.0).unwrap();
    assert_eq!(found.exceeded, 0);
    let told = found.to_string();
    assert!(told.contains("task 'list_things': single") && told.contains("gone: "), "{told}");
    assert!(Comparison::of(&after, &before, 0.0).unwrap().to_string().contains("new: "));
    let empty = Report { surfaces: Vec::new(), introspection: None, tasks: Vec::new(), ..before.clone() };
    assert_eq!(Comparison::of(&before, &empty, 0.0), None);
}

#[test]
fn the_table_shows_what_changed_and_the_verdict() {
    let (before, mut after) = grown(0);
    after.surfaces[0].connect = after.surfaces[0].connect + Counts { o200k_base: 30, cl100k_base: 30 };
    let told = Comparison::of(&before, &after, 5.0).unwrap().to_string();
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 3, "{told}");
    assert!(lines[1].starts_with("connect: direct") && lines[1].ends_with("over budget"), "{told}");
    assert!(lines[2].contains("1 of") && lines[2].contains("budget of 5 %"), "{told}");
    let same = Comparison::of(&before, &before, 5.0).unwrap().to_string();
    assert!(same.starts_with("Within the budget of 5 %: 0 changed"), "{same}");
}
