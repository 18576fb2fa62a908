//! What commands write where people want it: into files, devices and pipes, and how it looks in a terminal.

use std::os::unix::fs::{FileTypeExt as _, symlink};
use std::process::Command;

use serde_json::Value;

use crate::support::{Folder, StdioServer, forgetful, server, shell_in, text, tools, with_people};

/// Every option that names a file, with something in its place that must stay what it is.
#[test]
fn pipes_and_links_that_options_name_stay_what_they_are() {
    let folder = Folder::new();
    let started = server(&folder.tools("tools.json", &tools())).join(" ");
    let run = |command: &str| {
        let output = shell_in(&folder, command);
        assert!(output.status.success(), "{command}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    run(&format!("aquifer interrogate --name small -o bundle.json -- {started}"));
    run("aquifer tokens demo: --json --no-calls > tokens.json");
    assert!(Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap().success());
    symlink("real", folder.path("link")).unwrap();
    for (command, begin) in [
        (format!("aquifer interrogate -o FILE -- {started}"), "{"),
        ("aquifer review bundle.json --accept-all -o FILE".to_owned(), "schema_version"),
        ("aquifer tokens demo: --no-calls --svg FILE".to_owned(), "<svg"),
        (
            "aquifer conformance -f json --evidence evidence.json -o FILE -- aquifer serve tasks: || true".to_owned(),
            "{",
        ),
    ] {
        let into_pipe = command.replace("FILE", "pipe");
        run(&format!("({into_pipe}) & cat pipe > got; wait $!"));
        assert!(std::fs::metadata(folder.path("pipe")).unwrap().file_type().is_fifo(), "{command}");
        assert!(std::fs::read_to_string(folder.path("got")).unwrap().starts_with(begin), "{command}");
        let _ = std::fs::remove_file(folder.path("real"));
        run(&command.replace("FILE", "link"));
        assert!(std::path::Path::new(&folder.path("link")).is_symlink(), "{command}");
        assert!(std::fs::read_to_string(folder.path("real")).unwrap().starts_with(begin), "{command}");
    }
    let both =
        run(&format!("aquifer interrogate -o /dev/stdout -- {started} | cat; aquifer interrogate -o - -- {started}"));
    assert_eq!(both.matches("\"raw_capture\"").count(), 2);
    // Appending goes on where the file ends.
    run(&format!("echo first > log; aquifer interrogate -o /dev/stdout -- {started} >> log"));
    assert!(std::fs::read_to_string(folder.path("log")).unwrap().starts_with("first\n{"));
    let output = shell_in(&folder, "aquifer build bundle.json -o pipe");
    assert!(text(&output.stderr).contains("is not a directory"), "{}", text(&output.stderr));
}

#[test]
fn decisions_are_written_where_they_were_asked_for_even_if_there_are_none() {
    let folder = Folder::new();
    let started = server(&folder.tools("tools.json", &tools())).join(" ");
    let interrogate = format!("aquifer interrogate --name small -o bundle.json -- {started}");
    assert!(shell_in(&folder, &interrogate).status.success());
    for _ in 0..2 {
        let review = "aquifer review bundle.json --accept-all -o decisions.yaml && \
                      aquifer review bundle.json --overrides decisions.yaml --accept-all -o again.yaml && \
                      aquifer build bundle.json --overrides again.yaml --force && aquifer validate again.yaml";
        let output = shell_in(&folder, review);
        assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
        // The second time nothing at all needs review.
        let only_read = std::fs::read_to_string(folder.path("tools.json")).unwrap();
        let reads = serde_json::json!([{ "name": "list_things", "inputSchema": { "type": "object" },
            "annotations": { "readOnlyHint": true } }]);
        assert!(!only_read.is_empty());
        folder.tools("tools.json", &reads);
        std::fs::remove_file(folder.path("decisions.yaml")).unwrap();
        assert!(shell_in(&folder, &interrogate).status.success());
    }
}

/// A terminal that Python provides.
fn at_terminal(folder: &Folder, arguments: &[&str]) -> String {
    const TERMINAL: &str = "import os, pty, sys\nsys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
    let mut command = Command::new("python3");
    command.args(["-c", TERMINAL, env!("CARGO_BIN_EXE_aquifer")]).args(arguments);
    command.env("XDG_STATE_HOME", folder.path("state")).stdin(std::process::Stdio::null());
    text(&command.output().unwrap().stdout).replace("\r\n", "\n")
}

#[test]
fn json_is_indented_in_a_terminal_and_on_one_line_in_a_pipe() {
    let folder = Folder::new();
    for arguments in [
        &["call", "get_tag", r#"{"id": 1}"#, "--source", "demo:"][..],
        &["call", "get_tag", r#"{"id": 1}"#, "--source", "demo:", "--explain"],
        &["introspect", "get_tag", "--json", "--source", "demo:"],
        &["policy", "show", "tasks:", "--json"],
    ] {
        let piped = text(&with_people(forgetful(&folder)).args(arguments).output().unwrap().stdout);
        assert_eq!(piped.trim_end().lines().count(), 1, "{arguments:?}: {piped}");
        let shown = at_terminal(&folder, arguments);
        assert!(shown.lines().count() > 3 && shown.contains("\n  \""), "{arguments:?}: {shown}");
        let same = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(same(&shown), same(&piped), "{arguments:?}");
    }
}

#[test]
fn every_call_is_one_line_of_the_log_at_info() {
    let folder = Folder::new();
    let log = folder.path("log");
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" serve demo: --log info 2> \"$1\"", env!("CARGO_BIN_EXE_aquifer"), &log]);
    command.env("XDG_STATE_HOME", folder.path("state"));
    let mut piped = StdioServer::spawn(&mut command);
    piped.initialize("2025-06-18");
    let begun = std::fs::read_to_string(&log).unwrap().lines().count();
    piped.data("read", "get_tag", serde_json::json!({ "id": 1 }));
    piped.error("read", "get_tag", serde_json::json!({ "id": 100_000 }));
    piped.error("read", &"x\n".repeat(5_000), serde_json::json!({}));
    drop(piped);
    let logged = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = logged.lines().skip(begun).collect();
    assert_eq!(lines.len(), 3, "{logged}");
    assert!(lines[0].contains("get_tag") && lines[0].contains("answered"), "{logged}");
    assert!(lines[1].contains("get_tag") && lines[1].contains("NOT_FOUND_RESOURCE"), "{logged}");
    assert!(lines[2].contains("NOT_FOUND_OPERATION") && lines[2].len() < 1_000, "{logged}");
}
