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

/// How it is sent.
#[derive(serde::Deserialize, schemars::JsonSchema, Debug, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Way {
    /// In a few days,
    /// by land.
    Truck,
    /// Tomorrow.
    Plane,
    Pigeon,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
enum Plain {
    A,
    B,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[allow(dead_code, reason = "only its form is used")]
struct Parcel {
    /// The way to send it.
    way: Way,
    other_way: Option<Way>,
    plain: Option<Plain>,
    plains: Vec<Plain>,
    ways: Vec<Way>,
    weight: Option<f64>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[allow(dead_code, reason = "nobody can be asked for it")]
struct Nested {
    reason: Reason,
}

pub(crate) struct Depot;

#[adapter]
impl Depot {
    /// Send a parcel.
    #[operation(category = Execute)]
    async fn send_parcel(&self, elicitation: Elicitation) -> Answer<String> {
        let Parcel { way, .. } = elicitation.ask("How is it sent?")?;
        Ok(format!("by {way:?}"))
    }

    /// Send an envelope.
    #[operation(category = Execute)]
    async fn send_envelope(&self, elicitation: Elicitation) -> Answer<String> {
        elicitation.ask::<Nested>("Why?").map(|_| String::new())
    }
}

#[tokio::test]
async fn enums_with_and_without_comments_are_choices_in_a_form() {
    let depot = open_engine(Depot);
    let asked = call_in(&depot, "send_parcel", json!({}), with_answers(&[])).await;
    let fields = &asked["schema"]["properties"];
    let choice = json!({
        "type": "string", "enum": ["pigeon", "truck", "plane"],
        "enumNames": ["pigeon", "truck: In a few days, by land.", "plane: Tomorrow."]
    });
    let mut described = choice.clone();
    described["description"] = json!("The way to send it.");
    let sorted = |field: &Value| {
        let mut names: Vec<String> = serde_json::from_value(field["enumNames"].clone()).unwrap();
        names.sort();
        (names, field["type"].clone(), field["description"].clone())
    };
    assert_eq!(sorted(&fields["way"]), sorted(&described), "{asked}");
    assert_eq!(sorted(&fields["other_way"]).0, sorted(&choice).0, "{asked}");
    assert_eq!(fields["plain"], json!({ "type": "string", "enum": ["A", "B"] }), "{asked}");
    assert_eq!(fields["plains"], json!({ "type": "array", "items": { "type": "string", "enum": ["A", "B"] } }));
    assert_eq!(fields["ways"]["items"]["type"], "string", "{asked}");
    assert_eq!(fields["weight"], json!({ "type": "number" }), "{asked}");
    let answer = json!({ "action": "accept", "content": { "way": "truck", "plains": [], "ways": [] } });
    let sent =
        call_in(&depot, "send_parcel", json!({}), with_answers(&[(asked["key"].as_str().unwrap(), answer)])).await;
    assert_eq!(sent["data"], "by Truck", "{sent}");
}

#[tokio::test]
async fn a_question_that_no_client_can_show_is_an_error_of_the_adapter() {
    let depot = open_engine(Depot);
    let failed = call_in(&depot, "send_envelope", json!({}), with_answers(&[])).await;
    assert_eq!(failed["error"]["code"], "INTERNAL_ERROR", "{failed}");
    assert!(failed["error"]["message"].as_str().unwrap().contains("'reason'"), "{failed}");
    let office = open_engine(Office);
    let unsent = [("adapter_1", json!({ "action": "unavailable" }))];
    let failed = call_in(&office, "send_letter", json!({}), with_answers(&unsent)).await;
    assert_eq!(failed["error"]["code"], "UPSTREAM_UNAVAILABLE", "{failed}");
}

#[tokio::test]
async fn a_client_that_cannot_ask_is_told_so() {
    let refused = call(&open_engine(Office), "send_letter", json!({})).await;
    assert_eq!(refused["error"]["code"], "CONFIRMATION_REQUIRED", "{refused}");
    assert_eq!(refused["error"]["details"]["confirmation_message"], "Why is the letter sent?");
}
