//! Writes one page of the matching items, in any of the three styles.

use std::cmp::Ordering;

use serde_json::{Map, Value, json};

use super::{Match, Warnings, compare_positions, page_truncated, project, sort_position};
use crate::collection::Collection;
use crate::cursor::CursorKey;
use crate::plan::{Page, Plan};

pub(super) fn write_page(
    collection: &Collection,
    plan: &Plan,
    sorted: &[Match<'_>],
    key: &CursorKey,
    data: &mut Map<String, Value>,
    warnings: &mut Warnings,
) {
    let all = sorted.len();
    let order = plan.order(collection);
    let beyond = |place_of: &[Value], side: Ordering| {
        sorted
            .iter()
            .filter(|one| compare_positions(&order, plan, &sort_position(&order, plan, one), place_of) != side)
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
    let (start, end) = limit_bytes(collection, plan, sorted, (start, end), warnings);
    let shown = sorted.get(start..end).unwrap_or_default();
    let cursor = |one: &Match<'_>| key.seal(&sort_position(&order, plan, one), collection, plan);
    if plan.edges {
        let edges = shown.iter().map(|one| json!({ "node": project(one.item, &plan.select), "cursor": cursor(one) }));
        data.insert("edges".to_owned(), edges.collect());
    } else {
        data.insert("items".to_owned(), shown.iter().map(|one| project(one.item, &plan.select)).collect());
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
    warnings: &mut Warnings,
) -> (usize, usize) {
    let page = sorted.get(start..end).unwrap_or_default();
    let mut bytes = 0;
    let mut fits = |one: &Match<'_>| {
        bytes += project(one.item, &plan.select).to_string().len() + 1;
        bytes <= collection.pages.max_bytes
    };
    let backward = matches!(plan.page, Page::Backward { .. });
    let kept = if backward {
        page.iter().rev().take_while(|one| fits(one)).count()
    } else {
        page.iter().take_while(|one| fits(one)).count()
    };
    let kept = kept.max(1).min(page.len());
    if kept < page.len() {
        warnings.push(page_truncated(&plan.page, kept, page.len(), collection.pages.max_bytes));
    }
    if backward { (end - kept, end) } else { (start, start + kept) }
}
