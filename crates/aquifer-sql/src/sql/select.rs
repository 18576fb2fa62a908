//! Pages: the statements that read one, and how their rows become items.

use std::sync::Arc;

use aquifer_protocol::error::Failure;
use aquifer_query::plan::{Page, Path, Plan, SortKey};
use serde_json::Value;

use super::keyset::Range;
use super::operand::time_bound;
use super::selection::Outputs;
use super::value::{ColumnStyle, Scope, Thing, Times};
use super::{filter, keyset, text};
use crate::model::{Column, Key};
use crate::rows::{Places, Reader, Shape};
use crate::statement::{Dialect, Statement};

/// A page to be read.
#[derive(Debug)]
pub(crate) struct Reading {
    /// To be run one after the other, until there is one row more than wanted.
    pub(crate) statements: Vec<Statement>,
    pub(crate) shape: Shape,
    /// How many rows are wanted.
    pub(crate) wanted: usize,
}

/// The statements of a page.
pub(crate) fn page(scope: &Scope<'_>, plan: &Plan) -> Result<Reading, Failure> {
    let collection = &scope.served.collection;
    let mut order = plan.order(collection);
    for key in order.iter_mut().filter(|key| !key.path.computed && scope.served.table.column(&key.path.name).is_none())
    {
        // The hidden key is no field; its places are text.
        key.of = aquifer_query::FieldType::Text;
    }
    let (wanted, skip, place, backward) = match &plan.page {
        Page::Forward { size, after } => (*size, 0, after.as_deref(), false),
        Page::Backward { size, before } => (*size, 0, before.as_deref(), true),
        Page::Offset { limit, offset } => (*limit, *offset, None, false),
        Page::Numbered { page, size } => (*size, page.saturating_sub(1).saturating_mul(*size), None, false),
    };
    if plan.text.as_ref().is_some_and(|text| text.terms.is_empty()) {
        // Nothing is looked for, so nothing is found: there is nothing to rank by, and nobody needs to be asked.
        return Ok(Reading { statements: Vec::new(), shape: Shape::default(), wanted });
    }
    if scope.served.table.key == Key::None {
        return counted(scope, plan, wanted, skip, place, backward);
    }
    let checked = place.and_then(|place| comparable_times(scope, plan, &order, place));
    let scope = &Scope { times: checked.as_deref().map_or(scope.times, Times::Checked), ..*scope };
    let parts = keyset::parts(scope, plan, &order, backward);
    let values = place.map(|place| keyset::spread(plan, &order, place));
    let mut shape = Shape::default();
    let mut statements = Vec::new();
    let ranges = keyset::ranges(scope, &parts, values.as_deref());
    for (position, range) in ranges.iter().copied().enumerate() {
        let mut statement = Statement::new(scope.dialect);
        shape = outputs(scope, &mut statement, plan, Some(&order));
        text::from(scope, &mut statement, plan.text.as_ref());
        let mut conditions = Conditions::new(&mut statement);
        conditions.of_plan(scope, plan);
        if range != Range::All {
            let statement = conditions.next();
            statement.push("(");
            keyset::condition(scope, statement, &parts, values.as_deref().unwrap_or_default(), range);
            statement.push(")");
        }
        keyset::order_by(scope, &mut statement, &parts, range);
        statement.push(" LIMIT ").count(wanted.saturating_add(1));
        if skip > 0 {
            statement.push(" OFFSET ");
            match ranges.first().filter(|_| position > 0) {
                None => {
                    statement.count(skip);
                }
                // Of the rows to be skipped, those of the first range are counted.
                Some(first) => {
                    let most = if scope.dialect == Dialect::Sqlite { "max(0, " } else { "greatest(0, " };
                    statement.push(most).count(skip).push(" - (SELECT count(*)");
                    text::from(scope, &mut statement, plan.text.as_ref());
                    let mut conditions = Conditions::new(&mut statement);
                    conditions.of_plan(scope, plan);
                    keyset::condition(scope, conditions.next(), &parts, &[], *first);
                    statement.push("))");
                }
            }
        }
        statements.push(statement);
    }
    Ok(Reading { statements, shape, wanted })
}

/// The styles of times without those of columns that a place cannot be told in: its row may have been written in another
/// format. `None` if all can stay.
fn comparable_times(scope: &Scope<'_>, plan: &Plan, order: &[SortKey], place: &[Value]) -> Option<Vec<ColumnStyle>> {
    let Times::Checked(styles) = scope.times else { return None };
    let values = place.get(usize::from(plan.is_ranked())..).unwrap_or_default();
    let is_lost = |name: &Arc<str>| {
        order.iter().zip(values).any(|(key, value)| {
            let thing = scope.thing(&key.path);
            let Thing::Column(column) = thing else { return false };
            let Some(style) = scope.time_style(thing).filter(|_| column.name == *name) else { return false };
            match value {
                Value::Null => !column.nullable,
                value => !time_bound(style, value).is_some_and(|bound| bound.is_exact),
            }
        })
    };
    let kept: Vec<ColumnStyle> = styles.iter().filter(|(name, _)| !is_lost(name)).cloned().collect();
    (kept.len() < styles.len()).then_some(kept)
}

/// A page of what has no key: places can only be counted, and may shift.
fn counted(
    scope: &Scope<'_>,
    plan: &Plan,
    wanted: usize,
    skip: usize,
    place: Option<&[Value]>,
    backward: bool,
) -> Result<Reading, Failure> {
    if backward {
        return Err(Failure::invalid_value("last", "needs rows with a key, and these have none. Use 'first'"));
    }
    let held = place.and_then(|place| place.last()?.as_u64()).and_then(|count| usize::try_from(count).ok());
    let skip = held.unwrap_or(skip);
    let mut order = plan.sort.clone();
    for field in scope.served.collection.fields.iter().filter(|field| field.of.is_ordered()) {
        let path = Path::field(&field.name);
        if !order.iter().any(|key| key.path == path) {
            order.push(SortKey { path, of: field.of.clone(), descending: false, nulls_first: false });
        }
    }
    let parts = keyset::parts(scope, plan, &order, false);
    let mut statement = Statement::new(scope.dialect);
    let mut shape = outputs(scope, &mut statement, plan, None);
    shape.places = Places::Counted { from: skip, width: usize::from(plan.is_ranked()) + plan.sort.len() + 1 };
    text::from(scope, &mut statement, plan.text.as_ref());
    Conditions::new(&mut statement).of_plan(scope, plan);
    keyset::order_by(scope, &mut statement, &parts, keyset::Range::All);
    statement.push(" LIMIT ").count(wanted.saturating_add(1)).push(" OFFSET ").count(skip);
    Ok(Reading { statements: vec![statement], shape, wanted })
}

/// One row by its key, whose values are bound in its columns' order.
pub(crate) fn one(scope: &Scope<'_>, select: &[Path], key: &[Value], lock: bool) -> Reading {
    let mut statement = Statement::new(scope.dialect);
    let mut writer = Outputs::default();
    statement.push("SELECT ");
    let nodes = writer.nodes(scope, &mut statement, select);
    let shape = Shape { nodes, places: Places::None };
    statement.push(" FROM ").name(&scope.served.table.quoted).push(" AS t");
    by_key(scope, &mut statement, key);
    if lock && scope.dialect == Dialect::Postgres {
        statement.push(" FOR UPDATE");
    }
    Reading { statements: vec![statement], shape, wanted: 1 }
}

/// `WHERE` the key is this.
pub(crate) fn by_key(scope: &Scope<'_>, statement: &mut Statement, key: &[Value]) {
    for (index, (column, value)) in scope.served.table.key_columns().zip(key).enumerate() {
        statement.push(if index == 0 { " WHERE " } else { " AND " });
        equals(scope, statement, column, value);
    }
}

/// A column is this value, in its own type.
pub(crate) fn equals(scope: &Scope<'_>, statement: &mut Statement, column: &Column, value: &Value) {
    if column.is_shown_as_text() {
        scope.column(statement, column);
    } else {
        scope.comparable(statement, super::value::Thing::Column(column));
    }
    statement.push(" = ");
    super::operand::equal(statement, column, value);
}

/// `WHERE` and `AND`, as they are needed.
pub(super) struct Conditions<'s> {
    statement: &'s mut Statement,
    first: bool,
}

impl<'s> Conditions<'s> {
    pub(super) fn new(statement: &'s mut Statement) -> Self {
        Self { statement, first: true }
    }

    pub(super) fn next(&mut self) -> &mut Statement {
        self.statement.push(if self.first { " WHERE " } else { " AND " });
        self.first = false;
        self.statement
    }

    /// What the plan says about which rows.
    pub(super) fn of_plan<'a>(&mut self, scope: &Scope<'a>, plan: &'a Plan) {
        if let Some(query) = &plan.text {
            text::matches(scope, self.next(), query);
        }
        if let Some(condition) = &plan.filter {
            filter::condition(scope, self.next(), condition);
        }
    }
}

/// Writes `SELECT` and what is asked for: the items' parts, and the places of rows in the order.
fn outputs(scope: &Scope<'_>, statement: &mut Statement, plan: &Plan, order: Option<&[SortKey]>) -> Shape {
    let mut writer = Outputs::default();
    statement.push("SELECT ");
    let nodes = writer.nodes(scope, statement, &plan.select);
    let mut cells = Vec::new();
    if let Some(order) = order {
        if let Some(query) = plan.text.as_ref().filter(|_| plan.is_ranked()) {
            let index = writer.next(statement);
            text::rank(scope, statement, query);
            // The rank of the fallback is a whole number.
            let counted = scope.served.table.index.is_none() && scope.dialect == Dialect::Postgres;
            let number = super::value::reader_of(&aquifer_query::FieldType::Number, scope.dialect);
            cells.push((index, if counted { Reader::Integer } else { number }));
        }
        for key in order {
            cells.push(writer.add(scope, statement, &key.path));
        }
    }
    if writer.is_empty() {
        statement.push("1");
    }
    Shape { nodes, places: Places::Cells(cells) }
}
