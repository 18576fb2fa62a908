//! What sources have beside operations: documents to read and prompts to fill in, those of all sources together, under
//! names that tell them apart.
//!
//! With one source everything keeps its name. With several a prompt gets the same prefix as the operations of its source,
//! and a document stands under `aquifer://SOURCE/` with its own address after that.

use aquifer_protocol::category::Category;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::Operation;
use futures::future::join_all;
use serde_json::{Map, Value};

use super::Engine;
use crate::snapshot::Mount;
use crate::source::{Context, Fetch, Shelves};

/// What documents of several sources begin with.
const SCHEME: &str = "aquifer://";

impl Engine {
    /// What there is beside operations.
    pub fn shelves(&self) -> Shelves {
        self.mounted.load().iter().map(|mount| mount.source.shelves()).fold(Shelves::default(), Shelves::or)
    }

    /// A list of all sources. A source that cannot be asked is left out.
    pub async fn list(&self, list: &Fetch, context: Context) -> Vec<Map<String, Value>> {
        let mounted = self.mounted.load_full();
        let alone = mounted.len() == 1;
        let asked = mounted.iter().filter(|mount| mount.source.shelves().has(list)).map(|mount| {
            let (list, context) = (list.clone(), context.clone());
            async move {
                let found = self.get(mount, list.clone(), context).await.unwrap_or_else(|failure| {
                    tracing::debug!(source = mount.source.name(), cause = failure.cause(), "{}", failure.message());
                    Value::Null
                });
                let entries = match found {
                    Value::Array(entries) => entries,
                    _ => Vec::new(),
                };
                entries.into_iter().filter_map(move |entry| named(entry, mount, alone, &list)).collect::<Vec<_>>()
            }
        });
        join_all(asked).await.into_iter().flatten().collect()
    }

    /// One document, prompt or completion, from the source it belongs to.
    pub async fn fetch(&self, wanted: Fetch, context: Context) -> Result<Value, Failure> {
        let mounted = self.mounted.load_full();
        let alone = mounted.len() == 1;
        let name = wanted.name().unwrap_or_default().to_owned();
        let mut failure = Failure::new(Code::NotFoundResource, "There is no document and no prompt of this name");
        // Addresses inside of results have no prefix: whoever knows them may be asked.
        let owners = mounted.iter().filter_map(|mount| Some((mount, own_name(&name, mount, alone, &wanted)?)));
        let mut owners: Vec<(&Mount, &str)> = owners.collect();
        if owners.is_empty() && wanted.is_by_address() {
            owners = mounted.iter().map(|mount| (mount, name.as_str())).collect();
        }
        for (mount, own) in owners {
            if !mount.source.shelves().has(&wanted) {
                continue;
            }
            match self.get(mount, wanted.clone().of(own), context.clone()).await {
                Ok(mut found) => {
                    if own != name {
                        rename_contents(&mut found, own, &name);
                    }
                    return Ok(found);
                }
                Err(other) => failure = other,
            }
        }
        Err(failure)
    }

    /// Asks one source, if the gate lets pass what is wanted of it.
    async fn get(&self, mount: &Mount, wanted: Fetch, context: Context) -> Result<Value, Failure> {
        let mut reading = Operation::new(action(&wanted), Category::Read, "Reads what a source has beside operations.");
        reading.source = mount.source.name().into();
        reading.trust = mount.trust(self.snapshot.load().catalog());
        self.gate.admit(&reading, &context).await?;
        mount.source.fetch(wanted, context).await
    }
}

/// What policy calls it.
fn action(wanted: &Fetch) -> &'static str {
    match wanted {
        Fetch::Resources | Fetch::ResourceTemplates => "list_resources",
        Fetch::Resource(_) => "read_resource",
        Fetch::Prompts => "list_prompts",
        Fetch::Prompt { .. } => "get_prompt",
        Fetch::Completion { .. } => "complete",
    }
}

/// An entry of a list under the name it has for clients.
fn named(entry: Value, mount: &Mount, alone: bool, list: &Fetch) -> Option<Map<String, Value>> {
    let Value::Object(mut entry) = entry else { return None };
    let key = list.key()?;
    let own = entry.get(key)?.as_str()?.to_owned();
    entry.insert(key.to_owned(), full_name(&own, mount, alone, list).into());
    Some(entry)
}

fn full_name(own: &str, mount: &Mount, alone: bool, wanted: &Fetch) -> String {
    match (&mount.prefix, alone) {
        (_, false) if wanted.is_by_address() => format!("{SCHEME}{}/{own}", mount.source.name()),
        (None, false) => format!("{}_{own}", mount.source.name()),
        (Some(prefix), _) if !wanted.is_by_address() => format!("{prefix}{own}"),
        _ => own.to_owned(),
    }
}

/// The name a source itself uses, if the name is one of its own.
fn own_name<'a>(name: &'a str, mount: &Mount, alone: bool, wanted: &Fetch) -> Option<&'a str> {
    let prefix = full_name("", mount, alone, wanted);
    name.strip_prefix(prefix.as_str())
}

/// What is read is said to be what was asked for.
fn rename_contents(found: &mut Value, own: &str, name: &str) {
    let contents = found.get_mut("contents").and_then(Value::as_array_mut);
    for content in contents.into_iter().flatten() {
        if content.get("uri").and_then(Value::as_str) == Some(own)
            && let Some(fields) = content.as_object_mut()
        {
            fields.insert("uri".to_owned(), name.into());
        }
    }
}
