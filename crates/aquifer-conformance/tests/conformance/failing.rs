//! Servers that misbehave: runs never pass, panic or hang.

use std::time::Duration;

use aquifer_conformance::options::Options;
use aquifer_conformance::record::Mode;
use aquifer_conformance::report::Verdict;
use aquifer_conformance::run::{RunError, run};
use aquifer_conformance::{Connection, Connector, SimulatedUser, Target, TransportError};
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::adapter::Library;
use crate::{describe_problems, ids_with, run_with_writes};

/// Every call that is never answered takes this long. Far more than an in-memory server needs on a busy machine.
const HANG_DEADLINE: Duration = Duration::from_secs(1);

/// How a server misbehaves.
#[derive(Clone, Copy, Debug)]
enum Misbehavior {
    /// It has no tools.
    NoTools,
    /// Its tools take no operations.
    OtherTools,
    /// It lists no operation.
    NoOperations,
    /// It answers everything with an empty object.
    Empty,
    /// It answers calls with something that is not an envelope.
    Garbage,
    /// It answers every call with success and nothing else.
    YesMan,
    /// It works for this many calls, and then never answers again.
    HangsAfter(usize),
    /// It works for this many calls, and then ends.
    DiesAfter(usize),
    /// It works, but never answers one operation.
    HangsOn(&'static str),
}

struct FailingServer(Misbehavior);

impl Connector for FailingServer {
    fn open(&self, mode: Option<Mode>) -> BoxFuture<'_, Result<Option<Box<dyn Connection>>, TransportError>> {
        Box::pin(async move {
            let good = Library::default().open(mode).await?.unwrap();
            let connection: Box<dyn Connection> = Box::new(FailingConnection { misbehavior: self.0, good, calls: 0 });
            Ok(Some(connection))
        })
    }

    fn transport(&self) -> &'static str {
        "memory"
    }
}

struct FailingConnection {
    misbehavior: Misbehavior,
    good: Box<dyn Connection>,
    calls: usize,
}

impl Connection for FailingConnection {
    fn user(&mut self) -> &mut SimulatedUser {
        self.good.user()
    }

    fn request<'a>(&'a mut self, request: &'a Value) -> BoxFuture<'a, Result<Value, TransportError>> {
        Box::pin(async move {
            let answer = |result: Value| Ok(json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
            let envelope =
                |envelope: Value| answer(json!({"content": [{"type": "text", "text": envelope.to_string()}]}));
            let calling = request["method"] == "tools/call";
            let listing = request["method"] == "tools/list";
            self.calls += usize::from(calling);
            match self.misbehavior {
                Misbehavior::Empty if !calling => answer(json!({"tools": []})),
                Misbehavior::NoTools if listing => answer(json!({"tools": []})),
                Misbehavior::OtherTools if listing => answer(
                    json!({"tools": [{"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {}}}}]}),
                ),
                Misbehavior::NoOperations if calling => envelope(json!({"success": true, "data": {"operations": []}})),
                Misbehavior::Garbage if calling => {
                    answer(json!({"content": [{"type": "text", "text": "Internal server error"}]}))
                }
                Misbehavior::YesMan if calling => envelope(json!({"success": true, "data": {}})),
                Misbehavior::HangsAfter(calls) if self.calls > calls => futures::future::pending().await,
                Misbehavior::HangsOn(name) if request["params"]["arguments"]["operation"] == name => {
                    futures::future::pending().await
                }
                Misbehavior::DiesAfter(calls) if self.calls > calls => Err(TransportError("the server ended".into())),
                _ => self.good.request(request).await,
            }
        })
    }

    fn notify<'a>(&'a mut self, notification: &'a Value) -> BoxFuture<'a, Result<(), TransportError>> {
        self.good.notify(notification)
    }

    fn send_raw<'a>(
        &'a mut self,
        bytes: &'a [u8],
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Option<Value>, TransportError>> {
        self.good.send_raw(bytes, timeout)
    }
}

#[tokio::test]
async fn a_server_without_operations_gets_no_level() {
    for misbehavior in [
        Misbehavior::NoTools,
        Misbehavior::OtherTools,
        Misbehavior::NoOperations,
        Misbehavior::Empty,
        Misbehavior::Garbage,
        Misbehavior::YesMan,
    ] {
        let report = run_with_writes(&FailingServer(misbehavior)).await.report;
        assert_eq!(report.conformance_level, 0, "{misbehavior:?}");
        let failed = ids_with(&report, Verdict::Fail);
        assert!(
            failed.contains(&"introspection.operations".to_owned()),
            "{misbehavior:?}: {}",
            describe_problems(&report)
        );
        let tests = report.categories.iter().flat_map(|section| &section.tests);
        let reasoned = tests.filter(|test| test.result == Verdict::Skip).all(|test| !test.detail.is_empty());
        assert!(reasoned, "{misbehavior:?}: {}", describe_problems(&report));
    }
}

#[tokio::test]
async fn a_server_that_hangs_or_dies_fails_the_current_check() {
    for calls in [60, 200, 400] {
        for misbehavior in [Misbehavior::HangsAfter(calls), Misbehavior::DiesAfter(calls)] {
            let options = Options { allow_writes: true, deadline: HANG_DEADLINE, ..Options::default() };
            let report = run(&FailingServer(misbehavior), &options, |_| {}).await.unwrap().report;
            assert_eq!(report.conformance_level, 0, "{misbehavior:?}");
            assert!(
                describe_problems(&report).contains("it was lost during this check"),
                "{misbehavior:?}: {}",
                describe_problems(&report)
            );
        }
    }
}

#[tokio::test]
async fn an_operation_that_is_never_answered_fails_alone() {
    let options = Options { deadline: HANG_DEADLINE, ..Options::default() };
    let report = run(&FailingServer(Misbehavior::HangsOn("search_books")), &options, |_| {}).await.unwrap().report;
    assert_eq!(ids_with(&report, Verdict::Fail), ["requests.accuracy"], "{}", describe_problems(&report));
    assert!(describe_problems(&report).contains("search_books"), "{}", describe_problems(&report));
    assert!(!describe_problems(&report).contains("the server was lost:"), "{}", describe_problems(&report));
}

#[tokio::test]
async fn a_server_lost_during_introspection_is_unreachable() {
    for misbehavior in [Misbehavior::HangsAfter(0), Misbehavior::DiesAfter(0), Misbehavior::DiesAfter(5)] {
        let options = Options { deadline: HANG_DEADLINE, ..Options::default() };
        let Err(RunError(reason)) = run(&FailingServer(misbehavior), &options, |_| {}).await else {
            panic!("{misbehavior:?} was reached");
        };
        assert!(reason.contains("no answer within") || reason.contains("ended"), "{reason}");
    }
}

#[tokio::test]
async fn a_command_that_is_not_a_server_is_unreachable_with_a_reason() {
    let command = |words: &[&str]| Target::Command {
        argv: words.iter().map(|word| (*word).to_owned()).collect(),
        env: Vec::new(),
    };
    // Only the server that never answers takes this long.
    let options = Options { deadline: Duration::from_secs(5), ..Options::default() };
    for (target, reason) in [
        (command(&[]), "no command was given"),
        (command(&["/nonexistent/program"]), "cannot be started"),
        (command(&["sh", "-c", "echo no database >&2; exit 3"]), "no database"),
        (command(&["sh", "-c", "echo not JSON; sleep 60"]), "no answer within"),
        (command(&["cat"]), "echoes its input"),
        (Target::Url { url: "nothing".into(), second: None, headers: Vec::new() }, "is not a URL"),
        (Target::Url { url: "http://127.0.0.1:9/mcp".into(), second: None, headers: Vec::new() }, "cannot be reached"),
    ] {
        let Err(RunError(message)) = run(&target, &options, |_| {}).await else { panic!("{target:?} was reached") };
        assert!(message.contains(reason), "{target:?}: {message}");
    }
}
