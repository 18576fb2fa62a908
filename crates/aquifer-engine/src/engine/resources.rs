//! Resources and prompts of all sources, under unique names.
//!
//! With one source everything keeps its name. With several, a prompt gets the same prefix as the operations of its
//! source, and a resource gets the URI `aquifer://SOURCE/` followed by its own URI. Only the source that a URI names is
//! asked for it: URIs may contain secrets, and another source must neither see nor answer them. A URI without a source
//! is therefore valid only if there was never another source, and a URI that names a source is never passed to another.

use std::time::Duration;

use aquifer_protocol::category::Category;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::Operation;
use futures::future::join_all;
use serde_json::{Map, Value};

use super::Engine;
use crate::gate::Shown;
use crate::snapshot::{Mount, Snapshot, URI_SCHEME, uri_prefix};
use crate::source::{Context, FetchRequest, SourceCapabilities};

/// How long one source may take for its part of a list. The list waits for the slowest source.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);

impl Engine {
    /// The combined capabilities of all sources.
    pub fn capabilities(&self) -> SourceCapabilities {
        self.snapshot
            .load()
            .mounts()
            .iter()
            .map(|mount| mount.source.capabilities())
            .fold(SourceCapabilities::default(), SourceCapabilities::or)
    }

    /// The combined list of all sources, which are asked concurrently. Sources that fail or are late are omitted.
    pub async fn list(&self, list: &FetchRequest, context: Context) -> Vec<Map<String, Value>> {
        let snapshot = self.snapshot.load_full();
        let lists = snapshot.mounts().iter().filter(|mount| mount.source.capabilities().has(list)).map(|mount| {
            let (list, context, snapshot) = (list.clone(), context.clone(), &snapshot);
            async move {
                let result = list_from_source(snapshot, mount, list.clone(), context).await.unwrap_or_else(|failure| {
                    tracing::debug!(source = mount.source.name(), cause = failure.cause(), "{}", failure.message());
                    Value::Null
                });
                let entries = match result {
                    Value::Array(entries) => entries,
                    _ => Vec::new(),
                };
                entries
                    .into_iter()
                    .filter_map(move |entry| with_client_name(entry, snapshot, mount, &list))
                    .collect::<Vec<_>>()
            }
        });
        join_all(lists).await.into_iter().flatten().collect()
    }

    /// A resource, prompt or completion from its source.
    pub async fn fetch(&self, request: FetchRequest, context: Context) -> Result<Value, Failure> {
        let snapshot = self.snapshot.load_full();
        let name = request.name().unwrap_or_default().to_owned();
        let Some((mount, own)) = owner(&name, &snapshot, &request) else { return Err(not_found(&request)) };
        if !mount.source.capabilities().has(&request) {
            return Err(not_found(&request));
        }
        let mut content = fetch_from_source(&snapshot, mount, request.clone().with_name(own), context).await?;
        qualify(&mut content, |own| client_uri(own, &snapshot, mount));
        Ok(content)
    }
}

impl Snapshot {
    /// Access to the resources and prompts of every source, as READ operations for policy.
    pub fn read_operations(&self) -> Vec<Operation> {
        self.mounts().iter().flat_map(|mount| ACTIONS.map(|action| read_operation(self, mount, action))).collect()
    }
}

/// Fetches from one source, if the gate allows it.
async fn fetch_from_source(
    snapshot: &Snapshot,
    mount: &Mount,
    request: FetchRequest,
    context: Context,
) -> Result<Value, Failure> {
    let operation = read_operation(snapshot, mount, action(&request));
    snapshot.gate().admit(&operation, &context).await?;
    let fetched = mount.source.fetch(request, context.clone()).await;
    if let Some(noted) = snapshot.gate().note(&operation, Shown::from(&fetched), &context) {
        noted.await;
    }
    fetched
}

/// The part of a list from one source. The timeout applies to the source only: the gate may have to ask a person.
async fn list_from_source(
    snapshot: &Snapshot,
    mount: &Mount,
    list: FetchRequest,
    context: Context,
) -> Result<Value, Failure> {
    let operation = read_operation(snapshot, mount, action(&list));
    snapshot.gate().admit(&operation, &context).await?;
    let name = mount.source.name();
    match tokio::time::timeout(LIST_TIMEOUT, mount.source.fetch(list, context.clone())).await {
        Ok(result) => {
            if let Some(noted) = snapshot.gate().note(&operation, Shown::from(&result), &context) {
                noted.await;
            }
            result
        }
        Err(_) => {
            let seconds = LIST_TIMEOUT.as_secs();
            tracing::warn!(source = name, seconds, "the source did not answer in time and is missing from the list");
            Ok(Value::Null)
        }
    }
}

/// The access to a source as an operation for policy.
fn read_operation(snapshot: &Snapshot, mount: &Mount, action: &str) -> Operation {
    let mut operation = Operation::new(action, Category::Read, "Reads resources and prompts of a source.");
    operation.origin.source = mount.source.name().into();
    operation.origin.trust = mount.trust(snapshot);
    operation
}

/// No source has it, or its source is ambiguous.
fn not_found(request: &FetchRequest) -> Failure {
    let message = if request.is_by_uri() {
        "There is no resource with this URI. With several sources, write aquifer://SOURCE/URI"
    } else {
        "There is no prompt with this name"
    };
    Failure::new(Code::NotFoundResource, message)
}

const LIST_RESOURCES: &str = "list_resources";
const READ_RESOURCE: &str = "read_resource";
const LIST_PROMPTS: &str = "list_prompts";
const GET_PROMPT: &str = "get_prompt";
const COMPLETE: &str = "complete";

/// All access operations.
const ACTIONS: [&str; 5] = [LIST_RESOURCES, READ_RESOURCE, LIST_PROMPTS, GET_PROMPT, COMPLETE];

/// The name of the access operation.
fn action(request: &FetchRequest) -> &'static str {
    match request {
        FetchRequest::Resources | FetchRequest::ResourceTemplates => LIST_RESOURCES,
        FetchRequest::Resource(_) => READ_RESOURCE,
        FetchRequest::Prompts => LIST_PROMPTS,
        FetchRequest::Prompt { .. } => GET_PROMPT,
        FetchRequest::Completion { .. } => COMPLETE,
    }
}

/// A list entry with its name for clients. Returns `None` if that name leads to another source.
fn with_client_name(
    entry: Value,
    snapshot: &Snapshot,
    mount: &Mount,
    list: &FetchRequest,
) -> Option<Map<String, Value>> {
    let Value::Object(mut entry) = entry else { return None };
    let key = list.key()?;
    let own = entry.get(key)?.as_str()?;
    let name = match list.is_by_uri() {
        true => client_uri(own, snapshot, mount),
        false => format!("{}{own}", prompt_prefix(snapshot, mount)),
    };
    let (owner_mount, _) = owner(&name, snapshot, list)?;
    if owner_mount.source.name() != mount.source.name() {
        tracing::debug!(source = mount.source.name(), name, "skipped: the name belongs to another source");
        return None;
    }
    entry.insert(key.to_owned(), name.into());
    Some(entry)
}

/// The source that a name belongs to, and the source's own name.
fn owner<'s, 'n>(name: &'n str, snapshot: &'s Snapshot, request: &FetchRequest) -> Option<(&'s Mount, &'n str)> {
    let own_name = |mount: &Mount| match request.is_by_uri() {
        true => own_uri(name, snapshot, mount),
        false => name.strip_prefix(prompt_prefix(snapshot, mount).as_str()),
    };
    let owners = snapshot.mounts().iter().filter_map(|mount| Some((mount, own_name(mount)?)));
    // The prefix of one source may begin with the prefix of another: the longest match counts, even if its source no
    // longer exists.
    let longest = owners.min_by_key(|(_, own)| own.len())?;
    let is_retired = !request.is_by_uri() && snapshot.is_retired(name, &prompt_prefix(snapshot, longest.0));
    (!is_retired).then_some(longest)
}

fn prompt_prefix(snapshot: &Snapshot, mount: &Mount) -> String {
    mount.prefix_among(snapshot.mounts().len())
}

/// A URI of a source for clients.
fn client_uri(own: &str, snapshot: &Snapshot, mount: &Mount) -> String {
    match snapshot.has_bare_uris() && !names_source(own) {
        true => own.to_owned(),
        false => format!("{}{own}", uri_prefix(mount.source.name())),
    }
}

/// The source's own form of a URI, if it belongs to the source.
fn own_uri<'a>(uri: &'a str, snapshot: &Snapshot, mount: &Mount) -> Option<&'a str> {
    let qualified = uri.strip_prefix(uri_prefix(mount.source.name()).as_str());
    qualified.or_else(|| (snapshot.has_bare_uris() && !names_source(uri)).then_some(uri))
}

/// Whether a URI names its source, in any case and with any leading characters.
fn names_source(uri: &str) -> bool {
    // A source may ignore leading blanks, control characters and marks.
    let uri = uri.trim_start_matches(|c: char| !c.is_alphanumeric());
    uri.get(..URI_SCHEME.len()).is_some_and(|scheme| scheme.eq_ignore_ascii_case(URI_SCHEME))
}

/// Replaces the URIs in contents and in the messages of a prompt with the URIs for clients.
fn qualify(content: &mut Value, uri: impl Fn(&str) -> String) {
    let replace = |fields: &mut Map<String, Value>| {
        if let Some(Value::String(own)) = fields.get_mut("uri") {
            *own = uri(own);
        }
    };
    let contents = content.get_mut("contents").and_then(Value::as_array_mut);
    contents.into_iter().flatten().filter_map(Value::as_object_mut).for_each(replace);
    let messages = content.get_mut("messages").and_then(Value::as_array_mut);
    let parts = messages.into_iter().flatten().filter_map(|message| message.get_mut("content"));
    for part in parts.flat_map(content_parts) {
        match part.get("type").and_then(Value::as_str) {
            Some("resource_link") => replace(part),
            Some("resource") => drop(part.get_mut("resource").and_then(Value::as_object_mut).map(replace)),
            _ => {}
        }
    }
}

/// The parts of a message: one or several.
fn content_parts(content: &mut Value) -> Vec<&mut Map<String, Value>> {
    match content {
        Value::Array(parts) => parts.iter_mut().filter_map(Value::as_object_mut).collect(),
        Value::Object(part) => vec![part],
        _ => Vec::new(),
    }
}
