//! What a source offers, and to which operation a request of it leads.

use std::sync::Arc;

use aquifer_protocol::error::Failure;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::Types;
use serde_json::{Map, Value};

/// The operations and types of a source.
#[derive(Debug, Clone, Default)]
pub struct Offering {
    /// Its operations.
    pub operations: Vec<Operation>,
    /// The types they use.
    pub types: Types,
    /// Unlisted operations, to which requests of generic operations are resolved. They can be called and introspected
    /// by name.
    pub indirect: Vec<Operation>,
}

/// The resolution of a request for an indirect operation.
#[derive(Debug, Clone, Default)]
pub struct Resolution {
    /// The actual operation, by its own name, if it differs from the requested one.
    pub operation: Option<Arc<str>>,
    /// The parameters, with every alias resolved.
    pub params: Map<String, Value>,
    /// Further operations, by their own names, that the caller must be allowed to use, because the request reads the
    /// same data.
    pub also_needs: Vec<Arc<str>>,
    /// The parameters with which these operations are judged, if the source calls them with parameters.
    pub needed_params: Map<String, Value>,
    /// Parameters for policy, in addition to and instead of the others: those that only the generic operation has, and
    /// lists of all names instead of one. Rules can refer to any of them.
    pub judged_params: Map<String, Value>,
    /// A problem with the parameters. It is not shown to callers to whom the operation is denied.
    pub problem: Option<Failure>,
}
