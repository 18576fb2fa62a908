//! Servers as the gateway presents them: captured tool lists, turned into operations and served by an engine.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use aquifer_discovery::adapter::MapsTo;
use aquifer_discovery::bundle::{Auth, RawCapture, Source as CapturedFrom, Transport};
use aquifer_discovery::{Offer, normalize};
use aquifer_engine::source::{Call, Offering, Outcome};
use aquifer_engine::{Caller, Context, Engine, Reply, Source};
use aquifer_protocol::limits::Limits;
use aquifer_protocol::surface::{Mode, Profile, Receiver, Surface};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

/// A task and the tools that are right for it.
pub(crate) struct Task {
    pub(crate) server: String,
    pub(crate) kind: String,
    pub(crate) words: String,
    pub(crate) tools: Vec<String>,
}

/// A captured server.
pub(crate) struct Server {
    name: String,
    offer: Offer,
}

/// The servers and tasks of one set.
pub(crate) struct Servers {
    pub(crate) servers: BTreeMap<String, Arc<Server>>,
    pub(crate) tasks: Vec<Task>,
}

impl Servers {
    /// Reads a set of tasks and the captures of its servers.
    pub(crate) fn of(set: &str) -> Self {
        let path = format!("{}/tests/search/tasks/{set}.tsv", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let tasks: Vec<Task> = text.lines().filter(|line| !line.starts_with('#')).map(Task::read).collect();
        let mut servers = BTreeMap::new();
        for task in &tasks {
            servers.entry(task.server.clone()).or_insert_with(|| Arc::new(Server::read(&task.server)));
        }
        for task in &tasks {
            let server: &Server = &servers[&task.server];
            for tool in &task.tools {
                assert!(server.operation(tool).is_some(), "{} has no tool {tool}", task.server);
            }
        }
        Self { servers, tasks }
    }
}

impl Task {
    fn read(line: &str) -> Self {
        let fields: Vec<&str> = line.split('\t').collect();
        let [server, kind, words, tools] = fields.as_slice() else { panic!("{line:?} has not four fields") };
        Self {
            server: (*server).to_owned(),
            kind: (*kind).to_owned(),
            words: (*words).to_owned(),
            tools: tools.split('|').map(str::to_owned).collect(),
        }
    }
}

/// The captures of the tests of discovery, and those that only these tests have.
pub(crate) fn capture(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["tests/search/captures", "../aquifer-discovery/tests/discovery/captures"];
    let mut paths = folders.iter().map(|folder| root.join(folder).join(format!("{name}.json")));
    let path = paths.find(|path| path.exists()).unwrap_or_else(|| panic!("no capture of {name}"));
    std::fs::read_to_string(path).unwrap()
}

impl Server {
    /// Reads a capture.
    pub(crate) fn read(name: &str) -> Self {
        let source = CapturedFrom {
            name: name.to_owned(),
            server_url: format!("https://{name}.example.com/mcp"),
            transport: Transport::StreamableHttp,
            captured_at: "2026-11-17T04:00:00Z".to_owned(),
            server: None,
            auth: Auth::none(),
            capture_config_redacted: Map::new(),
        };
        let bundle = normalize(source, RawCapture::from_pages(&[&capture(name)]).unwrap());
        let name = name.replace('-', "_");
        Self { offer: Offer::from_bundle(&bundle, &name), name }
    }

    /// The operation made from a tool, by its name in an engine with this server alone.
    pub(crate) fn operation(&self, tool: &str) -> Option<&str> {
        let is_tool = |call: &aquifer_discovery::Call| matches!(&call.maps_to, MapsTo::Tool(name) if name == tool);
        self.offer.calls.iter().find(|(_, call)| is_tool(call)).map(|(name, _)| &**name)
    }
}

impl Source for Server {
    fn name(&self) -> &str {
        &self.name
    }

    fn offering(&self) -> Offering {
        Offering { operations: self.offer.operations.clone(), types: self.offer.types.clone(), ..Offering::default() }
    }

    fn call(&self, _: Call) -> BoxFuture<'_, Outcome> {
        async { panic!("nothing is called") }.boxed()
    }
}

/// An engine with these servers.
pub(crate) fn engine(servers: impl IntoIterator<Item = Arc<Server>>) -> Engine {
    let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
    let mut builder = Engine::builder(surface).dangerously_let_everything_pass();
    for server in servers {
        builder = builder.source(server);
    }
    builder.build().unwrap()
}

/// The lines that a model is shown.
pub(crate) fn signatures(engine: &Engine, params: Value) -> Vec<String> {
    let request = json!({ "operation": "introspect", "params": params });
    let context = Context::new(Caller::session("tests"), "req_test");
    let reply = engine.handle(&Receiver::Unified, request.as_object().unwrap().clone(), context);
    let Reply::Response(response) = reply.now_or_never().unwrap() else { panic!("a question") };
    let answer = response.render(&Limits::default()).value();
    let lines = answer["data"]["signatures"].as_array().unwrap_or_else(|| panic!("{answer}"));
    lines.iter().map(|line| line.as_str().unwrap().to_owned()).collect()
}
