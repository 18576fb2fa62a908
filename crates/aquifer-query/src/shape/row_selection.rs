//! Selects the rows of a result, by index, so that they can be moved or copied later.
//!
//! Matching, order and aggregates use the code of the collection language. A position in the order is an index here,
//! because a held result does not change.

use std::cmp::Ordering;

use aquifer_protocol::error::Failure;
use aquifer_protocol::error::problems::explain_unknown;
use aquifer_protocol::warning::Warning;
use serde_json::{Map, Value, json};

use super::request::ShapingRequest;
use super::{infer, project};
use crate::answer::table;
use crate::budget::{Budget, PageBudget, estimate_value};
use crate::collection::{Collection, FieldType, PageLimits};
use crate::evaluate::{self, Match, PageEnd, aggregate, filter};
use crate::plan::{Filter, Page, Path, Plan, Test};
use crate::work::Work;

/// The position before the first row, where an empty page of an unfinished list ends.
pub(super) const BEFORE_FIRST: usize = usize::MAX;

/// Where a page begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageStart {
    /// Without a cursor.
    Start,
    /// After this position.
    After(usize),
    /// Before this position.
    Before(usize),
}

/// The selected rows of a result.
#[derive(Debug)]
pub struct RowSelection {
    /// The indexes of all matching rows, in order.
    pub(super) order: Vec<usize>,
    pub(super) start: usize,
    pub(super) end: usize,
    /// The selected fields; `None` for whole rows.
    pub(super) select: Option<Vec<Path>>,
    /// The results of the aggregates, as members of the answer.
    pub(super) aggregations: Map<String, Value>,
    pub(super) page: Page,
    pub(super) items: bool,
    pub(super) table: bool,
    pub(super) edges: bool,
    pub(super) total: bool,
    pub(super) paged: bool,
    /// Whether the source has more rows than these.
    pub(super) is_open: bool,
    /// Whether the source may have more rows than these, which cannot be fetched.
    pub(super) is_partial: bool,
    /// Whether all rows are needed: they are sorted, counted, aggregated, or taken from the end.
    needs_all: bool,
    /// The tokens that the only row of the page may take, if it does not fit in full.
    pub(super) room: Option<usize>,
    /// The budget as the caller knows it.
    pub(super) max_tokens: usize,
    /// Warnings about the request.
    pub warnings: Vec<Warning>,
}

impl RowSelection {
    /// Selects rows. Without a known collection, one is inferred from the rows, with the given page limits.
    pub fn new(
        rows: &[Value],
        request: &ShapingRequest,
        start_at: PageStart,
        pages: PageLimits,
    ) -> Result<Self, Failure> {
        Self::within(rows, request, start_at, pages, 0, &Work::unlimited())
    }

    /// Like [`new`](Self::new), where other parts of the answer take `reserved` tokens of its budget. Fails if it takes
    /// more work than allowed.
    pub fn within(
        rows: &[Value],
        request: &ShapingRequest,
        start_at: PageStart,
        pages: PageLimits,
        reserved: usize,
        work: &Work<'_>,
    ) -> Result<Self, Failure> {
        let inferred = match request.collection() {
            Some(_) => None,
            None => Some(infer::infer_collection(
                rows,
                PageLimits { default_size: rows.len().clamp(1, pages.max_size), ..pages },
            )),
        };
        let collection =
            request.collection().or(inferred.as_ref()).ok_or_else(|| Failure::internal("no collection"))?;
        let pages = collection.pages;
        let parsed = request.parse(collection, rows.len())?;
        let (plan, mut warnings) = (parsed.plan, parsed.warnings);
        let select = (!request.selects_whole_rows()).then_some(plan.select.as_slice());
        if collection.open {
            warnings.extend(unknown_paths_warning(rows, collection, &plan, select, work));
        }
        let mut order: Vec<usize> = rows
            .iter()
            .enumerate()
            .take_while(|_| !work.is_stopped())
            .filter(|(_, row)| plan.filter.as_ref().is_none_or(|filter| matches_row(filter, row, work)))
            .map(|(number, _)| number)
            .collect();
        let mut budget = request.max_tokens().map(Budget::new);
        if let Some(budget) = &mut budget {
            budget.spend(reserved);
        }
        let mut aggregations = Map::new();
        if !plan.aggregates.is_empty() {
            let matched = order.iter().filter_map(|number| rows.get(*number)).map(|item| Match { item, rank: 0 });
            let matched: Vec<Match<'_>> = matched.collect();
            aggregate::insert_all(&plan, &matched, budget.as_mut(), work, &mut aggregations, &mut warnings);
        }
        if plan.items && !plan.sort.is_empty() {
            work.sort_by(&mut order, |a, b| compare_rows(&plan, rows.get(*a), rows.get(*b), work));
        }
        work.check()?;
        let (start, end) = page_range(&plan.page, start_at, order.len());
        let requested = end - start;
        let (start, end) = limit_bytes(rows, &order, (start, end), &plan, select, (pages.max_bytes, work));
        work.check()?;
        if end - start < requested {
            let reason = PageEnd::Bytes(pages.max_bytes);
            warnings.push(evaluate::page_truncated(&plan.page, end - start, requested, reason));
        }
        let limited = match &budget {
            Some(budget) if plan.items => limit_tokens(rows, &order, (start, end), &plan, select, budget),
            _ => Limited { start, end, room: None },
        };
        if limited.end - limited.start < end - start {
            let reason = PageEnd::Tokens(request.max_tokens().unwrap_or_default());
            warnings.retain(|warning| warning.code() != "RESULT_PAGED");
            warnings.push(evaluate::page_truncated(&plan.page, limited.end - limited.start, requested, reason));
        }
        let Limited { start, end, room } = limited;
        Ok(Self {
            start,
            end,
            select: select.map(<[Path]>::to_vec),
            aggregations,
            items: plan.items,
            table: plan.table,
            edges: plan.edges,
            total: plan.total,
            paged: request.is_paged() || request.collection().is_some(),
            is_open: false,
            is_partial: false,
            needs_all: plan.needs_all_rows(),
            room,
            max_tokens: request.max_tokens().unwrap_or_default(),
            page: plan.page,
            order,
            warnings,
        })
    }

    /// Marks that the source has more rows than these.
    #[must_use]
    pub fn open_ended(self) -> Self {
        Self { is_open: true, ..self }
    }

    /// Marks that the source may have more rows, which cannot be fetched.
    #[must_use]
    pub fn partial(self) -> Self {
        Self { is_partial: true, ..self }
    }

    /// Whether rows are missing that the source may still have.
    pub fn needs_more_rows(&self) -> bool {
        self.is_open && (self.needs_all || (self.end == self.order.len() && self.shown() < self.page.size()))
    }

    /// Whether the order and the counts are those of all rows, so that rows cannot be added later.
    pub fn needs_all_rows(&self) -> bool {
        self.needs_all
    }

    /// Whether there are further rows, or cursors that a caller may come back with.
    pub fn is_part(&self) -> bool {
        self.items && (self.start > 0 || self.end < self.order.len() || self.edges || self.is_open)
    }

    /// The number of rows on the page.
    pub fn shown(&self) -> usize {
        if self.items { self.end.saturating_sub(self.start) } else { 0 }
    }

    /// Whether items are returned.
    pub fn has_items(&self) -> bool {
        self.items
    }
}

/// Whether a row matches a filter. A path through a list matches if any element does.
fn matches_row(filter: &Filter, row: &Value, work: &Work<'_>) -> bool {
    match filter {
        Filter::And(parts) => parts.iter().all(|part| matches_row(part, row, work)),
        Filter::Or(parts) => parts.iter().any(|part| matches_row(part, row, work)),
        Filter::Not(inner) => !matches_row(inner, row, work),
        Filter::Compare { .. } | Filter::Calculate { .. } | Filter::Related { .. } => {
            work.spend(4);
            filter::matches_filter(filter, row)
        }
        Filter::Test { path, field_type, test } => {
            let Some(value) = row.get(&*path.name) else { return filter::passes_test(test, field_type, &Value::Null) };
            if path.inside.is_empty() {
                return passes_within(test, field_type, value, work);
            }
            match test {
                Test::IsNull => !project::any_value(value, &path.inside, work, &mut |value| !value.is_null()),
                test => project::any_value(value, &path.inside, work, &mut |value| {
                    passes_within(test, field_type, value, work)
                }),
            }
        }
    }
}

/// Tests a value at the expense of the work. Once that is used up, nothing passes.
fn passes_within(test: &Test, field_type: &FieldType, value: &Value, work: &Work<'_>) -> bool {
    let each = match field_type {
        FieldType::Time => 8,
        _ => 1,
    };
    work.spend_on(value);
    work.spend(match (test, value) {
        (Test::In(bounds), _) => each * bounds.len(),
        // The text is folded to one case first.
        (Test::Contains(_) | Test::StartsWith(_) | Test::EndsWith(_), Value::String(text)) => each + text.len() / 16,
        _ => each,
    });
    !work.is_stopped() && filter::passes_test(test, field_type, value)
}

fn compare_rows(plan: &Plan, a: Option<&Value>, b: Option<&Value>, work: &Work<'_>) -> Ordering {
    let (Some(a), Some(b)) = (a, b) else { return Ordering::Equal };
    plan.sort
        .iter()
        .map(|key| {
            let (a, b) = (evaluate::value_at(a, &key.path), evaluate::value_at(b, &key.path));
            work.spend_on(a);
            key.compare(a, b)
        })
        .find(|order| *order != Ordering::Equal)
        .unwrap_or(Ordering::Equal)
}

fn page_range(page: &Page, start_at: PageStart, all: usize) -> (usize, usize) {
    match (page, start_at) {
        (Page::Forward { size, .. }, start_at) => {
            let start = match start_at {
                PageStart::After(BEFORE_FIRST) | PageStart::Start | PageStart::Before(_) => 0,
                PageStart::After(place) => place.saturating_add(1).min(all),
            };
            (start, start.saturating_add(*size).min(all))
        }
        (Page::Backward { size, .. }, start_at) => {
            let end = if let PageStart::Before(place) = start_at { place.min(all) } else { all };
            (end.saturating_sub(*size), end)
        }
        (Page::Offset { limit, offset }, _) => ((*offset).min(all), offset.saturating_add(*limit).min(all)),
        (Page::Numbered { page, size }, _) => {
            let start = page.saturating_sub(1).saturating_mul(*size).min(all);
            (start, start.saturating_add(*size).min(all))
        }
    }
}

/// Reduces the page to the byte limit, but to at least one row.
fn limit_bytes(
    rows: &[Value],
    order: &[usize],
    (start, end): (usize, usize),
    plan: &Plan,
    select: Option<&[Path]>,
    (max_bytes, work): (usize, &Work<'_>),
) -> (usize, usize) {
    if !plan.items {
        return (start, end);
    }
    let page = order.get(start..end).unwrap_or_default();
    let mut bytes = 0;
    let mut fits = |number: &&usize| {
        bytes += rows.get(**number).map_or(0, |row| project::estimated_size(row, select, work) + 1);
        bytes <= max_bytes
    };
    let backward = matches!(plan.page, Page::Backward { .. });
    let kept = if backward {
        page.iter().rev().take_while(&mut fits).count()
    } else {
        page.iter().take_while(&mut fits).count()
    };
    let kept = kept.max(1).min(page.len());
    if backward { (end - kept, end) } else { (start, start + kept) }
}

/// The part of a page that fits.
struct Limited {
    start: usize,
    end: usize,
    room: Option<usize>,
}

/// Reduces the page to the budget, but to at least one row, which is shortened later.
fn limit_tokens(
    rows: &[Value],
    order: &[usize],
    (start, end): (usize, usize),
    plan: &Plan,
    select: Option<&[Path]>,
    budget: &Budget,
) -> Limited {
    /// A position is a number, next to the id of the held result.
    const POSITION_BYTES: usize = 12;
    let mut budget = *budget;
    if let (true, Some(select)) = (plan.table, select) {
        budget.spend(table::columns_tokens(select, &[]));
    }
    let mut limit = PageBudget::new(&budget, plan.edges);
    let projection = select.map(project::Projection::new);
    let mut admit = |number: &&usize| {
        let Some(row) = rows.get(**number) else { return true };
        let tokens = match (&projection, select) {
            (Some(_), Some(select)) if plan.table => estimate_value(&table::cells(row, select).collect()),
            (Some(projection), _) => estimate_value(&projection.copy(row)),
            (None, _) => estimate_value(row),
        };
        limit.admit(tokens, POSITION_BYTES)
    };
    let page = order.get(start..end).unwrap_or_default();
    let backward = matches!(plan.page, Page::Backward { .. });
    let kept = if backward {
        page.iter().rev().take_while(&mut admit).count()
    } else {
        page.iter().take_while(&mut admit).count()
    };
    let room = (kept == 0 && !page.is_empty()).then(|| limit.room_for_first(POSITION_BYTES));
    let kept = kept.max(1).min(page.len());
    let (start, end) = if backward { (end - kept, end) } else { (start, start + kept) };
    Limited { start, end, room }
}

/// The warning for paths that no row has (R-COL-5, R-COL-11).
fn unknown_paths_warning(
    rows: &[Value],
    collection: &Collection,
    plan: &Plan,
    select: Option<&[Path]>,
    work: &Work<'_>,
) -> Option<Warning> {
    if rows.is_empty() {
        return None;
    }
    let mut used: Vec<&Path> = select.filter(|_| plan.items).into_iter().flatten().collect();
    plan.filter.iter().for_each(|filter| collect_tested_paths(filter, &mut used));
    used.extend(plan.sort.iter().map(|key| &key.path));
    for aggregate in &plan.aggregates {
        used.extend(aggregate.group_by.iter().map(|key| &key.path));
        used.extend(aggregate.functions.iter().flat_map(|function| function.paths()));
    }
    let mut lacking: Vec<String> = Vec::new();
    for path in used {
        let name = path.to_string();
        if !lacking.contains(&name) && project::is_lacking(rows, path, work) {
            lacking.push(name);
        }
    }
    (!lacking.is_empty()).then(|| missing_fields_warning("No row has", &lacking, collection))
}

pub(super) fn missing_fields_warning(what_lacks: &str, lacking: &[String], collection: &Collection) -> Warning {
    const MAX_AVAILABLE_FIELDS: usize = 40;
    let available = collection.names(|_| true);
    let (shown, hint, suggestions) = explain_unknown(lacking, &available);
    let message = format!("{what_lacks} {shown}.{hint}");
    let warning = Warning::new("FIELD_NOT_FOUND", message)
        .detail("fields", lacking.iter().map(|name| name.chars().take(128).collect::<String>()).collect::<Vec<_>>());
    let warning = suggestions.into_iter().fold(warning, |warning, (name, value)| warning.detail(&name, value));
    warning.detail("available", json!(available.get(..MAX_AVAILABLE_FIELDS).unwrap_or(&available)))
}

fn collect_tested_paths<'a>(filter: &'a Filter, used: &mut Vec<&'a Path>) {
    match filter {
        Filter::And(parts) | Filter::Or(parts) => parts.iter().for_each(|part| collect_tested_paths(part, used)),
        Filter::Not(inner) => collect_tested_paths(inner, used),
        Filter::Test { path, .. } => used.push(path),
        Filter::Compare { left, right, .. } => used.extend([left, right]),
        Filter::Calculate { left, right, .. } => {
            used.push(left);
            used.extend(right.paths());
        }
        // Its fields are those of the elements of a list.
        Filter::Related { .. } => {}
    }
}
