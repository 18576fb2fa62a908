//! The tables that a statement joins to follow the references in paths.

use std::sync::Arc;

use aquifer_query::collection::Cardinality;
use aquifer_query::plan::{Embed, Filter, Path, Plan, Quantifier, Test};

use crate::schema::exposed_table::ExposedTable;
use crate::statement::{Name, Statement};

/// The alias of a table in a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Alias {
    /// How deep the `SELECT` is nested.
    depth: usize,
    /// 0 for its first table, otherwise the number of the join.
    number: usize,
}

impl Alias {
    /// The first table of a statement.
    pub(super) const FIRST: Self = Self { depth: 0, number: 0 };

    /// A joined table of the same `SELECT`, or its first.
    pub(super) fn joined(self, number: usize) -> Self {
        Self { number, ..self }
    }

    /// The first table of a `SELECT` inside this one.
    pub(super) fn nested(self) -> Self {
        Self { depth: self.depth + 1, number: 0 }
    }

    /// Whether it is a joined table.
    pub(super) fn is_joined(self) -> bool {
        self.number > 0
    }

    pub(super) fn write_name(self, statement: &mut Statement) {
        match self {
            Self::FIRST => statement.push("t"),
            Self { depth: 0, number } => statement.push("r").count(number),
            Self { depth, number: 0 } => statement.push("e").count(depth),
            Self { depth, number } => statement.push("e").count(depth).push("_").count(number),
        };
    }

    /// Writes the name and a dot.
    pub(super) fn write(self, statement: &mut Statement) {
        if self == Self::FIRST {
            statement.push("t.");
            return;
        }
        self.write_name(statement);
        statement.push(".");
    }
}

/// A joined table.
#[derive(Debug, Clone)]
pub(super) struct Join {
    /// The references that lead to it.
    through: Vec<Arc<str>>,
    /// Pairs of the referring column and the one it refers to.
    pub(super) on: Vec<(Name, Name)>,
    /// The number of the table that the last one belongs to.
    pub(super) parent: usize,
    /// The index of the table.
    pub(super) table: usize,
    /// Whether a condition is false if there is no row. Such a join need not be a `LEFT JOIN`, so the database can
    /// start with this table. PostgreSQL detects that by itself, SQLite only for the last join.
    pub(super) is_required: bool,
}

/// The joined tables of a `SELECT`, numbered from 1.
#[derive(Debug, Clone, Default)]
pub(crate) struct Joins(Vec<Join>);

impl Joins {
    pub(super) const NONE: &'static Self = &Self(Vec::new());

    /// The joins that a plan needs.
    pub(crate) fn for_plan(plan: &Plan, exposed: &ExposedTable, tables: &[Arc<ExposedTable>]) -> Self {
        let mut joins = Self::default();
        plan.paths().into_iter().for_each(|path| joins.add(&path.through, exposed, tables));
        plan.embeds.iter().for_each(|embed| joins.add(&embed.through, exposed, tables));
        if let Some(filter) = &plan.filter {
            joins.add_condition(filter, exposed, tables);
        }
        joins
    }

    /// The joins that a selection of fields needs.
    pub(crate) fn for_fields(
        select: &[Path],
        embeds: &[Embed],
        exposed: &ExposedTable,
        tables: &[Arc<ExposedTable>],
    ) -> Self {
        let mut joins = Self::default();
        select.iter().for_each(|path| joins.add(&path.through, exposed, tables));
        embeds.iter().for_each(|embed| joins.add(&embed.through, exposed, tables));
        joins
    }

    /// The joins that related rows need.
    pub(super) fn for_embed(embed: &Embed, exposed: &ExposedTable, tables: &[Arc<ExposedTable>]) -> Self {
        let mut joins = Self::for_fields(&embed.select, &[], exposed, tables);
        embed.order.iter().for_each(|key| joins.add(&key.path.through, exposed, tables));
        if let Some(filter) = &embed.filter {
            joins.add_condition(filter, exposed, tables);
        }
        joins
    }

    /// The joins that a condition on related rows needs.
    pub(super) fn for_related(
        filter: &Filter,
        quantifier: Quantifier,
        exposed: &ExposedTable,
        tables: &[Arc<ExposedTable>],
    ) -> Self {
        let mut joins = Self::default();
        match quantifier {
            Quantifier::Some | Quantifier::None => joins.add_condition(filter, exposed, tables),
            // It looks for rows that do not meet the condition.
            Quantifier::Every => joins.add_filter(filter, exposed, tables),
        }
        joins
    }

    /// Adds a condition that every row of the `SELECT` has to meet.
    fn add_condition(&mut self, filter: &Filter, exposed: &ExposedTable, tables: &[Arc<ExposedTable>]) {
        self.add_filter(filter, exposed, tables);
        for through in required_references(filter) {
            for end in 1..=through.len() {
                let so_far = through.get(..end).unwrap_or_default();
                if let Some(join) = self.0.iter_mut().find(|join| join.through == so_far) {
                    join.is_required = true;
                }
            }
        }
    }

    fn add_filter(&mut self, filter: &Filter, exposed: &ExposedTable, tables: &[Arc<ExposedTable>]) {
        match filter {
            Filter::And(parts) | Filter::Or(parts) => {
                parts.iter().for_each(|part| self.add_filter(part, exposed, tables));
            }
            Filter::Not(inner) => self.add_filter(inner, exposed, tables),
            Filter::Test { path, .. } => self.add(&path.through, exposed, tables),
            Filter::Compare { left, right, .. } => {
                self.add(&left.through, exposed, tables);
                self.add(&right.through, exposed, tables);
            }
            Filter::Calculate { left, right, .. } => {
                self.add(&left.through, exposed, tables);
                right.paths().into_iter().for_each(|path| self.add(&path.through, exposed, tables));
            }
            // Its own condition belongs to a `SELECT` of its own.
            Filter::Related { through, .. } => self.add(through, exposed, tables),
        }
    }

    fn add(&mut self, through: &[Arc<str>], exposed: &ExposedTable, tables: &[Arc<ExposedTable>]) {
        let (mut parent, mut at) = (0, exposed);
        for (position, name) in through.iter().enumerate() {
            let Some(reference) = at.reference(name, Cardinality::One) else { return };
            let Some(next) = tables.get(reference.to) else { return };
            let so_far = through.get(..=position).unwrap_or_default();
            parent = match self.find(so_far) {
                Some((number, _)) => number,
                None => {
                    let (through, on) = (so_far.to_vec(), reference.on.clone());
                    self.0.push(Join { through, on, parent, table: reference.to, is_required: false });
                    self.0.len()
                }
            };
            at = next;
        }
    }

    /// The number and the table of the join at the end of these references.
    pub(super) fn find(&self, through: &[Arc<str>]) -> Option<(usize, usize)> {
        let position = self.0.iter().position(|join| join.through == through)?;
        Some((position + 1, self.0.get(position)?.table))
    }

    /// A column of a joined table that is not NULL if the reference leads to a row.
    pub(super) fn presence(&self, alias: Alias) -> Option<&Name> {
        let join = self.0.get(alias.number.checked_sub(1)?)?;
        join.on.first().map(|(_, theirs)| theirs)
    }

    /// Whether a joined table has a row for each row of the `SELECT`.
    pub(super) fn is_required(&self, alias: Alias) -> bool {
        alias.number.checked_sub(1).and_then(|position| self.0.get(position)).is_some_and(|join| join.is_required)
    }

    /// The table of a join.
    pub(super) fn table<'t>(&self, number: usize, tables: &'t [Arc<ExposedTable>]) -> Option<&'t ExposedTable> {
        let join = self.0.get(number.checked_sub(1)?)?;
        tables.get(join.table).map(|exposed| &**exposed)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Join> {
        self.0.iter()
    }
}

/// The references that lead to a row wherever the condition holds.
fn required_references(filter: &Filter) -> Vec<&[Arc<str>]> {
    // Values that are not columns may exist even without a row, so they are not considered.
    fn through_column(path: &Path) -> Vec<&[Arc<str>]> {
        if path.computed || &*path.name == "_etag" { Vec::new() } else { vec![&path.through] }
    }
    match filter {
        Filter::And(parts) => parts.iter().flat_map(required_references).collect(),
        Filter::Or(parts) => {
            let Some((first, others)) = parts.split_first() else { return Vec::new() };
            let mut common = required_references(first);
            for other in others {
                let required = required_references(other);
                common.retain(|through| required.iter().any(|known| known.starts_with(through)));
            }
            common
        }
        Filter::Test { test: Test::IsNull, .. } => Vec::new(),
        Filter::Test { path, .. } => through_column(path),
        Filter::Compare { left, right, .. } => [through_column(left), through_column(right)].concat(),
        Filter::Calculate { left, right, .. } => {
            right.paths().into_iter().chain([left]).flat_map(through_column).collect()
        }
        Filter::Related { through, quantifier: Quantifier::Some, .. } => vec![through],
        Filter::Related { .. } => Vec::new(),
        Filter::Not(inner) => match &**inner {
            Filter::Test { path, test: Test::IsNull, .. } => through_column(path),
            _ => Vec::new(),
        },
    }
}

#[cfg(test)]
mod tests {
    use aquifer_query::FieldType;
    use aquifer_query::plan::Comparison;

    use super::*;

    fn path(through: &[&str], name: &str) -> Path {
        Path { through: through.iter().map(|name| Arc::from(*name)).collect(), ..Path::field(name) }
    }

    fn test(through: &[&str], test: Test) -> Filter {
        Filter::Test { path: path(through, "name"), field_type: FieldType::Text, test }
    }

    fn equal(through: &[&str]) -> Filter {
        test(through, Test::Eq("x".into()))
    }

    fn not(filter: Filter) -> Filter {
        Filter::Not(Box::new(filter))
    }

    fn related(quantifier: Quantifier) -> Filter {
        let filter = Box::new(Filter::And(Vec::new()));
        Filter::Related { through: vec!["site".into()], name: "visits".into(), quantifier, filter }
    }

    #[test]
    fn a_row_is_required_if_the_condition_is_false_without_it() {
        let two_steps = ["site", "region"];
        let compared = Filter::Compare {
            left: path(&["site"], "name"),
            comparison: Comparison::Lt,
            right: path(&["host"], "name"),
            field_type: FieldType::Text,
        };
        let version =
            Filter::Test { path: path(&["site"], "_etag"), field_type: FieldType::Text, test: Test::Eq("x".into()) };
        for (filter, expected) in [
            (equal(&["site"]), "site"),
            (equal(&two_steps), "site.region"),
            (equal(&[]), ""),
            (test(&["site"], Test::In(vec!["x".into()])), "site"),
            (test(&["site"], Test::Contains("x".into())), "site"),
            (test(&["site"], Test::IsNull), ""),
            (not(test(&["site"], Test::IsNull)), "site"),
            (not(equal(&["site"])), ""),
            (version, ""),
            (compared, "site host"),
            (Filter::And(vec![equal(&["site"]), test(&["host"], Test::IsNull)]), "site"),
            (Filter::Or(vec![equal(&["site"]), equal(&two_steps)]), "site"),
            (Filter::Or(vec![equal(&["site"]), equal(&["host"])]), ""),
            (Filter::Or(vec![equal(&["site"]), equal(&[])]), ""),
            (Filter::Or(Vec::new()), ""),
            (related(Quantifier::Some), "site"),
            (related(Quantifier::None), ""),
            (related(Quantifier::Every), ""),
        ] {
            let mut required: Vec<String> = required_references(&filter).iter().map(|names| names.join(".")).collect();
            required.retain(|names| !names.is_empty());
            assert_eq!(required.join(" "), expected, "{filter:?}");
        }
    }
}
