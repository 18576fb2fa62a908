//! No sequence of calls runs a gated operation without its confirmation.

use std::collections::HashMap;

use aquifer_engine::Context;
use aquifer_gate::GateSettings;
use aquifer_gate::confirm::ConfirmSettings;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::harness::{Harness, caller, request, with_token};

const CALLERS: &[(Option<&str>, Option<&str>)] =
    &[(Some("a"), Some("1")), (Some("a"), Some("2")), (Some("b"), Some("1")), (None, Some("1")), (None, None)];
const GATED: &[&str] = &["alpha_delete_thing", "beta_delete_thing", "alpha_purge_thing", "beta_drop_thing"];

/// One step of a sequence.
#[derive(Debug, Clone)]
enum Step {
    /// Sends a call, without a token or with an earlier one, which may be damaged.
    Call { call: Call, token: Option<usize>, damaged: bool },
    /// Sends a batch.
    Batch(Vec<(Call, Option<usize>)>, usize),
    /// Waits.
    Wait(u64),
}

/// A gated call, by its parts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Call {
    operation: usize,
    id: u8,
    caller: usize,
}

impl Call {
    fn request(&self) -> Value {
        request(GATED[self.operation], json!({ "id": self.id.to_string() }))
    }

    fn context(&self) -> Context {
        let (principal, session) = CALLERS[self.caller];
        caller(principal, session)
    }
}

fn call() -> impl Strategy<Value = Call> {
    (0..GATED.len(), 0_u8..2, 0..CALLERS.len()).prop_map(|(operation, id, caller)| Call { operation, id, caller })
}

fn step() -> impl Strategy<Value = Step> {
    let token = || proptest::option::weighted(0.7, any::<prop::sample::Index>().prop_map(|index| index.index(1 << 16)));
    prop_oneof![
        8 => (call(), token(), prop::bool::weighted(0.1))
            .prop_map(|(call, token, damaged)| Step::Call { call, token, damaged }),
        2 => (prop::collection::vec((call(), token()), 1..4), 0..CALLERS.len())
            .prop_map(|(calls, caller)| Step::Batch(calls, caller)),
        1 => (0_u64..400).prop_map(Step::Wait),
    ]
}

/// The tokens that were issued: for which call, and when.
#[derive(Default)]
struct Ledger {
    tokens: Vec<(String, Call, u64)>,
    used: HashMap<String, usize>,
}

impl Ledger {
    fn pick(&self, index: usize) -> Option<String> {
        (!self.tokens.is_empty()).then(|| self.tokens[index % self.tokens.len()].0.clone())
    }

    /// Records the tokens and executions in a response.
    fn note(&mut self, answer: &Value, call: &Call, token: Option<&str>, now: u64) {
        if answer["success"] == true {
            let token = token.expect("a gated call was done without a token");
            let (_, issued_for, at) =
                self.tokens.iter().find(|(known, _, _)| known == token).expect("a token nobody was given");
            assert_eq!(issued_for, call, "a token did for another call");
            let lifetime = if call.operation == 3 { 120 } else { 300 };
            assert!(now - at <= lifetime + 30, "an expired token did");
            *self.used.entry(token.to_owned()).or_default() += 1;
            assert_eq!(self.used[token], 1, "a token did twice");
        } else if token.is_none()
            && let Some(token) = answer["error"]["details"]["confirmation_token"].as_str()
        {
            self.tokens.push((token.to_owned(), call.clone(), now));
        }
    }
}

async fn walk(steps: Vec<Step>) {
    let policy = serde_json::from_value(json!({ "strength": { "dangerous": "token", "forbidden": "token" } })).unwrap();
    let confirm = ConfirmSettings { issued_per_minute: 10_000, wrong_per_minute: 10_000, ..ConfirmSettings::default() };
    let harness = Harness::new(&GateSettings { policy, confirm, ..GateSettings::default() });
    let (mut ledger, mut now) = (Ledger::default(), 0);
    for step in steps {
        match step {
            Step::Wait(seconds) => {
                harness.clock.advance(seconds);
                now += seconds;
            }
            Step::Call { call, token, damaged } => {
                let token = token.and_then(|index| ledger.pick(index));
                let token = token.map(|token| if damaged { token.replace(['a', 'b', 'c'], "d") } else { token });
                let sent = match &token {
                    Some(token) => with_token(call.request(), token),
                    None => call.request(),
                };
                let answer = harness.ask_as(sent, call.context()).await;
                ledger.note(&answer, &call, token.as_deref(), now);
            }
            Step::Batch(calls, caller) => {
                let calls: Vec<(Call, Option<String>)> = calls
                    .into_iter()
                    .map(|(call, token)| (Call { caller, ..call }, token.and_then(|index| ledger.pick(index))))
                    .collect();
                let sent: Vec<Value> = calls
                    .iter()
                    .map(|(call, token)| match token {
                        Some(token) => with_token(call.request(), token),
                        None => call.request(),
                    })
                    .collect();
                let context = calls[0].0.context();
                let answer = harness.ask_as(json!({ "operations": sent }), context).await;
                for result in answer["results"].as_array().into_iter().flatten().chain(answer.get("halted_at")) {
                    let (call, token) = &calls[usize::try_from(result["index"].as_u64().unwrap()).unwrap()];
                    ledger.note(&result["result"], call, token.as_deref(), now);
                }
            }
        }
    }
    assert_eq!(harness.done().len(), ledger.used.len(), "something was done that nobody was told of");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn r_saf_3_no_sequence_of_calls_runs_a_gated_operation_without_its_confirmation(
        steps in prop::collection::vec(step(), 1..60)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(walk(steps));
    }
}

/// The test above is not vacuous: with these steps, calls do run.
#[tokio::test]
async fn r_saf_3_the_walk_reaches_calls_that_are_done() {
    let call = Call { operation: 0, id: 1, caller: 0 };
    let asked = || Step::Call { call: call.clone(), token: None, damaged: false };
    let sent = || Step::Call { call: call.clone(), token: Some(0), damaged: false };
    walk(vec![asked(), sent(), sent(), Step::Wait(331), sent()]).await;
    let batch = Step::Batch(vec![(call.clone(), Some(0)), (call.clone(), None)], 0);
    walk(vec![asked(), batch]).await;
}
