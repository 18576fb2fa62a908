//! Batches as a client sends them: values from earlier answers, and one confirmation for all of a batch.

use serde_json::{Value, json};

use crate::support::{Folder, StdioServer, forgetful};

const NOTES: &str = "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL, secret TEXT);
    INSERT INTO notes (text, secret) VALUES ('a', 's1'), ('b', 's2'), ('c', 's3'), ('d', 's4'), ('e', 's5'), ('f', 's6');";

fn serve(folder: &Folder, capabilities: &Value) -> StdioServer {
    let database = folder.database("notes.db", NOTES);
    let source = format!("[[source]]\ntarget = \"sqlite:{database}\"\n[source.tables.notes]\nhide = [\"secret\"]\n");
    let config = folder.file("aquifer.toml", &source);
    let mut piped = StdioServer::spawn(forgetful(folder).args(["serve", "--mode", "single", "--config", &config]));
    let client = json!({ "name": "tests", "version": "1" });
    piped.request(
        "initialize",
        json!({ "protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": client }),
    );
    piped.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    piped
}

/// Sends a request, answers questions, and gives the response and the questions.
fn call(piped: &mut StdioServer, arguments: &Value, action: &str) -> (Value, Vec<String>) {
    let params = json!({ "name": "mcp_aql", "arguments": arguments });
    piped.send(&json!({ "jsonrpc": "2.0", "id": "call", "method": "tools/call", "params": params }));
    let mut asked = Vec::new();
    loop {
        let message = piped.receive();
        if message["method"] == "elicitation/create" {
            asked.push(message["params"]["message"].as_str().unwrap().to_owned());
            let result = json!({ "action": action, "content": {} });
            piped.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }));
        } else if message["id"] == "call" {
            return (message["result"]["structuredContent"].clone(), asked);
        }
    }
}

fn deletions(ids: &[u32]) -> Vec<Value> {
    ids.iter().map(|id| json!({ "operation": "delete_note", "params": { "id": id } })).collect()
}

fn remaining(piped: &mut StdioServer) -> Value {
    let list = json!({ "operation": "list_notes", "params": { "fields": ["id"] } });
    let (answer, _) = call(piped, &json!({ "operations": [list] }), "cancel");
    answer["results"][0]["result"]["data"]["items"].as_array().unwrap().iter().map(|item| item["id"].clone()).collect()
}

#[test]
fn r_ext_4_a_person_confirms_five_deletions_with_one_yes() {
    let folder = Folder::new();
    let mut piped = serve(&folder, &json!({ "elicitation": {} }));
    let batch = json!({ "operations": deletions(&[1, 2, 3, 4, 5]) });
    let other = json!({ "operations": deletions(&[5, 4, 3, 2, 1]) });
    for questions in [1, 0] {
        let (declined, asked) = call(&mut piped, &other, "decline");
        assert_eq!(declined["error"]["code"], "PERMISSION_DENIED", "{declined}");
        assert_eq!(asked.len(), questions, "what was declined is not asked about again");
    }
    assert_eq!(remaining(&mut piped), json!([1, 2, 3, 4, 5, 6]));
    let (answer, asked) = call(&mut piped, &batch, "accept");
    assert_eq!(answer["summary"], json!({ "total": 5, "succeeded": 5, "failed": 0 }), "{answer}");
    let [question] = asked.as_slice() else { panic!("{asked:?}") };
    for id in 1..=5 {
        assert!(question.contains(&format!("\n  id = {id}")), "{question}");
    }
    assert_eq!(remaining(&mut piped), json!([6]));
}

#[test]
fn r_ext_4_a_token_confirms_five_deletions_and_no_others() {
    let folder = Folder::new();
    let mut piped = serve(&folder, &json!({}));
    let (halted, _) = call(&mut piped, &json!({ "operations": deletions(&[1, 2, 3, 4, 5]) }), "cancel");
    let token = &halted["halted_at"]["result"]["error"]["details"]["confirmation_token"];
    for (ids, code) in [
        (vec![1, 2, 3, 4, 6], "TOKEN_SCOPE_MISMATCH"),
        (vec![1, 2, 3, 4], "TOKEN_SCOPE_MISMATCH"),
        (vec![2, 1, 3, 4, 5], "TOKEN_SCOPE_MISMATCH"),
        (vec![1, 2, 3, 4, 5], ""),
        (vec![1, 2, 3, 4, 5], "TOKEN_ALREADY_USED"),
    ] {
        let sent = json!({ "operations": deletions(&ids), "confirmation_token": token });
        let (answer, _) = call(&mut piped, &sent, "cancel");
        assert_eq!(answer["error"]["code"].as_str().unwrap_or_default(), code, "{ids:?} {answer}");
        let left = if code == "TOKEN_SCOPE_MISMATCH" { json!([1, 2, 3, 4, 5, 6]) } else { json!([6]) };
        assert_eq!(remaining(&mut piped), left, "{ids:?}");
    }
}

#[test]
fn r_ext_6_references_reach_what_the_caller_sees_and_no_more() {
    let folder = Folder::new();
    let mut piped = serve(&folder, &json!({}));
    let list = json!({ "operation": "list_notes", "params": { "filter": { "id": { "lte": 3 } } } });
    let taken = |reference: &str| {
        json!({ "operation": "list_notes", "params": {
            "filter": { "id": { "in": { "$from": reference } } }, "fields": ["text"] } })
    };
    let batch = json!({ "operations": [list, taken("0.data.items.*.id"), taken("0.data.items.*.secret")] });
    let (answer, _) = call(&mut piped, &batch, "cancel");
    let texts = &answer["results"][1]["result"]["data"]["items"];
    assert_eq!(*texts, json!([{ "text": "a" }, { "text": "b" }, { "text": "c" }]), "{answer}");
    let message = answer["results"][2]["result"]["error"]["message"].as_str().unwrap();
    assert!(message.contains("has no 'data.items.0.secret'") && !message.contains("s1"), "{message}");
}

#[test]
fn r_ext_4_an_explanation_says_where_values_would_come_from() {
    let folder = Folder::new();
    let explain = |operations: Value| -> (Option<i32>, Value) {
        let batch = json!({ "operations": operations }).to_string();
        let mut command = forgetful(&folder);
        let output = command.args(["call", &batch, "--source", "demo:", "--explain"]).output().unwrap();
        (output.status.code(), serde_json::from_slice(&output.stdout).unwrap())
    };
    let list = json!({ "operation": "list_tags", "params": { "first": 1 } });
    let (code, explained) = explain(json!([
        list,
        { "operation": "delete_tag", "params": { "id": { "$from": "0.data.items.0.id" } } },
        { "operation": "get_tag", "params": { "id": 1 } },
    ]));
    assert_eq!(code, Some(0), "{explained}");
    assert_eq!((&explained[1]["operation"], &explained[1]["decision"]), (&json!("delete_tag"), &json!("confirm")));
    let taken = json!([{ "param": "id", "$from": "0.data.items.0.id", "operation": "list_tags" }]);
    assert_eq!(explained[1]["unresolved"], taken, "{explained}");
    assert!(explained[1]["note"].as_str().unwrap().contains("Nothing runs"), "{explained}");
    assert_eq!(explained[2]["decision"], "allow", "{explained}");
    assert!(explained[0].get("unresolved").is_none() && explained[2].get("unresolved").is_none(), "{explained}");
    // What can never be resolved is refused, and so is an unknown operation.
    for (wrong, code) in [
        (json!({ "operation": "get_tag", "params": { "id": { "$from": "1.data.id" } } }), "VALIDATION_INVALID_VALUE"),
        (json!({ "operation": "get_tga", "params": { "id": { "$from": "0.data.id" } } }), "NOT_FOUND_OPERATION"),
    ] {
        let (exit_code, explained) = explain(json!([list, wrong]));
        assert_eq!(exit_code, Some(1), "{explained}");
        assert_eq!(explained[1]["refused"]["code"], code, "{explained}");
    }
}
