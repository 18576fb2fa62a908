//! The arguments of a handler: which are parameters of the operation, and which are extracted from the call.
//!
//! [`adapter`](crate::adapter) only sees tokens, and the type of an argument may be an alias. So the generated code asks the
//! compiler: it calls `kind` on `&&Argument<T, S>`, and method lookup prefers [`ExtractorKind`], which is implemented for
//! one reference more, whenever `T` is an extractor.

use std::marker::PhantomData;

use aquifer_protocol::error::Failure;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::describe::OperationDraft;
use crate::extract::{CallParts, FromCall};

/// An argument of type `T` of a handler of an adapter with state `S`.
pub struct Argument<T, S> {
    name: &'static str,
    description: Option<&'static str>,
    types: PhantomData<fn() -> (T, S)>,
}

impl<T, S> Clone for Argument<T, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, S> Copy for Argument<T, S> {}

impl<T, S> Argument<T, S> {
    /// An argument.
    pub fn new(name: &'static str, description: Option<&'static str>) -> Self {
        Self { name, description, types: PhantomData }
    }
}

/// Chosen for an argument that is extracted.
pub trait ExtractorKind {
    /// How to handle it.
    fn kind(&self) -> Extractor {
        Extractor
    }
}

impl<T: FromCall<S>, S> ExtractorKind for &Argument<T, S> {}

/// Chosen for any other argument.
pub trait ParameterKind {
    /// How to handle it.
    fn kind(&self) -> Parameter {
        Parameter
    }
}

impl<T: DeserializeOwned + JsonSchema, S> ParameterKind for Argument<T, S> {}

/// Handles an argument that is extracted.
#[derive(Debug, Clone, Copy)]
pub struct Extractor;

impl Extractor {
    /// Adds to the operation what the extractor needs.
    pub fn describe<T: FromCall<S>, S>(self, _: Argument<T, S>, operation: &mut OperationDraft) {
        T::describe(operation);
    }

    /// Extracts the value.
    pub async fn extract<T: FromCall<S>, S: Send + Sync>(
        self,
        _: Argument<T, S>,
        call: &mut CallParts<S>,
    ) -> Result<T, Failure> {
        T::from_call(call).await
    }
}

/// Handles an argument that is a parameter.
#[derive(Debug, Clone, Copy)]
pub struct Parameter;

impl Parameter {
    /// Adds the parameter to the operation.
    pub fn describe<T: JsonSchema, S>(self, argument: Argument<T, S>, operation: &mut OperationDraft) {
        operation.parameter::<T>(argument.name, argument.description);
    }

    /// Takes the parameter.
    pub async fn extract<T: DeserializeOwned, S>(
        self,
        argument: Argument<T, S>,
        call: &mut CallParts<S>,
    ) -> Result<T, Failure> {
        call.parameter(argument.name)
    }
}

/// Handles a parameter with `serde` or `schemars` attributes, by way of a struct that has it as its only field.
#[derive(Debug)]
pub struct DerivedParameter<P>(PhantomData<fn() -> P>);

impl<P: DeserializeOwned + JsonSchema> DerivedParameter<P> {
    /// Adds the field to the operation.
    pub fn describe(operation: &mut OperationDraft) {
        operation.fields_of::<P>();
    }

    /// Reads the struct.
    pub fn extract<S>(call: &CallParts<S>) -> Result<P, Failure> {
        call.parameters()
    }
}
