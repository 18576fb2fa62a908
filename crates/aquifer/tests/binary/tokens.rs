//! What a model pays, counted with a real tokenizer; and `aquifer tokens`, which counts it for everybody.

use std::fmt::Write as _;
use std::process::{Command, Stdio};

use aquifer_protocol::catalog::Catalog;
use aquifer_protocol::category::Category;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Kind, Parameter, Schema, Shape, Types};
use aquifer_protocol::surface::{Mode, Profile, Surface, Tool};
use serde_json::{Value, json};

use crate::support::{Folder, HttpServer, StdioServer, forgetful, server, text, tools};

/// Operations as they are in the wild: long names, all categories.
fn operations(count: usize) -> Vec<Operation> {
    let nouns =
        ["merge_request_discussion", "repository_branch", "pipeline_schedule", "issue_label", "deployment_environment"];
    let verbs = [
        ("create", Category::Create),
        ("get", Category::Read),
        ("list", Category::Read),
        ("update", Category::Update),
        ("delete", Category::Delete),
        ("execute", Category::Execute),
    ];
    (0..count)
        .map(|index| {
            let (verb, category) = verbs[index % verbs.len()];
            let mut name = String::new();
            let _ = write!(name, "{verb}_{}_{index}", nouns[index % nouns.len()]);
            let mut operation = Operation::new(&name, category, "Do something useful with it.");
            if category != Category::Read {
                operation.accept_confirmation_token();
            }
            if category == Category::Update {
                operation.parameters = vec![Parameter::required("input", Schema::new(Kind::Object(Shape::default())))];
            }
            operation
        })
        .collect()
}

/// The tools as `tools/list` shows them, in tokens of both encodings; the larger counts.
fn tokens(tools: &[Tool]) -> usize {
    let shown: Vec<Value> = tools
        .iter()
        .map(|tool| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "inputSchema": tool.input_schema(),
                "annotations": { "readOnlyHint": tool.permissions.read_only, "destructiveHint": tool.permissions.destructive },
            })
        })
        .collect();
    count(&Value::from(shown).to_string())
}

fn count(text: &str) -> usize {
    ["o200k_base", "cl100k_base"]
        .map(|name| tiktoken::get_encoding(name).unwrap().count(text))
        .into_iter()
        .max()
        .unwrap()
}

#[test]
fn r_end_5_the_surface_stays_within_its_budget_however_many_operations_there_are() {
    for operations_count in [10, 100, 1_000] {
        for (mode, budget) in [(Mode::Single, 170), (Mode::Semantic, 700)] {
            let surface = Surface::new(mode, Profile::known("crude").unwrap(), "").unwrap();
            let catalog = Catalog::build(operations(operations_count), Types::new(), &surface).unwrap();
            let tokens = tokens(&surface.tools(&catalog));
            assert!(
                tokens <= budget,
                "{mode:?} with {operations_count} operations costs {tokens} tokens, {budget} are allowed"
            );
        }
    }
}

#[test]
fn r_end_5_the_demo_pays_what_it_shows() {
    for (mode, budget) in [("single", 170), ("semantic", 700)] {
        let mut piped = StdioServer::initialized(&["demo", "--stdio", "--mode", mode], "2025-06-18");
        let tools = piped.request("tools/list", json!({}))["result"]["tools"].to_string();
        let tokens = count(&tools);
        assert!(tokens <= budget, "{mode}: {tokens} tokens\n{tools}");
    }
}

/// A clinic of 14 tables.
const CLINIC: &str = "
    CREATE TABLE sites (id INTEGER PRIMARY KEY, title TEXT NOT NULL, city TEXT NOT NULL, opened_on DATE NOT NULL);
    CREATE TABLE staff (id INTEGER PRIMARY KEY, full_name TEXT NOT NULL, site_id INTEGER NOT NULL REFERENCES sites(id), role TEXT NOT NULL CHECK (role IN ('vet','nurse','desk')), left_on DATE);
    CREATE TABLE owners (id INTEGER PRIMARY KEY, full_name TEXT NOT NULL, email TEXT, city TEXT, created_at TIMESTAMP NOT NULL);
    CREATE TABLE species (id INTEGER PRIMARY KEY, title TEXT NOT NULL, parent_id INTEGER REFERENCES species(id));
    CREATE TABLE animals (id INTEGER PRIMARY KEY, owner_id INTEGER NOT NULL REFERENCES owners(id), species_id INTEGER NOT NULL REFERENCES species(id), name TEXT NOT NULL, born_on DATE, weight_kg REAL, chip TEXT, traits JSON);
    CREATE TABLE visits (id INTEGER PRIMARY KEY, animal_id INTEGER NOT NULL REFERENCES animals(id), site_id INTEGER NOT NULL REFERENCES sites(id), vet_id INTEGER REFERENCES staff(id), state TEXT NOT NULL CHECK (state IN ('booked','done','no_show','cancelled')), starts_at TIMESTAMP NOT NULL, note TEXT);
    CREATE TABLE treatments (id INTEGER PRIMARY KEY, code TEXT NOT NULL, title TEXT NOT NULL, price_cents INTEGER NOT NULL);
    CREATE TABLE visit_treatments (visit_id INTEGER REFERENCES visits(id), treatment_id INTEGER REFERENCES treatments(id), quantity INTEGER NOT NULL, PRIMARY KEY (visit_id, treatment_id));
    CREATE TABLE invoices (id INTEGER PRIMARY KEY, visit_id INTEGER NOT NULL REFERENCES visits(id), total_cents INTEGER NOT NULL, state TEXT NOT NULL CHECK (state IN ('open','paid','void')), due_on DATE NOT NULL, paid_at TIMESTAMP);
    CREATE TABLE payments (id INTEGER PRIMARY KEY, invoice_id INTEGER NOT NULL REFERENCES invoices(id), method TEXT NOT NULL CHECK (method IN ('card','cash','transfer')), amount_cents INTEGER NOT NULL, received_at TIMESTAMP NOT NULL);
    CREATE TABLE suppliers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT NOT NULL, phone TEXT);
    CREATE TABLE stock (id INTEGER PRIMARY KEY, treatment_id INTEGER NOT NULL REFERENCES treatments(id), supplier_id INTEGER REFERENCES suppliers(id), site_id INTEGER NOT NULL REFERENCES sites(id), on_hand INTEGER NOT NULL, reorder_at INTEGER NOT NULL, expires_on DATE);
    CREATE TABLE reminders (id INTEGER PRIMARY KEY, animal_id INTEGER NOT NULL REFERENCES animals(id), kind TEXT NOT NULL CHECK (kind IN ('vaccine','checkup')), due_on DATE NOT NULL, sent_at TIMESTAMP);
    CREATE VIEW overdue_invoices AS SELECT id, visit_id, total_cents, due_on FROM invoices WHERE state = 'open' AND due_on < date('now');
";

#[test]
fn r_ext_2_a_database_of_14_tables_is_described_in_600_tokens() {
    let folder = Folder::new();
    let path = folder.database("clinic.db", CLINIC);
    let mut piped = StdioServer::initialized(&["serve", &path, "--mode", "single"], "2025-06-18");
    let asked = json!({ "operation": "introspect", "params": { "query": "schema" } });
    let answer = piped.request("tools/call", json!({ "name": "mcp_aql", "arguments": asked }));
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    let read: Value = serde_json::from_str(text).unwrap();
    assert_eq!(read["data"]["schema"].as_array().unwrap().len(), 14, "{text}");
    let tokens = tiktoken::get_encoding("o200k_base").unwrap().count(text);
    assert!(tokens <= 600, "{tokens} tokens: {text}");
    let grammar = tiktoken::get_encoding("o200k_base").unwrap().count(&read["data"]["grammar"].to_string());
    assert!(grammar <= 170, "{grammar} tokens: {text}");
}

/// `aquifer tokens` with a folder's own memory; exit code, stdout, stderr.
fn measured(folder: &Folder, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = forgetful(folder).arg("tokens").args(arguments).stdin(Stdio::null()).output().unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// The report, after holding it against the published schema.
fn report(folder: &Folder, arguments: &[&str]) -> Value {
    let arguments = [&["--json"], arguments].concat();
    let (code, out, err) = measured(folder, &arguments);
    assert_eq!(code, Some(0), "{out}{err}");
    checked(&out)
}

fn checked(out: &str) -> Value {
    let report: Value = serde_json::from_str(out).unwrap();
    let schema = serde_json::from_str(include_str!("../../../../docs/tokens.schema.json")).unwrap();
    let problems: Vec<String> =
        jsonschema::validator_for(&schema).unwrap().iter_errors(&report).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{problems:#?}");
    report
}

fn connect(report: &Value, surface: &str) -> Value {
    let mut surfaces = report["surfaces"].as_array().unwrap().iter();
    surfaces.find(|one| one["surface"] == surface).map(|one| one["connect"].clone()).unwrap_or_default()
}

/// The same tools as a client sees them, counted here.
fn shown(arguments: &[&str]) -> usize {
    let mut piped = StdioServer::initialized(arguments, "2025-06-18");
    let tools = piped.request("tools/list", json!({}))["result"]["tools"].clone();
    let member = |tool: &Value| json!({ "name": tool["name"], "description": tool["description"], "inputSchema": tool["inputSchema"] });
    let shown: Vec<Value> = tools.as_array().unwrap().iter().map(member).collect();
    tiktoken::get_encoding("o200k_base").unwrap().count(&Value::from(shown).to_string())
}

#[test]
fn a_database_is_measured_as_it_is_served_and_compared_with_nothing() {
    let folder = Folder::new();
    let path = folder.path("shop.db");
    let made = "CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, body TEXT);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
        INSERT INTO notes SELECT i, 'title ' || i, 'some words about it' FROM n;";
    rusqlite::Connection::open(&path).unwrap().execute_batch(made).unwrap();
    let report = report(&folder, &[&path]);
    for mode in ["semantic", "single"] {
        let served = shown(&["serve", &path, "--mode", mode]);
        assert_eq!(connect(&report, mode)["o200k_base"], served, "{mode}");
    }
    assert_eq!(connect(&report, "direct"), Value::Null, "nothing is invented");
    assert!(report["remarks"][0].as_str().unwrap().contains("no tools of its own"), "{}", report["remarks"]);
    let task = &report["tasks"][0];
    assert_eq!(task["operation"], "list_notes");
    let answers: Vec<(&str, u64)> = task["answers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["shape"].as_str().unwrap(), one["read"]["o200k_base"].as_u64().unwrap()))
        .collect();
    let [("as it comes", plain), ("fields", fields), ("page", page), ("both", both)] = answers[..] else {
        panic!("{answers:?}")
    };
    assert!(both < page.min(fields) && page.max(fields) < plain, "{answers:?}");
    // Nothing was written.
    let rows: i64 = rusqlite::Connection::open(&path)
        .unwrap()
        .query_row("SELECT count(*) FROM notes", [], |row| row.get(0))
        .unwrap();
    assert_eq!(rows, 40);
}

#[test]
fn a_server_is_measured_itself_and_behind_ours() {
    let folder = Folder::new();
    let mut offered = tools();
    offered[0]["icons"] = json!([{ "src": format!("data:image/png;base64,{}", "A".repeat(40_000)) }]);
    offered[1]["inputSchema"]["$defs"] = json!({ "Nobody": { "type": "string", "description": "Refers to this." } });
    let sound =
        json!({ "name": "get_sound", "annotations": { "readOnlyHint": true }, "inputSchema": { "type": "object" } });
    offered.as_array_mut().unwrap().push(sound);
    let started = server(&folder.tools("tools.json", &offered));
    let command: Vec<&str> = started.iter().map(String::as_str).collect();
    let report = report(&folder, &[&["--"], command.as_slice()].concat());

    let direct = &report["surfaces"][0];
    assert_eq!((&direct["surface"], &direct["tools"]), (&json!("direct"), &json!(5)));
    assert!(direct["connect"]["o200k_base"].as_u64().unwrap() < 400, "an icon is no text: {direct}");
    assert_eq!((&direct["apart"]["icons"], &direct["apart"]["bytes"]), (&json!(1), &json!(30_000)));
    let largest = report["largest_tools"].as_array().unwrap();
    assert_eq!(largest[0]["name"], "frobnicate");
    assert!(largest[0]["unused_definitions"]["o200k_base"].as_u64().unwrap() > 5, "{}", largest[0]);

    let task = |name: &str| {
        let mut tasks = report["tasks"].as_array().unwrap().iter();
        tasks.find(|task| task["operation"] == name).unwrap_or_else(|| panic!("{name}: {}", report["tasks"])).clone()
    };
    let things = task("list_things");
    assert!(things["ways"].as_array().unwrap().iter().all(|way| way["outcome"] == "answered"), "{things}");
    assert_eq!(things["ways"][0]["surface"], "direct");
    let sound = task("get_sound");
    for way in sound["ways"].as_array().unwrap() {
        assert_eq!(way["apart"]["audio"], 1, "{way}");
    }
    let operations: Vec<&Value> = report["tasks"].as_array().unwrap().iter().map(|task| &task["operation"]).collect();
    assert!(!operations.contains(&&json!("frobnicate")) && !operations.contains(&&json!("fail")), "{operations:?}");
}

#[test]
fn tasks_of_a_file_run_and_write_only_if_allowed() {
    let folder = Folder::new();
    let mut offered = tools();
    offered[0]["outputSchema"] = crate::results::things();
    let started = server(&folder.tools("tools.json", &offered));
    let command: Vec<&str> = ["--"].into_iter().chain(started.iter().map(String::as_str)).collect();
    let reading = "[[task]]\nname = \"the things\"\nsearch = \"which things are there\"\noperation = \"list_things\"\n\
                   params = { owner_name = \"ada\" }\nshaped = { fields = [\"name\"], first = 3 }\narguments = { ownerName = \"ada\" }\n";
    let report = report(&folder, &[&["--tasks", &folder.file("tasks.toml", reading)], command.as_slice()].concat());
    let ways = report["tasks"][0]["ways"].as_array().unwrap();
    let total = |surface: &str, shaped: bool| {
        let found = ways.iter().find(|way| way["surface"] == surface && way["shaped"] == shaped);
        found.unwrap()["total"]["o200k_base"].as_u64().unwrap()
    };
    assert!(total("single", true) < total("single", false));
    assert!(total("single", false) < total("semantic", false));
    assert_eq!(ways[0]["outcome"], "answered", "{}", ways[0]);
    assert_eq!(ways[1]["found"], true);

    let writing = "[[task]]\nname = \"a lot\"\noperation = \"frobnicate\"\nparams = { thing_id = 1 }\n";
    let writing = folder.file("writing.toml", writing);
    let (code, out, err) = measured(&folder, &[&["--tasks", &writing], command.as_slice()].concat());
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(out.contains("not called: it may write (--allow-writes)"), "{out}");
    assert!(err.contains("cannot run task 'a lot'"), "{err}");
    // Behind ours it has to be confirmed all the same; the server itself does as it is told.
    let allowed = [&["--json", "--allow-writes", "--tasks", &writing], command.as_slice()].concat();
    let (_, out, err) = measured(&folder, &allowed);
    let ways = checked(&out)["tasks"][0]["ways"].clone();
    assert!(ways.as_array().unwrap().iter().all(|way| way["outcome"] != "not_called"), "{ways}{err}");
    assert_eq!(ways[0]["outcome"], "answered", "{ways}");

    for (wrong, words) in [("[[task]]\nname = 1", "line 2"), ("", "no [[task]]")] {
        let (code, _, err) = measured(&folder, &["demo:", "--tasks", &folder.file("wrong.toml", wrong)]);
        assert_eq!(code, Some(2), "{err}");
        assert!(err.contains("wrong.toml") && err.contains(words), "{err}");
    }
}

#[test]
fn a_running_server_is_measured_where_it_is() {
    let folder = Folder::new();
    let served = HttpServer::start(&["serve", "tasks:", "--http", "127.0.0.1:0", "--mode", "single"]);
    let url = format!("http://{}/mcp", served.authority);
    let report = report(&folder, &["--url", &url]);
    assert_eq!(report["surfaces"].as_array().unwrap().len(), 1);
    assert_eq!(connect(&report, "single")["o200k_base"], shown(&["serve", "tasks:", "--mode", "single"]));
    let mut tasks = report["tasks"].as_array().unwrap().iter();
    assert!(tasks.any(|task| task["operation"] == "list_tasks"), "{}", report["tasks"]);
    let (code, _, err) = measured(&folder, &["--url", "http://127.0.0.1:9/mcp"]);
    assert_eq!(code, Some(1), "{err}");
}

#[test]
fn budgets_are_kept_or_not() {
    let folder = Folder::new();
    let before = report(&folder, &["tasks:"]);
    let mut after = before.clone();
    let grown = connect(&before, "single")["o200k_base"].as_u64().unwrap() + 10;
    for surface in after["surfaces"].as_array_mut().unwrap() {
        if surface["surface"] == "single" {
            surface["connect"]["o200k_base"] = grown.into();
        }
    }
    let files = [folder.file("before.json", &before.to_string()), folder.file("after.json", &after.to_string())];
    let [before, after] = [&*files[0], &*files[1]];
    let compare = |arguments: &[&str]| measured(&folder, &[&["--compare"], arguments].concat());
    let cases: [(&[&str], i32, &str); 8] = [
        (&[before, before], 0, "Within the budget of 0 %: 0 changed"),
        (&[before, after], 1, "over budget"),
        (&[before, after, "--budget", "50"], 0, "connect: single"),
        (&[before, after, "--budget", "0.5"], 1, "budget of 0.5 %"),
        (&[after, before], 0, "Within the budget"),
        (&[before, "no-such-file.json"], 2, "cannot read no-such-file.json"),
        (&[before], 2, "2 values required"),
        (&[before, after, "--budget=-1"], 2, "use 0 or more"),
    ];
    for (arguments, exit, words) in cases {
        let (code, out, err) = compare(arguments);
        assert_eq!(code, Some(exit), "{arguments:?}: {out}{err}");
        assert!(format!("{out}{err}").contains(words), "{arguments:?}: {out}{err}");
    }
    let (code, out, _) = compare(&[before, after, "--json"]);
    let compared: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &compared["exceeded"]), (Some(1), &json!(1)));
    for broken in [
        "{}",
        "nonsense",
        r#"{"format":2,"subject":"","surfaces":[],"tasks":[],"largest_tools":[],"largest_operations":[],"remarks":[]}"#,
    ] {
        assert_eq!(compare(&[before, &folder.file("broken.json", broken)]).0, Some(2), "{broken}");
    }
}

#[test]
fn the_picture_is_xml_and_the_text_is_plain_in_a_pipe() {
    let folder = Folder::new();
    let name = "list_<things>&\"more\"";
    let hostile = json!([{ "name": name, "description": "</svg>", "inputSchema": { "type": "object" } }]);
    let started = server(&folder.tools("tools.json", &hostile));
    let picture = folder.path("tokens.svg");
    let command: Vec<&str> = ["--svg", &picture, "--"].into_iter().chain(started.iter().map(String::as_str)).collect();
    let (code, out, err) = measured(&folder, &command);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.starts_with("Token cost of") && out.contains("###") && !out.contains('█'), "{out}");
    let read = "import sys, xml.dom.minidom as m\nroot = m.parse(sys.argv[1]).documentElement\nprint(root.tagName)\n\
                print([t.firstChild.data for t in root.getElementsByTagName('text')])";
    let parsed = Command::new("python3").args(["-c", read, &picture]).output().unwrap();
    assert!(parsed.status.success(), "{}", text(&parsed.stderr));
    let parsed = text(&parsed.stdout);
    assert!(parsed.starts_with("svg\n") && parsed.contains("list_<things>&\"more\""), "{parsed}");
}

const BENCH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench");

/// The benchmark's tasks, on the tools of the server that they are for.
#[test]
fn every_task_of_the_benchmark_is_done_and_questions_are_counted() {
    let folder = Folder::new();
    let captured = concat!(env!("CARGO_MANIFEST_DIR"), "/../aquifer-discovery/tests/discovery/captures/github.json");
    let captured: Value = serde_json::from_str(&std::fs::read_to_string(captured).unwrap()).unwrap();
    let [python, program, offered] = server(&folder.tools("github.json", &captured["tools"]));
    let file = format!("{BENCH}/tokens/github.toml");
    let done = report(&folder, &["--allow-writes", "--tasks", &file, "--", &python, &program, &offered, "echo"]);
    let mut asked = Vec::new();
    for task in done["tasks"].as_array().unwrap() {
        for run in task["ways"].as_array().unwrap() {
            assert_eq!(run["outcome"], "answered", "{task}");
            let calls = run["steps"].as_array().unwrap().iter().filter(|step| step["step"] == "call").count();
            let may_ask = run["surface"] != "direct";
            assert!(calls == 1 || (calls == 2 && may_ask), "{run}");
            if calls == 2 && run["surface"] == "single" && run["shaped"] == false {
                asked.push(task["operation"].as_str().unwrap().to_owned());
            }
        }
    }
    assert!(!asked.is_empty() && asked.iter().all(|name| !name.starts_with("list_")), "{asked:?}");
    // The same tasks as for the comparison of gateways.
    let tasks: toml::Table = toml::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let tasks = serde_json::to_value(&tasks["task"]).unwrap();
    let others = std::fs::read_to_string(format!("{BENCH}/peers/tasks.json")).unwrap();
    let others: Vec<Value> = serde_json::from_str(&others).unwrap();
    let same = |task: &Value| {
        let (tool, words, arguments) = (&task["operation"], &task["search"], &task["params"]);
        json!({ "capture": "github", "tool": tool, "words": words, "arguments": arguments })
    };
    let expected: Vec<Value> = tasks.as_array().unwrap().iter().map(same).collect();
    let others: Vec<Value> = others.into_iter().filter(|task| task["capture"] == "github").collect();
    assert_eq!(others, expected);
}
