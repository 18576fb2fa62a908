//! One page of the matching items, in any of the three styles.

use std::cmp::Ordering;

use serde_json::{Map, Value, json};

use super::{Matched, Notes, by_place, page_cut, place, project};
use crate::collection::Collection;
use crate::cursor::CursorKey;
use crate::plan::{Page, Plan};

pub(super) fn cut(
    collection: &Collection,
    plan: &Plan,
    sorted: &[Matched<'_>],
    key: &CursorKey,
    data: &mut Map<String, Value>,
    notes: &mut Notes,
) {
    let all = sorted.len();
    let order = plan.order(collection);
    let beyond = |place_of: &[Value], side: Ordering| {
        sorted.iter().filter(|one| by_place(&order, plan, &place(&order, plan, one), place_of) != side).count()
    };
    let (start, end) = match &plan.page {
        Page::Forward { size, after } => {
            // Everything that is not after the place.
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
    let (start, end) = light_enough(collection, plan, sorted, (start, end), notes);
    let shown = sorted.get(start..end).unwrap_or_default();
    let cursor = |one: &Matched<'_>| key.seal(&place(&order, plan, one), collection, plan);
    if plan.edges {
        let edges = shown.iter().map(|one| json!({ "node": project(one.item, &plan.select), "cursor": cursor(one) }));
        data.insert("edges".to_owned(), edges.collect());
    } else {
        data.insert("items".to_owned(), shown.iter().map(|one| project(one.item, &plan.select)).collect());
    }
    match &plan.page {
        Page::Forward { .. } | Page::Backward { .. } => {
            // On the side a cursor comes from there is something, or was: looking again would cost a second scan.
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
            put(&mut info, "total_items", plan.total.then_some(all));
            put(&mut info, "has_more", Some(end < all));
            data.insert("pagination".to_owned(), info);
        }
        Page::Numbered { page, size } => {
            let mut info = json!({ "page": page, "page_size": size });
            put(&mut info, "total_items", plan.total.then_some(all));
            put(&mut info, "total_pages", plan.total.then(|| all.div_ceil((*size).max(1))));
            put(&mut info, "has_more", Some(end < all));
            data.insert("pagination".to_owned(), info);
        }
    }
}

fn put(info: &mut Value, name: &str, value: Option<impl Into<Value>>) {
    if let (Some(info), Some(value)) = (info.as_object_mut(), value) {
        info.insert(name.to_owned(), value.into());
    }
}

/// As much of a page as is not too heavy, one item in any case.
fn light_enough(
    collection: &Collection,
    plan: &Plan,
    sorted: &[Matched<'_>],
    (start, end): (usize, usize),
    notes: &mut Notes,
) -> (usize, usize) {
    let page = sorted.get(start..end).unwrap_or_default();
    let mut bytes = 0;
    let mut fits = |one: &Matched<'_>| {
        bytes += project(one.item, &plan.select).to_string().len() + 1;
        bytes <= collection.pages.bytes
    };
    let backward = matches!(plan.page, Page::Backward { .. });
    let kept = if backward {
        page.iter().rev().take_while(|one| fits(one)).count()
    } else {
        page.iter().take_while(|one| fits(one)).count()
    };
    let kept = kept.max(1).min(page.len());
    if kept < page.len() {
        notes.push(page_cut(&plan.page, kept, page.len(), collection.pages.bytes));
    }
    if backward { (end - kept, end) } else { (start, start + kept) }
}
