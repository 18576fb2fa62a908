//! The answer to a batch.

use aquifer_protocol::batch::{BatchAnswer, OnConfirmation, Step, refused};
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::limits::Limits;
use aquifer_protocol::response::{Attachment, Response, Success};
use serde_json::{Map, Value, json};

fn success() -> Response {
    Response::Success(Success::new(json!({ "id": 1 })))
}

fn failure() -> Response {
    Response::Failure(Failure::not_found("task", 1))
}

fn gated() -> Response {
    Response::Failure(
        Failure::new(Code::ConfirmationRequired, "This operation requires confirmation")
            .detail("confirmation_token", "conf_1"),
    )
}

fn rendered(answer: BatchAnswer) -> Value {
    Response::Batch(answer).render(&Limits::default()).value()
}

#[test]
fn r_bat_1_results_in_order_and_counted() {
    let mut answer = BatchAnswer::new(2, &Limits::default());
    assert_eq!(answer.push(0, "a", failure(), OnConfirmation::Halt), Step::Next);
    assert_eq!(answer.push(1, "b", success(), OnConfirmation::Halt), Step::Next);
    let value = rendered(answer);
    assert_eq!(value["success"], true);
    assert_eq!(value["data"], Value::Null);
    assert_eq!(value["results"][0]["index"], 0);
    assert_eq!(value["results"][0]["result"]["error"]["code"], "NOT_FOUND_RESOURCE");
    assert_eq!(
        value["results"][1],
        json!({ "index": 1, "operation": "b", "result": { "success": true, "data": { "id": 1 } } })
    );
    assert_eq!(value["summary"], json!({ "total": 2, "succeeded": 1, "failed": 1 }));
}

#[test]
fn r_bat_3_confirmation_halts() {
    let mut answer = BatchAnswer::new(3, &Limits::default());
    answer.push(0, "a", success(), OnConfirmation::Halt);
    assert_eq!(answer.push(1, "b", gated(), OnConfirmation::Halt), Step::Halted);
    answer.push_pending(2, "c", Map::from_iter([("x".to_owned(), json!(1))]));
    let value = rendered(answer);
    assert_eq!(value["results"].as_array().unwrap().len(), 1, "the halted operation is not a result");
    assert_eq!(value["halted_at"]["index"], 1);
    assert_eq!(value["halted_at"]["result"]["error"]["details"]["confirmation_token"], "conf_1");
    assert_eq!(value["pending_operations"], json!([{ "index": 2, "operation": "c", "params": { "x": 1 } }]));
    assert_eq!(value["summary"], json!({ "total": 3, "succeeded": 1, "failed": 0, "halted": 1, "pending": 1 }));
}

#[test]
fn r_bat_3_by_configuration_confirmation_is_skipped() {
    let mut answer = BatchAnswer::new(2, &Limits::default());
    assert_eq!(answer.push(0, "b", gated(), OnConfirmation::Skip), Step::Next);
    answer.push(1, "c", success(), OnConfirmation::Skip);
    let value = rendered(answer);
    assert_eq!(value["results"][0]["status"], "pending_confirmation");
    assert_eq!(value["summary"], json!({ "total": 2, "succeeded": 1, "failed": 0, "pending_confirmation": 1 }));
    assert!(value.get("halted_at").is_none() && value.get("pending_operations").is_none());
}

#[test]
fn r_bat_1_attachments_keep_their_place() {
    let picture = |name: &str| Attachment::Image { media_type: "image/png".to_owned(), base64: name.to_owned() };
    let with = |name: &str| {
        let mut success = Success::new(json!({ "picture": { "_attachment": 0 } }));
        success.attachments.push(picture(name));
        Response::Success(success)
    };
    let mut answer = BatchAnswer::new(2, &Limits::default());
    answer.push(0, "a", with("first"), OnConfirmation::Halt);
    answer.push(1, "b", with("second"), OnConfirmation::Halt);
    let mut rendered = Response::Batch(answer).render(&Limits::default());
    assert_eq!(rendered.value()["results"][0]["result"]["data"]["picture"]["_attachment"], 0);
    assert_eq!(rendered.value()["results"][1]["result"]["data"]["picture"]["_attachment"], 1);
    assert_eq!(rendered.attachments, [picture("first"), picture("second")]);
}

#[test]
fn r_req_4a_a_batch_refused_whole_has_no_details() {
    let response = refused(Failure::invalid_request("no").detail("x", 1));
    assert_eq!(
        response.render(&Limits::default()).value()["error"],
        json!({ "code": "VALIDATION_INVALID_REQUEST", "message": "Invalid request: no" })
    );
}

#[test]
fn r_req_7_an_answer_too_large_for_the_batch_fails_alone() {
    let limits = Limits { max_response_size: 1 << 20, ..Limits::default() };
    let mut answer = BatchAnswer::new(5, &limits);
    for index in 0..3 {
        let large = Response::Success(Success::new(json!("x".repeat(600_000))));
        answer.push(index, "get_x", large, OnConfirmation::Halt);
    }
    assert_eq!(answer.push(3, "get_y", failure(), OnConfirmation::Halt), Step::Next);
    assert_eq!(answer.push(4, "delete_x", gated(), OnConfirmation::Halt), Step::Halted);
    let value = Response::Batch(answer).render(&limits).value();
    assert_eq!(value["summary"], json!({ "total": 5, "succeeded": 1, "failed": 3, "halted": 1, "pending": 0 }));
    assert_eq!(value["results"][3]["result"]["error"]["code"], "NOT_FOUND_RESOURCE", "failures stay what they are");
    assert_eq!(value["halted_at"]["result"]["error"]["code"], "CONFIRMATION_REQUIRED");
    assert_eq!(value["results"][2]["result"]["error"]["code"], "VALIDATION_PAYLOAD_TOO_LARGE");
    assert!(value["results"][2]["result"]["error"]["message"].as_str().unwrap().contains("was done"));
}
