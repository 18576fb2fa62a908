//! Groups operations by resource: `create_order`, `get_order`, `list_orders`.

use serde_json::{Map, Value};

use crate::description::{Operation, ServerDescription};

/// Parameters that control an operation and are not fields of the resource.
pub(crate) const CONTROLS: [&str; 8] =
    ["dry_run", "confirmation_token", "if_match", "fields", "preset", "input", "include_items", "edges"];

/// Something that can be created, read, updated or deleted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resource {
    pub(crate) noun: String,
    pub(crate) create: Option<Operation>,
    pub(crate) get: Option<Operation>,
    pub(crate) list: Option<Operation>,
    pub(crate) update: Option<Operation>,
    pub(crate) delete: Option<Operation>,
    /// The parameters that identify one row.
    pub(crate) key: Vec<String>,
    /// The parameters of the list operation: the kind, if one operation lists several kinds.
    pub(crate) list_params: Map<String, Value>,
}

impl Resource {
    fn operations(&self) -> impl Iterator<Item = &Operation> {
        [&self.create, &self.get, &self.list, &self.update, &self.delete].into_iter().flatten()
    }

    /// Whether the operation, or the one it was narrowed from, belongs to the resource.
    pub(crate) fn has_operation(&self, operation: &Operation) -> bool {
        self.operations()
            .any(|own| if operation.binding.is_none() { own.name == operation.name } else { own.is_same_as(operation) })
    }

    /// Whether its get operation reads something stored. `get_sum` with two numbers calculates instead: nothing else is
    /// done with a sum, and its parameters do not look like a key.
    pub(crate) fn is_stored(&self) -> bool {
        const KEYS: [&str; 7] = ["id", "uuid", "key", "slug", "name", "path", "uri"];
        let is_key = |name: &String| KEYS.iter().any(|key| name == key || name.ends_with(&format!("_{key}")));
        let others = [&self.create, &self.list, &self.update, &self.delete].into_iter().flatten().next();
        self.get.is_some() && (others.is_some() || self.key.iter().any(is_key))
    }

    /// The identity of its list; see [`list_id`].
    pub(crate) fn list_id(&self) -> Option<String> {
        self.list.as_ref().map(|list| list_id(&list.name, &self.list_params))
    }
}

/// Identifies a list by its operation and parameters.
pub(crate) fn list_id(operation: &str, params: &Map<String, Value>) -> String {
    if params.is_empty() { operation.to_owned() } else { format!("{operation} {}", Value::Object(params.clone())) }
}

/// Groups operations into resources by their names and categories.
pub(crate) fn find_resources(description: &ServerDescription) -> Vec<Resource> {
    let mut resources: Vec<Resource> = Vec::new();
    for operation in &description.operations {
        let Some((verb, noun)) = split_name(&operation.name) else { continue };
        if ["list", "search", "query"].contains(&verb) {
            continue;
        }
        let index = resources.iter().position(|resource| resource.noun == noun).unwrap_or_else(|| {
            resources.push(Resource { noun: noun.clone(), ..Resource::default() });
            resources.len() - 1
        });
        let Some(resource) = resources.get_mut(index) else { continue };
        let place = match operation.category.as_str() {
            "CREATE" => &mut resource.create,
            "READ" => &mut resource.get,
            "UPDATE" => &mut resource.update,
            "DELETE" => &mut resource.delete,
            _ => continue,
        };
        place.get_or_insert_with(|| operation.clone());
    }
    for resource in &mut resources {
        let lists = |operation: &&Operation| {
            let lists = |(verb, plural): (&str, String)| {
                ["list", "query"].contains(&verb) && is_plural_of(&plural, &resource.noun)
            };
            operation.is_read() && split_name(&operation.name).is_some_and(lists)
        };
        resource.list = description.operations.iter().find(lists).cloned();
        let keyed = [&resource.get, &resource.delete, &resource.update].into_iter().flatten().next();
        let required = keyed.map(|operation| operation.required_parameters().map(|parameter| parameter.name.clone()));
        resource.key = required.into_iter().flatten().filter(|name| !CONTROLS.contains(&name.as_str())).collect();
    }
    resources.retain(|resource| !resource.key.is_empty());
    resources
}

/// Splits an operation name into verb and noun. A source prefix may precede the verb: `shop_create_order` becomes
/// `create` and `shop_order`.
pub(crate) fn split_name(name: &str) -> Option<(&str, String)> {
    const VERBS: [&str; 13] = [
        "create", "add", "get", "read", "fetch", "show", "update", "edit", "delete", "remove", "list", "search",
        "query",
    ];
    let words: Vec<&str> = name.split('_').collect();
    let index = words.iter().position(|word| VERBS.contains(word)).filter(|_| words.len() > 1)?;
    let about = words.iter().enumerate().filter(|(place, _)| *place != index).map(|(_, word)| *word);
    Some((words.get(index)?, about.collect::<Vec<_>>().join("_")))
}

/// Whether `plural` is the plural of `noun`.
pub(crate) fn is_plural_of(plural: &str, noun: &str) -> bool {
    plural == noun
        || plural.strip_suffix('s') == Some(noun)
        || plural.strip_suffix("es") == Some(noun)
        || plural.strip_suffix("ies").zip(noun.strip_suffix('y')).is_some_and(|(plural, noun)| plural == noun)
}

/// The resource and field that a parameter refers to, by its name (`order_id`) or its description ("Refers to orders.id").
pub(crate) fn find_referenced<'a>(
    resources: &'a [Resource],
    name: &str,
    description: &str,
) -> Option<(&'a Resource, String)> {
    let lower = description.to_ascii_lowercase();
    let stated = lower.split_once("refers to ").and_then(|(_, rest)| {
        let place = rest.split([' ', ',', ';']).next()?.trim_end_matches('.');
        place.split_once('.').map(|(table, field)| (table.to_owned(), field.to_owned()))
    });
    if let Some((table, field)) = stated {
        // With several sources, nouns have their source as prefix, but descriptions do not.
        let behind_prefix = |noun: &str| {
            noun.match_indices('_')
                .any(|(place, _)| noun.get(place + 1..).is_some_and(|rest| is_plural_of(&table, rest)))
        };
        let exact = resources.iter().find(|resource| is_plural_of(&table, &resource.noun));
        let prefixed = || resources.iter().find(|resource| behind_prefix(&resource.noun));
        if let Some(resource) = exact.or_else(prefixed) {
            return Some((resource, field));
        }
    }
    let noun = name.strip_suffix("_id")?;
    let resource = resources.iter().find(|resource| resource.noun == noun)?;
    let field = resource.key.first().filter(|_| resource.key.len() == 1)?;
    Some((resource, field.clone()))
}

#[cfg(test)]
mod tests {
    use super::{Resource, find_referenced, is_plural_of, split_name};

    #[test]
    fn verbs_are_found_after_the_prefix_of_a_source() {
        for (name, expected) in [
            ("create_order", Some(("create", "order"))),
            ("shop_create_order", Some(("create", "shop_order"))),
            ("get_read_status", Some(("get", "read_status"))),
            ("introspect", None),
            ("list", None),
        ] {
            assert_eq!(split_name(name), expected.map(|(verb, noun)| (verb, noun.to_owned())), "{name}");
        }
    }

    #[test]
    fn plurals_are_recognized() {
        for (plural, noun) in [("orders", "order"), ("categories", "category"), ("boxes", "box"), ("staff", "staff")] {
            assert!(is_plural_of(plural, noun), "{plural}");
        }
        assert!(!is_plural_of("order_lines", "order"));
    }

    #[test]
    fn references_are_found_by_name_and_by_description() {
        let resource = |noun: &str| Resource { noun: noun.into(), key: vec!["id".into()], ..Resource::default() };
        let resources = [resource("order"), resource("customer")];
        let to = |name: &str, words: &str| {
            find_referenced(&resources, name, words).map(|(to, field)| format!("{}.{field}", to.noun))
        };
        assert_eq!(to("order_id", ""), Some("order.id".into()));
        assert_eq!(to("referred_by", "Who sent them. Refers to customers.id."), Some("customer.id".into()));
        assert_eq!(to("status", ""), None);
        assert_eq!(to("batch_id", ""), None);
    }
}
