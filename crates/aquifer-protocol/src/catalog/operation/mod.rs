//! The definition of an operation: the single source for dispatch, validation, introspection and tool descriptions.

mod capabilities;
mod definition;
mod origin;
mod routing;
mod safety;
mod safety_override;
mod shaping;

pub use capabilities::{AggregationSupport, Capabilities, ComputedField, Lifecycle, RelationshipCapabilities};
pub use definition::{
    Example, MAX_CHOSEN_NAME, MAX_NAME_LEN, Operation, RESERVED, Returns, Role, TOKEN, is_snake_case,
};
pub use origin::{Backing, Origin};
pub use routing::Routing;
pub use safety::{Safeguards, Safety};
pub use safety_override::SafetyOverride;
pub use shaping::{RowPlace, Shaping};
