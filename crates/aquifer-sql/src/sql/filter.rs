//! Conditions. Two-valued like the language: what is missing passes no test, so `not` finds it.

use aquifer_query::FieldType;
use aquifer_query::plan::{Filter, Test};
use serde_json::Value;

use super::json::{self, Aspect};
use super::operand::{any_of, any_of_binds, operand, time_bound};
use super::value::{Scope, Thing};
use crate::model::Column;
use crate::statement::{Bind, Dialect, Statement};
use crate::time;
use crate::time_style::TimeStyle;

pub(crate) fn condition<'a>(scope: &Scope<'a>, statement: &mut Statement, filter: &'a Filter) {
    match filter {
        Filter::And(parts) => joined(scope, statement, parts, " AND ", "TRUE"),
        Filter::Or(parts) => joined(scope, statement, parts, " OR ", "FALSE"),
        Filter::Not(inner) => {
            statement.push("(");
            condition(scope, statement, inner);
            // NULL is not TRUE: that is what makes it two-valued.
            statement.push(") IS NOT TRUE");
        }
        Filter::Test { path, of, test } => {
            let thing = scope.thing(path);
            match json_of(thing, of) {
                Some((column, inside)) => inside_json(scope, statement, column, inside, test),
                None => plain(scope, statement, thing, of, test),
            }
        }
    }
}

fn joined<'a>(
    scope: &Scope<'a>,
    statement: &mut Statement,
    parts: &'a [Filter],
    between: &'static str,
    of_none: &'static str,
) {
    if parts.is_empty() {
        statement.push(of_none);
        return;
    }
    statement.push("(");
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            statement.push(between);
        }
        condition(scope, statement, part);
    }
    statement.push(")");
}

/// The column and the way into it, where the value is JSON.
pub(super) fn json_of<'a>(thing: Thing<'a>, of: &FieldType) -> Option<(&'a Column, &'a [std::sync::Arc<str>])> {
    match thing {
        Thing::Inside(column, inside) => Some((column, inside)),
        Thing::Column(column) if *of == FieldType::Json => Some((column, &[])),
        _ => None,
    }
}

/// PostgreSQL keeps microseconds. A moment between two of them is compared by way of the earlier one: what is not before
/// the moment is after that.
fn between_ticks(test: &Test) -> Option<Test> {
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

/// Compares times of SQLite in a style. Says whether the test is one of order or equality.
fn compare_times(
    scope: &Scope<'_>,
    statement: &mut Statement,
    thing: Thing<'_>,
    style: TimeStyle,
    test: &Test,
) -> bool {
    let (value, if_exact, otherwise) = match test {
        Test::Gt(value) => (value, " > ", " > "),
        Test::Gte(value) => (value, " >= ", " > "),
        Test::Lt(value) => (value, " < ", " <= "),
        Test::Lte(value) => (value, " <= ", " <= "),
        Test::Eq(value) => return equal_times(scope, statement, thing, style, std::slice::from_ref(value)),
        Test::In(values) => return equal_times(scope, statement, thing, style, values),
        _ => return false,
    };
    let Some(bound) = time_bound(style, value) else {
        statement.push("FALSE");
        return true;
    };
    // Text that is no time is on one side of every bound, however far away.
    let is_text = matches!(style, TimeStyle::Text(_));
    statement.push(if is_text { "(" } else { "" });
    scope.comparable(statement, thing);
    statement.push(if bound.is_exact { if_exact } else { otherwise }).bind(bound.value);
    if is_text {
        statement.push(" AND aquifer_is_time(");
        scope.comparable(statement, thing);
        statement.push("))");
    }
    true
}

/// Whether times of SQLite are one of these.
fn equal_times(
    scope: &Scope<'_>,
    statement: &mut Statement,
    thing: Thing<'_>,
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
            scope.comparable(statement, thing);
            statement.push(" = ").bind(only);
        }
        (Some(last), false) => {
            binds.push(last);
            scope.comparable(statement, thing);
            any_of_binds(statement, binds);
        }
    }
    true
}

fn plain(scope: &Scope<'_>, statement: &mut Statement, thing: Thing<'_>, of: &FieldType, test: &Test) {
    if let (FieldType::Time, Some(style)) = (of, scope.time_style(thing))
        && compare_times(scope, statement, thing, style, test)
    {
        return;
    }
    let is_ticking = *of == FieldType::Time && scope.dialect == Dialect::Postgres;
    let settled = if is_ticking { between_ticks(test) } else { None };
    let test = settled.as_ref().unwrap_or(test);
    let mut compare = |operator: &'static str, value: &Value| {
        scope.comparable(statement, thing);
        statement.push(operator);
        operand(statement, thing, of, value);
    };
    match test {
        Test::Eq(value) => compare(" = ", value),
        Test::Gt(value) => compare(" > ", value),
        Test::Gte(value) => compare(" >= ", value),
        Test::Lt(value) => compare(" < ", value),
        Test::Lte(value) => compare(" <= ", value),
        // A list of that one element, so that an index on the column serves.
        Test::Has(value) => compare(" @> ", &Value::Array(vec![value.clone()])),
        Test::In(values) if values.is_empty() => {
            statement.push("FALSE");
        }
        // A list of lists would be one list to PostgreSQL.
        Test::In(values) if matches!(of, FieldType::List(_)) => {
            statement.push("(");
            for (index, value) in values.iter().enumerate() {
                if index > 0 {
                    statement.push(" OR ");
                }
                plain(scope, statement, thing, of, &Test::Eq(value.clone()));
            }
            statement.push(")");
        }
        Test::In(values) => {
            scope.comparable(statement, thing);
            any_of(statement, thing, of, values);
        }
        Test::IsNull => {
            match thing {
                Thing::Column(column) => scope.column(statement, column),
                _ => scope.comparable(statement, thing),
            }
            statement.push(" IS NULL");
        }
        Test::Contains(_) | Test::StartsWith(_) | Test::EndsWith(_) => {
            like(scope, statement, test, |statement| {
                scope.comparable(statement, thing);
                // Enumerations are no text until they are made it, and not every collation knows the case of letters, or
                // that a text can hold another.
                if scope.dialect == Dialect::Postgres {
                    statement.push("::text COLLATE \"default\"");
                }
            });
        }
    }
}

fn inside_json(
    scope: &Scope<'_>,
    statement: &mut Statement,
    column: &Column,
    inside: &[std::sync::Arc<str>],
    test: &Test,
) {
    let mut compare = |operator: &'static str, value: &Value| {
        equal_kind(scope, statement, column, inside, value);
        statement.push(operator);
        match (scope.dialect, value) {
            (_, Value::String(text)) => {
                statement.bind(Bind::Text(text.clone()));
                if scope.dialect == Dialect::Postgres {
                    statement.push("::text");
                }
            }
            (_, Value::Bool(yes)) => number(statement, f64::from(u8::from(*yes))),
            (_, value) => number(statement, value.as_f64().unwrap_or(f64::NAN)),
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
            // Of each kind at once: a condition for each value would be more than SQLite takes.
            for kind in [Value::is_boolean, Value::is_number, Value::is_string] {
                let alike: Vec<&Value> = values.iter().filter(|value| kind(value)).collect();
                let Some(one) = alike.first() else { continue };
                statement.push(if first { "" } else { " OR " });
                first = false;
                equal_kind(scope, statement, column, inside, one);
                any_of(
                    statement,
                    Thing::Inside(column, inside),
                    &loose(one),
                    &alike.into_iter().map(numeric).collect::<Vec<_>>(),
                );
                statement.push(")");
            }
            statement.push(if first { "FALSE)" } else { ")" });
        }
        Test::IsNull => {
            statement.push("(");
            json::aspect(scope, statement, column, inside, Aspect::Kind);
            statement.push(") IS NULL");
        }
        Test::Contains(_) | Test::StartsWith(_) | Test::EndsWith(_) => {
            like(scope, statement, test, |statement| {
                statement.push("(");
                json::aspect(scope, statement, column, inside, Aspect::Text);
                statement.push(")");
                // For the order of code points it has a collation that knows no case.
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

/// The type that values of this kind are compared as.
fn loose(value: &Value) -> FieldType {
    if value.is_string() { FieldType::Text } else { FieldType::Number }
}

/// The value, with numbers for booleans.
fn numeric(value: &Value) -> Value {
    match value {
        Value::Bool(yes) => f64::from(u8::from(*yes)).into(),
        Value::Number(number) => number.as_f64().into(),
        other => other.clone(),
    }
}

/// `(kind = … AND aspect`, left open for the operator and its operand.
fn equal_kind(
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
    json::aspect(scope, statement, column, inside, Aspect::Kind);
    statement.push(") = ").count(kind).push(" AND (");
    json::aspect(scope, statement, column, inside, aspect);
    statement.push(")");
}

fn number(statement: &mut Statement, number: f64) {
    match statement.dialect() {
        Dialect::Sqlite => {
            statement.bind(Bind::Real(number));
        }
        Dialect::Postgres => {
            statement.bind(Bind::Text(number.to_string())).push("::float8");
        }
    }
}

/// Text that holds, begins or ends with another, in any case.
fn like(scope: &Scope<'_>, statement: &mut Statement, test: &Test, value: impl Fn(&mut Statement)) {
    let (needle, before, after) = match test {
        Test::Contains(text) => (text, "%", "%"),
        Test::StartsWith(text) => (text, "", "%"),
        Test::EndsWith(text) => (text, "%", ""),
        _ => return,
    };
    match scope.dialect {
        Dialect::Postgres => {
            let mut pattern = String::from(before);
            for letter in needle.chars() {
                if matches!(letter, '%' | '_' | '\\') {
                    pattern.push('\\');
                }
                pattern.push(letter);
            }
            pattern.push_str(after);
            value(statement);
            statement.push(" ILIKE ").bind(Bind::Text(pattern)).push("::text");
        }
        // SQLite's own LIKE knows the case of ASCII letters only.
        Dialect::Sqlite => {
            statement.push("aquifer_holds(");
            value(statement);
            let mode = i64::from(before.is_empty()) + 2 * i64::from(after.is_empty());
            statement.push(", ").bind(Bind::Text(needle.clone())).push(", ").bind(Bind::Integer(mode)).push(")");
        }
    }
}
