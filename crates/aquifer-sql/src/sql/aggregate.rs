//! Aggregates: one statement for all aggregates without a grouping, and one for each grouping.

use std::sync::Arc;

use aquifer_protocol::warning::Warning;
use aquifer_query::FieldType;
use aquifer_query::answer::groups::{AggregateWriter, Group};
use aquifer_query::plan::{Aggregate, Function, GroupKey, GroupOrder, Having, Plan};
use aquifer_query::value::bucket::{Bucket, TimeUnit};
use serde_json::{Map, Value};

use super::calculation;
use super::json::{self, ASPECTS, Aspect};
use super::scope::{PathTarget, Scope, cell_type_for};
use super::select::Conditions;
use super::text;
use crate::rows::CellType;
use crate::schema::model::{Column, PostgresRead, Store};
use crate::statement::{Bind, Dialect, Statement};

/// A statement and the meaning of its columns.
#[derive(Debug)]
pub(crate) struct AggregateQuery {
    pub(crate) statement: Statement,
    /// The types of its columns: groups first, then results.
    pub(crate) cell_types: Vec<CellType>,
    /// The aggregates it computes, and the first column of each.
    expressions: Vec<(usize, usize)>,
    groups: Vec<GroupColumn>,
    /// Whether the last column is the total number of rows, or of groups.
    counts: bool,
}

/// The grouping of the plan.
type GroupBy<'a> = &'a [GroupKey];

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
        // Conditions and pages of groups need a statement of their own.
        let is_plain = |index: &usize| plan.aggregates.get(*index).is_some_and(Aggregate::has_all_groups);
        let is_same = |(by, which): &&mut (GroupBy<'_>, Vec<usize>)| {
            *by == aggregate.group_by.as_slice() && aggregate.has_all_groups() && which.iter().all(is_plain)
        };
        match groupings.iter_mut().find(is_same) {
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
    for key in by {
        write_comma(&mut statement, &cell_types);
        let at = cell_types.len();
        let aspects = write_group(scope, &mut statement, key, &mut cell_types);
        groups.push(GroupColumn { field_type: key.label_type().clone(), at, aspects });
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
    let counts = total || !by.is_empty();
    if counts {
        write_comma(&mut statement, &cell_types);
        statement.push(if by.is_empty() { "count(*)" } else { "count(*) OVER ()" });
        cell_types.push(if scope.dialect == Dialect::Postgres { CellType::Integer } else { CellType::Plain });
    }
    text::write_from(scope, &mut statement, plan.text.as_ref());
    Conditions::new(&mut statement).add_plan(scope, plan);
    let first = which.first().and_then(|index| plan.aggregates.get(*index));
    for (index, (key, group)) in by.iter().zip(&groups).enumerate() {
        statement.push(if index == 0 { " GROUP BY " } else { ", " });
        write_group_keys(scope, &mut statement, key, group, "");
    }
    if let Some(aggregate) = first.filter(|_| !by.is_empty()) {
        let page = aggregate.page;
        for (index, having) in aggregate.having.iter().enumerate() {
            statement.push(if index == 0 { " HAVING " } else { " AND " });
            write_having(scope, &mut statement, aggregate, having);
        }
        statement.push(" ORDER BY ");
        if let (GroupOrder::ByValue { descending }, Some(function)) = (aggregate.order, aggregate.functions.first()) {
            write_result(scope, &mut statement, function);
            statement.push(if descending { " DESC NULLS LAST, " } else { " NULLS LAST, " });
        }
        let nulls = match (aggregate.order, scope.dialect) {
            (GroupOrder::ByGroupDescending, _) => " DESC NULLS LAST",
            (_, Dialect::Sqlite) => " NULLS LAST",
            (_, Dialect::Postgres) => "",
        };
        for (index, (key, group)) in by.iter().zip(&groups).enumerate() {
            statement.push(if index == 0 { "" } else { ", " });
            write_group_keys(scope, &mut statement, key, group, nulls);
        }
        statement.push(" LIMIT ").count(page.size());
        if page.offset > 0 {
            statement.push(" OFFSET ").count(page.offset);
        }
    }
    AggregateQuery { statement, cell_types, expressions, groups, counts }
}

/// Writes a condition on the groups.
fn write_having<'a>(scope: &Scope<'a>, statement: &mut Statement, aggregate: &'a Aggregate, having: &Having) {
    let Some(function) = aggregate.functions.get(having.function) else {
        statement.push("TRUE");
        return;
    };
    statement.push("(");
    write_result(scope, statement, function);
    statement.push(having.comparison.operator());
    match scope.dialect {
        Dialect::Sqlite => statement.bind(Bind::Real(having.value)),
        Dialect::Postgres => statement.bind(Bind::Text(having.value.to_string())).push("::float8"),
    };
    statement.push(if having.negated { ") IS NOT TRUE" } else { ")" });
}

/// Writes the result of a function for comparing and sorting.
fn write_result<'a>(scope: &Scope<'a>, statement: &mut Statement, function: &'a Function) {
    let is_sum = function.name() == "sum";
    match scope.dialect {
        // A sum beyond 64 bits is text.
        Dialect::Sqlite if is_sum => {
            statement.push("(");
            write_calculation(scope, statement, function);
            statement.push(" + 0.0)");
        }
        // Decimals are read as text.
        Dialect::Postgres if is_sum => {
            statement.push("(");
            write_calculation(scope, statement, function);
            statement.push(")::numeric");
        }
        Dialect::Postgres if function.is_numeric() => {
            statement.push("(");
            write_calculation(scope, statement, function);
            statement.push(")::numeric");
        }
        _ => drop(write_calculation(scope, statement, function)),
    }
}

fn write_comma(statement: &mut Statement, cell_types: &[CellType]) {
    if !cell_types.is_empty() {
        statement.push(", ");
    }
}

/// Writes the label of a group. Returns whether it takes three columns.
fn write_group(scope: &Scope<'_>, statement: &mut Statement, key: &GroupKey, cell_types: &mut Vec<CellType>) -> bool {
    let (scope, target) = scope.resolve(&key.path);
    let scope = &scope;
    if let Some(bucket) = &key.bucket {
        write_bucket(scope, statement, target, &key.field_type, bucket);
        cell_types.push(CellType::Text);
        return false;
    }
    let Some((column, inside)) = super::filter::as_json(target, &key.field_type) else {
        cell_types.push(scope.write_output(statement, target));
        return false;
    };
    // Equal values may be written differently, so the label is composed of their aspects.
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

/// Writes the bucket of time that a value falls into.
fn write_bucket(
    scope: &Scope<'_>,
    statement: &mut Statement,
    target: PathTarget<'_>,
    field_type: &FieldType,
    bucket: &Bucket,
) {
    match scope.dialect {
        Dialect::Sqlite => {
            statement.push(if *field_type == FieldType::Date { "aquifer_date_bucket(" } else { "aquifer_bucket(" });
            scope.write_stored(statement, target);
            statement.push(", ").bind(Bind::Text(bucket.unit.name().to_owned()));
            statement.push(", ").bind(Bind::Text(bucket.zone.name().to_owned())).push(")");
        }
        Dialect::Postgres => {
            statement.push("to_char(");
            scope.write_stored(statement, target);
            if *field_type == FieldType::Date {
                statement.push("::timestamp");
            } else {
                // Times without a zone are in UTC, the time zone of the session.
                statement.push("::timestamptz AT TIME ZONE ");
                statement.bind(Bind::Text(bucket.zone.name().to_owned())).push("::text");
            }
            statement.push(match bucket.unit {
                TimeUnit::Year => ", 'YYYY')",
                TimeUnit::Quarter => ", 'YYYY-\"Q\"Q')",
                TimeUnit::Month => ", 'YYYY-MM')",
                TimeUnit::Week => ", 'IYYY-\"W\"IW')",
                TimeUnit::Day => ", 'YYYY-MM-DD')",
                TimeUnit::Hour => ", 'YYYY-MM-DD\"T\"HH24')",
            });
        }
    }
}

fn write_group_keys(
    scope: &Scope<'_>,
    statement: &mut Statement,
    key: &GroupKey,
    group: &GroupColumn,
    after: &'static str,
) {
    let (scope, target) = scope.resolve(&key.path);
    let scope = &scope;
    if key.bucket.is_some() {
        // Its values would be bound again at each use, so PostgreSQL would not recognize the expression.
        statement.count(group.at + 1).push(after);
        return;
    }
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
        Function::Calculated(numeric, expression) => {
            return calculation::write_function(scope, statement, *numeric, expression);
        }
        Function::Count => {
            statement.push("count(*)");
            return if postgres { CellType::Integer } else { CellType::Plain };
        }
        Function::CountDistinct(path, field_type) => ("count(DISTINCT ", path, field_type),
        Function::Sum(path, field_type) => ("sum(", path, field_type),
        Function::Avg(path, field_type) => ("avg(", path, field_type),
        Function::Min(path, field_type) => ("min(", path, field_type),
        Function::Max(path, field_type) => ("max(", path, field_type),
    };
    let (scope, target) = scope.resolve(path);
    let scope = &scope;
    if matches!(function, Function::CountDistinct(..)) {
        match super::filter::as_json(target, field_type) {
            Some((column, inside)) => write_distinct_json(scope, statement, column, inside),
            None => {
                statement.push(name);
                scope.write_comparable(statement, target);
                statement.push(")");
            }
        }
        return if postgres { CellType::Integer } else { CellType::Plain };
    }
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
        PathTarget::Computed(computed) => (computed.field_type == FieldType::Integer, false),
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
                PathTarget::Computed(computed) => cell_type_for(field_type, scope.dialect, &computed.digits),
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
        Function::Avg(..) | Function::Count | Function::CountDistinct(..) | Function::Calculated(..) => {
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

/// Counts different JSON values by their aspects: equal values may be written differently.
fn write_distinct_json(scope: &Scope<'_>, statement: &mut Statement, column: &Column, inside: &[Arc<str>]) {
    statement.push("count(DISTINCT ");
    for (index, aspect) in ASPECTS.into_iter().enumerate() {
        // Without a kind there is no value, and the whole is NULL.
        statement.push(match index {
            0 => "CAST((",
            _ => " || ':' || coalesce(CAST((",
        });
        json::write_aspect(scope, statement, column, inside, aspect);
        statement.push(if index == 0 { ") AS text)" } else { ") AS text), '')" });
    }
    statement.push(")");
}

/// The cell type of a column's minimum or maximum.
fn extreme_cell_type(statement: &mut Statement, column: &crate::schema::model::Column) -> CellType {
    use crate::schema::model::SqliteStore;
    match &column.store {
        Store::Sqlite(SqliteStore::Boolean) => CellType::Boolean,
        Store::Sqlite(SqliteStore::Time(_)) => CellType::Time(column.digits.clone()),
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
            _ => cell_type_for(&column.field_type, Dialect::Postgres, &column.digits),
        },
    }
}

impl GroupColumn {
    /// The value that all rows of a group share.
    fn value(&self, row: &[Value]) -> Value {
        let cell = |index: usize| row.get(self.at + index).unwrap_or(&Value::Null);
        if !self.aspects {
            return cell(0).clone();
        }
        match cell(0).as_i64() {
            None => Value::Null,
            Some(0) => (cell(1).as_f64() == Some(1.0)).into(),
            Some(1) => cell(1).clone(),
            Some(2) => cell(2).clone(),
            Some(3) => Value::Array(Vec::new()),
            Some(_) => Value::Object(Map::new()),
        }
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

#[derive(Debug, Clone, Default)]
pub(crate) struct AggregateResult {
    /// One without a grouping.
    groups: Vec<Group>,
    /// The number of all groups.
    total: usize,
}

impl AggregateResult {
    /// Adds it to an answer.
    pub(crate) fn write(
        mut self,
        aggregate: &Aggregate,
        writer: &mut AggregateWriter<'_>,
        warnings: &mut Vec<Warning>,
    ) {
        if aggregate.group_by.is_empty() {
            writer.add_single(aggregate, self.groups.pop().map_or_else(|| vec![Value::Null], |group| group.results));
        } else {
            writer.add_groups(aggregate, self.groups, self.total, warnings);
        }
    }
}

impl AggregateQuery {
    /// Assigns the results of the rows to their aggregates. Returns the total count of rows, if this statement computes
    /// it.
    pub(crate) fn collect(
        &self,
        rows: Vec<Vec<Value>>,
        aggregates: &[Aggregate],
        results: &mut Vec<Option<AggregateResult>>,
    ) -> Option<Value> {
        results.resize(aggregates.len(), None);
        let count = rows.first().and_then(|row| row.last()).filter(|_| self.counts);
        // Without rows, the page has no groups and the number of groups is unknown.
        let total = count.and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
        for (index, start) in &self.expressions {
            let Some(aggregate) = aggregates.get(*index) else { continue };
            let width = aggregate.functions.len();
            let shown_values = |row: &[Value]| {
                let values = row.get(*start..start + width).unwrap_or_default();
                aggregate.functions.iter().zip(values).map(|(one, value)| one.shown(value.clone())).collect()
            };
            let mut taken = std::collections::HashSet::new();
            let group = |row: &Vec<Value>| {
                let values = self.groups.iter().map(|group| group.value(row)).collect();
                let mut group = Group::new(aggregate, values, shown_values(row));
                group.labels = distinct_labels(&mut taken, group.labels);
                group
            };
            if let Some(slot) = results.get_mut(*index) {
                *slot = Some(AggregateResult { groups: rows.iter().map(group).collect(), total });
            }
        }
        if self.groups.is_empty() { count.cloned() } else { None }
    }
}
