//! Servers that are hard to check: reports name the operation or the parameter that a check could not use.

use std::time::Duration;

use aquifer_conformance::options::Options;
use aquifer_conformance::record::Mode;
use aquifer_conformance::report::{Report, Verdict};
use aquifer_conformance::run::run;
use aquifer_conformance::{Connection, Connector, SimulatedUser, TransportError};
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::adapter::Library;
use crate::{describe_problems, ids_with, run_with_writes};

/// A pattern that no value can be generated for.
const PATTERN: &str = "^(?!Admin).+$";

/// What is different from the library.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Difference {
    /// Each answer of `list_authors` has another number.
    Varies,
    /// Answers of `list_authors` have a number in batches.
    VariesInBatches,
    /// A required text of new rows has a pattern, and neither rows nor examples have one.
    Pattern,
}

struct UnusualLibrary(Difference);

struct UnusualConnection {
    difference: Difference,
    library: Box<dyn Connection>,
    calls: usize,
}

impl Connector for UnusualLibrary {
    fn open(&self, mode: Option<Mode>) -> BoxFuture<'_, Result<Option<Box<dyn Connection>>, TransportError>> {
        Box::pin(async move {
            let library = Library::default().open(mode).await?.unwrap();
            let connection: Box<dyn Connection> = Box::new(UnusualConnection { difference: self.0, library, calls: 0 });
            Ok(Some(connection))
        })
    }

    fn transport(&self) -> &'static str {
        "memory"
    }
}

impl UnusualConnection {
    fn change(&mut self, arguments: &Value, envelope: &mut Value) {
        self.calls += 1;
        if self.difference == Difference::Pattern {
            return add_pattern(arguments, envelope);
        }
        if arguments["operation"] == "list_authors" && self.difference == Difference::Varies {
            self.number(envelope);
        }
        for result in envelope.get_mut("results").and_then(Value::as_array_mut).into_iter().flatten() {
            if result["operation"] == "list_authors" {
                self.number(&mut result["result"]);
            }
        }
    }

    fn number(&self, envelope: &mut Value) {
        if envelope["success"] == true {
            envelope["data"]["served"] = json!(self.calls);
        }
    }
}

fn add_pattern(arguments: &Value, envelope: &mut Value) {
    let described = arguments["params"]["name"].as_str().unwrap_or_default();
    if let Some(parameters) =
        envelope.pointer_mut("/data/operation/parameters").filter(|_| described.starts_with("create_"))
    {
        let code = json!({"name": "code", "type": "string", "required": true, "pattern": PATTERN});
        parameters.as_array_mut().unwrap().push(code);
    }
}

impl Connection for UnusualConnection {
    fn user(&mut self) -> &mut SimulatedUser {
        self.library.user()
    }

    fn request<'a>(&'a mut self, request: &'a Value) -> BoxFuture<'a, Result<Value, TransportError>> {
        Box::pin(async move {
            let mut reply = self.library.request(request).await?;
            if request["method"] == "tools/call" {
                let mut envelope = reply["result"]["structuredContent"].take();
                self.change(&request["params"]["arguments"], &mut envelope);
                reply["result"]["content"][0]["text"] = json!(envelope.to_string());
                reply["result"]["structuredContent"] = envelope;
            }
            Ok(reply)
        })
    }

    fn notify<'a>(&'a mut self, notification: &'a Value) -> BoxFuture<'a, Result<(), TransportError>> {
        self.library.notify(notification)
    }

    fn send_raw<'a>(
        &'a mut self,
        bytes: &'a [u8],
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Option<Value>, TransportError>> {
        self.library.send_raw(bytes, timeout)
    }
}

/// The detail of a check.
fn detail<'a>(report: &'a Report, id: &str) -> &'a str {
    let mut tests = report.categories.iter().flat_map(|section| &section.tests);
    &tests.find(|test| test.id == id).unwrap().detail
}

#[tokio::test]
async fn a_read_whose_answers_vary_is_named_in_the_check_of_batches() {
    let only = vec!["batch.results".to_owned()];
    let options = Options { only, ..Options::default() };
    for (difference, verdict, words) in [
        (Difference::Varies, Verdict::Pass, "list_authors was left out because its answers vary"),
        (
            Difference::VariesInBatches,
            Verdict::Fail,
            "results[1]: the result of 'list_authors' differs from the same request made alone",
        ),
    ] {
        let report = run(&UnusualLibrary(difference), &options, |_| {}).await.unwrap().report;
        assert_eq!(ids_with(&report, verdict), ["batch.results"], "{difference:?}: {}", describe_problems(&report));
        assert!(detail(&report, "batch.results").contains(words), "{}", detail(&report, "batch.results"));
    }
}

#[tokio::test]
async fn checks_that_are_skipped_for_want_of_a_value_name_the_parameter_and_its_pattern() {
    let report = run_with_writes(&UnusualLibrary(Difference::Pattern)).await.report;
    let skipped = ids_with(&report, Verdict::Skip);
    for id in ["roundtrip.create", "roundtrip.update", "roundtrip.delete"] {
        assert!(skipped.contains(&id.to_owned()), "{id}: {}", describe_problems(&report));
        let (parameter, pattern) = ("no value was found for 'code'", format!("matches the pattern {PATTERN}"));
        let detail = detail(&report, id);
        assert!(detail.contains("create_author") && detail.contains(parameter), "{id}: {detail}");
        assert!(detail.contains(&pattern), "{id}: {detail}");
    }
    assert!(ids_with(&report, Verdict::Fail).is_empty(), "{}", describe_problems(&report));
}
