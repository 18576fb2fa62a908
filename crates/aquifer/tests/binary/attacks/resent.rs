//! Upstreams that carry a call out and then fail, and upstreams that refuse what is optional (items 1, 2 and 15).

use serde_json::{Value, json};

use super::{Round, World, destroying, in_every_setting, reading, tool};
use crate::support::{Transport, until};

/// How the hostile server fails after it has carried a call out, and what is on record then.
fn faults(transport: Transport) -> Vec<(Value, &'static str)> {
    let mut faults = vec![(json!("die"), "unknown"), (json!("huge"), "unknown")];
    if transport == Transport::Http {
        faults.extend([(json!(400), "failed"), (json!(404), "unknown"), (json!(500), "unknown")]);
    }
    faults
}

#[test]
fn r_saf_3_a_confirmed_call_is_executed_once_and_its_outcome_is_on_record() {
    carried_out_once(faults, 60);
}

/// Apart from the others, because it takes as long as a call may take.
#[test]
fn r_saf_3_a_confirmed_call_that_is_not_answered_is_executed_once() {
    carried_out_once(|_| vec![(json!("hang"), "unknown")], 3);
}

fn carried_out_once(faults: fn(Transport) -> Vec<(Value, &'static str)>, timeout_seconds: u32) {
    let name = |fault: &Value| format!("delete_{}", fault.as_str().map_or(fault.to_string(), str::to_owned));
    let mut used: Vec<(String, String)> = Vec::new();
    in_every_setting(
        &Transport::BOTH,
        |setting| {
            let faults = faults(setting.upstream);
            let mut tools: Vec<Value> = faults.iter().map(|(fault, _)| destroying(&name(fault))).collect();
            tools.push(reading("get_account"));
            let faults: Value = faults.iter().map(|(fault, _)| (name(fault), fault.clone())).collect();
            let script = json!({ "tools": tools, "faults": faults, "stream": true });
            let settings = format!("timeout_seconds = {timeout_seconds}\nmax_answer_bytes = 1000000\n");
            World::with_upstream(setting, &script, &settings, "")
        },
        |world, round| {
            let executions = if round == Round::First { 1 } else { 2 };
            if round == Round::Restarted {
                // What was used up before the restart stays used up.
                for (tool, token) in used.drain(..) {
                    let params = json!({ "id": "7", "confirmation_token": token });
                    let answer = world.call("delete", &tool, params);
                    assert_ne!(answer["success"], true, "{tool}: {answer}");
                    assert_eq!(world.executed(&tool).len(), 1, "{tool}: {answer}");
                }
            }
            for (fault, result) in faults(world.setting.upstream) {
                let tool = name(&fault);
                until("it may be called", || {
                    (world.call("read", "get_account", json!({}))["success"] == true).then_some(())
                });
                let (answer, token) = world.confirmed("delete", &tool, json!({ "id": "7" }));
                assert_eq!(answer["success"], false, "{tool}: {answer}");
                let outcome = &answer["error"]["details"]["outcome"];
                assert_eq!(*outcome == "unknown", result == "unknown", "{tool}: {answer}");
                // The same token again, as a client does that has not understood.
                let params = json!({ "id": "7", "confirmation_token": token });
                let again = world.call("delete", &tool, params);
                assert_eq!(again["error"]["code"], "TOKEN_ALREADY_USED", "{tool}: {again}");
                assert_eq!(world.executed(&tool).len(), executions, "{tool}");
                used.push((tool, token));
            }
            for (fault, result) in faults(world.setting.upstream) {
                let operation = world.name(&name(&fault));
                let of = |event: &str| -> Vec<Value> {
                    let entries = world.audited(event).into_iter();
                    entries.filter(|entry| entry["operation"] == operation.as_str()).collect()
                };
                let outcomes = until("every outcome is on record", || {
                    let outcomes = of("OPERATION_OUTCOME");
                    (outcomes.len() >= executions).then_some(outcomes)
                });
                assert!(outcomes.iter().all(|outcome| outcome["result"] == result), "{operation}: {outcomes:?}");
                assert_eq!((of("OPERATION_INTENT").len(), outcomes.len()), (executions, executions), "{operation}");
            }
            if round == Round::Restarted {
                used.clear();
            }
        },
    );
}

#[test]
fn r_dis_7_a_server_that_refuses_the_stream_keeps_its_session() {
    let script = json!({ "tools": [reading("get_account"), tool("create_note", json!({}), json!({ "destructiveHint": false }))] });
    in_every_setting(
        &[Transport::Http],
        |setting| World::with_upstream(setting, &script, "", ""),
        |world, round| {
            let restarts = usize::from(round == Round::Restarted);
            until("the stream is asked for", || (world.heard("HTTP GET") > restarts).then_some(()));
            for _ in 0..15 {
                world.data("read", "get_account", json!({}));
                world.data("create", "create_note", json!({}));
            }
            // One session for each run, which does not end before it does.
            assert_eq!(world.heard("HTTP POST outside a session"), 0);
            assert_eq!(world.heard("initialize"), restarts + 1);
            assert!(world.heard("HTTP DELETE") <= restarts);
            assert_eq!(world.executed("create_note").len(), 15 * (restarts + 1));
        },
    );
}
