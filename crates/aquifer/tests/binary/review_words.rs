//! What `aquifer review --accept` takes a word for, and what `aquifer call` does before it refuses (R-DIS-7a).

use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::support::{Folder, forgetful, server, shell, text};

/// A folder with a server whose tools the test writes.
struct Fixture {
    folder: Folder,
    config: String,
}

impl Fixture {
    fn new(tools: &Value) -> Self {
        let folder = Folder::new();
        folder.tools("tools.json", tools);
        let [python, program, offered] = server(&folder.path("tools.json"));
        let config = folder.file(
            "aquifer.toml",
            &format!(
                "[state]\ndir = {:?}\n[[source]]\nname = \"people\"\ncommand = {python:?}\n\
                 args = [{program:?}, {offered:?}, \"echo\"]\n",
                folder.path("state")
            ),
        );
        Self { folder, config }
    }

    fn list(&self, tools: &Value) {
        self.folder.tools("tools.json", tools);
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = forgetful(&self.folder);
        command.args(arguments).args(["--config", &self.config]).current_dir(self.folder.path(""));
        command.stdin(Stdio::null()).output().unwrap()
    }

    fn call(&self, operation: &str) -> String {
        text(&self.run(&["call", operation]).stdout)
    }
}

fn tool(name: &str, description: &str) -> Value {
    json!({ "name": name, "description": description, "annotations": { "readOnlyHint": true }, "inputSchema": {} })
}

/// The words that accept a tool, as a review prints them.
fn printed(seen: &str, tool: &str) -> String {
    let lines: Vec<&str> = seen.lines().collect();
    let start = lines.iter().position(|line| line.starts_with(&format!("quarantined  {tool} "))).unwrap();
    let command = lines.iter().skip(start).find_map(|line| line.trim().strip_prefix("To accept it: ")).unwrap();
    command.rsplit(' ').next().unwrap().trim_matches('\'').to_owned()
}

#[test]
fn r_dis_7a_a_word_accepts_the_tool_it_names_and_no_other() {
    // A first look, to learn the digest.
    let fixture = Fixture::new(&json!([tool("list_things", "First.")]));
    assert!(fixture.call("list_things").contains("\"success\":true"));
    fixture.list(&json!([tool("list_things", "Second.")]));
    let odd = printed(&text(&fixture.run(&["review", "people"]).stdout), "list_things");

    // A tool that is called as the other's definition is.
    let fixture = Fixture::new(&json!([tool("list_things", "First."), tool(&odd, "First.")]));
    assert!(fixture.call("list_things").contains("\"success\":true"));
    fixture.list(&json!([tool("list_things", "Second."), tool(&odd, "Changed.")]));
    let seen = text(&fixture.run(&["review", "people"]).stdout);
    let unclear = fixture.run(&["review", "people", "--accept", &odd]);
    assert_eq!(unclear.status.code(), Some(2), "{}", text(&unclear.stderr));
    let word = printed(&seen, "list_things");
    assert_ne!(word, odd);
    let accepted = fixture.run(&["review", "people", "--accept", &word]);
    assert!(text(&accepted.stderr).contains("'list_things' was accepted"), "{}", text(&accepted.stderr));
    assert!(!text(&accepted.stderr).contains(&odd), "{}", text(&accepted.stderr));
    assert!(text(&fixture.run(&["review", "people"]).stdout).contains(&format!("quarantined  {odd} ")));

    // A tool whose operation has the name of another tool.
    let fixture = Fixture::new(&json!([tool("ListThings", "First.")]));
    assert!(fixture.call("list_things").contains("\"success\":true"));
    fixture.list(&json!([tool("ListThings", "First."), tool("list_things", "First.")]));
    fixture.run(&["introspect"]);
    let _ = fixture.call("list_things");
    fixture.list(&json!([tool("ListThings", "Changed."), tool("list_things", "Second.")]));
    let seen = text(&fixture.run(&["review", "people"]).stdout);
    let unclear = fixture.run(&["review", "people", "--accept", "list_things"]);
    assert!(
        unclear.status.code() == Some(2) && text(&unclear.stderr).contains("several tools"),
        "{}",
        text(&unclear.stderr)
    );
    let accepted = fixture.run(&["review", "people", "--accept", &printed(&seen, "list_things")]);
    assert!(text(&accepted.stderr).contains("'list_things' was accepted"), "{}", text(&accepted.stderr));
    assert!(!text(&accepted.stderr).contains("'ListThings' was accepted"), "{}", text(&accepted.stderr));
}

/// A server chooses the names of its tools: none begins a line that looks like ours, and each can be accepted as printed.
#[test]
fn r_dis_7a_names_of_tools_forge_nothing_and_can_be_accepted() {
    let names =
        ["list_f\nquarantined  nothing", "-n", "--accept-all", "list\tg", "list_h\r\n0 of 1 need review", "it's"];
    let tools = |description: &str| {
        let odd = names.iter().map(|name| tool(name, description));
        Value::Array(odd.chain([tool("list_things", "First.")]).collect())
    };
    let fixture = Fixture::new(&tools("First."));
    assert!(fixture.call("list_things").contains("\"success\":true"));
    fixture.list(&tools("Second."));
    let seen = text(&fixture.run(&["review", "people"]).stdout);
    let headings = seen.lines().filter(|line| line.starts_with("quarantined  ")).count();
    assert_eq!(headings, names.len(), "{seen}");
    assert!(!seen.lines().any(|line| line.starts_with("0 of 1")), "{seen}");
    let commands: Vec<&str> = seen.lines().filter_map(|line| line.trim().strip_prefix("To accept it: ")).collect();
    assert_eq!(commands.len(), names.len(), "{seen}");
    for command in commands {
        // As a person pastes it.
        let accepted = shell(&format!("cd {:?} && {command}", fixture.folder.path("")));
        assert!(text(&accepted.stderr).contains("was accepted"), "{command}: {}", text(&accepted.stderr));
    }
    assert!(!text(&fixture.run(&["review", "people"]).stdout).contains("quarantined  "));
}

/// Without a digest only what was shown before is accepted.
#[test]
fn r_dis_7a_what_was_never_shown_is_not_accepted_by_its_name() {
    let fixture = Fixture::new(&json!([tool("list_things", "First."), tool("get_more", "First.")]));
    assert!(fixture.call("list_things").contains("\"success\":true"));
    fixture.list(&json!([tool("list_things", "Second."), tool("get_more", "First.")]));
    let blind = fixture.run(&["review", "people", "--accept", "list_things"]);
    assert_eq!(blind.status.code(), Some(2), "{}", text(&blind.stderr));
    assert!(text(&blind.stdout).contains("+ Second."), "it is shown now: {}", text(&blind.stdout));
    assert!(text(&blind.stderr).contains("nothing was accepted"), "{}", text(&blind.stderr));
    assert!(fixture.call("list_things").contains("PERMISSION_DENIED"));
    let informed = fixture.run(&["review", "people", "--accept", "list_things"]);
    assert!(text(&informed.stderr).contains("'list_things' was accepted"), "{}", text(&informed.stderr));
    assert!(fixture.call("list_things").contains("\"success\":true"));
}

#[test]
fn r_dis_7a_nothing_is_refused_by_what_an_earlier_run_remembers() {
    let fixture = Fixture::new(&json!([tool("list_things", "First.")]));
    assert!(fixture.call("list_things").contains("\"success\":true"));
    // It gains a tool.
    fixture.list(&json!([tool("list_things", "First."), tool("get_more", "More.")]));
    assert!(fixture.call("get_more").contains("\"success\":true"));
    // It changes one, and that is accepted, also before anybody has served it.
    fixture.list(&json!([tool("list_things", "Second."), tool("get_more", "Other.")]));
    for code in [2, 0] {
        assert_eq!(fixture.run(&["review", "people", "--accept-all"]).status.code(), Some(code));
    }
    assert!(fixture.call("list_things").contains("\"success\":true"));
    assert!(fixture.call("{\"operation\": \"get_more\"}").contains("\"success\":true"));
    // What really is quarantined says so, whatever it is called with.
    fixture.list(&json!([tool("list_things", "Third."), tool("get_more", "Other.")]));
    for _ in 0..2 {
        let refused = text(&fixture.run(&["call", "list_things", "{\"id\": 1}"]).stdout);
        assert!(refused.contains("PERMISSION_DENIED") && refused.contains("uarantined"), "{refused}");
    }
}
