//! What sources have beside operations: documents to read and prompts to fill in, those of all sources together, under
//! names that tell them apart.
//!
//! With one source everything keeps its name. With several a prompt gets the same prefix as the operations of its source,
//! and a document stands under `aquifer://SOURCE/` with its own address after that. Only the source that an address names
//! is ever asked for it: addresses may carry secrets, and another source must neither see nor answer them. So an address
//! without a source is good only as long as there was never another source, and one that names a source is never handed
//! to another.

use std::time::Duration;

use aquifer_protocol::category::Category;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::Operation;
use futures::future::join_all;
use serde_json::{Map, Value};

use super::Engine;
use crate::snapshot::{ADDRESS_SCHEME, Mount, Snapshot, address_prefix};
use crate::source::{Context, FetchRequest, SourceCapabilities};

/// How long one source may take for its part of a list. Everybody's list waits for the slowest of them.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);

impl Engine {
    /// What there is beside operations.
    pub fn capabilities(&self) -> SourceCapabilities {
        self.snapshot
            .load()
            .mounts()
            .iter()
            .map(|mount| mount.source.capabilities())
            .fold(SourceCapabilities::default(), SourceCapabilities::or)
    }

    /// A list of all sources, which are asked at the same time. A source that cannot be asked, or is late, is left out.
    pub async fn list(&self, list: &FetchRequest, context: Context) -> Vec<Map<String, Value>> {
        let snapshot = self.snapshot.load_full();
        let lists = snapshot.mounts().iter().filter(|mount| mount.source.capabilities().has(list)).map(|mount| {
            let (list, context, snapshot) = (list.clone(), context.clone(), &snapshot);
            async move {
                let found = list_from_source(snapshot, mount, list.clone(), context).await.unwrap_or_else(|failure| {
                    tracing::debug!(source = mount.source.name(), cause = failure.cause(), "{}", failure.message());
                    Value::Null
                });
                let entries = match found {
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

    /// One document, prompt or completion, from the source it belongs to.
    pub async fn fetch(&self, request: FetchRequest, context: Context) -> Result<Value, Failure> {
        let snapshot = self.snapshot.load_full();
        let name = request.name().unwrap_or_default().to_owned();
        let Some((mount, own)) = owner(&name, &snapshot, &request) else { return Err(not_found(&request)) };
        if !mount.source.capabilities().has(&request) {
            return Err(not_found(&request));
        }
        let mut found = fetch_from_source(&snapshot, mount, request.clone().with_name(own), context).await?;
        qualify(&mut found, |own| address(own, &snapshot, mount));
        Ok(found)
    }
}

impl Snapshot {
    /// What policy may be asked about beside operations: of every source, as operations that read.
    pub fn read_operations(&self) -> Vec<Operation> {
        self.mounts().iter().flat_map(|mount| ACTIONS.map(|action| read_operation(self, mount, action))).collect()
    }
}

/// Asks one source, if the gate lets pass what is wanted of it.
async fn fetch_from_source(
    snapshot: &Snapshot,
    mount: &Mount,
    request: FetchRequest,
    context: Context,
) -> Result<Value, Failure> {
    let operation = read_operation(snapshot, mount, action(&request));
    snapshot.gate().admit(&operation, &context).await?;
    mount.source.fetch(request, context).await
}

/// The part of a list that one source has. Only the source is under a time limit: the gate may have to ask a person.
async fn list_from_source(
    snapshot: &Snapshot,
    mount: &Mount,
    list: FetchRequest,
    context: Context,
) -> Result<Value, Failure> {
    let operation = read_operation(snapshot, mount, action(&list));
    snapshot.gate().admit(&operation, &context).await?;
    let name = mount.source.name();
    match tokio::time::timeout(LIST_TIMEOUT, mount.source.fetch(list, context)).await {
        Ok(found) => found,
        Err(_) => {
            let seconds = LIST_TIMEOUT.as_secs();
            tracing::warn!(source = name, seconds, "the source did not list what it has in time and is left out");
            Ok(Value::Null)
        }
    }
}

/// What is wanted of a source, as policy judges it.
fn read_operation(snapshot: &Snapshot, mount: &Mount, action: &str) -> Operation {
    let mut operation = Operation::new(action, Category::Read, "Reads what a source has beside operations.");
    operation.source = mount.source.name().into();
    operation.trust = mount.trust(snapshot);
    operation
}

/// No source has it, or nobody can tell which.
fn not_found(request: &FetchRequest) -> Failure {
    let message = if request.is_by_address() {
        "There is no document of this address. With several sources, write aquifer://SOURCE/ADDRESS"
    } else {
        "There is no prompt of this name"
    };
    Failure::new(Code::NotFoundResource, message)
}

const LIST_RESOURCES: &str = "list_resources";
const READ_RESOURCE: &str = "read_resource";
const LIST_PROMPTS: &str = "list_prompts";
const GET_PROMPT: &str = "get_prompt";
const COMPLETE: &str = "complete";

/// Everything that policy may be asked about beside operations.
const ACTIONS: [&str; 5] = [LIST_RESOURCES, READ_RESOURCE, LIST_PROMPTS, GET_PROMPT, COMPLETE];

/// What policy calls it.
fn action(request: &FetchRequest) -> &'static str {
    match request {
        FetchRequest::Resources | FetchRequest::ResourceTemplates => LIST_RESOURCES,
        FetchRequest::Resource(_) => READ_RESOURCE,
        FetchRequest::Prompts => LIST_PROMPTS,
        FetchRequest::Prompt { .. } => GET_PROMPT,
        FetchRequest::Completion { .. } => COMPLETE,
    }
}

/// An entry of a list under the name it has for clients. One whose name leads to another source is left out.
fn with_client_name(
    entry: Value,
    snapshot: &Snapshot,
    mount: &Mount,
    list: &FetchRequest,
) -> Option<Map<String, Value>> {
    let Value::Object(mut entry) = entry else { return None };
    let key = list.key()?;
    let own = entry.get(key)?.as_str()?;
    let name = match list.is_by_address() {
        true => address(own, snapshot, mount),
        false => format!("{}{own}", prompt_prefix(snapshot, mount)),
    };
    let (found, _) = owner(&name, snapshot, list)?;
    if found.source.name() != mount.source.name() {
        tracing::debug!(source = mount.source.name(), name, "left out: its name belongs to another source");
        return None;
    }
    entry.insert(key.to_owned(), name.into());
    Some(entry)
}

/// The source that a name belongs to, and what that source calls it.
fn owner<'s, 'n>(name: &'n str, snapshot: &'s Snapshot, request: &FetchRequest) -> Option<(&'s Mount, &'n str)> {
    let own_name = |mount: &Mount| match request.is_by_address() {
        true => own_address(name, snapshot, mount),
        false => name.strip_prefix(prompt_prefix(snapshot, mount).as_str()),
    };
    let owners = snapshot.mounts().iter().filter_map(|mount| Some((mount, own_name(mount)?)));
    // The prefix of one source may begin with that of another: the longest is the one that is meant, also if its source
    // is gone.
    let found = owners.min_by_key(|(_, own)| own.len())?;
    let is_gone = !request.is_by_address() && snapshot.is_retired(name, &prompt_prefix(snapshot, found.0));
    (!is_gone).then_some(found)
}

fn prompt_prefix(snapshot: &Snapshot, mount: &Mount) -> String {
    mount.prefix_among(snapshot.mounts().len())
}

/// An address of a source as clients see it.
fn address(own: &str, snapshot: &Snapshot, mount: &Mount) -> String {
    match snapshot.has_bare_addresses() && !names_source(own) {
        true => own.to_owned(),
        false => format!("{}{own}", address_prefix(mount.source.name())),
    }
}

/// The address as the source knows it, if it is one of its own.
fn own_address<'a>(address: &'a str, snapshot: &Snapshot, mount: &Mount) -> Option<&'a str> {
    let qualified = address.strip_prefix(address_prefix(mount.source.name()).as_str());
    qualified.or_else(|| (snapshot.has_bare_addresses() && !names_source(address)).then_some(address))
}

/// Whether an address says which source it belongs to, in whatever case and whatever stands in front of it.
fn names_source(address: &str) -> bool {
    // Blanks, controls and marks in front are not part of an address for whoever reads it next.
    let begins = |letter: char| letter.is_alphanumeric();
    let address = address.trim_start_matches(|letter| !begins(letter));
    address.get(..ADDRESS_SCHEME.len()).is_some_and(|scheme| scheme.eq_ignore_ascii_case(ADDRESS_SCHEME))
}

/// Has everything that was read stand under the address that leads to it: contents, and documents in a prompt's messages.
fn qualify(found: &mut Value, address: impl Fn(&str) -> String) {
    let replace = |fields: &mut Map<String, Value>| {
        if let Some(Value::String(own)) = fields.get_mut("uri") {
            *own = address(own);
        }
    };
    let contents = found.get_mut("contents").and_then(Value::as_array_mut);
    contents.into_iter().flatten().filter_map(Value::as_object_mut).for_each(replace);
    let messages = found.get_mut("messages").and_then(Value::as_array_mut);
    let parts = messages.into_iter().flatten().filter_map(|message| message.get_mut("content"));
    for part in parts.flat_map(content_parts) {
        match part.get("type").and_then(Value::as_str) {
            Some("resource_link") => replace(part),
            Some("resource") => drop(part.get_mut("resource").and_then(Value::as_object_mut).map(replace)),
            _ => {}
        }
    }
}

/// A message has one part, or several.
fn content_parts(content: &mut Value) -> Vec<&mut Map<String, Value>> {
    match content {
        Value::Array(parts) => parts.iter_mut().filter_map(Value::as_object_mut).collect(),
        Value::Object(part) => vec![part],
        _ => Vec::new(),
    }
}
