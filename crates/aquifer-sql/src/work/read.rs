//! Lists, searches, aggregates and single rows.

use std::sync::Arc;

use aquifer_protocol::error::Failure;
use aquifer_protocol::warning::Warning;
use aquifer_query::CursorKey;
use aquifer_query::answer::groups::AggregateWriter;
use aquifer_query::budget::Budget;
use aquifer_query::plan::{Embed, Path, Plan};
use jiff::Timestamp;
use serde_json::Value;

use super::OperationOutput;
use crate::rows::RowCollector;
use crate::rows::time_digits;
use crate::schema::exposed_table::{ExposedTable, ExposedTables};
use crate::schema::row_name::format_key;
use crate::schema::time_style::TimeStyle;
use crate::sql::joins::Joins;
use crate::sql::scope::{ColumnStyle, PathTarget, Scope};
use crate::sql::time_checks::{PageSpan, page_span, time_uses};
use crate::sql::{aggregate, select};
use crate::statement::Dialect;
use crate::work::fair_permits::Purpose;
use crate::work::sample::count_rows;
use crate::work::session::{Session, TransactionEnd, Work, WorkError};

/// A list or search, with its aggregates.
#[derive(Clone)]
pub(crate) struct Query {
    pub(crate) exposed: Arc<ExposedTable>,
    pub(crate) dialect: Dialect,
    pub(crate) now: Timestamp,
    pub(crate) plan: Plan,
    pub(crate) key: CursorKey,
    /// The tables that references lead to.
    pub(crate) tables: ExposedTables,
    pub(crate) joins: Joins,
}

impl Query {
    fn has_aggregates(&self) -> bool {
        !self.plan.aggregates.is_empty() || self.plan.total
    }
}

impl Work for Query {
    type Output = OperationOutput;

    fn needs_snapshot(&self) -> bool {
        let several = self.plan.aggregates.len() > 1 || (self.has_aggregates() && self.plan.items);
        several || !time_uses(&self.scope(), &self.plan).is_empty()
    }

    fn is_cheap(&self) -> bool {
        self.plan.text.is_none() && !self.has_aggregates()
    }

    async fn run<S: Session>(&self, session: &mut S) -> Result<(OperationOutput, TransactionEnd), WorkError> {
        let (scope, plan) = (self.scope(), &self.plan);
        let time_uses = time_uses(&scope, plan);
        let mut styles: Vec<ColumnStyle> = Vec::with_capacity(time_uses.len());
        for time_use in &time_uses {
            let sampled = scope.time_style(PathTarget::Column(time_use.column)).unwrap_or(TimeStyle::Mixed);
            let style = session.known_time_style(&time_use.check(&scope, plan, sampled, PageSpan::Nothing)).await?;
            styles.push((time_use.column.name.clone(), style));
        }
        // The SQL depends on the styles of the times, and which times matter is known only when the page is: the page
        // is computed for the assumed styles, then they are checked. If one was wrong, the page is computed again for
        // the styles that were found. After `MAX_STYLE_ATTEMPTS`, a wrong style becomes mixed, which needs no check.
        let mut widened = time_digits::widened_count();
        for attempt in 1.. {
            let scope = scope.with_times(&styles);
            let (mut output, mut span) = self.answer(session, &scope).await?;
            // A column got more digits while the rows were written: with the new number, all of them are written alike.
            if widened != time_digits::widened_count() {
                widened = time_digits::widened_count();
                // Rare, so it is boxed to keep the common future small.
                (output, span) = Box::pin(self.answer(session, &scope)).await?;
            }
            let mut checked_styles = styles.clone();
            let sortable = time_uses.iter().zip(&mut checked_styles).filter(|(_, (_, style))| style.is_sortable());
            for (time_use, (_, style)) in sortable {
                let check = time_use.check(&scope, plan, *style, span);
                *style = session.check_times(&check).await?;
                if *style != check.style && attempt >= MAX_STYLE_ATTEMPTS {
                    *style = TimeStyle::Mixed;
                }
            }
            if checked_styles == styles {
                output.warnings.extend(styles.iter().filter(|(_, style)| !style.is_sortable()).map(mixed_formats));
                return Ok((output, TransactionEnd::Rollback));
            }
            styles = checked_styles;
        }
        Err(Failure::internal("the time formats kept changing").into())
    }
}

/// How many times a page is computed for sortable time styles before every time is parsed.
const MAX_STYLE_ATTEMPTS: usize = 3;

fn mixed_formats((column, _): &ColumnStyle) -> Warning {
    let message = format!("The times in '{column}' are not all in one sortable format, so every row was read");
    Warning::new("TIME_FORMATS_MIXED", message).detail("field", &**column)
}

/// Up to this number of rows, reading every row is fast enough not to need a warning.
const MAX_ROWS_WITHOUT_WARNING: u64 = 10_000;

impl Query {
    /// Whether the table is large enough for a warning about reading all of it.
    async fn has_many_rows<S: Session>(&self, session: &mut S) -> Result<bool, WorkError> {
        let sampled_rows = self.exposed.sample.get().and_then(|sample| sample.rows);
        let rows = match sampled_rows {
            Some(rows) => Some(rows),
            None => count_rows(session, self.dialect, &self.exposed.table.quoted).await?,
        };
        Ok(rows.is_some_and(|rows| rows.exceeds(MAX_ROWS_WITHOUT_WARNING)))
    }

    fn scope(&self) -> Scope<'_> {
        Scope::across(&self.exposed, self.dialect, self.now, &self.tables, &self.joins)
    }

    /// The answer, and the range of the order that it covers.
    async fn answer<S: Session>(
        &self,
        session: &mut S,
        scope: &Scope<'_>,
    ) -> Result<(OperationOutput, PageSpan), WorkError> {
        let Query { exposed, plan, key, .. } = self;
        let mut span = PageSpan::Nothing;
        let mut warnings = Vec::new();
        if plan.text.is_some() && exposed.table.index.is_none() && self.has_many_rows(session).await? {
            warnings.push(Warning::new(
                "SEARCH_NOT_INDEXED",
                "There is no full-text index: every row was read, and rows are ranked by how many of the words they contain",
            ));
        }
        let mut out = Vec::with_capacity(4096);
        out.push(b'{');
        let mut budget = plan.max_tokens.map(Budget::new);
        let (mut results, mut total) = (Vec::new(), None);
        for query in aggregate::build_queries(scope, plan) {
            let rows = session.rows(&query.statement, &query.cell_types).await?;
            total = total.or(query.collect(rows, &plan.aggregates, &mut results));
        }
        if !plan.aggregates.is_empty() {
            let mut writer = AggregateWriter::new(plan, budget.as_mut());
            for (aggregate, result) in plan.aggregates.iter().zip(results) {
                result.unwrap_or_default().write(aggregate, &mut writer, &mut warnings);
            }
            let (groups, results) = writer.finish();
            if let Some(groups) = groups {
                out.extend_from_slice(format!("\"groups\":{},", Value::Object(groups)).as_bytes());
            }
            out.extend_from_slice(format!("\"aggregations\":{}", Value::Object(results)).as_bytes());
        }
        if plan.items {
            if !plan.aggregates.is_empty() {
                out.push(b',');
            }
            let query = select::build_page(scope, plan)?;
            let pages = exposed.collection.pages;
            let mut collector = RowCollector::new(query.shape, query.max_rows, pages.max_bytes, plan.edges);
            if let Some(budget) = budget {
                collector = collector.within(plan, budget);
            }
            for statement in &query.statements {
                session.fetch(statement, &mut collector).await?;
                if collector.is_full() {
                    break;
                }
            }
            warnings.extend(collector.warnings(plan));
            span = page_span(plan, collector.last_cursor_values().as_deref(), collector.is_full());
            collector.write_page(&exposed.collection, plan, key, total.as_ref(), &mut out);
        }
        out.push(b'}');
        Ok((OperationOutput::from_json_text(out, warnings)?.within_budget(), span))
    }
}

/// One row.
#[derive(Clone)]
pub(crate) struct Get {
    pub(crate) exposed: Arc<ExposedTable>,
    pub(crate) dialect: Dialect,
    pub(crate) now: Timestamp,
    pub(crate) key: Vec<Value>,
    pub(crate) select: Arc<[Path]>,
    pub(crate) embeds: Vec<Embed>,
    /// The tables that references lead to.
    pub(crate) tables: ExposedTables,
    pub(crate) joins: Joins,
}

impl Work for Get {
    type Output = OperationOutput;

    fn needs_snapshot(&self) -> bool {
        false
    }

    fn is_cheap(&self) -> bool {
        true
    }

    /// A view may compute all of its rows to find one, and the operator's formulas may read anything.
    fn purpose(&self) -> Purpose {
        let has_more =
            !self.embeds.is_empty() || !self.joins.is_empty() || self.select.iter().any(|path| path.computed);
        if has_more || !self.exposed.table.has_indexed_key() { Purpose::Any } else { Purpose::RowByKey }
    }

    async fn run<S: Session>(&self, session: &mut S) -> Result<(OperationOutput, TransactionEnd), WorkError> {
        let Get { exposed, dialect, now, key, select, embeds, tables, joins } = self;
        let scope = Scope::across(exposed, *dialect, *now, tables, joins);
        let row =
            read_row_with(session, &scope, select, embeds, key, false).await?.ok_or_else(|| not_found(exposed, key))?;
        Ok((OperationOutput::from_json_text(row, Vec::new())?, TransactionEnd::Rollback))
    }
}

/// The JSON text of the row with a key, if it exists.
pub(super) async fn read_row<S: Session>(
    session: &mut S,
    scope: &Scope<'_>,
    select: &[Path],
    key: &[Value],
    lock: bool,
) -> Result<Option<Vec<u8>>, WorkError> {
    read_row_with(session, scope, select, &[], key, lock).await
}

/// Like [`read_row`], with the rows that refer to it.
async fn read_row_with<S: Session>(
    session: &mut S,
    scope: &Scope<'_>,
    select: &[Path],
    embeds: &[Embed],
    key: &[Value],
    lock: bool,
) -> Result<Option<Vec<u8>>, WorkError> {
    let query = select::build_single_row(scope, select, embeds, key, lock);
    let mut collector = RowCollector::for_single_row(query.shape);
    for statement in &query.statements {
        session.fetch(statement, &mut collector).await?;
    }
    Ok(collector.into_single_row())
}

pub(super) fn not_found(exposed: &ExposedTable, key: &[Value]) -> Failure {
    Failure::not_found(&exposed.words.singular, format_key(key))
}
