//! The operations, types and actions of a database at one moment, derived from the reflected schema.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use aquifer_engine::Offering;
use aquifer_protocol::operation::Operation;
use aquifer_query::Collection;
use aquifer_query::collection::Related;

use super::collection::{self, IncomingReference};
use super::examples::ExampleCache;
use super::needs::{self, Cascade};
use super::path_references::path_references;
use super::references::{complete_references, find_references, incoming_references};
use super::{Action, ConcealedTables, Verb, generic, operations, overview};
use crate::query_sql::SqlAccess;
use crate::schema::exposed_table::{ExposedTable, ExposedTables};
use crate::schema::field_names;
use crate::schema::model::{Key, Model};
use crate::schema::names;
use crate::schema::relationship::Relationship;
use crate::settings::Settings;

/// The operations, types and actions of a database at one moment.
pub(crate) struct Offer {
    pub(crate) tables: ExposedTables,
    /// References that `query_relationships` can follow.
    pub(crate) relationships: Arc<[Relationship]>,
    /// Every reference between tables, including those of rows without a key.
    pub(crate) references: Arc<[Relationship]>,
    /// Changes of other rows that deleting a row causes.
    pub(super) cascades: Vec<Cascade>,
    /// For each table, the tables that inherit from it.
    pub(super) descendants: Vec<Vec<usize>>,
    pub(super) actions: HashMap<Arc<str>, Action, foldhash::fast::RandomState>,
    pub(crate) offering: Offering,
    /// Tables that are concealed from callers.
    pub(crate) concealed: ConcealedTables,
    /// Names of columns that are concealed from callers, in lower case.
    pub(super) private_columns: HashSet<String>,
    /// What callers' statements may read, if `query_sql` is enabled.
    pub(crate) sql_access: Option<Arc<SqlAccess>>,
    /// Examples that were made from rows.
    pub(crate) examples: ExampleCache,
}

impl Offer {
    /// The offer of a database that has not been reflected.
    pub(crate) fn unknown(reason: &str) -> Self {
        Self::without_tables(&format!(
            "The tables of this database. It cannot be reached now: {reason}. Calling this tries again"
        ))
    }

    /// The offer of a database without tables.
    fn empty() -> Self {
        Self::without_tables("The tables of this database. There are none yet. Calling this checks again")
    }

    fn without_tables(description: &str) -> Self {
        let mut operation = operations::tables();
        operation.description = description.into();
        let actions = HashMap::from_iter([(operation.name.clone(), Action::Tables)]);
        Self {
            tables: Arc::new([]),
            relationships: Arc::new([]),
            references: Arc::new([]),
            cascades: Vec::new(),
            descendants: Vec::new(),
            actions,
            concealed: ConcealedTables::default(),
            private_columns: HashSet::new(),
            sql_access: None,
            examples: ExampleCache::default(),
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
        let private_columns = overview::private_columns(&model);
        let stamp = model.stamp;
        complete_references(&mut model);
        field_names::assign_field_names(&mut model);
        let mut references = find_references(&model.tables, &words);
        for reference in &mut references {
            reference.conceals_from = !concealed.is_readable(reference.from);
            reference.conceals_to = !concealed.is_readable(reference.to);
        }
        let (cascades, descendants) = (Cascade::between(&model.tables), needs::descendants(&model.tables));
        // Only rows with a key can be nodes of a graph.
        let has_key = |index: usize| {
            let table = model.tables.get(index);
            table.is_some_and(|table| matches!(table.key, Key::Columns(_))) && concealed.is_readable(index)
        };
        let followed = references.iter().filter(|known| has_key(known.from) && has_key(known.to));
        let relationships: Vec<Relationship> = followed.cloned().collect();
        let incoming: Vec<Vec<IncomingReference<'_>>> = (0..model.tables.len())
            .map(|index| incoming_references(index, &relationships, &model.tables, &words))
            .collect();
        let paths = path_references(&references, &model.tables, &words, &descendants);
        let tables: ExposedTables = model
            .tables
            .into_iter()
            .zip(words.iter().cloned())
            .zip(&incoming)
            .zip(paths)
            .map(|(((table, words), incoming), paths)| {
                let mut exposed = collection::expose_table(table, words, settings, incoming);
                paths.add_to(&mut exposed);
                Arc::new(exposed)
            })
            .collect();
        let generic = settings.is_generic(tables.len());
        if tables.is_empty() {
            return Self::empty();
        }
        let mut offer = Self {
            offering: operations::build_operations(&tables, &relationships, &concealed),
            concealed,
            private_columns,
            sql_access: None,
            examples: ExampleCache::default(),
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
        // Set even if there are no generic operations: rules about them still apply when the number of tables falls
        // below the limit.
        for operation in &mut offer.offering.operations {
            if let Some(Action::Table(verb, _)) = offer.actions.get(&operation.name) {
                operation.routing.generic_name = Some(verb.generic_name().into());
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
        let may_reach = offer.may_reach();
        for (operation, may_need) in offer.offering.operations.iter_mut().zip(may_need) {
            operation.routing.may_need = may_need;
            if let Some(Action::Table(Verb::List | Verb::Search | Verb::Get, index)) =
                offer.actions.get(&operation.name)
            {
                operation.routing.may_reach = may_reach.get(*index).cloned().unwrap_or_default();
            }
        }
        if generic {
            offer.make_generic();
        }
        if settings.query_sql {
            offer.add_query_sql(settings, stamp);
        }
        offer
    }

    /// Offers one set of operations for all tables. The operations of the tables become indirect.
    fn make_generic(&mut self) {
        let own = std::mem::take(&mut self.offering.operations);
        let (relationships, own): (Vec<_>, Vec<_>) = own.into_iter().partition(is_relationships);
        let (operations, types) = generic::offering(self, !relationships.is_empty());
        self.actions.extend(operations.iter().map(|(action, operation)| (operation.name.clone(), *action)));
        self.offering.operations = operations.into_iter().map(|(_, operation)| operation).collect();
        self.offering.types.extend(types);
        self.offering.indirect = own;
    }

    /// Whether the operation exists, listed or not.
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

impl Related for Offer {
    fn collection(&self, index: usize) -> Option<&Collection> {
        self.table(index).map(|exposed| &exposed.collection)
    }
}

fn is_relationships(operation: &Operation) -> bool {
    &*operation.name == "query_relationships"
}
