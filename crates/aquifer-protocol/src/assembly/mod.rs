//! Assembles a catalog from the definitions of operations: checks them, names their nested types, and adds missing
//! examples and `introspect`. The modules that read a catalog do not depend on this one.

mod deprecated;
mod digest;
mod sensitive;
mod type_names;

use std::collections::HashSet;
use std::sync::Arc;

use crate::catalog::{Catalog, CatalogError};
use crate::category::Category;
use crate::introspect;
use crate::operation::{Example, Operation};
use crate::protocol_types;
use crate::requirement::Requirement;
use crate::schema::{Parameter, Types, certain_params, sample_params, without_examples};
use crate::surface::Surface;
use crate::validate::accepts;
use digest::digest;
use type_names::TypeNames;

impl Catalog {
    /// Builds the catalog of these operations and types, and adds `introspect`.
    pub fn build(
        operations: impl IntoIterator<Item = Operation>,
        types: Types,
        surface: &Surface,
    ) -> Result<Self, CatalogError> {
        let mut definitions = Definitions::new(operations, types)?;
        let introspect = introspect::definition(&definitions.operations, &definitions.sources, surface);
        definitions.operations.push(Arc::new(introspect));
        Ok(definitions.into_catalog(surface))
    }

    /// Builds a catalog without introspection, for operations that exist but are not shown to callers.
    pub fn unlisted(
        operations: impl IntoIterator<Item = Operation>,
        types: Types,
        surface: &Surface,
    ) -> Result<Self, CatalogError> {
        Ok(Definitions::new(operations, types)?.into_catalog(surface))
    }
}

/// Checked definitions, complete except for `introspect`.
struct Definitions {
    operations: Vec<Arc<Operation>>,
    types: Types,
    sources: Vec<Arc<str>>,
}

impl Definitions {
    fn new(operations: impl IntoIterator<Item = Operation>, types: Types) -> Result<Self, CatalogError> {
        let mut definitions = Self { operations: Vec::new(), types: protocol_types::all(), sources: Vec::new() };
        for (name, schema) in types {
            if definitions.types.get(&name).is_some_and(|known| !known.is_same(&schema)) {
                return Err(CatalogError::DuplicateType(name.to_string()));
            }
            definitions.types.insert(name, schema);
        }
        let mut type_names = TypeNames::default();
        let mut operation_names = HashSet::new();
        definitions.types.values_mut().for_each(sensitive::mark_type);
        for mut operation in operations {
            Catalog::check(&operation, &definitions.types)?;
            sensitive::mark_fields(&mut operation.parameters);
            deprecated::mark(&mut operation);
            type_names.name_nested_objects(&mut operation, &mut definitions.types);
            if operation.examples.is_empty() {
                // A generated example that the operation would refuse is worse than none.
                let example = |parameters: &[Parameter]| {
                    let mut parameters = parameters.to_vec();
                    let first =
                        |requirement: &Requirement| requirement.require_first(&mut parameters, &definitions.types);
                    operation.requirements.iter().for_each(first);
                    // Whether an example of another operation works depends on what is stored.
                    let creates = operation.origin.native && operation.category == Category::Create;
                    let sample = if creates { sample_params } else { certain_params };
                    let params = sample(&parameters, &definitions.types)?;
                    accepts(&operation, &definitions.types, params.clone()).then_some(params)
                };
                let params =
                    example(&operation.parameters).or_else(|| example(&without_examples(&operation.parameters)));
                operation.examples.extend(params.map(|params| Example { description: None, params }));
            }
            if !operation_names.insert(operation.name.clone()) {
                return Err(CatalogError::DuplicateOperation(operation.name.to_string()));
            }
            definitions.add(operation);
        }
        definitions.operations.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(definitions)
    }

    fn add(&mut self, operation: Operation) {
        if !operation.origin.source.is_empty() && !self.sources.contains(&operation.origin.source) {
            self.sources.push(operation.origin.source.clone());
        }
        self.operations.push(Arc::new(operation));
    }

    fn into_catalog(self, surface: &Surface) -> Catalog {
        let Self { operations, types, sources } = self;
        let digest = digest(&operations, &types, surface);
        Catalog::new(operations, types, sources, digest)
    }
}
