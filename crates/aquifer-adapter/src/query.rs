//! Collections that execute queries themselves.

use std::marker::PhantomData;
use std::sync::Arc;

use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::warning::Warning;
use aquifer_query::evaluate::{QueryResult, evaluate, is_wanted};
use aquifer_query::plan::Page as RequestedPage;
use aquifer_query::{Collection as Description, CursorKey, Plan, QueryKind, parse_query};
use futures::stream::{BoxStream, Stream, StreamExt as _};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::answer::{Answer, IntoAnswer, Reply};
use crate::describe::OperationDraft;
use crate::etag::Etag;
use crate::extract::{CallParts, FromCall};
use crate::json::to_value;

/// A query that matches more items than this is refused.
const MAX_MATCHES: usize = 1_000_000;

/// A collection that executes plans: an index, a database, another service.
///
/// [`scan`](Self::scan) returns the items that may match. It may return too many, since the filter is applied again, but
/// never too few. What it makes use of is its choice: parts of the filter, the order, the position to continue from.
pub trait Collection: Send + Sync {
    /// The items.
    type Item: Serialize + JsonSchema + Send;

    /// The items that may match the plan.
    fn scan<'a>(&'a self, plan: &'a Plan) -> impl Future<Output = Answer<Scan<'a, Self::Item>>> + Send;
}

/// The items that a collection has found for a plan.
pub struct Scan<'a, T> {
    items: BoxStream<'a, Answer<T>>,
    is_sorted: bool,
}

impl<'a, T: 'a> Scan<'a, T> {
    /// These items, in any order.
    pub fn new<I>(items: I) -> Self
    where
        I: IntoIterator<Item = T>,
        I::IntoIter: Send + 'a,
    {
        Self::stream(futures::stream::iter(items.into_iter().map(Ok)))
    }

    /// The items of a stream, in any order. The first failure is the answer.
    pub fn stream(items: impl Stream<Item = Answer<T>> + Send + 'a) -> Self {
        Self { items: items.boxed(), is_sorted: false }
    }

    /// Declares that the items come in the [order](Plan::order) of the plan, so that reading stops once a page is full.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        self.is_sorted = true;
        self
    }
}

/// The query of the caller over a collection with items of type `T`. As an argument of a handler, it adds `filter`, `sort`,
/// `fields`, `aggregate` and the parameters for pages to the operation. With [`VersionedQuery`], items have an `_etag`.
pub struct Query<T, const HAS_VERSIONS: bool = false> {
    plan: Plan,
    description: Arc<Description>,
    warnings: Vec<Warning>,
    cursor_key: CursorKey,
    to_value: fn(&T) -> Answer<Value>,
}

/// A query over resources with versions: every item has an `_etag`.
pub type VersionedQuery<T> = Query<T, true>;

impl<T: Serialize + JsonSchema + Send, const HAS_VERSIONS: bool> Query<T, HAS_VERSIONS> {
    /// The plan: the parsed and validated query.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The fields of the items, and which of them identify an item.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Runs the query over a collection.
    pub async fn run<C: Collection<Item = T>>(self, collection: &C) -> Answer<Page<T>> {
        let Self { plan, description, mut warnings, cursor_key, to_value } = self;
        let Scan { mut items, is_sorted } = collection.scan(&plan).await?;
        // Aggregates and totals are about all matching items, pages about those on one side of the cursor.
        let needs_all = plan.total || !plan.aggregates.is_empty();
        let enough = if needs_all || !is_sorted || plan.is_ranked() { None } else { items_to_read(&plan.page) };
        let mut matched = Vec::new();
        while let Some(item) = items.next().await {
            let item = to_value(&item?)?;
            if !is_wanted(&description, &plan, &item, needs_all) {
                continue;
            }
            matched.push(item);
            if enough.is_some_and(|enough| matched.len() >= enough) {
                break;
            }
            if matched.len() > MAX_MATCHES {
                let message = format!("More than {MAX_MATCHES} items match. Narrow the 'filter'");
                return Err(Failure::new(Code::ValidationInvalidValue, message).detail("param_name", "filter"));
            }
        }
        drop(items);
        let QueryResult { data, warnings: more } = evaluate(&description, &plan, &matched, &cursor_key);
        warnings.extend(more);
        Ok(Page { data, warnings, item: PhantomData })
    }
}

/// How many matching items decide a page, and whether there is another one.
fn items_to_read(page: &RequestedPage) -> Option<usize> {
    match page {
        RequestedPage::Forward { size, .. } => Some(size.saturating_add(1)),
        RequestedPage::Offset { limit, offset } => Some(offset.saturating_add(*limit).saturating_add(1)),
        RequestedPage::Numbered { page, size } => Some(page.saturating_mul(*size).saturating_add(1)),
        RequestedPage::Backward { .. } => None,
    }
}

impl<T, const HAS_VERSIONS: bool> Query<T, HAS_VERSIONS> {
    fn parse<S>(call: &mut CallParts<S>, to_value: fn(&T) -> Answer<Value>) -> Result<Self, Failure> {
        let Some(description) = call.collection.clone() else {
            return Err(Failure::internal("the operation was not described with its query"));
        };
        let params: Map<String, Value> = call.take_parameters();
        let parsed = parse_query(&description, QueryKind::List, &params, &call.cursor_key)?;
        let cursor_key = call.cursor_key.clone();
        let plan = Plan { max_tokens: call.max_tokens, ..parsed.plan };
        Ok(Self { plan, description, warnings: parsed.warnings, cursor_key, to_value })
    }
}

impl<S: Send + Sync, T: Serialize + JsonSchema + Send> FromCall<S> for Query<T> {
    fn describe(operation: &mut OperationDraft) {
        operation.query::<T>(false);
    }

    async fn from_call(call: &mut CallParts<S>) -> Result<Self, Failure> {
        Self::parse(call, to_value)
    }
}

impl<S: Send + Sync, T: Etag + JsonSchema + Send> FromCall<S> for VersionedQuery<T> {
    fn describe(operation: &mut OperationDraft) {
        operation.query::<T>(true);
    }

    async fn from_call(call: &mut CallParts<S>) -> Result<Self, Failure> {
        Self::parse(call, T::to_value_with_etag)
    }
}

/// The result of a query: one page of items, aggregates, or both.
#[derive(Debug, Clone)]
pub struct Page<T> {
    data: Value,
    warnings: Vec<Warning>,
    item: PhantomData<fn() -> T>,
}

impl<T: Serialize + JsonSchema + Send> IntoAnswer for Page<T> {
    fn describe(_operation: &mut OperationDraft) {
        // The query has described it.
    }

    async fn into_answer(self) -> Result<Reply, Failure> {
        Ok(Reply { data: self.data, warnings: self.warnings, keeps_budget: true })
    }
}
