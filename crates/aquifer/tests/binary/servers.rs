//! Servers nobody here wrote, from npm and PyPI, behind the running binary: what they offer is offered whole, a call through
//! us answers what the call itself answers, and a shaped one exactly the part that was asked for.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Map, Value, json};

use crate::offered::check;
use crate::support::{Folder, StdioServer, forgetful, until};

/// A server, and how it is started.
struct Server {
    name: &'static str,
    command: Vec<String>,
    env: Vec<(&'static str, String)>,
}

fn installed(variable: &str) -> PathBuf {
    std::env::var_os(variable)
        .unwrap_or_else(|| panic!("{variable} is not set. Run these tests with: cargo xtask test"))
        .into()
}

fn npm(name: &'static str, arguments: &[&str]) -> Server {
    let script = format!("node_modules/@modelcontextprotocol/server-{name}/dist/index.js");
    let script = installed("AQUIFER_TEST_SERVERS_NPM").join(script).display().to_string();
    let node = std::env::var("AQUIFER_TEST_NODE").unwrap_or_else(|_| "node".to_owned());
    let rest = arguments.iter().map(|argument| (*argument).to_owned());
    Server { name, command: [node, script].into_iter().chain(rest).collect(), env: Vec::new() }
}

fn pypi(name: &'static str, variable: &str, arguments: &[&str]) -> Server {
    let program = installed(variable).with_file_name(format!("mcp-server-{name}")).display().to_string();
    let rest = arguments.iter().map(|argument| (*argument).to_owned());
    Server { name, command: std::iter::once(program).chain(rest).collect(), env: Vec::new() }
}

/// Six of them, with something to read in each.
fn servers(folder: &Folder) -> Vec<Server> {
    let mut memory = npm("memory", &[]);
    memory.env.push(("MEMORY_FILE_PATH", folder.path("memory.jsonl")));
    vec![
        npm("everything", &[]),
        npm("filesystem", &[&folder.path("files")]),
        memory,
        pypi("git", "AQUIFER_TEST_SERVERS_PYTHON", &[]),
        pypi("time", "AQUIFER_TEST_SERVERS_PYTHON", &[]),
        pypi("sqlite", "AQUIFER_TEST_SERVERS_SQLITE", &["--db-path", &folder.path("shop.db")]),
    ]
}

impl Server {
    /// The server itself, greeted as we greet it.
    fn direct(&self) -> StdioServer {
        let [program, arguments @ ..] = self.command.as_slice() else { unreachable!() };
        let mut command = Command::new(program);
        let mut piped = StdioServer::spawn(command.args(arguments).envs(self.env.iter().cloned()));
        let hello = json!({
            "protocolVersion": "2025-11-25", "clientInfo": { "name": "direct", "version": "1" },
            "capabilities": { "elicitation": {}, "sampling": {}, "roots": { "listChanged": true } },
        });
        piped.request("initialize", hello);
        piped.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        piped
    }

    fn tools(&self) -> Value {
        self.direct().request("tools/list", json!({}))["result"]["tools"].clone()
    }
}

/// All of them behind one gateway.
fn gateway(folder: &Folder, servers: &[Server]) -> StdioServer {
    let mut config = String::new();
    for Server { name, command, env } in servers {
        let env: Map<String, Value> = env.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        let env: Vec<String> = env.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        config.push_str(&format!(
            "[[source]]\nname = {name:?}\ncommand = {:?}\nargs = {:?}\nenv = {{ {} }}\nallow = [\"elicitation\", \"sampling\"]\n",
            command[0],
            &command[1..],
            env.join(", ")
        ));
        // A graph has two lists, and the others declare text or nothing.
        let rows = match *name {
            "memory" => Some(("read_graph", "entities")),
            "filesystem" => Some(("directory_tree", "$")),
            "sqlite" => Some(("read_query", "$")),
            _ => None,
        };
        if let Some((operation, rows)) = rows {
            config.push_str(&format!("[source.operations.{operation}]\nrows = {rows:?}\n"));
        }
    }
    // What the servers do is looked at here, not who is asked before.
    config.push_str("[[gate.rule]]\noperation = \"*\"\neffect = \"allow\"\nloosen = true\n");
    let config = folder.file("aquifer.toml", &config);
    let mut piped = StdioServer::spawn(forgetful(folder).args(["serve", "--mode", "single", "--config", &config]));
    piped.initialize("2025-06-18");
    piped
}

fn data(piped: &mut StdioServer, operation: &str, params: &Value) -> Value {
    let answer = piped.call("mcp_aql", json!({ "operation": operation, "params": params }));
    assert_eq!(answer["success"], true, "{operation}: {answer}");
    answer["data"].clone()
}

fn names(piped: &mut StdioServer) -> Vec<String> {
    let listed = data(piped, "introspect", &json!({ "query": "operations", "first": 500 }));
    listed["operations"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

/// What a direct answer comes to here: its structure, else its text, as JSON where it is JSON.
fn expected(result: &Value) -> Value {
    if let Some(structured) = result.get("structuredContent") {
        return structured.clone();
    }
    match result["content"].as_array().map(Vec::as_slice) {
        Some([only]) => parsed(only["text"].as_str().unwrap_or_default()),
        Some(blocks) => blocks.iter().map(|block| parsed(block["text"].as_str().unwrap_or_default())).collect(),
        None => Value::Null,
    }
}

fn parsed(text: &str) -> Value {
    match serde_json::from_str::<Value>(text) {
        Ok(value) if value.is_object() || value.is_array() => value,
        _ => json!(text),
    }
}

fn call(direct: &mut StdioServer, tool: &str, arguments: &Value) -> Value {
    let answer = direct.request("tools/call", json!({ "name": tool, "arguments": arguments }));
    assert_ne!(answer["result"]["isError"], json!(true), "{tool}: {answer}");
    answer["result"].clone()
}

#[test]
fn r_dis_7_six_live_servers_are_served_whole_and_called_exactly() {
    let folder = furnished();
    let servers = servers(&folder);
    let mut piped = gateway(&folder, &servers);
    for server in &servers {
        let tools = server.tools();
        let count = tools.as_array().unwrap().len();
        let prefix = format!("{}_", server.name);
        let offered = until(server.name, || {
            let names = names(&mut piped);
            let own: Vec<String> = names.into_iter().filter(|name| name.starts_with(&prefix)).collect();
            (own.len() >= count).then_some(own)
        });
        assert_eq!(offered.len(), count, "{}: {offered:?}", server.name);
        // The live schemas once more, behind a server that says what reached it.
        let counts = check(server.name, &tools, &folder);
        assert!(counts.passed >= count && counts.refused > 0 && counts.left == 0, "{}: {counts:?}", server.name);
    }
}

/// Files, a repository, and nothing else yet.
fn furnished() -> Folder {
    let folder = Folder::new();
    let make = |name: &str| std::fs::create_dir_all(folder.path(name)).unwrap();
    make("files/inside");
    make("repository");
    folder.file("files/a.txt", "first\nsecond ä\n");
    folder.file("files/b.txt", "b");
    folder.file("files/inside/c.txt", "c");
    folder.file("files/long.txt", &(0..9_000).map(|line| format!("line {line} ünd\n")).collect::<String>());
    let git = |arguments: &[&str]| {
        let who = ["-c", "user.name=T", "-c", "user.email=t@example.com"];
        let done =
            Command::new("git").args(who).args(arguments).current_dir(folder.path("repository")).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    for number in 0..12 {
        folder.file("repository/file", &number.to_string());
        git(&["add", "file"]);
        git(&["commit", "-q", "-m", &format!("change {number}")]);
    }
    folder
}

#[test]
fn r_dis_7_calls_through_the_gateway_answer_what_direct_calls_answer() {
    let folder = furnished();
    let servers = servers(&folder);
    let mut piped = gateway(&folder, &servers);
    let (files, repository) = (folder.path("files"), folder.path("repository"));
    let text = folder.path("files/a.txt");
    let entity = |name: &str| json!({ "name": name, "entityType": "t", "observations": ["o"] });
    // Server, tool, arguments for both; writes go through us first and are seen by the server itself.
    let cases: Vec<(&str, &str, Value)> = vec![
        ("everything", "echo", json!({ "message": "hällo" })),
        ("everything", "get-sum", json!({ "a": 2, "b": 3.5 })),
        ("everything", "get-structured-content", json!({ "location": "Chicago" })),
        ("filesystem", "read_text_file", json!({ "path": text })),
        ("filesystem", "read_text_file", json!({ "path": text, "head": 1 })),
        ("filesystem", "list_directory", json!({ "path": files })),
        ("filesystem", "directory_tree", json!({ "path": files, "excludePatterns": ["*.txt"] })),
        ("filesystem", "search_files", json!({ "path": files, "pattern": "**/*.txt" })),
        ("filesystem", "get_file_info", json!({ "path": text })),
        ("filesystem", "list_allowed_directories", json!({})),
        ("memory", "create_entities", json!({ "entities": [entity("A"), entity("B")] })),
        ("memory", "create_relations", json!({ "relations": [{ "from": "A", "to": "B", "relationType": "r" }] })),
        ("memory", "read_graph", json!({})),
        ("memory", "search_nodes", json!({ "query": "A" })),
        ("memory", "open_nodes", json!({ "names": ["B"] })),
        ("git", "git_status", json!({ "repo_path": repository })),
        ("git", "git_log", json!({ "repo_path": repository, "max_count": 3 })),
        ("git", "git_show", json!({ "repo_path": repository, "revision": "HEAD" })),
        ("git", "git_branch", json!({ "repo_path": repository, "branch_type": "local" })),
        (
            "time",
            "convert_time",
            json!({ "source_timezone": "Europe/Berlin", "time": "12:00", "target_timezone": "Asia/Tokyo" }),
        ),
        ("sqlite", "create_table", json!({ "query": "create table if not exists t (a integer, b text)" })),
        ("sqlite", "read_query", json!({ "query": "select 1 as one, 'zwei' as two" })),
        ("sqlite", "list_tables", json!({})),
        ("sqlite", "describe_table", json!({ "table_name": "t" })),
    ];
    for server in &servers {
        let mut direct = server.direct();
        for (name, tool, arguments) in cases.iter().filter(|(name, ..)| *name == server.name) {
            let tool_name = tool.replace('-', "_");
            let prefix = format!("{name}_");
            let operation = if tool_name.starts_with(&prefix) { tool_name } else { format!("{prefix}{tool_name}") };
            until(&operation, || names(&mut piped).contains(&operation).then_some(()));
            let got = data(&mut piped, &operation, arguments);
            let result = call(&mut direct, tool, arguments);
            if tool.starts_with("create_") && *name == "memory" {
                // What is there already is not made again: the direct call, coming second, makes nothing.
                assert_eq!(first_list(&expected(&result)).len(), 0, "{result}");
                let made = arguments.as_object().unwrap().values().next().unwrap();
                assert_eq!(first_list(&got), made.as_array().unwrap().as_slice(), "{operation}");
                continue;
            }
            assert_eq!(got, expected(&result), "{operation}");
        }
    }
}

fn first_list(value: &Value) -> &[Value] {
    match value {
        Value::Array(list) => list,
        Value::Object(fields) => fields.values().next().map(first_list).unwrap_or_default(),
        _ => &[],
    }
}

/// Goes from page to page.
fn walk(piped: &mut StdioServer, operation: &str, params: &Value) -> Vec<Value> {
    let mut pages = Vec::new();
    let mut params = params.clone();
    loop {
        let page = data(piped, operation, &params);
        let info = page["pageInfo"].clone();
        pages.push(page);
        assert!(pages.len() < 500, "{operation}: pages without end");
        if info["hasNextPage"] != true {
            return pages;
        }
        params["after"] = info["endCursor"].clone();
    }
}

fn texts(pages: &[Value]) -> String {
    pages.iter().map(|page| page["text"].as_str().unwrap_or_else(|| panic!("{page}"))).collect()
}

#[test]
fn r_dis_8_a_shaped_call_answers_exactly_the_part_that_was_asked_for() {
    let folder = furnished();
    let servers = servers(&folder);
    let mut piped = gateway(&folder, &servers);
    let direct = |name: &str, tool: &str, arguments: &Value| {
        let server = servers.iter().find(|server| server.name == name).unwrap();
        call(&mut server.direct(), tool, arguments)
    };
    for server in &servers {
        let prefix = format!("{}_", server.name);
        until(server.name, || names(&mut piped).iter().any(|name| name.starts_with(&prefix)).then_some(()));
    }

    // One thing: its fields, however deep.
    let whole = expected(&direct("everything", "get-structured-content", &json!({ "location": "Chicago" })));
    let part = data(
        &mut piped,
        "everything_get_structured_content",
        &json!({ "location": "Chicago", "fields": ["humidity", "conditions"] }),
    );
    assert_eq!(part, json!({ "humidity": whole["humidity"], "conditions": whole["conditions"] }));
    let times = json!({ "source_timezone": "Europe/Berlin", "time": "12:00", "target_timezone": "Asia/Tokyo" });
    until("time", || names(&mut piped).contains(&"time_convert_time".to_owned()).then_some(()));
    let whole = data(&mut piped, "time_convert_time", &times);
    let mut asked = times.clone();
    asked["fields"] = json!(["target.timezone", "time_difference"]);
    // Nothing said that this is an object. The next start knows.
    drop(piped);
    let mut piped = gateway(&folder, &servers);
    until("time", || names(&mut piped).contains(&"time_convert_time".to_owned()).then_some(()));
    let part = data(&mut piped, "time_convert_time", &asked);
    let target = json!({ "timezone": whole["target"]["timezone"] });
    assert_eq!(part, json!({ "target": target, "time_difference": whole["time_difference"] }));

    // Rows in text inside of a structure.
    let files = json!({ "path": folder.path("files") });
    let whole = expected(&direct("filesystem", "directory_tree", &files));
    let tree = whole["content"].as_str().map_or_else(|| whole.clone(), parsed);
    let mut wanted: Vec<Value> = tree.as_array().unwrap().iter().filter(|row| row["type"] == "file").cloned().collect();
    wanted.sort_by_key(|row| row["name"].as_str().unwrap().to_owned());
    wanted.reverse();
    let mut asked = files.clone();
    for (control, value) in [
        ("fields", json!(["name"])),
        ("filter", json!({ "type": "file" })),
        ("sort", json!("-name")),
        ("first", json!(2)),
    ] {
        asked[control] = value;
    }
    let pages = walk(&mut piped, "filesystem_directory_tree", &asked);
    let rows: Vec<Value> = pages.iter().flat_map(|page| page["items"].as_array().unwrap().clone()).collect();
    let wanted: Vec<Value> = wanted.iter().map(|row| json!({ "name": row["name"] })).collect();
    assert_eq!((rows, pages.len()), (wanted, 2));

    // Text: every character once, whether somebody asks for pages or they are needed.
    let long = json!({ "path": folder.path("files/long.txt") });
    let pages = walk(&mut piped, "filesystem_read_text_file", &long);
    assert_eq!(texts(&pages), std::fs::read_to_string(folder.path("files/long.txt")).unwrap());
    assert!(pages.len() > 1, "{}", pages.len());
    // A page size counts rows, and text has none.
    for (operation, params) in [
        ("filesystem_list_directory", json!({ "path": folder.path("files"), "first": 1 })),
        ("git_log", json!({ "repo_path": folder.path("repository"), "first": 300 })),
    ] {
        let answer = piped.call("mcp_aql", json!({ "operation": operation, "params": params }));
        assert_eq!(answer["error"]["code"], "VALIDATION_UNKNOWN_PARAM", "{answer}");
    }

    // One of two lists, as the operator says.
    let entities: Vec<Value> = (0..7)
        .map(|number| {
            let of = if number % 2 == 0 { "even" } else { "odd" };
            json!({ "name": format!("n{number}"), "entityType": of, "observations": ["many", "words"] })
        })
        .collect();
    data(&mut piped, "memory_create_entities", &json!({ "entities": entities }));
    let relation = json!({ "from": "n0", "to": "n1", "relationType": "before" });
    data(&mut piped, "memory_create_relations", &json!({ "relations": [relation] }));
    let graph = expected(&direct("memory", "read_graph", &json!({})));
    assert_eq!(graph["entities"].as_array().unwrap().len(), 7);
    let asked = json!({ "fields": ["name"], "filter": { "entityType": "even" }, "sort": "-name", "first": 3 });
    let pages = walk(&mut piped, "memory_read_graph", &asked);
    let rows: Vec<Value> = pages.iter().flat_map(|page| page["items"].as_array().unwrap().clone()).collect();
    assert_eq!(rows, ["n6", "n4", "n2", "n0"].map(|name| json!({ "name": name })));
    let counted = json!({ "aggregate": { "n": { "count": true, "group_by": "entityType" } } });
    let counted = data(&mut piped, "memory_read_graph", &counted);
    assert_eq!(counted["aggregations"]["n"], json!({ "even": 4, "odd": 3 }), "{counted}");

    // What Python prints: the same as asking the database for it.
    let create = "create table shop (id integer, name text, price real)";
    data(&mut piped, "sqlite_create_table", &json!({ "query": create }));
    let rows: Vec<String> = (1..=9).map(|id| format!("({id}, 'it''s {id}', {id}.5)")).collect();
    let insert = format!("insert into shop values {}", rows.join(", "));
    data(&mut piped, "sqlite_write_query", &json!({ "query": insert }));
    let all = json!({ "query": "select * from shop" });
    let mut asked = all.clone();
    for (control, value) in
        [("fields", json!(["name", "price"])), ("filter", json!({ "id": { "gt": 4 } })), ("sort", json!("-price"))]
    {
        asked[control] = value;
    }
    let shaped = data(&mut piped, "sqlite_read_query", &asked);
    let same = json!({ "query": "select name, price from shop where id > 4 order by price desc" });
    let same = direct("sqlite", "read_query", &same);
    let printed: Vec<String> = shaped["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| format!("{{'name': \"{}\", 'price': {}}}", row["name"].as_str().unwrap(), row["price"]))
        .collect();
    assert_eq!(json!(format!("[{}]", printed.join(", "))), same["content"][0]["text"], "{shaped}");
    let mut asked = all.clone();
    asked["aggregate"] = json!({ "total": { "sum": "price" } });
    let summed = data(&mut piped, "sqlite_read_query", &asked);
    assert_eq!(summed["aggregations"]["total"], 49.5, "{summed}");
}
