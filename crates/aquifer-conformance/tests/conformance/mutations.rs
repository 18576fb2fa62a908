//! Random changes to the answers of introspection that make them invalid: each is found by the restated shapes alone.

use std::time::Duration;

use aquifer_conformance::options::Options;
use aquifer_conformance::published::introspection_problems;
use aquifer_conformance::record::Mode;
use aquifer_conformance::report::Verdict;
use aquifer_conformance::run::run;
use aquifer_conformance::{Connection, Connector, SimulatedUser, TransportError};
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::adapter::Library;
use crate::ids_with;

/// A small generator of pseudorandom numbers, so that a failure can be repeated.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit.max(1) as u64).unwrap()
    }

    fn one_of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }
}

/// The members that may not be missing wherever they occur, and those whose values are words of an enum.
const REQUIRED: &[&str] = &[
    "name",
    "semantic_category",
    "endpoint",
    "mcpTool",
    "permissions",
    "parameters",
    "returns",
    "kind",
    "type",
    "required",
    "readOnly",
    "destructive",
    "supported",
    "request",
    "version",
    "operations",
    "data",
    "success",
];
const ENUMS: &[&str] = &["semantic_category", "kind", "functions", "default_mode", "conformance", "mode"];

/// Objects whose content is up to the server.
const FREE: &[&str] = &["default", "enum", "items", "request", "limits", "capabilities", "_protocol"];

/// The paths of all objects whose members are published.
fn objects(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            found.push(path.to_owned());
            for (name, member) in members.iter().filter(|(name, _)| !FREE.contains(&name.as_str())) {
                objects(member, &format!("{path}/{name}"), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                objects(item, &format!("{path}/{index}"), found);
            }
        }
        _ => {}
    }
}

/// Makes an answer invalid in one place. Returns what was done, or `None` if the chosen place does not allow it.
pub(crate) fn mutate(answer: &mut Value, random: &mut Random) -> Option<String> {
    let mut paths = Vec::new();
    objects(answer, "", &mut paths);
    let path = paths[random.below(paths.len())].clone();
    let object = answer.pointer_mut(&path)?.as_object_mut()?;
    match random.below(3) {
        0 => {
            let name = random.one_of(&["danger", "source", "hints", "x_extra", "Description"]);
            object.insert(name.to_owned(), json!("anything"));
            Some(format!("{path}: added '{name}'"))
        }
        1 => {
            let name = random.one_of(REQUIRED);
            object.remove(name).map(|_| format!("{path}: removed '{name}'"))
        }
        _ => {
            let name = random.one_of(ENUMS);
            let wrong = random.one_of(&["count_distinct", "FETCH", "level-3", "both_modes", "interface", ""]);
            match object.get_mut(name)? {
                Value::Array(words) => words.push(json!(wrong)),
                value => *value = json!(wrong),
            }
            Some(format!("{path}: '{name}' became '{wrong}'"))
        }
    }
}

/// A library whose answers of introspection are changed in one place, always in the same way.
struct MutatedLibrary {
    seed: u64,
}

struct MutatedConnection {
    seed: u64,
    good: Box<dyn Connection>,
}

impl Connector for MutatedLibrary {
    fn open(&self, mode: Option<Mode>) -> BoxFuture<'_, Result<Option<Box<dyn Connection>>, TransportError>> {
        Box::pin(async move {
            let good = Library::default().open(mode).await?.unwrap();
            let connection: Box<dyn Connection> = Box::new(MutatedConnection { seed: self.seed, good });
            Ok(Some(connection))
        })
    }

    fn transport(&self) -> &'static str {
        "memory"
    }
}

/// Whether this is the request whose answer is changed: details of operations, of types, or one of the lists.
fn is_target(request: &Value, seed: u64) -> bool {
    let params = &request["params"]["arguments"]["params"];
    let (query, name) = match seed % 4 {
        0 => ("operations", Some("list_books")),
        1 => ("operations", None),
        2 => ("types", Some("UpdateBookInput")),
        _ => ("types", None),
    };
    params["query"] == query && params["name"].as_str() == name
}

impl Connection for MutatedConnection {
    fn user(&mut self) -> &mut SimulatedUser {
        self.good.user()
    }

    fn request<'a>(&'a mut self, request: &'a Value) -> BoxFuture<'a, Result<Value, TransportError>> {
        Box::pin(async move {
            let mut reply = self.good.request(request).await?;
            if is_target(request, self.seed) {
                let mut random = Random::new(self.seed);
                let envelope = &mut reply["result"]["structuredContent"];
                (0..1_000).find_map(|_| mutate(envelope, &mut random)).unwrap();
                reply["result"]["content"][0]["text"] = json!(reply["result"]["structuredContent"].to_string());
            }
            Ok(reply)
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
async fn r_int_1a_a_run_finds_every_random_mutation_of_introspection() {
    let only = ["introspection.", "details.", "answers."].map(str::to_owned).to_vec();
    for seed in 1..=60 {
        let options = Options { only: only.clone(), ..Options::default() };
        let report = run(&MutatedLibrary { seed }, &options, |_| {}).await.unwrap().report;
        assert!(!ids_with(&report, Verdict::Fail).is_empty(), "the mutation of seed {seed} was not found");
    }
}

/// Every answer of the library to a published query.
pub(crate) async fn answers() -> Vec<Value> {
    let mut server = Library::default().open(None).await.unwrap().unwrap();
    let mut answers = Vec::new();
    for (query, list) in [("operations", "/data/operations"), ("types", "/data/types")] {
        let mut asked = vec![json!({"query": query})];
        let mut next = 0;
        while let Some(params) = asked.get(next).cloned() {
            next += 1;
            let arguments = json!({"operation": "introspect", "params": params});
            let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "mcp_aql_read", "arguments": arguments}});
            let answer = server.request(&request).await.unwrap()["result"]["structuredContent"].clone();
            let names = answer.pointer(list).and_then(Value::as_array).cloned().unwrap_or_default();
            asked.extend(names.iter().map(|item| json!({"query": query, "name": item["name"]})));
            answers.push(answer);
        }
    }
    answers
}

#[tokio::test]
async fn r_int_1a_restated_shapes_find_every_random_mutation() {
    let answers = answers().await;
    let mut random = Random::new(7);
    for answer in &answers {
        assert_eq!(introspection_problems(answer), Vec::<String>::new(), "{answer}");
    }
    let mut tried = 0;
    while tried < 3_000 {
        let mut answer = answers[random.below(answers.len())].clone();
        let Some(mutation) = mutate(&mut answer, &mut random) else { continue };
        tried += 1;
        assert!(!introspection_problems(&answer).is_empty(), "{mutation} is not found in {answer}");
    }
}
