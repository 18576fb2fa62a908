//! Requests that write: built so that they touch nothing but rows of this run.

use serde_json::{Map, Value, json};

use crate::described::{Kind, Operation, Parameter};
use crate::lab::Lab;
use crate::reply::Reply;
use crate::resources::{CONTROLS, Resource, referred};
use crate::rows::{Row, object_with, same, total};
use crate::walk::Paging;

/// How many kinds of things a run creates.
const MOST_RESOURCES: usize = 15;

impl Lab<'_> {
    /// Creates one of each thing that can be created, those first that others refer to.
    pub(crate) async fn populate(&mut self) {
        let resources = self.resources.clone();
        let mut waiting: Vec<&Resource> =
            resources.iter().filter(|resource| resource.create.is_some()).take(MOST_RESOURCES).collect();
        while !waiting.is_empty() {
            let needs_another = |resource: &&&Resource| {
                let create = resource.create.iter().flat_map(Operation::required);
                let others = create.filter_map(|own| referred(&resources, &own.name, &own.description));
                others.into_iter().any(|(other, _)| {
                    other.noun != resource.noun && waiting.iter().any(|waiting| waiting.noun == other.noun)
                })
            };
            // Where things refer to each other in a circle, somebody has to begin.
            let next = waiting.iter().position(|resource| !needs_another(&resource)).unwrap_or_default();
            let resource = waiting.remove(next);
            let reply = self.create(resource).await;
            self.creations.extend(reply.map(|reply| (resource.noun.clone(), reply)));
        }
    }

    /// Creates one: with everything that can be said of it, else with what must be.
    async fn create(&mut self, resource: &Resource) -> Option<Reply> {
        let create = resource.create.as_ref()?;
        let full = self.creation(resource)?;
        let reply = self.call(create, full.clone()).await;
        if reply.ok() || self.client.lost.is_some() {
            return Some(reply);
        }
        let least: Map<String, Value> = full
            .into_iter()
            .filter(|(name, _)| create.parameter(name).is_some_and(|parameter| parameter.required))
            .collect();
        let second = self.call(create, least).await;
        Some(if second.ok() || !reply.invalid() { second } else { reply })
    }

    /// Parameters for a new one, other ones each time.
    pub(crate) fn creation(&mut self, resource: &Resource) -> Option<Map<String, Value>> {
        let create = resource.create.as_ref()?;
        self.sandbox.stir();
        let mut params = Map::new();
        for parameter in &create.parameters {
            let control = CONTROLS.contains(&parameter.name.as_str()) && !parameter.required;
            let own_key = resource.key.contains(&parameter.name) && !parameter.required;
            if control || own_key {
                continue;
            }
            let refers = referred(&self.resources, &parameter.name, &parameter.description).is_some();
            let value = match self.known_value(create, parameter) {
                Some(value) if refers => Some(value),
                // What it refers to is not there: better none than a wrong one.
                None if refers && !parameter.required => None,
                _ => self.made_up(parameter),
            };
            match value {
                Some(value) => drop(params.insert(parameter.name.clone(), value)),
                None if parameter.required => return None,
                None => {}
            }
        }
        Some(params)
    }

    /// The fields that an update can change, as they are described.
    pub(crate) fn updatable(&self, update: &Operation) -> Vec<Parameter> {
        let Some(input) = update.parameter("input") else {
            let own = |parameter: &&Parameter| !CONTROLS.contains(&parameter.name.as_str()) && !parameter.required;
            return update.parameters.iter().filter(own).cloned().collect();
        };
        let known = input.named().first().and_then(|name| self.described.types.get(*name));
        if let Some(known) = known {
            return known.fields.clone();
        }
        let resource = self.resources.iter().find(|resource| resource.has(&update.name));
        let create = resource.and_then(|resource| Some((resource, resource.create.as_ref()?)));
        let Some((resource, create)) = create else { return Vec::new() };
        let own = |parameter: &&Parameter| {
            !CONTROLS.contains(&parameter.name.as_str()) && !resource.key.contains(&parameter.name)
        };
        create.parameters.iter().filter(own).cloned().collect()
    }

    /// One change to a row of ours: the field and its new value.
    pub(crate) fn change(&mut self, resource: &Resource, row: &Row) -> Option<(String, Value)> {
        let update = resource.update.as_ref()?;
        self.sandbox.stir();
        let mut fields = self.updatable(update);
        let rank = |field: &Parameter| {
            let free = field.allowed.is_empty() && field.pattern.is_none() && field.format.is_none();
            (!(free && field.takes(&Kind::String)), !field.takes(&Kind::Number))
        };
        fields.sort_by_key(rank);
        let refers = |field: &Parameter| referred(&self.resources, &field.name, &field.description).is_some();
        let usable = fields.iter().filter(|field| !refers(field) && !field.sensitive && row.contains_key(&field.name));
        usable.into_iter().find_map(|field| {
            let before = row.get(&field.name)?;
            let other = field.allowed.iter().find(|allowed| *allowed != before).cloned();
            let number = before.as_f64().map(|number| {
                let up = field.maximum.is_none_or(|maximum| number + 1.0 <= maximum);
                let next = if up { number + 1.0 } else { number - 1.0 };
                if before.is_i64() { json!(next as i64) } else { json!(next) }
            });
            let flag = before.as_bool().map(|flag| json!(!flag));
            let text = || field.takes(&Kind::String).then(|| self.made_up(field)).flatten();
            let value = if field.allowed.is_empty() { number.or(flag).or_else(text) } else { other };
            value.filter(|value| !same(value, before)).map(|value| (field.name.clone(), value))
        })
    }

    /// The parameters that change one field of one row.
    pub(crate) fn update_params(
        update: &Operation,
        key: &Map<String, Value>,
        field: &str,
        value: Value,
    ) -> Map<String, Value> {
        let mut params = key.clone();
        if update.has("input") {
            params.insert("input".into(), json!({field: value}));
        } else {
            params.insert(field.to_owned(), value);
        }
        params
    }

    /// A valid request that can do no harm even where the server runs it: reads, additions, and writes to rows of ours.
    pub(crate) fn harmless(&mut self, operation: &Operation) -> Option<Map<String, Value>> {
        let resources = self.resources.clone();
        let resource = resources.iter().find(|resource| resource.has(&operation.name));
        match (operation.category.as_str(), resource) {
            ("READ", _) => self.valid(operation),
            ("CREATE", Some(resource)) if self.options.allow_writes => self.creation(resource),
            ("UPDATE", Some(resource)) if self.options.allow_writes => {
                let made = self.sandbox.row(&resource.noun)?.clone();
                let (field, value) = self.change(resource, &made.row)?;
                Some(Self::update_params(operation, &made.key, &field, value))
            }
            ("DELETE", Some(resource)) if self.options.allow_writes => {
                Some(self.sandbox.row(&resource.noun)?.key.clone())
            }
            _ => None,
        }
    }

    /// A request that is to be broken before it is sent, so that it must be refused.
    pub(crate) fn breakable(&mut self, operation: &Operation) -> Option<Map<String, Value>> {
        if !operation.reads() && !self.options.allow_writes {
            return None;
        }
        match self.harmless(operation) {
            Some(params) => Some(params),
            // What needs nothing runs on everybody's data where the server does not look at what is wrong.
            None if !operation.reads() && operation.required().next().is_none() => None,
            // Rows of others are never named, not even in a request that has to fail.
            None => operation.required().map(|own| Some((own.name.clone(), self.made_up(own)?))).collect(),
        }
    }

    /// How many rows a collection has, where that can be found out.
    pub(crate) async fn count(&mut self, list: &Operation) -> Option<usize> {
        if list.has("total") {
            let reply = self.call(list, json!({"total": true}).as_object().cloned()?).await;
            if let Some(total) = total(reply.data()) {
                return usize::try_from(total).ok();
            }
        }
        let paging = Paging::of(list).first().copied().unwrap_or(Paging::Whole);
        let walk = self.walk(list, &Map::new(), paging, 100, self.options.max_rows).await;
        walk.complete.then_some(walk.rows.len())
    }

    /// Reads a row of ours.
    pub(crate) async fn read_back(&mut self, resource: &Resource, key: &Map<String, Value>) -> Option<(Reply, Row)> {
        let get = resource.get.as_ref()?;
        let reply = self.call(get, key.clone()).await;
        let row = object_with(reply.data(), &resource.key).or_else(|| reply.data().as_object()).cloned();
        Some((reply, row.unwrap_or_default()))
    }
}
