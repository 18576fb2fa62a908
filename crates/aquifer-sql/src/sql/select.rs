//! Builds the statements that read a page, and the shape of their rows.

use std::sync::Arc;

use aquifer_protocol::error::Failure;
use aquifer_query::plan::{Embed, Page, Path, Plan, SortKey};
use serde_json::Value;

use super::keyset::KeysetRange;
use super::operand::time_bound;
use super::scope::{ColumnStyle, PathTarget, Scope, TimeStyles};
use super::selection::OutputColumns;
use super::{filter, keyset, text};
use crate::rows::{CellType, CursorSource, RowShape};
use crate::schema::model::{Column, Key};
use crate::statement::{Dialect, Statement};

#[derive(Debug)]
pub(crate) struct PageQuery {
    /// Run in order until there is one row more than the page has.
    pub(crate) statements: Vec<Statement>,
    pub(crate) shape: RowShape,
    /// The size of the page.
    pub(crate) max_rows: usize,
}

/// Builds the statements of a page.
pub(crate) fn build_page(scope: &Scope<'_>, plan: &Plan) -> Result<PageQuery, Failure> {
    let collection = &scope.exposed.collection;
    let mut order = plan.order(collection);
    let is_own = |key: &&mut SortKey| !key.path.computed && key.path.through.is_empty();
    for key in order.iter_mut().filter(is_own).filter(|key| scope.exposed.table.column(&key.path.name).is_none()) {
        // The hidden key is not a field; its cursor values are text.
        key.field_type = aquifer_query::FieldType::Text;
    }
    let (max_rows, skip, cursor_values, backward) = match &plan.page {
        Page::Forward { size, after } => (*size, 0, after.as_deref(), false),
        Page::Backward { size, before } => (*size, 0, before.as_deref(), true),
        Page::Offset { limit, offset } => (*limit, *offset, None, false),
        Page::Numbered { page, size } => (*size, page.saturating_sub(1).saturating_mul(*size), None, false),
    };
    if plan.text.as_ref().is_some_and(|text| text.terms.is_empty()) {
        // An empty search finds nothing, so no query is needed.
        return Ok(PageQuery { statements: Vec::new(), shape: RowShape::default(), max_rows });
    }
    if scope.exposed.table.key == Key::None {
        return build_counted_page(scope, plan, max_rows, skip, cursor_values, backward);
    }
    let checked = cursor_values.and_then(|cursor_values| comparable_time_styles(scope, plan, &order, cursor_values));
    let scope = &Scope { times: checked.as_deref().map_or(scope.times, TimeStyles::Checked), ..*scope };
    let parts = keyset::sort_expressions(scope, plan, &order, backward);
    let values = cursor_values.map(|cursor_values| keyset::expand_cursor_values(plan, &order, cursor_values));
    let mut shape = RowShape::default();
    let mut statements = Vec::new();
    let ranges = keyset::ranges(scope, &parts, values.as_deref());
    for (position, range) in ranges.iter().copied().enumerate() {
        let mut statement = Statement::new(scope.dialect);
        shape = write_outputs(scope, &mut statement, plan, Some(&order));
        text::write_from(scope, &mut statement, plan.text.as_ref());
        let mut conditions = Conditions::new(&mut statement);
        conditions.add_plan(scope, plan);
        if range != KeysetRange::All {
            let statement = conditions.begin_next();
            statement.push("(");
            keyset::write_condition(statement, &parts, values.as_deref().unwrap_or_default(), range);
            statement.push(")");
        }
        keyset::write_order_by(scope, &mut statement, &parts, range);
        statement.push(" LIMIT ").count(max_rows.saturating_add(1));
        if skip > 0 {
            statement.push(" OFFSET ");
            match ranges.first().filter(|_| position > 0) {
                None => {
                    statement.count(skip);
                }
                // The rows of the first range count as skipped.
                Some(first) => {
                    let maximum = if scope.dialect == Dialect::Sqlite { "max(0, " } else { "greatest(0, " };
                    statement.push(maximum).count(skip).push(" - (SELECT count(*)");
                    text::write_from(scope, &mut statement, plan.text.as_ref());
                    let mut conditions = Conditions::new(&mut statement);
                    conditions.add_plan(scope, plan);
                    keyset::write_condition(conditions.begin_next(), &parts, &[], *first);
                    statement.push("))");
                }
            }
        }
        statements.push(statement);
    }
    Ok(PageQuery { statements, shape, max_rows })
}

/// The time styles without those in which a cursor value cannot be written exactly: its row may have been written in
/// another format. `None` if all are usable.
fn comparable_time_styles(
    scope: &Scope<'_>,
    plan: &Plan,
    order: &[SortKey],
    cursor_values: &[Value],
) -> Option<Vec<ColumnStyle>> {
    let TimeStyles::Checked(styles) = scope.times else { return None };
    let values = cursor_values.get(usize::from(plan.is_ranked())..).unwrap_or_default();
    let is_lost = |name: &Arc<str>| {
        order.iter().zip(values).any(|(key, value)| {
            let (_, target) = scope.resolve(&key.path);
            let PathTarget::Column(column) = target else { return false };
            let is_meant = column.name == *name && key.path.through.is_empty();
            let Some(style) = scope.time_style(target).filter(|_| is_meant) else { return false };
            match value {
                Value::Null => !column.nullable,
                value => !time_bound(style, value).is_some_and(|bound| bound.is_exact),
            }
        })
    };
    let kept: Vec<ColumnStyle> = styles.iter().filter(|(name, _)| !is_lost(name)).cloned().collect();
    (kept.len() < styles.len()).then_some(kept)
}

/// A page of rows without a key: positions can only be counted, and may shift.
fn build_counted_page(
    scope: &Scope<'_>,
    plan: &Plan,
    max_rows: usize,
    skip: usize,
    cursor_values: Option<&[Value]>,
    backward: bool,
) -> Result<PageQuery, Failure> {
    if backward {
        return Err(Failure::invalid_value("last", "requires rows with a key, and these have none. Use 'first'"));
    }
    let held = cursor_values
        .and_then(|cursor_values| cursor_values.last()?.as_u64())
        .and_then(|count| usize::try_from(count).ok());
    let skip = held.unwrap_or(skip);
    let mut order = plan.sort.clone();
    for field in scope.exposed.collection.fields.iter().filter(|field| field.field_type.is_ordered()) {
        let path = Path::field(&field.name);
        if !order.iter().any(|key| key.path == path) {
            order.push(SortKey { path, field_type: field.field_type.clone(), descending: false, nulls_first: false });
        }
    }
    let parts = keyset::sort_expressions(scope, plan, &order, false);
    let mut statement = Statement::new(scope.dialect);
    let mut shape = write_outputs(scope, &mut statement, plan, None);
    shape.cursor_source =
        CursorSource::Counted { from: skip, width: usize::from(plan.is_ranked()) + plan.sort.len() + 1 };
    text::write_from(scope, &mut statement, plan.text.as_ref());
    Conditions::new(&mut statement).add_plan(scope, plan);
    keyset::write_order_by(scope, &mut statement, &parts, keyset::KeysetRange::All);
    statement.push(" LIMIT ").count(max_rows.saturating_add(1)).push(" OFFSET ").count(skip);
    Ok(PageQuery { statements: vec![statement], shape, max_rows })
}

/// One row by its key. The values are in the order of the key columns.
pub(crate) fn build_single_row(
    scope: &Scope<'_>,
    select: &[Path],
    embeds: &[Embed],
    key: &[Value],
    lock: bool,
) -> PageQuery {
    let mut statement = Statement::new(scope.dialect);
    let mut columns = OutputColumns::default();
    statement.push("SELECT ");
    let fields = columns.select_all(scope, &mut statement, select, embeds);
    let shape = RowShape { fields, table: false, cursor_source: CursorSource::None };
    text::write_from(scope, &mut statement, None);
    write_key_condition(scope, &mut statement, key);
    if lock && scope.dialect == Dialect::Postgres {
        statement.push(" FOR UPDATE OF t");
    }
    PageQuery { statements: vec![statement], shape, max_rows: 1 }
}

/// Writes `WHERE` with the key columns.
pub(crate) fn write_key_condition(scope: &Scope<'_>, statement: &mut Statement, key: &[Value]) {
    for (index, (column, value)) in scope.exposed.table.key_columns().zip(key).enumerate() {
        statement.push(if index == 0 { " WHERE " } else { " AND " });
        write_equals(scope, statement, column, value);
    }
}

/// Writes an equality with a column, in the column's own type.
pub(crate) fn write_equals(scope: &Scope<'_>, statement: &mut Statement, column: &Column, value: &Value) {
    if column.is_shown_as_text() {
        scope.write_column(statement, column);
    } else {
        scope.write_comparable(statement, super::scope::PathTarget::Column(column));
    }
    statement.push(" = ");
    super::operand::write_equal_operand(statement, column, value);
}

/// Writes `WHERE` and `AND` as needed.
pub(super) struct Conditions<'s> {
    statement: &'s mut Statement,
    first: bool,
}

impl<'s> Conditions<'s> {
    pub(super) fn new(statement: &'s mut Statement) -> Self {
        Self { statement, first: true }
    }

    pub(super) fn begin_next(&mut self) -> &mut Statement {
        self.statement.push(if self.first { " WHERE " } else { " AND " });
        self.first = false;
        self.statement
    }

    /// Adds the search and filter of the plan.
    pub(super) fn add_plan<'a>(&mut self, scope: &Scope<'a>, plan: &'a Plan) {
        if let Some(query) = &plan.text {
            text::write_match(scope, self.begin_next(), query);
        }
        if let Some(condition) = &plan.filter {
            filter::write_condition(scope, self.begin_next(), condition);
        }
    }
}

/// Writes `SELECT` with the fields of the items and the cursor values.
fn write_outputs(scope: &Scope<'_>, statement: &mut Statement, plan: &Plan, order: Option<&[SortKey]>) -> RowShape {
    let mut columns = OutputColumns::default();
    statement.push("SELECT ");
    let fields = match plan.table {
        true => columns.select_columns(scope, statement, &plan.select, &plan.embeds),
        false => columns.select_all(scope, statement, &plan.select, &plan.embeds),
    };
    let mut cells = Vec::new();
    if let Some(order) = order {
        if let Some(query) = plan.text.as_ref().filter(|_| plan.is_ranked()) {
            let index = columns.begin_column(statement);
            text::write_rank(scope, statement, query);
            // Without an index the rank is an integer.
            let counted = scope.exposed.table.index.is_none() && scope.dialect == Dialect::Postgres;
            let number = if scope.dialect == Dialect::Postgres { CellType::Float } else { CellType::Plain };
            cells.push((index, if counted { CellType::Integer } else { number }));
        }
        for key in order {
            cells.push(columns.add(scope, statement, &key.path));
        }
    }
    if columns.is_empty() {
        statement.push("1");
    }
    RowShape { fields, table: plan.table, cursor_source: CursorSource::Cells(cells) }
}
