//! Checks the definition of an operation before it is added to a catalog.

use std::collections::HashSet;

use super::operation::{MAX_CHOSEN_NAME, Operation, RESERVED, is_snake_case};
use crate::schema::{Kind, Types};

/// Why a catalog cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// The name is not snake_case, or too long.
    #[error("operation name '{0}' is not valid: use lower-case snake_case of at most {MAX_CHOSEN_NAME} characters")]
    InvalidName(String),
    /// The name is reserved by the protocol.
    #[error("operation name '{0}' is reserved by the protocol")]
    ReservedName(String),
    /// Two operations share the name.
    #[error("operation '{0}' is defined twice")]
    DuplicateOperation(String),
    /// A parameter's name is not snake_case or occurs twice.
    #[error("parameter '{1}' of operation '{0}' is not valid: parameters are snake_case and unique")]
    InvalidParameter(String, String),
    /// An UPDATE of a native source has no `input` object.
    #[error("operation '{0}' is an UPDATE: it needs a required object parameter 'input' with the fields to change")]
    UpdateWithoutInput(String),
    /// A parameter that identifies the resource is among the fields that can be changed.
    #[error("operation '{0}' has '{1}' beside 'input' and inside it: an identifier cannot be changed")]
    IdentifierInInput(String, String),
    /// Two different types share a name.
    #[error("two different types are called '{0}': rename one of them")]
    DuplicateType(String),
}

pub(super) fn check(operation: &Operation, types: &Types) -> Result<(), CatalogError> {
    let name = || operation.name.to_string();
    if RESERVED.contains(&&*operation.name) {
        return Err(CatalogError::ReservedName(name()));
    }
    if !is_snake_case(&operation.name) || operation.name.len() > MAX_CHOSEN_NAME {
        return Err(CatalogError::InvalidName(name()));
    }
    let mut seen: HashSet<&str> = HashSet::with_capacity(operation.parameters.len());
    for parameter in &operation.parameters {
        if !is_snake_case(&parameter.name) || !seen.insert(&parameter.name) {
            return Err(CatalogError::InvalidParameter(name(), parameter.name.to_string()));
        }
    }
    if operation.takes_changes() {
        let input = operation.parameter("input").filter(|input| input.required);
        let Some(Kind::Object(shape)) = input.map(|input| &input.schema.resolve(types).kind) else {
            return Err(CatalogError::UpdateWithoutInput(name()));
        };
        if let Some(field) = shape.fields.iter().find(|field| seen.contains(&*field.name)) {
            return Err(CatalogError::IdentifierInInput(name(), field.name.to_string()));
        }
    }
    Ok(())
}
