//! What the documents promise is there.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::{Folder, run, server, shell, shell_in, text, tools};

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

pub(crate) fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|_| panic!("{path} is missing"))
}

#[test]
fn the_example_adapter_is_short() {
    let example = read("crates/aquifer-adapter/examples/task_board.rs");
    let lines = example.lines().filter(|line| !line.trim().is_empty() && !line.trim().starts_with("//")).count();
    assert!(lines < 60, "{lines} lines of code");
}

#[test]
fn the_crates_that_architecture_names_exist_and_all_are_named() {
    let page = read("ARCHITECTURE.md");
    let crates = std::fs::read_dir(root().join("crates")).unwrap();
    let names: Vec<String> = crates.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    for name in &names {
        assert!(page.contains(&format!("`{name}`")), "ARCHITECTURE.md does not name {name}");
    }
    for word in page.split('`').filter(|word| word.starts_with("aquifer-") && !word.contains([' ', '/', '.', ':'])) {
        assert!(names.iter().any(|name| name == word), "ARCHITECTURE.md names {word}, which is not there");
    }
}

#[test]
fn every_decision_is_listed() {
    let index = read("docs/adr/README.md");
    for entry in std::fs::read_dir(root().join("docs/adr")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name == "README.md" || index.contains(&name), "docs/adr/README.md does not list {name}");
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    let guides = std::fs::read_dir(root().join("docs/how-to")).unwrap();
    let guides = guides.map(|entry| format!("docs/how-to/{}", entry.unwrap().file_name().to_str().unwrap()));
    let others = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "docs/adapters.md",
        "docs/protocol.md",
        "docs/configuration.md",
        "docs/databases.md",
        "docs/gateway.md",
        "docs/safety.md",
        "docs/audit.md",
        "docs/conformance.md",
        "docs/conformance/README.md",
        "docs/requirements.md",
        "docs/tokens.md",
    ];
    for page in others.into_iter().map(str::to_owned).chain(guides) {
        let text = read(&page);
        let folder = root().join(&page).parent().unwrap().to_path_buf();
        for (_, rest) in text.match_indices("](").map(|(index, _)| text.split_at(index + 2)) {
            let target = rest.split(')').next().unwrap().split('#').next().unwrap();
            if !target.is_empty() && !target.contains("://") {
                assert!(folder.join(target).exists(), "{page} links to {target}");
            }
        }
    }
}

/// Commands are tried, not believed.
fn printed(command: &str) -> String {
    let output = shell(command);
    assert!(output.status.success(), "{command}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn the_commands_of_the_readme_work_and_answer_as_shown() {
    let page = read("README.md");
    let mut lines = page.lines().peekable();
    let mut tried = 0;
    while let Some(line) = lines.next() {
        let Some(command) = line.strip_prefix("$ ") else { continue };
        let printed = printed(command);
        if let Some(shown) = lines.next_if(|next| next.starts_with('{')) {
            assert_eq!(printed.trim_end(), shown, "{command}");
        }
        tried += 1;
    }
    assert!(tried >= 3, "{tried} commands");
}

/// Those that end by themselves.
#[test]
fn the_examples_in_the_help_work() {
    for command in ["", "call", "introspect"] {
        let help = printed(&format!("aquifer {command} --help"));
        let examples: Vec<&str> =
            help.lines().filter(|line| line.contains(" demo: ") && !line.contains("serve")).collect();
        assert!(examples.len() >= 2, "{help}");
        for example in examples {
            // What it is for stands behind some blanks.
            printed(example.trim_start().split("   ").next().unwrap());
        }
    }
}

#[test]
fn what_the_documents_say_of_tokens_works() {
    let folder = Folder::new();
    let page = read("docs/tokens.md");
    let tasks = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    // The first is for the sample shop, the second for a server of somebody else.
    let (shop, _) = tasks.split_once("\n[[task]]").unwrap();
    folder.file("tasks.toml", shop);
    for command in [
        "aquifer tokens demo: --json > before.json",
        "aquifer tokens demo: --svg tokens.svg",
        "aquifer tokens demo: --tasks tasks.toml --json > now.json",
        "aquifer tokens --compare before.json now.json --budget 5",
    ] {
        assert!(page.contains(command), "{command} is no longer told");
        let output = shell_in(&folder, command);
        assert!(output.status.success(), "{command}: {}{}", text(&output.stdout), text(&output.stderr));
    }
    folder.file("tasks.toml", tasks);
    let output = shell_in(&folder, "aquifer tokens demo: --tasks tasks.toml");
    assert_eq!(output.status.code(), Some(1), "the file is read, and the shop has no issues: {}", text(&output.stderr));
}

/// The figures of the README are those of the page that is made from the measurements.
#[test]
fn the_readme_has_the_measured_tokens() {
    let page = read("docs/tokens.md");
    let row = page.lines().find(|line| line.starts_with("| all ten together")).unwrap();
    let cells: Vec<&str> = row.split('|').map(|cell| cell.split('/').next().unwrap_or_default().trim()).collect();
    let [_, _, tools, direct, semantic, single, .., first_call, _] = cells[..] else { panic!("{row}") };
    let readme = read("README.md").replace('\n', " ");
    for sentence in [
        format!("Ten real servers with {tools} tools cost {direct} tokens at connect"),
        format!("Behind Aquifer they cost {single} tokens as one tool, or {semantic} as five"),
        format!("(connect, one search, one look at the operation) costs {first_call} with one tool"),
    ] {
        assert!(readme.contains(&sentence), "README.md lacks: {sentence}");
    }
}

#[test]
fn the_configurations_in_the_documents_are_valid() {
    let folder = Folder::new();
    let page = read("docs/configuration.md") + &read("docs/safety.md");
    let blocks: Vec<&str> = page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 6, "{blocks:?}");
    for block in blocks {
        let output = run(&["validate", &folder.file("aquifer.toml", block)]);
        assert!(output.status.success(), "{}{block}", text(&output.stdout));
    }
}

/// A folder as the documents have it: clients with servers, and a program `npx` that starts one.
fn workshop() -> Folder {
    let folder = Folder::new();
    let mut offered = tools();
    offered[0]["outputSchema"] = crate::results::things();
    for name in ["read_file", "touch"] {
        offered.as_array_mut().unwrap().push(json!({ "name": name, "inputSchema": { "type": "object" } }));
    }
    let started = server(&folder.tools("tools.json", &offered));
    let npx = folder.file("npx", &format!("#!/bin/sh\nexec {}\n", started.join(" ")));
    assert!(std::process::Command::new("chmod").args(["+x", &npx]).status().unwrap().success());
    let servers = r#"{"mcpServers": {"files": {"command": "npx", "args": ["-y", "some-server"]},
        "github": {"command": "npx", "args": ["-y", "github-server"], "env": {"GITHUB_TOKEN": "not-a-secret"}}}}"#;
    folder.file("mcp.json", servers);
    std::fs::create_dir(folder.path(".cursor")).unwrap();
    folder.file(".cursor/mcp.json", servers);
    folder.file("aquifer.toml", "[[source]]\ntarget = \"mcp.json\"\n");
    let paths = "paths: { /pets: { get: { summary: List pets, responses: {} } } }";
    folder.file("petstore.yaml", &format!("openapi: 3.1.0\nservers: [{{ url: \"https://pets.example\" }}]\n{paths}\n"));
    folder
}

/// Something left to review is told with 1, which is an answer and no failure.
fn tried(folder: &Folder, command: &str) {
    let output = shell_in(folder, command);
    let printed = text(&output.stdout) + &text(&output.stderr);
    let is_fine = output.status.success() || (command.contains(" review ") && output.status.code() == Some(1));
    assert!(is_fine, "{command}: {printed}");
}

#[test]
fn the_commands_about_safety_work() {
    let folder = Folder::new();
    folder.file("aquifer.toml", "[[source]]\ntarget = \"demo:\"\n");
    let page = read("docs/safety.md") + &read("docs/configuration.md");
    let commands: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    assert!(commands.len() >= 6, "{commands:?}");
    commands.iter().for_each(|command| tried(&folder, command));
    let refused = text(&shell_in(&folder, "aquifer call delete_tag '{\"id\": 3}' --source demo:").stdout);
    assert!(refused.contains("CONFIRMATION_REQUIRED"), "{refused}");
}

#[test]
fn the_commands_about_mcp_servers_work() {
    let page = read("docs/gateway.md");
    let folder = workshop();
    let commands: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    assert!(commands.len() >= 8, "{commands:?}");
    commands.iter().for_each(|command| tried(&folder, command));
    let folder = workshop();
    tried(&folder, "aquifer interrogate mcp.json --server files -o files.bundle.json");
    tried(&folder, "aquifer review files.bundle.json --accept touch -o files.overrides.yaml");
    tried(&folder, "aquifer build files.bundle.json");
    for command in ["interrogate", "review", "build", "validate"] {
        let help = text(&shell_in(&folder, &format!("aquifer {command} --help")).stdout);
        let examples: Vec<&str> = help.lines().map(str::trim).filter(|line| line.starts_with("aquifer ")).collect();
        assert!(examples.len() >= 2, "{help}");
        // Nobody is at home at example.com.
        for example in examples.into_iter().filter(|line| !line.contains("example.com")) {
            // What a command before has written is there already.
            let force = if command == "build" { " --force" } else { "" };
            tried(&folder, &format!("{}{force}", example.split("   ").next().unwrap()));
        }
    }
    std::fs::remove_file(folder.path("aquifer.toml")).unwrap();
    tried(&folder, "aquifer init");
}
