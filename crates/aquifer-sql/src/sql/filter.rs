//! Conditions. They are two-valued like the query language: comparisons with a missing value are false, so `not`
//! matches it.

use std::sync::Arc;

use aquifer_query::FieldType;
use aquifer_query::plan::{Comparison, Filter, Path, Quantifier, Test};
use serde_json::Value;

use super::calculation;
use super::embed::find_related;
use super::joins::Joins;
use super::json::{self, Aspect};
use super::operand::{time_bound, write_any_of, write_any_of_binds, write_operand};
use super::scope::{PathTarget, Scope, TimeStyles, write_pairs};
use crate::rows::time;
use crate::schema::model::Column;
use crate::schema::time_style::TimeStyle;
use crate::statement::{Bind, Dialect, Statement};

pub(crate) fn write_condition<'a>(scope: &Scope<'a>, statement: &mut Statement, filter: &'a Filter) {
    match filter {
        Filter::And(parts) => write_joined(scope, statement, parts, " AND ", "TRUE"),
        Filter::Or(parts) => write_joined(scope, statement, parts, " OR ", "FALSE"),
        Filter::Not(inner) => {
            statement.push("(");
            write_condition(scope, statement, inner);
            // NULL is not TRUE, which makes the condition two-valued.
            statement.push(") IS NOT TRUE");
        }
        Filter::Test { path, field_type, test } => {
            let (scope, target) = scope.resolve(path);
            match as_json(target, field_type) {
                Some((column, inside)) => write_json_test(&scope, statement, column, inside, test),
                None => write_test(&scope, statement, target, field_type, test),
            }
        }
        Filter::Compare { left, comparison, right, field_type } => {
            write_comparison(scope, statement, left, *comparison, right, field_type);
        }
        Filter::Calculate { left, field_type, comparison, right } => {
            calculation::write_number(scope, statement, left, field_type);
            statement.push(comparison.operator());
            calculation::write_result(scope, statement, right);
        }
        Filter::Related { through, name, quantifier, filter } => {
            write_related(scope, statement, through, name, *quantifier, filter);
        }
    }
}

/// Compares two values of a row. A comparison with NULL is NULL, which is not true.
fn write_comparison<'a>(
    scope: &Scope<'a>,
    statement: &mut Statement,
    left: &'a Path,
    comparison: Comparison,
    right: &'a Path,
    field_type: &FieldType,
) {
    write_comparison_side(scope, statement, left, field_type);
    statement.push(comparison.operator());
    write_comparison_side(scope, statement, right, field_type);
}

/// Writes a value so that values of different columns are comparable: texts by code points, times as times.
fn write_comparison_side<'a>(scope: &Scope<'a>, statement: &mut Statement, path: &'a Path, field_type: &FieldType) {
    let (scope, target) = scope.resolve(path);
    // The columns may store times in different formats.
    let scope = Scope { times: TimeStyles::Checked(&[]), ..scope };
    scope.write_comparable(statement, target);
    match (field_type, scope.dialect) {
        (FieldType::Text | FieldType::Enum(_), Dialect::Postgres) => statement.push("::text COLLATE \"C\""),
        (FieldType::Text | FieldType::Enum(_), Dialect::Sqlite) => statement.push(" COLLATE BINARY"),
        (FieldType::Time, Dialect::Postgres) => statement.push("::timestamptz"),
        _ => statement,
    };
}

/// Tests the rows that refer to this one.
fn write_related(
    scope: &Scope<'_>,
    statement: &mut Statement,
    through: &[Arc<str>],
    name: &str,
    quantifier: Quantifier,
    filter: &Filter,
) {
    let Some((alias, reference, exposed)) = find_related(scope, through, name) else {
        statement.push("FALSE");
        return;
    };
    let joins = Joins::for_related(filter, quantifier, exposed, scope.tables);
    let inner = scope.nested(exposed, &joins);
    statement.push(if quantifier == Quantifier::Some { "EXISTS (SELECT 1" } else { "NOT EXISTS (SELECT 1" });
    inner.write_nested_from(statement);
    write_pairs(statement, " WHERE ", inner.alias, alias, &reference.on);
    statement.push(" AND (");
    write_condition(&inner, statement, filter);
    statement.push(if quantifier == Quantifier::Every { ") IS NOT TRUE)" } else { "))" });
}

fn write_joined<'a>(
    scope: &Scope<'a>,
    statement: &mut Statement,
    parts: &'a [Filter],
    between: &'static str,
    if_empty: &'static str,
) {
    if parts.is_empty() {
        statement.push(if_empty);
        return;
    }
    statement.push("(");
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            statement.push(between);
        }
        write_condition(scope, statement, part);
    }
    statement.push(")");
}

/// The column and the path into it, if the value is JSON.
pub(super) fn as_json<'a>(
    target: PathTarget<'a>,
    field_type: &FieldType,
) -> Option<(&'a Column, &'a [std::sync::Arc<str>])> {
    match target {
        PathTarget::Inside(column, inside) => Some((column, inside)),
        PathTarget::Column(column) if *field_type == FieldType::Json => Some((column, &[])),
        _ => None,
    }
}

/// PostgreSQL stores microseconds. A time between two of them is replaced by the earlier one, with the comparison
/// adjusted.
fn align_to_microseconds(test: &Test) -> Option<Test> {
    const MICROSECOND: i128 = 1_000;
    let before = |value: &Value| value.as_str().and_then(|text| time::tick_before(MICROSECOND, text)).map(Value::from);
    match test {
        Test::Eq(value) => before(value).map(|_| Test::In(Vec::new())),
        Test::In(values) => {
            let held: Vec<Value> = values.iter().filter(|value| before(value).is_none()).cloned().collect();
            (held.len() < values.len()).then_some(Test::In(held))
        }
        Test::Gt(value) | Test::Gte(value) => before(value).map(Test::Gt),
        Test::Lt(value) | Test::Lte(value) => before(value).map(Test::Lte),
        _ => None,
    }
}

/// Compares SQLite times in a style. Returns whether the test is a comparison.
fn write_time_comparison(
    scope: &Scope<'_>,
    statement: &mut Statement,
    target: PathTarget<'_>,
    style: TimeStyle,
    test: &Test,
) -> bool {
    let (value, if_exact, otherwise) = match test {
        Test::Gt(value) => (value, " > ", " > "),
        Test::Gte(value) => (value, " >= ", " > "),
        Test::Lt(value) => (value, " < ", " <= "),
        Test::Lte(value) => (value, " <= ", " <= "),
        Test::Eq(value) => return write_time_equality(scope, statement, target, style, std::slice::from_ref(value)),
        Test::In(values) => return write_time_equality(scope, statement, target, style, values),
        _ => return false,
    };
    let Some(bound) = time_bound(style, value) else {
        statement.push("FALSE");
        return true;
    };
    // Text that is not a time sorts on one side of every bound.
    let is_text = matches!(style, TimeStyle::Text(_));
    statement.push(if is_text { "(" } else { "" });
    scope.write_comparable(statement, target);
    statement.push(if bound.is_exact { if_exact } else { otherwise }).bind(bound.value);
    if is_text {
        statement.push(" AND aquifer_is_time(");
        scope.write_comparable(statement, target);
        statement.push("))");
    }
    true
}

/// Tests SQLite times for equality with any of these values.
fn write_time_equality(
    scope: &Scope<'_>,
    statement: &mut Statement,
    target: PathTarget<'_>,
    style: TimeStyle,
    values: &[Value],
) -> bool {
    let bounds = values.iter().filter_map(|value| time_bound(style, value));
    let mut binds: Vec<Bind> = bounds.filter(|bound| bound.is_exact).map(|bound| bound.value).collect();
    match (binds.pop(), binds.is_empty()) {
        (None, _) => {
            statement.push("FALSE");
        }
        (Some(only), true) => {
            scope.write_comparable(statement, target);
            statement.push(" = ").bind(only);
        }
        (Some(last), false) => {
            binds.push(last);
            scope.write_comparable(statement, target);
            write_any_of_binds(statement, binds);
        }
    }
    true
}

fn write_test(
    scope: &Scope<'_>,
    statement: &mut Statement,
    target: PathTarget<'_>,
    field_type: &FieldType,
    test: &Test,
) {
    if let (FieldType::Time, Some(style)) = (field_type, scope.time_style(target))
        && write_time_comparison(scope, statement, target, style, test)
    {
        return;
    }
    let counts_microseconds = *field_type == FieldType::Time && scope.dialect == Dialect::Postgres;
    let settled = if counts_microseconds { align_to_microseconds(test) } else { None };
    let test = settled.as_ref().unwrap_or(test);
    let mut compare = |operator: &'static str, value: &Value| {
        scope.write_comparable(statement, target);
        statement.push(operator);
        write_operand(statement, target, field_type, value);
    };
    match test {
        Test::Eq(value) => compare(" = ", value),
        Test::Gt(value) => compare(" > ", value),
        Test::Gte(value) => compare(" >= ", value),
        Test::Lt(value) => compare(" < ", value),
        Test::Lte(value) => compare(" <= ", value),
        // Containment of a one-element list can use an index on the column.
        Test::Has(value) => compare(" @> ", &Value::Array(vec![value.clone()])),
        Test::In(values) if values.is_empty() => {
            statement.push("FALSE");
        }
        // PostgreSQL would flatten a list of lists.
        Test::In(values) if matches!(field_type, FieldType::List(_)) => {
            statement.push("(");
            for (index, value) in values.iter().enumerate() {
                if index > 0 {
                    statement.push(" OR ");
                }
                write_test(scope, statement, target, field_type, &Test::Eq(value.clone()));
            }
            statement.push(")");
        }
        Test::In(values) => {
            scope.write_comparable(statement, target);
            write_any_of(statement, target, field_type, values);
        }
        Test::IsNull => {
            match target {
                PathTarget::Column(column) => scope.write_column(statement, column),
                _ => scope.write_comparable(statement, target),
            }
            statement.push(" IS NULL");
        }
        Test::Contains(_) | Test::StartsWith(_) | Test::EndsWith(_) => {
            write_like(scope, statement, test, |statement| {
                scope.write_comparable(statement, target);
                // Enumerations have to be converted to text, and some collations do not support ILIKE.
                if scope.dialect == Dialect::Postgres {
                    statement.push("::text COLLATE \"default\"");
                }
            });
        }
    }
}

fn write_json_test(
    scope: &Scope<'_>,
    statement: &mut Statement,
    column: &Column,
    inside: &[std::sync::Arc<str>],
    test: &Test,
) {
    let mut compare = |operator: &'static str, value: &Value| {
        open_kind_test(scope, statement, column, inside, value);
        statement.push(operator);
        match (scope.dialect, value) {
            (_, Value::String(text)) => {
                statement.bind(Bind::Text(text.clone()));
                if scope.dialect == Dialect::Postgres {
                    statement.push("::text");
                }
            }
            (_, Value::Bool(yes)) => bind_number(statement, f64::from(u8::from(*yes))),
            (_, value) => bind_number(statement, value.as_f64().unwrap_or(f64::NAN)),
        }
        statement.push(")");
    };
    match test {
        Test::Eq(value) => compare(" = ", value),
        Test::Gt(value) => compare(" > ", value),
        Test::Gte(value) => compare(" >= ", value),
        Test::Lt(value) => compare(" < ", value),
        Test::Lte(value) => compare(" <= ", value),
        Test::In(values) if values.is_empty() => {
            statement.push("FALSE");
        }
        Test::In(values) => {
            statement.push("(");
            let mut first = true;
            // One condition for each kind: one for each value would exceed SQLite's limits.
            for kind in [Value::is_boolean, Value::is_number, Value::is_string] {
                let alike: Vec<&Value> = values.iter().filter(|value| kind(value)).collect();
                let Some(example) = alike.first() else { continue };
                statement.push(if first { "" } else { " OR " });
                first = false;
                open_kind_test(scope, statement, column, inside, example);
                write_any_of(
                    statement,
                    PathTarget::Inside(column, inside),
                    &comparison_type(example),
                    &alike.into_iter().map(boolean_as_number).collect::<Vec<_>>(),
                );
                statement.push(")");
            }
            statement.push(if first { "FALSE)" } else { ")" });
        }
        Test::IsNull => {
            statement.push("(");
            json::write_aspect(scope, statement, column, inside, Aspect::Kind);
            statement.push(") IS NULL");
        }
        Test::Contains(_) | Test::StartsWith(_) | Test::EndsWith(_) => {
            write_like(scope, statement, test, |statement| {
                statement.push("(");
                json::write_aspect(scope, statement, column, inside, Aspect::Text);
                statement.push(")");
                // The expression has the collation "C", which cannot fold case.
                if scope.dialect == Dialect::Postgres {
                    statement.push(" COLLATE \"default\"");
                }
            });
        }
        Test::Has(_) => {
            statement.push("FALSE");
        }
    }
}

/// The type in which values of this kind are compared.
fn comparison_type(value: &Value) -> FieldType {
    if value.is_string() { FieldType::Text } else { FieldType::Number }
}

/// Converts booleans to numbers.
fn boolean_as_number(value: &Value) -> Value {
    match value {
        Value::Bool(yes) => f64::from(u8::from(*yes)).into(),
        Value::Number(number) => number.as_f64().into(),
        other => other.clone(),
    }
}

/// Writes `(kind = … AND aspect`, to be completed by an operator and its operand.
fn open_kind_test(
    scope: &Scope<'_>,
    statement: &mut Statement,
    column: &Column,
    inside: &[std::sync::Arc<str>],
    value: &Value,
) {
    let (kind, aspect) = match value {
        Value::Bool(_) => (0, Aspect::Number),
        Value::String(_) => (2, Aspect::Text),
        _ => (1, Aspect::Number),
    };
    statement.push("((");
    json::write_aspect(scope, statement, column, inside, Aspect::Kind);
    statement.push(") = ").count(kind).push(" AND (");
    json::write_aspect(scope, statement, column, inside, aspect);
    statement.push(")");
}

fn bind_number(statement: &mut Statement, number: f64) {
    match statement.dialect() {
        Dialect::Sqlite => {
            statement.bind(Bind::Real(number));
        }
        Dialect::Postgres => {
            statement.bind(Bind::Text(number.to_string())).push("::float8");
        }
    }
}

/// Matches text that contains, starts or ends with another, ignoring case.
fn write_like(scope: &Scope<'_>, statement: &mut Statement, test: &Test, value: impl Fn(&mut Statement)) {
    let (needle, before, after) = match test {
        Test::Contains(text) => (text, "%", "%"),
        Test::StartsWith(text) => (text, "", "%"),
        Test::EndsWith(text) => (text, "%", ""),
        _ => return,
    };
    match scope.dialect {
        Dialect::Postgres => {
            let mut pattern = String::from(before);
            for character in needle.chars() {
                if matches!(character, '%' | '_' | '\\') {
                    pattern.push('\\');
                }
                pattern.push(character);
            }
            pattern.push_str(after);
            value(statement);
            statement.push(" ILIKE ").bind(Bind::Text(pattern)).push("::text");
        }
        // SQLite's LIKE ignores the case of ASCII letters only.
        Dialect::Sqlite => {
            statement.push("aquifer_holds(");
            value(statement);
            let mode = i64::from(before.is_empty()) + 2 * i64::from(after.is_empty());
            statement.push(", ").bind(Bind::Text(needle.clone())).push(", ").bind(Bind::Integer(mode)).push(")");
        }
    }
}
