//! Configurations that change while they are served.

use serde_json::{Value, json};

use crate::support::{Folder, StdioServer, children, forgetful, server, tools, until};

fn entry(offered: &str) -> Value {
    let [python, program, offered] = server(offered);
    json!({ "command": python, "args": [program, offered] })
}

fn serve(folder: &Folder, arguments: &[&str]) -> StdioServer {
    let mut piped = StdioServer::spawn(forgetful(folder).arg("serve").args(arguments));
    piped.initialize("2025-06-18");
    piped
}

fn offered(piped: &mut StdioServer, operation: &str) -> bool {
    piped.operations().iter().any(|known| known == operation)
}

#[test]
fn r_dis_7_a_changed_client_file_takes_effect_without_a_restart() {
    let folder = Folder::new();
    let things = folder.tools("tools.json", &tools());
    let file = |servers: Value| folder.file("mcp.json", &json!({ "mcpServers": servers }).to_string());
    let path = file(json!({ "one": entry(&things), "two": entry(&things) }));
    let mut piped = serve(&folder, &[&path]);
    until("both are there", || (offered(&mut piped, "one_fail") && offered(&mut piped, "two_fail")).then_some(()));
    piped.data("execute", "one_frobnicate", json!({ "thing_id": 1 }));
    let before = children(piped.pid());
    assert_eq!(before.len(), 2, "{before:?}");
    // One more, one less; the one that stays keeps its process.
    file(json!({ "one": entry(&things), "three": entry(&things) }));
    piped.says("the changed configuration is in effect");
    until("the new one is there", || offered(&mut piped, "three_frobnicate").then_some(()));
    assert!(offered(&mut piped, "one_fail") && !offered(&mut piped, "two_fail"));
    until("the process of the one that is gone is gone", || {
        let now = children(piped.pid());
        (now.len() == 2 && now.iter().filter(|child| before.contains(child)).count() == 1).then_some(())
    });
    // What is broken is told and ignored, and the place is told.
    folder.file("mcp.json", "{\n  \"mcpServers\": {\n    \"one\" }");
    piped.says("is invalid, so the old one stays in effect");
    piped.data("execute", "one_frobnicate", json!({ "thing_id": 1 }));
    // So is a file in which one is broken: all of a change takes effect, or nothing.
    file(json!({ "one": { "comand": "x" }, "four": entry(&things) }));
    piped.says("is invalid, so the old one stays in effect: source 'one': ");
    piped.data("execute", "one_frobnicate", json!({ "thing_id": 1 }));
    assert!(offered(&mut piped, "three_frobnicate") && !offered(&mut piped, "four_frobnicate"));
    // Even if it is killed, nobody survives it.
    let left = children(piped.pid());
    assert!(!left.is_empty());
    drop(piped);
    let is_there = |child: &u32| std::path::Path::new(&format!("/proc/{child}")).exists();
    until("no process is left", || (!left.iter().any(is_there)).then_some(()));
}

#[test]
fn r_dis_7_a_changed_configuration_takes_effect_without_a_restart() {
    let folder = Folder::new();
    let [python, program, things] = server(&folder.tools("tools.json", &tools()));
    let upstream = format!("[[source]]\nname = \"one\"\ncommand = {python:?}\nargs = [{program:?}, {things:?}]\n");
    let tasks = "[[source]]\ntarget = \"tasks:\"\n";
    let path = folder.file("aquifer.toml", tasks);
    let mut piped = serve(&folder, &["--config", &path]);
    piped.data("create", "create_task", json!({ "title": "Milk" }));
    folder.file("aquifer.toml", &format!("{tasks}{upstream}"));
    until("the new one is there", || offered(&mut piped, "one_frobnicate").then_some(()));
    let listed = piped.data("read", "list_tasks", json!({}));
    assert_eq!(listed["items"][0]["title"], "Milk", "what did not change is the same as before, under the same names");
    folder.file("aquifer.toml", &format!("{tasks}{upstream}[surface]\nmode = 5\n"));
    piped.says("is invalid, so the old one stays in effect: ");
    folder.file("aquifer.toml", &format!("{tasks}{upstream}[surface]\nmode = \"single\"\n"));
    piped.says("the change is not in effect: [surface] cannot be changed while Aquifer runs");
    // Whoever is left keeps the name it has.
    folder.file("aquifer.toml", upstream.as_str());
    piped.says("the changed configuration is in effect");
    assert!(offered(&mut piped, "one_frobnicate") && !offered(&mut piped, "list_tasks"));
}
