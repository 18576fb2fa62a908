//! What a run keeps besides its verdicts: the server's own words and the exchanges that show something, each with what
//! it was for. The evidence file is written from this and from nothing else.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Everything that a run learned and saw.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Record {
    /// The server's name, as it said it at `initialize`.
    pub implementation: String,
    /// The server's version, as it said it at `initialize`.
    pub version: String,
    /// `_protocol` of the operations list; null where there is none.
    pub protocol: Value,
    /// The surfaces that were seen, the first one first.
    pub surfaces: Vec<Surface>,
    /// The envelope of the operations list; where the server pages, the first page's with the operations of all pages.
    pub operations_list: Value,
    /// The envelope of the types list.
    pub types_list: Value,
    /// What `data.operation` said for each operation, in the order of the list.
    pub operation_details: Vec<Value>,
    /// What `data.type` said for each type, in the order of the list.
    pub type_details: Vec<Value>,
    /// The exchanges that show something, in the order they happened.
    pub exchanges: Vec<RecordedExchange>,
}

/// One surface: a connection, and how operations are grouped into tools there.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Surface {
    /// How operations are grouped.
    pub mode: Mode,
    /// `stdio` or `http`.
    pub transport: String,
    /// `tools/list`, tool by tool, as it came.
    pub tools: Vec<Value>,
}

/// How operations are grouped into tools.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// One tool for each endpoint family.
    Semantic,
    /// One tool for everything.
    Single,
    /// Both at once.
    All,
}

impl Mode {
    /// The mode as the protocol writes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Semantic => "semantic",
            Self::Single => "single",
            Self::All => "all",
        }
    }
}

/// One exchange and what it was for.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct RecordedExchange {
    /// What it was for.
    pub purpose: Purpose,
    /// What was said. `answer` is a whole envelope.
    pub exchange: Exchange,
}

/// What an exchange was for.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Purpose {
    /// A request that follows introspection, and was to succeed.
    Valid {
        /// The operation.
        operation: String,
    },
    /// A request with this documented parameter. It was accepted unless the answer says that it is unknown.
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
        /// Where the answer shows the value, from the envelope on: `data.pagination.limit`.
        path: String,
        /// The documented default.
        value: Value,
    },
    /// A request that has to fail.
    Error {
        /// A short name of the case: `wrong type of list_orders.first`.
        name: String,
        /// What a message must name so that a caller can act upon it.
        must_mention: Vec<String>,
    },
    /// The read after a create.
    RoundTrip {
        /// What was created: `order`.
        resource: String,
        /// Where the submitted scalars must be found, from the envelope on: `data.name` → `"Atlas"`.
        expected: Map<String, Value>,
    },
    /// The read after an update.
    UpdatePreservation {
        /// What was updated.
        resource: String,
        /// Where the scalars that were not updated must be found, from the envelope on.
        preserved: Map<String, Value>,
    },
    /// A write against a constraint of a resource, such as a read-only field.
    Constraint {
        /// A short name of the case: `identifier of update_order`.
        name: String,
        /// Whether introspection tells of the constraint.
        documented: bool,
    },
    /// A batch whose items were all answered.
    Batch,
}

/// One tool call and its answer.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Exchange {
    /// The tool that was called.
    pub tool: String,
    /// The arguments it was called with.
    pub arguments: Value,
    /// The envelope that came back; the JSON-RPC error where there was none.
    pub answer: Value,
}
