//! A call that may change data is sent once, whatever the server answers, and an unclear outcome is reported as
//! unknown. The servers here execute a call first and fail afterwards.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client_requests::{Client, context_for};
use crate::faulty_server::{Fault, FaultyServer, Questions};
use crate::support::{Gateway, context, until};

/// The outcome that a caller sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The server reported that it did not execute the call.
    Refused,
    Unknown,
}
use Outcome::{Refused, Unknown};

/// Fault, code and outcome of a call that may change data, and the number of sessions opened.
const FAULTS: &[(Fault, &str, Outcome, usize)] = &[
    (Fault::Status(400), "UPSTREAM_ERROR", Refused, 1),
    (Fault::Answer(400), "UPSTREAM_ERROR", Refused, 1),
    (Fault::NullId(400), "UPSTREAM_ERROR", Refused, 1),
    (Fault::ForeignId(400), "UPSTREAM_ERROR", Refused, 1),
    // Only this status means that the session is lost.
    (Fault::Status(404), "UPSTREAM_UNAVAILABLE", Unknown, 2),
    (Fault::NullId(404), "UPSTREAM_UNAVAILABLE", Unknown, 2),
    (Fault::ForeignId(404), "UPSTREAM_UNAVAILABLE", Unknown, 2),
    (Fault::Answer(404), "UPSTREAM_ERROR", Refused, 1),
    (Fault::AnswerAsEvent(404), "UPSTREAM_ERROR", Refused, 1),
    (Fault::Status(401), "UPSTREAM_UNAVAILABLE", Refused, 1),
    (Fault::Status(403), "UPSTREAM_UNAVAILABLE", Refused, 1),
    (Fault::Status(405), "UPSTREAM_ERROR", Refused, 1),
    (Fault::Status(408), "UPSTREAM_UNAVAILABLE", Unknown, 1),
    (Fault::Status(410), "UPSTREAM_ERROR", Refused, 1),
    (Fault::RetryAfter(429), "RATE_LIMIT_EXCEEDED", Refused, 1),
    (Fault::Status(500), "UPSTREAM_UNAVAILABLE", Unknown, 1),
    (Fault::NullId(500), "UPSTREAM_ERROR", Unknown, 1),
    (Fault::Answer(500), "UPSTREAM_ERROR", Unknown, 1),
    (Fault::Answer(504), "UPSTREAM_ERROR", Unknown, 1),
    (Fault::AnswerAsEvent(504), "UPSTREAM_ERROR", Unknown, 1),
    (Fault::Status(499), "UPSTREAM_UNAVAILABLE", Unknown, 1),
    (Fault::Answer(499), "UPSTREAM_ERROR", Unknown, 1),
    (Fault::Status(502), "UPSTREAM_UNAVAILABLE", Unknown, 1),
    (Fault::RetryAfter(503), "UPSTREAM_UNAVAILABLE", Unknown, 1),
    (Fault::Status(599), "UPSTREAM_UNAVAILABLE", Unknown, 1),
    (Fault::Redirect(301), "UPSTREAM_ERROR", Unknown, 1),
    (Fault::Redirect(302), "UPSTREAM_ERROR", Unknown, 1),
    (Fault::Redirect(303), "UPSTREAM_UNAVAILABLE", Unknown, 1),
    (Fault::Redirect(307), "UPSTREAM_ERROR", Unknown, 1),
    (Fault::Redirect(308), "UPSTREAM_ERROR", Unknown, 1),
    (Fault::Status(200), "UPSTREAM_ERROR", Unknown, 1),
    (Fault::Status(202), "UPSTREAM_ERROR", Unknown, 1),
    // A server-defined code does not tell when the call failed.
    (Fault::Answer(200), "UPSTREAM_ERROR", Unknown, 1),
    (Fault::AnswerAsEvent(200), "UPSTREAM_ERROR", Unknown, 1),
    (Fault::NullId(200), "UPSTREAM_ERROR", Unknown, 1),
    (Fault::OtherId, "UPSTREAM_ERROR", Unknown, 1),
    (Fault::BadResult, "UPSTREAM_ERROR", Unknown, 1),
    // A tool that fails may have done half of its work.
    (Fault::ToolError, "UPSTREAM_ERROR", Unknown, 1),
    (Fault::Status(300), "UPSTREAM_UNAVAILABLE", Unknown, 1),
    (Fault::Status(304), "UPSTREAM_UNAVAILABLE", Unknown, 1),
    (Fault::Drop, "UPSTREAM_UNAVAILABLE", Unknown, 1),
    (Fault::HalfBody, "UPSTREAM_UNAVAILABLE", Unknown, 1),
    (Fault::HalfJson, "UPSTREAM_ERROR", Unknown, 1),
    (Fault::TooLarge, "VALIDATION_PAYLOAD_TOO_LARGE", Unknown, 1),
    (Fault::TooLargeUnannounced, "VALIDATION_PAYLOAD_TOO_LARGE", Unknown, 1),
    (Fault::StreamEnds, "UPSTREAM_UNAVAILABLE", Unknown, 1),
    (Fault::StreamCannotResume, "UPSTREAM_UNAVAILABLE", Unknown, 1),
];

fn check_outcome(error: &Value, expected: Outcome, what: &dyn std::fmt::Debug) {
    let message = error["message"].as_str().unwrap();
    let says_so = message.ends_with("It is unknown whether the call was executed. Check before repeating it");
    assert_eq!(error["details"]["outcome"] == "unknown", expected == Unknown, "{what:?}: {error}");
    assert_eq!(says_so, expected == Unknown, "{what:?}: {error}");
    assert!(!(expected == Unknown && message.contains("was done")), "{what:?}: {error}");
}

#[tokio::test]
async fn r_saf_3_a_call_that_may_change_data_is_sent_once() {
    for (fault, code, outcome, sessions) in FAULTS {
        let server = FaultyServer::start(*fault).await;
        let gateway = Gateway::ready(server.settings()).await;
        for tool in ["delete_account", "set_account", "frobnicate"] {
            server.set(|now| now.fault = *fault);
            let error = gateway.refused(tool, json!({}), code).await;
            check_outcome(&error, *outcome, fault);
            assert_eq!(server.executed(tool), 1, "{fault:?} {tool}");
            if tool == "delete_account" {
                // The next call is answered, in a new session if the old one is lost.
                server.set(|now| now.fault = Fault::None);
                until("it may be asked again", async || gateway.ask("get_account", json!({})).await["success"] == true)
                    .await;
                assert_eq!(server.log(|log| log.opened), *sessions, "{fault:?}");
                assert_eq!(server.log(|log| log.ended.len()), 0, "{fault:?}: no session of ours is ended");
            }
            // A lost or rate-limited server is available again for the next row.
            server.set(|now| now.fault = Fault::None);
            until("it may be asked again", async || gateway.ask("get_account", json!({})).await["success"] == true)
                .await;
        }
    }
}

#[tokio::test]
async fn read_only_calls_are_retried_when_useful() {
    // Fault, whether the call is repeated, and the code if both attempts fail.
    for (fault, again, code) in [
        (Fault::Status(404), true, "UPSTREAM_UNAVAILABLE"),
        (Fault::NullId(404), true, "UPSTREAM_UNAVAILABLE"),
        (Fault::Drop, true, "UPSTREAM_UNAVAILABLE"),
        (Fault::HalfBody, true, "UPSTREAM_UNAVAILABLE"),
        (Fault::StreamEnds, true, "UPSTREAM_UNAVAILABLE"),
        (Fault::Answer(404), false, "UPSTREAM_ERROR"),
        (Fault::Status(400), false, "UPSTREAM_ERROR"),
        (Fault::Status(500), false, "UPSTREAM_UNAVAILABLE"),
        (Fault::RetryAfter(503), false, "RATE_LIMIT_EXCEEDED"),
        (Fault::HalfJson, false, "UPSTREAM_ERROR"),
        (Fault::TooLarge, false, "VALIDATION_PAYLOAD_TOO_LARGE"),
    ] {
        let server = FaultyServer::start(fault).await;
        let gateway = Gateway::ready(server.settings()).await;
        let error = gateway.refused("get_account", json!({}), code).await;
        check_outcome(&error, Refused, &fault);
        assert_eq!(server.executed("get_account"), 1 + usize::from(again), "{fault:?}");
        server.set(|now| now.fault = Fault::None);
        until("it may be asked again", async || gateway.ask("get_account", json!({})).await["success"] == true).await;
    }
}

#[tokio::test]
async fn r_saf_5_an_unanswered_call_has_an_unknown_outcome() {
    let server = FaultyServer::start(Fault::Silence).await;
    let mut settings = server.settings();
    settings.timeout = Duration::from_secs(2);
    let gateway = Gateway::ready(settings).await;
    let error = gateway.refused("delete_account", json!({}), "UPSTREAM_TIMEOUT").await;
    check_outcome(&error, Unknown, &Fault::Silence);
    let error = gateway.refused("get_account", json!({}), "UPSTREAM_TIMEOUT").await;
    check_outcome(&error, Refused, &Fault::Silence);
    assert_eq!((server.executed("delete_account"), server.executed("get_account")), (1, 1));
}

#[tokio::test]
async fn a_call_that_timed_out_in_the_queue_was_not_executed() {
    let server = FaultyServer::start(Fault::Silence).await;
    let mut settings = server.settings();
    settings.timeout = Duration::from_secs(2);
    settings.concurrency = 1;
    let gateway = Gateway::ready(settings).await;
    // All time out, most of them before they were sent.
    let calls = (0..8).map(|_| gateway.ask("delete_account", json!({})));
    let answers = futures::future::join_all(calls).await;
    assert!(answers.iter().all(|answer| answer["error"]["code"] == "UPSTREAM_TIMEOUT"), "{answers:?}");
    let unknown = answers.iter().filter(|answer| answer["error"]["details"]["outcome"] == "unknown").count();
    assert!((1..8).contains(&unknown), "{answers:?}");
    assert!(server.executed("delete_account") <= unknown, "{answers:?}");
}

#[tokio::test]
async fn an_unreachable_server_executed_nothing() {
    let server = FaultyServer::start(Fault::None).await;
    let gateway = Gateway::ready(server.settings()).await;
    // The server has ended, and its connection is closed.
    drop(server);
    until("the closed connection is noticed", async || {
        let error = gateway.ask("delete_account", json!({})).await["error"].clone();
        assert_eq!(error["code"], "UPSTREAM_UNAVAILABLE", "{error}");
        error["message"].as_str().unwrap().contains("cannot be reached") && error["details"]["outcome"].is_null()
    })
    .await;
}

#[tokio::test]
async fn redirects_are_followed_without_sending_a_call_twice() {
    // Moved from the beginning: the handshake finds it, and calls go there directly.
    let server = FaultyServer::start(Fault::None).await;
    server.set(|now| now.path = "/mcp/");
    let gateway = Gateway::ready(server.settings()).await;
    assert_eq!(gateway.get("delete_account", json!({})).await, "done");
    assert_eq!(server.executed("delete_account"), 1);
    // Moved later: the call is not sent there, but the following ones are.
    server.set(|now| now.path = "/elsewhere");
    let error = gateway.refused("delete_account", json!({}), "UPSTREAM_ERROR").await;
    check_outcome(&error, Unknown, &"moved");
    assert_eq!(server.executed("delete_account"), 1);
    until("it is found", async || gateway.ask("set_account", json!({})).await["success"] == true).await;
    assert_eq!(server.executed("set_account"), 1);
    assert_eq!(server.log(|log| log.opened), 1);
}

#[tokio::test]
async fn a_forgotten_session_is_replaced() {
    for unknown_session in [
        Fault::Status(404),
        Fault::NullId(404),
        Fault::Answer(404),
        Fault::Status(400),
        Fault::NullId(400),
        Fault::ForeignId(400),
        Fault::Answer(400),
    ] {
        let server = FaultyServer::start(Fault::None).await;
        server.set(|now| now.unknown_session = unknown_session);
        let gateway = Gateway::ready(server.settings()).await;
        for round in 1..4 {
            server.forget_sessions();
            let failed = gateway.ask("delete_account", json!({})).await;
            assert_eq!(failed["success"], false, "{unknown_session:?}");
            assert_eq!(server.executed("delete_account"), round - 1, "{unknown_session:?}: not repeated by us");
            until("there is a new session", async || gateway.ask("delete_account", json!({})).await["success"] == true)
                .await;
            assert_eq!(server.executed("delete_account"), round, "{unknown_session:?}");
            // Read-only calls are repeated transparently.
            server.forget_sessions();
            assert_eq!(gateway.get("get_account", json!({})).await, "done", "{unknown_session:?}");
            assert_eq!(server.log(|log| log.opened), 1 + 2 * round, "{unknown_session:?}");
        }
        assert_eq!(server.log(|log| log.ended.clone()), [""; 0], "{unknown_session:?}: lost sessions are not ended");
    }
}

#[tokio::test]
async fn a_plain_client_sends_a_call_once() {
    for (fault, code, outcome, _) in FAULTS {
        let server = FaultyServer::start(*fault).await;
        let connected =
            aquifer_upstream::PlainClient::open(server.settings(), aquifer_upstream::ClientCapabilities::None).await;
        let failure = connected.unwrap().call("delete_account", &json!({})).await;
        match failure {
            // Results are returned unchanged.
            Ok(_) => assert!(matches!(fault, Fault::BadResult | Fault::ToolError), "{fault:?}"),
            Err(failure) => {
                assert_eq!(failure.code().as_str(), *code, "{fault:?}");
                assert_eq!(failure.is_outcome_unknown(), *outcome == Unknown, "{fault:?}");
            }
        }
        assert_eq!(server.executed("delete_account"), 1, "{fault:?}");
    }
}

#[tokio::test]
async fn answers_to_questions_do_not_restart_a_call() {
    use Questions::{Empty, Endless, EndlessRoots, One, OneThenGone};
    let able = Arc::new(Client::with_roots("able"));
    let answers = context_for(&able);
    let nobody = context();
    // The kind of question, who is asked, the fault after the answer, the code and outcome, and how often the call was
    // continued. Only answers of the client continue it.
    for (questions, client, fault, code, outcome, continued) in [
        (One, &answers, Fault::Drop, "UPSTREAM_UNAVAILABLE", Unknown, 1),
        (One, &answers, Fault::Status(404), "UPSTREAM_ERROR", Refused, 1),
        (One, &answers, Fault::Status(502), "UPSTREAM_UNAVAILABLE", Unknown, 1),
        (One, &answers, Fault::Answer(200), "UPSTREAM_ERROR", Unknown, 1),
        (OneThenGone, &answers, Fault::None, "UPSTREAM_UNAVAILABLE", Unknown, 0),
        (Endless, &answers, Fault::None, "UPSTREAM_ERROR", Unknown, 4),
        (EndlessRoots, &answers, Fault::None, "UPSTREAM_ERROR", Unknown, 1),
        (Empty, &answers, Fault::None, "UPSTREAM_ERROR", Unknown, 0),
        (One, &nobody, Fault::None, "UPSTREAM_ERROR", Unknown, 0),
        (Endless, &nobody, Fault::None, "UPSTREAM_ERROR", Unknown, 0),
        (EndlessRoots, &nobody, Fault::None, "UPSTREAM_ERROR", Unknown, 0),
        (Empty, &nobody, Fault::None, "UPSTREAM_ERROR", Unknown, 0),
    ] {
        let what = format!("{questions:?} {fault:?}");
        let server = FaultyServer::start(fault).await;
        server.set(|now| now.questions = questions);
        let mut settings = server.settings();
        settings.allow.elicitation = true;
        let gateway = Gateway::ready(settings).await;
        let answer = gateway.ask_as("delete_account", json!({}), client.clone()).await;
        let error = &answer["error"];
        assert_eq!(error["code"], code, "{what}: {error}");
        check_outcome(error, outcome, &what);
        assert_eq!(server.executed("delete_account"), 1, "{what}");
        assert_eq!(server.executed("delete_account continued"), continued, "{what}");
    }
}

#[tokio::test]
async fn many_calls_in_a_lost_session_are_sent_once_each() {
    let server = FaultyServer::start(Fault::Status(404)).await;
    let gateway = Gateway::ready(server.settings()).await;
    let calls = (0..20).map(|_| gateway.ask("delete_account", json!({})));
    let answers = futures::future::join_all(calls).await;
    let unknown = answers.iter().filter(|answer| answer["error"]["details"]["outcome"] == "unknown").count();
    assert_eq!(answers.iter().filter(|answer| answer["success"] == true).count(), 0);
    // A call that found the connection closed before it was sent went into the next session, and no other did.
    assert_eq!(server.executed("delete_account"), unknown);
    server.set(|now| now.fault = Fault::None);
    assert_eq!(gateway.get("delete_account", json!({})).await, "done");
}
