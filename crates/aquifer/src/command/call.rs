//! `aquifer call`: sends one request and prints its envelope.

use std::collections::HashSet;
use std::io::Read;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use aquifer_engine::{Caller, Context, Engine, Interaction, Reply, Snapshot, Source as _};
use aquifer_protocol::error::Failure;
use aquifer_protocol::introspect::OperationClass;
use aquifer_protocol::response::Response;
use aquifer_protocol::scan::{Frame, scan};
use aquifer_protocol::surface::Receiver;
use serde_json::{Map, Value, json};

use crate::CommandOutcome;
use crate::cli::CallArgs;
use crate::config::Config;
use crate::safety::Safety;
use crate::setup::{self, SourceSelection};
use crate::sources::{OnUnreachable, OpenSource};
use crate::terminal;

pub(crate) async fn run(mut arguments: CallArgs) -> anyhow::Result<CommandOutcome> {
    arguments.assign_positionals()?;
    let config = arguments.confirmation.apply_to(Config::read(arguments.config.as_deref())?);
    let wanted = SourceSelection { targets: &arguments.sources, upstream: &arguments.upstream, config: &config };
    let opened = wanted.open_without_waiting(OnUnreachable::FailUnlessCached).await?;
    let safety = Safety::new(&config, &wanted.source_facts()?)?;
    let engine = setup::engine(&opened, &arguments.surface, &config, &safety)?;
    // A cached catalog suffices, so only the server of the operation is needed. Introspection covers all servers.
    let about_all = operation_names(&arguments).iter().any(|name| OperationClass::from_name(name).describes_catalog());
    let snapshot = engine.snapshot();
    if about_all {
        setup::wait(&opened, OnUnreachable::FailUnlessCached).await?;
        engine.refresh()?;
    } else {
        confirm(&arguments, &opened, &snapshot).await?;
        engine.refresh()?;
    }
    let _unused = crate::safety::report_unused(&engine, &safety.gate, &opened);
    let request = request(&arguments, &engine)?;
    let receiver = receiver(&arguments, &engine)?;
    if arguments.explain {
        return super::explain::run(&engine, &safety, &receiver, request, caller()).await;
    }
    let response = ask(&engine, &receiver, request).await;
    safety.close().await;
    let mut rendered = response.render(&engine.settings().limits);
    super::json::print(&rendered.text)?;
    let failed = rendered.value().get("success") != Some(&Value::Bool(true));
    Ok(if failed { CommandOutcome::Failure } else { CommandOutcome::Done })
}

/// Confirms unknown and quarantined operations. A cached catalog is sufficient to call an operation, but not to refuse
/// one, so the servers are asked again.
async fn confirm(arguments: &CallArgs, opened: &[OpenSource], snapshot: &Snapshot) -> anyhow::Result<()> {
    let mut quarantined = HashSet::new();
    for name in operation_names(arguments) {
        match snapshot.catalog().operation(&name).or_else(|| snapshot.unlisted().operation(&name)) {
            None => return setup::wait(opened, OnUnreachable::FailUnlessCached).await,
            Some(operation) if operation.safety.quarantine.is_some() => {
                quarantined.insert(operation.origin.source.clone());
            }
            Some(_) => {}
        }
    }
    let upstreams = opened.iter().filter_map(|one| one.upstream.as_ref());
    for upstream in upstreams.filter(|upstream| quarantined.contains(upstream.name())) {
        // If the server is unavailable, the call reports it.
        let _ = upstream.ready().await;
    }
    Ok(())
}

/// The operations named in a request, including whole requests and batches.
fn operation_names(arguments: &CallArgs) -> Vec<String> {
    let word = &arguments.operation;
    if !word.trim_start().starts_with('{') {
        return vec![word.clone()];
    }
    let request: Value = serde_json::from_str(word).unwrap_or_default();
    let batch = request.get("operations").and_then(Value::as_array).into_iter().flatten();
    let named = std::iter::once(&request).chain(batch).filter_map(|one| one.get("operation")?.as_str());
    named.map(str::to_owned).collect()
}

/// The caller on the command line. It is the same in every run, so that the next run can use a token.
fn caller() -> Caller {
    Caller::session("command line")
}

/// Sends a request through the whole pipeline. A person at the terminal is asked what has to be confirmed.
pub(crate) async fn ask(engine: &Arc<Engine>, receiver: &Receiver, request: Map<String, Value>) -> Response {
    let mut context = Context::new(caller(), engine.next_request_id());
    if !terminal::has_person() {
        return response(engine.handle(receiver, request, context).await);
    }
    context.interaction = Interaction::Available;
    match engine.handle(receiver, request.clone(), context.clone()).await {
        // A form that has to be filled in cannot be filled in here.
        Reply::NeedsInput(question) if question.schema.get("required").is_none_or(|fields| *fields == json!([])) => {
            let is_confirmed = terminal::yes(&format!("{}\nDo it? [y/N] ", question.message)).unwrap_or(false);
            // A person who takes back their own call refuses nothing.
            let action = if is_confirmed { "accept" } else { "cancel" };
            context.answers = Arc::new(Map::from_iter([(question.key, json!({ "action": action }))]));
            response(engine.handle(receiver, request, context).await)
        }
        reply => response(reply),
    }
}

fn response(reply: Reply) -> Response {
    match reply {
        Reply::Response(response) => response,
        Reply::NeedsInput(question) => Response::Failure(question.into_failure()),
    }
}

fn request(arguments: &CallArgs, engine: &Engine) -> anyhow::Result<Map<String, Value>> {
    if arguments.operation.trim_start().starts_with('{') {
        if arguments.params.is_some() {
            bail!("the first argument is a whole request, so put the parameters inside it");
        }
        return object(&arguments.operation, "the request", engine);
    }
    let params = match arguments.params.as_deref() {
        None => Map::new(),
        Some("-") => {
            let mut text = String::new();
            std::io::stdin().lock().read_to_string(&mut text).context("cannot read stdin")?;
            object(&text, "stdin", engine)?
        }
        Some(text) => object(text, "the parameters", engine)?,
    };
    Ok(Map::from_iter([
        ("operation".to_owned(), Value::from(arguments.operation.as_str())),
        ("params".to_owned(), Value::Object(params)),
    ]))
}

fn object(text: &str, what: &str, engine: &Engine) -> anyhow::Result<Map<String, Value>> {
    if let Err(problem) = scan(text.as_bytes(), Frame::Bare, &engine.settings().limits) {
        bail!("{what} cannot be used: {}", Failure::from(&problem).message());
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => bail!("{what} must be a JSON object, for example '{{\"id\": 1}}'"),
        Err(error) => bail!("{what} is not valid JSON: {error}"),
    }
}

fn receiver(arguments: &CallArgs, engine: &Engine) -> anyhow::Result<Receiver> {
    let Some(tool) = &arguments.tool else { return Ok(Receiver::Unified) };
    let snapshot = engine.snapshot();
    snapshot.surface().receiver(tool).with_context(|| {
        let tools: Vec<&str> = snapshot.tools().iter().map(|tool| tool.name.as_str()).collect();
        format!("unknown tool '{tool}'. Tools: {}", tools.join(", "))
    })
}
