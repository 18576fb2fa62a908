//! One source's offering as the catalog shows it: under the source's prefix, with types that nobody else has.

use std::collections::HashMap;
use std::sync::Arc;

use aquifer_protocol::catalog::pascal_case;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::protocol_types::is_taken;
use aquifer_protocol::schema::{Schema, Types};

use crate::source::Offering;

/// An operation under its full name. `own_name` keeps what the source calls it.
pub(super) struct Prefixed {
    pub(super) operations: Vec<Operation>,
    pub(super) indirect: Vec<Operation>,
    pub(super) types: Types,
}

/// Puts the prefix in front of operations and types. A type whose name is taken gets another one: two sources may each
/// have a `Task`, and an upstream chooses its names without asking anybody.
pub(super) fn apply(offering: Offering, prefix: &str, taken: &Types) -> Prefixed {
    let Offering { operations, types, indirect } = offering;
    let type_prefix = pascal_case(prefix);
    let mut renamed: HashMap<Arc<str>, Arc<str>> = HashMap::new();
    for (name, schema) in &types {
        let wanted = format!("{type_prefix}{name}");
        let is_free =
            |candidate: &str| !is_taken(candidate) && taken.get(candidate).is_none_or(|known| known.is_same(schema));
        let free = if is_free(&wanted) { wanted } else { free_name(&wanted, |name| !taken.contains_key(name)) };
        if free != **name {
            renamed.insert(name.clone(), free.into());
        }
    }
    let rename = |name: &str| -> Arc<str> { renamed.get(name).cloned().unwrap_or_else(|| name.into()) };
    let types = types
        .iter()
        .map(|(name, schema)| {
            let mut schema = Schema::clone(schema);
            schema.rename_types(&rename);
            (rename(name), Arc::new(schema))
        })
        .collect();
    let prefixed = |mut operation: Operation| {
        operation.own_name = operation.name.clone();
        operation.name = format!("{prefix}{}", operation.own_name).into();
        operation.returns.type_name = rename(&operation.returns.type_name);
        operation.parameters.iter_mut().for_each(|parameter| parameter.schema.rename_types(&rename));
        operation
    };
    let operations = operations.into_iter().map(prefixed).collect();
    let indirect = indirect.into_iter().map(prefixed).collect();
    Prefixed { operations, indirect, types }
}

fn free_name(wanted: &str, is_free: impl Fn(&str) -> bool) -> String {
    (2_u64..).map(|number| format!("{wanted}{number}")).find(|name| is_free(name)).unwrap_or_default()
}
