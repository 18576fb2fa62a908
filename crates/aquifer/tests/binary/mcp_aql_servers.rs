//! MCP-AQL servers behind the gateway: their operations appear as its own.

use serde_json::{Value, json};

use crate::support::{Folder, Server, Transport, forgetful, until};

/// The gateway in front of the task board, which another Aquifer serves in this mode.
fn gateway(folder: &Folder, transport: Transport, mode: &str) -> Server {
    let program = env!("CARGO_BIN_EXE_aquifer");
    let board = format!("command = {program:?}\nargs = [\"serve\", \"tasks:\", \"--mode\", {mode:?}]\n");
    let env = format!("env = {{ XDG_STATE_HOME = {:?} }}\n", folder.path("inner"));
    let config = format!("[state]\ndir = {:?}\n[[source]]\nname = \"board\"\n{board}{env}", folder.path("state"));
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
            let listed = until("the operations", || {
                let listed = call(&mut served, "read", "introspect", json!({ "query": "operations" }));
                let names: Vec<String> = listed["data"]["operations"]
                    .as_array()?
                    .iter()
                    .map(|one| {
                        format!("{} {}", one["semantic_category"].as_str().unwrap(), one["name"].as_str().unwrap())
                    })
                    .collect();
                names.contains(&"CREATE create_task".to_owned()).then_some(names)
            });
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
