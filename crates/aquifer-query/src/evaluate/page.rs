//! One page of the matching items, in any of the three styles.

use std::cmp::Ordering;

use serde_json::{Map, Value, json};

use super::{Matched, by_place, place, project};
use crate::collection::Collection;
use crate::cursor::CursorKey;
use crate::plan::{Page, Plan};

pub(super) fn cut(
    collection: &Collection,
    plan: &Plan,
    sorted: &[Matched<'_>],
    key: &CursorKey,
    data: &mut Map<String, Value>,
) {
    let all = sorted.len();
    let beyond = |place_of: &[Value], order: Ordering| {
        sorted.iter().filter(|one| by_place(collection, plan, &place(collection, plan, one), place_of) != order).count()
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
    let shown = sorted.get(start..end).unwrap_or_default();
    let cursor = |one: &Matched<'_>| key.seal(&place(collection, plan, one), collection, plan);
    if plan.edges {
        let edges = shown.iter().map(|one| json!({ "node": project(one.item, &plan.select), "cursor": cursor(one) }));
        data.insert("edges".to_owned(), edges.collect());
    } else {
        data.insert("items".to_owned(), shown.iter().map(|one| project(one.item, &plan.select)).collect());
    }
    match &plan.page {
        Page::Forward { .. } | Page::Backward { .. } => {
            let mut info = Map::new();
            info.insert("hasNextPage".to_owned(), (end < all).into());
            info.insert("hasPreviousPage".to_owned(), (start > 0).into());
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
