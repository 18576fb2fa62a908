//! The envelope.

use aquifer_protocol::error::Failure;
use aquifer_protocol::limits::Limits;
use aquifer_protocol::response::{Data, JsonText, Meta, Response, Success};
use aquifer_protocol::schema::Deprecation;
use aquifer_protocol::warning::{Severity, Warning, arrange};
use serde_json::{Value, json};

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn r_res_1_success_or_failure_and_nothing_else() {
    let plain = Response::Success(Success::new(json!(1))).render(&Limits::default());
    assert_eq!(plain.text, r#"{"success":true,"data":1}"#);
    assert!(!plain.is_error);
    let mut success = Success::new(json!(null));
    success.warnings.push(Warning::new("SOME_WARNING", "Careful"));
    success.meta = Some(Meta { request_id: "req_1".to_owned(), duration_ms: 0.5 });
    let full = Response::Success(success).render(&Limits::default()).value();
    assert_eq!(keys(&full), ["success", "data", "warnings", "_meta"]);
    let failed = Response::Failure(Failure::not_found("task", 1)).render(&Limits::default()).value();
    assert_eq!(keys(&failed), ["success", "error"]);
    assert_eq!(keys(&failed["error"]), ["code", "message", "details"]);
}

#[test]
fn r_res_2_warnings_are_sorted_collapsed_and_limited() {
    let mut warnings: Vec<Warning> =
        (0..12).map(|index| Warning::new("LOW_WARNING", format!("{index}")).severity(Severity::Low)).collect();
    warnings.push(Warning::new("MEDIUM_WARNING", "m").severity(Severity::Medium));
    warnings.push(Warning::new("HIGH_WARNING", "h").severity(Severity::High));
    warnings.push(Warning::new("HIGH_WARNING", "h").severity(Severity::High));
    let arranged = arrange(warnings);
    assert_eq!(arranged.len(), 10);
    assert_eq!(arranged[0].code(), "HIGH_WARNING");
    assert_eq!(arranged[1].code(), "MEDIUM_WARNING");
    assert_eq!(arranged[2].code(), "LOW_WARNING");
    assert!(Warning::deprecated_operation("x", &Deprecation::default()).once_per_session());
    assert!(!arranged[0].once_per_session());
}

#[test]
fn r_res_3_text_and_value_are_the_same_json() {
    let mut rendered = assembled(r#"{"b":1,"a":[true,"ü"]}"#).render(&Limits::default());
    assert_eq!(rendered.text, r#"{"success":true,"data":{"b":1,"a":[true,"ü"]}}"#, "order and text pass through");
    assert_eq!(serde_json::from_str::<Value>(&rendered.text).unwrap(), rendered.value());
}

#[test]
fn r_res_3a_only_failures_beyond_the_caller_are_mcp_errors() {
    let failed = |failure: Failure| Response::Failure(failure).render(&Limits::default()).is_error;
    assert!(failed(Failure::internal("x")));
    assert!(!failed(Failure::not_found("task", 1)));
    assert!(!failed(Failure::invalid_request("x")));
}

#[test]
fn r_res_5_integers_javascript_would_round_are_text() {
    let safe = 9_007_199_254_740_991_i64;
    let value =
        Response::Success(Success::new(json!({ "a": [safe, safe + 1, -safe, -safe - 1, u64::MAX], "b": 1.5e300 })))
            .render(&Limits::default())
            .value();
    assert_eq!(
        value["data"],
        json!({ "a": [safe, "9007199254740992", -safe, "-9007199254740992", "18446744073709551615"], "b": 1.5e300 })
    );
}

#[test]
fn r_req_7_a_response_over_the_limit_becomes_a_failure() {
    let limits = Limits { max_response_size: 1 << 20, ..Limits::default() };
    let mut rendered = Response::Success(Success::new(json!("x".repeat(2 << 20)))).render(&limits);
    let error = &rendered.value()["error"];
    assert_eq!(error["code"], "VALIDATION_PAYLOAD_TOO_LARGE");
    assert_eq!(error["details"]["limit_type"], "response_size");
    assert_eq!(error["details"]["limit_value"], 1 << 20);
    assert_eq!(error["details"]["actual_value"], (2 << 20) + 26);
    assert_eq!(error["details"]["unit"], "bytes");
}

/// Wherever the number stands, and however it is surrounded.
#[test]
fn r_res_5_integers_are_protected_in_text_that_passes_through() {
    for before in 0..40 {
        let (filler, long) = ("x".repeat(before), "9007199254740993");
        let mut rendered = assembled(&format!(r#"["{filler}",{long},12345678901234]"#)).render(&Limits::default());
        assert_eq!(rendered.value()["data"], json!([filler, long, 12_345_678_901_234_i64]));
        assert_eq!(serde_json::from_str::<Value>(&rendered.text).unwrap(), rendered.value());
    }
    let digits = r#"{"at":"2026-01-31T12:00:00.123456789Z","few":123456789012345,"near":[1,2345678901234]}"#;
    assert_eq!(assembled(digits).render(&Limits::default()).text, format!(r#"{{"success":true,"data":{digits}}}"#));
}

#[test]
fn r_req_7_text_that_passes_through_is_within_the_limit_too() {
    let limits = Limits { max_response_size: 1 << 20, ..Limits::default() };
    let text = json!("x".repeat(1 << 20)).to_string();
    assert_eq!(assembled(&text).render(&limits).value()["error"]["code"], "VALIDATION_PAYLOAD_TOO_LARGE");
}

fn assembled(text: &str) -> Response {
    Response::Success(Success::new(Data::Text(JsonText::vouched(text.to_owned()))))
}
