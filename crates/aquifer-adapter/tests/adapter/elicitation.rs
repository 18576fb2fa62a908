//! Questions of handlers.

use aquifer_adapter::{Answer, Elicitation, adapter};
use aquifer_engine::{Context, Interaction};
use serde_json::{Map, Value, json};
use std::sync::Arc;

use crate::{call, call_in, context, open_engine};

/// A reason.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Reason {
    /// Why it is done.
    text: String,
    urgent: Option<bool>,
}

/// A date.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Day {
    day: u8,
}

struct Office;

#[adapter]
impl Office {
    /// Send a letter.
    #[operation(category = Execute)]
    async fn send_letter(&self, elicitation: Elicitation) -> Answer<String> {
        let Reason { text, urgent } = elicitation.ask("Why is the letter sent?")?;
        let Day { day } = elicitation.ask("On which day?")?;
        Ok(format!("{text} ({urgent:?}) on day {day}"))
    }
}

fn with_answers(answers: &[(&str, Value)]) -> Context {
    let answers: Map<String, Value> = answers.iter().map(|(key, answer)| ((*key).to_owned(), answer.clone())).collect();
    Context { interaction: Interaction::Available, answers: Arc::new(answers), ..context() }
}

#[tokio::test]
async fn a_handler_asks_one_question_after_the_other() {
    let office = open_engine(Office);
    let ask = async |answers: &[(&str, Value)]| call_in(&office, "send_letter", json!({}), with_answers(answers)).await;
    let first = ask(&[]).await;
    assert_eq!(first["question"], "Why is the letter sent?");
    let schema = json!({
        "type": "object",
        "properties": {
            "text": { "type": "string", "description": "Why it is done." },
            "urgent": { "type": "boolean" }
        },
        "required": ["text"]
    });
    assert_eq!(first["schema"], schema, "the form is flat, as MCP wants it");
    let key = first["key"].as_str().unwrap();
    let reason = json!({ "action": "accept", "content": { "text": "thanks" } });
    let second = ask(&[(key, reason.clone())]).await;
    assert_eq!(second["question"], "On which day?", "{second}");
    let other = second["key"].as_str().unwrap();
    let day = |day: Value| json!({ "action": "accept", "content": { "day": day } });
    let sent = ask(&[(key, reason.clone()), (other, day(json!(3)))]).await;
    assert_eq!(sent["data"], "thanks (None) on day 3", "{sent}");
    let invalid = ask(&[(key, reason), (other, day(json!("never")))]).await;
    assert_eq!(invalid["error"]["code"], "VALIDATION_INVALID_VALUE", "{invalid}");
    for action in ["decline", "cancel", "timeout"] {
        let refused = ask(&[(key, json!({ "action": action }))]).await;
        assert_eq!(refused["error"]["code"], "PERMISSION_DENIED", "{refused}");
    }
}

#[tokio::test]
async fn a_client_that_cannot_ask_is_told_so() {
    let refused = call(&open_engine(Office), "send_letter", json!({})).await;
    assert_eq!(refused["error"]["code"], "CONFIRMATION_REQUIRED", "{refused}");
    assert_eq!(refused["error"]["details"]["confirmation_message"], "Why is the letter sent?");
}
