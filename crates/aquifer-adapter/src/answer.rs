//! What handlers return.

use std::marker::PhantomData;

use aquifer_protocol::error::Failure;
use aquifer_protocol::warning::Warning;
use futures::stream::{BoxStream, Stream, StreamExt as _, TryStreamExt as _};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::describe::OperationDraft;
use crate::etag::Etag;
use crate::json::to_value;
use crate::params::Items;

/// The result of a handler.
pub type Answer<T> = Result<T, Failure>;

/// The answer to a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The result.
    pub data: Value,
    /// What the caller should know besides.
    pub warnings: Vec<Warning>,
    /// Whether it consists of pages or groups that end within the caller's budget of tokens. Other replies are shortened.
    pub keeps_budget: bool,
}

impl From<Value> for Reply {
    fn from(data: Value) -> Self {
        Self { data, warnings: Vec::new(), keeps_budget: false }
    }
}

/// A value that a handler can return. Every type with `Serialize` and `JsonSchema` is one.
pub trait IntoAnswer: Send {
    /// Describes the answer in introspection.
    fn describe(operation: &mut OperationDraft);

    /// The answer.
    fn into_answer(self) -> impl Future<Output = Result<Reply, Failure>> + Send;
}

impl<T: Serialize + JsonSchema + Send> IntoAnswer for T {
    fn describe(operation: &mut OperationDraft) {
        operation.answer::<T>(false);
    }

    async fn into_answer(self) -> Result<Reply, Failure> {
        to_value(&self).map(Reply::from)
    }
}

/// Items as they come. The engine collects them and applies the query of the caller, as for [`Items`].
pub struct ItemStream<T>(BoxStream<'static, Answer<T>>);

impl<T> ItemStream<T> {
    /// The items of a stream. The first failure is the answer.
    pub fn new(items: impl Stream<Item = Answer<T>> + Send + 'static) -> Self {
        Self(items.boxed())
    }

    async fn collect(self, mut to_item: impl FnMut(T) -> Answer<Value>) -> Answer<Reply> {
        let mut items = Vec::new();
        let mut stream = self.0;
        while let Some(item) = stream.try_next().await? {
            items.push(to_item(item)?);
        }
        Ok(item_list(items))
    }
}

impl<T: Serialize + JsonSchema + Send> IntoAnswer for ItemStream<T> {
    fn describe(operation: &mut OperationDraft) {
        operation.answer::<Items<T>>(false);
    }

    async fn into_answer(self) -> Result<Reply, Failure> {
        self.collect(|item| to_value(&item)).await
    }
}

fn item_list(items: Vec<Value>) -> Reply {
    Reply::from(Value::Object(Map::from_iter([("items".to_owned(), Value::Array(items))])))
}

/// A result with warnings. The operation succeeded, and the caller should know something besides.
#[derive(Debug, Clone)]
pub struct WithWarnings<T> {
    result: T,
    warnings: Vec<Warning>,
}

impl<T> WithWarnings<T> {
    /// A result that has no warnings yet.
    pub fn new(result: T) -> Self {
        Self { result, warnings: Vec::new() }
    }

    /// Adds a warning. Its code is in UPPER_SNAKE_CASE.
    #[must_use]
    pub fn warn(mut self, code: &'static str, message: impl Into<String>) -> Self {
        self.warnings.push(Warning::new(code, message.into()));
        self
    }
}

impl<T: IntoAnswer> IntoAnswer for WithWarnings<T> {
    fn describe(operation: &mut OperationDraft) {
        T::describe(operation);
    }

    async fn into_answer(self) -> Result<Reply, Failure> {
        let mut reply = self.result.into_answer().await?;
        reply.warnings.extend(self.warnings);
        Ok(reply)
    }
}

/// An answer whose items have versions.
pub trait EtagAnswer: Send {
    /// Describes the answer in introspection.
    fn describe_with_etag(operation: &mut OperationDraft);

    /// The answer, with `_etag` in every item.
    fn into_answer_with_etag(self) -> impl Future<Output = Result<Reply, Failure>> + Send;
}

impl<T: Etag + JsonSchema + Send> EtagAnswer for T {
    fn describe_with_etag(operation: &mut OperationDraft) {
        operation.answer::<T>(true);
    }

    async fn into_answer_with_etag(self) -> Result<Reply, Failure> {
        self.to_value_with_etag().map(Reply::from)
    }
}

impl<T: Etag + JsonSchema + Send> EtagAnswer for Items<T> {
    fn describe_with_etag(operation: &mut OperationDraft) {
        operation.answer::<Items<T>>(true);
    }

    async fn into_answer_with_etag(self) -> Result<Reply, Failure> {
        let items: Result<Vec<Value>, Failure> = self.items.iter().map(Etag::to_value_with_etag).collect();
        items.map(item_list)
    }
}

impl<T: Etag + JsonSchema + Send> EtagAnswer for ItemStream<T> {
    fn describe_with_etag(operation: &mut OperationDraft) {
        operation.answer::<Items<T>>(true);
    }

    async fn into_answer_with_etag(self) -> Result<Reply, Failure> {
        self.collect(|item| item.to_value_with_etag()).await
    }
}

impl<T: EtagAnswer> EtagAnswer for WithWarnings<T> {
    fn describe_with_etag(operation: &mut OperationDraft) {
        T::describe_with_etag(operation);
    }

    async fn into_answer_with_etag(self) -> Result<Reply, Failure> {
        let mut reply = self.result.into_answer_with_etag().await?;
        reply.warnings.extend(self.warnings);
        Ok(reply)
    }
}

/// The return type of a handler.
#[diagnostic::on_unimplemented(
    message = "an operation returns a `Result`, not `{Self}`",
    note = "return `Answer<T>`, or a `Result` whose error can be converted into a `Failure`"
)]
pub trait HandlerResult {
    /// The type of the result.
    type Ok;

    /// The result, or the failure that the caller sees.
    fn into_result(self) -> Result<Self::Ok, Failure>;
}

impl<T, E: Into<Failure>> HandlerResult for Result<T, E> {
    type Ok = T;

    fn into_result(self) -> Result<T, Failure> {
        self.map_err(Into::into)
    }
}

/// The type that a handler returns. Generated code asks the compiler whether its items have versions, in the same way as
/// for [`Argument`](crate::extract::argument::Argument).
pub struct Returned<T>(PhantomData<fn() -> T>);

impl<T> Returned<T> {
    /// The type.
    #[expect(clippy::new_without_default, reason = "only generated code makes one")]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T> Clone for Returned<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Returned<T> {}

/// Chosen for an answer with versions.
pub trait EtagAnswerKind {
    /// How to handle it.
    fn kind(&self) -> AnswerWithEtag {
        AnswerWithEtag
    }
}

impl<T: EtagAnswer> EtagAnswerKind for &Returned<T> {}

/// Chosen for any other answer.
pub trait PlainAnswerKind {
    /// How to handle it.
    fn kind(&self) -> PlainAnswer {
        PlainAnswer
    }
}

impl<T: IntoAnswer> PlainAnswerKind for Returned<T> {}

/// Handles an answer with versions.
#[derive(Debug, Clone, Copy)]
pub struct AnswerWithEtag;

impl AnswerWithEtag {
    /// Describes the answer.
    pub fn describe<T: EtagAnswer>(self, _: Returned<T>, operation: &mut OperationDraft) {
        T::describe_with_etag(operation);
    }

    /// Makes the answer.
    pub async fn answer<T: EtagAnswer>(self, _: Returned<T>, value: T) -> Result<Reply, Failure> {
        value.into_answer_with_etag().await
    }
}

/// Handles an answer without versions.
#[derive(Debug, Clone, Copy)]
pub struct PlainAnswer;

impl PlainAnswer {
    /// Describes the answer.
    pub fn describe<T: IntoAnswer>(self, _: Returned<T>, operation: &mut OperationDraft) {
        T::describe(operation);
    }

    /// Makes the answer.
    pub async fn answer<T: IntoAnswer>(self, _: Returned<T>, value: T) -> Result<Reply, Failure> {
        value.into_answer().await
    }
}
