//! The messages of a call: recorded only if a person wants them, bounded, and without secrets.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::source::{Answer, Call, Offering, Outcome};
use aquifer_engine::trace::{Channel, MAX_TEXT_BYTES, RecordedCall, Step, Trace};
use aquifer_engine::{Context, Engine, Source};
use aquifer_protocol::category::Category;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Kind, Parameter, Schema};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::fixture::{ask, ask_as, batch, context, operation, surface};

const MINUTE: Duration = Duration::from_secs(60);

/// Sends its parameters somewhere, and gets as many letters back as it is asked for.
struct Remote;

impl Source for Remote {
    fn name(&self) -> &str {
        "remote"
    }

    fn offering(&self) -> Offering {
        let text = |name: &str| Parameter::optional(name, Schema::new(Kind::String));
        let mut pin = text("door_code");
        pin.sensitive = true;
        let mut login = Operation::new("log_in", Category::Read, "Logs in.");
        login.parameters =
            vec![text("user"), pin, text("password"), Parameter::optional("letters", Schema::new(Kind::Integer))];
        Offering { operations: vec![login], ..Offering::default() }
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        async move {
            let trace = &call.context.trace;
            let sent = Value::Object(call.params.clone()).to_string();
            let code = call.params.get("door_code").and_then(Value::as_str).unwrap_or_default();
            let login = call.params.get("password").map(|_| "aHVudGVyMng=").unwrap_or_default();
            trace.record(Step::Sent, Channel::Http, || {
                (format!("POST /x?c={code}&login={login}"), Cow::Borrowed(sent.as_str()))
            });
            let letters = call.params.get("letters").and_then(Value::as_u64).unwrap_or_default();
            let returned = format!("{code} {}", "ä".repeat(letters as usize));
            trace.record(Step::Returned, Channel::Http, || (String::new(), Cow::Borrowed(returned.as_str())));
            Outcome::Done(Answer::new(json!({ "welcome": code })))
        }
        .boxed()
    }
}

fn engine() -> Engine {
    Engine::builder(surface()).dangerously_let_everything_pass().source(Arc::new(Remote)).build().unwrap()
}

fn log_in(letters: u64) -> Value {
    operation(
        "log_in",
        json!({ "user": "ada", "door_code": "0815-\"4711", "password": "hunter2x", "letters": letters }),
    )
}

fn newest(engine: &Engine) -> Arc<RecordedCall> {
    engine.call_log().calls().into_iter().next().expect("a call was recorded")
}

fn steps(call: &RecordedCall) -> Vec<Step> {
    call.messages.iter().map(|message| message.step).collect()
}

#[tokio::test]
async fn nothing_is_recorded_unless_a_person_wants_it() {
    let engine = engine();
    ask(&engine, log_in(1)).await;
    assert!(engine.call_log().calls().is_empty());
    assert_eq!(engine.call_log().switch(), None);
    ask_as(&engine, log_in(1), Context { trace: Trace::recording(), ..context() }).await;
    let call = newest(&engine);
    assert_eq!(steps(&call), [Step::Received, Step::Sent, Step::Returned, Step::Answered]);
    assert_eq!((&*call.request_id, call.operation.as_str()), ("req_test", "log_in"));
    assert!(engine.call_log().find("req_test").is_some() && engine.call_log().find("req_other").is_none());
}

#[tokio::test]
async fn recording_ends_after_so_many_calls_or_so_long() {
    let engine = engine();
    engine.call_log().switch_on(2, MINUTE);
    for _ in 0..4 {
        ask(&engine, log_in(1)).await;
    }
    assert_eq!(engine.call_log().calls().len(), 2);
    assert_eq!(engine.call_log().switch(), None);
    engine.call_log().switch_on(5, Duration::ZERO);
    ask(&engine, log_in(1)).await;
    engine.call_log().switch_on(5, MINUTE);
    ask_as(&engine, log_in(1), Context { trace: Trace::never(), ..context() }).await;
    assert_eq!(engine.call_log().switch().map(|switch| switch.calls_left), Some(5));
    engine.call_log().switch_off();
    ask(&engine, log_in(1)).await;
    assert_eq!(engine.call_log().calls().len(), 2);
    engine.call_log().clear();
    assert!(engine.call_log().calls().is_empty());
}

#[tokio::test]
async fn no_message_shows_a_secret() {
    let engine = engine();
    engine.call_log().switch_on(10, MINUTE);
    let refused = operation("log_in", json!({ "door_code": "0815-\"4711", "password": "hunter2x", "letters": "many" }));
    let typed =
        operation("log_in", json!({ "user": "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "door_code": "0815-\"4711" }));
    for request in [log_in(3), refused, batch(json!([log_in(1), log_in(2)])), typed] {
        ask(&engine, request).await;
        for message in &newest(&engine).messages {
            let text = format!("{} {}", message.head, message.body);
            for secret in ["4711", "hunter2x", "aHVudGVyMng", "ghp_abc"] {
                assert!(!text.contains(secret), "{text}");
            }
        }
        let received = &newest(&engine).messages[0].body;
        assert!(received.contains("log_in") && received.contains("[redacted]"), "{received}");
    }
    assert_eq!(engine.call_log().calls().len(), 4);
}

#[tokio::test]
async fn long_messages_are_cut_and_say_so() {
    let engine = engine();
    let letters = 60_000;
    ask_as(&engine, log_in(letters), Context { trace: Trace::recording(), ..context() }).await;
    let call = newest(&engine);
    let returned = call.messages.iter().find(|message| message.step == Step::Returned).unwrap();
    assert!(returned.is_cut && returned.body.len() <= MAX_TEXT_BYTES, "{}", returned.body.len());
    assert!(returned.bytes > 120_000 && returned.tokens > 1000, "{} bytes", returned.bytes);
    assert_eq!(call.direct_tokens, Some(returned.tokens));
    assert!(!call.messages[0].is_cut);
}

#[tokio::test]
async fn the_log_is_bounded() {
    let engine = engine();
    for _ in 0..130 {
        ask_as(&engine, log_in(40_000), Context { trace: Trace::recording(), ..context() }).await;
    }
    let calls = engine.call_log().calls();
    assert!(calls.len() <= 100, "{}", calls.len());
    let bytes: usize = calls.iter().flat_map(|call| &call.messages).map(|message| message.body.len()).sum();
    assert!(bytes <= 16 << 20, "{bytes}");
}

#[tokio::test]
async fn a_call_that_is_cancelled_is_kept() {
    let engine = engine();
    let context = Context { trace: Trace::recording(), ..context() };
    context.cancelled.cancel();
    ask_as(&engine, log_in(1), context).await;
    assert_eq!(steps(&newest(&engine)).first(), Some(&Step::Received));
}
