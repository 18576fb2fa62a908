//! Servers that are hardly one: never passed, never a panic, never a hang.

use std::time::Duration;

use aquifer_conformance::options::Options;
use aquifer_conformance::record::Mode;
use aquifer_conformance::report::Verdict;
use aquifer_conformance::run::{Unreachable, run};
use aquifer_conformance::{Broken, Dial, Target, Wire};
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::adapter::Library;
use crate::{full, told, with};

/// What a server does when it is asked.
#[derive(Clone, Copy, Debug)]
enum Manner {
    /// It has no tools.
    NoTools,
    /// Its tools take no operations.
    OtherTools,
    /// It lists no operation.
    NoOperations,
    /// It answers everything with an empty object.
    Empty,
    /// It answers calls with something that is no envelope.
    Garbage,
    /// It answers every call with success and nothing else.
    YesMan,
    /// It is the good library until so many calls were made, and then never answers again.
    HangsAfter(usize),
    /// It is the good library until so many calls were made, and then is gone.
    DiesAfter(usize),
    /// It is the good library but for one operation, which is never answered.
    HangsOn(&'static str),
}

struct Failing(Manner);

impl Dial for Failing {
    fn open(&self, mode: Option<Mode>) -> BoxFuture<'_, Result<Option<Box<dyn Wire>>, Broken>> {
        Box::pin(async move {
            let good = Library::default().open(mode).await?.unwrap();
            let wire: Box<dyn Wire> = Box::new(Line { manner: self.0, good, calls: 0 });
            Ok(Some(wire))
        })
    }

    fn transport(&self) -> &'static str {
        "memory"
    }
}

struct Line {
    manner: Manner,
    good: Box<dyn Wire>,
    calls: usize,
}

impl Wire for Line {
    fn ask<'a>(&'a mut self, request: &'a Value) -> BoxFuture<'a, Result<Value, Broken>> {
        Box::pin(async move {
            let answer = |result: Value| Ok(json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
            let envelope =
                |envelope: Value| answer(json!({"content": [{"type": "text", "text": envelope.to_string()}]}));
            let calling = request["method"] == "tools/call";
            let listing = request["method"] == "tools/list";
            self.calls += usize::from(calling);
            match self.manner {
                Manner::Empty if !calling => answer(json!({"tools": []})),
                Manner::NoTools if listing => answer(json!({"tools": []})),
                Manner::OtherTools if listing => answer(
                    json!({"tools": [{"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {}}}}]}),
                ),
                Manner::NoOperations if calling => envelope(json!({"success": true, "data": {"operations": []}})),
                Manner::Garbage if calling => {
                    answer(json!({"content": [{"type": "text", "text": "Internal server error"}]}))
                }
                Manner::YesMan if calling => envelope(json!({"success": true, "data": {}})),
                Manner::HangsAfter(calls) if self.calls > calls => futures::future::pending().await,
                Manner::HangsOn(name) if request["params"]["arguments"]["operation"] == name => {
                    futures::future::pending().await
                }
                Manner::DiesAfter(calls) if self.calls > calls => Err(Broken("the server ended".into())),
                _ => self.good.ask(request).await,
            }
        })
    }

    fn tell<'a>(&'a mut self, notification: &'a Value) -> BoxFuture<'a, Result<(), Broken>> {
        self.good.tell(notification)
    }

    fn raw<'a>(&'a mut self, bytes: &'a [u8], timeout: Duration) -> BoxFuture<'a, Result<Option<Value>, Broken>> {
        self.good.raw(bytes, timeout)
    }
}

#[tokio::test]
async fn a_server_without_anything_passes_nothing_that_counts() {
    for manner in
        [Manner::NoTools, Manner::OtherTools, Manner::NoOperations, Manner::Empty, Manner::Garbage, Manner::YesMan]
    {
        let report = full(&Failing(manner)).await.report;
        assert_eq!(report.conformance_level, 0, "{manner:?}");
        let failed = with(&report, Verdict::Fail);
        assert!(failed.contains(&"introspection.operations".to_owned()), "{manner:?}: {}", told(&report));
        let tests = report.categories.iter().flat_map(|section| &section.tests);
        let reasoned = tests.filter(|test| test.result == Verdict::Skip).all(|test| !test.detail.is_empty());
        assert!(reasoned, "{manner:?}: {}", told(&report));
    }
}

#[tokio::test]
async fn a_server_that_hangs_or_dies_fails_where_it_did_and_ends_the_run() {
    for calls in [60, 200, 400] {
        for manner in [Manner::HangsAfter(calls), Manner::DiesAfter(calls)] {
            let options = Options { allow_writes: true, deadline: Duration::from_millis(50), ..Options::default() };
            let report = run(&Failing(manner), &options, |_| {}).await.unwrap().report;
            assert_eq!(report.conformance_level, 0, "{manner:?}");
            assert!(told(&report).contains("it was lost during this check"), "{manner:?}: {}", told(&report));
        }
    }
}

#[tokio::test]
async fn an_operation_that_is_never_answered_fails_alone() {
    let options = Options { deadline: Duration::from_millis(50), ..Options::default() };
    let report = run(&Failing(Manner::HangsOn("search_books")), &options, |_| {}).await.unwrap().report;
    assert_eq!(with(&report, Verdict::Fail), ["requests.accuracy"], "{}", told(&report));
    assert!(told(&report).contains("search_books"), "{}", told(&report));
    assert!(!told(&report).contains("the server is gone"), "{}", told(&report));
}

#[tokio::test]
async fn a_server_that_is_gone_while_it_describes_itself_is_unreachable() {
    for manner in [Manner::HangsAfter(0), Manner::DiesAfter(0), Manner::DiesAfter(5)] {
        let options = Options { deadline: Duration::from_millis(50), ..Options::default() };
        let Err(Unreachable(reason)) = run(&Failing(manner), &options, |_| {}).await else {
            panic!("{manner:?} was reached");
        };
        assert!(reason.contains("no answer within") || reason.contains("ended"), "{reason}");
    }
}

#[tokio::test]
async fn a_command_that_is_no_server_is_unreachable_with_its_reason() {
    let command = |words: &[&str]| Target::Command {
        argv: words.iter().map(|word| (*word).to_owned()).collect(),
        env: Vec::new(),
    };
    let options = Options { deadline: Duration::from_millis(300), ..Options::default() };
    for (target, reason) in [
        (command(&[]), "no command was given"),
        (command(&["/nonexistent/program"]), "cannot be started"),
        (command(&["sh", "-c", "echo no database >&2; exit 3"]), "no database"),
        (command(&["sh", "-c", "echo not JSON; sleep 60"]), "no answer within"),
        (command(&["cat"]), "sends back what it is sent"),
        (Target::Url { url: "nothing".into(), second: None, headers: Vec::new() }, "is no address"),
        (Target::Url { url: "http://127.0.0.1:9/mcp".into(), second: None, headers: Vec::new() }, "cannot be reached"),
    ] {
        let Err(Unreachable(said)) = run(&target, &options, |_| {}).await else { panic!("{target:?} was reached") };
        assert!(said.contains(reason), "{target:?}: {said}");
    }
}
