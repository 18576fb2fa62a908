//! Requests that write. They affect only rows that this run created.

use serde_json::{Map, Value, json};

use crate::context::{CheckContext, Paging, example_value};
use crate::description::resources::{CONTROLS, Resource, find_referenced};
use crate::description::{Operation, Parameter, ValueKind};
use crate::mcp::Reply;
use crate::mcp::rows::{Row, object_with, total, values_equal};

/// Maximum number of resources that a run creates rows of.
const MAX_RESOURCES: usize = 15;

/// Maximum number of attempts to create a row.
const MAX_ATTEMPTS: usize = 8;

/// Number of rows that a collection needs for comparing and sorting.
const ENOUGH_ROWS: usize = 3;

/// Maximum number of collections that are filled up to [`ENOUGH_ROWS`].
const MAX_FILLED: usize = 3;

/// How the parameters of a creation are chosen.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Recipe {
    /// All parameters.
    #[default]
    Full,
    /// Only the required parameters.
    Least,
    /// A copy of an existing row with different texts. It satisfies rules that introspection does not describe.
    LikeOther,
    /// A copy of an existing row.
    SameAsOther,
    /// Only the required parameters, with different values and references for each variant, to avoid duplicates.
    Variant(usize),
}

impl CheckContext<'_> {
    /// Creates a row of each resource, starting with resources that others refer to.
    pub(crate) async fn create_rows(&mut self) {
        let resources = self.resources.clone();
        let mut waiting: Vec<&Resource> = resources.iter().filter(|resource| resource.create.is_some()).collect();
        let mut created = 0;
        while !waiting.is_empty() && created < MAX_RESOURCES {
            let needs_another = |resource: &&&Resource| {
                let create = resource.create.iter().flat_map(Operation::required_parameters);
                let others = create.filter_map(|own| find_referenced(&resources, &own.name, &own.description));
                others.into_iter().any(|(other, _)| {
                    other.noun != resource.noun && waiting.iter().any(|waiting| waiting.noun == other.noun)
                })
            };
            // If resources refer to each other in a cycle, start with any.
            let next = waiting.iter().position(|resource| !needs_another(&resource)).unwrap_or_default();
            let resource = waiting.remove(next);
            let reply = self.create_row(resource).await;
            created += usize::from(reply.as_ref().is_some_and(Reply::is_success));
            self.creations.extend(reply.map(|reply| (resource.noun.clone(), reply)));
            if self.client.lost.is_some() {
                return;
            }
        }
        self.add_missing_rows(&resources).await;
    }

    /// Adds rows to collections that have too few for comparing and sorting.
    async fn add_missing_rows(&mut self, resources: &[Resource]) {
        let mut filled = 0;
        for resource in resources.iter().filter(|resource| resource.create.is_some() && resource.list.is_some()) {
            if self.sandbox.row(&resource.noun).is_none() || self.rows_of(resource).len() >= ENOUGH_ROWS {
                continue;
            }
            let mut added = 0;
            for variant in 1..=2 * ENOUGH_ROWS {
                let Some(create) = resource.create.as_ref().filter(|_| added + 1 < ENOUGH_ROWS) else { break };
                let Some(params) = self.build_params(resource, Recipe::Variant(variant)) else { break };
                added += usize::from(self.call(create, params).await.is_success());
            }
            filled += usize::from(added > 0);
            if filled == MAX_FILLED || self.client.lost.is_some() {
                return;
            }
        }
    }

    /// Creates a row: first with all parameters, then with recipes that are less likely to violate a rule that
    /// introspection does not describe.
    async fn create_row(&mut self, resource: &Resource) -> Option<Reply> {
        let create = resource.create.as_ref()?;
        let plain = [Recipe::Full, Recipe::Least, Recipe::LikeOther, Recipe::SameAsOther];
        let mut attempts = 0;
        let mut refusal: Option<Reply> = None;
        for recipe in plain.into_iter().chain((1..=60).map(Recipe::Variant)) {
            let Some(params) = self.build_params(resource, recipe) else { continue };
            if matches!(recipe, Recipe::Variant(_)) && self.is_taken(resource, create, &params) {
                continue;
            }
            let reply = self.call(create, params).await;
            if reply.is_success() {
                self.recipes.insert(resource.noun.clone(), recipe);
                return Some(reply);
            }
            if self.client.lost.is_some() {
                return Some(reply);
            }
            if excludes_kind(create, &reply) {
                return None;
            }
            // A refusal as an invalid request is more informative than one caused by the state of the server.
            if refusal.as_ref().is_none_or(|before| !before.is_invalid_request()) {
                refusal = Some(reply);
            }
            attempts += 1;
            if attempts == MAX_ATTEMPTS {
                break;
            }
        }
        refusal
    }

    /// Whether a known row has the same references or the same key.
    fn is_taken(&self, resource: &Resource, create: &Operation, params: &Map<String, Value>) -> bool {
        let refers = |name: &str| {
            let own = create.parameter(name);
            own.is_some_and(|own| find_referenced(&self.resources, &own.name, &own.description).is_some())
        };
        let telling: Vec<_> =
            params.iter().filter(|(name, _)| resource.key.contains(name) || refers(name.as_str())).collect();
        let equals =
            |row: &Row| telling.iter().all(|(name, value)| row.get(*name).is_some_and(|own| values_equal(own, value)));
        !telling.is_empty() && self.rows_of(resource).iter().any(equals)
    }

    /// Parameters for a new row, different each time, built with the recipe that worked before.
    pub(crate) fn creation_params(&mut self, resource: &Resource) -> Option<Map<String, Value>> {
        let recipe = self.recipes.get(&resource.noun).copied().unwrap_or_default();
        self.build_params(resource, recipe)
    }

    /// Builds the parameters for a new row with a recipe.
    fn build_params(&mut self, resource: &Resource, recipe: Recipe) -> Option<Map<String, Value>> {
        let create = resource.create.as_ref()?;
        self.sandbox.change_salt();
        let other = match recipe {
            Recipe::LikeOther | Recipe::SameAsOther => Some(self.rows_of(resource).first()?.clone()),
            _ => None,
        };
        let mut params = Map::new();
        for (place, parameter) in create.parameters.iter().enumerate() {
            let control = CONTROLS.contains(&parameter.name.as_str()) && !parameter.required;
            let is_key = resource.key.contains(&parameter.name);
            // The server generates optional integer keys. Other keys may be needed even if they are optional.
            let is_counted = is_key && parameter.accepts(&ValueKind::Integer) && !parameter.required;
            let is_optional = !parameter.required && !is_key;
            let least = matches!(recipe, Recipe::Least | Recipe::Variant(_)) && is_optional;
            if control || least || is_counted || recipe == Recipe::Least && !parameter.required {
                continue;
            }
            let copied = other.as_ref().filter(|_| !is_key).map(|row| {
                let value = row.get(&parameter.name).filter(|value| !value.is_null()).cloned();
                if recipe == Recipe::LikeOther && is_free_text(parameter) && value.is_some() {
                    self.generate_value(parameter)
                } else {
                    value
                }
            });
            let value = match copied {
                Some(copied) => {
                    copied.or_else(|| self.field_value(parameter, recipe, place).filter(|_| parameter.required))
                }
                None => self.field_value(parameter, recipe, place),
            };
            let from_example = || example_value(create, &parameter.name).filter(|_| parameter.required);
            match value.or_else(from_example) {
                Some(value) => drop(params.insert(parameter.name.clone(), value)),
                None if parameter.required => return None,
                None => {}
            }
        }
        Some(params)
    }

    /// A value for a field of a new row: an existing reference, or one generated from the description.
    fn field_value(&self, parameter: &Parameter, recipe: Recipe, place: usize) -> Option<Value> {
        let variant = if let Recipe::Variant(variant) = recipe { variant } else { 0 };
        if let Some((resource, field)) = find_referenced(&self.resources, &parameter.name, &parameter.description) {
            let values = self.values_in(resource, &field);
            // Several references in a row change at different rates, so that all pairs occur eventually.
            let chosen = if place.is_multiple_of(2) { variant } else { variant / values.len().clamp(1, 8) + variant };
            if let Some(value) = values.get(chosen % values.len().max(1)) {
                return Some(value.clone());
            }
            // The referenced resource has no rows, so leave out the reference.
            if !parameter.required {
                return None;
            }
        }
        self.generate_variant(parameter, variant)
    }

    /// A value that a field of a created row could be set to.
    pub(crate) fn settable_value(&self, parameter: &Parameter) -> Option<Value> {
        self.field_value(parameter, Recipe::Full, 0)
    }

    /// Why the run created no rows.
    pub(crate) fn reason_nothing_created(&self) -> String {
        if self.resources.iter().all(|resource| resource.create.is_none() || resource.get.is_none()) {
            return "no operation creates something that another one gets".to_owned();
        }
        let refused = self.creations.iter().find(|(_, reply)| !reply.is_success());
        match refused {
            Some((noun, reply)) if self.sandbox.is_empty() => {
                format!("creating '{noun}' failed with {}: {}", reply.code(), reply.message())
            }
            None if self.sandbox.is_empty() => {
                let creates = self.resources.iter().filter_map(|resource| resource.create.as_ref());
                let reasons = creates.map(|create| (create, self.reason_no_request(create)));
                let reason = reasons.into_iter().find(|(_, reason)| !reason.is_empty());
                reason
                    .map(|(create, reason)| format!("{}: no request could be built{reason}", create.name))
                    .unwrap_or_default()
            }
            _ => String::new(),
        }
    }

    /// The fields that an update can change.
    pub(crate) fn updatable_fields(&self, update: &Operation) -> Vec<Parameter> {
        let Some(input) = update.parameter("input") else {
            let own = |parameter: &&Parameter| !CONTROLS.contains(&parameter.name.as_str()) && !parameter.required;
            return update.parameters.iter().filter(own).cloned().collect();
        };
        let known = input.named_types().first().and_then(|name| self.description.types.get(*name));
        if let Some(known) = known {
            return known.fields.clone();
        }
        let resource = self.resources.iter().find(|resource| resource.has_operation(update));
        let create = resource.and_then(|resource| Some((resource, resource.create.as_ref()?)));
        let Some((resource, create)) = create else { return Vec::new() };
        let own = |parameter: &&Parameter| {
            !CONTROLS.contains(&parameter.name.as_str()) && !resource.key.contains(&parameter.name)
        };
        create.parameters.iter().filter(own).cloned().collect()
    }

    /// One possible change to a created row: a field and its new value.
    pub(crate) fn pick_change(&mut self, resource: &Resource, row: &Row) -> Option<(String, Value)> {
        self.possible_changes(resource, row).into_iter().next()
    }

    /// Possible changes to a created row. Those that are least likely to violate a rule come first.
    pub(crate) fn possible_changes(&mut self, resource: &Resource, row: &Row) -> Vec<(String, Value)> {
        let Some(update) = resource.update.as_ref() else { return Vec::new() };
        self.sandbox.change_salt();
        let mut fields = self.updatable_fields(update);
        let rank = |field: &Parameter| (!is_free_text(field), !field.accepts(&ValueKind::Number));
        fields.sort_by_key(rank);
        let refers = |field: &Parameter| find_referenced(&self.resources, &field.name, &field.description).is_some();
        let usable = fields.iter().filter(|field| !refers(field) && !field.sensitive && row.contains_key(&field.name));
        let change = |field: &Parameter| {
            let before = row.get(&field.name)?;
            let other = field.allowed.iter().find(|allowed| *allowed != before).cloned();
            let number = before.as_f64().and_then(|number| {
                let bounds = [field.minimum, field.maximum].into_iter().flatten();
                let halves = bounds.filter(|_| !before.is_i64()).map(|bound| (number + bound) / 2.0);
                let fits = |next: &f64| {
                    field.minimum.is_none_or(|minimum| *next >= minimum)
                        && field.maximum.is_none_or(|maximum| *next <= maximum)
                };
                let next = [number + 1.0, number - 1.0].into_iter().chain(halves).find(fits)?;
                Some(if before.is_i64() { json!(next as i64) } else { json!(next) })
            });
            let flag = before.as_bool().map(|flag| json!(!flag));
            let text = || {
                let mut texts = (0..4).filter_map(|variant| self.generate_variant(field, variant));
                texts.find(|text| field.accepts(&ValueKind::String) && text != before)
            };
            let value = if field.allowed.is_empty() { number.or(flag).or_else(text) } else { other };
            value.filter(|value| !values_equal(value, before)).map(|value| (field.name.clone(), value))
        };
        usable.filter_map(change).collect()
    }

    /// The parameters that change one field of one row.
    pub(crate) fn update_params(
        update: &Operation,
        key: &Map<String, Value>,
        field: &str,
        value: Value,
    ) -> Map<String, Value> {
        let mut params = key.clone();
        if update.has_parameter("input") {
            params.insert("input".into(), json!({field: value}));
        } else {
            params.insert(field.to_owned(), value);
        }
        params
    }

    /// A valid request that does no harm if the server runs it: a read, a creation, or a write to a created row.
    pub(crate) fn harmless_params(&mut self, operation: &Operation) -> Option<Map<String, Value>> {
        let resources = self.resources.clone();
        let about = |resource: &&Resource| resource.has_operation(operation);
        // Among several kinds, prefer one with a created row.
        let ours = resources.iter().filter(about).find(|own| self.sandbox.row(&own.noun).is_some());
        let resource = ours.or_else(|| resources.iter().find(about));
        match (operation.category.as_str(), resource) {
            ("READ", _) => self.minimal_params(operation),
            ("CREATE", Some(resource)) if self.options.allow_writes => {
                let params = self.creation_params(resource)?;
                Some(resource.create.as_ref()?.wrap(params))
            }
            ("UPDATE", Some(resource)) if self.options.allow_writes => {
                let created = self.sandbox.row(&resource.noun)?.clone();
                let (field, value) = self.pick_change(resource, &created.row)?;
                let update = resource.update.as_ref()?;
                Some(update.wrap(Self::update_params(update, &created.key, &field, value)))
            }
            ("DELETE", Some(resource)) if self.options.allow_writes => {
                let key = self.sandbox.row(&resource.noun)?.key.clone();
                Some(resource.delete.as_ref()?.wrap(key))
            }
            _ if self.options.allow_writes && operation.has_parameter("dry_run") => self.dry_run_params(operation),
            _ => None,
        }
    }

    /// A dry run with generated values, for operations that are about nothing that the run created.
    fn dry_run_params(&self, operation: &Operation) -> Option<Map<String, Value>> {
        let required = operation.required_parameters().map(|own| Some((own.name.clone(), self.generate_value(own)?)));
        let mut params: Map<String, Value> = required.collect::<Option<_>>()?;
        params.insert("dry_run".into(), json!(true));
        Some(params)
    }

    /// The base of a request that is made invalid before it is sent.
    pub(crate) fn params_to_break(&mut self, operation: &Operation) -> Option<Map<String, Value>> {
        if !operation.is_read() && !self.options.allow_writes {
            return None;
        }
        match self.harmless_params(operation) {
            Some(params) => Some(params),
            // Without required parameters, the operation could affect all data if the server ignores the mistake.
            None if !operation.is_read() && operation.required_parameters().next().is_none() => None,
            // Never refer to existing rows that the run did not create, not even in a request that must fail.
            None => {
                operation.required_parameters().map(|own| Some((own.name.clone(), self.generate_value(own)?))).collect()
            }
        }
    }

    /// The number of rows of a collection, if it can be determined.
    pub(crate) async fn count_rows(&mut self, resource: &Resource) -> Option<usize> {
        let list = resource.list.as_ref()?;
        if list.has_parameter("total") {
            let mut params = resource.list_params.clone();
            params.insert("total".into(), json!(true));
            let reply = self.call(list, params).await;
            if let Some(total) = total(reply.data()) {
                return usize::try_from(total).ok();
            }
        }
        let paging = Paging::documented_by(list).first().copied().unwrap_or(Paging::Whole);
        let walk = self.walk(list, &resource.list_params, paging, 100, self.options.max_rows).await;
        walk.complete.then_some(walk.rows.len())
    }

    /// Reads a created row.
    pub(crate) async fn read_back(&mut self, resource: &Resource, key: &Map<String, Value>) -> Option<(Reply, Row)> {
        let get = resource.get.as_ref()?;
        let reply = self.call(get, key.clone()).await;
        let row = object_with(reply.data(), &resource.key).or_else(|| reply.data().as_object()).cloned();
        Some((reply, row.unwrap_or_default()))
    }
}

/// Whether a parameter accepts any text.
fn is_free_text(parameter: &Parameter) -> bool {
    let unbound = parameter.allowed.is_empty() && parameter.pattern.is_none() && parameter.format.is_none();
    unbound && parameter.accepts(&ValueKind::String)
}

/// Whether an operation that serves several kinds rejects this kind altogether.
fn excludes_kind(operation: &Operation, reply: &Reply) -> bool {
    let blamed = reply.exchange.answer.pointer("/error/details/param_name").and_then(Value::as_str);
    let binding = operation.binding.as_ref();
    blamed.is_some_and(|blamed| binding.is_some_and(|binding| binding.fixed.contains_key(blamed)))
}
