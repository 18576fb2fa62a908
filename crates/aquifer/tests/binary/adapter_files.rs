//! From a server to a reviewed adapter and back: interrogate, review, build, validate, serve, drift.

use serde_json::{Value, json};

use crate::support::{Folder, forgetful, server, text, tools};

/// Runs a command in the folder and gives its exit code, stdout and stderr.
fn run(folder: &Folder, arguments: &[&str]) -> (i32, String, String) {
    let mut command = forgetful(folder);
    command.args(arguments).current_dir(folder.path("")).env("SOURCE_DATE_EPOCH", "1763190000");
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

fn done(folder: &Folder, arguments: &[&str]) -> String {
    let (code, out, stderr) = run(folder, arguments);
    assert_eq!(code, 0, "{arguments:?}: {out}{stderr}");
    out
}

fn read(folder: &Folder, name: &str) -> String {
    std::fs::read_to_string(folder.path(name)).unwrap()
}

#[test]
fn r_dis_6_from_a_server_to_a_reviewed_adapter_and_back() {
    let folder = Folder::new();
    let [python, program, offered] = server(&folder.tools("tools.json", &tools()));
    let command = ["--", &python, &program, &offered];
    let with = |arguments: &[&'static str]| -> Vec<String> {
        arguments.iter().copied().chain(command).map(str::to_owned).collect()
    };
    let words = |arguments: &[String]| -> Vec<String> { arguments.to_vec() };
    let go = |arguments: Vec<String>| {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        run(&folder, &arguments)
    };
    // R-DIS-1, R-DIS-2: what the server says, byte for byte.
    let (code, _, stderr) = go(with(&["interrogate", "--name", "small", "-o", "small.bundle.json"]));
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("4 operations, 2 to review"), "{stderr}");
    let bundle = read(&folder, "small.bundle.json");
    let payload: Vec<Value> =
        serde_json::from_str::<Value>(&bundle).unwrap()["raw_capture"]["tools"].as_array().unwrap().clone();
    assert_eq!(Value::Array(payload), tools());
    // R-DIS-5: the same input, the same bytes.
    let (_, again, _) = go(with(&["interrogate", "--name", "small"]));
    assert_eq!(again, bundle);
    // R-DIS-4: what nobody can tell is listed with its reasons.
    let (code, table, stderr) = run(&folder, &["review", "small.bundle.json"]);
    assert_eq!(code, 1, "{stderr}");
    assert!(table.contains("frobnicate") && table.contains("no annotation") && table.contains("2 of 4"), "{table}");
    let (code, _, stderr) = run(&folder, &["review", "small.bundle.json", "--accept", "frobnicat"]);
    assert!(code == 2 && stderr.contains("Did you mean 'frobnicate'?"), "{stderr}");
    // The flag used to be called --endpoint, which is still accepted.
    for flag in ["--endpoint", "--category"] {
        let decided = [
            "review",
            "small.bundle.json",
            flag,
            "frobnicate=update",
            "--danger",
            "frobnicate=reversible",
            "-o",
            "small.overrides.yaml",
        ];
        let (code, _, stderr) = run(&folder, &decided);
        assert_eq!(code, 1, "one is left after {flag}: {stderr}");
    }
    let (code, table, _) =
        run(&folder, &["review", "small.bundle.json", "--accept-all", "--all", "-o", "small.overrides.yaml"]);
    assert_eq!(code, 0);
    assert!(table.contains("UPDATE") && table.contains("0 of 4"), "{table}");
    // R-DIS-6: an adapter and its sidecar.
    let build = ["build", "small.bundle.json", "--overrides", "small.overrides.yaml"];
    assert_eq!(done(&folder, &build), "small-adapter.md\nsmall-adapter.provenance.json\n");
    let (adapter, sidecar) = (read(&folder, "small-adapter.md"), read(&folder, "small-adapter.provenance.json"));
    done(&folder, &build);
    done(&folder, &[&build[..], &["-o", "elsewhere"]].concat());
    assert_eq!(read(&folder, "elsewhere/small-adapter.md"), adapter);
    assert_eq!(read(&folder, "elsewhere/small-adapter.provenance.json"), sidecar);
    assert!(!adapter.contains("mcp_server.py"), "the command lives in the configuration");
    folder.file("small-adapter.md", &format!("{adapter}\nA reviewer's remark.\n"));
    let (code, _, stderr) = run(&folder, &build);
    assert!(code == 2 && stderr.contains("--force"), "{stderr}");
    let valid = done(
        &folder,
        &["validate", "small-adapter.md", "small-adapter.provenance.json", "small.bundle.json", "small.overrides.yaml"],
    );
    assert_eq!(valid.lines().count(), 4, "{valid}");
    // R-DIS-7: served from the file.
    let mut call = vec!["call".to_owned(), "frobnicate".to_owned(), r#"{"thing_id": 3}"#.to_owned()];
    call.extend(["--source", "small-adapter.md", "--tool", "mcp_aql_update"].map(str::to_owned));
    let untrusted = [&call[..], &command.map(str::to_owned)].concat();
    let (code, answer, stderr) = go(words(&untrusted));
    assert!(code == 1 && answer.contains("PERMISSION_DANGER_LEVEL_DENIED"), "R-SAF-2: {answer}");
    assert!(stderr.contains("can only read") && stderr.contains("--trust accepted"), "{stderr}");
    call.extend(["--trust", "validated"].map(str::to_owned));
    call.extend(command.map(str::to_owned));
    let (code, answer, stderr) = go(words(&call));
    assert_eq!(code, 0, "{answer}{stderr}");
    assert!(answer.contains(r#""arguments":{"thingId":3}"#), "{answer}");
    let (code, _, stderr) = run(&folder, &["call", "frobnicate", "--source", "small-adapter.md"]);
    assert!(code == 2 && stderr.contains("Give the command after --"), "{stderr}");
    // R-DIS-7a: has it changed since?
    let (code, report, _) = go(with(&["review", "small-adapter.md"]));
    assert!(code == 0 && report.contains("has not changed since the adapter was reviewed"), "{report}");
    let mut changed = tools();
    changed[0]["description"] = json!("List things, and send them to somebody else.");
    changed[1]["inputSchema"]["properties"]["secretly"] = json!({ "type": "boolean" });
    changed[3]["name"] = json!("fail_better");
    folder.tools("tools.json", &changed);
    let (code, report, _) = go(with(&["review", "small-adapter.md"]));
    assert_eq!(code, 1, "{report}");
    for words in [
        "changed  frobnicate: parameters",
        "changed  list_things: description",
        "gone     fail",
        "new      fail_better",
    ] {
        assert!(report.contains(words), "{report}");
    }
    let mut list = ["introspect", "--source", "small-adapter.md", "--trust", "validated"].map(str::to_owned).to_vec();
    list.extend(command.map(str::to_owned));
    let (_, listed, stderr) = go(list);
    assert!(!listed.contains("somebody else") && !listed.contains("fail_better"), "{listed}");
    assert!(stderr.contains("operations are quarantined"), "{stderr}");
    for changed in ["frobnicate", "list_things"] {
        let line = listed.lines().find(|line| line.starts_with(changed)).unwrap_or_else(|| panic!("{listed}"));
        assert!(line.contains("Quarantined"), "{line}");
    }
    // A decision holds for what was reviewed.
    let mut fresh = vec!["review".to_owned(), "--overrides".to_owned(), "small.overrides.yaml".to_owned()];
    fresh.extend(["--name".to_owned(), "small".to_owned()]);
    fresh.extend(command.map(str::to_owned));
    let (code, table, _) = go(fresh);
    assert!(code == 1 && table.contains("frobnicate"), "{table}");
}

#[test]
fn r_dis_1_interrogation_calls_no_tool() {
    let folder = Folder::new();
    let [python, program, offered] = server(&folder.tools("tools.json", &tools()));
    let mut command = forgetful(&folder);
    command.args(["interrogate", "--env", "MCP_RECORD", "--", &python, &program, &offered]);
    let output = command.env("MCP_RECORD", folder.path("record")).stdin(std::process::Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let asked = read(&folder, "record");
    let asked: Vec<&str> = asked.lines().collect();
    assert_eq!(asked, ["initialize", "notifications/initialized", "tools/list"]);
}

/// A person in a terminal, which Python provides.
#[test]
fn r_dis_4_a_person_decides_in_a_terminal() {
    const TERMINAL: &str = r#"
import os, pty, sys
answers = sys.argv[1].split(",")
seen = b""
def read(fd):
    global seen
    data = os.read(fd, 1024)
    seen += data
    while seen.count(b"> ") and answers:
        seen = seen.split(b"> ", 1)[1]
        os.write(fd, (answers.pop(0) + "\n").encode())
    return data
status = pty.spawn(sys.argv[2:], read)
sys.exit(os.waitstatus_to_exitcode(status))
"#;
    let folder = Folder::new();
    let [python, program, offered] = server(&folder.tools("tools.json", &tools()));
    let bundle = ["interrogate", "--name", "small", "-o", "small.bundle.json", "--", &python, &program, &offered];
    done(&folder, &bundle);
    let mut terminal = std::process::Command::new("python3");
    terminal.args(["-c", TERMINAL, "nonsense,c UPDATE,d reversible", env!("CARGO_BIN_EXE_aquifer")]);
    terminal.args(["review", "small.bundle.json"]).current_dir(folder.path("")).stdin(std::process::Stdio::null());
    let output = terminal.output().unwrap();
    let seen = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{seen}{}", text(&output.stderr));
    assert!(seen.contains("use one of these") && seen.contains("0 of 4 need review"), "{seen}");
    let decided = read(&folder, "small.overrides.yaml");
    assert!(decided.contains("endpoint: UPDATE") && decided.contains("danger_level: reversible"), "{decided}");
}

/// A REST adapter as people write one: everything is checked, though this version serves none.
#[test]
fn r_dis_9_unknown_plugins_and_credentials_in_a_file_are_refused() {
    const REST: &str = "---\nname: tasks-api\ntype: adapter\nversion: \"1.0.0\"\ndescription: Tasks\nauthor: someone\n\
        target:\n  base_url: https://api.example.com/v1\n  transport: http\n  protocol: rest\n  serialization: json\n\
        auth:\n  type: bearer\n  token_env: TASKS_TOKEN\n\
        operations:\n  read:\n    - name: get_task\n      maps_to: GET /tasks/{id}\n      description: Get a task.\n      \
        params:\n        id:\n          type: string\n          required: true\n---\n# Tasks\n";
    let folder = Folder::new();
    folder.file("tasks-adapter.md", REST);
    done(&folder, &["validate", "tasks-adapter.md"]);
    let (code, stdout, stderr) = run(&folder, &["introspect", "get_task", "--source", "tasks-adapter.md"]);
    assert!(code == 0 && stdout.contains("get_task"), "{stdout}{stderr}");
    assert!(stderr.contains("set the environment variable TASKS_TOKEN"), "{stderr}");
    for (right, wrong, report) in [
        ("transport: http", "transport: carrier-pigeon", "PLUGIN_NOT_FOUND"),
        ("protocol: rest", "protocol: graphql", "PLUGIN_NOT_FOUND"),
        ("serialization: json", "serialization: xml", "PLUGIN_NOT_FOUND"),
        ("type: bearer", "type: kerberos", "PLUGIN_NOT_FOUND"),
        ("token_env: TASKS_TOKEN", "token: hush-4711-and-more", "credential"),
        ("https://api", "https://me:hush-4711@api", "credential"),
        ("author: someone", "author: ghp_hush4711hush4711hush4711hush4711hu", "credential"),
    ] {
        let file = REST.replacen(right, wrong, 1);
        assert_ne!(file, REST, "{right}");
        folder.file("tasks-adapter.md", &file);
        let line = file.lines().position(|line| line.contains(wrong)).unwrap() + 1;
        let (code, out, stderr) = run(&folder, &["validate", "tasks-adapter.md"]);
        assert_eq!(code, 1, "{wrong}: {out}{stderr}");
        assert!(out.contains(report) && out.contains(&format!("tasks-adapter.md:{line}:")), "{wrong}: {out}");
        let (code, _, refused) = run(&folder, &["serve", "tasks-adapter.md"]);
        assert!(code == 2 && refused.contains(report), "{wrong}: {refused}");
        let everything = format!("{out}{stderr}{refused}");
        assert!(!everything.contains("hush"), "{wrong}: {everything}");
    }
}
