//! Compares two reports, for budgets in CI.

use std::fmt;

use serde::Serialize;

use crate::count::TokenCounts;
use crate::render::chart::format_thousands;
use crate::report::{Outcome, Report};

/// The differences between two reports.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The allowed growth, in percent.
    pub budget: f64,
    /// The number of figures that grew by more than the budget.
    pub exceeded: usize,
    /// Every figure of either report.
    pub figures: Vec<Difference>,
}

/// One figure in both reports.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The name of the figure.
    pub what: String,
    /// Its value in the first report, if present.
    pub before: Option<TokenCounts>,
    /// Its value in the second report, if present.
    pub after: Option<TokenCounts>,
    /// Whether it grew by more than the budget, in either encoding.
    pub exceeds: bool,
}

impl Comparison {
    /// Compares `after` with `before`. Figures that occur in only one report are listed but never exceed the budget.
    /// Returns `None` if the reports have no figure in common.
    #[must_use]
    pub fn between(before: &Report, after: &Report, budget: f64) -> Option<Self> {
        let (before, after) = (figures(before), figures(after));
        let find = |all: &[(String, TokenCounts)], what: &str| {
            all.iter().find(|(name, _)| name == what).map(|(_, counts)| *counts)
        };
        let mut all: Vec<Difference> = Vec::new();
        let mut common = 0;
        for (what, old) in &before {
            let new = find(&after, what);
            common += usize::from(new.is_some());
            let exceeds = new.is_some_and(|new| {
                let grew = |old: usize, new: usize| new as f64 > old as f64 * (1.0 + budget / 100.0) + 1e-9;
                grew(old.o200k_base, new.o200k_base) || grew(old.cl100k_base, new.cl100k_base)
            });
            all.push(Difference { what: what.clone(), before: Some(*old), after: new, exceeds });
        }
        for (what, new) in &after {
            if find(&before, what).is_none() {
                all.push(Difference { what: what.clone(), before: None, after: Some(*new), exceeds: false });
            }
        }
        let exceeded = all.iter().filter(|difference| difference.exceeds).count();
        (common > 0).then_some(Self { budget, exceeded, figures: all })
    }

    fn changed(&self) -> impl Iterator<Item = &Difference> {
        self.figures.iter().filter(|difference| difference.before != difference.after)
    }
}

/// The compared figures of a report, by stable names.
fn figures(report: &Report) -> Vec<(String, TokenCounts)> {
    let mut all = Vec::new();
    for surface in &report.surfaces {
        let name = surface.kind.as_str();
        all.push((format!("connect: {name}"), surface.connect));
        all.extend(surface.instructions.map(|counts| (format!("instructions: {name}"), counts)));
    }
    if let Some(introspection) = &report.introspection {
        all.push(("list: first page".to_owned(), introspection.list.first_page));
        all.push(("list: all pages".to_owned(), introspection.list.all_pages));
        if let Some(search) = &introspection.search {
            all.push(("search: median".to_owned(), search.median));
        }
        if let Some(detail) = &introspection.detail {
            all.push(("detail: median".to_owned(), detail.median));
            all.push(("detail: largest".to_owned(), detail.largest));
        }
    }
    for task in &report.tasks {
        for run in task.runs.iter().filter(|run| run.outcome == Outcome::Answered) {
            let shaped = if run.shaped { ", shaped" } else { "" };
            all.push((format!("task '{}': {}{shaped}", task.name, run.surface.as_str()), run.total));
        }
    }
    all
}

/// Displays a table of the changes, and the verdict.
impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let changed: Vec<&Difference> = self.changed().collect();
        let width = changed.iter().map(|one| one.what.chars().count()).max().unwrap_or_default();
        if !changed.is_empty() {
            writeln!(f, "{:width$}  {:>27}  {:>27}", "", "o200k_base", "cl100k_base")?;
        }
        for one in &changed {
            let column = |count: fn(&TokenCounts) -> usize| {
                change(one.before.as_ref().map(count), one.after.as_ref().map(count))
            };
            let (first, second) = (column(|counts| counts.o200k_base), column(|counts| counts.cl100k_base));
            let verdict = if one.exceeds { "  over budget" } else { "" };
            writeln!(f, "{:width$}  {first:>27}  {second:>27}{verdict}", one.what)?;
        }
        let same = self.figures.len() - changed.len();
        let budget = self.budget;
        match self.exceeded {
            0 => write!(f, "Within the budget of {budget} %: {} changed, {same} did not.", changed.len()),
            over => write!(f, "{over} of {} figures grew by more than the budget of {budget} %.", self.figures.len()),
        }
    }
}

fn change(before: Option<usize>, after: Option<usize>) -> String {
    match (before, after) {
        (Some(old), Some(new)) => {
            let percent = if old == 0 { f64::INFINITY } else { 100.0 * (new as f64 - old as f64) / old as f64 };
            format!("{} → {} ({percent:+.1} %)", format_thousands(old), format_thousands(new))
        }
        (None, Some(new)) => format!("new: {}", format_thousands(new)),
        (Some(old), None) => format!("gone: {}", format_thousands(old)),
        (None, None) => String::new(),
    }
}
