//! Examples that succeed when they are sent: they use keys of existing rows, and changes that were tried.
//!
//! An example is made when its operation is described for the first time, not when the schema is read: the start does
//! not depend on the number of tables, and policy is known by then. It costs two reads of a few rows by an index, and
//! for a change no more than [`MAX_ATTEMPTS`] rehearsals, each of which is rolled back. It is kept with the offer, so
//! that it stays the same until the schema changes (R-INT-7).
//!
//! Only keys and references are taken from rows; other values are generated. Hidden columns and tables that policy
//! restricts are not read. An operation for which nothing is found (an empty table, for example) has no example.

use std::collections::HashSet;
use std::sync::Arc;

use aquifer_engine::{Caller, Context, Validity};
use futures::FutureExt;
use serde_json::{Map, Value, json};

use super::backend::Backend;
use super::rehearsal::is_decisive;
use super::source::Database;
use crate::offer::examples::{self, ForeignValues};
use crate::offer::{Action, Offer, Verb};
use crate::schema::exposed_table::ExposedTable;
use crate::work::example_rows::ExampleRows;

/// How many variants of a change are tried.
const MAX_ATTEMPTS: usize = 5;
/// How many tables are searched for a row, for operations that cover all tables.
const MAX_TABLES: usize = 20;

/// The parts of an example for a table.
struct TableExample {
    key: Map<String, Value>,
    /// The values of a create, the `input` of an update.
    values: Map<String, Value>,
}

impl TableExample {
    fn params(self, verb: Verb) -> Map<String, Value> {
        let mut params = self.key;
        match verb {
            Verb::Create => params.extend(self.values),
            Verb::Update => drop(params.insert("input".to_owned(), self.values.into())),
            Verb::List | Verb::Search | Verb::Get | Verb::Delete => {}
        }
        params
    }

    fn generic_params(self, verb: Verb, exposed: &ExposedTable) -> Map<String, Value> {
        let mut params = Map::from_iter([("table_name".to_owned(), exposed.words.plural.as_str().into())]);
        if verb != Verb::Create {
            params.insert("key".to_owned(), self.key.into());
        }
        match verb {
            Verb::Create => {
                params.insert("values".to_owned(), self.values.into());
                params.insert("dry_run".to_owned(), true.into());
            }
            Verb::Update => drop(params.insert("input".to_owned(), self.values.into())),
            Verb::List | Verb::Search | Verb::Get | Verb::Delete => {}
        }
        params
    }
}

impl Database {
    /// The examples of an operation that depend on rows. `None` if those of the offering apply.
    pub(super) async fn examples_from_rows(&self, operation: &str) -> Option<Vec<Map<String, Value>>> {
        let offer = self.offer.load_full();
        let action = offer.action(operation)?;
        let is_fixed = match action {
            Action::Table(verb, _) | Action::Generic(verb) => matches!(verb, Verb::List | Verb::Search),
            Action::Relationships => false,
            Action::Tables | Action::TableSchema | Action::QuerySql => true,
        };
        if is_fixed {
            return None;
        }
        if let Some(known) = offer.examples.get(operation) {
            return Some(known);
        }
        let example = self.find_example(&offer, action).await;
        Some(offer.examples.insert(operation, example.into_iter().collect()))
    }

    async fn find_example(&self, offer: &Arc<Offer>, action: Action) -> Option<Map<String, Value>> {
        let unreadable = self.unreadable_tables(offer);
        let is_readable = |index: &usize| !unreadable.contains(index) && offer.concealed.is_readable(*index);
        match action {
            Action::Table(verb, index) => Some(self.table_example(offer, verb, index, &unreadable).await?.params(verb)),
            Action::Generic(verb) => {
                let is_offered = |index: &usize| {
                    let name = offer.table(*index).map(|exposed| verb.operation_name(exposed));
                    name.is_some_and(|name| offer.action(&name) == Some(Action::Table(verb, *index)))
                };
                let tables = (0..offer.tables.len()).filter(is_readable).filter(is_offered);
                for index in tables.take(MAX_TABLES) {
                    if let Some(example) = self.table_example(offer, verb, index, &unreadable).await {
                        return Some(example.generic_params(verb, offer.table(index)?));
                    }
                }
                None
            }
            Action::Relationships => {
                let mut seen = HashSet::new();
                let roots = offer.relationships.iter().flat_map(|known| [known.to, known.from]);
                let roots = roots.filter(|index| is_readable(index) && seen.insert(*index));
                for index in roots.take(MAX_TABLES) {
                    let exposed = offer.table(index)?;
                    if let Some(row) = self.key_rows(exposed).await.first() {
                        let mut root =
                            Map::from_iter([("element_type".to_owned(), exposed.words.plural.as_str().into())]);
                        root.extend(examples::key(exposed, row));
                        let params = json!({ "root": root, "direction": "both", "depth": 2, "first": 10 });
                        return params.as_object().cloned();
                    }
                }
                None
            }
            Action::Tables | Action::TableSchema | Action::QuerySql => None,
        }
    }

    /// An example of a table's operation. Boxed, because changes are tried.
    async fn table_example(
        &self,
        offer: &Arc<Offer>,
        verb: Verb,
        index: usize,
        unreadable: &HashSet<usize>,
    ) -> Option<TableExample> {
        let exposed = offer.table(index)?;
        if verb == Verb::Create {
            let foreign = self.foreign_rows(offer, index, unreadable).await?;
            for attempt in 0..MAX_ATTEMPTS {
                let Some(values) = examples::create(exposed, &foreign, attempt) else { break };
                if self.can_change(offer, verb, index, values.clone()).await {
                    return Some(TableExample { key: Map::new(), values });
                }
            }
            return None;
        }
        if unreadable.contains(&index) || !offer.concealed.is_readable(index) {
            return None;
        }
        let rows = self.key_rows(exposed).await;
        let keys = rows.iter().map(|row| examples::key(exposed, row));
        match verb {
            Verb::Get => keys.map(|key| TableExample { key, values: Map::new() }).next(),
            Verb::Delete => {
                for key in keys.take(MAX_ATTEMPTS) {
                    if self.can_change(offer, verb, index, key.clone()).await {
                        return Some(TableExample { key, values: Map::new() });
                    }
                }
                None
            }
            Verb::Update => {
                let key = keys.into_iter().next()?;
                for values in examples::updates(exposed).take(MAX_ATTEMPTS) {
                    let mut params = key.clone();
                    params.insert("input".to_owned(), values.clone().into());
                    if self.can_change(offer, verb, index, params).await {
                        return Some(TableExample { key, values });
                    }
                }
                None
            }
            Verb::Create | Verb::List | Verb::Search => None,
        }
    }

    /// The keys of a few rows.
    async fn key_rows(&self, exposed: &Arc<ExposedTable>) -> Vec<Vec<Value>> {
        let columns = exposed.table.key_columns().map(|column| column.name.clone()).collect();
        self.example_rows(exposed, columns).await
    }

    /// Values that the required references of a new row can have. `None` if there is no row to refer to.
    async fn foreign_rows(
        &self,
        offer: &Offer,
        index: usize,
        unreadable: &HashSet<usize>,
    ) -> Option<Vec<ForeignValues>> {
        let exposed = offer.table(index)?;
        let mut all = Vec::new();
        for reference in offer.references.iter().filter(|reference| reference.from == index) {
            if !examples::is_needed(exposed, &reference.columns) {
                continue;
            }
            let to = offer.table(reference.to)?;
            if unreadable.contains(&reference.to) || !offer.concealed.is_readable(reference.to) {
                return None;
            }
            let rows = self.example_rows(to, reference.to_columns.clone()).await;
            if rows.is_empty() {
                return None;
            }
            all.push(ForeignValues { columns: reference.columns.clone(), rows });
        }
        Some(all)
    }

    async fn example_rows(&self, exposed: &Arc<ExposedTable>, columns: Vec<Arc<str>>) -> Vec<Vec<Value>> {
        let (dialect, now) = (self.backend.dialect(), self.clock.now());
        let rows = ExampleRows { dialect, exposed: exposed.clone(), columns, now };
        let rows = self.backend.read(Arc::new(rows)).boxed().await;
        rows.unwrap_or_else(|error| {
            tracing::debug!(source = self.settings.name, ?error, "a table could not be read for an example");
            Vec::new()
        })
    }

    /// Whether a change would succeed, as far as it can be tried without a trace.
    async fn can_change(&self, offer: &Arc<Offer>, verb: Verb, index: usize, params: Map<String, Value>) -> bool {
        let Some(exposed) = offer.table(index) else { return false };
        let dry_run = &exposed.table.dry_run;
        let is_proven = match verb {
            Verb::Create => dry_run.create,
            Verb::Update => dry_run.update,
            Verb::Delete => dry_run.delete,
            Verb::List | Verb::Search | Verb::Get => return true,
        };
        if !is_proven {
            return true;
        }
        if let Backend::Postgres(_) = &self.backend {
            // The proof must be current. If the schema has changed since, the example belongs to a new offer.
            match self.renew_proof(offer.clone(), &verb.operation_name(exposed)).boxed().await {
                Ok(current) if Arc::ptr_eq(&current, offer) => {}
                _ => return true,
            }
        }
        let always = Validity::default();
        let nobody = Arc::new(Context::new(Caller::session("examples"), "examples"));
        let tried = self.try_change(verb, (exposed, index), offer, params, &always, nobody);
        !tried.boxed().await.is_err_and(|error| is_decisive(&error))
    }
}
