//! Servers that take long to start, because they are installed first.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::support::{Folder, Server, Transport, forgetful, server, tools, until};

/// A program that installs a server until a file exists, and then runs it. It notes every start.
fn installer(folder: &Folder) -> String {
    let [python, program, offered] = server(&folder.tools("tools.json", &tools()));
    let (starts, installed) = (folder.path("starts"), folder.path("installed"));
    let script = format!(
        "#!/bin/sh\necho start >> {starts}\nwhile [ ! -e {installed} ]; do sleep 0.05; done\nexec {python} {program} {offered}\n"
    );
    let path = folder.file("npx", &script);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
    path
}

#[test]
fn r_dis_7_a_server_that_is_being_installed_is_starting_and_not_started_again() {
    for transport in Transport::BOTH {
        let folder = Folder::new();
        let shelf = folder.database("shelf.db", "CREATE TABLE books (id INTEGER PRIMARY KEY);");
        let config = format!(
            "[state]\ndir = {:?}\n[[source]]\nname = \"things\"\ncommand = {:?}\nstart_timeout_seconds = 1\n\
             [[source]]\nname = \"shelf\"\ntarget = \"sqlite:{shelf}\"\n",
            folder.path("state"),
            installer(&folder)
        );
        let config = folder.file("aquifer.toml", &config);
        let mut served = Server::spawn(transport, forgetful(&folder).args(["serve", "--config", &config]));
        // Its first timeout is over, and the same process goes on.
        served.has_said("npx may be installing it");
        let mut call = |operation: &str, params: serde_json::Value| {
            served.call("mcp_aql_read", json!({ "operation": operation, "params": params }))
        };
        let refused = call("things_list_things", json!({}));
        let error = &refused["error"];
        assert_eq!(error["code"], "UPSTREAM_UNAVAILABLE", "{refused}");
        assert_eq!(error["message"], "Source 'things' is starting. Try again in a moment");
        assert!(error["details"]["retry_after_seconds"].is_u64(), "{refused}");
        let described = call("introspect", json!({ "query": "operations", "name": "things_list_things" }));
        assert_eq!(described["error"]["message"], error["message"], "it is not unknown: {described}");
        let unknown = call("shelf_get_shoe", json!({ "id": 1 }));
        assert_eq!(unknown["error"]["code"], "NOT_FOUND_OPERATION", "{unknown}");
        assert_eq!(call("shelf_list_books", json!({}))["success"], true);
        let summary = call("introspect", json!({ "query": "summary" }));
        let status = |source: usize| summary["data"]["summary"]["sources"][source]["status"].clone();
        assert_eq!((status(0), status(1)), (json!("starting"), json!("live")), "{summary}");
        let listed = call("introspect", json!({ "query": "operations", "name": "things_upstream_status" }));
        assert!(listed.to_string().contains("This MCP server is starting"), "{listed}");
        folder.file("installed", "");
        until("it has started", || (call("things_list_things", json!({}))["success"] == true).then_some(()));
        assert_eq!(std::fs::read_to_string(folder.path("starts")).unwrap(), "start\n", "it was started once");
        served.stop();
    }
}
