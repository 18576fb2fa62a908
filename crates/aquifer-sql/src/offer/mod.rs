//! From what reflection found to what is offered: collections, operations, relationships, and who answers which.

mod collection;
mod column_schema;
mod concealed;
mod examples;
pub(crate) mod generic;
mod needs;
mod operations;
mod relationship_root;
mod resolve;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use aquifer_engine::Offering;
use aquifer_protocol::operation::Operation;

pub(crate) use concealed::ConcealedTables;
use needs::Cascade;

use collection::IncomingReference;

use crate::exposed_table::ExposedTable;
use crate::field_names;
use crate::model::{Column, Key, Model, OnDelete, Table};
use crate::names;
use crate::settings::Settings;
use crate::statement::Name;

/// Everything a database offers at one moment.
pub(crate) struct Offer {
    pub(crate) tables: Vec<Arc<ExposedTable>>,
    /// What can be followed.
    pub(crate) relationships: Arc<[Relationship]>,
    /// Every reference between tables, also of rows that nobody can name.
    pub(crate) references: Arc<[Relationship]>,
    /// What else is changed when rows are deleted.
    cascades: Vec<Cascade>,
    /// For each table, those that inherit from it.
    descendants: Vec<Vec<usize>>,
    actions: HashMap<Arc<str>, Action, foldhash::fast::RandomState>,
    pub(crate) offering: Offering,
    /// What callers must not learn of.
    pub(crate) concealed: ConcealedTables,
}

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Table(Verb, usize),
    Relationships,
    Generic(Verb),
    Tables,
    TableSchema,
}

/// What is done with a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    List,
    Search,
    Get,
    Create,
    Update,
    Delete,
}

impl Verb {
    pub(crate) fn operation_name(self, exposed: &ExposedTable) -> String {
        match self {
            Verb::List => format!("list_{}", exposed.words.plural),
            Verb::Search => format!("search_{}", exposed.words.plural),
            Verb::Get => format!("get_{}", exposed.words.singular),
            Verb::Create => format!("create_{}", exposed.words.singular),
            Verb::Update => format!("update_{}", exposed.words.singular),
            Verb::Delete => format!("delete_{}", exposed.words.singular),
        }
    }

    /// What the operation for all tables is called.
    pub(crate) const fn generic_name(self) -> &'static str {
        match self {
            Verb::List => "list_records",
            Verb::Search => "search_records",
            Verb::Get => "get_record",
            Verb::Create => "create_record",
            Verb::Update => "update_record",
            Verb::Delete => "delete_record",
        }
    }

    pub(crate) const ALL: [Verb; 6] = [Verb::List, Verb::Search, Verb::Get, Verb::Create, Verb::Update, Verb::Delete];
}

/// Rows of one table refer to rows of another.
#[derive(Debug, Clone)]
pub(crate) struct Relationship {
    /// Its name for callers, such as `orders.customer_id`.
    pub(crate) name: Arc<str>,
    /// The table that refers.
    pub(crate) from: usize,
    /// The table referred to.
    pub(crate) to: usize,
    pub(crate) columns: Vec<Arc<str>>,
    pub(crate) to_columns: Vec<Arc<str>>,
    pub(crate) on_delete: OnDelete,
    /// Whether callers must not learn of the table that refers.
    pub(crate) conceals_from: bool,
    /// Whether callers must not learn of the table referred to.
    pub(crate) conceals_to: bool,
}

impl Offer {
    /// Nothing is known yet, except that there is a database.
    pub(crate) fn unknown(reason: &str) -> Self {
        Self::without_tables(&format!(
            "The tables of this database. It cannot be reached now: {reason}. Calling this tries again"
        ))
    }

    /// There is nothing in it, which somebody may change.
    fn empty() -> Self {
        Self::without_tables("The tables of this database. There are none now. Calling this looks again")
    }

    fn without_tables(description: &str) -> Self {
        let mut operation = operations::tables();
        operation.description = description.into();
        let actions = HashMap::from_iter([(operation.name.clone(), Action::Tables)]);
        Self {
            tables: Vec::new(),
            relationships: Arc::new([]),
            references: Arc::new([]),
            cascades: Vec::new(),
            descendants: Vec::new(),
            actions,
            concealed: ConcealedTables::default(),
            offering: Offering {
                operations: vec![operation],
                types: aquifer_query::parameters::types(),
                ..Offering::default()
            },
        }
    }

    pub(crate) fn new(
        mut model: Model,
        words: Vec<names::Words>,
        settings: &Settings,
        concealed: ConcealedTables,
    ) -> Self {
        complete_references(&mut model);
        field_names::assign_field_names(&mut model);
        let mut references = find_references(&model.tables, &words);
        for known in &mut references {
            known.conceals_from = !concealed.is_readable(known.from);
            known.conceals_to = !concealed.is_readable(known.to);
        }
        let (cascades, descendants) = (Cascade::between(&model.tables), needs::descendants(&model.tables));
        // Only rows with a key can be told apart in a graph.
        let has_key = |index: usize| {
            let table = model.tables.get(index);
            table.is_some_and(|table| matches!(table.key, Key::Columns(_))) && concealed.is_readable(index)
        };
        let followed = references.iter().filter(|known| has_key(known.from) && has_key(known.to));
        let relationships: Vec<Relationship> = followed.cloned().collect();
        let incoming: Vec<Vec<IncomingReference<'_>>> = (0..model.tables.len())
            .map(|index| incoming_references(index, &relationships, &model.tables, &words))
            .collect();
        let tables: Vec<Arc<ExposedTable>> = model
            .tables
            .into_iter()
            .zip(words.iter().cloned())
            .zip(&incoming)
            .map(|((table, words), incoming)| Arc::new(collection::expose_table(table, words, settings, incoming)))
            .collect();
        let generic = settings.is_generic(tables.len());
        if tables.is_empty() {
            return Self::empty();
        }
        let mut offer = Self {
            offering: operations::build_operations(&tables, &relationships, &concealed),
            concealed,
            tables,
            relationships: relationships.into(),
            references: references.into(),
            cascades,
            descendants,
            actions: HashMap::default(),
        };
        for (index, exposed) in offer.tables.iter().enumerate() {
            for verb in Verb::ALL {
                offer.actions.insert(verb.operation_name(exposed).into(), Action::Table(verb, index));
            }
        }
        offer.actions.insert("query_relationships".into(), Action::Relationships);
        let offered: HashSet<Arc<str>> =
            offer.offering.operations.iter().map(|operation| operation.name.clone()).collect();
        offer.actions.retain(|name, _| offered.contains(name));
        // Also where no operation is for all tables: rules that name one hold when tables have become fewer.
        for operation in &mut offer.offering.operations {
            if let Some(Action::Table(verb, _)) = offer.actions.get(&operation.name) {
                operation.generic_name = Some(verb.generic_name().into());
            }
        }
        let may_need: Vec<Vec<Arc<str>>> = offer
            .offering
            .operations
            .iter()
            .map(|operation| match offer.action(&operation.name) {
                Some(Action::Table(verb, index)) => offer.may_need(verb, index),
                _ => Vec::new(),
            })
            .collect();
        for (operation, may_need) in offer.offering.operations.iter_mut().zip(may_need) {
            operation.may_need = may_need;
        }
        if generic {
            offer.make_generic();
        }
        offer
    }

    /// Lists one set of operations for all tables. Those of the tables stand behind it.
    fn make_generic(&mut self) {
        let own = std::mem::take(&mut self.offering.operations);
        let (relationships, own): (Vec<_>, Vec<_>) = own.into_iter().partition(is_relationships);
        let (operations, types) = generic::offering(self, &own, !relationships.is_empty());
        self.actions.extend(operations.iter().map(|(action, operation)| (operation.name.clone(), *action)));
        self.offering.operations = operations.into_iter().map(|(_, operation)| operation).collect();
        self.offering.types.extend(types);
        self.offering.indirect = own;
    }

    /// Whether there is such an operation, listed or not.
    pub(crate) fn offers(&self, operation: &str) -> bool {
        self.actions.contains_key(operation)
    }

    pub(crate) fn action(&self, operation: &str) -> Option<Action> {
        self.actions.get(operation).copied()
    }

    pub(crate) fn table(&self, index: usize) -> Option<&Arc<ExposedTable>> {
        self.tables.get(index)
    }
}

/// The references to a table.
fn incoming_references<'a>(
    index: usize,
    relationships: &'a [Relationship],
    tables: &[Table],
    words: &'a [names::Words],
) -> Vec<IncomingReference<'a>> {
    let known = relationships.iter().filter(|known| known.to == index);
    let incoming = known.filter_map(|relationship| {
        let from = tables.get(relationship.from)?;
        let column = |name: &Arc<str>| from.column(name).map(|column| column.quoted.clone());
        let columns = relationship.columns.iter().map(column).collect::<Option<Vec<Name>>>()?;
        Some(IncomingReference {
            relationship,
            words: words.get(relationship.from)?,
            table: from.quoted.clone(),
            columns,
        })
    });
    incoming.collect()
}

fn is_relationships(operation: &Operation) -> bool {
    &*operation.name == "query_relationships"
}

/// A reference that names no columns means the key.
fn complete_references(model: &mut Model) {
    struct Target {
        name: Arc<str>,
        key: Vec<Arc<str>>,
        columns: Vec<Arc<str>>,
    }
    let names = |columns: &mut dyn Iterator<Item = &Column>| columns.map(|column| column.name.clone()).collect();
    let of_sqlite = model.tables.iter().filter(|table| table.schema.is_none());
    let targets: Vec<Target> = of_sqlite
        .map(|table| Target {
            name: table.name.clone(),
            key: names(&mut table.key_columns()),
            columns: names(&mut table.columns.iter()),
        })
        .collect();
    for foreign in model.tables.iter_mut().flat_map(|table| &mut table.foreign) {
        let Some(target) = targets.iter().find(|target| target.name.eq_ignore_ascii_case(&foreign.to_table)) else {
            continue;
        };
        if foreign.to_columns.len() < foreign.columns.len() {
            foreign.to_columns = target.key.clone();
        }
        // SQLite tells names as they were written there, in whatever case.
        for column in &mut foreign.to_columns {
            if let Some(name) = target.columns.iter().find(|name| name.eq_ignore_ascii_case(column)) {
                *column = name.clone();
            }
        }
    }
}

fn find_references(tables: &[Table], words: &[names::Words]) -> Vec<Relationship> {
    let mut found: Vec<Relationship> = Vec::new();
    for (from, table) in tables.iter().enumerate() {
        for foreign in &table.foreign {
            let to = tables.iter().position(|other| foreign.references_table(other));
            let (Some(to), Some(own)) = (to, words.get(from)) else { continue };
            let Some(target) = tables.get(to) else { continue };
            let named = |name: &Arc<str>| target.columns.iter().find(|column| column.sql_name == *name);
            let to_columns = foreign.to_columns.iter().map(|name| named(name).map(|column| column.name.clone()));
            let Some(to_columns) = to_columns.collect::<Option<Vec<Arc<str>>>>() else { continue };
            let usable = !foreign.columns.is_empty()
                && foreign.columns.len() == to_columns.len()
                && foreign.columns.iter().all(|name| table.column(name).is_some());
            let twin = |known: &Relationship| {
                known.from == from
                    && known.to == to
                    && known.columns == foreign.columns
                    && known.to_columns == to_columns
            };
            if usable && !found.iter().any(twin) {
                let mut name = format!("{}.{}", own.plural, foreign.columns.join("+"));
                // The same columns may refer to two tables at once.
                if let Some(other) = words.get(to).filter(|_| found.iter().any(|known| *known.name == *name)) {
                    name = format!("{name}>{}", other.plural);
                }
                found.push(Relationship {
                    name: name.into(),
                    from,
                    to,
                    columns: foreign.columns.clone(),
                    to_columns,
                    on_delete: foreign.on_delete,
                    conceals_from: false,
                    conceals_to: false,
                });
            }
        }
    }
    found
}
