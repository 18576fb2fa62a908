//! The answers of a person who was asked in the client.

use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::Operation;

/// A person's answer to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ElicitationAnswer {
    Yes,
    No,
    /// The person closed the question without answering.
    Cancelled,
    /// Nobody answered in time.
    TimedOut,
    /// The question did not reach the person.
    Unavailable,
}

impl ElicitationAnswer {
    pub(super) fn parse(action: &str) -> Self {
        match action {
            "accept" => ElicitationAnswer::Yes,
            "decline" => ElicitationAnswer::No,
            "timeout" => ElicitationAnswer::TimedOut,
            "unavailable" => ElicitationAnswer::Unavailable,
            // An unknown answer is not a yes.
            _ => ElicitationAnswer::Cancelled,
        }
    }

    /// The failure for any answer other than yes.
    pub(crate) fn failure(self, operation: &Operation) -> Failure {
        let words = match self {
            ElicitationAnswer::Yes | ElicitationAnswer::No => "the person who was asked declined",
            ElicitationAnswer::Cancelled => "the person who was asked closed the question without an answer",
            ElicitationAnswer::TimedOut => "nobody answered the question in time",
            ElicitationAnswer::Unavailable => "the client could not show the question",
        };
        Failure::new(Code::PermissionDenied, format!("Permission denied: {words}. Nothing was done"))
            .detail("operation", &*operation.name)
            .detail("danger_level", operation.safety.danger.as_str())
    }
}
