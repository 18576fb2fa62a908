//! Sums: one statement for all that are not grouped, one for each way of grouping.

use aquifer_protocol::warning::Warning;
use aquifer_query::FieldType;
use aquifer_query::evaluate::{groups_truncated, insert_nested};
use aquifer_query::plan::{Aggregate, Function, MAX_GROUPS, Path, Plan, group_label};
use serde_json::{Map, Value};

use super::json::{self, ASPECTS, Aspect};
use super::select::Conditions;
use super::text;
use super::value::{Scope, Thing, reader_of};
use crate::model::{PostgresRead, Store};
use crate::rows::Reader;
use crate::statement::{Dialect, Statement};

/// A statement, and what its columns mean.
#[derive(Debug)]
pub(crate) struct Summing {
    pub(crate) statement: Statement,
    /// How to read its columns: groups first, then results.
    pub(crate) readers: Vec<Reader>,
    /// Which expressions of the plan it is for, and where their results begin.
    expressions: Vec<(usize, usize)>,
    groups: Vec<Group>,
    /// Whether the last column is the number of all rows.
    counts: bool,
}

/// What is grouped by, as the plan has it.
type GroupBy<'a> = &'a [(Path, FieldType)];

/// Something that is grouped by.
#[derive(Debug)]
struct Group {
    of: FieldType,
    /// The column it stands in.
    at: usize,
    /// Whether it takes three, one for each aspect of JSON.
    aspects: bool,
}

/// Every statement that the sums of a plan take, and the count of all rows where it is wanted.
pub(crate) fn statements(scope: &Scope<'_>, plan: &Plan) -> Vec<Summing> {
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
    groupings.iter().map(|(by, which)| summing(scope, plan, by, which, total)).collect()
}

fn summing<'a>(scope: &Scope<'a>, plan: &'a Plan, by: GroupBy<'a>, which: &[usize], total: bool) -> Summing {
    let mut statement = Statement::new(scope.dialect);
    let mut readers = Vec::new();
    let mut groups = Vec::with_capacity(by.len());
    statement.push("SELECT ");
    for (path, of) in by {
        comma(&mut statement, &readers);
        let at = readers.len();
        let aspects = group(scope, &mut statement, scope.thing(path), of, &mut readers);
        groups.push(Group { of: of.clone(), at, aspects });
    }
    let mut expressions = Vec::new();
    for index in which {
        expressions.push((*index, readers.len()));
        for function in plan.aggregates.get(*index).map(|aggregate| aggregate.functions.as_slice()).unwrap_or_default()
        {
            comma(&mut statement, &readers);
            readers.push(calculation(scope, &mut statement, function));
        }
    }
    let counts = total && by.is_empty();
    if counts {
        comma(&mut statement, &readers);
        readers.push(calculation(scope, &mut statement, &Function::Count));
    }
    text::from(scope, &mut statement, plan.text.as_ref());
    Conditions::new(&mut statement).of_plan(scope, plan);
    let nulls = if scope.dialect == Dialect::Sqlite { " NULLS LAST" } else { "" };
    for (clause, after) in [(" GROUP BY ", ""), (" ORDER BY ", nulls)] {
        for (index, ((path, _), group)) in by.iter().zip(&groups).enumerate() {
            statement.push(if index == 0 { clause } else { ", " });
            group_keys(scope, &mut statement, scope.thing(path), group, after);
        }
    }
    if !by.is_empty() {
        statement.push(" LIMIT ").count(MAX_GROUPS + 1);
    }
    Summing { statement, readers, expressions, groups, counts }
}

fn comma(statement: &mut Statement, readers: &[Reader]) {
    if !readers.is_empty() {
        statement.push(", ");
    }
}

/// What a group is called, and whether that takes three columns.
fn group(
    scope: &Scope<'_>,
    statement: &mut Statement,
    thing: Thing<'_>,
    of: &FieldType,
    readers: &mut Vec<Reader>,
) -> bool {
    let Some((column, inside)) = super::filter::json_of(thing, of) else {
        readers.push(scope.output(statement, thing));
        return false;
    };
    // Equal values may be written differently, so a group is called by what they have in common.
    for (index, aspect) in ASPECTS.into_iter().enumerate() {
        statement.push(if index > 0 { ", (" } else { "(" });
        json::aspect(scope, statement, column, inside, aspect);
        statement.push(")");
        readers.push(match (scope.dialect, aspect) {
            (Dialect::Sqlite, _) => Reader::Plain,
            (_, Aspect::Kind) => Reader::Integer,
            (_, Aspect::Number) => Reader::Float,
            (_, Aspect::Text) => Reader::Text,
        });
    }
    true
}

fn group_keys(scope: &Scope<'_>, statement: &mut Statement, thing: Thing<'_>, group: &Group, after: &'static str) {
    match (thing, super::filter::json_of(thing, &group.of)) {
        // Its values are bound anew wherever it stands, and then it is no longer the same to PostgreSQL.
        (Thing::Computed(_), _) if scope.dialect == Dialect::Postgres => {
            statement.count(group.at + 1).push(after);
        }
        (_, Some((column, inside))) => {
            for (index, aspect) in ASPECTS.into_iter().enumerate() {
                statement.push(if index > 0 { ", (" } else { "(" });
                json::aspect(scope, statement, column, inside, aspect);
                statement.push(")").push(after);
            }
        }
        (_, None) => {
            scope.comparable(statement, thing);
            statement.push(after);
        }
    }
}

fn calculation(scope: &Scope<'_>, statement: &mut Statement, function: &Function) -> Reader {
    let postgres = scope.dialect == Dialect::Postgres;
    let (name, path, of) = match function {
        Function::Count => {
            statement.push("count(*)");
            return if postgres { Reader::Integer } else { Reader::Plain };
        }
        Function::Sum(path, of) => ("sum(", path, of),
        Function::Avg(path, of) => ("avg(", path, of),
        Function::Min(path, of) => ("min(", path, of),
        Function::Max(path, of) => ("max(", path, of),
    };
    let thing = scope.thing(path);
    if let Some((column, inside)) = super::filter::json_of(thing, of) {
        statement.push(name).push("CASE WHEN (");
        json::aspect(scope, statement, column, inside, Aspect::Kind);
        statement.push(") = 1 THEN (");
        json::aspect(scope, statement, column, inside, Aspect::Number);
        statement.push(") END)");
        return if postgres { Reader::Float } else { Reader::Plain };
    }
    let (exact, as_text) = match thing {
        Thing::Column(column) => match &column.store {
            Store::Postgres(store) => (
                matches!(store.read, PostgresRead::Integer | PostgresRead::Decimal),
                matches!(store.read, PostgresRead::Uuid | PostgresRead::Word),
            ),
            Store::Sqlite(_) => (false, false),
        },
        Thing::Computed(computed) => (computed.of == FieldType::Integer, false),
        _ => (false, false),
    };
    match function {
        Function::Min(..) | Function::Max(..) => {
            if postgres && *of == FieldType::Boolean {
                statement.push(if matches!(function, Function::Min(..)) { "bool_and(" } else { "bool_or(" });
                scope.comparable(statement, thing);
                statement.push(")");
                return Reader::Boolean;
            }
            // There is no least UUID, and the least of an enumeration would come as what it is.
            if as_text && matches!(of, FieldType::Uuid) {
                statement.push(name);
                scope.comparable(statement, thing);
                statement.push("::text)");
                return Reader::Text;
            }
            statement.push(name);
            scope.comparable(statement, thing);
            statement.push(")");
            match thing {
                Thing::Column(column) => extreme_reader(statement, column),
                Thing::Computed(_) => reader_of(of, scope.dialect),
                _ => Reader::Text,
            }
        }
        Function::Sum(..) => {
            statement.push(if postgres { name } else { "aquifer_sum(" });
            scope.comparable(statement, thing);
            statement.push(")");
            match (postgres, exact) {
                (false, _) => Reader::Plain,
                (true, true) => {
                    statement.push("::text");
                    Reader::Decimal
                }
                (true, false) => {
                    statement.push("::float8");
                    Reader::Float
                }
            }
        }
        Function::Avg(..) | Function::Count => {
            statement.push(name);
            scope.comparable(statement, thing);
            statement.push(")");
            if postgres {
                statement.push("::float8");
            }
            if postgres { Reader::Float } else { Reader::Plain }
        }
    }
}

/// How the least or greatest value of a column is read.
fn extreme_reader(statement: &mut Statement, column: &crate::model::Column) -> Reader {
    use crate::model::SqliteStore;
    match &column.store {
        Store::Sqlite(SqliteStore::Boolean) => Reader::Boolean,
        Store::Sqlite(SqliteStore::Time(_)) => Reader::Time,
        Store::Sqlite(_) => Reader::Plain,
        Store::Postgres(store) => match store.read {
            PostgresRead::Decimal => {
                statement.push("::text");
                Reader::Decimal
            }
            PostgresRead::Word | PostgresRead::Native => {
                statement.push("::text");
                Reader::Text
            }
            _ => reader_of(&column.of, Dialect::Postgres),
        },
    }
}

impl Group {
    /// What the group of a row is called.
    fn label(&self, row: &[Value]) -> String {
        let cell = |index: usize| row.get(self.at + index).unwrap_or(&Value::Null);
        if !self.aspects {
            return group_label(&self.of, cell(0));
        }
        let value = match cell(0).as_i64() {
            None => Value::Null,
            Some(0) => (cell(1).as_f64() == Some(1.0)).into(),
            Some(1) => cell(1).clone(),
            Some(2) => cell(2).clone(),
            Some(3) => Value::Array(Vec::new()),
            Some(_) => Value::Object(Map::new()),
        };
        group_label(&self.of, &value)
    }
}

/// Labels unlike those before: a column of no type may hold 1 and '1', which look the same.
fn unlike(taken: &mut std::collections::HashSet<Vec<String>>, labels: Vec<String>) -> Vec<String> {
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

impl Summing {
    /// The results of the rows, entered under the names of their expressions. The answer is the count of all rows, if it
    /// was asked for here.
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
                    insert_nested(&mut map, &unlike(&mut taken, labels), result(row));
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
