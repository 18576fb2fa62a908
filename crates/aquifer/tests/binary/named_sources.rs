//! Sources are named in one way in every command, and a configuration is found by itself.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::sqlite::LIBRARY;
use crate::support::{Folder, forgetful, server, text, tools};

/// Runs a command in a folder of the test's own.
fn run_in(folder: &Folder, below: &str, arguments: &[&str]) -> Output {
    let mut command = forgetful(folder);
    command.args(arguments).current_dir(folder.path(below)).stdin(Stdio::null()).output().unwrap()
}

fn succeed(folder: &Folder, below: &str, arguments: &[&str]) -> String {
    let output = run_in(folder, below, arguments);
    assert!(output.status.success(), "{arguments:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn every_command_takes_every_source() {
    let folder = Folder::new();
    folder.database("library.db", LIBRARY);
    folder.file("aquifer.toml", "[[source]]\ntarget = \"library.db\"\n");
    folder.file("agent.toml", "[[source]]\ntarget = \"sqlite:library.db\"\nread_only = true\n");
    let started = server(&folder.tools("tools.json", &tools()));
    folder.file(
        "mcp.json",
        &json!({ "mcpServers": { "small": { "command": started[0], "args": started[1..] } } }).to_string(),
    );
    for (source, operation) in [
        (&["demo:"][..], "list_tags"),
        (&["tasks:"], "list_tasks"),
        (&["library.db"], "list_authors"),
        (&["sqlite:./library.db"], "list_authors"),
        (&["agent.toml"], "list_authors"),
        (&["mcp.json"], "list_things"),
        (&[], "list_authors"),
        (&["library.db", "tasks:"], "library_list_authors"),
    ] {
        let with = |before: &[&str], after: &[&str]| succeed(&folder, "", &[before, source, after].concat());
        assert!(with(&["introspect"], &[]).contains(operation), "{source:?}");
        assert!(with(&["introspect"], &[operation]).starts_with(operation), "{source:?}");
        assert!(with(&["call"], &[operation]).starts_with("{\"success\":true"), "{source:?}");
        let whole = json!({ "operation": operation }).to_string();
        assert!(with(&["call"], &[&whole]).starts_with("{\"success\":true"), "{source:?}");
        assert!(with(&["policy", "show"], &[]).contains(operation), "{source:?}");
        if source.len() > 1 || source.first().is_some_and(|source| source.ends_with(".db")) {
            continue;
        }
        let tokens = with(&["tokens"], &["--no-calls", "--json"]);
        assert!(serde_json::from_str::<Value>(&tokens).is_ok(), "{source:?}: {tokens}");
    }
    let report = succeed(&folder, "", &["conformance", "tasks:", "--level", "1", "--allow-writes", "-f", "json"]);
    assert!(serde_json::from_str::<Value>(&report).is_ok(), "{report}");
    let named = ["--source", "library.db"];
    assert!(succeed(&folder, "", &[&["introspect"], &named[..]].concat()).contains("list_authors"));
    assert!(succeed(&folder, "", &["interrogate", "mcp.json"]).contains("list_things"));
    folder.file(
        "aquifer.toml",
        &format!("[[source]]\nname = \"small\"\ncommand = {:?}\nargs = {:?}\n", started[0], &started[1..]),
    );
    assert!(succeed(&folder, "", &["interrogate", "small"]).contains("list_things"));
    let _ = run_in(&folder, "", &["review", "small", "--accept-all"]);
    assert!(succeed(&folder, "", &["review", "small", "--accept-all"]).contains("need review"));
    let unknown = run_in(&folder, "", &["interrogate", "smal"]);
    assert!(text(&unknown.stderr).contains("no MCP server 'smal'"), "{}", text(&unknown.stderr));
}

/// The examples that introspection prints are commands that run, also where a shell would take them apart.
#[test]
fn printed_examples_run() {
    let folder = Folder::new();
    folder.database(
        "my shop's.db",
        "CREATE TABLE items (id TEXT PRIMARY KEY, \"owner's name\" TEXT NOT NULL, price REAL CHECK (price >= 0));
         INSERT INTO items VALUES ('it''s $HOME', 'O''Brien', 1.5), ('b', 'x', 2);",
    );
    let started = server(&folder.tools("tools.json", &tools()));
    folder.file("agent.toml", "[[source]]\ntarget = \"my shop's.db\"\n");
    let mut ran = 0;
    for source in [
        &["demo:"][..],
        &["tasks:"],
        &["my shop's.db"],
        &["agent.toml"],
        &["--config", "agent.toml"],
        &["--", &started[0], &started[1], &started[2]],
    ] {
        // Names come before whatever stands behind --.
        let introspect = |name: &str| {
            match source.first() {
                Some(&"--") => [&["introspect", name], source].concat(),
                _ => [&["introspect"], source, &[name]].concat(),
            }
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<String>>()
        };
        let look = |name: &str| {
            let words = introspect(name);
            succeed(&folder, "", &words.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let listed = look("--json");
        let listed: Value = serde_json::from_str(&listed).unwrap();
        let operations = listed["data"]["operations"].as_array().unwrap();
        // Some of each, from all over the list.
        for operation in operations.iter().step_by(operations.len().div_ceil(8)) {
            let name = operation["name"].as_str().unwrap();
            let shown = look(name);
            for example in shown.lines().filter_map(|line| line.strip_prefix("Example: ")) {
                let output = crate::support::shell_in(&folder, example);
                let answer: Value = serde_json::from_slice(&output.stdout)
                    .unwrap_or_else(|_| panic!("{example}: {}", text(&output.stderr)));
                // It may ask first, or be about something that is not there. It is understood.
                let code = answer["error"]["code"].as_str().unwrap_or_default();
                let is_understood = answer["success"] == true
                    || ["CONFIRMATION_REQUIRED", "NOT_FOUND_RESOURCE"].contains(&code)
                    || code.starts_with("CONFLICT");
                assert!(is_understood, "{example}: {answer}");
                ran += 1;
            }
        }
    }
    assert!(ran > 10, "{ran}");
}

#[test]
fn what_a_configuration_names_is_beside_it() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("conf/data")).unwrap();
    std::fs::create_dir_all(folder.path("elsewhere")).unwrap();
    folder.database("conf/data/library.db", LIBRARY);
    let [_, program, _] = server("");
    std::fs::copy(program, folder.path("conf/server.py")).unwrap();
    folder.tools("conf/tools.json", &tools());
    for target in ["data/library.db", "sqlite:data/library.db", "sqlite:./data/library.db", "${PLACE:-data/library.db}"]
    {
        folder.file(
            "conf/agent.toml",
            &format!(
                "[state]\ndir = \"kept\"\n[[source]]\nname = \"library\"\ntarget = \"{target}\"\n\
                 [[source]]\nname = \"small\"\ncommand = \"python3\"\nargs = [\"server.py\", \"tools.json\"]\n"
            ),
        );
        for (below, file) in [("elsewhere", "../conf/agent.toml"), ("conf", "agent.toml"), ("", "conf/agent.toml")] {
            let shown = succeed(&folder, below, &["introspect", file]);
            assert!(shown.contains("library_list_authors") && shown.contains("small_list_things"), "{target}: {shown}");
            let answer = succeed(&folder, below, &["call", file, "library_get_author", "{\"id\": 1}"]);
            assert!(answer.contains("Ada"), "{target}: {answer}");
        }
    }
    assert!(Path::new(&folder.path("conf/kept")).is_dir());
    for stray in ["kept", "elsewhere/kept"] {
        assert!(!Path::new(&folder.path(stray)).exists(), "{stray}");
    }
}

/// A file that happens to be in the folder does not change the rules for sources that were named.
#[test]
fn r_saf_2_a_configuration_that_is_found_loosens_nothing_for_named_sources() {
    let folder = Folder::new();
    folder.database("library.db", LIBRARY);
    let loosening = "[[source]]\ntarget = \"library.db\"\n\
                     [[gate.rule]]\noperation = \"*\"\neffect = \"allow\"\nloosen = true\n";
    let file = folder.file("aquifer.toml", loosening);
    let delete = |words: &[&str]| {
        let output = run_in(&folder, "", &[&["call"], words, &["delete_book", "{\"id\": 3}"]].concat());
        (text(&output.stdout), text(&output.stderr))
    };
    for named in [&["library.db"][..], &["sqlite:library.db"], &["demo:", "library.db"]] {
        let (answer, stderr) = delete(named);
        assert!(!answer.contains("\"success\":true"), "{named:?}: {answer}{stderr}");
    }
    // Nor does one that anybody could have written say what is served.
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
    let (answer, stderr) = delete(&[]);
    assert!(
        answer.is_empty() && stderr.contains("ignoring ./aquifer.toml") && stderr.contains("no source"),
        "{answer}{stderr}"
    );
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    if std::os::unix::fs::chown(&file, Some(1_000), None).is_ok() {
        let (answer, stderr) = delete(&[]);
        assert!(answer.is_empty() && stderr.contains("another user"), "{answer}{stderr}");
        std::os::unix::fs::chown(&file, Some(0), None).unwrap();
    }
    let (answer, stderr) = delete(&[]);
    assert!(answer.contains("\"success\":true"), "{answer}{stderr}");
}

#[test]
fn r_saf_2_read_only_leaves_nothing_that_writes() {
    let folder = Folder::new();
    folder.database("library.db", LIBRARY);
    let unsure = json!([
        { "name": "list_things", "inputSchema": { "type": "object" }, "annotations": { "readOnlyHint": true } },
        { "name": "get_and_lock", "inputSchema": { "type": "object" } },
        { "name": "run_report", "inputSchema": { "type": "object" }, "annotations": { "readOnlyHint": true } },
        { "name": "delete_things", "inputSchema": { "type": "object" }, "annotations": { "readOnlyHint": true } },
        { "name": "create_thing", "inputSchema": { "type": "object" } },
        { "name": "suspend_mailing_list", "inputSchema": { "type": "object" } },
        { "name": "deny_list", "inputSchema": { "type": "object" } },
        { "name": "freezePriceList", "inputSchema": { "type": "object" } },
    ]);
    let started = server(&folder.tools("tools.json", &unsure));
    let client = json!({ "mcpServers": { "small": { "command": started[0], "args": started[1..] } } });
    folder.file("mcp.json", &client.to_string());
    folder.file("agent.toml", "[[source]]\ntarget = \"mcp.json\"\nread_only = true\n");
    for (words, offered, hidden) in [
        (&["library.db", "--read-only"][..], "list_authors", "delete_author"),
        (&["demo:", "--read-only"], "list_tags", "create_tag"),
        (&["tasks:", "--read-only"], "list_tasks", "create_task"),
        (&["mcp.json", "--read-only"], "list_things", "create_thing"),
        (&["mcp.json", "--read-only"], "list_things", "delete_things"),
        (&["mcp.json", "--read-only"], "list_things", "run_report"),
        (&["mcp.json", "--read-only"], "list_things", "get_and_lock"),
        // Their names end with what others begin with.
        (&["mcp.json", "--read-only"], "list_things", "suspend_mailing_list"),
        (&["mcp.json", "--read-only"], "list_things", "deny_list"),
        (&["mcp.json", "--read-only"], "list_things", "freeze_price_list"),
        (&["agent.toml"], "list_things", "create_thing"),
    ] {
        let listed: Value =
            serde_json::from_str(&succeed(&folder, "", &[&["introspect", "--json"], words].concat())).unwrap();
        let operations = listed["data"]["operations"].as_array().unwrap();
        let names: Vec<&str> = operations.iter().map(|one| one["name"].as_str().unwrap()).collect();
        assert!(names.contains(&offered) && !names.contains(&hidden), "{words:?}: {names:?}");
        assert!(operations.iter().all(|one| one["semantic_category"] == "READ"), "{words:?}: {operations:?}");
        let mut call = vec!["call"];
        call.extend(words);
        call.extend([hidden, "{}"]);
        let refused = text(&run_in(&folder, "", &call).stdout);
        assert!(refused.contains("NOT_FOUND_OPERATION"), "{words:?}: {refused}");
    }
}

#[test]
fn a_description_that_is_named_like_a_file_of_a_client_is_recognized() {
    let folder = Folder::new();
    let file =
        folder.file("api.json", r#"{"openapi": "3.1.0", "servers": [{"url": "https://api.example"}], "paths": {}}"#);
    let run = |arguments: &[&str]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_aquifer")).args(arguments).output().unwrap();
        (output.status.code(), text(&output.stderr))
    };

    let (code, printed) = run(&["introspect", &file]);

    assert_ne!(code, Some(0));
    assert!(printed.contains(&format!("Serve it as openapi:{file}")), "{printed}");
}
