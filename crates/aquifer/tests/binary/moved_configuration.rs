//! Accepted definitions belong to a source, wherever its configuration lies and whatever its neighbours are (R-DIS-7a).

use std::os::unix::fs::symlink;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Folder, StdioServer, forgetful, server, text, until};

fn tools(description: &str) -> Value {
    json!([{ "name": "get_user", "description": description, "annotations": { "readOnlyHint": true },
             "inputSchema": { "type": "object" } }])
}

/// A `[[source]]` that starts the test's server. Without a name it is called after its program.
fn source(folder: &Folder, name: Option<&str>, offered: &str) -> String {
    let [python, program, offered] = server(&folder.path(offered));
    let name = name.map(|name| format!("name = {name:?}\n")).unwrap_or_default();
    format!("[[source]]\n{name}command = {python:?}\nargs = [{program:?}, {offered:?}, \"watch\", \"echo\"]\n")
}

fn state(folder: &Folder) -> String {
    format!("[state]\ndir = {:?}\n", folder.path("state"))
}

/// Calls an operation in a process of its own, started in this folder.
fn call(folder: &Folder, from: &str, operation: &str, arguments: &[&str]) -> String {
    let mut command = forgetful(folder);
    command.args(["call", operation]).args(arguments).current_dir(folder.path(from)).stdin(Stdio::null());
    text(&command.output().unwrap().stdout)
}

fn is_refused(answer: &str) -> bool {
    answer.contains("PERMISSION_DENIED") && answer.contains("uarantined")
}

/// Publishes a file as a Kubernetes ConfigMap or a deployment with `current -> releases/N` does.
fn publish(folder: &Folder, number: u32, name: &str, content: &str) {
    let release = format!("releases-{number}");
    std::fs::create_dir_all(folder.path(&release)).unwrap();
    folder.file(&format!("{release}/{name}"), content);
    symlink(&release, folder.path("next")).unwrap();
    std::fs::rename(folder.path("next"), folder.path("current")).unwrap();
}

#[test]
fn r_dis_7a_a_configuration_that_is_published_anew_accepts_nothing() {
    let folder = Folder::new();
    folder.tools("tools.json", &tools("Get a user."));
    let content = format!("{}{}", state(&folder), source(&folder, Some("people"), "tools.json"));
    publish(&folder, 1, "aquifer.toml", &content);
    symlink("current/aquifer.toml", folder.path("aquifer.toml")).unwrap();
    let config = folder.path("aquifer.toml");
    let direct = folder.path("current/aquifer.toml");
    assert!(call(&folder, "", "get_user", &["--config", &config]).contains("\"success\":true"));
    folder.tools("tools.json", &tools("Changed."));
    assert!(is_refused(&call(&folder, "", "get_user", &["--config", &config])));

    // While it is served.
    let mut piped = StdioServer::spawn(forgetful(&folder).args(["serve", "--config", &config]));
    piped.initialize("2025-06-18");
    until("it is served", || (piped.error("read", "get_user", json!({}))["code"] == "PERMISSION_DENIED").then_some(()));
    let more = format!("{content}[[source]]\nname = \"shop\"\ntarget = \"demo:\"\n");
    publish(&folder, 2, "aquifer.toml", &more);
    until("the configuration is taken over", || {
        assert_eq!(piped.error("read", "get_user", json!({}))["code"], "PERMISSION_DENIED");
        piped.operations().iter().any(|name| name.starts_with("shop_")).then_some(())
    });
    assert_eq!(piped.error("read", "get_user", json!({}))["code"], "PERMISSION_DENIED");
    drop(piped);
    publish(&folder, 3, "aquifer.toml", &content);

    // After a restart, by every way to name it: by both links, from inside of the new release, by the release itself,
    // and after it was moved.
    let own = folder.path("releases-3/aquifer.toml");
    for (from, config) in [("", &*config), ("", &*direct), ("current", "aquifer.toml"), ("", &*own)] {
        assert!(is_refused(&call(&folder, from, "get_user", &["--config", config])), "{from} {config}");
    }
    std::fs::rename(folder.path("releases-3"), folder.path("elsewhere")).unwrap();
    let moved = folder.path("elsewhere/aquifer.toml");
    assert!(is_refused(&call(&folder, "", "get_user", &["--config", &moved])));
    // What was accepted for one place stays accepted there, and what changes afterwards waits again.
    let mut review = forgetful(&folder);
    review.args(["review", "people", "--accept-all", "--config", &moved]).current_dir(folder.path(""));
    assert_eq!(review.output().unwrap().status.code(), Some(2));
    assert_eq!(review.output().unwrap().status.code(), Some(0));
    assert!(call(&folder, "", "get_user", &["--config", &moved]).contains("\"success\":true"));
    folder.tools("tools.json", &tools("Changed again."));
    assert!(is_refused(&call(&folder, "", "get_user", &["--config", &moved])));
}

#[test]
fn r_dis_7a_a_clients_file_that_is_published_anew_accepts_nothing() {
    let folder = Folder::new();
    folder.tools("tools.json", &tools("Get a user."));
    let [python, program, offered] = server(&folder.path("tools.json"));
    let servers = json!({ "mcpServers": { "people": { "command": python, "args": [program, offered, "echo"] } } });
    publish(&folder, 1, "mcp.json", &servers.to_string());
    let target = format!("{}[[source]]\ntarget = {:?}\n", state(&folder), folder.path("current/mcp.json"));
    let config = folder.file("aquifer.toml", &target);
    assert!(call(&folder, "", "get_user", &["--config", &config]).contains("\"success\":true"));
    folder.tools("tools.json", &tools("Changed."));
    for number in 2..4 {
        publish(&folder, number, "mcp.json", &servers.to_string());
        assert!(is_refused(&call(&folder, "", "get_user", &["--config", &config])), "{number}");
    }
}

/// Sources that nobody named are told apart by a number, which depends on the others.
#[test]
fn r_dis_7a_an_unnamed_source_keeps_what_was_accepted_when_its_name_changes() {
    let folder = Folder::new();
    let offered = |name: &str, description: &str| {
        json!([{ "name": name, "description": description, "annotations": { "readOnlyHint": true },
                 "inputSchema": { "type": "object" } }])
    };
    folder.tools("one.json", &offered("get_one", "First."));
    folder.tools("two.json", &offered("get_two", "First."));
    let (one, two) = (source(&folder, None, "one.json"), source(&folder, None, "two.json"));
    let config = |sources: &str| folder.file("aquifer.toml", &format!("{}{sources}", state(&folder)));
    let both = config(&format!("{one}{two}"));
    let shown = text(&forgetful(&folder).args(["policy", "show", "--config", &both]).output().unwrap().stdout);
    let named = |tool: &str| {
        let words = shown.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words.filter(|word| word.ends_with(tool)).max_by_key(|word| word.len()).unwrap().to_owned()
    };
    for tool in ["get_one", "get_two"] {
        let operation = named(tool);
        assert!(
            call(&folder, "", &operation, &["--config", &both]).contains("\"success\":true"),
            "{operation}: {shown}"
        );
    }
    folder.tools("two.json", &offered("get_two", "Changed."));
    assert!(is_refused(&call(&folder, "", &named("get_two"), &["--config", &both])));
    // In the other order, and alone.
    let reversed = config(&format!("{two}{one}"));
    let shown = text(&forgetful(&folder).args(["policy", "show", "--config", &reversed]).output().unwrap().stdout);
    assert!(shown.contains("1 quarantined"), "{shown}");
    let alone = config(&two);
    assert!(is_refused(&call(&folder, "", "get_two", &["--config", &alone])));
    // A changed command is no acceptance either.
    let touched = config(&two.replace("\"watch\", ", ""));
    assert!(is_refused(&call(&folder, "", "get_two", &["--config", &touched])));
}
