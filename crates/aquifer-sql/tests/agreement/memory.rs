//! The reference: rows as JSON values, behind the same engine as a database.

use std::collections::BTreeMap;
use std::sync::Arc;

use aquifer_engine::source::{Answer, Call, Outcome};
use aquifer_engine::{Offering, Source};
use aquifer_protocol::category::Category;
use aquifer_protocol::error::Failure;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Kind, Parameter, Schema};
use aquifer_query::collection::{QueryRoot, Related};
use aquifer_query::evaluate::evaluate;
use aquifer_query::parameters::{parameters, types};
use aquifer_query::{Collection, CursorKey, FieldType, Plan, QueryKind, parse_query};
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::tables::Table;

/// Collections and their rows.
pub(crate) struct Memory {
    key: CursorKey,
    tables: BTreeMap<&'static str, StoredCollection>,
    /// The tables in the order of their declaration, by which references name them.
    order: Vec<&'static str>,
}

struct StoredCollection {
    singular: &'static str,
    collection: Collection,
    rows: Mutex<Vec<Value>>,
}

impl Memory {
    pub(crate) fn new(tables: &[Table], key: CursorKey) -> Arc<Self> {
        let stored = |table: &Table| StoredCollection {
            singular: table.singular,
            collection: table.collection.clone(),
            rows: Mutex::default(),
        };
        let order = tables.iter().map(|table| table.name).collect();
        Arc::new(Self { key, tables: tables.iter().map(|table| (table.name, stored(table))).collect(), order })
    }

    pub(crate) fn fill(&self, table: &str, rows: &[Value]) {
        *self.tables[table].rows.lock() = rows.to_vec();
    }

    fn answer(&self, call: Call) -> Result<Outcome, Failure> {
        let (verb, noun) = call.name.split_once('_').unwrap();
        let mut params = call.params;
        let (family, stored) = match verb {
            "list" => (QueryKind::List, &self.tables[noun]),
            "search" => (QueryKind::Search, &self.tables[noun]),
            _ => {
                let stored = self.tables.values().find(|stored| stored.singular == noun).unwrap();
                let key: serde_json::Map<String, Value> =
                    stored.collection.key.iter().map(|name| (name.to_string(), params[&**name].clone())).collect();
                params.insert("filter".to_owned(), key.into());
                (QueryKind::Get, stored)
            }
        };
        let wanted = parse_query(QueryRoot::new(&stored.collection, self), family, &params, &self.key)?;
        // A single row is shortened by the engine.
        let max_tokens = call.max_tokens.filter(|_| family != QueryKind::Get);
        let plan = Plan { max_tokens, ..wanted.plan };
        let found = evaluate(&stored.collection, &plan, &stored.rows.lock(), &self.key);
        let data = match family {
            QueryKind::Get => {
                found.data["items"].get(0).cloned().ok_or_else(|| Failure::not_found(stored.singular, "?"))?
            }
            _ => found.data,
        };
        let warnings = wanted.warnings.into_iter().chain(found.warnings).collect();
        Ok(Outcome::Done(Answer { warnings, keeps_budget: family != QueryKind::Get, ..Answer::new(data) }))
    }
}

impl Related for Memory {
    fn collection(&self, index: usize) -> Option<&Collection> {
        self.order.get(index).map(|name| &self.tables[name].collection)
    }
}

impl Source for Memory {
    fn name(&self) -> &str {
        "memory"
    }

    fn offering(&self) -> Offering {
        let mut operations = Vec::new();
        for (name, stored) in &self.tables {
            let collection = &stored.collection;
            let mut define = |name: String, parameters: Vec<Parameter>| {
                let mut operation = Operation::new(&name, Category::Read, "Ask.");
                operation.parameters = parameters;
                operations.push(operation);
            };
            define(format!("list_{name}"), parameters(collection, QueryKind::List));
            if !collection.text.is_empty() {
                define(format!("search_{name}"), parameters(collection, QueryKind::Search));
            }
            let key = collection.key.iter().filter_map(|name| {
                let schema = match collection.field(name)?.field_type {
                    FieldType::Integer => Schema::new(Kind::Integer),
                    _ => Schema::string(),
                };
                Some(Parameter::required(name, schema))
            });
            let selection = parameters(collection, QueryKind::List);
            let selection =
                selection.into_iter().filter(|one| ["fields", "preset", "max_tokens"].contains(&&*one.name));
            define(format!("get_{}", stored.singular), key.chain(selection).collect());
        }
        Offering { operations, types: types(), ..Offering::default() }
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        let outcome = self.answer(call).unwrap_or_else(Outcome::Failed);
        std::future::ready(outcome).boxed()
    }
}

/// Computed fields.
pub(crate) fn computed(row: &Value, computed: &[(&str, Value)]) -> Value {
    let mut row = row.clone();
    row["_computed"] = json!({});
    for (name, value) in computed {
        row["_computed"][*name] = value.clone();
    }
    row
}
