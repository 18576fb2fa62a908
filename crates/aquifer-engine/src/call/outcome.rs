//! The outcome of a call: an answer, a failure, or a question.

use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::response::{Attachment, Data};
use aquifer_protocol::warning::Warning;
use serde_json::{Map, Value};

/// Which page of a list a source returns, and how large it should be.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PageRequest {
    /// Where the list continues: [`Answer::next_page`] of the page before, or `None` for the first page.
    pub resume: Option<Box<Value>>,
    /// How many rows the caller asked for. `None` if as many as possible are needed.
    pub rows: Option<usize>,
    /// The fields of rows that are needed, for operations whose shaping sends them. `None` if all may be needed.
    pub fields: Option<Vec<String>>,
    /// Whether the caller selects, counts or pages rows, so that further pages may be needed. Otherwise the result is
    /// passed on as it is.
    pub is_shaped: bool,
}

/// The outcome of a call.
#[derive(Debug)]
pub enum Outcome {
    /// The call succeeded.
    Done(Answer),
    /// The call was refused or failed.
    Failed(Failure),
    /// The call needs an answer from a person to continue.
    NeedsInput(InputRequest),
}

/// The result of a successful call.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The result.
    pub data: Data,
    /// Warnings.
    pub warnings: Vec<Warning>,
    /// Attachments such as images.
    pub attachments: Vec<Attachment>,
    /// Where the list continues, if it has another page. Only the source understands it, and callers never see it.
    /// Boxed because it is rare and answers are moved often.
    pub next_page: Option<Box<Value>>,
    /// Whether the list may have more rows that cannot be fetched. A warning says so. The answer must not claim that
    /// these are all rows.
    pub is_partial: bool,
    /// Whether it consists of pages or groups that already fit the budget of the call. The engine must not shorten such
    /// an answer, because its cursors have to stay intact.
    pub keeps_budget: bool,
}

impl Answer {
    /// A result without warnings.
    pub fn new(data: impl Into<Data>) -> Self {
        Self {
            data: data.into(),
            warnings: Vec::new(),
            attachments: Vec::new(),
            next_page: None,
            is_partial: false,
            keeps_budget: false,
        }
    }
}

impl From<Result<Value, Failure>> for Outcome {
    fn from(result: Result<Value, Failure>) -> Self {
        match result {
            Ok(value) => Outcome::Done(Answer::new(value)),
            Err(failure) => Outcome::Failed(failure),
        }
    }
}

/// A question to the person who uses the client. The call is repeated with the answer.
#[derive(Debug, Clone)]
pub struct InputRequest {
    /// Identifies the question among those of one call.
    pub key: String,
    /// The question.
    pub message: String,
    /// The fields of the answer, as a flat JSON Schema object.
    pub schema: Map<String, Value>,
}

impl InputRequest {
    /// The failure for a client that cannot ask.
    pub fn into_failure(self) -> Failure {
        Failure::new(
            Code::ConfirmationRequired,
            "This operation requires confirmation by a person, and this client cannot ask one",
        )
        .detail("confirmation_message", self.message)
    }
}
