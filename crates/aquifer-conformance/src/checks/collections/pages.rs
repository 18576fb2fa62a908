//! Checks of pages.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::checks::Check;
use crate::checks::collections::sort::sorted_by;
use crate::checks::feature::Feature;
use crate::context::{CheckContext, Collection, Paging};
use crate::mcp::rows::{page_info, rows, total};
use crate::report::Category::LevelTwoFeatures;
use crate::report::Tally;

/// A page size that rarely divides the number of rows.
const ODD_SIZE: usize = 7;

/// Maximum number of rows read in small pages.
const MAX_WALKED: usize = 210;

pub(crate) const CHECKS: &[Check] = &[
    Check::new(
        "pages.walk",
        "Paging with cursors returns every row once",
        LevelTwoFeatures,
        "walks",
        "no collection with cursors has rows",
        |context, tally| Box::pin(walk(context, tally)),
    )
    .for_feature(Feature::Cursors)
    .depends_on(&["requests.effect", "pages.info", "requests.accepted"]),
    Check::new(
        "pages.info",
        "Pages state correctly whether there are more",
        LevelTwoFeatures,
        "pages",
        "no collection with cursors has rows",
        |context, tally| Box::pin(info(context, tally)),
    )
    .for_feature(Feature::Cursors)
    .depends_on(&["requests.effect", "requests.accepted"]),
    Check::new(
        "pages.cursor",
        "Invented cursors are refused",
        LevelTwoFeatures,
        "cursors",
        "no collection with cursors works",
        |context, tally| Box::pin(cursor(context, tally)),
    )
    .for_feature(Feature::Cursors)
    .depends_on(&["requests.accepted"]),
    Check::new(
        "pages.size",
        "Page sizes are respected, and reductions are reported",
        LevelTwoFeatures,
        "pages",
        "no collection with pages works",
        |context, tally| Box::pin(size(context, tally)),
    )
    .for_feature(Feature::Cursors)
    .depends_on(&["requests.effect", "requests.accepted"]),
    Check::new(
        "pages.offset",
        "Limit and offset return the same rows as cursors",
        LevelTwoFeatures,
        "walks",
        "no collection with limit and offset has rows",
        |context, tally| Box::pin(offset(context, tally)),
    )
    .for_feature(Feature::Offsets)
    .depends_on(&["requests.effect", "requests.accepted"]),
    Check::new(
        "pages.total",
        "Totals match the number of rows",
        LevelTwoFeatures,
        "totals",
        "no collection with totals could be read completely",
        |context, tally| Box::pin(totals(context, tally)),
    )
    .for_feature(Feature::Totals)
    .depends_on(&["requests.effect", "requests.accepted"]),
];

fn paged(context: &CheckContext<'_>, style: Paging) -> Vec<Arc<Collection>> {
    let with = |collection: &&Arc<Collection>| {
        Paging::documented_by(&collection.operation).contains(&style) && !collection.rows.is_empty()
    };
    context.collections.iter().filter(with).cloned().collect()
}

/// Compares the rows that were read with the known rows. Returns the problem, if any.
fn difference(collection: &Collection, walked: &[crate::mcp::rows::Row]) -> Option<String> {
    let expected: Vec<String> = collection.rows.iter().take(walked.len()).map(|row| collection.identity(row)).collect();
    let mut met: Vec<String> = walked.iter().map(|row| collection.identity(row)).collect();
    if !collection.key.is_empty() {
        let all = met.len();
        met.sort_unstable();
        met.dedup();
        if met.len() < all {
            return Some(format!("{} rows were returned twice", all - met.len()));
        }
    }
    let mut expected = expected;
    expected.sort_unstable();
    met.sort_unstable();
    (expected != met).then(|| "the rows are not those of one large page".to_owned())
}

async fn walk(context: &mut CheckContext<'_>, tally: &mut Tally) {
    for collection in paged(context, Paging::Cursor) {
        let walk = context.walk(&collection.operation, &collection.params, Paging::Cursor, ODD_SIZE, MAX_WALKED).await;
        tally.count();
        let name = &collection.operation.name;
        if let Some(problem) = difference(&collection, &walk.rows) {
            tally.fail(name, problem, walk.last.as_ref());
        } else if collection.complete && walk.complete && walk.rows.len() != collection.rows.len() {
            let problem = format!("{} rows were returned, {} exist", walk.rows.len(), collection.rows.len());
            tally.fail(name, problem, walk.last.as_ref());
        } else if !walk.complete && walk.rows.len() < MAX_WALKED.min(collection.rows.len()) {
            tally.fail(name, "paging stopped early", walk.last.as_ref());
        }
    }
}

async fn info(context: &mut CheckContext<'_>, tally: &mut Tally) {
    for collection in paged(context, Paging::Cursor) {
        let name = &collection.operation.name;
        let mut params = collection.params.clone();
        params.insert("first".into(), json!(1));
        let reply = context.call(&collection.operation, params).await;
        if !reply.is_success() {
            continue;
        }
        let all = collection.rows.len();
        let row_count = rows(reply.data()).map(|rows| rows.len()).unwrap_or_default();
        let Some((more, cursor)) = page_info(reply.data()) else {
            tally.count();
            tally.fail(name, "a page has no 'pageInfo' with 'hasNextPage'", Some(&reply));
            continue;
        };
        let problem = format!("hasNextPage is {more} after {row_count} of {all} rows");
        tally.expect(more == (row_count < all), name, &problem, Some(&reply));
        tally.expect(!more || cursor.is_some(), name, "there are more rows, but no 'endCursor'", Some(&reply));
        let before = reply.data().pointer("/pageInfo/hasPreviousPage").and_then(Value::as_bool);
        tally.expect(before != Some(true), name, "hasPreviousPage is true on the first page", Some(&reply));
        let walk = context.walk(&collection.operation, &collection.params, Paging::Cursor, 100, 500).await;
        let end = walk.wrong_ends.first().copied();
        tally.expect(end.is_none(), name, end.unwrap_or_default(), walk.last.as_ref());
    }
}

async fn cursor(context: &mut CheckContext<'_>, tally: &mut Tally) {
    for collection in paged(context, Paging::Cursor) {
        let mut params = collection.params.clone();
        params.insert("first".into(), json!(1));
        params.insert("after".into(), json!("not-a-cursor-7f3a"));
        let reply = context.call(&collection.operation, params).await;
        tally.expect(reply.is_refused(), &collection.operation.name, "an invented cursor was accepted", Some(&reply));
        cursor_of_other_order(context, &collection, tally).await;
    }
}

/// Checks that a cursor of one order is refused with another.
async fn cursor_of_other_order(context: &mut CheckContext<'_>, collection: &Collection, tally: &mut Tally) {
    let fields = collection.plain_fields();
    let several = fields.iter().find(|field| collection.distinct(field) > 1);
    let Some(field) = several.filter(|_| collection.operation.has_parameter("sort") && collection.rows.len() > 1)
    else {
        return;
    };
    let mut params = sorted_by(&collection.operation, &collection.params, field, "asc");
    params.insert("first".into(), json!(1));
    let page = context.call(&collection.operation, params).await;
    let Some((_, Some(cursor))) = page_info(page.data()) else { return };
    let cursor = cursor.to_owned();
    let mut params = sorted_by(&collection.operation, &collection.params, field, "desc");
    params.insert("first".into(), json!(1));
    params.insert("after".into(), json!(cursor));
    let reply = context.call(&collection.operation, params).await;
    tally.count();
    if !reply.is_refused() {
        let problem = "a cursor of one order was accepted in another";
        tally.warn(&collection.operation.name, problem, Some(&reply));
    }
}

async fn size(context: &mut CheckContext<'_>, tally: &mut Tally) {
    for collection in paged(context, Paging::Cursor) {
        let name = &collection.operation.name;
        for first in [1, 3] {
            let mut params = collection.params.clone();
            params.insert("first".into(), json!(first));
            let reply = context.call(&collection.operation, params).await;
            let row_count = rows(reply.data()).map(|rows| rows.len()).unwrap_or_default();
            let problem = format!("{row_count} rows were returned for a page of {first}");
            tally.expect(
                reply.is_success() && row_count == first.min(collection.rows.len()),
                name,
                &problem,
                Some(&reply),
            );
        }
        let mut params = collection.params.clone();
        params.insert("first".into(), json!(1_000_000));
        let reply = context.call(&collection.operation, params).await;
        let open = reply.is_refused() || !reply.warnings().is_empty();
        let row_count = rows(reply.data()).map(|rows| rows.len()).unwrap_or_default();
        let problem = "a page size of a million was reduced without a warning";
        tally.expect(open || row_count >= collection.rows.len(), name, problem, Some(&reply));
    }
}

async fn offset(context: &mut CheckContext<'_>, tally: &mut Tally) {
    for collection in paged(context, Paging::Offset) {
        let walk = context.walk(&collection.operation, &collection.params, Paging::Offset, ODD_SIZE, MAX_WALKED).await;
        tally.count();
        if let Some(problem) = difference(&collection, &walk.rows) {
            tally.fail(&collection.operation.name, problem, walk.last.as_ref());
        } else if collection.complete && walk.complete && walk.rows.len() != collection.rows.len() {
            tally.fail(&collection.operation.name, "limit and offset end too early", walk.last.as_ref());
        }
    }
}

async fn totals(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let collections = context.collections.clone();
    for collection in collections.iter().filter(|own| own.complete && own.operation.has_parameter("total")) {
        let mut params = collection.params.clone();
        params.insert("total".into(), json!(true));
        let reply = context.call(&collection.operation, params).await;
        let reported = total(reply.data());
        let problem = match reported {
            None => "a total was requested, but not returned".to_owned(),
            Some(reported) => format!("the total is {reported}, but there are {} rows", collection.rows.len()),
        };
        let right = reported == Some(collection.rows.len() as u64);
        tally.expect(right, &collection.operation.name, &problem, Some(&reply));
    }
}
