//! Versions of resources: `_etag` in answers, `if_match` in changes (R-COL-12).

use aquifer_protocol::canonical_json;
use aquifer_protocol::case::snake_case;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::hex::hex_prefix;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::describe::OperationDraft;
use crate::extract::{CallParts, FromCall};
use crate::json::to_value;

/// How many bytes of the digest a version has.
const VERSION_BYTES: usize = 12;

/// A resource with a version. Derive it: the version is a digest of all fields, or of the field marked with `#[etag]`.
///
/// Operations with `#[operation]` that return the resource, [`Items`](crate::Items) or an
/// [`ItemStream`](crate::ItemStream) of it add its version as `_etag`.
pub trait Etag: Serialize {
    /// The version. It changes whenever the resource does.
    fn etag(&self) -> Result<String, Failure>;

    /// The resource with its version in `_etag`.
    #[doc(hidden)]
    fn to_value_with_etag(&self) -> Result<Value, Failure> {
        let mut value = to_value(self)?;
        if let Some(fields) = value.as_object_mut() {
            fields.insert("_etag".to_owned(), self.etag()?.into());
        }
        Ok(value)
    }
}

/// The version of a value.
pub fn version(value: &(impl Serialize + ?Sized)) -> Result<String, Failure> {
    let mut canonical = Vec::new();
    canonical_json::write(&to_value(&value)?, &mut canonical);
    Ok(hex_prefix(&Sha256::digest(&canonical), VERSION_BYTES))
}

/// The `if_match` of a change: the version that the caller has read.
#[derive(Debug, Clone, Default)]
pub struct IfMatch(Option<String>);

impl IfMatch {
    /// Fails unless the caller sent no version, or the current one.
    pub fn check<T: Etag + JsonSchema>(&self, current: &T) -> Result<(), Failure> {
        let Some(wanted) = &self.0 else { return Ok(()) };
        let current_etag = current.etag()?;
        if *wanted == current_etag {
            return Ok(());
        }
        let resource = snake_case(&T::schema_name());
        let message =
            format!("Resource '{resource}' has changed since it was read. Read it again, and send its new '_etag'");
        Err(Failure::new(Code::ConflictVersionMismatch, message)
            .detail("resource_type", resource)
            .detail("current_etag", current_etag))
    }
}

impl<S: Send + Sync> FromCall<S> for IfMatch {
    fn describe(operation: &mut OperationDraft) {
        operation.parameter::<Option<String>>("if_match", Some("The '_etag' that was read: refuse if it has changed."));
    }

    async fn from_call(call: &mut CallParts<S>) -> Result<Self, Failure> {
        call.parameter("if_match").map(Self)
    }
}
