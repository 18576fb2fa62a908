//! Finds requests that work: calls every READ operation, reads collections, and remembers rows, so that later requests
//! can refer to existing ones.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::context::{CheckContext, Collection, Paging, example_params, example_value};
use crate::description::resources::{Resource, find_referenced, is_plural_of, list_id, split_name};
use crate::description::{Operation, Parameter, ValueKind};
use crate::mcp::Reply;
use crate::mcp::rows::{Row, rows};
use crate::record::Purpose;

/// Maximum number of collections that are examined in detail.
const MAX_COLLECTIONS: usize = 12;

/// Maximum number of searches that are examined in detail in addition.
const MAX_SEARCHES: usize = 3;

/// Maximum number of rows of a list that are remembered for later requests.
const MAX_KNOWN_ROWS: usize = 200;

/// Maximum number of kinds that an operation for several kinds is tried with.
const MAX_KINDS_TRIED: usize = 8;

impl CheckContext<'_> {
    /// Finds a working request for every READ operation, and reads collections up to `max_rows` rows.
    pub(crate) async fn prepare(&mut self, max_rows: usize) {
        let mut collections = self.prepare_lists(max_rows).await;
        self.bind_kinds().await;
        let listed = self.prepare_bound_lists(&mut collections, max_rows).await;
        self.collections = Arc::new(collections);
        let description = self.description.clone();
        let mut searched = Vec::new();
        let with_required =
            description.read_operations().filter(|operation| operation.required_parameters().next().is_some());
        for operation in with_required.filter(|operation| !listed.contains(&operation.name)) {
            for params in self.candidate_params(operation) {
                let reply = self.call(operation, params.clone()).await;
                if self.exclude_if_lost(operation).await {
                    break;
                }
                let worked = reply.is_success();
                let lists = worked && reply.data().get("items").is_some() && searched.len() < MAX_SEARCHES;
                self.remember_reply(operation, params.clone(), reply);
                if lists {
                    searched.push(self.walk_collection(operation, params, max_rows).await);
                }
                if worked {
                    break;
                }
            }
        }
        let listed = self.collections.iter().cloned();
        self.collections = Arc::new(listed.chain(searched).collect());
    }

    /// Calls the READ operations without required parameters.
    async fn prepare_lists(&mut self, max_rows: usize) -> Vec<Arc<Collection>> {
        let description = self.description.clone();
        let mut collections = Vec::new();
        for operation in
            description.read_operations().filter(|operation| operation.required_parameters().next().is_none())
        {
            let reply = self.call(operation, Map::new()).await;
            if self.exclude_if_lost(operation).await {
                continue;
            }
            let found = rows(reply.data()).filter(|_| reply.is_success());
            self.remember_reply(operation, Map::new(), reply);
            let Some(found) = found else { continue };
            self.remember_rows(list_id(&operation.name, &Map::new()), found);
            if collections.len() < MAX_COLLECTIONS {
                collections.push(self.walk_collection(operation, Map::new(), max_rows).await);
            }
        }
        collections
    }

    /// Lists the kinds that share one list operation, and returns the names of those operations.
    async fn prepare_bound_lists(&mut self, collections: &mut Vec<Arc<Collection>>, max_rows: usize) -> Vec<String> {
        let resources = self.resources.clone();
        let mut names: Vec<String> = Vec::new();
        // Collections with rows come first, because empty ones prove nothing.
        let mut empty = Vec::new();
        for resource in resources.iter().filter(|resource| !resource.list_params.is_empty()) {
            let Some(list) = &resource.list else { continue };
            let reply = self.call(list, resource.list_params.clone()).await;
            if self.client.lost.is_some() {
                return names;
            }
            let found = rows(reply.data()).filter(|_| reply.is_success());
            if !names.contains(&list.name) || !self.last_replies.get(&list.name).is_some_and(Reply::is_success) {
                self.remember_reply(list, resource.list_params.clone(), reply);
                names.push(list.name.clone());
            }
            let Some(found) = found else { continue };
            let has_rows = !found.is_empty();
            self.remember_rows(list_id(&list.name, &resource.list_params), found);
            if !has_rows {
                empty.push((list, &resource.list_params));
            } else if collections.len() < MAX_COLLECTIONS {
                collections.push(self.walk_collection(list, resource.list_params.clone(), max_rows).await);
            }
        }
        for (list, params) in empty {
            if collections.len() < MAX_COLLECTIONS {
                collections.push(self.walk_collection(list, params.clone(), max_rows).await);
            }
        }
        // Other checks call the operation with the parameters of its first collection.
        for name in &names {
            let first = collections.iter().find(|own| own.operation.name == *name).map(|own| own.params.clone());
            if let Some(params) = first.filter(|_| self.valid_requests.contains_key(name)) {
                self.valid_requests.insert(name.clone(), params);
            }
        }
        names
    }

    fn remember_rows(&mut self, list: String, mut rows: Vec<Row>) {
        rows.truncate(MAX_KNOWN_ROWS);
        self.known_rows.insert(list, rows);
    }

    /// Reads a collection.
    async fn walk_collection(
        &mut self,
        operation: &Operation,
        params: Map<String, Value>,
        max_rows: usize,
    ) -> Arc<Collection> {
        let paging = Paging::documented_by(operation).first().copied().unwrap_or(Paging::Whole);
        let walk = self.walk(operation, &params, paging, 100, max_rows).await;
        let id = list_id(&operation.name, &params);
        let listing = |resource: &&Resource| resource.list_id().is_some_and(|own| own == id);
        let key = self.resources.iter().find(listing).map(|resource| resource.key.clone()).unwrap_or_default();
        if self.known_rows.get(&id).is_some_and(|known| known.len() < walk.rows.len()) {
            self.remember_rows(id, walk.rows.clone());
        }
        Arc::new(Collection::new(operation.clone(), params, key, walk))
    }

    fn remember_reply(&mut self, operation: &Operation, params: Map<String, Value>, reply: Reply) {
        if reply.is_success() {
            self.record_exchange(Purpose::Valid { operation: operation.name.clone() }, &reply);
            self.valid_requests.insert(operation.name.clone(), params);
        }
        self.last_replies.insert(operation.name.clone(), reply);
    }

    /// Candidates for a valid request, best first: with values from rows, from examples, or generated from types.
    fn candidate_params(&self, operation: &Operation) -> Vec<Map<String, Value>> {
        let found: Option<Map<String, Value>> = operation
            .required_parameters()
            .map(|parameter| {
                let value = self.known_value(operation, parameter).or_else(|| self.generate_value(parameter))?;
                Some((parameter.name.clone(), value))
            })
            .collect();
        let known = operation.required_parameters().all(|parameter| self.known_value(operation, parameter).is_some());
        let examples = operation.examples().iter().filter_map(|example| example_params(example).cloned());
        let examples = examples
            .filter(|params| operation.required_parameters().all(|parameter| params.contains_key(&parameter.name)));
        let mut candidates = Vec::new();
        for example in examples.take(2) {
            let least = example.iter().filter(|(name, _)| operation.parameter(name).is_some_and(|own| own.required));
            candidates.push(least.map(|(name, value)| (name.clone(), value.clone())).collect());
            candidates.push(example);
        }
        if let Some(found) = found {
            let at = if known { 0 } else { candidates.len() };
            candidates.insert(at, found);
        }
        let mut bound = self.bound_candidate_params(operation);
        bound.extend(candidates);
        bound
    }

    /// Candidates for an operation that serves several kinds. Kinds with known rows come first.
    fn bound_candidate_params(&self, operation: &Operation) -> Vec<Map<String, Value>> {
        let needs = |resource: &Resource| {
            let mut selectors = resource.list_params.keys();
            selectors.len() > 0 && selectors.all(|name| operation.parameter(name).is_some_and(|own| own.required))
        };
        let bound: Vec<&Resource> = self.resources.iter().filter(|resource| needs(resource)).collect();
        let (full, empty): (Vec<&Resource>, Vec<&Resource>) =
            bound.into_iter().partition(|resource| !self.rows_of(resource).is_empty());
        let request = |resource: &Resource| -> Option<Map<String, Value>> {
            let mut params = resource.list_params.clone();
            let own = [&resource.get, &resource.update, &resource.delete].into_iter().flatten();
            if let Some(own) = own.into_iter().find(|own| own.name == operation.name) {
                let key = resource.key.iter().map(|key| Some((key.clone(), self.value_in(resource, key)?)));
                return Some(own.wrap(key.collect::<Option<_>>()?));
            }
            for parameter in operation.required_parameters().filter(|own| !resource.list_params.contains_key(&own.name))
            {
                let value =
                    if is_query(parameter) { word_in(self.rows_of(resource)) } else { self.generate_value(parameter) };
                params.insert(parameter.name.clone(), value?);
            }
            Some(params)
        };
        full.into_iter().chain(empty).filter_map(request).take(MAX_KINDS_TRIED).collect()
    }

    /// A value for the parameter from an existing row.
    pub(crate) fn known_value(&self, operation: &Operation, parameter: &Parameter) -> Option<Value> {
        let own = self.resources.iter().find(|resource| resource.has_operation(operation));
        if let Some(resource) = own.filter(|resource| resource.key.contains(&parameter.name)) {
            return self.value_in(resource, &parameter.name);
        }
        if is_query(parameter) && operation.is_read() {
            return self.known_word(operation);
        }
        if let Some(listed) = self.listed_value(parameter) {
            return Some(listed);
        }
        if let Some(row) = self.reference_object(parameter) {
            return Some(row);
        }
        let (resource, field) = find_referenced(&self.resources, &parameter.name, &parameter.description)?;
        self.value_in(resource, &field)
    }

    /// An object that identifies a row by its kind and key.
    fn reference_object(&self, parameter: &Parameter) -> Option<Value> {
        let named = parameter.named_types();
        let description = named.first().and_then(|name| self.description.types.get(*name))?;
        let mut required = description.fields.iter().filter(|field| field.required);
        let kind = required.next().filter(|field| field.accepts(&ValueKind::String))?;
        if required.next().is_some() {
            return None;
        }
        let known = |resource: &&Resource| !resource.key.is_empty() && !self.rows_of(resource).is_empty();
        self.resources.iter().filter(known).find_map(|resource| {
            let names = |value: &&Value| value.as_str().is_some_and(|value| is_plural_of(value, &resource.noun));
            let value = match kind.allowed.as_slice() {
                [] => resource.list_params.values().next()?,
                allowed => allowed.iter().find(names)?,
            };
            let row = self.rows_of(resource).first()?;
            let key = resource.key.iter().map(|key| Some((key.clone(), row.get(key)?.clone())));
            let mut object = key.collect::<Option<Map<String, Value>>>()?;
            object.insert(kind.name.clone(), value.clone());
            Some(Value::Object(object))
        })
    }

    /// A value that the server lists elsewhere than in the description of the parameter.
    fn listed_value(&self, parameter: &Parameter) -> Option<Value> {
        if parameter.name != "relationship" {
            return None;
        }
        let relationship_type =
            |own: &Operation| own.raw.pointer("/relationship_capabilities/relationship_types/0").cloned();
        self.description.operations.iter().find_map(relationship_type)
    }

    /// A word from the rows of the searched collection.
    fn known_word(&self, operation: &Operation) -> Option<Value> {
        let (_, noun) = split_name(&operation.name)?;
        let lists = |own: &&Arc<Collection>| split_name(&own.operation.name).is_some_and(|(_, other)| other == noun);
        word_in(&self.collections.iter().find(lists)?.rows)
    }

    /// The known rows of a resource. Rows that this run created are included only if the list returned them.
    pub(crate) fn rows_of(&self, resource: &Resource) -> &[Row] {
        resource.list_id().and_then(|id| self.known_rows.get(&id)).map(Vec::as_slice).unwrap_or_default()
    }

    fn value_in(&self, resource: &Resource, field: &str) -> Option<Value> {
        self.values_in(resource, field).into_iter().next()
    }

    /// The values of a field in the rows of a resource, starting with rows that this run created.
    pub(crate) fn values_in(&self, resource: &Resource, field: &str) -> Vec<Value> {
        let own = self.sandbox.values(&resource.noun, field);
        let known = self.rows_of(resource).iter().filter_map(|row| row.get(field)).filter(|value| !value.is_null());
        let mut values: Vec<Value> = own;
        for value in known {
            if !values.contains(value) {
                values.push(value.clone());
            }
        }
        values
    }

    /// Why no request can be built: the first required parameter without a value.
    pub(crate) fn reason_no_request(&self, operation: &Operation) -> String {
        let is_missing = |parameter: &&Parameter| {
            self.known_value(operation, parameter).is_none()
                && self.generate_value(parameter).is_none()
                && example_value(operation, &parameter.name).is_none()
        };
        let Some(parameter) = operation.required_parameters().find(is_missing) else { return String::new() };
        let described = match &parameter.pattern {
            Some(pattern) => format!("matches the pattern {pattern}"),
            None => format!("is of type {}", parameter.type_text),
        };
        format!(": no value was found for '{}', which {described}. An example with one would help", parameter.name)
    }

    /// The parameters of a valid request, reduced to the required ones.
    pub(crate) fn minimal_params(&self, operation: &Operation) -> Option<Map<String, Value>> {
        let working = self.valid_requests.get(&operation.name).and_then(|params| operation.unwrap_params(params));
        if let Some(params) = working {
            return Some(params);
        }
        if operation.name == "introspect" {
            return json!({"query": "operations"}).as_object().cloned();
        }
        let value = |parameter: &Parameter| {
            let value = self.known_value(operation, parameter).or_else(|| self.generate_value(parameter))?;
            Some((parameter.name.clone(), value))
        };
        operation.required_parameters().map(value).collect()
    }
}

/// Whether a parameter takes search terms.
fn is_query(parameter: &Parameter) -> bool {
    ["query", "q", "search", "text"].contains(&parameter.name.as_str()) && parameter.accepts(&ValueKind::String)
}

/// A word from any row.
fn word_in(rows: &[Row]) -> Option<Value> {
    let is_word = |word: &&str| word.len() > 2 && word.chars().all(char::is_alphabetic);
    let texts = || rows.iter().flat_map(|row| row.values()).filter_map(Value::as_str);
    let spaced = texts().filter(|text| text.contains(' '));
    spaced.chain(texts()).flat_map(str::split_whitespace).find(is_word).map(Value::from)
}
