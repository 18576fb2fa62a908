//! Somebody who follows a page, in a folder that is their home.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::block::{Block, LastCommand, Treatment, commands};
use super::compare::{is_same, is_shown};
use crate::support::shop::Shop;
use crate::support::{Folder, HttpServer, StdioServer, server, shell_command, shell_in, text, token};

/// The names that pages have for what is different in a test.
const HOME: &str = "/home/me";
const API: &str = "https://api.example.com";
const REDIS: &str = "redis://127.0.0.1:6379/0";
const REDIS_PREFIX: &str = "redis_prefix = \"shop:\"";
const POSTGRES: &str = "postgres://agent:${SHOP_PASSWORD}@localhost/shop";

/// The database that pages call `shop.db`.
const SHOP: &str = "
    CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT, password_hash TEXT);
    CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers, total REAL NOT NULL,
                         status TEXT NOT NULL, note TEXT);
    INSERT INTO customers VALUES (1, 'Ada', 'ada@example.com', 'x'), (2, 'Ben', 'ben@example.com', 'y');
    INSERT INTO orders VALUES (1, 1, 20, 'paid', 'Gift'), (2, 2, 7.5, 'pending', NULL), (3, 1, 99, 'pending', 'Call first');";

/// The servers in the files of the clients that are installed.
const CLIENT: &str = r#"{"mcpServers": {
    "files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."]},
    "notes": {"command": "npx", "args": ["-y", "notes-server"], "env": {"NOTES_TOKEN": "not-a-secret-4711"}}}}"#;

/// The tools of the file system server.
const CAPTURE: &str = include_str!("../../../../aquifer-discovery/tests/discovery/captures/filesystem.json");

/// Somebody who follows a page.
pub(super) struct Reader {
    folder: Folder,
    /// The programs that were started, the latest last.
    programs: Vec<HttpServer>,
    /// What the page calls something, and what it is called here.
    names: Vec<(String, String)>,
    /// The answer to the latest request, until it was compared.
    answer: Option<Value>,
    /// The latest token.
    token: String,
    /// What is tried: commands, requests and configurations.
    pub(super) tried: usize,
    /// It ends with the reader.
    _api: Shop,
    database: Option<crate::postgres::Database>,
}

impl Reader {
    pub(super) fn new() -> Self {
        let folder = Folder::new();
        folder.database("shop.db", SHOP);
        let capture: Value = serde_json::from_str(CAPTURE).unwrap();
        let started = server(&folder.tools("tools.json", &capture["tools"]));
        let npx = folder.file("npx", &format!("#!/bin/sh\nexec {} echo\n", started.join(" ")));
        assert!(std::process::Command::new("chmod").args(["+x", &npx]).status().unwrap().success());
        for client in [".cursor/mcp.json", ".config/Claude/claude_desktop_config.json"] {
            let path = folder.path(client);
            std::fs::create_dir_all(std::path::Path::new(&path).parent().unwrap()).unwrap();
            std::fs::write(path, CLIENT).unwrap();
        }
        let api = Shop::start();
        // The port is nobody else's.
        let unique = format!("redis_prefix = \"aquifer-test-{}:\"", api.url().rsplit(':').next().unwrap());
        let redis = std::env::var("AQUIFER_TEST_REDIS").expect("AQUIFER_TEST_REDIS is set by: cargo xtask test");
        let names = vec![
            (HOME.to_owned(), folder.path("").trim_end_matches('/').to_owned()),
            (API.to_owned(), api.url()),
            (REDIS_PREFIX.to_owned(), unique),
            (REDIS.to_owned(), redis),
        ];
        Self {
            folder,
            programs: Vec::new(),
            names,
            answer: None,
            token: String::new(),
            tried: 0,
            _api: api,
            database: None,
        }
    }

    /// Does with a block what it is there for.
    pub(super) fn follow(&mut self, block: &Block<'_>) {
        let treatment = block.treatment().unwrap_or_else(|error| panic!("{error}"));
        if let Some(service) = block.needs {
            self.provide(service);
        }
        let block = self.translate(&block.text);
        match treatment {
            Treatment::File(name) => return self.write(name, &block),
            Treatment::Nothing => return,
            Treatment::Commands(last) => self.run_commands(&block, last),
            Treatment::Request => self.send(&block),
            Treatment::Answer => self.compare(&block),
            Treatment::Output => self.wait_for(&block),
        }
        self.tried += 1;
    }

    /// Checks that nothing is left over.
    pub(super) fn finish(&self) {
        assert!(self.answer.is_none(), "the page does not show the answer to a request");
        assert!(self.tried > 0, "nothing on the page was tried");
    }

    /// Makes sure that the database server that a block needs is there.
    fn provide(&mut self, service: &str) {
        match service {
            "redis" => {}
            "postgres" => {
                if self.database.is_none() {
                    let database = crate::postgres::Database::with(SHOP);
                    self.names.push((POSTGRES.to_owned(), database.url.clone()));
                    self.database = Some(database);
                }
            }
            other => panic!("the tests have no '{other}'"),
        }
    }

    /// A text of the page with the names that things have here. The latest name counts.
    fn translate(&self, text: &str) -> String {
        self.names.iter().rev().fold(text.to_owned(), |text, (shown, real)| text.replace(shown, real))
    }

    /// Writes a file. What Aquifer can check is checked, and what a client would start is started.
    fn write(&mut self, name: &str, content: &str) {
        let path = self.folder.file(name, &format!("{content}\n"));
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644)).unwrap();
        if !name.ends_with(".toml") && !name.ends_with(".json") {
            return;
        }
        let output = shell_in(&self.folder, &format!("aquifer validate {name}"));
        assert!(output.status.success(), "{name}: {}{}", text(&output.stdout), text(&output.stderr));
        self.tried += 1;
        if name.ends_with(".json") {
            self.connect(&serde_json::from_str(content).unwrap());
        }
    }

    /// Starts Aquifer as a client with this configuration would.
    fn connect(&self, configuration: &Value) {
        let servers = configuration.get("mcpServers").or(configuration.get("servers")).unwrap();
        for entry in servers.as_object().unwrap().values() {
            assert_eq!(entry["command"], "aquifer");
            let words: Vec<&str> =
                entry["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
            let command = format!("exec aquifer {}", words.join(" "));
            let mut client = StdioServer::spawn(&mut shell_command(&self.folder, &command));
            client.initialize("2025-06-18");
            assert!((1..=5).contains(&client.tools().len()), "{command}");
        }
    }

    fn run_commands(&mut self, block: &str, last: LastCommand) {
        let commands = commands(block);
        let count = commands.len();
        for (index, (command, shown)) in commands.into_iter().enumerate() {
            let started = command.strip_suffix('&');
            if started.is_some() || (command.contains("aquifer serve") && command.contains("--http")) {
                self.start(started.unwrap_or(command), &shown);
                continue;
            }
            let output = shell_in(&self.folder, &format!("{{ {command}\n}} 2>&1"));
            let printed = text(&output.stdout);
            let fails = last == LastCommand::Fails && index + 1 == count;
            assert_eq!(output.status.success(), !fails, "{command}: {printed}");
            assert!(is_printed(&shown, &printed), "{command}: shown {shown}\nprinted {printed}");
        }
    }

    /// Starts a program that goes on running. It listens on a free port, and prints where.
    fn start(&mut self, command: &str, shown: &str) {
        let shown_address = command.split_whitespace().find(|word| word.starts_with("127.0.0.1:")).unwrap();
        let command = command.replace(shown_address, "127.0.0.1:0");
        let program = HttpServer::spawn(&mut shell_command(&self.folder, &format!("exec env {command} 1>&2")));
        self.names.push((shown_address.to_owned(), program.authority.clone()));
        let shown = self.translate(shown);
        let printed = program.stderr_so_far();
        assert!(is_printed(&shown, printed), "{command}: shown {shown}\nprinted {printed}");
        self.programs.push(program);
    }

    /// Waits until the program that was started last has printed these lines.
    fn wait_for(&mut self, block: &str) {
        let program = self.programs.last_mut().expect("a program that was started before");
        for shown in block.lines() {
            program.mentions(shown.split('…').next().unwrap());
            let printed = program.stderr_so_far().lines().last().unwrap();
            assert!(is_shown(shown, printed), "shown {shown}\nprinted {printed}");
        }
    }

    /// Sends a request. Its first line is `// TOOL at ADDRESS`.
    fn send(&mut self, block: &str) {
        let (head, request) = block.strip_prefix("// ").unwrap().split_once('\n').unwrap();
        let (tool, address) = head.split_once(" at ").unwrap();
        let mut request: Value = serde_json::from_str(request).unwrap();
        if let Some(shown) = request["params"].get_mut("confirmation_token") {
            assert_eq!(shown, "conf_…");
            *shown = json!(self.token);
        }
        let program = self.programs.iter().find(|program| program.authority == address).expect("a server there");
        let answer = program.call(tool, request);
        if let Some(token) = token(&answer) {
            token.clone_into(&mut self.token);
        }
        assert!(self.answer.replace(answer).is_none(), "a request without an answer");
    }

    fn compare(&mut self, block: &str) {
        let shown: Value = serde_json::from_str(block).unwrap();
        let answer = self.answer.take().expect("a request before this answer");
        // Answers may have tokens in them, which must not be printed.
        assert!(is_same(&shown, &answer), "the answer differs from {shown}");
    }
}

/// Whether a command printed what is shown. A page need not show anything.
fn is_printed(shown: &str, printed: &str) -> bool {
    let shown = shown.trim_end();
    shown.is_empty() || is_shown(shown, printed.trim_end()) || is_shown(shown, printed)
}
