//! Scripted attacks, each repeated in every setting: with clients on stdio and HTTP, with upstreams on stdio and HTTP, with
//! one source and with several, before and after a restart.

mod arguments;
mod databases;
mod definitions;
mod floods;
mod names;
mod person;
mod resent;
mod state;
mod words;

use std::process::{Child, Command, Output, Stdio};

use serde_json::{Map, Value, json};

use crate::safety::Fixture;
use crate::support::{Folder, Server, Transport, alter, forgetful, text, token, until};

const HOSTILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/binary/attacks/hostile_server.py");

#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    client: Transport,
    upstream: Transport,
    has_several_sources: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Round {
    First,
    Restarted,
}

/// Runs an attack in every setting with upstreams of these transports, and again after a restart. The setting stands in
/// the output of a test that fails. Where upstreams have both transports, half of the settings are left out, so that every
/// pair of choices remains; `cargo xtask test --long` tries all.
pub(crate) fn in_every_setting(
    upstreams: &[Transport],
    build: impl Fn(Setting) -> World,
    mut attack: impl FnMut(&mut World, Round),
) {
    for client in Transport::BOTH {
        for &upstream in upstreams {
            for has_several_sources in [false, true] {
                let is_pair = (client == Transport::Stdio) ^ (upstream == Transport::Stdio) == has_several_sources;
                if upstreams.len() > 1 && !is_pair && std::env::var_os("AQUIFER_TEST_LONG").is_none() {
                    continue;
                }
                let setting = Setting { client, upstream, has_several_sources };
                eprintln!("{setting:?}");
                let mut world = build(setting);
                world.start();
                attack(&mut world, Round::First);
                eprintln!("{setting:?} after a restart");
                world.restart();
                attack(&mut world, Round::Restarted);
            }
        }
    }
}

/// The same for databases, which have no transport of their own.
pub(crate) fn with_every_client(build: impl Fn(Setting) -> World, attack: impl FnMut(&mut World, Round)) {
    in_every_setting(&[Transport::Stdio], build, attack);
}

/// A gateway in front of a source called 'bank', which is attacked or attacks. Where there are several sources, a hostile
/// server called 'spy' comes before it and a database called 'shelf' after it.
pub(crate) struct World {
    folder: Folder,
    setting: Setting,
    source: String,
    keys: String,
    /// What its client can be asked for.
    capabilities: Value,
    server: Option<Server>,
    upstream: Option<Child>,
}

impl World {
    /// The bank is a hostile server. `source` has more keys of it, `keys` the rest of the configuration.
    fn with_upstream(setting: Setting, script: &Value, source: &str, keys: &str) -> Self {
        let mut world = Self::new(setting, keys);
        world.script(script);
        let (script, journal) = (world.folder.path("script.json"), world.folder.file("journal", ""));
        let target = match setting.upstream {
            Transport::Stdio => format!("command = \"python3\"\nargs = [{HOSTILE:?}, {script:?}, {journal:?}]"),
            Transport::Http => {
                let file = world.folder.path("port");
                let mut command = Command::new("python3");
                command.args([HOSTILE, &script, &journal, &file]).stdin(Stdio::null());
                world.upstream = Some(command.spawn().unwrap());
                let port = until("the hostile server listens", || std::fs::read_to_string(&file).ok());
                format!("url = \"http://127.0.0.1:{port}/mcp\"")
            }
        };
        world.source = format!("[[source]]\nname = \"bank\"\n{target}\n{source}\n");
        world
    }

    /// The bank is a database.
    fn with_database(setting: Setting, sql: &str, source: &str, keys: &str) -> Self {
        let mut world = Self::new(setting, keys);
        let file = world.folder.database("bank.db", sql);
        world.name_target(&format!("sqlite:{file}"), source);
        world
    }

    /// The bank is a database that is there already.
    fn with_target(setting: Setting, target: &str, source: &str, keys: &str) -> Self {
        let mut world = Self::new(setting, keys);
        world.name_target(target, source);
        world
    }

    fn name_target(&mut self, target: &str, source: &str) {
        self.source = format!("[[source]]\nname = \"bank\"\ntarget = \"{target}\"\n{source}\n");
    }

    fn new(setting: Setting, keys: &str) -> Self {
        let folder = Folder::new();
        folder.database("shelf.db", "CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT);");
        alter(&folder.path("shelf.db"), "INSERT INTO books VALUES (1, 'Book 1');");
        folder.tools("spy.json", &json!({ "tools": [tool("get_news", json!({}), json!({ "readOnlyHint": true }))] }));
        folder.file("spied", "");
        Self {
            folder,
            setting,
            source: String::new(),
            keys: keys.to_owned(),
            capabilities: json!({}),
            server: None,
            upstream: None,
        }
    }

    /// What the hostile server does from now on.
    fn script(&self, script: &Value) {
        self.folder.tools("script.json", script);
    }

    fn config(&self) -> String {
        let mut written = format!("[state]\ndir = {:?}\n", self.folder.path("state"));
        let (script, journal) = (self.folder.path("spy.json"), self.folder.path("spied"));
        if self.setting.has_several_sources {
            written += &format!(
                "[[source]]\nname = \"spy\"\ncommand = \"python3\"\nargs = [{HOSTILE:?}, {script:?}, {journal:?}]\n"
            );
        }
        written += &self.source;
        if self.setting.has_several_sources {
            written += &format!("[[source]]\nname = \"shelf\"\ntarget = \"sqlite:{}\"\n", self.folder.path("shelf.db"));
        }
        self.folder.file("aquifer.toml", &(written + &self.keys))
    }

    /// Replaces the configuration beside the sources; a server that runs reads it.
    fn rewrite(&mut self, keys: &str) {
        self.keys = keys.to_owned();
        self.config();
        self.server().says("the changed configuration is in effect");
    }

    fn serve(&self) -> Command {
        let config = self.config();
        let mut command = forgetful(&self.folder);
        command.args(["serve", "--config", &config]);
        command
    }

    /// Starts the gateway and waits until every source is known.
    fn start(&mut self) {
        self.server = Some(Server::spawn_for(self.setting.client, &mut self.serve(), &self.capabilities));
        until("every source is there", || {
            let answer = self.introspect(json!({ "query": "summary" }));
            let sources = answer["summary"]["sources"].as_array().cloned().unwrap_or_default();
            let are_live = sources.iter().all(|source| source["status"] == "live");
            // What a source offers is shown a moment after it is known; until then something stands in for it.
            let mut is_shown = || !self.operations().iter().any(|name| name.ends_with("upstream_status"));
            (are_live && is_shown()).then_some(())
        });
    }

    fn stop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop();
        }
    }

    fn restart(&mut self) {
        self.stop();
        self.start();
    }

    fn server(&mut self) -> &mut Server {
        self.server.as_mut().expect("it is running")
    }

    /// What an operation of the bank is called here.
    fn name(&self, operation: &str) -> String {
        if self.setting.has_several_sources { format!("bank_{operation}") } else { operation.to_owned() }
    }

    /// Calls an operation of the bank without confirming anything.
    fn call(&mut self, family: &str, operation: &str, params: Value) -> Value {
        let operation = self.name(operation);
        self.call_by_name(family, &operation, params)
    }

    fn call_by_name(&mut self, family: &str, operation: &str, params: Value) -> Value {
        self.server().call(&format!("mcp_aql_{family}"), json!({ "operation": operation, "params": params }))
    }

    /// Calls an operation of the bank, confirms it if asked to, and gives the answer and the token.
    fn confirmed(&mut self, family: &str, operation: &str, mut params: Value) -> (Value, String) {
        let asked = self.call(family, operation, params.clone());
        let token = token(&asked).unwrap_or_else(|| panic!("{operation}: {asked}")).to_owned();
        params["confirmation_token"] = token.as_str().into();
        (self.call(family, operation, params), token)
    }

    /// The data of an operation of the bank that must work.
    fn data(&mut self, family: &str, operation: &str, params: Value) -> Value {
        let answer = self.call(family, operation, params);
        assert_eq!(answer["success"], true, "{operation}: {answer}");
        answer["data"].clone()
    }

    fn introspect(&mut self, params: Value) -> Value {
        self.call_by_name("read", "introspect", params)["data"].clone()
    }

    /// What introspection says of an operation of the bank.
    fn described(&mut self, operation: &str) -> Value {
        let operation = self.name(operation);
        self.introspect(json!({ "query": "operations", "name": operation }))["operation"].clone()
    }

    /// The names of the first hundred operations.
    fn operations(&mut self) -> Vec<String> {
        let listed = self.introspect(json!({ "query": "operations", "first": 100 }));
        listed["operations"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let config = self.folder.path("aquifer.toml");
        forgetful(&self.folder).args(arguments).args(["--config", &config]).stdin(Stdio::null()).output().unwrap()
    }

    /// A person at a terminal runs a command, answering what it asks.
    fn person(&self, talk: &[(&str, &str)], arguments: &[&str]) -> (i32, String) {
        let config = self.folder.path("aquifer.toml");
        let command = [&[env!("CARGO_BIN_EXE_aquifer")], arguments, &["--config", &config]].concat();
        Fixture::at_terminal("", talk, &command)
    }

    /// The entries of the audit about an event.
    fn audited(&self, event: &str) -> Vec<Value> {
        let shown = text(&self.run(&["audit", "show", "--last", "100000", "--json"]).stdout);
        let entries = shown
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        entries.filter(|entry| entry["event"] == event).collect()
    }

    /// What reached the hostile server.
    fn journal(&self) -> Vec<Value> {
        journal(&self.folder.path("journal"))
    }

    /// The arguments of every call of a tool that reached the hostile server.
    fn executed(&self, tool: &str) -> Vec<Value> {
        let calls = self.journal().into_iter().filter(|entry| entry["method"] == "tools/call");
        calls.filter(|call| call["params"]["name"] == tool).map(|call| call["params"]["arguments"].clone()).collect()
    }

    /// How often a method reached the hostile server.
    fn heard(&self, method: &str) -> usize {
        self.journal().iter().filter(|entry| entry["method"] == method).count()
    }

    /// What the database has, as another program reads it.
    fn query(&self, sql: &str) -> String {
        let direct = rusqlite::Connection::open(self.folder.path("bank.db")).unwrap();
        direct.query_row(sql, [], |row| row.get(0)).unwrap()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(upstream) = &mut self.upstream {
            let _ = upstream.kill();
            let _ = upstream.wait();
        }
    }
}

fn journal(path: &str) -> Vec<Value> {
    let written = std::fs::read_to_string(path).unwrap();
    written.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A tool of a hostile server.
fn tool(name: &str, properties: Value, annotations: Value) -> Value {
    let schema = json!({ "type": "object", "properties": properties });
    json!({ "name": name, "description": format!("Does {name}."), "inputSchema": schema, "annotations": annotations })
}

/// One that only reads, as it says.
fn reading(name: &str) -> Value {
    tool(name, json!({}), json!({ "readOnlyHint": true }))
}

/// One that destroys, as it says.
fn destroying(name: &str) -> Value {
    tool(name, json!({ "id": { "type": "string" } }), json!({ "readOnlyHint": false, "destructiveHint": true }))
}

/// An object with one key, made while running.
fn object(key: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(key.to_owned(), value)]))
}
