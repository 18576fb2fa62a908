//! What can be counted. A scenario is prepared once and then run many times.

use std::hint::black_box;
use std::sync::Arc;

use anyhow::{anyhow, bail, ensure};
use aquifer_adapter::IntoAdapter as _;
use aquifer_engine::{Caller, Context, Engine, Reply, Source};
use aquifer_protocol::catalog::Catalog;
use aquifer_protocol::limits::Limits;
use aquifer_protocol::request::{ParsedRequest, Request, parse};
use aquifer_protocol::response::Response;
use aquifer_protocol::schema::Types;
use aquifer_protocol::surface::{Mode, Profile, Receiver, Surface};
use aquifer_protocol::validate::{Strictness, route};
use serde_json::{Map, Value, json};

use crate::catalog::{Generated, operations, requests};
use crate::gated;
use crate::shelf::Shelf;

/// Every scenario.
pub(crate) const NAMES: [&str; 12] = [
    "requests",
    "check",
    "unknown",
    "arguments",
    "call",
    "list",
    "list-rendered",
    "engine",
    "gated",
    "gated-limited",
    "by-hand",
    "direct",
];

/// A scenario ready to run.
pub(crate) enum Scenario {
    /// Copies requests and drops them: what every other scenario costs besides.
    Requests(Vec<Request>),
    /// Routes and validates requests.
    Check { catalog: Catalog, surface: Surface, requests: Vec<Request> },
    /// Routes requests whose operation is misspelt, so that every name is looked at for a suggestion.
    Unknown { catalog: Catalog, surface: Surface, requests: Vec<Request> },
    /// Copies arguments and drops them.
    Arguments(Vec<Map<String, Value>>),
    /// Sends arguments through an engine, and renders the answers where that is wanted.
    Engine { engine: Box<Engine>, arguments: Vec<Map<String, Value>>, render: bool },
    /// Reads the parameters, calls the method and writes the answer.
    ByHand { shelf: Shelf, params: Map<String, Value> },
    /// Calls the method.
    Direct(Shelf),
}

/// Prepares the scenario of this name with a catalog of this size.
pub(crate) async fn prepare(name: &str, size: usize) -> anyhow::Result<Scenario> {
    let generated =
        |arguments, render| anyhow::Ok(Scenario::Engine { engine: engine(Generated::new(size))?, arguments, render });
    Ok(match name {
        "requests" => Scenario::Requests(parsed(size)?),
        "check" => {
            let (catalog, surface) = catalog(size)?;
            Scenario::Check { catalog, surface, requests: parsed(size)? }
        }
        "unknown" => {
            let (catalog, surface) = catalog(size)?;
            let mut requests = parsed(size)?;
            requests.iter_mut().for_each(|request| request.operation = request.operation.replace("record", "recrod"));
            Scenario::Unknown { catalog, surface, requests }
        }
        "arguments" => Scenario::Arguments(requests(size)),
        "call" => generated(requests(size), false)?,
        "list" => generated(vec![list()], false)?,
        "list-rendered" => generated(vec![list()], true)?,
        "engine" => {
            let shelf = Shelf::new().into_adapter().build()?;
            Scenario::Engine { engine: engine(shelf)?, arguments: vec![book()], render: false }
        }
        "gated" | "gated-limited" => {
            let shelf = Shelf::new().into_adapter().build()?;
            let engine = gated::engine(surface()?, shelf, name == "gated-limited", &book()).await?;
            Scenario::Engine { engine, arguments: vec![book()], render: false }
        }
        "by-hand" => {
            let params = book().remove("params").and_then(|params| params.as_object().cloned()).unwrap_or_default();
            Scenario::ByHand { shelf: Shelf::new(), params }
        }
        "direct" => Scenario::Direct(Shelf::new()),
        other => bail!("unknown scenario '{other}': {}", NAMES.join(", ")),
    })
}

fn surface() -> anyhow::Result<Surface> {
    let profile = Profile::known("crude").ok_or_else(|| anyhow!("there is no profile crude"))?;
    Ok(Surface::new(Mode::Single, profile, "")?)
}

fn catalog(size: usize) -> anyhow::Result<(Catalog, Surface)> {
    let surface = surface()?;
    let catalog = Catalog::build(operations(size), Types::new(), &surface)?;
    Ok((catalog, surface))
}

fn engine(source: Arc<dyn Source>) -> anyhow::Result<Box<Engine>> {
    Ok(Box::new(Engine::builder(surface()?).dangerously_let_everything_pass().source(source).build()?))
}

fn parsed(size: usize) -> anyhow::Result<Vec<Request>> {
    requests(size)
        .into_iter()
        .map(|arguments| match parse(arguments, 1) {
            Ok(ParsedRequest::One(request)) => Ok(request),
            _ => bail!("not a request"),
        })
        .collect()
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

fn list() -> Map<String, Value> {
    object(json!({ "operation": "introspect", "params": { "query": "operations" } }))
}

fn book() -> Map<String, Value> {
    object(json!({ "operation": "get_book", "params": { "id": 7, "lang": "en" } }))
}

impl Scenario {
    /// Runs it this many times. Fails if a request does: a refusal must not pass for an answer.
    pub(crate) async fn run(&self, times: u32) -> anyhow::Result<()> {
        match self {
            Scenario::Requests(requests) => {
                for request in turns(requests, times) {
                    black_box(request.clone());
                }
            }
            Scenario::Check { catalog, surface, requests } => {
                for request in turns(requests, times) {
                    let checked = route(catalog, surface, &Receiver::Unified, request.clone())
                        .and_then(|routed| routed.check(catalog, Strictness::Strict));
                    ensure!(black_box(checked).is_ok(), "a request was refused");
                }
            }
            Scenario::Unknown { catalog, surface, requests } => {
                for request in turns(requests, times) {
                    let routed = route(catalog, surface, &Receiver::Unified, request.clone());
                    ensure!(black_box(routed).is_err(), "a misspelt name was found");
                }
            }
            Scenario::Arguments(arguments) => {
                for arguments in turns(arguments, times) {
                    black_box(arguments.clone());
                }
            }
            Scenario::Engine { engine, arguments, render } => {
                for arguments in turns(arguments, times) {
                    let context = Context::new(Caller::anonymous(), "req");
                    let reply = engine.handle(&Receiver::Unified, arguments.clone(), context).await;
                    let Reply::Response(response @ Response::Success(_)) = reply else { bail!("a call failed") };
                    if *render {
                        black_box(response.render(&Limits::default()));
                    } else {
                        black_box(response);
                    }
                }
            }
            Scenario::ByHand { shelf, params } => {
                for _ in 0..times {
                    black_box(shelf.by_hand(params.clone()).await?);
                }
            }
            Scenario::Direct(shelf) => {
                for _ in 0..times {
                    let book = shelf.get_book(black_box(7), Some("en".to_owned())).await;
                    ensure!(black_box(book).is_ok(), "the method failed");
                }
            }
        }
        Ok(())
    }
}

/// The items, again and again.
fn turns<T>(items: &[T], times: u32) -> impl Iterator<Item = &T> {
    items.iter().cycle().take(times as usize)
}
