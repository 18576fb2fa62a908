//! Writes one page of the matching items, in any of the three styles.

use std::cmp::Ordering;

use aquifer_protocol::warning::Warning;
use serde_json::{Map, Value, json};

use super::{Match, PageEnd, compare_positions, page_truncated, project_all, related_items, sort_position};
use crate::answer::table;
use crate::budget::{self, Budget, PageBudget};
use crate::collection::Collection;
use crate::cursor::CursorKey;
use crate::plan::{Page, Plan};

pub(super) fn write_page(
    collection: &Collection,
    plan: &Plan,
    sorted: &[Match<'_>],
    key: &CursorKey,
    budget: Option<&Budget>,
    data: &mut Map<String, Value>,
    warnings: &mut Vec<Warning>,
) {
    let all = sorted.len();
    let order = plan.order(collection);
    let beyond = |place_of: &[Value], side: Ordering| {
        sorted
            .iter()
            .filter(|hit| compare_positions(&order, plan, &sort_position(&order, plan, hit), place_of) != side)
            .count()
    };
    let (start, end) = match &plan.page {
        Page::Forward { size, after } => {
            // Everything that is not after the position.
            let start = after.as_ref().map_or(0, |after| beyond(after, Ordering::Greater));
            (start, (start + size).min(all))
        }
        Page::Backward { size, before } => {
            let end = before.as_ref().map_or(all, |before| all - beyond(before, Ordering::Less));
            (end.saturating_sub(*size), end)
        }
        Page::Offset { limit, offset } => ((*offset).min(all), offset.saturating_add(*limit).min(all)),
        Page::Numbered { page, size } => {
            let start = page.saturating_sub(1).saturating_mul(*size).min(all);
            (start, start.saturating_add(*size).min(all))
        }
    };
    let range = (start, end);
    let (start, end) = limit_bytes(collection, plan, sorted, range, warnings);
    let position_bytes =
        |hit: &Match<'_>| serde_json::to_string(&sort_position(&order, plan, hit)).map_or(0, |text| text.len());
    let Limited { start, end, shortened } = match budget {
        Some(budget) => limit_tokens(plan, sorted, (start, end), range, budget, &position_bytes, warnings),
        None => Limited { start, end, shortened: None },
    };
    let shown = sorted.get(start..end).unwrap_or_default();
    let cursor = |hit: &Match<'_>| key.seal(&sort_position(&order, plan, hit), collection, plan);
    let mut shortened = shortened;
    let mut write = |hit: &Match<'_>| shortened.take().unwrap_or_else(|| write_item(hit.item, plan));
    if plan.table {
        data.insert(table::COLUMNS.to_owned(), table::columns(&plan.select, &plan.embeds).into());
        data.insert(table::ROWS.to_owned(), shown.iter().map(write).collect());
    } else if plan.edges {
        let edges = shown.iter().map(|hit| json!({ "node": write(hit), "cursor": cursor(hit) }));
        data.insert("edges".to_owned(), edges.collect());
    } else {
        data.insert("items".to_owned(), shown.iter().map(write).collect());
    }
    match &plan.page {
        Page::Forward { .. } | Page::Backward { .. } => {
            // There are, or were, items on the side the cursor comes from. Checking again would cost a second scan.
            let (has_next, has_previous) = match &plan.page {
                Page::Backward { before, .. } => (before.is_some(), start > 0),
                page => (end < all, matches!(page, Page::Forward { after: Some(_), .. })),
            };
            let mut info = Map::new();
            info.insert("hasNextPage".to_owned(), has_next.into());
            info.insert("hasPreviousPage".to_owned(), has_previous.into());
            if let (Some(first), Some(last)) = (shown.first(), shown.last()) {
                info.insert("startCursor".to_owned(), cursor(first).into());
                info.insert("endCursor".to_owned(), cursor(last).into());
            }
            if plan.total {
                info.insert("totalCount".to_owned(), all.into());
            }
            data.insert("pageInfo".to_owned(), Value::Object(info));
        }
        Page::Offset { limit, offset } => {
            let mut info = json!({ "limit": limit, "offset": offset, "returned": shown.len() });
            insert_some(&mut info, "total_items", plan.total.then_some(all));
            insert_some(&mut info, "has_more", Some(end < all));
            data.insert("pagination".to_owned(), info);
        }
        Page::Numbered { page, size } => {
            let mut info = json!({ "page": page, "page_size": size });
            insert_some(&mut info, "total_items", plan.total.then_some(all));
            insert_some(&mut info, "total_pages", plan.total.then(|| all.div_ceil((*size).max(1))));
            insert_some(&mut info, "has_more", Some(end < all));
            data.insert("pagination".to_owned(), info);
        }
    }
}

/// An item as the answer shows it.
fn write_item(item: &Value, plan: &Plan) -> Value {
    if plan.table { table_row(item, plan) } else { project_all(item, plan) }
}

/// An item as a row of a table.
fn table_row(item: &Value, plan: &Plan) -> Value {
    let related = plan.embeds.iter().map(|embed| related_items(item, embed));
    table::cells(item, &plan.select).chain(related).collect()
}

fn insert_some(info: &mut Value, name: &str, value: Option<impl Into<Value>>) {
    if let (Some(info), Some(value)) = (info.as_object_mut(), value) {
        info.insert(name.to_owned(), value.into());
    }
}

/// Reduces the page to the byte limit, but to at least one item.
fn limit_bytes(
    collection: &Collection,
    plan: &Plan,
    sorted: &[Match<'_>],
    (start, end): (usize, usize),
    warnings: &mut Vec<Warning>,
) -> (usize, usize) {
    let page = sorted.get(start..end).unwrap_or_default();
    let mut bytes = 0;
    let mut fits = |hit: &Match<'_>| {
        bytes += write_item(hit.item, plan).to_string().len() + 1;
        bytes <= collection.pages.max_bytes
    };
    let backward = matches!(plan.page, Page::Backward { .. });
    let kept = if backward {
        page.iter().rev().take_while(|hit| fits(hit)).count()
    } else {
        page.iter().take_while(|hit| fits(hit)).count()
    };
    let kept = kept.max(1).min(page.len());
    if kept < page.len() {
        warnings.push(page_truncated(&plan.page, kept, page.len(), PageEnd::Bytes(collection.pages.max_bytes)));
    }
    if backward { (end - kept, end) } else { (start, start + kept) }
}

/// The part of a page that fits.
struct Limited {
    start: usize,
    end: usize,
    /// The only item of the page, shortened, if it does not fit in full.
    shortened: Option<Value>,
}

/// Reduces the page to the budget. An item that does not fit by itself is shortened. `requested` is the page
/// before any limit.
fn limit_tokens(
    plan: &Plan,
    sorted: &[Match<'_>],
    (start, end): (usize, usize),
    requested: (usize, usize),
    budget: &Budget,
    position_bytes: &dyn Fn(&Match<'_>) -> usize,
    warnings: &mut Vec<Warning>,
) -> Limited {
    let backward = matches!(plan.page, Page::Backward { .. });
    let mut page: Vec<&Match<'_>> = sorted.get(start..end).unwrap_or_default().iter().collect();
    if backward {
        page.reverse();
    }
    let mut limit = PageBudget::new(&table_budget(plan, *budget), plan.edges);
    let (mut kept, mut shortened) = (0, None);
    for hit in &page {
        let (item, cursor) = (write_item(hit.item, plan), position_bytes(hit));
        if !limit.admit(budget::estimate_value(&item), cursor) {
            if kept == 0 {
                let mut cuts = Vec::new();
                shortened = Some(shrink_item(item, plan, limit.room_for_first(cursor), &mut cuts));
                // The parts of an item may take slightly less than the item, so that nothing has to be cut.
                if !cuts.is_empty() {
                    warnings.push(budget::shortened(&cuts, limit.max_tokens()));
                }
                kept = 1;
            }
            break;
        }
        kept += 1;
    }
    if kept < page.len() {
        warnings.retain(|warning| warning.code() != "RESULT_PAGED");
        warnings.push(page_truncated(&plan.page, kept, requested.1 - requested.0, PageEnd::Tokens(limit.max_tokens())));
    }
    let (start, end) = if backward { (end - kept, end) } else { (start, start + kept) };
    Limited { start, end, shortened }
}

/// The budget that remains for the rows of a table.
fn table_budget(plan: &Plan, mut budget: Budget) -> Budget {
    if plan.table {
        budget.spend(table::columns_tokens(&plan.select, &plan.embeds));
    }
    budget
}

fn shrink_item(item: Value, plan: &Plan, room: usize, cuts: &mut Vec<budget::Cut>) -> Value {
    match item {
        Value::Array(cells) if plan.table => {
            budget::shrink_row(cells, &table::columns(&plan.select, &plan.embeds), room, cuts).into()
        }
        item => budget::shrink(item, room, cuts),
    }
}
