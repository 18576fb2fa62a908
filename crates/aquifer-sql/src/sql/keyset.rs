//! Keyset pagination: only rows after a given one, in any order. NULLs sort last unless the caller wants them first.
//!
//! The condition is written so that an index on the sorted columns bounds the scan: as one comparison of row values if
//! all columns have the same direction and none can be NULL, otherwise with a bound on the leading column. If that
//! column can be NULL, "greater, or NULL" would defeat the index, and so would an order whose NULLs are at the other
//! end of the index. These cases are split into two ranges that are read one after the other, the second only if the
//! first does not fill the page.

use aquifer_query::FieldType;
use aquifer_query::plan::{Plan, SortKey, TextQuery};
use serde_json::Value;

use super::cursor_values::{cursor_bind, is_invalid_text};
use super::json::{self, ASPECTS, Aspect};
use super::operand::{time_bound, write_operand};
use super::scope::{PathTarget, Scope};
use super::text;
use crate::schema::model::Column;
use crate::statement::{Bind, Dialect, Statement};

/// An expression of the sort order.
pub(crate) struct SortExpression<'a> {
    /// Its table.
    scope: Scope<'a>,
    target: SortTarget<'a>,
    nullable: bool,
    descending: bool,
    nulls_first: bool,
}

enum SortTarget<'a> {
    Rank(&'a TextQuery),
    Path(PathTarget<'a>, &'a FieldType),
    Aspect(&'a Column, &'a [std::sync::Arc<str>], Aspect),
}

/// The complete sort order as expressions. A JSON value takes three.
pub(crate) fn sort_expressions<'a>(
    scope: &Scope<'a>,
    plan: &'a Plan,
    order: &'a [SortKey],
    backward: bool,
) -> Vec<SortExpression<'a>> {
    let mut expressions = Vec::with_capacity(order.len() + 1);
    if let Some(text) = plan.text.as_ref().filter(|_| plan.is_ranked()) {
        expressions.push(SortExpression {
            scope: *scope,
            target: SortTarget::Rank(text),
            nullable: false,
            descending: !backward,
            nulls_first: false,
        });
    }
    expressions.extend(order_expressions(scope, order, backward));
    expressions
}

/// The sort keys as expressions.
pub(super) fn order_expressions<'a>(
    scope: &Scope<'a>,
    order: &'a [SortKey],
    backward: bool,
) -> Vec<SortExpression<'a>> {
    let mut expressions = Vec::with_capacity(order.len());
    for key in order {
        let (scope, target) = scope.resolve(&key.path);
        let (descending, nulls_first) = (key.descending != backward, key.nulls_first != backward);
        match super::filter::as_json(target, &key.field_type) {
            Some((column, inside)) => {
                expressions.extend(ASPECTS.map(|aspect| SortExpression {
                    scope,
                    target: SortTarget::Aspect(column, inside, aspect),
                    nullable: true,
                    descending,
                    nulls_first,
                }));
            }
            None => {
                let nullable = match target {
                    // The reference may lead to no row.
                    _ if scope.is_optional() => true,
                    _ if scope.is_converted(target) => true,
                    PathTarget::Column(column) => column.nullable,
                    PathTarget::Computed(computed) => computed.nullable,
                    PathTarget::Nothing => true,
                    _ => false,
                };
                expressions.push(SortExpression {
                    scope,
                    target: SortTarget::Path(target, &key.field_type),
                    nullable,
                    descending,
                    nulls_first,
                });
            }
        }
    }
    expressions
}

/// Cursor values with one value for each expression.
pub(crate) fn expand_cursor_values(plan: &Plan, order: &[SortKey], cursor_values: &[Value]) -> Vec<Value> {
    let (rank, rest) = cursor_values.split_at(usize::from(plan.is_ranked()).min(cursor_values.len()));
    let mut values = rank.to_vec();
    for (key, value) in order.iter().zip(rest) {
        if key.field_type != FieldType::Json || key.path.computed {
            values.push(value.clone());
            continue;
        }
        let (kind, number, text) = match value {
            Value::Null => (Value::Null, Value::Null, Value::Null),
            Value::Bool(yes) => (0.into(), f64::from(u8::from(*yes)).into(), Value::Null),
            Value::Number(number) => (1.into(), number.as_f64().into(), Value::Null),
            Value::String(text) => (2.into(), Value::Null, text.as_str().into()),
            Value::Array(_) => (3.into(), Value::Null, Value::Null),
            Value::Object(_) => (4.into(), Value::Null, Value::Null),
        };
        values.extend([kind, number, text]);
    }
    values
}

impl SortExpression<'_> {
    /// Whether an index has NULLs at the other end than this order.
    fn needs_null_order(&self, dialect: Dialect) -> bool {
        // NULL sorts first in SQLite and last in PostgreSQL.
        let comes_first = match dialect {
            Dialect::Sqlite => !self.descending,
            Dialect::Postgres => self.descending,
        };
        self.nullable && comes_first != self.nulls_first
    }

    /// Whether it is a stored column, so that an index may have the same order.
    fn is_stored(&self) -> bool {
        let is_column = matches!(self.target, SortTarget::Path(target @ PathTarget::Column(_), _) if !self.scope.is_converted(target));
        is_column && self.scope.is_first()
    }

    fn write(&self, statement: &mut Statement) {
        let scope = &self.scope;
        match &self.target {
            SortTarget::Rank(query) => text::write_rank(scope, statement, query),
            SortTarget::Path(target, _) => scope.write_comparable(statement, *target),
            SortTarget::Aspect(column, inside, aspect) => {
                statement.push("(");
                json::write_aspect(scope, statement, column, inside, *aspect);
                statement.push(")");
            }
        }
    }

    /// Writes a cursor value. The subquery prevents PostgreSQL from using the value for planning: its estimate of the
    /// remaining rows would differ from page to page and cause a new plan each time, with the same result.
    fn write_value(&self, statement: &mut Statement, value: &Value) {
        let hidden = self.scope.dialect == Dialect::Postgres;
        if hidden {
            statement.push("(SELECT ");
        }
        self.write_bare_value(statement, value);
        if hidden {
            statement.push(")");
        }
    }

    fn write_bare_value(&self, statement: &mut Statement, value: &Value) {
        let scope = &self.scope;
        if let SortTarget::Path(target, _) = self.target
            && let Some(bound) = scope.time_style(target).and_then(|style| time_bound(style, value))
        {
            statement.bind(bound.value);
            return;
        }
        match (&self.target, scope.dialect) {
            (SortTarget::Path(target, field_type), Dialect::Postgres) => {
                write_operand(statement, *target, field_type, value)
            }
            (_, Dialect::Sqlite) if is_invalid_text(value) => {
                statement.push("CAST(").bind(cursor_bind(value)).push(" AS TEXT)");
            }
            // The cursor contains the value as SQLite stored it.
            (_, Dialect::Sqlite) => {
                statement.bind(cursor_bind(value));
            }
            (SortTarget::Rank(_) | SortTarget::Aspect(_, _, Aspect::Number), _) => {
                statement.bind(Bind::Text(value.to_string())).push("::float8");
            }
            (SortTarget::Aspect(_, _, Aspect::Kind), _) => {
                statement.bind(Bind::Text(value.to_string())).push("::int4");
            }
            (SortTarget::Aspect(_, _, Aspect::Text), _) => {
                statement.bind(Bind::Text(value.as_str().unwrap_or_default().to_owned())).push("::text");
            }
        }
    }

    fn write_comparison(&self, statement: &mut Statement, operator: &'static str, value: &Value) {
        self.write(statement);
        statement.push(operator);
        self.write_value(statement, value);
    }
}

/// A range of the rows after a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeysetRange {
    /// All rows: there is no cursor.
    All,
    /// From the leading value on.
    Beyond,
    /// The leading value is NULL, like the cursor's.
    AmongNulls,
    /// The leading value is NULL, unlike the cursor's.
    Nulls,
    /// The leading value is not NULL, unlike the cursor's.
    NotNulls,
}

/// The ranges to read, in order.
pub(crate) fn ranges(
    scope: &Scope<'_>,
    expressions: &[SortExpression<'_>],
    cursor_values: Option<&[Value]>,
) -> Vec<KeysetRange> {
    let Some(leading) = expressions.first() else { return vec![KeysetRange::All] };
    let Some(cursor_values) = cursor_values else {
        // Without a usable index, two ranges would only read everything twice.
        return match (leading.is_stored() && leading.needs_null_order(scope.dialect), leading.nulls_first) {
            (false, _) => vec![KeysetRange::All],
            (true, false) => vec![KeysetRange::NotNulls, KeysetRange::Nulls],
            (true, true) => vec![KeysetRange::Nulls, KeysetRange::NotNulls],
        };
    };
    let is_null = cursor_values.first().is_some_and(Value::is_null);
    match (leading.nullable, is_null, leading.nulls_first) {
        (true, false, false) => vec![KeysetRange::Beyond, KeysetRange::Nulls],
        (true, true, false) => vec![KeysetRange::AmongNulls],
        (true, true, true) => vec![KeysetRange::AmongNulls, KeysetRange::NotNulls],
        _ => vec![KeysetRange::Beyond],
    }
}

/// Writes the condition of a range.
pub(crate) fn write_condition(
    statement: &mut Statement,
    expressions: &[SortExpression<'_>],
    cursor_values: &[Value],
    range: KeysetRange,
) {
    let Some((leading, rest)) = expressions.split_first() else {
        statement.push("TRUE");
        return;
    };
    let values = cursor_values.get(1..).unwrap_or_default();
    match range {
        KeysetRange::All => {
            statement.push("TRUE");
        }
        KeysetRange::Nulls => {
            leading.write(statement);
            statement.push(" IS NULL");
        }
        KeysetRange::NotNulls => {
            leading.write(statement);
            statement.push(" IS NOT NULL");
        }
        KeysetRange::AmongNulls => {
            leading.write(statement);
            statement.push(" IS NULL AND ");
            // The next expression bounds the scan in turn, unless NULLs are on both sides of the bound.
            match (rest.first(), values.first()) {
                (Some(next), Some(value)) if !value.is_null() && (!next.nullable || next.nulls_first) => {
                    write_beyond(statement, rest, values);
                }
                _ => write_after(statement, rest, values),
            }
        }
        KeysetRange::Beyond => write_beyond(statement, expressions, cursor_values),
    }
}

/// Rows after a cursor whose leading value is not NULL, with a bound on that value.
fn write_beyond(statement: &mut Statement, expressions: &[SortExpression<'_>], cursor_values: &[Value]) {
    let (Some((leading, rest)), Some((value, values))) = (expressions.split_first(), cursor_values.split_first())
    else {
        statement.push("FALSE");
        return;
    };
    let alike = rest.iter().all(|expression| expression.descending == leading.descending && !expression.nullable);
    if alike && !values.contains(&Value::Null) {
        // No index covers columns of several tables, but one may cover the leading column.
        if rest.iter().any(|expression| expression.scope.alias != leading.scope.alias) {
            leading.write_comparison(statement, if leading.descending { " <= " } else { " >= " }, value);
            statement.push(" AND ");
        }
        return write_row_values(statement, expressions, cursor_values);
    }
    leading.write_comparison(statement, if leading.descending { " <= " } else { " >= " }, value);
    statement.push(" AND (");
    leading.write_comparison(statement, if leading.descending { " < " } else { " > " }, value);
    statement.push(" OR ");
    write_after(statement, rest, values);
    statement.push(")");
}

/// `(a, b) > (1, 2)`.
fn write_row_values(statement: &mut Statement, expressions: &[SortExpression<'_>], cursor_values: &[Value]) {
    let descending = expressions.first().is_some_and(|expression| expression.descending);
    if let ([expression], [value]) = (expressions, cursor_values) {
        return expression.write_comparison(statement, if descending { " < " } else { " > " }, value);
    }
    statement.push("(");
    for (index, expression) in expressions.iter().enumerate() {
        if index > 0 {
            statement.push(", ");
        }
        expression.write(statement);
    }
    statement.push(if descending { ") < (" } else { ") > (" });
    for (index, (expression, value)) in expressions.iter().zip(cursor_values).enumerate() {
        if index > 0 {
            statement.push(", ");
        }
        expression.write_value(statement, value);
    }
    statement.push(")");
}

/// Rows strictly after the cursor, with any NULLs.
fn write_after(statement: &mut Statement, expressions: &[SortExpression<'_>], cursor_values: &[Value]) {
    let (Some((expression, rest)), Some((value, values))) = (expressions.split_first(), cursor_values.split_first())
    else {
        statement.push("FALSE");
        return;
    };
    statement.push("(");
    match (value.is_null(), expression.nulls_first) {
        (true, false) => {
            expression.write(statement);
            statement.push(" IS NULL AND ");
        }
        (true, true) => {
            expression.write(statement);
            statement.push(" IS NOT NULL OR ");
        }
        (false, nulls_first) => {
            expression.write_comparison(statement, if expression.descending { " < " } else { " > " }, value);
            if expression.nullable && !nulls_first {
                statement.push(" OR ");
                expression.write(statement);
                statement.push(" IS NULL");
            }
            statement.push(" OR ");
            expression.write_comparison(statement, " = ", value);
            statement.push(" AND ");
        }
    }
    write_after(statement, rest, values);
    statement.push(")");
}

pub(crate) fn write_order_by(
    scope: &Scope<'_>,
    statement: &mut Statement,
    expressions: &[SortExpression<'_>],
    range: KeysetRange,
) {
    for (index, expression) in expressions.iter().enumerate() {
        statement.push(if index == 0 { " ORDER BY " } else { ", " });
        expression.write(statement);
        if expression.descending {
            statement.push(" DESC");
        }
        // If the range contains only NULLs or none, stating their order would only prevent the use of an index.
        let settled = index == 0 && range != KeysetRange::All;
        if !settled && expression.needs_null_order(scope.dialect) {
            statement.push(if expression.nulls_first { " NULLS FIRST" } else { " NULLS LAST" });
        }
    }
}
