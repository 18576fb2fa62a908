//! The failure of a request or an answer over one of the limits.

use super::{Code, Failure};
use crate::limits::LimitKind;

/// A failure for a payload over one of the limits.
pub fn too_large(limit: LimitKind, limit_value: usize, actual_value: usize) -> Failure {
    let done = match limit {
        LimitKind::ResponseSize => ". The operation was done; only its answer is too large. Ask for less of it",
        _ => "",
    };
    Failure::new(
        Code::ValidationPayloadTooLarge,
        format!("Payload exceeds '{}' limit of {limit_value} {}{done}", limit.as_str(), limit.unit()),
    )
    .detail("limit_type", limit.as_str())
    .detail("limit_value", limit_value)
    .detail("actual_value", actual_value)
    .detail("unit", limit.unit())
}
