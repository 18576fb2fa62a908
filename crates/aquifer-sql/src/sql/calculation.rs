//! Calculations with the numbers of a row, in double precision.

use aquifer_query::FieldType;
use aquifer_query::plan::calculation::{Arithmetic, Calculation};
use aquifer_query::plan::{NumericFunction, Path};

use super::json::{self, Aspect};
use super::scope::{PathTarget, Scope};
use crate::rows::CellType;
use crate::schema::model::{Column, PostgresRead, Store};
use crate::statement::{Bind, Dialect, Statement};

/// Writes a function of the results of a calculation.
pub(super) fn write_function(
    scope: &Scope<'_>,
    statement: &mut Statement,
    function: NumericFunction,
    calculation: &Calculation,
) -> CellType {
    let postgres = scope.dialect == Dialect::Postgres;
    statement.push(match function {
        // A sum of decimals does not accumulate rounding errors.
        NumericFunction::Sum if postgres => "sum((",
        NumericFunction::Avg if postgres => "avg((",
        NumericFunction::Sum => "aquifer_sum((",
        NumericFunction::Avg => "avg((",
        NumericFunction::Min => "min((",
        NumericFunction::Max => "max((",
    });
    write_result(scope, statement, calculation);
    match function {
        NumericFunction::Sum | NumericFunction::Avg if postgres => statement.push(")::numeric)::float8"),
        _ => statement.push("))"),
    };
    if postgres { CellType::Float } else { CellType::Plain }
}

/// Writes the result of a calculation. It is NULL if a value is missing or the divisor is zero.
pub(super) fn write_result(scope: &Scope<'_>, statement: &mut Statement, calculation: &Calculation) {
    match calculation {
        Calculation::Value(path, field_type) => write_number(scope, statement, path, field_type),
        Calculation::Constant(number) => {
            let number = number.as_f64().unwrap_or_default();
            match scope.dialect {
                Dialect::Sqlite => statement.bind(Bind::Real(number)),
                Dialect::Postgres => statement.bind(Bind::Text(number.to_string())).push("::float8"),
            };
        }
        Calculation::Operation(left, arithmetic, right) => {
            statement.push("(");
            write_result(scope, statement, left);
            statement.push(match arithmetic {
                Arithmetic::Add => " + ",
                Arithmetic::Subtract => " - ",
                Arithmetic::Multiply => " * ",
                Arithmetic::Divide => " / NULLIF(",
            });
            write_result(scope, statement, right);
            statement.push(if *arithmetic == Arithmetic::Divide { ", 0))" } else { ")" });
        }
    }
}

/// Writes a number of the row as a double. Anything else is NULL.
pub(super) fn write_number(scope: &Scope<'_>, statement: &mut Statement, path: &Path, field_type: &FieldType) {
    let (scope, target) = scope.resolve(path);
    let scope = &scope;
    if let Some((column, inside)) = super::filter::as_json(target, field_type) {
        statement.push("CASE WHEN (");
        json::write_aspect(scope, statement, column, inside, Aspect::Kind);
        statement.push(") = 1 THEN (");
        json::write_aspect(scope, statement, column, inside, Aspect::Number);
        statement.push(") END");
        return;
    }
    match (scope.dialect, target) {
        (Dialect::Sqlite, _) => {
            statement.push("CASE WHEN typeof(");
            scope.write_comparable(statement, target);
            statement.push(") IN ('integer', 'real') THEN CAST(");
            scope.write_comparable(statement, target);
            statement.push(" AS REAL) END");
        }
        (Dialect::Postgres, target) => {
            scope.write_comparable(statement, target);
            // The text has the stored digits: 0.15, not 0.150000006.
            statement.push(if is_single_precision(target) { "::text::float8" } else { "::float8" });
        }
    }
}

fn is_single_precision(target: PathTarget<'_>) -> bool {
    match target {
        PathTarget::Column(Column { store: Store::Postgres(store), .. }) => {
            store.read == PostgresRead::Float && store.cast.is_text("real")
        }
        _ => false,
    }
}
