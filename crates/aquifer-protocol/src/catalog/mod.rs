//! The catalog: an immutable set of operations and types, found by name in constant time.

pub mod category;
mod check;
mod claims;
pub(crate) mod class;
pub mod danger;
pub mod effect;
pub mod operation;
pub mod protocol_types;
pub mod published;
pub mod requirement;
pub mod trust;

use std::collections::HashMap;
use std::sync::Arc;

use crate::schema::Types;
use operation::Operation;

pub use crate::case::pascal_case;
pub use check::CatalogError;

/// The operations and types at one moment.
#[derive(Debug)]
pub struct Catalog {
    operations: Vec<Arc<Operation>>,
    by_name: HashMap<Arc<str>, usize, foldhash::fast::RandomState>,
    types: Arc<Types>,
    sources: Vec<Arc<str>>,
    digest: u64,
}

impl Catalog {
    /// A catalog of checked and complete definitions, in this order.
    pub(crate) fn new(operations: Vec<Arc<Operation>>, types: Types, sources: Vec<Arc<str>>, digest: u64) -> Self {
        let by_name = operations.iter().enumerate().map(|(index, op)| (op.name.clone(), index)).collect();
        Self { operations, by_name, types: Arc::new(types), sources, digest }
    }

    /// Checks whether an operation is valid in a catalog with these types.
    pub fn check(operation: &Operation, types: &Types) -> Result<(), CatalogError> {
        check::check(operation, types)
    }

    /// A digest of everything that introspection shows. It is the same in every process.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// All operations, sorted by name, with `introspect` last.
    pub fn operations(&self) -> &[Arc<Operation>] {
        &self.operations
    }

    /// The operation with this name.
    pub fn operation(&self, name: &str) -> Option<&Arc<Operation>> {
        self.position(name).and_then(|index| self.operations.get(index))
    }

    /// The index of the operation with this name.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The named types.
    pub fn types(&self) -> &Arc<Types> {
        &self.types
    }

    /// The sources that have operations here.
    pub fn sources(&self) -> &[Arc<str>] {
        &self.sources
    }

    /// Whether any operation belongs to a database table.
    pub fn has_tables(&self) -> bool {
        self.operations.iter().any(|operation| operation.has_tables())
    }

    /// Whether any operation has the shared parameter with this name.
    pub fn has_shared_parameter(&self, name: &str) -> bool {
        let is_shared = |operation: &Operation| operation.parameter(name).is_some_and(|parameter| parameter.is_shared);
        self.operations.iter().any(|operation| is_shared(operation))
    }

    /// The claimed conformance level. `None` if there is nothing but introspection (R-CON-2).
    pub fn conformance(&self) -> Option<&'static str> {
        claims::conformance(self.operations.iter().map(|operation| &**operation))
    }

    /// The claimed capabilities.
    pub fn capabilities(&self, confirmation: bool) -> serde_json::Value {
        claims::capabilities(self.operations.iter().map(|operation| &**operation), confirmation)
    }
}
