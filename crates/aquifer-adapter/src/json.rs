//! Values of handlers as JSON.

use aquifer_protocol::error::Failure;
use serde::Serialize;
use serde_json::Value;

pub(crate) fn to_value(value: &(impl Serialize + ?Sized)) -> Result<Value, Failure> {
    serde_json::to_value(value).map_err(Failure::internal)
}
