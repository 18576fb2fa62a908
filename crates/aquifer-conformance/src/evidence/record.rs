//! The record of a run besides its verdicts: the server's description and the relevant exchanges, each with its
//! purpose. The evidence file is written from this alone.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The record of a run.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Record {
    /// The server's name from `initialize`.
    pub implementation: String,
    /// The server's version from `initialize`.
    pub version: String,
    /// `_protocol` of the operations list; null if there is none.
    pub protocol: Value,
    /// The surfaces that were checked, in order.
    pub surfaces: Vec<Surface>,
    /// The envelope of the operations list. For a paged list: the first envelope, with the operations of all pages.
    pub operations_list: Value,
    /// The envelope of the types list.
    pub types_list: Value,
    /// `data.operation` of each operation, in list order.
    pub operation_details: Vec<Value>,
    /// `data.type` of each type, in list order.
    pub type_details: Vec<Value>,
    /// The sections of the evidence that need operations that the server does not have.
    #[serde(default)]
    pub not_applicable: Vec<String>,
    /// The relevant exchanges, in order.
    pub exchanges: Vec<RecordedExchange>,
}

/// A connection, with its grouping of operations into tools.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Surface {
    /// How operations are grouped.
    pub mode: Mode,
    /// `stdio` or `http`.
    pub transport: String,
    /// The tools of `tools/list`, unchanged.
    pub tools: Vec<Value>,
}

/// How operations are grouped into tools.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// One tool for each endpoint family.
    Semantic,
    /// One tool for all operations.
    Single,
    /// Both at once.
    All,
}

impl Mode {
    /// The name in the protocol.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Semantic => "semantic",
            Self::Single => "single",
            Self::All => "all",
        }
    }
}

/// An exchange and its purpose.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct RecordedExchange {
    /// Its purpose.
    pub purpose: Purpose,
    /// The exchange. `answer` is a whole envelope.
    pub exchange: Exchange,
}

/// The purpose of an exchange.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Purpose {
    /// A request that follows the description and should succeed.
    Valid {
        /// The operation.
        operation: String,
    },
    /// A request with a documented parameter. The parameter counts as accepted unless the answer calls it unknown.
    Accepted {
        /// The operation.
        operation: String,
        /// The documented parameter.
        parameter: String,
    },
    /// A required parameter was left out.
    MissingParameter {
        /// The operation.
        operation: String,
        /// The parameter that was left out.
        parameter: String,
    },
    /// A parameter that is not documented was added to an otherwise valid request.
    UnknownParameter {
        /// The operation.
        operation: String,
        /// The parameter that was added.
        parameter: String,
    },
    /// A parameter with a documented default was left out, and the answer shows the default.
    Default {
        /// The operation.
        operation: String,
        /// The parameter that was left out.
        parameter: String,
        /// The path of the value in the envelope: `data.pagination.limit`.
        path: String,
        /// The documented default.
        value: Value,
    },
    /// A request that must fail.
    Error {
        /// A short name of the case: `wrong type of list_orders.first`.
        name: String,
        /// Words that the message must mention so that a caller can act on it.
        must_mention: Vec<String>,
    },
    /// The read after a create.
    RoundTrip {
        /// The created resource: `order`.
        resource: String,
        /// The submitted scalars by path in the envelope: `data.name` → `"Atlas"`.
        expected: Map<String, Value>,
    },
    /// The read after an update.
    UpdatePreservation {
        /// The updated resource.
        resource: String,
        /// The scalars that were not updated, by path in the envelope.
        preserved: Map<String, Value>,
    },
    /// A write that violates a constraint of a resource, such as a read-only field.
    Constraint {
        /// A short name of the case: `identifier of update_order`.
        name: String,
        /// Whether introspection documents the constraint.
        documented: bool,
    },
    /// A batch in which every item was answered.
    Batch,
}

/// One tool call and its answer.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Exchange {
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub arguments: Value,
    /// The envelope of the answer, or the JSON-RPC error if there was none.
    pub answer: Value,
}
