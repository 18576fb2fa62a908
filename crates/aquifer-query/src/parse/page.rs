//! Parses pages in three styles that cannot be mixed (R-COL-7).

use aquifer_protocol::warning::Warning;
use serde_json::{Map, Value};

use super::OpenCursor;
use super::problems::Problems;
use crate::collection::QueryRoot;
use crate::plan::{Page, Plan};

const CURSOR: &[&str] = &["first", "after", "last", "before"];
const OFFSET: &[&str] = &["limit", "offset"];
const NUMBERED: &[&str] = &["page", "page_size"];

/// Larger offsets would read too many rows.
const MAX_OFFSET: usize = 1_000_000;

pub(super) fn parse(
    collection: QueryRoot<'_>,
    params: &Map<String, Value>,
    plan: &Plan,
    open: &OpenCursor<'_>,
    problems: &mut Problems,
    warnings: &mut Vec<Warning>,
) -> Page {
    let present = |names: &[&'static str]| -> Vec<&'static str> {
        names.iter().copied().filter(|name| params.contains_key(*name)).collect()
    };
    let styles = [present(CURSOR), present(OFFSET), present(NUMBERED)];
    if styles.iter().filter(|style| !style.is_empty()).count() > 1 {
        problems.paging(
            &styles.concat(),
            "belong to different styles of paging. Use one: first/after, limit/offset or page/page_size",
        );
        return plan.page.clone();
    }
    let number = |name: &str| params.get(name).and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok());
    // Zero asks for no items, only for totals and aggregates.
    let mut size = |name: &'static str| {
        let wanted = number(name).unwrap_or(collection.pages.default_size);
        if wanted > collection.pages.max_size {
            warnings.push(
                Warning::new("VALIDATION_PAGE_SIZE_CLAMPED", format!("'{name}' was reduced to the largest page"))
                    .detail("param_name", name)
                    .detail("requested", wanted)
                    .detail("applied", collection.pages.max_size),
            );
        }
        wanted.min(collection.pages.max_size)
    };
    let [cursor, offset, _] = &styles;
    if !offset.is_empty() {
        let skip = number("offset").unwrap_or(0);
        if skip > MAX_OFFSET {
            problems
                .invalid("offset", format!("must be no more than {MAX_OFFSET}. Page with 'first' and 'after' instead"));
        }
        return Page::Offset { limit: size("limit"), offset: skip };
    }
    if cursor.is_empty() && styles.iter().any(|style| !style.is_empty()) {
        let page = number("page").unwrap_or(1).max(1);
        let size = size("page_size").max(1);
        if page.saturating_mul(size) > MAX_OFFSET {
            problems.invalid("page", "is too far. Page with 'first' and 'after' instead");
        }
        return Page::Numbered { page, size };
    }
    let has = |name: &str| cursor.contains(&name);
    let contradiction = match (has("first"), has("after"), has("last"), has("before")) {
        (true, _, true, _) => Some((&["first", "last"][..], "cannot be combined")),
        (_, _, _, true) if !has("last") => Some((&["before"][..], "requires 'last'")),
        (_, true, _, _) if !has("first") => Some((&["after"][..], "requires 'first'")),
        _ => None,
    };
    if let Some((names, problem)) = contradiction {
        problems.paging(names, problem);
        return plan.page.clone();
    }
    let mut place = |name: &str| {
        let text = params.get(name)?.as_str()?;
        let values = open(text, plan);
        if values.is_none() {
            problems.invalid(name, "is not a cursor of this query. Start again without it");
        }
        values
    };
    if has("last") {
        let before = place("before");
        return Page::Backward { size: size("last"), before };
    }
    let after = place("after");
    Page::Forward { size: size("first"), after }
}
