//! Operations that serve several kinds of resources, selected by one parameter: `get_record` with `table_name`.
//!
//! Each kind becomes a resource with the same operations, narrowed to that kind. The fields of a kind come from an
//! operation that requires only the same parameter and returns a list of `{name, type}`.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::context::CheckContext;
use crate::description::resources::{CONTROLS, Resource, is_plural_of, split_name};
use crate::description::{Binding, Operation, Parameter, ValueKind};

/// Maximum number of kinds that are examined, not counting referenced ones.
const MAX_KINDS: usize = 24;

/// Maximum number of kinds that are examined because others refer to them.
const MAX_REFERRED: usize = 24;

/// The pattern of base64 text.
const BASE64: &str = r"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";

/// The fields of a kind.
struct KindShape {
    fields: Vec<Parameter>,
    /// Fields that the server generates.
    generated: Vec<String>,
    key: Vec<String>,
}

/// A family of operations that serve several kinds.
struct GenericFamily {
    resource: Resource,
    list: Operation,
    selector: Parameter,
}

impl CheckContext<'_> {
    /// Creates a resource for each kind that shares operations with others. Done once, because the kinds do not change
    /// during a run.
    pub(crate) async fn bind_kinds(&mut self) {
        if std::mem::replace(&mut self.kinds_bound, true) {
            return;
        }
        let families: Vec<GenericFamily> = self.resources.iter().filter_map(find_family).collect();
        for family in families {
            let known = self.known_kinds(&family.selector);
            if known.is_empty() {
                continue;
            }
            let mut resources: Vec<Resource> =
                self.resources.iter().filter(|own| own.noun != family.resource.noun).cloned().collect();
            let mut waiting: Vec<Value> = sample_evenly(&known, MAX_KINDS);
            let mut seen: BTreeSet<String> = waiting.iter().map(Value::to_string).collect();
            let mut referenced = 0;
            while let Some(kind) = waiting.pop() {
                let Some(shape) = self.fetch_shape(&family.selector, &kind).await else { continue };
                for other in shape.fields.iter().filter_map(referenced_kind) {
                    // The first page of the list may not contain it.
                    let other = Value::from(other);
                    if referenced < MAX_REFERRED && seen.insert(other.to_string()) {
                        referenced += 1;
                        waiting.push(other);
                    }
                }
                resources.push(family.bind(&kind, &shape, self.is_read_only(&family.selector, &kind)));
            }
            self.resources = Arc::new(resources);
        }
    }

    /// The kinds that a parameter can select: its allowed values, or those that the server lists.
    fn known_kinds(&self, selector: &Parameter) -> Vec<Value> {
        if !selector.allowed.is_empty() {
            return selector.allowed.clone();
        }
        let rows = self.rows_naming(selector);
        rows.map(|(field, rows)| rows.into_iter().filter_map(|row| row.get(&field).cloned()).collect())
            .unwrap_or_default()
    }

    /// The rows of the list that contains the values of a parameter, and the name of the field with the value.
    fn rows_naming(&self, selector: &Parameter) -> Option<(String, Vec<Map<String, Value>>)> {
        let (noun, field) = selector.name.rsplit_once('_').unwrap_or((&selector.name, "name"));
        let is_list = |operation: &&Operation| {
            let plural = split_name(&operation.name).filter(|(verb, _)| *verb == "list").map(|(_, plural)| plural);
            let described_field = selector.description.split(|c: char| !c.is_alphanumeric() && c != '_');
            operation.required_parameters().next().is_none()
                && (plural.is_some_and(|plural| is_plural_of(&plural, noun))
                    || described_field.into_iter().any(|word| word == operation.name))
        };
        let list = self.description.read_operations().find(is_list)?;
        let collected = self.known_rows.get(&list.name)?;
        let fields = [field, "name", "id"];
        let field = fields.into_iter().find(|field| collected.first().is_some_and(|row| row.contains_key(*field)))?;
        Some((field.to_owned(), collected.clone()))
    }

    /// Whether the list of kinds declares this one read-only.
    fn is_read_only(&self, selector: &Parameter, kind: &Value) -> bool {
        let Some((field, rows)) = self.rows_naming(selector) else { return false };
        let row = rows.iter().find(|row| row.get(&field) == Some(kind));
        row.is_some_and(|row| row.get("writable") == Some(&json!(false)) || row.get("read_only") == Some(&json!(true)))
    }

    /// Requests the fields of a kind.
    async fn fetch_shape(&mut self, selector: &Parameter, kind: &Value) -> Option<KindShape> {
        let description = self.description.clone();
        let describes_kind = |operation: &&Operation| {
            let mut required = operation.required_parameters();
            required.next().is_some_and(|own| own.name == selector.name) && required.next().is_none()
        };
        for operation in description
            .read_operations()
            .filter(describes_kind)
            .filter(|own| !own.has_parameter("first") && !own.has_parameter("filter"))
        {
            let mut params = Map::new();
            params.insert(selector.name.clone(), kind.clone());
            let reply = self.call(operation, params).await;
            if let Some(shape) = self.parse_shape(reply.data()).filter(|_| reply.is_success()) {
                return Some(shape);
            }
        }
        None
    }

    /// Parses a list of fields from any member of an answer.
    fn parse_shape(&self, data: &Value) -> Option<KindShape> {
        let is_field = |item: &Value| item.get("name").is_some() && item.get("type").is_some();
        let lists = data.as_object()?.values().filter_map(Value::as_array);
        let raw = lists.into_iter().find(|list| !list.is_empty() && list.iter().all(is_field))?;
        let names: Vec<&str> = raw.iter().filter_map(|field| field.get("name")?.as_str()).collect();
        // A type with exactly these fields describes them better. If several types match, none is used.
        let mut alike = self.description.types.values().filter(|own| {
            own.fields.len() == names.len() && own.fields.iter().all(|field| names.contains(&field.name.as_str()))
        });
        let description = alike.next().filter(|_| alike.next().is_none());
        let flag = |raw: &Value, name: &str| raw.get(name).is_some_and(|flag| *flag != json!(false) && !flag.is_null());
        let field = |raw: &Value| {
            let own = Parameter::parse(raw)?;
            let described_field =
                description.and_then(|own_type| own_type.fields.iter().find(|field| field.name == own.name));
            let mut field = described_field.cloned().unwrap_or(own);
            let values = raw.get("values").and_then(Value::as_array).cloned().unwrap_or_default();
            if field.allowed.is_empty() {
                field.allowed = values;
            }
            let nullable = raw.get("nullable").is_none_or(|nullable| *nullable == json!(true));
            field.kinds.retain(|kind| *kind != ValueKind::Null);
            if nullable {
                field.kinds.push(ValueKind::Null);
            }
            if let Some(to) = raw.get("refers_to").and_then(Value::as_str) {
                field.description = format!("Refers to {to}.");
            }
            let length =
                |name: &str| raw.get(name).and_then(Value::as_u64).and_then(|length| usize::try_from(length).ok());
            field.min_length = field.min_length.or_else(|| length("min_length"));
            field.max_length = field.max_length.or_else(|| length("max_length"));
            match raw.get("format").and_then(Value::as_str) {
                Some("time") => field.format = Some("date-time".to_owned()),
                Some("bytes") if field.pattern.is_none() => {
                    (field.format, field.pattern) = (None, Some(BASE64.to_owned()));
                }
                _ => {}
            }
            let filled = ["default", "has_default", "generated"].into_iter().any(|name| flag(raw, name));
            field.required = !nullable && !filled;
            Some(field)
        };
        let named = |key: &str| {
            let list = data.get(key).and_then(Value::as_array);
            list.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect::<Vec<_>>()
        };
        let generated = raw.iter().filter(|field| flag(field, "generated"));
        Some(KindShape {
            fields: raw.iter().filter_map(field).collect(),
            generated: generated.filter_map(|field| field.get("name")?.as_str().map(str::to_owned)).collect(),
            key: named("key"),
        })
    }
}

/// The kind that a field refers to.
fn referenced_kind(field: &Parameter) -> Option<&str> {
    let (_, rest) = field.description.split_once("efers to ")?;
    rest.split([' ', ',', ';']).next()?.split_once('.').map(|(kind, _)| kind)
}

/// The family of a resource, if all its operations require the same parameter to select the kind.
fn find_family(resource: &Resource) -> Option<GenericFamily> {
    let list = resource.list.clone()?;
    let mut required = list.required_parameters();
    let selector = required.next().filter(|own| own.accepts(&ValueKind::String))?.clone();
    if required.next().is_some() {
        return None;
    }
    let others = [&resource.create, &resource.get, &resource.update, &resource.delete].into_iter().flatten();
    let shared = others.clone().all(|own| own.parameter(&selector.name).is_some_and(|own| own.required));
    (shared && others.count() > 0).then(|| GenericFamily { resource: resource.clone(), list: list.clone(), selector })
}

/// At most `max` values, evenly spaced.
fn sample_evenly(all: &[Value], max: usize) -> Vec<Value> {
    let step = all.len().div_ceil(max).max(1);
    all.iter().step_by(step).cloned().collect()
}

impl GenericFamily {
    /// Makes the resource of one kind.
    fn bind(&self, kind: &Value, shape: &KindShape, read_only: bool) -> Resource {
        let mut fixed = Map::new();
        fixed.insert(self.selector.name.clone(), kind.clone());
        let keys: Vec<Parameter> = shape.key.iter().filter_map(|key| shape.field(key, true)).collect();
        let keyed = |operation: &Operation| self.narrow(operation, &fixed, &keys);
        let fields: Vec<Parameter> =
            shape.fields.iter().filter(|field| !shape.generated.contains(&field.name)).cloned().collect();
        let has_key = !keys.is_empty();
        let can_change = fields.iter().any(|field| !shape.key.contains(&field.name));
        let writes = |operation: &Option<Operation>| operation.clone().filter(|_| !read_only);
        Resource {
            noun: kind.as_str().map_or_else(|| kind.to_string(), str::to_owned),
            create: writes(&self.resource.create).map(|create| self.narrow(&create, &fixed, &fields)),
            get: self.resource.get.as_ref().filter(|_| has_key).map(keyed),
            list: Some(self.list.clone()),
            update: writes(&self.resource.update).as_ref().filter(|_| has_key && can_change).map(keyed),
            delete: writes(&self.resource.delete).as_ref().filter(|_| has_key).map(keyed),
            key: shape.key.clone(),
            list_params: fixed.clone(),
        }
    }

    /// Narrows an operation to one kind: the fields replace the object parameter that holds them.
    fn narrow(&self, operation: &Operation, fixed: &Map<String, Value>, fields: &[Parameter]) -> Operation {
        let holds = |own: &&Parameter| {
            own.required
                && !fixed.contains_key(&own.name)
                && !CONTROLS.contains(&own.name.as_str())
                && takes_object(own)
        };
        let container = operation.parameters.iter().find(holds).map(|own| own.name.clone());
        let beside = operation.parameters.iter().filter(|own| {
            !fixed.contains_key(&own.name) && container.as_ref().is_none_or(|container| *container != own.name)
        });
        let held = if container.is_some() { fields } else { &[] };
        let names: Vec<String> = held.iter().map(|field| field.name.clone()).collect();
        let containers = container.iter().map(|container| (container.clone(), names.clone())).collect();
        Operation {
            parameters: held.iter().chain(beside).cloned().collect(),
            binding: Some(Arc::new(Binding { fixed: fixed.clone(), containers })),
            ..operation.clone()
        }
    }
}

impl KindShape {
    fn field(&self, name: &str, required: bool) -> Option<Parameter> {
        self.fields.iter().find(|field| field.name == name).map(|field| Parameter { required, ..field.clone() })
    }
}

fn takes_object(parameter: &Parameter) -> bool {
    parameter.kinds.iter().any(|kind| matches!(kind, ValueKind::Object | ValueKind::Any | ValueKind::Named(_)))
}
