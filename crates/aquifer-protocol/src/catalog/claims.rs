//! The conformance level and the capabilities that a catalog claims in `_protocol`, derived only from its operations. A
//! test verifies for every kind of source that `aquifer conformance` grants what is claimed here.

use serde_json::{Value, json};

use crate::category::Category;
use crate::operation::Operation;

/// The conformance level that these operations reach. `None` if there is nothing but introspection.
///
/// Everything that level 1 asks of a server is done here for every source: introspection, parameters, routing, envelopes.
/// Level 2 also needs field selection, and UPDATE operations that take their changes in `input`. A proxied UPDATE keeps
/// the parameters of its upstream (R-REQ-6).
pub(crate) fn conformance<'a>(operations: impl Iterator<Item = &'a Operation> + Clone) -> Option<&'static str> {
    operations.clone().find(|operation| !operation.class().describes_catalog())?;
    let mut updates = operations.clone().filter(|operation| operation.category == Category::Update);
    let updates_take_input = updates.all(|operation| operation.origin.native && operation.parameter("input").is_some());
    let selects = reads(operations).any(|operation| operation.parameter("fields").is_some());
    Some(if updates_take_input && selects { "level-2" } else { "level-1" })
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
        "computed_fields": any(&|operation| !operation.capabilities.computed_fields.is_empty()),
        "pagination": pages,
        "relationship_queries": any(&|operation| operation.capabilities.relationships.is_some()),
        "warnings": true,
        "confirmation": confirmation,
        "dangerous_operations": true,
    })
}

/// The READ operations of sources. The parameters of `introspect` itself do not count.
fn reads<'a>(operations: impl Iterator<Item = &'a Operation>) -> impl Iterator<Item = &'a Operation> {
    operations.filter(|operation| operation.category == Category::Read && !operation.class().describes_catalog())
}
