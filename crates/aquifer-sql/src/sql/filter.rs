//! Conditions. Two-valued like the language: what is missing passes no test, so `not` finds it.

use aquifer_query::FieldType;
use aquifer_query::plan::{Filter, Test};
use serde_json::Value;

use super::json::{self, Aspect};
use super::operand::{any_of, operand};
use super::value::{Scope, Thing};
use crate::statement::{Bind, Dialect, Statement};

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
pub(super) fn json_of<'a>(
    thing: Thing<'a>,
    of: &FieldType,
) -> Option<(&'a crate::model::Column, &'a [std::sync::Arc<str>])> {
    match thing {
        Thing::Inside(column, inside) => Some((column, inside)),
        Thing::Column(column) if *of == FieldType::Json => Some((column, &[])),
        _ => None,
    }
}

fn plain(scope: &Scope<'_>, statement: &mut Statement, thing: Thing<'_>, of: &FieldType, test: &Test) {
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
        Test::In(values) => {
            scope.comparable(statement, thing);
            any_of(statement, thing, of, values);
        }
        Test::IsNull => {
            scope.comparable(statement, thing);
            statement.push(" IS NULL");
        }
        Test::Contains(_) | Test::StartsWith(_) | Test::EndsWith(_) => {
            like(scope, statement, test, |statement| {
                scope.comparable(statement, thing);
                // Enumerations are no text until they are made it.
                if scope.dialect == Dialect::Postgres {
                    statement.push("::text");
                }
            });
        }
    }
}

fn inside_json(
    scope: &Scope<'_>,
    statement: &mut Statement,
    column: &crate::model::Column,
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
            for (index, value) in values.iter().enumerate() {
                if index > 0 {
                    statement.push(" OR ");
                }
                inside_json(scope, statement, column, inside, &Test::Eq(value.clone()));
            }
            statement.push(")");
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
            });
        }
        Test::Has(_) => {
            statement.push("FALSE");
        }
    }
}

/// `(kind = … AND aspect`, left open for the operator and its operand.
fn equal_kind(
    scope: &Scope<'_>,
    statement: &mut Statement,
    column: &crate::model::Column,
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
