//! Resolves the table and operation of a request before policy decides: the table behind an alias, and the table
//! operation behind a generic one.
//!
//! All aliases are resolved here. A rule about `orders` also covers `order`, `list_records` of `orders`, and everything
//! that reaches the rows through a reference.

use std::collections::BTreeSet;
use std::sync::Arc;

use aquifer_engine::source::Resolution;
use aquifer_protocol::case::snake_identifier;
use aquifer_protocol::error::Failure;
use serde_json::{Map, Value};

use super::{ANY_REFERENCE, Action, Offer, Verb, generic};
use crate::schema::relationship::Direction;
use crate::schema::row_name;

/// How many tables are suggested for an ambiguous name.
const MAX_SUGGESTIONS: usize = 5;

impl Offer {
    /// Resolves a request of an indirect operation.
    pub(crate) fn resolve(&self, operation: &str, mut params: Map<String, Value>) -> Result<Resolution, Failure> {
        match self.action(operation) {
            Some(Action::Generic(verb)) => {
                let index = self.named_table(&params, "table_name")?;
                let mut judged_params = params.clone();
                judged_params.retain(|name, _| ["key", "values"].contains(&name.as_str()));
                judged_params.insert("table_name".to_owned(), self.names(index, params.get("table_name")));
                if let Some(exposed) = self.table(index) {
                    let objects = judged_params.values_mut().filter_map(Value::as_object_mut);
                    objects.for_each(|object| generic::add_names(exposed, object));
                }
                let generic::TranslatedCall { operation, params, problem } =
                    generic::translate(self, verb, index, params)?;
                let also_needs = self.needed(verb, index, &params);
                let operation = Some(operation);
                Ok(Resolution { operation, params, also_needs, judged_params, problem, ..Resolution::default() })
            }
            Some(Action::TableSchema) => {
                let index = self.named_table(&params, "table_name")?;
                let names = self.names(index, params.get("table_name"));
                let judged_params = Map::from_iter([("table_name".to_owned(), names)]);
                self.canonical(&mut params, "table_name", index);
                Ok(Resolution { params, also_needs: self.reading([index]), judged_params, ..Resolution::default() })
            }
            Some(Action::Relationships) => self.resolve_relationships(params),
            Some(Action::Table(verb, index)) => {
                let judged_params = self.generic_params(verb, index, &params);
                let also_needs = self.needed(verb, index, &params);
                Ok(Resolution { params, also_needs, judged_params, ..Resolution::default() })
            }
            Some(Action::QuerySql) => self.resolve_query_sql(params),
            Some(Action::Tables) | None => Ok(Resolution { params, ..Resolution::default() }),
        }
    }

    /// The parameters of the equivalent generic request: rules about it also cover the table's own operation.
    fn generic_params(&self, verb: Verb, index: usize, params: &Map<String, Value>) -> Map<String, Value> {
        let Some(exposed) = self.table(index) else { return Map::new() };
        let is_column = |name: &str| exposed.table.columns.iter().any(|column| *column.name == *name);
        let columns = || -> Map<String, Value> {
            let columns = params.iter().filter(|(name, _)| is_column(name));
            columns.map(|(name, value)| (name.clone(), value.clone())).collect()
        };
        let mut generic = Map::from_iter([("table_name".to_owned(), self.names(index, None))]);
        match verb {
            Verb::Create => drop(generic.insert("values".to_owned(), columns().into())),
            Verb::Get | Verb::Update | Verb::Delete => drop(generic.insert("key".to_owned(), columns().into())),
            Verb::List | Verb::Search => {}
        }
        generic
    }

    fn resolve_relationships(&self, mut params: Map<String, Value>) -> Result<Resolution, Failure> {
        let Some(Value::Object(root)) = params.get_mut("root") else {
            return Ok(Resolution { params, ..Resolution::default() });
        };
        let index = self.named_table(root, "element_type")?;
        // Rules about the key apply to both forms of it.
        if let Some(exposed) = self.table(index) {
            row_name::expand(exposed, root);
        }
        let mut judged_root = root.clone();
        judged_root.insert("element_type".to_owned(), self.names(index, root.get("element_type")));
        let judged_params = Map::from_iter([("root".to_owned(), judged_root.into())]);
        self.canonical(root, "element_type", index);
        let reached = self.reached(index, &params);
        Ok(Resolution { params, also_needs: self.reading(reached), judged_params, ..Resolution::default() })
    }

    /// The tables whose rows a walk from this table may read.
    fn reached(&self, root: usize, params: &Map<String, Value>) -> BTreeSet<usize> {
        let direction = Direction::from_params(params);
        let only = params.get("relationship").and_then(Value::as_str).filter(|only| *only != ANY_REFERENCE);
        let depth = params.get("depth").and_then(Value::as_u64).unwrap_or(1);
        let mut reached = BTreeSet::from([root]);
        let mut edge = vec![root];
        for _ in 0..depth.min(u64::from(super::operations::MAX_RELATIONSHIP_DEPTH)) {
            let mut next = Vec::new();
            for relationship in
                self.relationships.iter().filter(|relationship| only.is_none_or(|only| *relationship.name == *only))
            {
                let outgoing =
                    (direction != Direction::Incoming && edge.contains(&relationship.from)).then_some(relationship.to);
                let incoming =
                    (direction != Direction::Outgoing && edge.contains(&relationship.to)).then_some(relationship.from);
                next.extend([outgoing, incoming].into_iter().flatten().filter(|table| reached.insert(*table)));
            }
            edge = next;
        }
        reached
    }

    /// The operations needed to read these tables.
    pub(super) fn reading(&self, tables: impl IntoIterator<Item = usize>) -> Vec<Arc<str>> {
        tables.into_iter().flat_map(|index| self.with_descendants(Verb::List, index)).collect()
    }

    /// The table named by a parameter.
    fn named_table(&self, params: &Map<String, Value>, parameter: &str) -> Result<usize, Failure> {
        self.find_table(parameter, params.get(parameter).and_then(Value::as_str).unwrap_or_default())
    }

    /// The table that a name refers to. The plural is the canonical name; the singular, the table's own name (with or
    /// without schema) and other spellings are accepted if they are unambiguous.
    pub(crate) fn find_table(&self, parameter: &str, name: &str) -> Result<usize, Failure> {
        if let Some(index) = self.tables.iter().position(|exposed| exposed.words.plural == name) {
            return Ok(index);
        }
        let exact = self.tables_called(|alias| alias == name);
        let tables = if exact.is_empty() { self.tables_spelled(name) } else { exact };
        match tables.as_slice() {
            [] => Err(generic::unknown_table(self, name)),
            [only] => Ok(*only),
            several => {
                // Concealed tables do not make a name ambiguous.
                let shown: Vec<usize> =
                    several.iter().copied().filter(|index| self.concealed.is_shown(*index)).collect();
                match shown.as_slice() {
                    [] => return Err(generic::unknown_table(self, name)),
                    [only] => return Ok(*only),
                    _ => {}
                }
                let names = shown.iter().filter_map(|index| self.table(*index)).map(|exposed| &*exposed.words.plural);
                let names: Vec<&str> = names.take(MAX_SUGGESTIONS).collect();
                let problem = format!("is ambiguous. Use one of these names: {}", names.join(", "));
                Err(Failure::invalid_value(parameter, problem).detail("suggestions", names))
            }
        }
    }

    /// Tables with this name in another case or style, such as `OrderLine` for `order_line`.
    fn tables_spelled(&self, name: &str) -> Vec<usize> {
        let (lower, snake) = (name.to_lowercase(), snake_identifier(name));
        // Only names are matched, not any text that contains the same words.
        let is_name = name.chars().all(|c| c.is_alphanumeric() || "_-. ".contains(c));
        match is_name && !snake.is_empty() {
            true => self.tables_called(|alias| alias.to_lowercase() == lower || snake_identifier(alias) == snake),
            false => Vec::new(),
        }
    }

    fn tables_called(&self, test: impl Fn(&str) -> bool) -> Vec<usize> {
        let all = self.tables.iter().enumerate();
        all.filter(|(_, exposed)| exposed.names().iter().any(|alias| test(alias))).map(|(index, _)| index).collect()
    }

    /// Every name of a table, including the one that the caller used.
    fn names(&self, index: usize, used: Option<&Value>) -> Value {
        let own = self.table(index).map(|exposed| exposed.names()).unwrap_or_default();
        let mut names: Vec<Value> = Vec::with_capacity(own.len() + 1);
        for name in own.into_iter().map(Value::from).chain(used.cloned()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.into()
    }

    /// Replaces the name that the caller used by the canonical one.
    fn canonical(&self, params: &mut Map<String, Value>, parameter: &str, index: usize) {
        if let Some(exposed) = self.table(index) {
            params.insert(parameter.to_owned(), exposed.words.plural.as_str().into());
        }
    }
}
