//! The conformance level and the capabilities that a catalog claims in `_protocol`, derived only from its operations. A
//! test verifies for every kind of source that `aquifer conformance` grants what is claimed here.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::category::Category;
use crate::operation::Operation;

/// Which kinds of operations there are for one resource.
#[derive(Default)]
struct ResourceOperations {
    create: bool,
    get: bool,
    update: bool,
    update_through_input: bool,
    delete: bool,
}

/// The conformance level that these operations reach. `None` if nothing can be written and read back, which level 1
/// requires.
pub(crate) fn conformance<'a>(operations: impl Iterator<Item = &'a Operation> + Clone) -> Option<&'static str> {
    let mut resources: BTreeMap<String, ResourceOperations> = BTreeMap::new();
    for operation in operations.clone() {
        let Some((verb, noun)) = split_name(&operation.name) else { continue };
        let operations = resources.entry(noun).or_default();
        match (operation.category, verb) {
            (Category::Create, "create" | "add") => operations.create = true,
            (Category::Read, "get" | "read" | "fetch" | "show") => operations.get = true,
            (Category::Update, "update" | "edit") => {
                operations.update = true;
                operations.update_through_input |= operation.native && operation.parameter("input").is_some();
            }
            (Category::Delete, "delete" | "remove") => operations.delete = true,
            _ => {}
        }
    }
    let any = |holds: fn(&ResourceOperations) -> bool| {
        resources.values().any(|operations| operations.create && operations.get && holds(operations))
    };
    if !(any(|operations| operations.update) && any(|operations| operations.delete)) {
        return None;
    }
    // A proxied UPDATE keeps its upstream's parameters, which level 2 does not allow (R-REQ-6).
    let deviates = operations.clone().any(|operation| !operation.native && operation.category == Category::Update);
    let selects = reads(operations).any(|operation| operation.parameter("fields").is_some());
    let second = !deviates && selects && any(|operations| operations.update_through_input);
    Some(if second { "level-2" } else { "level-1" })
}

/// The capabilities of the operations. The gate determines `confirmation`.
pub(crate) fn capabilities<'a>(operations: impl Iterator<Item = &'a Operation> + Clone, confirmation: bool) -> Value {
    let any = |holds: &dyn Fn(&Operation) -> bool| reads(operations.clone()).any(holds);
    let takes = |names: [&str; 2]| any(&|operation| names.iter().all(|name| operation.parameter(name).is_some()));
    let pages = [["first", "after"], ["limit", "offset"], ["page", "page_size"]].into_iter().any(takes);
    json!({
        "batch": true,
        "field_selection": takes(["fields", "fields"]),
        "aggregations": takes(["aggregate", "aggregate"]),
        "computed_fields": any(&|operation| !operation.computed_fields.is_empty()),
        "pagination": pages,
        "relationship_queries": any(&|operation| operation.relationship_capabilities.is_some()),
        "warnings": true,
        "confirmation": confirmation,
        "dangerous_operations": true,
    })
}

/// The READ operations of sources. The parameters of `introspect` itself do not count.
fn reads<'a>(operations: impl Iterator<Item = &'a Operation>) -> impl Iterator<Item = &'a Operation> {
    operations.filter(|operation| operation.category == Category::Read && !operation.class().describes_catalog())
}

/// Splits an operation name into verb and resource: `shop_create_order` into `create` and `shop_order`.
fn split_name(name: &str) -> Option<(&'static str, String)> {
    const VERBS: [&str; 13] = [
        "create", "add", "get", "read", "fetch", "show", "update", "edit", "delete", "remove", "list", "search",
        "query",
    ];
    let words: Vec<&str> = name.split('_').collect();
    let at = words.iter().position(|word| VERBS.contains(word))?;
    let verb = VERBS.into_iter().find(|verb| words.get(at) == Some(verb))?;
    let about = words.iter().enumerate().filter(|(place, _)| *place != at).map(|(_, word)| *word);
    Some((verb, about.collect::<Vec<_>>().join("_")))
}
