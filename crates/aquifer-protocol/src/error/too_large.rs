//! The failure for a request or an answer that exceeds a limit.

use super::{Code, Failure};
use crate::limits::LimitKind;

/// A failure for a payload that exceeds a limit.
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
