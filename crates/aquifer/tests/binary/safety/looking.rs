//! What can my agent do: shown, explained, and raised.

use serde_json::{Value, json};

use super::Fixture;
use crate::support::{Folder, StdioServer, forgetful, server, text, tools};

#[test]
fn r_saf_2_policy_show_answers_what_an_agent_can_do() {
    let rules = "[[gate.rule]]\nname = \"no new books\"\noperation = \"create_*\"\neffect = \"deny\"\nreason = \"The shelves \
                 are full\"\n\n[gate.strength]\ndestructive = \"approval\"\n";
    let fixture = Fixture::new(rules);
    let shown = text(&fixture.run(&["policy", "show"]).stdout);
    let line = |name: &str| shown.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{shown}"));
    assert!(line("create_book").contains("deny") && line("create_book").contains("rule 1 'no new books'"), "{shown}");
    assert!(line("delete_book").contains("confirm (approval)"), "{shown}");
    assert!(line("get_book").contains("allow"), "{shown}");
    assert!(shown.contains("library (trusted as 'accepted')"), "{shown}");
    assert!(shown.lines().last().unwrap().contains("1 ask first, 1 denied"), "{shown}");
    // The evidence, and the rule.
    for (name, why) in [("delete_book", "it deletes data"), ("get_book", "it only reads"), ("create_book", "rule 1")] {
        assert!(line(name).contains(why) && !line(name).contains("matrix"), "{shown}");
    }
    // What is shown changes nothing about what there is.
    for (decision, count) in [("allow", None), ("confirm", Some(1)), ("deny", Some(1))] {
        let part = text(&fixture.run(&["policy", "show", "--only", decision]).stdout);
        let total = |shown: &str| shown.lines().find(|line| line.contains(" operations: ")).unwrap().to_owned();
        assert_eq!(total(&part), total(&shown), "{decision}");
        assert!(count.is_none_or(|count: usize| part.contains(&format!("\n{count} shown"))), "{decision}: {part}");
    }
    let only = text(&fixture.run(&["policy", "show", "--only", "deny", "--json"]).stdout);
    let only: Value = serde_json::from_str(&only).unwrap();
    assert_eq!(only["operations"].as_array().unwrap().len(), 1);
    assert_eq!(only["operations"][0]["decision"], "deny");
    // An explanation says everything to the operator; a refusal says to the caller what was decided and why.
    let explained = fixture.run(&["call", "create_book", r#"{"title": "x"}"#, "--explain"]);
    assert_eq!(explained.status.code(), Some(1));
    let explained: Value = serde_json::from_slice(&explained.stdout).unwrap();
    let refused: Value =
        serde_json::from_slice(&fixture.run(&["call", "create_book", r#"{"title": "x"}"#]).stdout).unwrap();
    assert_eq!(refused["error"]["code"], "PERMISSION_DENIED", "{refused}");
    assert_eq!(explained["decided_by"]["name"], "no new books", "{explained}");
    assert_eq!(explained["to_change"][0], "Change rule 1 'no new books'", "{explained}");
    let reason = "The operator's rule 'no new books' does not allow this: The shelves are full";
    assert_eq!(refused["error"]["message"], format!("Permission denied: {reason}"));
    assert_eq!(refused["error"]["details"]["policy"], json!({ "decision": "deny", "reason": reason }));
    assert_eq!(fixture.run(&["call", "delete_book", r#"{"id": 1}"#, "--explain"]).status.code(), Some(0));
    let wrong = fixture.run(&["call", "delete_book", r#"{"id": "one"}"#, "--explain"]);
    assert!(wrong.status.code() == Some(1) && text(&wrong.stdout).contains("VALIDATION_INVALID_TYPE"));
    assert_eq!((fixture.books(), fixture.audited().contains("OPERATION_INTENT")), (50, false), "nothing was run");
}

/// Operations that callers do not see are shown to the operator, and so are rules that do nothing.
#[test]
fn r_saf_2_policy_show_has_what_callers_do_not_see_and_what_does_nothing() {
    let rules = "[[gate.rule]]\nname = \"keep\"\noperation = \"delete_*\"\neffect = \"deny\"\n\
                 [[gate.rule]]\nname = \"typo\"\noperation = \"creat_book\"\neffect = \"deny\"\n\
                 [[gate.rate_limit]]\nname = \"slow\"\nlimit = 1\nwindow = \"day\"\ntable = \"magazines\"\n";
    let fixture = Fixture::new(rules);
    let listed = text(&fixture.run(&["introspect"]).stdout);
    assert!(listed.contains("create_book") && !listed.contains("delete_book"), "{listed}");
    let output = fixture.run(&["policy", "show"]);
    let shown = text(&output.stdout);
    let line = shown.lines().find(|line| line.starts_with("delete_book")).unwrap_or_else(|| panic!("{shown}"));
    assert!(line.contains("deny") && line.contains("rule 1 'keep' denies it"), "{shown}");
    let unused = [
        "rule 2 'typo': no operation matches 'creat_book'. Did you mean 'create_book'?",
        "rate limit 1 'slow': no table matches 'magazines'",
    ];
    assert!(unused.iter().all(|words| shown.lines().any(|line| line.trim() == *words)), "{shown}");
    let policy: Value = serde_json::from_slice(&fixture.run(&["policy", "show", "--json"]).stdout).unwrap();
    assert_eq!(policy["unused_rules"][0]["name"], "typo", "{policy}");
    assert_eq!(policy["unused_rules"][1]["kind"], "rate_limit", "{policy}");
    // The same at start, of every command that serves or calls.
    let call = fixture.run(&["call", "get_book", r#"{"id": 1}"#]);
    let printed = text(&call.stderr);
    assert!(call.status.success() && unused.iter().all(|words| printed.contains(words)), "{printed}");
    let mut piped = StdioServer::spawn(&mut fixture.command(&["serve"]));
    unused.iter().for_each(|words| piped.says(words));
    // A wrong guess is refused without a word of the rule's file.
    let refused: Value = serde_json::from_slice(&fixture.run(&["call", "delete_book", r#"{"id": 1}"#]).stdout).unwrap();
    assert_eq!(refused["error"]["code"], "PERMISSION_DENIED", "{refused}");
    assert_eq!(fixture.books(), 50);
}

/// A server that takes its time is not judged before it has said what it offers, and is judged then.
#[test]
fn r_saf_2_rules_about_a_slow_server_are_checked_once_it_answers() {
    let folder = Folder::new();
    let [python, program, offered] = server(&folder.tools("tools.json", &tools()));
    let (go, state) = (folder.path("go"), folder.path("state"));
    let waits = format!("for i in $(seq 600); do [ -e {go} ] && break; sleep 0.1; done; exec \"$@\"");
    let books = folder.database("books.db", "CREATE TABLE books (id INTEGER PRIMARY KEY);");
    let config = folder.file(
        "aquifer.toml",
        &format!(
            "[state]\ndir = \"{state}\"\n[[source]]\ntarget = \"sqlite:{books}\"\n\
             [[source]]\nname = \"slow\"\ncommand = \"sh\"\nargs = {}\n\
             [[gate.rule]]\nname = \"late\"\neffect = \"deny\"\nsource = \"slow\"\ntool = \"list_thing\"\n",
            json!(["-c", waits, "sh", python, program, offered])
        ),
    );
    let mut piped = StdioServer::spawn(forgetful(&folder).args(["serve", "--config", &config]));
    piped.initialize("2025-06-18");
    std::fs::write(go, "").unwrap();
    piped.says("rule 1 'late': no tool matches 'list_thing'. Did you mean 'list_things'?");
}

#[test]
fn r_saf_4_policy_show_names_the_limits() {
    let limits = "[[gate.rate_limit]]\nname = \"writes\"\nlimit = 30\nwindow = \"minute\"\ncategory = [\"CREATE\", \"DELETE\"]\n\
                  per = [\"caller\"]\n[[gate.quota]]\nmetric = \"requests_per_day\"\nwarn = 800\nhard_stop = 1200\n";
    let fixture = Fixture::new(limits);
    let shown = text(&fixture.run(&["policy", "show"]).stdout);
    let expected = [
        "writes: 30 a minute of category CREATE, DELETE, each caller apart",
        "requests_per_day: warns from 800, stops from 1200",
    ];
    for words in expected {
        assert!(shown.lines().any(|line| line.trim() == words), "{words} in {shown}");
    }
    let policy: Value = serde_json::from_slice(&fixture.run(&["policy", "show", "--json"]).stdout).unwrap();
    assert_eq!(policy["limits"], json!(expected));
}

#[test]
fn r_saf_2_all_configuration_errors_are_reported_at_once() {
    let fixture = Fixture::new(
        "[gate.strength]\ndestuctive = \"token\"\n[[gate.rule]]\nname = \"odd\"\neffect = \"allow\"\nloosen = true\n",
    );
    let output = fixture.run(&["serve"]);
    let printed = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{printed}");
    assert!(printed.contains("destuctive") && printed.contains("rule 1 'odd'"), "{printed}");
    for (keys, words) in [
        ("store = \"mysql\"\n", "state.store"),
        ("[gate]\nrules = 1\n", "unknown field `rules`"),
        ("[audit]\nto = [\"paper\"]\n", "unknown variant `paper`"),
        ("[[gate.rate_limit]]\nname = \"a\"\nlimit = 1\nwindow = \"day\"\nsource_name = \"x\"\n", "unknown field"),
        ("[gate.confirmation]\nttl_seconds = 100000\n", "'ttl_seconds'"),
    ] {
        let output = Fixture::new(keys).run(&["serve"]);
        assert_eq!(output.status.code(), Some(2), "{keys}");
        assert!(text(&output.stderr).contains(words), "{keys}: {}", text(&output.stderr));
    }
}

#[test]
fn r_saf_2_the_operator_sets_the_trust_of_an_adapter_file() {
    let folder = Folder::new();
    let [python, program, offered] = server(&folder.tools("tools.json", &tools()));
    let run = |arguments: &[&str]| {
        let mut command = forgetful(&folder);
        let output = command.args(arguments).current_dir(folder.path("")).output().unwrap();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    };
    let with = |arguments: &[&str]| run(&[arguments, &["--", &python, &program, &offered]].concat());
    assert_eq!(with(&["interrogate", "--name", "small", "-o", "small.bundle.json"]).0, 0);
    let (code, _, stderr) = run(&["build", "small.bundle.json"]);
    assert!(code == 0 && stderr.contains("trust = \"accepted\""), "{stderr}");
    // Without its sidecar the file says nothing of itself: nobody tried it.
    std::fs::remove_file(folder.path("small-adapter.provenance.json")).unwrap();
    let list = ["call", "list_things", "--source", "small-adapter.md"];
    let (code, answer, stderr) = with(&list);
    assert!(code == 1 && answer.contains("PERMISSION_TRUST_LEVEL_INSUFFICIENT"), "{answer}{stderr}");
    assert!(!answer.contains("aquifer trust") && stderr.contains("trust level 'untested'"), "{answer}{stderr}");
    let explain = [&list[..], &["--explain"]].concat();
    let (code, explained, _) = with(&explain);
    assert!(code == 1 && explained.contains("aquifer trust FILE --to generated"), "{explained}");
    let (code, shown, _) = with(&["policy", "show", "small-adapter.md"]);
    assert!(code == 0 && shown.contains(": none run, none ask first, "), "{shown}");
    let trust = |to: &str| run(&["trust", "small-adapter.md", "--to", to, "--reason", "read it", "--by", "Ada"]);
    let (code, _, stderr) = trust("validated");
    assert!(code == 2 && stderr.contains("no level may be skipped"), "{stderr}");
    let mode = |mode: Option<u32>| {
        use std::os::unix::fs::PermissionsExt as _;
        let path = folder.path("small-adapter.md");
        if let Some(mode) = mode {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777
    };
    mode(Some(0o640));
    assert_eq!(trust("generated").0, 0);
    assert_eq!(mode(None), 0o640);
    assert_eq!(with(&list).0, 0, "what was generated can read");
    let (code, _, stderr) = trust("accepted");
    assert!(code == 0 && stderr.contains("on this machine"), "{stderr}");
    let shown_as = |level: &str, more: &[&str]| {
        let (code, shown, stderr) = with(&[&["policy", "show", "small-adapter.md"], more].concat());
        assert!(code == 0 && shown.contains(&format!("trusted as '{level}'")), "{level} {more:?}: {shown}{stderr}");
    };
    shown_as("accepted", &[]);
    shown_as("generated", &["--trust", "generated"]);
    // It was given to this text, by this user: neither another text nor another state has it.
    let file = folder.path("small-adapter.md");
    let given = std::fs::read_to_string(&file).unwrap();
    for other in [given.replace("read it", "read them"), format!("{given}\n")] {
        std::fs::write(&file, other).unwrap();
        shown_as("generated", &[]);
    }
    std::fs::write(&file, &given).unwrap();
    shown_as("accepted", &[]);
    std::fs::rename(folder.path("state"), folder.path("elsewhere")).unwrap();
    shown_as("generated", &[]);
    shown_as("generated", &["--trust", "file"]);
    shown_as("accepted", &["--trust", "validated"]);
    folder.file(
        "aquifer.toml",
        &format!(
            "[[source]]\nadapter = \"small-adapter.md\"\ntrust = \"file\"\ncommand = {}\nargs = {}\n",
            json!(python),
            json!([program, offered])
        ),
    );
    let (code, shown, stderr) = run(&["policy", "show", "--config", "aquifer.toml"]);
    assert!(code == 0 && shown.contains("trusted as 'generated'"), "{shown}{stderr}");
    let history = std::fs::read_to_string(folder.path("small-adapter.md")).unwrap();
    assert!(
        history.contains("promotion_history") && history.contains("Ada") && history.contains("read it"),
        "{history}"
    );
}
