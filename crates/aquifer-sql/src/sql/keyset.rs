//! Pages by place: only rows after a given one, in any order. NULLs come last unless the caller asks for them first.
//!
//! The condition is written so that an index on the sorted columns bounds the scan: as one comparison of row values where
//! all go the same way and none can be NULL, else with a bound on the leading column in front. Where that column can be
//! NULL, "greater, or NULL" would defeat an index, and so would an order whose NULLs are on the other side than the
//! index has them. So those are two ranges, read one after the other, the second only when the first does not fill the
//! page.

use aquifer_query::FieldType;
use aquifer_query::plan::{Plan, SortKey, TextQuery};
use serde_json::Value;

use super::json::{self, ASPECTS, Aspect};
use super::operand::{operand, time_bound};
use super::text;
use super::value::{Scope, Thing};
use crate::model::Column;
use crate::statement::{Bind, Dialect, Statement};

/// One expression of the order.
pub(crate) struct Part<'a> {
    what: What<'a>,
    nullable: bool,
    descending: bool,
    nulls_first: bool,
}

enum What<'a> {
    Rank(&'a TextQuery),
    Thing(Thing<'a>, &'a FieldType),
    Aspect(&'a Column, &'a [std::sync::Arc<str>], Aspect),
}

/// The whole order, as expressions. What stands inside JSON takes three.
pub(crate) fn parts<'a>(scope: &Scope<'a>, plan: &'a Plan, order: &'a [SortKey], backward: bool) -> Vec<Part<'a>> {
    let mut parts = Vec::with_capacity(order.len() + 1);
    if let Some(text) = plan.text.as_ref().filter(|_| plan.is_ranked()) {
        parts.push(Part { what: What::Rank(text), nullable: false, descending: !backward, nulls_first: false });
    }
    for key in order {
        let thing = scope.thing(&key.path);
        let (descending, nulls_first) = (key.descending != backward, key.nulls_first != backward);
        match super::filter::json_of(thing, &key.of) {
            Some((column, inside)) => {
                parts.extend(ASPECTS.map(|aspect| Part {
                    what: What::Aspect(column, inside, aspect),
                    nullable: true,
                    descending,
                    nulls_first,
                }));
            }
            None => {
                let nullable = match thing {
                    _ if scope.is_read(thing) => true,
                    Thing::Column(column) => column.nullable,
                    Thing::Computed(computed) => computed.nullable,
                    _ => false,
                };
                parts.push(Part { what: What::Thing(thing, &key.of), nullable, descending, nulls_first });
            }
        }
    }
    parts
}

/// A place with a value for each part.
pub(crate) fn spread(plan: &Plan, order: &[SortKey], place: &[Value]) -> Vec<Value> {
    let (rank, rest) = place.split_at(usize::from(plan.is_ranked()).min(place.len()));
    let mut values = rank.to_vec();
    for (key, value) in order.iter().zip(rest) {
        if key.of != FieldType::Json || key.path.computed {
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

impl Part<'_> {
    /// Whether an index would have NULLs on the other side than this order does.
    fn needs_null_order(&self, dialect: Dialect) -> bool {
        // NULL is the least to SQLite, and the greatest to PostgreSQL.
        let comes_first = match dialect {
            Dialect::Sqlite => !self.descending,
            Dialect::Postgres => self.descending,
        };
        self.nullable && comes_first != self.nulls_first
    }

    /// Whether it is a column as it is stored, so that an index may have its order.
    fn is_stored(&self, scope: &Scope<'_>) -> bool {
        matches!(self.what, What::Thing(thing @ Thing::Column(_), _) if !scope.is_read(thing))
    }

    fn expression(&self, scope: &Scope<'_>, statement: &mut Statement) {
        match &self.what {
            What::Rank(query) => text::rank(scope, statement, query),
            What::Thing(thing, _) => scope.comparable(statement, *thing),
            What::Aspect(column, inside, aspect) => {
                statement.push("(");
                json::aspect(scope, statement, column, inside, *aspect);
                statement.push(")");
            }
        }
    }

    /// Writes a value of the place. PostgreSQL is kept from looking at it while planning: it would guess how many rows
    /// are left and, because the guess differs from place to place, plan every page anew, to the same end.
    fn value(&self, scope: &Scope<'_>, statement: &mut Statement, value: &Value) {
        let hidden = scope.dialect == Dialect::Postgres;
        if hidden {
            statement.push("(SELECT ");
        }
        self.bare_value(scope, statement, value);
        if hidden {
            statement.push(")");
        }
    }

    fn bare_value(&self, scope: &Scope<'_>, statement: &mut Statement, value: &Value) {
        if let What::Thing(thing, _) = self.what
            && let Some(bound) = scope.time_style(thing).and_then(|style| time_bound(style, value))
        {
            statement.bind(bound.value);
            return;
        }
        match (&self.what, scope.dialect) {
            (What::Thing(thing, of), Dialect::Postgres) => operand(statement, *thing, of, value),
            (_, Dialect::Sqlite) if crate::sqlite::is_broken_text(value) => {
                statement.push("CAST(").bind(crate::sqlite::from_place(value)).push(" AS TEXT)");
            }
            // The place holds what SQLite itself gave.
            (_, Dialect::Sqlite) => {
                statement.bind(crate::sqlite::from_place(value));
            }
            (What::Rank(_) | What::Aspect(_, _, Aspect::Number), _) => {
                statement.bind(Bind::Text(value.to_string())).push("::float8");
            }
            (What::Aspect(_, _, Aspect::Kind), _) => {
                statement.bind(Bind::Text(value.to_string())).push("::int4");
            }
            (What::Aspect(_, _, Aspect::Text), _) => {
                statement.bind(Bind::Text(value.as_str().unwrap_or_default().to_owned())).push("::text");
            }
        }
    }

    fn compare(&self, scope: &Scope<'_>, statement: &mut Statement, operator: &'static str, value: &Value) {
        self.expression(scope, statement);
        statement.push(operator);
        self.value(scope, statement, value);
    }
}

/// One range of the rows after a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Range {
    /// All of them: nothing was said of a place.
    All,
    /// From the leading value on.
    Beyond,
    /// Where the leading value is NULL like the place's.
    AmongNulls,
    /// Where the leading value is NULL, unlike the place's.
    Nulls,
    /// Where the leading value is not NULL, unlike the place's.
    NotNulls,
}

/// The ranges to read, one after the other.
pub(crate) fn ranges(scope: &Scope<'_>, parts: &[Part<'_>], place: Option<&[Value]>) -> Vec<Range> {
    let Some(leading) = parts.first() else { return vec![Range::All] };
    let Some(place) = place else {
        // Where no index can serve, two ranges would only read everything twice.
        return match (leading.is_stored(scope) && leading.needs_null_order(scope.dialect), leading.nulls_first) {
            (false, _) => vec![Range::All],
            (true, false) => vec![Range::NotNulls, Range::Nulls],
            (true, true) => vec![Range::Nulls, Range::NotNulls],
        };
    };
    let is_null = place.first().is_some_and(Value::is_null);
    match (leading.nullable, is_null, leading.nulls_first) {
        (true, false, false) => vec![Range::Beyond, Range::Nulls],
        (true, true, false) => vec![Range::AmongNulls],
        (true, true, true) => vec![Range::AmongNulls, Range::NotNulls],
        _ => vec![Range::Beyond],
    }
}

/// Writes the condition of a range.
pub(crate) fn condition(
    scope: &Scope<'_>,
    statement: &mut Statement,
    parts: &[Part<'_>],
    place: &[Value],
    range: Range,
) {
    let Some((leading, rest)) = parts.split_first() else {
        statement.push("TRUE");
        return;
    };
    let values = place.get(1..).unwrap_or_default();
    match range {
        Range::All => {
            statement.push("TRUE");
        }
        Range::Nulls => {
            leading.expression(scope, statement);
            statement.push(" IS NULL");
        }
        Range::NotNulls => {
            leading.expression(scope, statement);
            statement.push(" IS NOT NULL");
        }
        Range::AmongNulls => {
            leading.expression(scope, statement);
            statement.push(" IS NULL AND ");
            // What comes next bounds the scan in turn, unless NULL were to be found on both sides of a bound.
            match (rest.first(), values.first()) {
                (Some(next), Some(value)) if !value.is_null() && (!next.nullable || next.nulls_first) => {
                    beyond(scope, statement, rest, values);
                }
                _ => after(scope, statement, rest, values),
            }
        }
        Range::Beyond => beyond(scope, statement, parts, place),
    }
}

/// After a place whose leading value is not NULL, with a bound on that value.
fn beyond(scope: &Scope<'_>, statement: &mut Statement, parts: &[Part<'_>], place: &[Value]) {
    let (Some((leading, rest)), Some((value, values))) = (parts.split_first(), place.split_first()) else {
        statement.push("FALSE");
        return;
    };
    let alike = rest.iter().all(|part| part.descending == leading.descending && !part.nullable);
    if alike && !values.contains(&Value::Null) {
        return row_values(scope, statement, parts, place);
    }
    leading.compare(scope, statement, if leading.descending { " <= " } else { " >= " }, value);
    statement.push(" AND (");
    leading.compare(scope, statement, if leading.descending { " < " } else { " > " }, value);
    statement.push(" OR ");
    after(scope, statement, rest, values);
    statement.push(")");
}

/// `(a, b) > (1, 2)`.
fn row_values(scope: &Scope<'_>, statement: &mut Statement, parts: &[Part<'_>], place: &[Value]) {
    let descending = parts.first().is_some_and(|part| part.descending);
    if let ([part], [value]) = (parts, place) {
        return part.compare(scope, statement, if descending { " < " } else { " > " }, value);
    }
    statement.push("(");
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            statement.push(", ");
        }
        part.expression(scope, statement);
    }
    statement.push(if descending { ") < (" } else { ") > (" });
    for (index, (part, value)) in parts.iter().zip(place).enumerate() {
        if index > 0 {
            statement.push(", ");
        }
        part.value(scope, statement, value);
    }
    statement.push(")");
}

/// Strictly after, whatever is NULL.
fn after(scope: &Scope<'_>, statement: &mut Statement, parts: &[Part<'_>], place: &[Value]) {
    let (Some((part, rest)), Some((value, values))) = (parts.split_first(), place.split_first()) else {
        statement.push("FALSE");
        return;
    };
    statement.push("(");
    match (value.is_null(), part.nulls_first) {
        (true, false) => {
            part.expression(scope, statement);
            statement.push(" IS NULL AND ");
        }
        (true, true) => {
            part.expression(scope, statement);
            statement.push(" IS NOT NULL OR ");
        }
        (false, nulls_first) => {
            part.compare(scope, statement, if part.descending { " < " } else { " > " }, value);
            if part.nullable && !nulls_first {
                statement.push(" OR ");
                part.expression(scope, statement);
                statement.push(" IS NULL");
            }
            statement.push(" OR ");
            part.compare(scope, statement, " = ", value);
            statement.push(" AND ");
        }
    }
    after(scope, statement, rest, values);
    statement.push(")");
}

/// Writes `ORDER BY`.
pub(crate) fn order_by(scope: &Scope<'_>, statement: &mut Statement, parts: &[Part<'_>], range: Range) {
    for (index, part) in parts.iter().enumerate() {
        statement.push(if index == 0 { " ORDER BY " } else { ", " });
        part.expression(scope, statement);
        if part.descending {
            statement.push(" DESC");
        }
        // Where the range holds only NULLs or none, saying so would only keep the database from its index.
        let settled = index == 0 && range != Range::All;
        if !settled && part.needs_null_order(scope.dialect) {
            statement.push(if part.nulls_first { " NULLS FIRST" } else { " NULLS LAST" });
        }
    }
}
