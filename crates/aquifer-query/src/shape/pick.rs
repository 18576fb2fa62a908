//! Which rows of a result are shown: the plan over rows, by their numbers, so that rows can be moved or copied later.
//!
//! What matches, in which order, and what sums come to is decided by the language's own code. A place in the order is
//! a number here: the result is held as it is and changes under nobody.

use std::cmp::Ordering;

use aquifer_protocol::error::Failure;
use aquifer_protocol::error::problems::explain_unknown;
use aquifer_protocol::warning::Warning;
use serde_json::{Value, json};

use super::asked::Asked;
use super::{infer, project};
use crate::collection::{Collection, FieldType, Pages};
use crate::evaluate::{self, Matched, aggregate, matches};
use crate::plan::{Filter, Page, Path, Plan, Test};

/// Where a page begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageStart {
    /// Nobody said.
    Start,
    /// After this place.
    After(usize),
    /// Before this place.
    Before(usize),
}

/// Rows that were picked, not yet taken.
#[derive(Debug)]
pub struct Picked {
    /// The numbers of all rows that match, in order.
    pub(super) order: Vec<usize>,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Which parts of them; all if nothing was said.
    pub(super) select: Option<Vec<Path>>,
    pub(super) aggregations: Option<Value>,
    pub(super) page: Page,
    pub(super) items: bool,
    pub(super) edges: bool,
    pub(super) total: bool,
    pub(super) paged: bool,
    /// What was not taken quite as it was said.
    pub warnings: Vec<Warning>,
}

impl Picked {
    /// Picks rows: of the collection that they are known to be of, else of one described from themselves, which pages
    /// like this.
    pub fn new(rows: &[Value], asked: &Asked, from: PageStart, pages: Pages) -> Result<Self, Failure> {
        let inferred = match asked.collection() {
            Some(_) => None,
            None => Some(infer::collection(rows, Pages { default: rows.len().clamp(1, pages.largest), ..pages })),
        };
        let collection = asked.collection().or(inferred.as_ref()).ok_or_else(|| Failure::internal("no collection"))?;
        let pages = collection.pages;
        let read = asked.read(collection, rows.len())?;
        let (plan, mut warnings) = (read.plan, read.warnings);
        let select = (!asked.wants_whole_rows()).then_some(plan.select.as_slice());
        if collection.open {
            warnings.extend(not_found(rows, collection, &plan, select));
        }
        let mut order: Vec<usize> = rows
            .iter()
            .enumerate()
            .filter(|(_, row)| plan.filter.as_ref().is_none_or(|filter| fits(filter, row)))
            .map(|(number, _)| number)
            .collect();
        let aggregations = (!plan.aggregates.is_empty()).then(|| {
            let matched = order.iter().filter_map(|number| rows.get(*number)).map(|item| Matched { item, rank: 0 });
            aggregate::all(&plan.aggregates, &matched.collect::<Vec<_>>(), &mut warnings)
        });
        if plan.items && !plan.sort.is_empty() {
            order.sort_by(|a, b| by_keys(&plan, rows.get(*a), rows.get(*b)));
        }
        let (start, end) = range(&plan.page, from, order.len());
        let (start, end) = light_enough(rows, &order, (start, end), &plan, select, pages.bytes, &mut warnings);
        Ok(Self {
            start,
            end,
            select: select.map(<[Path]>::to_vec),
            aggregations,
            items: plan.items,
            edges: plan.edges,
            total: plan.total,
            paged: asked.is_paged() || asked.collection().is_some(),
            page: plan.page,
            order,
            warnings,
        })
    }

    /// Whether there are rows besides those shown, or places that a caller may come back to.
    pub fn is_part(&self) -> bool {
        self.items && (self.start > 0 || self.end < self.order.len() || self.edges)
    }

    /// How many rows are shown.
    pub fn shown(&self) -> usize {
        if self.items { self.end.saturating_sub(self.start) } else { 0 }
    }

    /// Whether items are shown.
    pub fn has_items(&self) -> bool {
        self.items
    }
}

/// Whether a row fits a condition. A path through a list fits if any element does.
fn fits(filter: &Filter, row: &Value) -> bool {
    match filter {
        Filter::And(parts) => parts.iter().all(|part| fits(part, row)),
        Filter::Or(parts) => parts.iter().any(|part| fits(part, row)),
        Filter::Not(inner) => !fits(inner, row),
        Filter::Test { path, of, test } => {
            let Some(value) = row.get(&*path.name) else { return matches::passes(test, of, &Value::Null) };
            if path.inside.is_empty() {
                return matches::passes(test, of, value);
            }
            match test {
                Test::IsNull => !project::any(value, &path.inside, &mut |value| !value.is_null()),
                test => project::any(value, &path.inside, &mut |value| matches::passes(test, of, value)),
            }
        }
    }
}

fn by_keys(plan: &Plan, a: Option<&Value>, b: Option<&Value>) -> Ordering {
    let (Some(a), Some(b)) = (a, b) else { return Ordering::Equal };
    plan.sort
        .iter()
        .map(|key| key.compare(evaluate::at(a, &key.path), evaluate::at(b, &key.path)))
        .find(|order| *order != Ordering::Equal)
        .unwrap_or(Ordering::Equal)
}

fn range(page: &Page, from: PageStart, all: usize) -> (usize, usize) {
    match (page, from) {
        (Page::Forward { size, .. }, from) => {
            let start = if let PageStart::After(place) = from { place.saturating_add(1).min(all) } else { 0 };
            (start, start.saturating_add(*size).min(all))
        }
        (Page::Backward { size, .. }, from) => {
            let end = if let PageStart::Before(place) = from { place.min(all) } else { all };
            (end.saturating_sub(*size), end)
        }
        (Page::Offset { limit, offset }, _) => ((*offset).min(all), offset.saturating_add(*limit).min(all)),
        (Page::Numbered { page, size }, _) => {
            let start = page.saturating_sub(1).saturating_mul(*size).min(all);
            (start, start.saturating_add(*size).min(all))
        }
    }
}

/// As much of a page as is not too heavy, one row in any case.
fn light_enough(
    rows: &[Value],
    order: &[usize],
    (start, end): (usize, usize),
    plan: &Plan,
    select: Option<&[Path]>,
    most: usize,
    warnings: &mut Vec<Warning>,
) -> (usize, usize) {
    if !plan.items {
        return (start, end);
    }
    let page = order.get(start..end).unwrap_or_default();
    let mut bytes = 0;
    let mut fits = |number: &&usize| {
        bytes += rows.get(**number).map_or(0, |row| project::size(row, select) + 1);
        bytes <= most
    };
    let backward = matches!(plan.page, Page::Backward { .. });
    let kept = if backward {
        page.iter().rev().take_while(&mut fits).count()
    } else {
        page.iter().take_while(&mut fits).count()
    };
    let kept = kept.max(1).min(page.len());
    if kept < page.len() {
        warnings.push(evaluate::page_cut(&plan.page, kept, page.len(), most));
    }
    if backward { (end - kept, end) } else { (start, start + kept) }
}

/// Names that were used without anybody knowing whether there is such a thing, and there is none (R-COL-5, R-COL-11).
fn not_found(rows: &[Value], collection: &Collection, plan: &Plan, select: Option<&[Path]>) -> Option<Warning> {
    if rows.is_empty() {
        return None;
    }
    let mut used: Vec<&Path> = select.filter(|_| plan.items).into_iter().flatten().collect();
    plan.filter.iter().for_each(|filter| tested(filter, &mut used));
    used.extend(plan.sort.iter().map(|key| &key.path));
    for aggregate in &plan.aggregates {
        used.extend(aggregate.group_by.iter().map(|(path, _): &(Path, FieldType)| path));
        used.extend(aggregate.functions.iter().filter_map(|function| function.path()));
    }
    let mut lacking: Vec<String> = Vec::new();
    for path in used {
        let name = path.to_string();
        if !lacking.contains(&name) && !rows.iter().any(|row| project::has(row, path)) {
            lacking.push(name);
        }
    }
    (!lacking.is_empty()).then(|| missing(&lacking, collection))
}

pub(super) fn missing(lacking: &[String], collection: &Collection) -> Warning {
    const MAX_COUNT: usize = 40;
    let known = collection.names(|_| true);
    let (shown, hint, suggestions) = explain_unknown(lacking, &known);
    let message = format!("No row has {shown}.{hint}");
    let warning = Warning::new("FIELD_NOT_FOUND", message)
        .detail("fields", lacking.iter().map(|name| name.chars().take(128).collect::<String>()).collect::<Vec<_>>());
    let warning = suggestions.into_iter().fold(warning, |warning, (name, value)| warning.detail(&name, value));
    warning.detail("available", json!(known.get(..MAX_COUNT).unwrap_or(&known)))
}

fn tested<'a>(filter: &'a Filter, used: &mut Vec<&'a Path>) {
    match filter {
        Filter::And(parts) | Filter::Or(parts) => parts.iter().for_each(|part| tested(part, used)),
        Filter::Not(inner) => tested(inner, used),
        Filter::Test { path, .. } => used.push(path),
    }
}
