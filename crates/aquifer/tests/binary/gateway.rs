//! The way of a new user: the servers a client has, behind one command.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{
    Folder, HttpServer, StdioServer, children, confirmed, forgetful, server, text, tools, unguarded, until,
};

/// A client's file as people have it: five servers, one of them broken.
fn client_file(folder: &Folder, web: &str) -> String {
    let mut all = tools();
    all[0]["outputSchema"] = crate::results::things();
    let [python, program, offered] = server(&folder.tools("tools.json", &all));
    let file = format!(
        r#"{{
  // Cursor and VS Code take comments,
  "mcpServers": {{
    "files": {{ "command": {python:?}, "args": [{program:?}, {offered:?}], "env": {{ "FILES_TOKEN": "{ENV}" }} }},
    "my-notes": {{ "type": "stdio", "command": {python:?}, "args": [{program:?}, {offered:?}, "--api-key", "{ARGUMENT}"] }},
    "broken": {{ "command": "/nowhere/no-such-program", "args": ["--token", "{ARGUMENT}"], "env": {{ "T": "{ENV}" }} }},
    "off": {{ "command": {python:?}, "args": [], "disabled": true }},
    "Board": {{ "url": "http://{web}/mcp?key={QUERY}", "headers": {{ "Authorization": "Bearer ${{GATEWAY_TEST_TOKEN}}" }} }},
    "picky": {{ "command": {python:?}, "args": [{program:?}, {offered:?}], "disabledTools": ["fail"], }}, // and commas
  }},
}}"#
    );
    folder.file("mcp.json", &file)
}

const ENV: &str = "hush-environment-4711";
const ARGUMENT: &str = "hush-argument-4712";
const QUERY: &str = "hush-query-4713";
const HEADER: &str = "hush-header-4714";

fn serve(folder: &Folder, arguments: &[&str]) -> StdioServer {
    let mut command = forgetful(folder);
    command.args(arguments).env("GATEWAY_TEST_TOKEN", HEADER).env("GATEWAY_TEST_STRANGER", "not for children");
    let mut piped = StdioServer::spawn(&mut command);
    piped.initialize("2025-06-18");
    piped
}

/// Waits until an operation is offered.
fn offered(piped: &mut StdioServer, operation: &str) {
    until(operation, || piped.operations().iter().any(|known| known == operation).then_some(()));
}

#[test]
fn r_dis_7_the_servers_of_a_client_are_served_as_they_are() {
    let folder = Folder::new();
    let board = HttpServer::tasks();
    let file = client_file(&folder, &board.authority);
    let mut piped = serve(&folder, &["serve", &file]);
    assert_eq!(piped.tools().len(), 5, "five tools, whatever stands behind them");
    for operation in ["files_frobnicate", "my_notes_frobnicate", "picky_frobnicate", "board_create_task"] {
        offered(&mut piped, operation);
    }
    let operations = piped.operations();
    assert!(!operations.iter().any(|name| name.starts_with("off_")), "{operations:?}");
    assert!(!operations.contains(&"picky_fail".to_owned()), "{operations:?}");
    // Names and parameters go back as the server has them, and nothing is added.
    let sent = piped.data("execute", "files_frobnicate", json!({ "thing_id": 5 }));
    assert_eq!(sent, json!({ "tool": "frobnicate", "arguments": { "thingId": 5 } }));
    // A result is cut to what was asked for.
    let listed =
        piped.data("read", "my_notes_list_things", json!({ "fields": ["id"], "filter": { "size": { "gt": 280 } } }));
    assert_eq!(listed["items"], json!([{ "id": 29 }, { "id": 30 }]), "{listed}");
    // The operations of an MCP-AQL server are its own, not its tools.
    let made = piped.data("create", "board_create_task", json!({ "title": "Through the web" }));
    assert!(made.to_string().contains("Through the web"), "{made}");
    // A child sees its own environment and not ours.
    let seen = piped.data("read", "files_environment", json!({ "name": "FILES_TOKEN" }));
    assert_eq!(seen["wanted"], ENV);
    assert!(!seen["names"].to_string().contains("GATEWAY_TEST"), "{seen}");
    // A server's refusal comes in its words, a wrong argument never reaches it, a dead server is alone.
    let refused = piped.error("execute", "files_fail", json!({}));
    assert_eq!(refused["code"], "UPSTREAM_ERROR");
    assert_eq!(refused["details"]["upstream_error"], "this tool always fails", "{refused}");
    let wrong = piped.error("execute", "files_frobnicate", json!({ "thing_id": "five" }));
    assert_eq!(wrong["code"], "VALIDATION_INVALID_TYPE", "{wrong}");
    let broken = operations.iter().find(|name| name.starts_with("broken_"));
    let message = piped.last_words();
    assert!(message.contains("'broken' is unavailable"), "{message}");
    assert!(broken.is_some(), "introspection says that it is away: {operations:?}");
}

#[test]
fn r_dis_2_no_secret_of_a_client_comes_out() {
    let folder = Folder::new();
    let board = HttpServer::tasks();
    let file = client_file(&folder, &board.authority);
    let mut everything = String::new();
    let mut piped = serve(&folder, &["serve", &file, "--log", "trace"]);
    for operation in ["files_frobnicate", "my_notes_frobnicate", "board_create_task"] {
        offered(&mut piped, operation);
    }
    for (family, operation, params) in [
        ("read", "introspect", json!({ "query": "operations" })),
        ("read", "introspect", json!({ "query": "operations", "name": "files_frobnicate" })),
        ("read", "board_list_tasks", json!({})),
        ("execute", "files_fail", json!({})),
        ("execute", "files_frobnicate", json!({ "thing_id": "five" })),
        ("execute", "broken_frobnicate", json!({})),
        ("read", "broken_upstream_status", json!({})),
    ] {
        let answer = piped.call(&format!("mcp_aql_{family}"), json!({ "operation": operation, "params": params }));
        everything.push_str(&answer.to_string());
    }
    everything.push_str(&piped.last_words());
    let bundle = folder.path("out.bundle.json");
    for arguments in [
        &["validate", &file][..],
        &["introspect", "--source", &file],
        &["interrogate", &file, "--server", "my-notes", "-o", &bundle, "--log", "trace"],
        &["interrogate", &file, "--server", "Board", "-o", &bundle, "--log", "trace"],
        &["interrogate", &file, "--server", "broken", "-o", &bundle, "--log", "trace"],
        &["interrogate", &file],
        &["build", &bundle, "-o", &folder.path("built")],
    ] {
        let output = run(&folder, arguments);
        everything.push_str(&(text(&output.stdout) + &text(&output.stderr)));
        everything.push_str(&std::fs::read_to_string(&bundle).unwrap_or_default());
    }
    // What is kept for the next time, too.
    let leaked = Command::new("grep").args(["-rIh", "hush-", &folder.path("state")]).output().unwrap();
    everything.push_str(&text(&leaked.stdout));
    for built in std::fs::read_dir(folder.path("built")).unwrap() {
        everything.push_str(&std::fs::read_to_string(built.unwrap().path()).unwrap());
    }
    for secret in [ENV, ARGUMENT, QUERY, HEADER] {
        let at = everything
            .find(secret)
            .map(|at| everything[at.saturating_sub(300)..].chars().take(400).collect::<String>());
        assert_eq!(at, None, "{secret}");
    }
    assert!(everything.len() > 5_000, "there was something to look through");
}

fn run(folder: &Folder, arguments: &[&str]) -> std::process::Output {
    let mut command = forgetful(folder);
    command.args(arguments).env("GATEWAY_TEST_TOKEN", HEADER).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn r_dis_7_one_command_and_a_url_need_no_file() {
    let folder = Folder::new();
    let [python, program, offered] = server(&folder.tools("tools.json", &tools()));
    let command = ["--", &python, &program, &offered];
    let alone = confirmed(&json!({ "thingId": 7 }), |params| {
        run(&folder, &[&["call", "frobnicate", params][..], &command].concat())
    });
    let answer: Value = serde_json::from_slice(&alone.stdout).unwrap_or_else(|_| panic!("{}", text(&alone.stderr)));
    assert_eq!(answer["data"]["arguments"], json!({ "thingId": 7 }), "one source keeps its names");
    let passed = run(
        &folder,
        &[&["call", "environment", r#"{"name": "GATEWAY_TEST_TOKEN"}"#, "--env", "GATEWAY_TEST_TOKEN"][..], &command]
            .concat(),
    );
    assert!(text(&passed.stdout).contains(&format!("\"wanted\":\"{HEADER}\"")), "{}", text(&passed.stdout));
    let board = HttpServer::tasks();
    let url = format!("http://{}/mcp", board.authority);
    let both = run(&folder, &[&["introspect", "--source", &url][..], &command].concat());
    let shown = text(&both.stdout);
    assert!(shown.contains("create_task") && shown.contains("frobnicate"), "{shown}{}", text(&both.stderr));
    let away = run(&folder, &["call", "list_tasks", "--source", "http://127.0.0.1:9/mcp"]);
    assert_eq!(away.status.code(), Some(1), "{}", text(&away.stderr));
    assert!(text(&away.stderr).contains("is unavailable"), "{}", text(&away.stderr));
}

#[test]
fn r_dis_7_a_command_that_answers_once_waits_until_its_servers_are_known() {
    let folder = Folder::new();
    let [python, program, offered] = server(&folder.tools("tools.json", &tools()));
    let slow = format!("sleep 1.5; exec {python} {program} {offered}");
    let command = ["--", "sh", "-c", &slow];
    // Each with a memory of its own: nobody has seen the server before.
    for (place, asked) in [
        ("list", &["introspect"][..]),
        ("json", &["introspect", "--json"]),
        ("call", &["call", "introspect", r#"{"query": "operations"}"#]),
        ("search", &["call", "introspect", r#"{"query": "operations", "search": "frobnicate"}"#]),
        ("whole", &["call", r#"{"operation": "introspect", "params": {"query": "operations"}}"#]),
        ("one", &["call", "frobnicate", r#"{"thing_id": 1}"#, "--config", &unguarded(&folder)]),
    ] {
        let mut aquifer = forgetful(&folder);
        aquifer.env("XDG_STATE_HOME", folder.path(place));
        let output = aquifer.args([asked, &command].concat()).stdin(Stdio::null()).output().unwrap();
        let shown = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{asked:?}: {shown}{}", text(&output.stderr));
        assert!(shown.contains("frobnicate") && !shown.contains("upstream_status"), "{asked:?}: {shown}");
    }
}

#[test]
fn r_dis_7_one_shot_commands_name_the_server_that_cannot_be_started() {
    let folder = Folder::new();
    let mute = folder.file(
        "mute.toml",
        "[[source]]\nname = \"mute\"\ncommand = \"sleep\"\nargs = [\"600\"]\nstart_timeout_seconds = 1\n",
    );
    for (server, words) in [
        (&["--", "/nowhere/no-such-program"][..], "is unavailable: "),
        (&["--", "sh", "-c", "exit 3"], "is unavailable: its process ended"),
        (&["--config", &mute], "Source 'mute' is unavailable: it did not finish starting in time"),
    ] {
        for asked in [
            &["introspect"][..],
            &["call", "introspect", r#"{"query": "operations"}"#],
            &["call", "frobnicate", r#"{"thing_id": 1}"#],
        ] {
            let output = run(&folder, &[asked, server].concat());
            let printed = text(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{asked:?} {server:?}: {printed}");
            assert_eq!(text(&output.stdout), "", "{asked:?} {server:?}");
            let last = printed.lines().last().unwrap_or_default();
            assert!(last.starts_with("aquifer: Source '") && last.contains(words), "{asked:?} {server:?}: {printed}");
        }
    }
    // Where others are there, the one that is not is told and the rest is shown.
    let [python, program, offered] = server(&folder.tools("tools.json", &tools()));
    let servers = json!({ "mcpServers": {
        "good": { "command": python, "args": [program, offered] },
        "gone": { "command": "sh", "args": ["-c", "exit 3"] },
    } });
    let file = folder.file("mcp.json", &servers.to_string());
    let output = run(&folder, &["call", "introspect", r#"{"query": "operations"}"#, "--source", &file]);
    let (shown, printed) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{shown}{printed}");
    assert!(shown.contains("good_frobnicate"), "{shown}");
    assert!(printed.contains("'gone' is unavailable"), "{printed}");
}

#[test]
fn r_dis_7_a_configuration_alone_is_enough_to_serve() {
    let folder = Folder::new();
    let [python, program, offered] = server(&folder.tools("tools.json", &tools()));
    let config = folder.file(
        "aquifer.toml",
        &format!(
            "[[source]]\nname = \"first\"\ncommand = {python:?}\nargs = [{program:?}, {offered:?}]\nenv = {{ OWN = \"${{GATEWAY_TEST_TOKEN}}\" }}\n\
             timeout_seconds = 5\nmax_concurrent_calls = 2\n\n[[source]]\nname = \"second\"\nprefix = \"zwei_\"\ncommand = {python:?}\nargs = [{program:?}, {offered:?}]\n\n\
             [[source]]\nname = \"third\"\ncommand = {python:?}\nenv = {{ A = \"${{NOBODY_SET_THIS}}\" }}\n\n[[source]]\ntarget = \"tasks:\"\n\n\
             [[source]]\ncommand = \"off\"\ndisabled = true\n"
        ),
    );
    let output = run(&folder, &["call", "first_environment", r#"{"name": "OWN"}"#, "--config", &config]);
    assert!(text(&output.stdout).contains(HEADER), "{}{}", text(&output.stdout), text(&output.stderr));
    let printed = text(&output.stderr);
    assert!(printed.contains("skipping 'third'") && printed.contains("${NOBODY_SET_THIS}"), "{printed}");
    let listed = text(&run(&folder, &["introspect", "--config", &config]).stdout);
    for name in ["first_frobnicate", "zwei_frobnicate", "tasks_create_task"] {
        assert!(listed.contains(name), "{listed}");
    }
}

#[test]
fn r_dis_7_names_too_long_and_names_alike_are_served_all_the_same() {
    let folder = Folder::new();
    let long = format!("get_{}", "very_".repeat(8));
    let schema = json!({ "type": "object" });
    let tool = |name: &str| json!({ "name": name, "inputSchema": schema, "annotations": { "readOnlyHint": true } });
    let one = folder
        .tools("one.json", &json!([tool(&format!("{long}long")), tool(&format!("{long}lang")), tool("b_get_it")]));
    let other = folder.tools("other.json", &json!([tool("get_it")]));
    let servers: Vec<(&str, &str)> = vec![("a", &one), ("a_b", &other), ("A B", &other)];
    let entries: serde_json::Map<String, Value> = servers
        .into_iter()
        .map(|(name, offered)| {
            let [python, program, offered] = server(offered);
            (name.to_owned(), json!({ "command": python, "args": [program, offered] }))
        })
        .collect();
    let file = folder.file("mcp.json", &json!({ "mcpServers": entries }).to_string());
    let listed = text(&run(&folder, &["introspect", "--json", "--source", &file]).stdout);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let names: Vec<&str> =
        listed["data"]["operations"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 6, "{names:?}");
    assert!(names.iter().all(|name| name.len() <= 48), "{names:?}");
    for name in names.iter().filter(|name| **name != "introspect") {
        let output = run(&folder, &["call", name, "--source", &file]);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", text(&output.stdout));
    }
}

#[test]
fn r_dis_7_servers_that_hang_send_garbage_or_exit_do_not_disturb_the_others() {
    let folder = Folder::new();
    let [python, program, offered_file] = server(&folder.tools("tools.json", &tools()));
    let script = |code: &str| json!({ "command": python, "args": ["-c", code] });
    let servers = json!({ "mcpServers": {
        "good": { "command": python, "args": [program, offered_file] },
        "mute": script("import time; time.sleep(600)"),
        "mad": script("while True: print('{\"jsonrpc\": 2, nonsense' * 100)"),
        "gone": script("import sys; sys.exit(3)"),
    } });
    let file = folder.file("mcp.json", &servers.to_string());
    let mut piped = serve(&folder, &["serve", &file]);
    offered(&mut piped, "good_frobnicate");
    for round in 0..25 {
        let sent = piped.data("execute", "good_frobnicate", json!({ "thing_id": round }));
        assert_eq!(sent["arguments"]["thingId"], round);
    }
    let away = piped.error("read", "gone_upstream_status", json!({}));
    assert_eq!(away["code"], "UPSTREAM_UNAVAILABLE", "{away}");
    // Known from before, it is called without anybody waiting for the mute one.
    let alone = confirmed(&json!({ "thing_id": 1 }), |params| {
        run(&folder, &["call", "good_frobnicate", params, "--source", &file])
    });
    assert_eq!(alone.status.code(), Some(0), "{}{}", text(&alone.stdout), text(&alone.stderr));
    // Whoever does not listen ends with us all the same.
    let left = children(piped.pid());
    assert!(left.len() >= 2, "{left:?}");
    piped.close();
    let is_there = |child: &u32| std::path::Path::new(&format!("/proc/{child}")).exists();
    until("no process is left", || (!left.iter().any(is_there)).then_some(()));
}
