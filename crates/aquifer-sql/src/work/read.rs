//! Lists, searches, sums and single rows.

use std::sync::Arc;

use aquifer_protocol::error::Failure;
use aquifer_protocol::warning::Warning;
use aquifer_query::CursorKey;
use aquifer_query::evaluate::page_truncated;
use aquifer_query::plan::{Path, Plan};
use jiff::Timestamp;
use serde_json::Value;

use super::Done;
use crate::exposed_table::ExposedTable;
use crate::rows::Collector;
use crate::session::{Fault, Session, Work};
use crate::sql::uniform::{PageSpan, page_span, time_uses};
use crate::sql::value::{ColumnStyle, Scope, Thing, Times};
use crate::sql::{aggregate, select};
use crate::statement::Dialect;
use crate::time_style::TimeStyle;

/// A list or a search, with its sums.
pub(crate) struct Query {
    pub(crate) served: Arc<ExposedTable>,
    pub(crate) dialect: Dialect,
    pub(crate) now: Timestamp,
    pub(crate) plan: Plan,
    pub(crate) key: CursorKey,
}

impl Query {
    fn sums_up(&self) -> bool {
        !self.plan.aggregates.is_empty() || self.plan.total
    }
}

impl Work for Query {
    type Output = Done;

    fn needs_snapshot(&self) -> bool {
        let several = self.plan.aggregates.len() > 1 || (self.sums_up() && self.plan.items);
        several || !time_uses(&self.scope(), &self.plan).is_empty()
    }

    fn is_cheap(&self) -> bool {
        self.plan.text.is_none() && !self.sums_up()
    }

    async fn run<S: Session>(&self, session: &mut S) -> Result<(Done, bool), Fault> {
        let (scope, plan) = (self.scope(), &self.plan);
        let uses = time_uses(&scope, plan);
        let mut styles: Vec<ColumnStyle> = Vec::with_capacity(uses.len());
        for one in &uses {
            let sampled = scope.time_style(Thing::Column(one.column)).unwrap_or(TimeStyle::Mixed);
            let style = session.known_time_style(&one.check(&scope, plan, sampled, PageSpan::Nothing)).await?;
            styles.push((one.column.name.clone(), style));
        }
        for attempt in 1.. {
            let scope = Scope { times: Times::Checked(&styles), ..scope };
            let (mut done, span) = self.answer(session, &scope).await?;
            let mut found = styles.clone();
            for (one, (_, style)) in uses.iter().zip(&mut found).filter(|(_, (_, style))| style.is_sortable()) {
                let check = one.check(&scope, plan, *style, span);
                *style = session.check_times(&check).await?;
                if *style != check.style && attempt >= MAX_STYLES {
                    *style = TimeStyle::Mixed;
                }
            }
            if found == styles {
                done.warnings.extend(styles.iter().filter(|(_, style)| !style.is_sortable()).map(mixed_formats));
                return Ok((done, false));
            }
            styles = found;
        }
        Err(Failure::internal("times of changing formats").into())
    }
}

/// How many formats of times are tried before each time is read.
const MAX_STYLES: usize = 3;

fn mixed_formats((column, _): &ColumnStyle) -> Warning {
    let message = format!("The times in '{column}' are not all in one sortable format, so every row was read");
    Warning::new("TIME_FORMATS_MIXED", message).detail("field", &**column)
}

impl Query {
    fn scope(&self) -> Scope<'_> {
        Scope::new(&self.served, self.dialect, self.now)
    }

    /// The answer, and the part of the order it shows.
    async fn answer<S: Session>(&self, session: &mut S, scope: &Scope<'_>) -> Result<(Done, PageSpan), Fault> {
        let Query { served, plan, key, .. } = self;
        let mut span = PageSpan::Nothing;
        let mut warnings = Vec::new();
        if plan.text.is_some() && served.table.index.is_none() {
            warnings.push(Warning::new(
                "SEARCH_NOT_INDEXED",
                "There is no full-text index: every row was read, and rows are ranked by how many of the words they hold",
            ));
        }
        let mut out = Vec::with_capacity(4096);
        out.push(b'{');
        let (mut results, mut total) = (Vec::new(), None);
        for summing in aggregate::statements(scope, plan) {
            let rows = session.rows(&summing.statement, &summing.readers).await?;
            let count = summing.collect(rows, &plan.aggregates, &mut results, &mut warnings);
            total = total.or(count);
        }
        if !plan.aggregates.is_empty() {
            out.extend_from_slice(b"\"aggregations\":{");
            for (index, (aggregate, result)) in plan.aggregates.iter().zip(results).enumerate() {
                let comma = if index > 0 { "," } else { "" };
                let value = result.unwrap_or(Value::Null);
                out.extend_from_slice(format!("{comma}{}:{value}", Value::from(&*aggregate.name)).as_bytes());
            }
            out.push(b'}');
        }
        if plan.items {
            if !plan.aggregates.is_empty() {
                out.push(b',');
            }
            let reading = select::page(scope, plan)?;
            let pages = served.collection.pages;
            let mut collector = Collector::new(reading.shape, reading.wanted, pages.max_bytes, plan.edges);
            for statement in &reading.statements {
                session.fetch(statement, &mut collector).await?;
                if collector.is_full() {
                    break;
                }
            }
            if let Some(shown) = collector.cut() {
                warnings.push(page_truncated(&plan.page, shown, reading.wanted, pages.max_bytes));
            }
            span = page_span(plan, collector.last_place().as_deref(), collector.is_full());
            collector.finish(served, plan, key, total.as_ref(), &mut out);
        }
        out.push(b'}');
        Ok((Done::assembled(out, warnings)?, span))
    }
}

/// One row.
pub(crate) struct Get {
    pub(crate) served: Arc<ExposedTable>,
    pub(crate) dialect: Dialect,
    pub(crate) now: Timestamp,
    pub(crate) key: Vec<Value>,
    pub(crate) select: Arc<[Path]>,
}

impl Work for Get {
    type Output = Done;

    fn needs_snapshot(&self) -> bool {
        false
    }

    fn is_cheap(&self) -> bool {
        true
    }

    async fn run<S: Session>(&self, session: &mut S) -> Result<(Done, bool), Fault> {
        let Get { served, dialect, now, key, select, .. } = self;
        let scope = Scope::new(served, *dialect, *now);
        let row = one(session, &scope, select, key, false).await?.ok_or_else(|| not_found(served, key))?;
        Ok((Done::assembled(row, Vec::new())?, false))
    }
}

/// A row's JSON text, if there is one of that key.
pub(super) async fn one<S: Session>(
    session: &mut S,
    scope: &Scope<'_>,
    select: &[Path],
    key: &[Value],
    lock: bool,
) -> Result<Option<Vec<u8>>, Fault> {
    let reading = select::one(scope, select, key, lock);
    let mut collector = Collector::one(reading.shape);
    for statement in &reading.statements {
        session.fetch(statement, &mut collector).await?;
    }
    Ok(collector.into_one())
}

pub(super) fn not_found(served: &ExposedTable, key: &[Value]) -> Failure {
    Failure::not_found(&served.words.singular, shown(key))
}

/// A key as text.
pub(super) fn shown(key: &[Value]) -> String {
    let parts: Vec<String> = key
        .iter()
        .map(|part| match part {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
        .collect();
    parts.join(",")
}
