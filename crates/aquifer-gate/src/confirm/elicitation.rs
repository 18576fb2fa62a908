//! The answers of a person who was asked in the client.

use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::Operation;
use serde_json::{Map, Value, json};

use crate::destination::Remember;

/// The field of the form in which a person says what happens next time.
const NEXT_TIME: &str = "next_time";

/// The choices of that field, the first of which counts if there is no answer.
const CHOICES: [(&str, Remember); 3] = [
    ("do not ask about these destinations", Remember::Destinations),
    ("do not ask about anyone at the same domain", Remember::Domains),
    ("ask again", Remember::Nothing),
];

/// The form of a question. If agreeing makes destinations known, the person can choose which.
pub(crate) fn form(offers_memory: bool) -> Map<String, Value> {
    let choices = CHOICES.map(|(choice, _)| choice);
    let properties = match offers_memory {
        true => json!({
            NEXT_TIME: { "type": "string", "title": "Next time", "enum": choices, "default": choices[0] },
        }),
        false => json!({}),
    };
    Map::from_iter([("type".to_owned(), json!("object")), ("properties".to_owned(), properties)])
}

/// A person's answer to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ElicitationAnswer {
    Yes(Remember),
    No,
    /// The person closed the question without answering.
    Cancelled,
    /// Nobody answered in time.
    TimedOut,
    /// The question did not reach the person.
    Unavailable,
}

impl ElicitationAnswer {
    pub(super) fn parse(answer: &Value) -> Self {
        match answer.get("action").and_then(Value::as_str).unwrap_or_default() {
            "accept" => ElicitationAnswer::Yes(remember(answer)),
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
            ElicitationAnswer::Yes(_) | ElicitationAnswer::No => "the person who was asked declined",
            ElicitationAnswer::Cancelled => "the person who was asked closed the question without an answer",
            ElicitationAnswer::TimedOut => "nobody answered the question in time",
            ElicitationAnswer::Unavailable => "the client could not show the question",
        };
        Failure::new(Code::PermissionDenied, format!("Permission denied: {words}. Nothing was done"))
            .detail("operation", &*operation.name)
            .detail("danger_level", operation.safety.danger.as_str())
    }
}

/// What a person wants to be remembered. An unknown choice is none.
fn remember(answer: &Value) -> Remember {
    let chosen = answer.get("content").and_then(|content| content.get(NEXT_TIME));
    let choice = |chosen: &Value| CHOICES.iter().find(|(choice, _)| chosen == choice).map(|(_, remember)| *remember);
    chosen.map_or(Remember::Destinations, |chosen| choice(chosen).unwrap_or(Remember::Nothing))
}
