//! Resources and prompts of an upstream.
//!
//! Contents are passed on unchanged. Lists are shown to people and models, so their texts are sanitized. A name or
//! address that is shown differently is translated back when it is requested.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use aquifer_engine::source::{Context, FetchRequest};
use aquifer_protocol::error::Failure;
use serde_json::{Map, Value, json};

use crate::client::connection::Connection;
use crate::client::interrogation::list_pages;
use crate::client::message::Json;
use crate::client::pending_calls::CallOrigin;
use crate::error::UpstreamError;
use crate::sanitize::Sanitizer;
use crate::supervisor::lifecycle::Supervisor;

/// Maximum number of names of one list that are translated back. Further unclean entries are left out.
const MAX_TRANSLATED_NAMES: usize = 1_000;

/// Fetches resources, prompts or completions.
pub(crate) async fn fetch(supervisor: &Supervisor, target: FetchRequest, context: Context) -> Result<Value, Failure> {
    let settings = &supervisor.settings;
    let to_failure =
        |error: UpstreamError| error.into_failure(&settings.name, &supervisor.sanitizer, settings.max_answer_bytes);
    for attempt in 0..2 {
        let connection = supervisor.wait_connected().await?;
        if !supervisor.source_capabilities.load().has(&target) {
            return Ok(json!([]));
        }
        match fetch_from(supervisor, &connection, &target, &context).await {
            // Reads can be repeated without harm.
            Err(UpstreamError::Unsent(_) | UpstreamError::SessionLost | UpstreamError::Disconnected(_))
                if attempt == 0 => {}
            outcome => return outcome.map_err(to_failure),
        }
    }
    Err(Failure::internal("more attempts than allowed"))
}

const RESOURCES: &str = "resources/list";
const TEMPLATES: &str = "resources/templates/list";
const PROMPTS: &str = "prompts/list";

async fn fetch_from(
    supervisor: &Supervisor,
    connection: &Connection,
    target: &FetchRequest,
    context: &Context,
) -> Result<Value, UpstreamError> {
    let sanitizer = &supervisor.sanitizer;
    let (method, entries) = match target {
        FetchRequest::Resources => (RESOURCES, "resources"),
        FetchRequest::ResourceTemplates => (TEMPLATES, "resourceTemplates"),
        FetchRequest::Prompts => (PROMPTS, "prompts"),
        FetchRequest::Resource(uri) => {
            let uri = sanitizer.exact_name(RESOURCES, uri);
            return request_one(supervisor, connection, "resources/read", &uri, json!({ "uri": uri }), context).await;
        }
        FetchRequest::Prompt { name, arguments } => {
            let name = sanitizer.exact_name(PROMPTS, name);
            let mut params = json!({ "name": name });
            if let (Some(arguments), Some(fields)) = (arguments, params.as_object_mut()) {
                fields.insert("arguments".to_owned(), Value::Object(arguments.clone()));
            }
            let mut prompt = request_one(supervisor, connection, "prompts/get", &name, params, context).await?;
            if let Some(description) = prompt.get_mut("description") {
                *description = sanitizer.clean_json(description.take());
            }
            return Ok(prompt);
        }
        FetchRequest::Completion { target, by_uri, params } => {
            let mut params = params.clone();
            let (target, reference) = if *by_uri {
                (target.clone(), json!({ "type": "ref/resource", "uri": target }))
            } else {
                let name = sanitizer.exact_name(PROMPTS, target);
                (name.clone(), json!({ "type": "ref/prompt", "name": name }))
            };
            params.insert("ref".to_owned(), reference);
            let mut found =
                request_one(supervisor, connection, "completion/complete", &target, Value::Object(params), context)
                    .await?;
            // A suggestion is sent back unchanged, so an unclean one is left out.
            if let Some(Value::Array(values)) = found.get_mut("completion").and_then(|found| found.get_mut("values")) {
                values.retain(|value| value.as_str().is_none_or(|text| sanitizer.presentable(text) == text));
            }
            return Ok(found);
        }
    };
    let mut all = Vec::new();
    // One deadline for the whole list. A server could otherwise return page after page.
    let listed =
        tokio::time::timeout(supervisor.settings.timeout, list_pages(connection, &supervisor.settings, method)).await;
    for page in listed.unwrap_or(Err(UpstreamError::TimedOut))? {
        let mut page: Map<String, Value> = parse(&page)?;
        if let Some(Value::Array(entries)) = page.remove(entries) {
            all.extend(entries);
        }
    }
    Ok(Value::Array(presentable_list(sanitizer, target, method, all)))
}

/// The entries of a list, sanitized. If two names are shown alike, the one that is already clean is kept.
fn presentable_list(
    sanitizer: &Sanitizer,
    list: &FetchRequest,
    method: &'static str,
    entries: Vec<Value>,
) -> Vec<Value> {
    let Some(key) = list.key() else { return entries };
    let shown_name = |name: &str| match list {
        FetchRequest::Prompts => sanitizer.presentable(name),
        _ => sanitizer.clean_address(name),
    };
    let names: HashSet<String> =
        entries.iter().filter_map(|entry| entry.get(key)?.as_str()).map(str::to_owned).collect();
    let mut exact_by_shown: HashMap<String, String> = HashMap::new();
    let mut presentable = Vec::with_capacity(entries.len());
    for entry in entries {
        let Some(exact) = entry.get(key).and_then(Value::as_str).map(str::to_owned) else { continue };
        let shown = shown_name(&exact);
        if shown != exact {
            // Clients expand templates, so the expanded address cannot be translated back.
            let is_usable = *list != FetchRequest::ResourceTemplates && exact_by_shown.len() < MAX_TRANSLATED_NAMES;
            if !is_usable || names.contains(&shown) || exact_by_shown.contains_key(&shown) {
                continue;
            }
            exact_by_shown.insert(shown.clone(), exact);
        }
        presentable.extend(presentable_entry(sanitizer, key, shown, entry));
    }
    sanitizer.remember_names(method, exact_by_shown);
    presentable
}

/// An entry, sanitized. Prompt argument names are sent back to the upstream, so an unclean argument is left out; if it
/// is required, so is its prompt.
fn presentable_entry(sanitizer: &Sanitizer, key: &str, shown: String, mut entry: Value) -> Option<Value> {
    if let Some(Value::Array(arguments)) = entry.get_mut("arguments") {
        let is_clean = |argument: &Value| {
            argument.get("name").and_then(Value::as_str).is_some_and(|name| sanitizer.presentable(name) == name)
        };
        let is_required = |argument: &Value| argument.get("required").and_then(Value::as_bool) == Some(true);
        if arguments.iter().any(|argument| is_required(argument) && !is_clean(argument)) {
            return None;
        }
        arguments.retain(is_clean);
    }
    let Value::Object(mut entry) = sanitizer.clean_json(entry) else { return None };
    entry.insert(key.to_owned(), shown.into());
    Some(Value::Object(entry))
}

async fn request_one(
    supervisor: &Supervisor,
    connection: &Connection,
    method: &str,
    name: &str,
    mut params: Value,
    context: &Context,
) -> Result<Value, UpstreamError> {
    let session = context.caller.owner().map(Into::into);
    let call_origin = Arc::new(CallOrigin::new(context.progress.clone(), context.client.clone(), session));
    if let (Some(meta), Some(fields)) = (connection.meta(None), params.as_object_mut()) {
        fields.insert("_meta".to_owned(), meta);
    }
    let answer = connection.request(method, Some(name), call_origin, supervisor.settings.timeout, |_| &params).await?;
    parse(&answer)
}

fn parse<T: serde::de::DeserializeOwned>(answer: &Json) -> Result<T, UpstreamError> {
    serde_json::from_str(answer.text()).map_err(|cause| UpstreamError::InvalidResponse(cause.to_string()))
}
