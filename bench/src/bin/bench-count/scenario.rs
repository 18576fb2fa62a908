//! The scenarios that can be counted. Each is prepared once and then run many times.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
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

use crate::bookshelf::Bookshelf;
use crate::catalog::{GeneratedSource, operations, requests};
use crate::gated;

/// Prepares a scenario with a catalog of this size and runs it this many times. Returns the nanoseconds per run.
pub(crate) async fn run(name: &str, size: usize, times: u32) -> anyhow::Result<f64> {
    match name {
        // Copies and drops requests, which every other scenario also does.
        "requests" => timed(times, &parsed(size)?, async |request| copy(request)).await,
        "check" => {
            let (catalog, surface, requests) = catalog(size)?;
            let check = async |request: &Request| {
                let checked = route(&catalog, &surface, &Receiver::Unified, request.clone())
                    .and_then(|routed| routed.check(&catalog, Strictness::Strict));
                ensure!(black_box(checked).is_ok(), "a request was refused");
                Ok(())
            };
            timed(times, &requests, check).await
        }
        // The operation is misspelled, so every name is considered as a suggestion.
        "unknown" => {
            let (catalog, surface, mut requests) = catalog(size)?;
            requests.iter_mut().for_each(|request| request.operation = request.operation.replace("record", "recrod"));
            let check = async |request: &Request| {
                let routed = route(&catalog, &surface, &Receiver::Unified, request.clone());
                ensure!(black_box(routed).is_err(), "a misspelt name was found");
                Ok(())
            };
            timed(times, &requests, check).await
        }
        "arguments" => timed(times, &requests(size), async |arguments| copy(arguments)).await,
        "call" => call_engine(&engine(GeneratedSource::new(size))?, &requests(size), false, times).await,
        "list" => call_engine(&engine(GeneratedSource::new(size))?, &[list()?], false, times).await,
        "list-rendered" => call_engine(&engine(GeneratedSource::new(size))?, &[list()?], true, times).await,
        "engine" => call_engine(&engine(Bookshelf::new().into_adapter().build()?)?, &[book()?], false, times).await,
        "gated" | "gated-limited" => {
            let shelf = Bookshelf::new().into_adapter().build()?;
            let engine = gated::engine(surface()?, shelf, name == "gated-limited", &book()?).await?;
            call_engine(&engine, &[book()?], false, times).await
        }
        // Parses the parameters, calls the method and serializes the answer.
        "by-hand" => {
            let (shelf, params) = (Bookshelf::new(), object(json!({ "id": 7, "lang": "en" }))?);
            let call = async |params: &Map<String, Value>| shelf.by_hand(params.clone()).await.map(black_box).map(drop);
            timed(times, &[params], call).await
        }
        // Only calls the method.
        "direct" => {
            let shelf = Bookshelf::new();
            let call = async |id: &u64| {
                let book = shelf.get_book(black_box(*id), Some("en".to_owned())).await;
                ensure!(black_box(book).is_ok(), "the method failed");
                Ok(())
            };
            timed(times, &[7], call).await
        }
        other => bail!("unknown scenario '{other}'"),
    }
}

/// Runs a function on the items in turn. Fails if it fails once, so that a refusal is not taken for an answer.
async fn timed<T>(times: u32, items: &[T], run: impl AsyncFn(&T) -> anyhow::Result<()>) -> anyhow::Result<f64> {
    // One run before measuring initializes everything that is created on first use.
    run(items.first().context("no items")?).await?;
    let started = Instant::now();
    for item in items.iter().cycle().take(times as usize) {
        run(item).await?;
    }
    Ok(started.elapsed().as_secs_f64() * 1e9 / f64::from(times.max(1)))
}

fn copy<T: Clone>(item: &T) -> anyhow::Result<()> {
    black_box(item.clone());
    Ok(())
}

/// Sends arguments through an engine, and optionally renders the answers.
async fn call_engine(
    engine: &Engine,
    arguments: &[Map<String, Value>],
    render: bool,
    times: u32,
) -> anyhow::Result<f64> {
    let call = async |arguments: &Map<String, Value>| {
        let context = Context::new(Caller::anonymous(), "req");
        let reply = engine.handle(&Receiver::Unified, arguments.clone(), context).await;
        let Reply::Response(response @ Response::Success(_)) = reply else { bail!("a call failed") };
        if render {
            black_box(response.render(&Limits::default()));
        } else {
            black_box(response);
        }
        Ok(())
    };
    timed(times, arguments, call).await
}

fn surface() -> anyhow::Result<Surface> {
    Ok(Surface::new(Mode::Single, Profile::known("crude").context("there is no profile crude")?, "")?)
}

fn catalog(size: usize) -> anyhow::Result<(Catalog, Surface, Vec<Request>)> {
    let surface = surface()?;
    Ok((Catalog::build(operations(size), Types::new(), &surface)?, surface, parsed(size)?))
}

fn engine(source: Arc<dyn Source>) -> anyhow::Result<Engine> {
    Ok(Engine::builder(surface()?).dangerously_let_everything_pass().source(source).build()?)
}

fn parsed(size: usize) -> anyhow::Result<Vec<Request>> {
    let parsed = requests(size).into_iter().map(|arguments| match parse(arguments, 1) {
        Ok(ParsedRequest::One(request)) => Ok(request),
        _ => bail!("not a request"),
    });
    parsed.collect()
}

fn object(value: Value) -> anyhow::Result<Map<String, Value>> {
    value.as_object().cloned().context("no object")
}

fn list() -> anyhow::Result<Map<String, Value>> {
    object(json!({ "operation": "introspect", "params": { "query": "operations" } }))
}

fn book() -> anyhow::Result<Map<String, Value>> {
    object(json!({ "operation": "get_book", "params": { "id": 7, "lang": "en" } }))
}
