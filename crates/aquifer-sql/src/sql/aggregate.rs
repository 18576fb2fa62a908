//! Aggregates: one statement for all without grouping, and one for each grouping.

use aquifer_protocol::warning::Warning;
use aquifer_query::FieldType;
use aquifer_query::evaluate::{groups_truncated, insert_nested};
use aquifer_query::plan::{Aggregate, Function, MAX_GROUPS, Path, Plan, group_label};
use serde_json::{Map, Value};

use super::json::{self, ASPECTS, Aspect};
use super::scope::{PathTarget, Scope, cell_type_for};
use super::select::Conditions;
use super::text;
use crate::rows::CellType;
use crate::schema::model::{PostgresRead, Store};
use crate::statement::{Dialect, Statement};

/// A statement, and what its columns mean.
#[derive(Debug)]
pub(crate) struct AggregateQuery {
    pub(crate) statement: Statement,
    /// The types of its columns: groups first, then results.
    pub(crate) cell_types: Vec<CellType>,
    /// The aggregates it computes, and the first column of each.
    expressions: Vec<(usize, usize)>,
    groups: Vec<GroupColumn>,
    /// Whether the last column is the total number of rows.
    counts: bool,
}

/// The grouping of the plan.
type GroupBy<'a> = &'a [(Path, FieldType)];

/// A grouping column.
#[derive(Debug)]
struct GroupColumn {
    field_type: FieldType,
    /// The index of its first column.
    at: usize,
    /// Whether it takes three columns, one for each aspect of JSON.
    aspects: bool,
}

/// The statements for the aggregates of a plan, including the total count if it is requested.
pub(crate) fn build_queries(scope: &Scope<'_>, plan: &Plan) -> Vec<AggregateQuery> {
    let mut groupings: Vec<(GroupBy<'_>, Vec<usize>)> = Vec::new();
    for (index, aggregate) in plan.aggregates.iter().enumerate() {
        match groupings.iter_mut().find(|(by, _)| *by == aggregate.group_by.as_slice()) {
            Some((_, same)) => same.push(index),
            None => groupings.push((&aggregate.group_by, vec![index])),
        }
    }
    let total = plan.total && plan.items;
    if total && !groupings.iter().any(|(by, _)| by.is_empty()) {
        groupings.push((&[], Vec::new()));
    }
    groupings.iter().map(|(by, which)| aggregate_query(scope, plan, by, which, total)).collect()
}

fn aggregate_query<'a>(
    scope: &Scope<'a>,
    plan: &'a Plan,
    by: GroupBy<'a>,
    which: &[usize],
    total: bool,
) -> AggregateQuery {
    let mut statement = Statement::new(scope.dialect);
    let mut cell_types = Vec::new();
    let mut groups = Vec::with_capacity(by.len());
    statement.push("SELECT ");
    for (path, field_type) in by {
        write_comma(&mut statement, &cell_types);
        let at = cell_types.len();
        let aspects = write_group(scope, &mut statement, scope.resolve(path), field_type, &mut cell_types);
        groups.push(GroupColumn { field_type: field_type.clone(), at, aspects });
    }
    let mut expressions = Vec::new();
    for index in which {
        expressions.push((*index, cell_types.len()));
        for function in plan.aggregates.get(*index).map(|aggregate| aggregate.functions.as_slice()).unwrap_or_default()
        {
            write_comma(&mut statement, &cell_types);
            cell_types.push(write_calculation(scope, &mut statement, function));
        }
    }
    let counts = total && by.is_empty();
    if counts {
        write_comma(&mut statement, &cell_types);
        cell_types.push(write_calculation(scope, &mut statement, &Function::Count));
    }
    text::write_from(scope, &mut statement, plan.text.as_ref());
    Conditions::new(&mut statement).add_plan(scope, plan);
    let nulls = if scope.dialect == Dialect::Sqlite { " NULLS LAST" } else { "" };
    for (clause, after) in [(" GROUP BY ", ""), (" ORDER BY ", nulls)] {
        for (index, ((path, _), group)) in by.iter().zip(&groups).enumerate() {
            statement.push(if index == 0 { clause } else { ", " });
            write_group_keys(scope, &mut statement, scope.resolve(path), group, after);
        }
    }
    if !by.is_empty() {
        statement.push(" LIMIT ").count(MAX_GROUPS + 1);
    }
    AggregateQuery { statement, cell_types, expressions, groups, counts }
}

fn write_comma(statement: &mut Statement, cell_types: &[CellType]) {
    if !cell_types.is_empty() {
        statement.push(", ");
    }
}

/// Writes the label of a group. Returns whether it takes three columns.
fn write_group(
    scope: &Scope<'_>,
    statement: &mut Statement,
    target: PathTarget<'_>,
    field_type: &FieldType,
    cell_types: &mut Vec<CellType>,
) -> bool {
    let Some((column, inside)) = super::filter::as_json(target, field_type) else {
        cell_types.push(scope.write_output(statement, target));
        return false;
    };
    // Equal values may be written differently, so the label is made of their aspects.
    for (index, aspect) in ASPECTS.into_iter().enumerate() {
        statement.push(if index > 0 { ", (" } else { "(" });
        json::write_aspect(scope, statement, column, inside, aspect);
        statement.push(")");
        cell_types.push(match (scope.dialect, aspect) {
            (Dialect::Sqlite, _) => CellType::Plain,
            (_, Aspect::Kind) => CellType::Integer,
            (_, Aspect::Number) => CellType::Float,
            (_, Aspect::Text) => CellType::Text,
        });
    }
    true
}

fn write_group_keys(
    scope: &Scope<'_>,
    statement: &mut Statement,
    target: PathTarget<'_>,
    group: &GroupColumn,
    after: &'static str,
) {
    match (target, super::filter::as_json(target, &group.field_type)) {
        // Its values would be bound again at each use, so PostgreSQL would not recognize the expression.
        (PathTarget::Computed(_), _) if scope.dialect == Dialect::Postgres => {
            statement.count(group.at + 1).push(after);
        }
        (_, Some((column, inside))) => {
            for (index, aspect) in ASPECTS.into_iter().enumerate() {
                statement.push(if index > 0 { ", (" } else { "(" });
                json::write_aspect(scope, statement, column, inside, aspect);
                statement.push(")").push(after);
            }
        }
        (_, None) => {
            scope.write_comparable(statement, target);
            statement.push(after);
        }
    }
}

fn write_calculation(scope: &Scope<'_>, statement: &mut Statement, function: &Function) -> CellType {
    let postgres = scope.dialect == Dialect::Postgres;
    let (name, path, field_type) = match function {
        Function::Count => {
            statement.push("count(*)");
            return if postgres { CellType::Integer } else { CellType::Plain };
        }
        Function::Sum(path, field_type) => ("sum(", path, field_type),
        Function::Avg(path, field_type) => ("avg(", path, field_type),
        Function::Min(path, field_type) => ("min(", path, field_type),
        Function::Max(path, field_type) => ("max(", path, field_type),
    };
    let target = scope.resolve(path);
    if let Some((column, inside)) = super::filter::as_json(target, field_type) {
        statement.push(name).push("CASE WHEN (");
        json::write_aspect(scope, statement, column, inside, Aspect::Kind);
        statement.push(") = 1 THEN (");
        json::write_aspect(scope, statement, column, inside, Aspect::Number);
        statement.push(") END)");
        return if postgres { CellType::Float } else { CellType::Plain };
    }
    let (exact, as_text) = match target {
        PathTarget::Column(column) => match &column.store {
            Store::Postgres(store) => (
                matches!(store.read, PostgresRead::Integer | PostgresRead::Decimal),
                matches!(store.read, PostgresRead::Uuid | PostgresRead::Word),
            ),
            Store::Sqlite(_) => (false, false),
        },
        PathTarget::Computed(computed) => (computed.of == FieldType::Integer, false),
        _ => (false, false),
    };
    match function {
        Function::Min(..) | Function::Max(..) => {
            if postgres && *field_type == FieldType::Boolean {
                statement.push(if matches!(function, Function::Min(..)) { "bool_and(" } else { "bool_or(" });
                scope.write_comparable(statement, target);
                statement.push(")");
                return CellType::Boolean;
            }
            // PostgreSQL has no `min(uuid)`, and an enumeration has to be converted to text.
            if as_text && matches!(field_type, FieldType::Uuid) {
                statement.push(name);
                scope.write_comparable(statement, target);
                statement.push("::text)");
                return CellType::Text;
            }
            statement.push(name);
            scope.write_comparable(statement, target);
            statement.push(")");
            match target {
                PathTarget::Column(column) => extreme_cell_type(statement, column),
                PathTarget::Computed(_) => cell_type_for(field_type, scope.dialect),
                _ => CellType::Text,
            }
        }
        Function::Sum(..) => {
            statement.push(if postgres { name } else { "aquifer_sum(" });
            scope.write_comparable(statement, target);
            statement.push(")");
            match (postgres, exact) {
                (false, _) => CellType::Plain,
                (true, true) => {
                    statement.push("::text");
                    CellType::Decimal
                }
                (true, false) => {
                    statement.push("::float8");
                    CellType::Float
                }
            }
        }
        Function::Avg(..) | Function::Count => {
            statement.push(name);
            scope.write_comparable(statement, target);
            statement.push(")");
            if postgres {
                statement.push("::float8");
            }
            if postgres { CellType::Float } else { CellType::Plain }
        }
    }
}

/// The cell type of a column's minimum or maximum.
fn extreme_cell_type(statement: &mut Statement, column: &crate::schema::model::Column) -> CellType {
    use crate::schema::model::SqliteStore;
    match &column.store {
        Store::Sqlite(SqliteStore::Boolean) => CellType::Boolean,
        Store::Sqlite(SqliteStore::Time(_)) => CellType::Time,
        Store::Sqlite(_) => CellType::Plain,
        Store::Postgres(store) => match store.read {
            PostgresRead::Decimal => {
                statement.push("::text");
                CellType::Decimal
            }
            PostgresRead::Word | PostgresRead::Native => {
                statement.push("::text");
                CellType::Text
            }
            _ => cell_type_for(&column.of, Dialect::Postgres),
        },
    }
}

impl GroupColumn {
    /// The label of a row's group.
    fn label(&self, row: &[Value]) -> String {
        let cell = |index: usize| row.get(self.at + index).unwrap_or(&Value::Null);
        if !self.aspects {
            return group_label(&self.field_type, cell(0));
        }
        let value = match cell(0).as_i64() {
            None => Value::Null,
            Some(0) => (cell(1).as_f64() == Some(1.0)).into(),
            Some(1) => cell(1).clone(),
            Some(2) => cell(2).clone(),
            Some(3) => Value::Array(Vec::new()),
            Some(_) => Value::Object(Map::new()),
        };
        group_label(&self.field_type, &value)
    }
}

/// Makes labels distinct: a column without a type may contain 1 and '1', which look the same.
fn distinct_labels(taken: &mut std::collections::HashSet<Vec<String>>, labels: Vec<String>) -> Vec<String> {
    let mut different = labels.clone();
    let mut number = 2;
    while !taken.insert(different.clone()) {
        different.clone_from(&labels);
        if let Some(last) = different.last_mut() {
            last.push_str(&format!(" ({number})"));
        }
        number += 1;
    }
    different
}

impl AggregateQuery {
    /// Enters the results of the rows under their aggregates. Returns the total count, if this statement computes it.
    pub(crate) fn collect(
        &self,
        rows: Vec<Vec<Value>>,
        aggregates: &[Aggregate],
        results: &mut Vec<Option<Value>>,
        warnings: &mut Vec<Warning>,
    ) -> Option<Value> {
        results.resize(aggregates.len(), None);
        let cut = !self.groups.is_empty() && rows.len() > MAX_GROUPS;
        for (index, start) in &self.expressions {
            let Some(aggregate) = aggregates.get(*index) else { continue };
            let width = aggregate.functions.len();
            let result = |row: &[Value]| {
                let values = row.get(*start..start + width).unwrap_or_default();
                match values {
                    [only] => only.clone(),
                    several => Value::Object(aggregate.names().into_iter().zip(several.iter().cloned()).collect()),
                }
            };
            let answer = if self.groups.is_empty() {
                rows.first().map_or(Value::Null, |row| result(row))
            } else {
                let mut map = Map::new();
                let mut taken = std::collections::HashSet::new();
                for row in rows.iter().take(MAX_GROUPS) {
                    let labels: Vec<String> = self.groups.iter().map(|group| group.label(row)).collect();
                    insert_nested(&mut map, &distinct_labels(&mut taken, labels), result(row));
                }
                Value::Object(map)
            };
            if cut {
                warnings.push(groups_truncated(&aggregate.name));
            }
            if let Some(slot) = results.get_mut(*index) {
                *slot = Some(answer);
            }
        }
        if self.counts { rows.first().and_then(|row| row.last().cloned()) } else { None }
    }
}
