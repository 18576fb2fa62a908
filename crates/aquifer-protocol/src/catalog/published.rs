//! The values that the published introspection schema allows where it allows only some. Introspection cannot show any
//! other value, because these types have none (R-INT-1a). What a server can do beyond them is declared in
//! `_protocol.extensions`.

use serde::Serialize;

/// An aggregate function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AggregateFunction {
    /// The number of items.
    Count,
    /// Results by group.
    GroupBy,
    /// The sum.
    Sum,
    /// The mean.
    Avg,
    /// The smallest value.
    Min,
    /// The greatest value.
    Max,
}

impl AggregateFunction {
    /// All of them, in the published order.
    pub const ALL: [Self; 6] = [Self::Count, Self::GroupBy, Self::Sum, Self::Avg, Self::Min, Self::Max];
}

/// What is returned together with aggregates by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AggregationMode {
    /// Nothing.
    SummaryOnly,
    /// The items.
    IncludeItems,
}

/// A direction in which relationships are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the items that refer to this one.
    Incoming,
    /// To the items that this one refers to.
    Outgoing,
    /// Both at once.
    Both,
}

impl Direction {
    /// All of them, in the published order.
    pub const ALL: [Self; 3] = [Self::Incoming, Self::Outgoing, Self::Both];

    /// Its name in requests and answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Incoming => "incoming",
            Self::Outgoing => "outgoing",
            Self::Both => "both",
        }
    }
}

/// The kind of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TypeKind {
    /// One of several values.
    Enum,
    /// An object with fields.
    Object,
    /// A value without parts, or of unknown parts.
    Scalar,
    /// One of several types.
    Union,
}

impl TypeKind {
    /// Its published name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Enum => "enum",
            Self::Object => "object",
            Self::Scalar => "scalar",
            Self::Union => "union",
        }
    }
}
