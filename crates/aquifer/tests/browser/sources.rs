//! Sources that nobody here wrote: a database of Chromium, MCP servers from npm, and the mock of an HTTP API. What is done
//! with them is in `tests/browser/sources.mjs`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process::Process;
use crate::server::Configured;
use crate::{APPROVALS, flow, hold, node, restart};

/// Rows for the tables of Chromium. The newest version may have more columns than these.
const VISITED: &str = "
    INSERT INTO urls (id, url, title, visit_count, last_visit_time) VALUES
        (1, 'https://capes.example/north', 'North Cape', 3, 13400000000000000),
        (2, 'https://capes.example/end', 'Land''s End', 1, 13400000001000000),
        (3, 'https://capes.example/finisterre', 'Finisterre', 2, 13400000002000000),
        (4, 'https://capes.example/south', NULL, 1, 13400000003000000);";

/// What the memory server remembers.
const GRAPH: &str = r#"{"type":"entity","name":"North Cape","entityType":"cape","observations":["71 degrees north"]}
{"type":"entity","name":"Land's End","entityType":"cape","observations":["Cornwall"]}
{"type":"entity","name":"Finisterre","entityType":"cape","observations":["Galicia"]}
{"type":"relation","from":"Finisterre","to":"Land's End","relationType":"faces"}
"#;

/// Where `cargo xtask test` has installed something.
fn installed(variable: &str) -> PathBuf {
    std::env::var_os(variable).unwrap_or_else(|| panic!("{variable} is set by: cargo xtask test")).into()
}

/// The history of a new profile of Chromium, with a few visits.
fn history() -> Configured {
    Configured::with_source("history", APPROVALS, |folder| {
        let profile = folder.join("profile");
        let mut chromium = Command::new(installed("AQUIFER_TEST_CHROMIUM"));
        chromium.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"]);
        chromium.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
        chromium.arg(format!("--user-data-dir={}", profile.display())).args(["--dump-dom", "about:blank"]);
        let output = chromium.stdin(Stdio::null()).output().unwrap();
        let file = folder.join("history.db");
        std::fs::copy(profile.join("Default/History"), &file)
            .unwrap_or_else(|cause| panic!("{cause}: {}", String::from_utf8_lossy(&output.stderr)));
        rusqlite::Connection::open(&file).unwrap().execute_batch(VISITED).unwrap();
        format!("[[source]]\nname = \"history\"\ntarget = {:?}\n", format!("sqlite:{}", file.display()))
    })
}

/// An MCP server from npm, in a copy that can be changed.
fn copied_server(folder: &Path, name: &str) -> PathBuf {
    let modules = installed("AQUIFER_TEST_SERVERS_NPM").join("node_modules");
    let package = modules.join(format!("@modelcontextprotocol/server-{name}"));
    let copy = folder.join(name);
    std::fs::create_dir_all(copy.join("dist")).unwrap();
    for file in ["package.json", "dist/index.js"] {
        std::fs::copy(package.join(file), copy.join(file)).unwrap();
    }
    std::os::unix::fs::symlink(modules, copy.join("node_modules")).unwrap();
    copy.join("dist/index.js")
}

/// The memory server, with a few entities. `keys` are added to the source.
fn memory(name: &str, keys: &str) -> Configured {
    Configured::with_source(name, APPROVALS, |folder| {
        let (program, graph) = (copied_server(folder, "memory"), folder.join("memory.jsonl"));
        std::fs::write(&graph, GRAPH).unwrap();
        format!(
            "[[source]]\nname = \"memory\"\ncommand = {:?}\nargs = [{program:?}]\nenv = {{ MEMORY_FILE_PATH = {graph:?} }}\n{keys}",
            node()
        )
    })
}

/// The mock of an API, and the configuration that serves it. The mock has to outlive the server.
fn galaxy() -> (Process, Configured) {
    let description = installed("AQUIFER_TEST_DESCRIPTIONS").join("node_modules/@scalar/galaxy/dist/3.1.json");
    let mut prism = Command::new(node());
    prism.arg(installed("AQUIFER_TEST_MOCK").join("node_modules/@stoplight/prism-cli/dist/index.js"));
    prism.args(["mock", "--host", "127.0.0.1", "--port", "0", "--errors", "--multiprocess", "false"]);
    let mut mock = Process::start({
        prism.arg(&description).stdin(Stdio::null());
        prism
    });
    let url = mock.line("the mock listens", |line| {
        line.split_once("Prism is listening on ").map(|(_, url)| url.trim().to_owned())
    });
    let configured = Configured::with_source("galaxy", APPROVALS, |_| {
        format!("[[source]]\nname = \"galaxy\"\nopenapi = {description:?}\nbase_url = {url:?}\n")
    });
    (mock, configured.variable("GALAXY_TOKEN", "token-for-the-mock"))
}

/// Sees every page of a source, and then with a keyboard and on a narrow screen.
fn tour(name: &str, new: impl Fn() -> Configured) {
    for page in ["tour", "reach"] {
        let configured = new();
        let server = configured.start(0);
        flow(page, &[&server.link(), name]).passes();
    }
}

#[test]
fn a_database_of_chromium_is_browsed_tried_and_approved() {
    tour("history", history);
}

#[test]
fn an_mcp_server_from_npm_is_browsed_tried_and_approved() {
    tour("memory", || memory("memory", ""));
}

#[test]
fn an_http_api_is_browsed_tried_and_approved() {
    for page in ["tour", "reach"] {
        let (_mock, configured) = galaxy();
        let server = configured.start(0);
        flow(page, &[&server.link(), "galaxy"]).passes();
    }
}

/// As an update of the package would: one description is another one, and one tool has a new name.
fn update(program: &Path) {
    let code = std::fs::read_to_string(program).unwrap();
    let changes = [
        ("description: \"Read the entire knowledge graph\"", "description: \"Read it, with the name of its author\""),
        ("registerTool(\"open_nodes\"", "registerTool(\"open_nodes_by_name\""),
    ];
    let updated = changes.iter().fold(code, |code, (before, after)| {
        assert_eq!(code.matches(before).count(), 1, "{before}");
        code.replace(before, after)
    });
    std::fs::write(program, updated).unwrap();
}

/// The pin of the accepted definition is in the state store, for everybody who reads it; the rejected one has none.
fn is_pinned(configured: &Configured) {
    let (code, shown) = configured.run(&["review"]);
    assert_eq!(code, Some(1), "{shown}");
    assert!(shown.contains("open_nodes_by_name") && !shown.contains("read_graph"), "{shown}");
}

#[test]
fn changed_and_new_tools_of_an_mcp_server_are_accepted_and_rejected() {
    let configured = memory("review", "quarantine = \"new\"\n");
    let server = configured.start(0);
    let mut page = flow("review", &[&server.link()]);
    let _again = restart(&mut page, &configured, server, || update(&configured.path("memory/dist/index.js")));
    page.passes();
    is_pinned(&configured);
}

#[test]
fn tools_that_change_while_the_page_is_open_are_offered_for_review() {
    let configured = memory("review-running", "quarantine = \"new\"\n");
    let server = configured.start(0);
    let mut page = flow("review", &[&server.link(), "running"]);
    hold(&mut page);
    update(&configured.path("memory/dist/index.js"));
    // A server whose configuration changes is started again.
    configured.edit(|config| config.replace("env = { ", "env = { EDITION = \"second\", "));
    page.release();
    page.passes();
    is_pinned(&configured);
}

/// A server that has a tool with contradictory evidence. `keys` are added to the source.
fn everything(name: &str, keys: impl FnOnce(&Path) -> String) -> Configured {
    Configured::with_source(name, "", |folder| {
        let script = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
        let program = installed("AQUIFER_TEST_SERVERS_NPM").join(script);
        let keys = keys(folder);
        format!("[[source]]\nname = \"everything\"\ncommand = {:?}\nargs = [{program:?}]\n{keys}", node())
    })
}

fn is_classified(file: &Path) {
    let written = std::fs::read_to_string(file).unwrap();
    for words in ["trigger-long-running-operation", "safe", "reviewed"] {
        assert!(written.contains(words), "{words}: {written}");
    }
}

#[test]
fn a_tool_of_an_mcp_server_is_classified() {
    let configured = everything("classify", |folder| {
        let overrides = folder.join("decisions.yaml");
        std::fs::write(&overrides, "schema_version: \"1.0.0-draft\"\ntools: {}\n").unwrap();
        format!("overrides = {overrides:?}\n")
    });
    let server = configured.start(0);
    flow("classify", &[&server.link()]).passes();
    is_classified(&configured.path("decisions.yaml"));
}

#[test]
fn a_classification_that_is_not_in_force_is_called_so() {
    let configured = everything("classify-beside", |_| String::new());
    let server = configured.start(0);
    flow("classify", &[&server.link(), "everything.overrides.yaml"]).passes();
    is_classified(&configured.path("everything.overrides.yaml"));
}
