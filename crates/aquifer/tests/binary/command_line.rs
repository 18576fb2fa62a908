//! The command line: exit codes, and who gets stdout.

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::support::{Folder, aquifer, run, text};

#[test]
fn results_go_to_stdout_messages_to_stderr_and_the_exit_code_is_right() {
    for (arguments, code, on_stdout) in [
        (
            &["call", "list_tasks", "--source", "tasks:"][..],
            0,
            r#"{"success":true,"data":{"items":[],"pageInfo":{"hasNextPage":false,"hasPreviousPage":false}}}"#,
        ),
        (&["call", "get_task", r#"{"id":1}"#, "--source", "tasks:"], 1, "NOT_FOUND_RESOURCE"),
        (
            &["call", "create_task", r#"{"title":"x"}"#, "--source", "tasks:", "--tool", "mcp_aql_delete"],
            1,
            "VALIDATION_ENDPOINT_MISMATCH",
        ),
        (
            &["call", r#"{"operations":[{"operation":"list_tasks"}]}"#, "--source", "tasks:"],
            0,
            r#""summary":{"total":1,"succeeded":1,"failed":0}"#,
        ),
        (&["introspect", "--source", "tasks:"], 0, "create_task"),
        (&["introspect", "Task", "--source", "tasks:"], 0, "title"),
        (&["introspect", "--search", "finish everything", "--source", "tasks:"], 0, "OPERATION"),
        (&["completions", "bash"], 0, "_aquifer"),
        (&["--version"], 0, "aquifer 0."),
        (&["--version"], 0, "features: conformance gateway postgres redis rest sqlite tokens webhook\n"),
        (&["--help"], 0, "Examples:"),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output.stderr));
        assert!(text(&output.stdout).contains(on_stdout), "{arguments:?}: {}", text(&output.stdout));
        assert_eq!(text(&output.stderr), "", "{arguments:?}");
    }
}

#[test]
fn invalid_usage_exits_with_two_and_says_what_to_do() {
    for (arguments, words) in [
        (&["call", "list_tasks"][..], "no source"),
        (&["call", "list_tasks", "--source", "mysql://x"], "unknown source 'mysql://x'"),
        (&["call", "get_task", "{id: 1}", "--source", "tasks:"], "not valid JSON"),
        (&["call", "get_task", "[1]", "--source", "tasks:"], "must be a JSON object"),
        (
            &["call", "get_task", "--source", "tasks:", "--tool", "mcp_aql_fly"],
            "unknown tool 'mcp_aql_fly'. Tools: mcp_aql_create",
        ),
        (&["call", "get_task", "--source", "tasks:", "--mode", "many"], "use semantic, single or all"),
        (&["call", "get_task", "--source", "tasks:", "--profile", "mine"], "unknown profile 'mine'. Known: crude, "),
        (&["call", "get_task", "--source", "tasks:", "--prefix", "x"], "end in '_'"),
        (&["introspect", "nothing", "--source", "tasks:"], "there is no operation or type 'nothing'"),
        (&["serve"], "no source"),
        (&["serve", "--config", "/nowhere/aquifer.toml"], "cannot read"),
        (&["fly"], "unrecognized subcommand"),
        (&["demo", "--http", "127.0.0.1:0", "--stdio"], "cannot be used with"),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
        let printed = text(&output.stderr);
        assert!(printed.contains(words), "{arguments:?}: {printed}");
    }
}

#[test]
fn an_address_in_use_is_reported() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = run(&["demo", "--http", &address]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--http 127.0.0.1:0"), "{}", text(&output.stderr));
}

#[test]
fn a_configuration_error_is_reported_with_its_place() {
    let folder = Folder::new();
    for (content, words) in [
        ("[surface]\nmode = semantic\n", "line 2, column"),
        ("[surface]\nmood = \"single\"\n", "unknown field `mood`"),
        ("[limits]\nmax_nesting_depth = 500\n[[source]]\ntarget = \"tasks:\"\n", "it must be from 8 to 64"),
        ("[batch]\nlongest = 5\n", "unknown field `longest`"),
        ("[batch]\nlongest = 5\n", "It is called 'max_operations' now."),
        ("[batch]\non_confirmation = \"shrug\"\n", "unknown variant `shrug`"),
    ] {
        let output = run(&["call", "list_tasks", "--config", &folder.file("broken.toml", content)]);
        assert_eq!(output.status.code(), Some(2), "{content}");
        assert!(text(&output.stderr).contains(words), "{content}: {}", text(&output.stderr));
    }
}

#[test]
fn r_end_3_profiles_can_be_written_in_the_configuration() {
    let folder = Folder::new();
    let profile = "[surface]\nprofile = \"desk\"\n[profile.desk]\ncreate = \"write\"\nread = \"look\"\nupdate = \"write\"\ndelete = \"write\"\nexecute = \"act\"\n[[source]]\ntarget = \"tasks:\"\n";
    let file = folder.file("profile.toml", profile);
    let output = run(&["introspect", "delete_task", "--json", "--config", &file]);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["data"]["operation"]["endpoint"], "write");
    assert_eq!(answer["data"]["operation"]["mcpTool"], "mcp_aql_write");
}

#[test]
fn parameters_can_come_from_a_pipe() {
    let mut child = aquifer()
        .args(["call", "create_task", "-", "--source", "tasks:"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(br#"{"title":"From a pipe"}"#).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(text(&output.stdout).contains("From a pipe"));
}
