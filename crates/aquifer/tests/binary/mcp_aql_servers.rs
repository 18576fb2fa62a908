//! MCP-AQL servers behind the gateway: their operations appear as its own.

use serde_json::{Value, json};

use crate::support::{Folder, HttpServer, Server, Transport, aquifer, children, forgetful, signal, until};

/// The gateway in front of the task board, which another Aquifer serves in this mode.
fn gateway(folder: &Folder, transport: Transport, mode: &str) -> Server {
    let program = env!("CARGO_BIN_EXE_aquifer");
    let board =
        format!("command = {program:?}\nargs = [\"serve\", \"tasks:\", \"--model-confirms\", \"--mode\", {mode:?}]\n");
    let env = format!("env = {{ XDG_STATE_HOME = {:?} }}\n", folder.path("inner"));
    gateway_to(folder, transport, &format!("{board}{env}"))
}

/// The gateway in front of a task board that these keys lead to.
fn gateway_to(folder: &Folder, transport: Transport, board: &str) -> Server {
    let config = format!("[state]\ndir = {:?}\n[[source]]\nname = \"board\"\n{board}", folder.path("state"));
    let config = folder.file("aquifer.toml", &config);
    Server::spawn(transport, forgetful(folder).args(["serve", "--config", &config]))
}

fn call(served: &mut Server, family: &str, operation: &str, params: Value) -> Value {
    served.call(&format!("mcp_aql_{family}"), json!({ "operation": operation, "params": params }))
}

#[test]
fn r_dis_7_operations_of_an_mcp_aql_server_are_mounted_as_its_own() {
    for (transport, mode) in [(Transport::Stdio, "semantic"), (Transport::Http, "single")] {
        let folder = Folder::new();
        for round in ["first", "restarted"] {
            let mut served = gateway(&folder, transport, mode);
            let listed = mounted(&mut served);
            for operation in [
                "READ get_task",
                "READ list_tasks",
                "UPDATE update_task",
                "DELETE delete_task",
                "EXECUTE execute_tasks",
            ] {
                assert!(listed.contains(&operation.to_owned()), "{round}: {operation}: {listed:?}");
            }
            assert!(!listed.iter().any(|name| name.contains("mcp_aql")), "{listed:?}");
            // Parameters are checked here, and results have no second envelope.
            let described =
                call(&mut served, "read", "introspect", json!({ "query": "operations", "name": "create_task" }));
            assert_eq!(described["data"]["operation"]["parameters"][0]["name"], "title", "{described}");
            let invalid = call(&mut served, "create", "create_task", json!({}));
            assert_eq!(invalid["error"]["code"], "VALIDATION_MISSING_PARAM", "{invalid}");
            let made = call(&mut served, "create", "create_task", json!({ "title": "x" }));
            assert_eq!((&made["success"], &made["data"]["title"]), (&json!(true), &json!("x")), "{made}");
            let id = made["data"]["id"].clone();
            let got = call(&mut served, "read", "get_task", json!({ "id": id }));
            assert_eq!(got["data"]["title"], "x", "{got}");
            // Errors keep their codes, and the server's words stay in the details.
            let missing = call(&mut served, "read", "get_task", json!({ "id": 999 }));
            assert_eq!(missing["error"]["code"], "NOT_FOUND_RESOURCE", "{missing}");
            assert_eq!(missing["error"]["message"], "Source 'board' refused the call", "{missing}");
            assert!(missing["error"]["details"]["upstream_error"].is_string(), "{missing}");
            // What the server wants confirmed, too, is confirmed twice, and runs once.
            let mut params = json!({ "id": id });
            for (name, detail) in [
                ("confirmation_token", "confirmation_token"),
                ("upstream_confirmation_token", "upstream_confirmation_token"),
                ("confirmation_token", "confirmation_token"),
            ] {
                let asked = call(&mut served, "delete", "delete_task", params.clone());
                let token = asked["error"]["details"][detail].as_str().unwrap_or_else(|| panic!("{detail}: {asked}"));
                params.as_object_mut().unwrap().remove("confirmation_token");
                params[name] = token.into();
            }
            let deleted = call(&mut served, "delete", "delete_task", params);
            assert_eq!(deleted["success"], true, "{deleted}");
            assert_eq!(
                call(&mut served, "read", "get_task", json!({ "id": id }))["error"]["code"],
                "NOT_FOUND_RESOURCE"
            );
            served.stop();
        }
    }
}

/// The category and the name of each operation, once they are there.
fn mounted(served: &mut Server) -> Vec<String> {
    until("the operations", || {
        let listed = call(served, "read", "introspect", json!({ "query": "operations" }));
        let shown =
            |one: &Value| format!("{} {}", one["semantic_category"].as_str().unwrap(), one["name"].as_str().unwrap());
        let names: Vec<String> = listed["data"]["operations"].as_array()?.iter().map(shown).collect();
        names.contains(&"CREATE create_task".to_owned()).then_some(names)
    })
}

/// Over either transport between the servers, and after the one behind has been started again.
#[test]
fn r_dis_7_operations_of_an_mcp_aql_server_stay_mounted_when_it_is_restarted() {
    for (between, mode, transport) in [
        (Transport::Stdio, "semantic", Transport::Http),
        (Transport::Stdio, "single", Transport::Stdio),
        (Transport::Http, "semantic", Transport::Stdio),
        (Transport::Http, "single", Transport::Http),
    ] {
        let folder = Folder::new();
        let listen =
            |address: &str| HttpServer::spawn(aquifer().args(["serve", "tasks:", "--mode", mode, "--http", address]));
        let mut board = (between == Transport::Http).then(|| listen("127.0.0.1:0"));
        let mut served = match &board {
            Some(board) => gateway_to(&folder, transport, &format!("url = \"http://{}/mcp\"\n", board.authority)),
            None => gateway(&folder, transport, mode),
        };
        let before = mounted(&mut served);
        assert!(before.contains(&"DELETE delete_task".to_owned()), "{before:?}");
        assert!(!before.iter().any(|name| name.contains("mcp_aql")), "{before:?}");
        let made = call(&mut served, "create", "create_task", json!({ "title": "x" }));
        assert_eq!(made["data"]["title"], "x", "no second envelope: {made}");
        let id = made["data"]["id"].clone();
        assert_eq!(call(&mut served, "read", "get_task", json!({ "id": id }))["data"]["title"], "x");
        match board.take() {
            Some(running) => {
                let authority = running.authority.clone();
                running.kill();
                board = Some(listen(&authority));
            }
            None => children(served.pid()).into_iter().for_each(|child| signal("-KILL", child)),
        }
        let gone = until("the board is back, and empty", || {
            let gone = call(&mut served, "read", "get_task", json!({ "id": id }));
            (gone["error"]["code"] == "NOT_FOUND_RESOURCE").then_some(gone)
        });
        assert_eq!(gone["error"]["message"], "Source 'board' refused the call", "{gone}");
        assert_eq!(mounted(&mut served), before, "{between:?} {mode}");
        let made = call(&mut served, "create", "create_task", json!({ "title": "y" }));
        assert_eq!((&made["success"], &made["data"]["title"]), (&json!(true), &json!("y")), "{made}");
        let invalid = call(&mut served, "create", "create_task", json!({}));
        assert_eq!(invalid["error"]["code"], "VALIDATION_MISSING_PARAM", "{invalid}");
        served.stop();
    }
}

/// Each of three levels asks for a confirmation of its own.
#[test]
fn r_dis_7_confirmations_of_servers_behind_a_server_can_be_given() {
    let folder = Folder::new();
    let program = env!("CARGO_BIN_EXE_aquifer");
    let config = |name: &str, args: &[&str]| {
        let state = folder.path(&format!("{name}-state"));
        let text = format!(
            "[state]\ndir = {state:?}\n[[source]]\nname = {name:?}\ncommand = {program:?}\nargs = {args:?}\n\
             env = {{ XDG_STATE_HOME = {:?} }}\n[gate.confirmation]\nmodel_confirms = true\n",
            folder.path(&format!("{name}-inner"))
        );
        folder.file(&format!("{name}.toml"), &text)
    };
    let middle = config("board", &["serve", "tasks:", "--model-confirms"]);
    let outer = config("middle", &["serve", "--config", &middle]);
    let mut served = Server::spawn(Transport::Stdio, forgetful(&folder).args(["serve", "--config", &outer]));
    let made = until("the innermost server", || {
        let made = call(&mut served, "create", "create_task", json!({ "title": "x" }));
        (made["success"] == true).then_some(made)
    });
    let id = made["data"]["id"].clone();
    let described = call(&mut served, "read", "introspect", json!({ "query": "operations", "name": "delete_task" }));
    let description = described["data"]["operation"]["description"].as_str().unwrap();
    assert_eq!(description.matches("Danger: ").count(), 1, "{description}");
    let mut params = json!({ "id": id });
    let mut asked_for = Vec::new();
    for _ in 0..10 {
        let answer = call(&mut served, "delete", "delete_task", params.clone());
        let details = answer["error"]["details"].as_object().cloned().unwrap_or_default();
        let Some((name, token)) = details.into_iter().find(|(name, _)| name.ends_with("confirmation_token")) else {
            assert_eq!(answer["success"], true, "{answer}");
            break;
        };
        assert!(answer["error"]["message"].as_str().unwrap().contains(&format!("'{name}'")), "{answer}");
        // A changed request needs another token of the levels before.
        let prefix = name.trim_end_matches("confirmation_token").to_owned();
        let given = params.as_object_mut().unwrap();
        given.retain(|other, _| !other.ends_with("confirmation_token") || other.len() > name.len());
        given.insert(name, token);
        asked_for.push(prefix);
    }
    assert_eq!(asked_for.iter().map(String::len).max(), Some("upstream_upstream_".len()), "{asked_for:?}");
    let gone = call(&mut served, "read", "get_task", json!({ "id": id }));
    assert_eq!(gone["error"]["code"], "NOT_FOUND_RESOURCE", "{gone}");
    served.stop();
}
