//! What MCP servers ask of the client: only what the configuration allows, and never without saying who asks.

use serde_json::{Value, json};

use crate::support::{Folder, StdioServer, aquifer, forgetful, text};

/// The scripted server that asks whatever it is told to.
const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../aquifer-upstream/tests/upstream/server.py");

fn config(folder: &Folder, allow: &str) -> String {
    let source = format!("[[source]]\nname = \"files\"\ncommand = \"python3\"\nargs = [{SERVER:?}]\n{allow}\n");
    let rule = "[[gate.rule]]\noperation = \"*\"\neffect = \"allow\"\nloosen = true\n";
    folder.file("aquifer.toml", &format!("{source}{rule}"))
}

/// Calls an operation as a client that can be asked, and gives its data and what was asked meanwhile.
fn call(piped: &mut StdioServer, operation: &str) -> (Value, Vec<Value>) {
    let arguments = json!({ "operation": operation });
    let params = json!({ "name": "mcp_aql", "arguments": arguments });
    piped.send(&json!({ "jsonrpc": "2.0", "id": "call", "method": "tools/call", "params": params }));
    let mut asked = Vec::new();
    loop {
        let message = piped.receive();
        let result = match message["method"].as_str() {
            Some("elicitation/create") => json!({ "action": "accept", "content": { "which": "this" } }),
            Some("sampling/createMessage") => {
                json!({ "role": "assistant", "content": { "type": "text", "text": "said" }, "model": "m" })
            }
            Some("roots/list") => json!({ "roots": [] }),
            _ if message["id"] == "call" => return (message["result"]["structuredContent"]["data"].clone(), asked),
            _ => continue,
        };
        piped.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }));
        if message["method"] != "roots/list" {
            asked.push(message["params"].clone());
        }
    }
}

fn serve(folder: &Folder, allow: &str) -> StdioServer {
    let config = config(folder, allow);
    let mut piped = StdioServer::spawn(forgetful(folder).args(["serve", "--mode", "single", "--config", &config]));
    let capabilities = json!({ "elicitation": {}, "sampling": {}, "roots": {} });
    let client = json!({ "name": "tests", "version": "1" });
    piped.request(
        "initialize",
        json!({ "protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": client }),
    );
    piped.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    piped
}

#[test]
fn r_dis_7a_a_server_asks_only_what_the_operator_allows() {
    for (allow, elicits, samples) in [
        ("", false, false),
        ("allow = []", false, false),
        ("allow = [\"elicitation\"]", true, false),
        ("allow = [\"sampling\"]", false, true),
        ("allow = [\"elicitation\", \"sampling\"]", true, true),
    ] {
        let folder = Folder::new();
        let mut piped = serve(&folder, allow);
        let (answer, asked) = call(&mut piped, "elicit");
        assert_eq!(answer["action"], if elicits { "accept" } else { "decline" }, "{allow}: {answer}");
        let messages: Vec<&Value> = asked.iter().map(|params| &params["message"]).collect();
        assert_eq!(messages, if elicits { vec!["Source 'files' asks: Which?"] } else { vec![] }, "{allow}");
        let (answer, asked) = call(&mut piped, "sample");
        assert_eq!(answer["content"]["text"] == "said", samples, "{allow}: {answer}");
        let prompts: Vec<&Value> = asked.iter().map(|params| &params["systemPrompt"]).collect();
        assert_eq!(prompts, if samples { vec!["Requested by MCP server 'files'."] } else { vec![] }, "{allow}");
        let log = piped.last_words();
        for (what, is_allowed) in [("elicitation", elicits), ("sampling", samples)] {
            let declined = log.matches(&format!("declined a request of the server for {what}")).count();
            assert_eq!(declined, usize::from(!is_allowed), "{allow}: {log}");
        }
    }
}

#[test]
fn a_word_that_cannot_be_allowed_is_refused_with_those_that_can() {
    for allow in ["allow = [\"everything\"]", "allow = [\"Elicitation\"]", "allow = [\"roots\"]"] {
        let folder = Folder::new();
        let output = aquifer().args(["serve", "--config", &config(&folder, allow)]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{allow}");
        let printed = text(&output.stderr);
        assert!(
            printed.contains("unknown variant") && printed.contains("`elicitation` or `sampling`"),
            "{allow}: {printed}"
        );
    }
}
