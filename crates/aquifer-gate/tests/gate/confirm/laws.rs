//! No sequence of calls runs a gated operation without its confirmation.

use std::collections::HashSet;

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
    /// Sends the calls that an earlier token was issued for with that token, perhaps changed.
    Resume { token: usize, is_beside: bool, change: Option<(Change, usize)> },
    /// Waits.
    Wait(u64),
}

/// How a batch differs from the confirmed one.
#[derive(Debug, Clone, Copy)]
enum Change {
    Drop,
    Repeat,
    Swap,
    OtherId,
    OtherOperation,
    OtherCaller,
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
        4 => (any::<prop::sample::Index>(), any::<bool>(), proptest::option::weighted(0.5, (change(), 0_usize..4)))
            .prop_map(|(token, is_beside, change)| Step::Resume { token: token.index(1 << 16), is_beside, change }),
        1 => (0_u64..400).prop_map(Step::Wait),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    use Change::{Drop, OtherCaller, OtherId, OtherOperation, Repeat, Swap};
    prop::sample::select(vec![Drop, Repeat, Swap, OtherId, OtherOperation, OtherCaller])
}

impl Change {
    fn apply(self, calls: &mut Vec<Call>, index: usize) {
        let index = index % calls.len();
        match self {
            Change::Drop if calls.len() > 1 => drop(calls.remove(index)),
            Change::Repeat => calls.insert(index, calls[index].clone()),
            Change::Swap => calls.rotate_left(index),
            Change::OtherId | Change::Drop => calls[index].id ^= 1,
            Change::OtherOperation => calls[index].operation = (calls[index].operation + 1) % GATED.len(),
            Change::OtherCaller => calls.iter_mut().for_each(|call| call.caller = (call.caller + 1) % CALLERS.len()),
        }
    }
}

/// The tokens that were issued: for which calls, and when.
#[derive(Default)]
struct Ledger {
    tokens: Vec<(String, Vec<Call>, u64)>,
    used: HashSet<String>,
    done: usize,
}

impl Ledger {
    fn pick(&self, index: usize) -> Option<String> {
        (!self.tokens.is_empty()).then(|| self.tokens[index % self.tokens.len()].0.clone())
    }

    /// Records the tokens and executions in a response. The request consisted of these calls, each with the token that it
    /// was sent with.
    fn note(&mut self, answer: &Value, sent: &[(Call, Option<String>)], beside: Option<&str>, now: u64) {
        let is_batch = answer.get("results").is_some();
        let alone = [json!({ "index": 0, "result": answer })];
        let results = if is_batch { answer["results"].as_array().unwrap().as_slice() } else { &alone };
        let calls: Vec<Call> = sent.iter().map(|(call, _)| call.clone()).collect();
        let mut used_now = HashSet::new();
        for result in results.iter().filter(|result| result["result"]["success"] == true) {
            let (call, own) = &sent[usize::try_from(result["index"].as_u64().unwrap()).unwrap()];
            let tokens = own.iter().map(String::as_str).chain(sent.iter().filter_map(|(_, token)| token.as_deref()));
            let issued = |token: &str| self.tokens.iter().find(|(known, _, _)| known == token);
            let is_for = |token: &&str| {
                issued(token).is_some_and(|(_, issued, _)| *issued == calls || *issued == [call.clone()])
            };
            let token =
                tokens.chain(beside).find(is_for).expect("a gated call was done without a token for it").to_owned();
            let (_, issued, at) = issued(&token).unwrap();
            let lifetime = if issued.iter().any(|call| call.operation == 3) { 120 } else { 300 };
            assert!(now - at <= lifetime + 30, "an expired token did");
            assert!(!self.used.contains(&token), "a token did twice");
            let is_first = used_now.insert(token);
            assert!(is_first || issued.len() > 1, "a token for one call did for two");
            self.done += 1;
        }
        self.used.extend(used_now);
        let waits = if is_batch { &answer["halted_at"]["result"] } else { answer };
        if let Some(token) = waits["error"]["details"]["confirmation_token"].as_str()
            && !self.tokens.iter().any(|(known, _, _)| known == token)
        {
            let pending = answer["pending_operations"].as_array().into_iter().flatten();
            let is_for_all = waits["error"]["details"].get("covers").is_some();
            let again = std::iter::once(&answer["halted_at"]).chain(pending.filter(|_| is_for_all));
            let index = |entry: &Value| usize::try_from(entry["index"].as_u64().unwrap_or_default()).unwrap();
            let issued = again.map(|entry| calls[index(entry)].clone()).collect();
            self.tokens.push((token.to_owned(), issued, now));
        }
    }
}

/// Takes the steps. Returns how many calls were done.
async fn walk(steps: Vec<Step>) -> usize {
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
                ledger.note(&answer, &[(call, token)], None, now);
            }
            Step::Resume { token, is_beside, change } => {
                if ledger.tokens.is_empty() {
                    continue;
                }
                let (token, mut calls, _) = ledger.tokens[token % ledger.tokens.len()].clone();
                if let Some((change, index)) = change {
                    change.apply(&mut calls, index);
                }
                let context = calls[0].context();
                let mut sent: Vec<(Call, Option<String>)> = calls.into_iter().map(|call| (call, None)).collect();
                if !is_beside {
                    sent[0].1 = Some(token.clone());
                }
                let operations: Vec<Value> = sent
                    .iter()
                    .map(|(call, token)| match token {
                        Some(token) => with_token(call.request(), token),
                        None => call.request(),
                    })
                    .collect();
                let beside = is_beside.then_some(&*token);
                let mut request = json!({ "operations": operations });
                if let Some(token) = beside {
                    request["confirmation_token"] = token.into();
                }
                let answer = harness.ask_as(request, context).await;
                ledger.note(&answer, &sent, beside, now);
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
                ledger.note(&answer, &calls, None, now);
            }
        }
    }
    assert_eq!(harness.done().len(), ledger.done, "something was done that nobody was told of");
    ledger.done
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
    assert_eq!(walk(vec![asked(), sent(), sent(), Step::Wait(331), sent()]).await, 1);
    let batch = Step::Batch(vec![(call.clone(), Some(0)), (call.clone(), None)], 0);
    assert_eq!(walk(vec![asked(), batch]).await, 1);
    let others = vec![(call.clone(), None), (Call { id: 0, ..call.clone() }, None), (call, None)];
    let resume = |is_beside| Step::Resume { token: 0, is_beside, change: None };
    assert_eq!(walk(vec![Step::Batch(others.clone(), 0), resume(true), resume(true)]).await, 3);
    assert_eq!(walk(vec![Step::Batch(others, 0), resume(false), resume(false)]).await, 3);
}
